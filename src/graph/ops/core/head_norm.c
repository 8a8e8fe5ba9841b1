/* head_norm.c — the norms of queries and keys, head by head, before they are rotated.                Henry et al. 2020
 *
 *     y[n,h,:] = gamma_p x[n,h,:] rstd,   rstd = 1 / sqrt(mean x[n,h,:]^2 + eps)      p: H heads of queries, G of keys
 *     y        = x                                                                for the values
 *     dx       = rstd (gdy - xhat mean(gdy xhat)),  gdy = gamma dy,  xhat = x rstd;   dgamma_p += sum_n,h dy xhat
 *
 * With RF_NORM_RMS_ONE the scale is 1 + gamma. The sums over rows are formed per span and then over the spans in order,
 * so they do not depend on the number of workers. */
#include "graph/graph.h"

struct saved {
    const rfk_table *k;
    int64_t N, H, G, D, width;
    const float *scale[2];
    float *stat;                        /* [N,H+G] pairs */
};

struct forward { const struct saved *s; float *y; const float *x; float eps; };

static void norm_rows(void *arg, int64_t first, int64_t last, int64_t block, int worker)
{
    (void)block, (void)worker;
    const struct forward *f = arg;
    const struct saved *s = f->s;
    const int64_t values = (s->H + s->G) * s->D;
    for (int64_t n = first; n < last; n++) {
        const float *x = f->x + n * s->width;
        float *y = f->y + n * s->width, *stat = s->stat ? s->stat + 2 * n * (s->H + s->G) : NULL;
        s->k->rms_norm(y, NULL, stat, x, NULL, s->scale[0], NULL, f->eps, s->H, s->D);
        s->k->rms_norm(y + s->H * s->D, NULL, stat ? stat + 2 * s->H : NULL, x + s->H * s->D, NULL, s->scale[1], NULL,
                       f->eps, s->G, s->D);
        memcpy(y + values, x + values, (size_t)(s->width - values) * sizeof *y);
    }
}

struct backward { const struct saved *s; float *dx, *part; const float *dy, *x; };

static void back_rows(void *arg, int64_t first, int64_t last, int64_t block, int worker)
{
    (void)worker;
    const struct backward *b = arg;
    const struct saved *s = b->s;
    const int64_t values = (s->H + s->G) * s->D, key = s->H * s->D;
    float *part = b->part + block * 2 * s->D;
    memset(part, 0, (size_t)(2 * s->D) * sizeof *part);
    for (int64_t n = first; n < last; n++) {
        const int64_t at = n * s->width;
        const float *stat = s->stat + 2 * n * (s->H + s->G);
        s->k->rms_norm_back(b->dx + at, part, NULL, b->dy + at, b->x + at, stat, s->scale[0], s->H, s->D);
        s->k->rms_norm_back(b->dx + at + key, part + s->D, NULL, b->dy + at + key, b->x + at + key, stat + 2 * s->H,
                            s->scale[1], s->G, s->D);
        memcpy(b->dx + at + values, b->dy + at + values, (size_t)(s->width - values) * sizeof *b->dx);
    }
}

void rf__head_norm_back(rf_graph *g, rf_node *n)
{
    const struct saved *s = n->saved;
    rf_tensor *const gamma[] = {n->in[1], n->in[2]};
    const int64_t N = s->N, D = s->D, each = rf__max64(16, (N / 64 + 15) / 16 * 16), spans = (N + each - 1) / each;
    float *sum[2] = {NULL, NULL}, *dx = rf__floats(g, N * s->width);
    for (int i = 0; i < 2; i++)
        if (gamma[i]->tracked) sum[i] = rf__adjoint_sum(g, gamma[i]);
    const rf_mark mark = rf__scratch(g);
    float *part = rf__push(g, (size_t)(spans * 2 * D), sizeof *part);
    if (g->error.code) return;
    rf__spans(g, N, each, back_rows, &(struct backward){s, dx, part, n->out->grad, n->in[0]->f32});
    for (int64_t i = 0; i < spans; i++)
        for (int p = 0; p < 2; p++)
            if (sum[p]) s->k->add(sum[p], sum[p], part + (2 * i + p) * D, D);
    rf__scratch_end(g, mark);
    rf__adjoint(g, n->in[0], dx);
}

rf_tensor *rf_head_norm(rf_graph *g, rf_tensor *x, rf_tensor *query, rf_tensor *key, int64_t heads, int64_t kv_heads,
                        double eps, rf_norm_kind kind)
{
    RF_EXPECT(g, "head_norm", x, 2);
    RF_EXPECT(g, "head_norm", query, 1);
    const int64_t G = kv_heads ? kv_heads : heads, D = query->dim[0];
    RF_VECTOR(g, "head_norm", key, D);
    RF_NEED(g, key && heads > 0 && G > 0 && D > 0 && heads <= INT32_MAX && G <= heads &&
                   x->dim[1] == (heads + 2 * G) * D, RF_ESHAPE,
            "head_norm: x: expected the columns of %lld heads of queries and %lld of keys and of values of %lld "
            "columns, got %lld", (long long)heads, (long long)G, (long long)D, (long long)x->dim[1]);
    RF_NEED(g, eps >= 0 && eps < 1, RF_ERANGE, "head_norm: eps: expected 0 <= eps < 1, got %g", eps);
    RF_NEED(g, kind == RF_NORM_RMS || kind == RF_NORM_RMS_ONE, RF_EARG,
            "head_norm: kind: expected a norm without a mean, got %d", (int)kind);
    const bool track = rf__tracked(g, RF_IN(x, query, key));
    struct saved s = {.k = g->k, .N = x->dim[0], .H = heads, .G = G, .D = D, .width = x->dim[1]};
    s.scale[0] = rf__norm_scale(g, query, kind);
    s.scale[1] = rf__norm_scale(g, key, kind);
    rf_tensor *y = rf__like(g, x);
    if (track) s.stat = rf__push(g, (size_t)(s.N * (heads + G)), 2 * sizeof *s.stat);
    if (g->error.code) return &g->nil.t;
    if (track) rf__needed(x);
    rf__spans(g, s.N, rf__span_rows(s.width), norm_rows, &(struct forward){&s, y->f32, x->f32, (float)eps});
    return track ? rf__record(g, RF_OP(head_norm), y, RF_IN(x, query, key), &s, sizeof s) : y;
}
