/* head_norm.c — the norms of queries and keys, head by head, before they are rotated.                Henry et al. 2020
 *
 *     y[n,h,:] = gamma_p (x[n,h,:] - mean) rstd + beta_p          p: H heads of queries, G of keys; layer
 *     y[n,h,:] = gamma_p x[n,h,:] rstd                            rms, without a mean;  rms_one: 1 + gamma for gamma
 *     y        = x                                                for the values
 *     dx       = rstd (gdy - mean(gdy) - xhat mean(gdy xhat)),  gdy = gamma dy,  xhat = (x - mean) rstd
 *     dgamma_p += sum_n,h dy xhat,   dbeta_p += sum_n,h dy
 *
 * One head as wide as all of them has the norm of the whole width. The sums over rows are formed per span and then over
 * the spans in order, so they do not depend on the number of workers. */
#include "graph/graph.h"

enum { QUERY, KEY };

struct saved {
    const rfk_table *k;
    rf_norm_kind kind;
    int64_t N, heads[2], D, width;
    const float *scale[2];
    float eps;
    float *stat;                        /* [N,H+G] pairs */
};

static int64_t normed(const struct saved *s) { return (s->heads[QUERY] + s->heads[KEY]) * s->D; }

struct forward { const struct saved *s; float *y; const float *x, *beta[2]; };

static void norm_rows(void *arg, int64_t first, int64_t last, int64_t block, int worker)
{
    (void)block, (void)worker;
    const struct forward *f = arg;
    const struct saved *s = f->s;
    for (int64_t n = first; n < last; n++) {
        const float *x = f->x + n * s->width;
        float *y = f->y + n * s->width, *stat = s->stat ? s->stat + 2 * n * (s->heads[QUERY] + s->heads[KEY]) : NULL;
        for (int p = QUERY; p <= KEY; p++) {
            const int64_t at = p == KEY ? s->heads[QUERY] : 0;
            (s->kind == RF_NORM_LAYER ? s->k->layer_norm : s->k->rms_norm)(
                y + at * s->D, NULL, stat ? stat + 2 * at : NULL, x + at * s->D, NULL, s->scale[p], f->beta[p], s->eps,
                s->heads[p], s->D);
        }
        memcpy(y + normed(s), x + normed(s), (size_t)(s->width - normed(s)) * sizeof *y);
    }
}

struct backward { const struct saved *s; float *dx, *part; const float *dy, *x; };

/* part: [gamma, beta] of the queries, then of the keys, for each span. */
static void back_rows(void *arg, int64_t first, int64_t last, int64_t block, int worker)
{
    (void)worker;
    const struct backward *b = arg;
    const struct saved *s = b->s;
    float *part = b->part + block * 4 * s->D;
    memset(part, 0, (size_t)(4 * s->D) * sizeof *part);
    for (int64_t n = first; n < last; n++) {
        const int64_t row = n * s->width;
        const float *stat = s->stat + 2 * n * (s->heads[QUERY] + s->heads[KEY]);
        for (int p = QUERY; p <= KEY; p++) {
            const int64_t at = p == KEY ? s->heads[QUERY] : 0, place = row + at * s->D;
            (s->kind == RF_NORM_LAYER ? s->k->layer_norm_back : s->k->rms_norm_back)(
                b->dx + place, part + 2 * p * s->D, part + (2 * p + 1) * s->D, b->dy + place, b->x + place,
                stat + 2 * at, s->scale[p], s->heads[p], s->D);
        }
        const int64_t values = row + normed(s);
        memcpy(b->dx + values, b->dy + values, (size_t)(s->width - normed(s)) * sizeof *b->dx);
    }
}

void rf__head_norm_run(rf_graph *g, rf_node *n)
{
    const struct saved *s = n->saved;
    const rf_tensor *query_bias = n->in[2], *key_bias = n->in[4];
    rf__spans(g, s->N, rf__span_rows(s->width), norm_rows,
              &(struct forward){s, n->out->f32, n->in[0]->f32,
                                {query_bias ? query_bias->f32 : NULL, key_bias ? key_bias->f32 : NULL}});
}

void rf__head_norm_back(rf_graph *g, rf_node *n)
{
    const struct saved *s = n->saved;
    const int64_t N = s->N, D = s->D, each = rf__max64(16, (N / 64 + 15) / 16 * 16), spans = (N + each - 1) / each;
    float *sum[4] = {NULL}, *dx = rf__floats(g, N * s->width);
    for (int i = 0; i < 4; i++)
        if (n->in[1 + i] && n->in[1 + i]->tracked) sum[i] = rf__adjoint_sum(g, n->in[1 + i]);
    const rf_mark mark = rf__scratch(g);
    float *part = rf__values(g, (size_t)(spans * 4 * D), sizeof *part);
    if (g->error.code) return;
    rf__spans(g, N, each, back_rows, &(struct backward){s, dx, part, n->out->grad, n->in[0]->f32});
    for (int64_t i = 0; i < spans && rf__computes(g); i++)
        for (int p = 0; p < 4; p++)
            if (sum[p]) s->k->add(sum[p], sum[p], part + (4 * i + p) * D, D);
    rf__scratch_end(g, mark);
    rf__adjoint(g, n->in[0], dx);
}

rf_tensor *rf__head_norm(rf_graph *g, rf_tensor *x, rf_tensor *query, rf_tensor *query_bias, rf_tensor *key,
                         rf_tensor *key_bias, int64_t heads, int64_t kv_heads, double eps, rf_norm_kind kind)
{
    RF_EXPECT(g, "head_norm", x, 2);
    RF_EXPECT(g, "head_norm", query, 1);
    const int64_t G = kv_heads ? kv_heads : heads, D = query->dim[0];
    RF_VECTOR(g, "head_norm", key, D);
    RF_VECTOR(g, "head_norm", query_bias, D);
    RF_VECTOR(g, "head_norm", key_bias, D);
    RF_NEED(g, key && heads > 0 && G > 0 && D > 0 && heads <= INT32_MAX && G <= heads &&
                   x->dim[1] == (heads + 2 * G) * D, RF_ESHAPE,
            "head_norm: x: expected the columns of %lld heads of queries and %lld of keys and of values of %lld "
            "columns, got %lld", (long long)heads, (long long)G, (long long)D, (long long)x->dim[1]);
    RF_NEED(g, eps >= 0 && eps < 1, RF_ERANGE, "head_norm: eps: expected 0 <= eps < 1, got %g", eps);
    RF_NEED(g, kind == RF_NORM_LAYER || kind == RF_NORM_RMS || kind == RF_NORM_RMS_ONE, RF_EARG,
            "head_norm: kind: expected a known one, got %d", (int)kind);
    const bool track = rf__tracked(g, RF_IN(x, query, query_bias, key, key_bias));
    struct saved s = {.k = g->k, .kind = kind, .N = x->dim[0], .heads = {heads, G}, .D = D, .width = x->dim[1],
                      .eps = (float)eps};
    s.scale[QUERY] = rf__norm_scale(g, query, kind);
    s.scale[KEY] = rf__norm_scale(g, key, kind);
    rf_tensor *y = rf__like(g, x);
    if (track) {
        s.stat = rf__values(g, (size_t)(s.N * (heads + G)), 2 * sizeof *s.stat);
        rf__needed(x);
    }
    return rf__call(g, RF_OP(head_norm), y, RF_IN(x, query, query_bias, key, key_bias), &s, sizeof s);
}
