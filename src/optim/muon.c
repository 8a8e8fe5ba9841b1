/* muon.c — Muon (Jordan et al. 2024, kellerjordan.github.io/posts/muon), with the update size of Liu et al. 2025 ("Muon
 * is Scalable for LLM Training", arXiv:2502.16982, section 2.2), as in torch.optim.Muon.
 *
 * For a layer's matrix P [r,c], s = min(r,c):
 *
 *     M = mu M + (1 - mu) G,   U = mu M + (1 - mu) G                                              Nesterov's momentum
 *     X = U / (|U| + 1e-7),    5 times  X = a X + (b A + c A^2) X,  A = X X^T                     all singular values
 *                                       (r > c: X = a X + X (b A + c A^2),  A = X^T X)            come near to 1
 *     P = (1 - decay rate) P - 0.2 sqrt(max(r,c)) rate X
 *
 * A step is therefore as large as AdamW's, whose updates usually have a root mean square of 0.2, and one learning rate
 * serves both. All other parameters (embeddings, head, tables of positions, biases and norms) use AdamW. X replaces the
 * gradient in memory; the products are in bf16 if those of training are. */
#include <math.h>

#include "roformer/kernel/gemm.h"
#include "roformer/kernel/kernels.h"
#include "optim/optimizer.h"

enum { STEPS = 5 };
static const float a = 3.4445F, b = -4.7750F, c = 2.0315F;      /* the author's constants, for 5 steps                */

static bool is_layer_matrix(const rf_param *p)
{
    return p->rank == 2 && p->layer >= 0 && !(p->head || p->position || p->looked_up) && p->dim[0] > 1 && p->dim[1] > 1;
}

/* Only AdamW has second moments. */
size_t rf__muon_floats(const rf_param *p) { return is_layer_matrix(p) ? 0 : p->count; }

static int64_t smaller(const rf_param *p) { return rf__min64(p->dim[0], p->dim[1]); }

/* Space for A, b A + c A^2, and the next X. */
size_t rf__muon_scratch(const rf_params *params)
{
    size_t most = 0;
    for (size_t i = 0; i < params->n; i++) {
        const rf_param *p = &params->p[i];
        const size_t square = (size_t)smaller(p) * (size_t)smaller(p), floats = 2 * square + p->count;
        if (is_layer_matrix(p) && floats > most) most = floats;
    }
    return most;
}

/* ---- X ---- */

typedef struct pass { const rf__optimizer *o; const rf__step *step; size_t first; } pass;

static void lead_span(void *arg, int64_t i, int worker)
{
    (void)worker;
    const pass *w = arg;
    const rf__optimizer *o = w->o;
    const rfk_table *k = o->params->ctx->k;
    const rf__span s = o->span[w->first + (size_t)i];
    const float mu = (float)o->rule.momentum;
    float *g = o->grad + s.at, *m = o->m + s.at;
    k->scale(g, g, (float)w->step->scale, (int64_t)s.n);
    k->lerp(m, 1 - mu, g, (int64_t)s.n);
    k->lerp(g, mu, m, (int64_t)s.n);
    o->square[w->first + (size_t)i] = k->sumsq(g, (int64_t)s.n);
}

static rf_status product(const rf__optimizer *o, rf_gemm_call call, rf_error *why)
{
    call.type = o->rule.bf16 ? RF_BF16 : RF_F32;
    return rf_gemm(o->params->ctx, &call, why);
}

/* y = scale x + y, or x = scale x if y is NULL, over blocks of a matrix. */
typedef struct blend { const rfk_table *k; float *x, *y; float scale; size_t n; } blend;
enum { BLOCK = 1 << 14 };

static void scale_and_add_block(void *arg, int64_t i, int worker)
{
    (void)worker;
    const blend *t = arg;
    const size_t at = (size_t)i * BLOCK;
    const int64_t n = (int64_t)(t->n - at < BLOCK ? t->n - at : BLOCK);
    if (t->y) t->k->axpy(t->y + at, t->scale, t->x + at, n);
    else t->k->scale(t->x + at, t->x + at, t->scale, n);
}

static void add_scaled(const rf_ctx *ctx, float *y, float scale, float *x, size_t n)
{
    blend t = {ctx->k, x, y, scale, n};
    rf__parallel(ctx, (int64_t)((n + BLOCK - 1) / BLOCK), scale_and_add_block, &t);
}

/* One Newton-Schulz step: computes *next from *x and swaps the two. */
static rf_status iterate(const rf__optimizer *o, const rf_param *p, float **x, float **next, rf_error *why)
{
    const rf_ctx *ctx = o->params->ctx;
    const int64_t r = p->dim[0], w = p->dim[1], s = smaller(p);
    const bool wide = r <= w;
    float *gram = o->scratch, *poly = gram + s * s;
    const rf_gemm_call of_x = {.m = s, .n = s, .k = wide ? w : r, .a = *x, .lda = w, .a_transposed = !wide, .b = *x,
                               .ldb = w, .b_transposed = wide, .c = gram, .ldc = s};
    const rf_gemm_call squared = {.m = s, .n = s, .k = s, .a = gram, .lda = s, .b = gram, .ldb = s, .c = poly,
                                  .ldc = s};
    const rf_gemm_call left = {.m = r, .n = w, .k = r, .a = poly, .lda = r, .b = *x, .ldb = w, .c = *next, .ldc = w};
    const rf_gemm_call right = {.m = r, .n = w, .k = w, .a = *x, .lda = w, .b = poly, .ldb = w, .c = *next, .ldc = w};
    rf_status status = product(o, of_x, why);
    if (!status) status = product(o, squared, why);
    if (status) return status;
    add_scaled(ctx, NULL, c, poly, (size_t)(s * s));
    add_scaled(ctx, poly, b, gram, (size_t)(s * s));
    status = product(o, wide ? left : right, why);
    if (status) return status;
    add_scaled(ctx, *next, a, *x, p->count);
    float *const before = *x;
    *x = *next;
    *next = before;
    return RF_OK;
}

static rf_status direct(rf__optimizer *o, const rf__step *step, size_t param, rf_error *why)
{
    const rf_ctx *ctx = o->params->ctx;
    const rf_param *p = &o->params->p[param];
    float *const g = o->grad + p->offset, *x = g;
    float *next = o->scratch + 2 * smaller(p) * smaller(p);
    pass w = {.o = o, .step = step, .first = o->first[param]};
    rf__parallel(ctx, (int64_t)(o->first[param + 1] - w.first), lead_span, &w);
    double square = 0;
    for (size_t i = w.first; i < o->first[param + 1]; i++) square += o->square[i];
    add_scaled(ctx, NULL, (float)(1 / (sqrt(square) + 1e-7)), g, p->count);
    rf_status status = RF_OK;
    for (int i = 0; i < STEPS && !status; i++) status = iterate(o, p, &x, &next, why);
    if (x != g) memcpy(g, x, p->count * sizeof *g);
    return status;
}

/* ---- the step ---- */

static void take_step(void *arg, int64_t i, int worker)
{
    (void)worker;
    const pass *w = arg;
    const rf__optimizer *o = w->o;
    const rf__rule *r = &o->rule;
    const rfk_table *k = o->params->ctx->k;
    const rf__span s = o->span[i];
    const rf_param *p = &o->params->p[s.param];
    const int64_t n = (int64_t)s.n;
    const double rate = w->step->rate * o->factor[s.param], decay = s.decay ? r->decay : 0, t = (double)w->step->update;
    if (!(o->factor[s.param] > 0)) return;
    if (!is_layer_matrix(p)) {
        float *v = o->v + o->v_at[s.param] + (s.at - p->offset);
        k->adamw(o->value + s.at, o->m + s.at, v, o->grad + s.at, n, (float)rate, (float)r->beta1, (float)r->beta2,
                 (float)r->epsilon, (float)decay, (float)(1 / (1 - pow(r->beta1, t))),
                 (float)(1 / (1 - pow(r->beta2, t))), (float)w->step->scale);
        return;
    }
    k->scale(o->value + s.at, o->value + s.at, (float)(1 - decay * rate), n);
    k->axpy(o->value + s.at, (float)(-0.2 * sqrt((double)rf__max64(p->dim[0], p->dim[1])) * rate), o->grad + s.at, n);
}

/* The products, which may run out of memory, are computed before the first value changes. */
rf_status rf__muon_update(rf__optimizer *o, const rf__step *step, rf_error *why)
{
    pass w = {.o = o, .step = step};
    for (size_t i = 0; i < o->params->n; i++) {
        if (!is_layer_matrix(&o->params->p[i]) || !(o->factor[i] > 0)) continue;
        const rf_status status = direct(o, step, i, why);
        if (status) return status;
    }
    rf__parallel(o->params->ctx, (int64_t)o->spans, take_step, &w);
    return RF_OK;
}
