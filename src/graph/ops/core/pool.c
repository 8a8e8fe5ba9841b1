/* pool.c — pooling: one vector for each sequence.
 *
 *     cls    y[b,:] = x[start[b],:]
 *     mean   y[b,:] = sum_n x[n,:] / T
 *     max    y[b,c] = largest x[n,c] (the first of equals)        n in sequence b of T tokens
 *     last   y[b,:] = x[start[b+1] - 1,:]
 *     sqrtlen  y[b,:] = sum_n x[n,:] / sqrt T
 *     wmean  y[b,:] = sum_t t x[t,:] / sum_t t                    t = 1 ... T, the place of a token
 *
 * dx is the transpose: dy to the first or last token, dy times a token's share to all, or dy[b,c] to the token with the
 * maximum. */
#include <math.h>

#include "graph/graph.h"

struct saved { const int32_t *start; rf_pooling how; int32_t *which; };
struct pass { const rfk_table *k; const struct saved *s; float *y; const float *x; int64_t C; };

/* The factor of token t, from 0 on, in a sum over T tokens. */
static float share(rf_pooling how, int64_t t, int64_t T)
{
    if (how == RF_POOL_SQRT) return (float)(1 / sqrt((double)T));
    if (how == RF_POOL_WEIGHTED) return (float)((double)(t + 1) / ((double)T * ((double)T + 1) / 2));
    return 1 / (float)T;
}

static void weigh(const struct pass *a, float *y, const float *x, int64_t T)
{
    a->k->scale(y, x, share(a->s->how, 0, T), a->C);
    for (int64_t t = 1; t < T; t++) {
        const float factor = share(a->s->how, t, T);
        x += a->C;
        for (int64_t c = 0; c < a->C; c++) y[c] += factor * x[c];
    }
}

static void pool(void *arg, int64_t b, int worker)
{
    (void)worker;
    const struct pass *a = arg;
    const int32_t first = a->s->start[b], last = a->s->start[b + 1];
    const int64_t C = a->C;
    float *y = a->y + b * C;
    const float *x = a->x + first * C;
    int32_t *which = a->s->which ? a->s->which + b * C : NULL;
    if (a->s->how == RF_POOL_SQRT || a->s->how == RF_POOL_WEIGHTED) {
        weigh(a, y, x, last - first);
        return;
    }
    if (a->s->how == RF_POOL_LAST) x += (last - 1 - first) * C;
    memcpy(y, x, (size_t)C * sizeof *y);
    if (which)
        for (int64_t c = 0; c < C; c++) which[c] = first;
    if (a->s->how == RF_POOL_CLS || a->s->how == RF_POOL_LAST) return;
    for (int32_t n = first + 1; n < last; n++) {
        x += C;
        if (a->s->how == RF_POOL_MEAN) {
            a->k->add(y, y, x, C);
            continue;
        }
        for (int64_t c = 0; c < C; c++)
            if (x[c] > y[c]) {
                y[c] = x[c];
                if (which) which[c] = n;
            }
    }
    if (a->s->how == RF_POOL_MEAN) a->k->scale(y, y, 1 / (float)(last - first), C);
}

static void pool_back(void *arg, int64_t b, int worker)
{
    (void)worker;
    const struct pass *a = arg;
    const int32_t first = a->s->start[b], last = a->s->start[b + 1];
    const int64_t C = a->C;
    float *dx = a->y + first * C;
    const float *dy = a->x + b * C;
    memset(dx, 0, (size_t)((last - first) * C) * sizeof *dx);
    switch (a->s->how) {
    case RF_POOL_AUTO:
    case RF_POOL_SEVERAL: break;                                        /* rf__pool refuses them */
    case RF_POOL_CLS: memcpy(dx, dy, (size_t)C * sizeof *dx); break;
    case RF_POOL_LAST: memcpy(dx + (last - 1 - first) * C, dy, (size_t)C * sizeof *dx); break;
    case RF_POOL_MEAN:
    case RF_POOL_SQRT:
    case RF_POOL_WEIGHTED:
        for (int32_t n = first; n < last; n++, dx += C)
            a->k->scale(dx, dy, share(a->s->how, n - first, last - first), C);
        break;
    case RF_POOL_MAX:
        for (int64_t c = 0; c < C; c++) dx[(a->s->which[b * C + c] - first) * C + c] = dy[c];
        break;
    }
}

static void each_sequence(rf_graph *g, const rf_node *n, rf_body *body, float *y, const float *x)
{
    rf__each(g, n->out->dim[0], body, &(struct pass){g->k, n->saved, y, x, n->out->dim[1]});
}

void rf__pool_run(rf_graph *g, rf_node *n) { each_sequence(g, n, pool, n->out->f32, n->in[0]->f32); }

void rf__pool_back(rf_graph *g, rf_node *n)
{
    float *dx = rf__floats(g, rf__size(n->in[0]));
    if (!dx) return;
    each_sequence(g, n, pool_back, dx, n->out->grad);
    rf__adjoint(g, n->in[0], dx);
}

rf_tensor *rf__pool(rf_graph *g, rf_tensor *x, const int32_t start[], int64_t B, rf_pooling how)
{
    RF_EXPECT(g, "pool", x, 2);
    RF_STARTS(g, "pool", start, B, x->dim[0], 1);
    RF_NEED(g, how >= RF_POOL_CLS && how <= RF_POOL_WEIGHTED, RF_EARG,
            "pool: expected a value of rf_pooling, got %d", (int)how);

    const bool track = rf__tracked(g, RF_IN(x));
    const int64_t C = x->dim[1];
    rf_tensor *y = rf__new(g, 2, (int64_t[]){B, C});
    struct saved s = {rf__for_back(g, track, start, (size_t)B + 1, sizeof *start), how, NULL};
    if (track && how == RF_POOL_MAX) s.which = rf__values(g, (size_t)(B * C), sizeof *s.which);
    return rf__call(g, RF_OP(pool), y, RF_IN(x), &s, sizeof s);
}
