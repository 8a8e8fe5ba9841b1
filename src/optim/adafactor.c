/* adafactor.c — Adafactor (Shazeer & Stern 2018), with the options of transformers' class of that name.
 *
 *     b      = 1 - t^decay_rate                                                       second moments, of a matrix as
 *     r[i]   = b r[i] + (1 - b) mean_j (g[i,j]^2 + 1e-30),   c[j] likewise of columns  one row and one column
 *     u[i,j] = g[i,j] / sqrt(r[i] / mean(r) c[j]);           of a vector: g / sqrt(v)
 *     u      = u / max(1, rms(u) / clip_threshold)
 *     rate   = rate max(1e-3, rms(p))                        with scale_parameter; rms(p) before the update
 *     m      = beta1 m + (1 - beta1) rate u;                 without beta1: m = rate u
 *     p      = p - decay rate p - m
 *
 * The gradient becomes u in its place.                                                                               */
#include <math.h>

#include "roformer/kernel/kernels.h"
#include "optim/optimizer.h"

static const double tiny = 1e-30, least_scale = 1e-3;

size_t rf__adafactor_floats(const rf_param *p) { return p->rank == 2 ? (size_t)(p->dim[0] + p->dim[1]) : p->count; }

/* Sums of columns, one row for each span of a matrix. */
size_t rf__adafactor_scratch(const rf_params *params)
{
    size_t floats = 0;
    for (size_t i = 0; i < params->n; i++)
        if (params->p[i].rank == 2) floats += rf__spans_of(&params->p[i]) * (size_t)params->p[i].dim[1];
    return floats;
}

typedef struct pass { const rf__optimizer *o; const rf__step *step; double b; } pass;

/* A span of a matrix consists of whole rows. */
typedef struct rows { float *row, *column, *g; int64_t n, width; } rows;

static rows rows_of(const rf__optimizer *o, int64_t i)
{
    const rf__span s = o->span[i];
    const rf_param *p = &o->params->p[s.param];
    const int64_t before = (int64_t)(s.at - p->offset) / p->dim[1];
    float *v = o->v + o->v_at[s.param];
    return (rows){v + before, v + p->dim[0], o->grad + s.at, (int64_t)s.n / p->dim[1], p->dim[1]};
}

static bool is_matrix(const rf__optimizer *o, int64_t i) { return o->params->p[o->span[i].param].rank == 2; }
static float *vector_of(const rf__optimizer *o, int64_t i)
{
    const rf__span s = o->span[i];
    return o->v + o->v_at[s.param] + (s.at - o->params->p[s.param].offset);
}
static bool frozen(const rf__optimizer *o, size_t param) { return !(o->factor[param] > 0); }

/* ---- 1: rows, sums of columns, rms(p) ---- */

static void gather(void *arg, int64_t i, int worker)
{
    (void)worker;
    const pass *a = arg;
    const rf__optimizer *o = a->o;
    const rfk_table *k = o->params->ctx->k;
    const rf__span s = o->span[i];
    const double square = a->step->scale * a->step->scale;
    if (frozen(o, s.param)) return;
    o->other[i] = k->sumsq(o->value + s.at, (int64_t)s.n);
    if (!is_matrix(o, i)) {
        float *v = vector_of(o, i), *g = o->grad + s.at;
        for (size_t j = 0; j < s.n; j++) {
            const double x = (double)g[j];
            v[j] = (float)(a->b * v[j] + (1 - a->b) * (square * x * x + tiny));
        }
        return;
    }
    const rows r = rows_of(o, i);
    float *sum = o->scratch + o->columns_at[i];
    memset(sum, 0, (size_t)r.width * sizeof *sum);
    for (int64_t j = 0; j < r.n; j++) {
        const float *g = r.g + j * r.width;
        r.row[j] = (float)(a->b * r.row[j] + (1 - a->b) * (square * k->sumsq(g, r.width) / (double)r.width + tiny));
        k->add_squares(sum, g, r.width);
    }
}

/* ---- 2: columns ---- */

/* Joins the columns of one parameter; the sums of the first span become 1 / sqrt(c). */
static void join(void *arg, int64_t param, int worker)
{
    (void)worker;
    const pass *a = arg;
    const rf__optimizer *o = a->o;
    const rf_param *p = &o->params->p[param];
    const double square = a->step->scale * a->step->scale;
    if (p->rank != 2 || frozen(o, (size_t)param)) return;
    float *c = o->v + o->v_at[param] + p->dim[0], *root = o->scratch + o->columns_at[o->first[param]];
    for (int64_t j = 0; j < p->dim[1]; j++) {
        double sum = 0;
        for (size_t s = o->first[param]; s < o->first[param + 1]; s++) sum += o->scratch[o->columns_at[s] + (size_t)j];
        c[j] = (float)(a->b * c[j] + (1 - a->b) * (square * sum / (double)p->dim[0] + tiny));
        root[j] = (float)(1 / sqrt((double)c[j]));
    }
}

static double mean_row(const rf__optimizer *o, size_t param)
{
    const rf_param *p = &o->params->p[param];
    double sum = 0;
    for (int64_t j = 0; j < p->dim[0]; j++) sum += o->v[o->v_at[param] + (size_t)j];
    return sum / (double)p->dim[0];
}

/* ---- 3: directions ---- */

static void direct(void *arg, int64_t i, int worker)
{
    (void)worker;
    const pass *a = arg;
    const rf__optimizer *o = a->o;
    const rfk_table *k = o->params->ctx->k;
    const rf__span s = o->span[i];
    float *g = o->grad + s.at;
    if (frozen(o, s.param)) return;
    if (is_matrix(o, i)) {
        const rows r = rows_of(o, i);
        const float *root = o->scratch + o->columns_at[o->first[s.param]];
        const double mean = o->square[s.param];
        for (int64_t j = 0; j < r.n; j++) {
            k->mul(g + j * r.width, g + j * r.width, root, r.width);
            k->scale(g + j * r.width, g + j * r.width, (float)(a->step->scale / sqrt((double)r.row[j] / mean)),
                     r.width);
        }
    } else {
        const float *v = vector_of(o, i);
        for (size_t j = 0; j < s.n; j++) g[j] = (float)(a->step->scale * (double)g[j] / sqrt((double)v[j]));
    }
}

static void measure(void *arg, int64_t i, int worker)
{
    (void)worker;
    const pass *a = arg;
    const rf__optimizer *o = a->o;
    const rf__span s = o->span[i];
    if (!frozen(o, s.param)) o->square[i] = o->params->ctx->k->sumsq(o->grad + s.at, (int64_t)s.n);
}

/* ---- 4: the step ---- */

static double rms(const rf__optimizer *o, const double *square, size_t param)
{
    double sum = 0;
    for (size_t i = o->first[param]; i < o->first[param + 1]; i++) sum += square[i];
    return sqrt(sum / (double)o->params->p[param].count);
}

static void take_step(void *arg, int64_t i, int worker)
{
    (void)worker;
    const pass *a = arg;
    const rf__optimizer *o = a->o;
    const rf__rule *r = &o->rule;
    const rfk_table *k = o->params->ctx->k;
    const rf__span s = o->span[i];
    const int64_t n = (int64_t)s.n;
    float *p = o->value + s.at, *u = o->grad + s.at;
    if (frozen(o, s.param)) return;
    double rate = rf__rule_rate(r, a->step->rate, a->step->update) * o->factor[s.param];
    if (r->scale_parameter) rate *= fmax(least_scale, rms(o, o->other, s.param));
    const double size = r->clip_threshold > 0 ? rms(o, o->square, s.param) / r->clip_threshold : 0;
    const double along = rate / fmax(1, size);
    if (s.decay && r->decay > 0) k->scale(p, p, (float)(1 - r->decay * rate), n);
    if (o->m) {
        k->scale(u, u, (float)along, n);
        k->lerp(o->m + s.at, (float)(1 - r->beta1), u, n);
        k->axpy(p, -1, o->m + s.at, n);
    } else {
        k->axpy(p, -(float)along, u, n);
    }
}

rf_status rf__adafactor_update(rf__optimizer *o, const rf__step *step, rf_error *why)
{
    (void)why;
    const rf_ctx *ctx = o->params->ctx;
    const int64_t spans = (int64_t)o->spans;
    pass a = {o, step, 1 - pow((double)step->update, o->rule.decay_rate)};
    rf__parallel(ctx, spans, gather, &a);
    rf__parallel(ctx, (int64_t)o->params->n, join, &a);
    for (size_t i = 0; i < o->params->n; i++)                       /* there are at least as many spans as parameters */
        if (o->params->p[i].rank == 2) o->square[i] = mean_row(o, i);
    rf__parallel(ctx, spans, direct, &a);
    rf__parallel(ctx, spans, measure, &a);
    rf__parallel(ctx, spans, take_step, &a);
    return RF_OK;
}
