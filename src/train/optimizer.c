/* optimizer.c — AdamW (Loshchilov & Hutter 2019), one pass over the slabs.
 *
 *     m = b1 m + (1 - b1) g,   v = b2 v + (1 - b2) g^2,   g = scale grad
 *     p = p - rate (m / (1 - b1^t) / (sqrt(v / (1 - b2^t)) + eps) + decay p)       decay: matrices alone
 *
 * The work is cut into fixed blocks: sums over them have one order, and each block is one worker's.                    */
#include <math.h>
#include <stdio.h>

#include "roformer/kernels.h"
#include "train/optimizer.h"

enum { SPAN = 1 << 16 };

rf_status rf__optimizer_new(const rf_params *params, rf__optimizer *out, rf_error *why)
{
    const rf_ctx *ctx = params->ctx;
    rf__optimizer o = {.params = params};
    for (size_t i = 0; i < params->n; i++) o.spans += (params->p[i].count + SPAN - 1) / SPAN;
    float **const slab[] = {&o.value, &o.grad, &o.m, &o.v};
    bool there = true;
    for (size_t i = 0; i < RF_COUNT(slab); i++) {
        *slab[i] = there ? rf__alloc(ctx, params->total * sizeof(float)) : NULL;
        there = there && *slab[i];
        if (*slab[i]) memset(*slab[i], 0, params->total * sizeof(float));
    }
    o.span = rf__calloc(ctx, o.spans, sizeof *o.span);
    o.square = rf__calloc(ctx, o.spans, sizeof *o.square);
    if (!there || !o.span || !o.square) {
        rf__optimizer_free(&o);
        return rf_fail(why, RF_ENOMEM, "out of memory: values, gradients and two moments of %zu parameters, %.0f MB",
                       params->total, (double)params->total * 16e-6);
    }
    size_t n = 0;
    for (size_t i = 0; i < params->n; i++)
        for (size_t at = 0; at < params->p[i].count; at += SPAN) {
            const size_t left = params->p[i].count - at;
            o.span[n++] = (rf__span){params->p[i].offset + at, left < SPAN ? left : SPAN, params->p[i].decay};
        }
    *out = o;
    return RF_OK;
}

void rf__optimizer_free(rf__optimizer *o)
{
    if (!o->params) return;
    const rf_ctx *ctx = o->params->ctx;
    rf__free(ctx, o->value);
    rf__free(ctx, o->grad);
    rf__free(ctx, o->m);
    rf__free(ctx, o->v);
    rf__free(ctx, o->span);
    rf__free(ctx, o->square);
    *o = (rf__optimizer){0};
}

/* ---- passes over the blocks ---- */

static void zero_span(void *arg, int64_t i, int worker)
{
    (void)worker;
    const rf__optimizer *o = arg;
    memset(o->grad + o->span[i].at, 0, o->span[i].n * sizeof *o->grad);
}

void rf__optimizer_zero_grad(rf__optimizer *o) { rf__parallel(o->params->ctx, (int64_t)o->spans, zero_span, o); }

static void square_span(void *arg, int64_t i, int worker)
{
    (void)worker;
    const rf__optimizer *o = arg;
    o->square[i] = o->params->ctx->k->sumsq(o->grad + o->span[i].at, (int64_t)o->span[i].n);
}

double rf__optimizer_norm(rf__optimizer *o)
{
    double sum = 0;
    rf__parallel(o->params->ctx, (int64_t)o->spans, square_span, o);
    for (size_t i = 0; i < o->spans; i++) sum += o->square[i];
    return sqrt(sum);
}

struct update { const rf__optimizer *o; const rf__adamw *how; float c1, c2; };

static void update_span(void *arg, int64_t i, int worker)
{
    (void)worker;
    const struct update *u = arg;
    const rf__optimizer *o = u->o;
    const rf__adamw *h = u->how;
    const rf__span s = o->span[i];
    o->params->ctx->k->adamw(o->value + s.at, o->m + s.at, o->v + s.at, o->grad + s.at, (int64_t)s.n, (float)h->rate,
                             (float)h->beta1, (float)h->beta2, (float)h->epsilon, s.decay ? (float)h->decay : 0, u->c1, u->c2,
                             (float)h->scale);
}

void rf__optimizer_update(rf__optimizer *o, const rf__adamw *how)
{
    struct update u = {o, how, 0, 0};
    u.c1 = (float)(1 / (1 - pow(how->beta1, (double)how->update)));
    u.c2 = (float)(1 / (1 - pow(how->beta2, (double)how->update)));
    rf__parallel(o->params->ctx, (int64_t)o->spans, update_span, &u);
}

/* ---- the file ---- */

typedef struct moment { char name[104]; } moment;

static moment name_of(const rf_param *p, int second)
{
    moment n;
    snprintf(n.name, sizeof n.name, "%c.%s", second ? 'v' : 'm', p->name);
    return n;
}

rf_status rf__optimizer_save(const rf__optimizer *o, const char *path, rf_error *why)
{
    const rf_params *params = o->params;
    const size_t n = params->n;
    rf_weight_out *out = rf__calloc(params->ctx, 2 * n, sizeof *out);
    moment *name = rf__calloc(params->ctx, 2 * n, sizeof *name);
    rf_status status = RF_OK;
    if (!out || !name) status = rf_fail(why, RF_ENOMEM, "out of memory: a list of %zu tensors", 2 * n);
    for (size_t i = 0; i < 2 * n && !status; i++) {
        const rf_param *p = &params->p[i % n];
        name[i] = name_of(p, i >= n);
        out[i] = (rf_weight_out){.name = name[i].name, .type = RF_F32, .rank = p->rank,
                                 .data = (i < n ? o->m : o->v) + p->offset};
        for (int j = 0; j < p->rank; j++) out[i].dim[j] = p->dim[j];
    }
    if (!status) status = rf_weights_write(params->ctx, path, out, 2 * n, NULL, why);
    rf__free(params->ctx, out);
    rf__free(params->ctx, name);
    return status;
}

rf_status rf__optimizer_load(rf__optimizer *o, const char *path, rf_error *why)
{
    const rf_params *params = o->params;
    rf_weights *w;
    rf_status status = rf_weights_open(params->ctx, path, &w, why);
    if (status) return status;
    for (size_t i = 0; i < 2 * params->n && !status; i++) {
        const rf_param *p = &params->p[i % params->n];
        const bool second = i >= params->n;
        const moment name = name_of(p, second);
        const rf_weight *t = rf_weights_find(w, name.name);
        if (!t || t->count != p->count) status = rf_fail(why, RF_EDATA, "%s: no tensor %s of %zu values", path, name.name, p->count);
        else status = rf_weights_read(w, t, (second ? o->v : o->m) + p->offset, 1, why);
    }
    rf_weights_close(w);
    return status;
}
