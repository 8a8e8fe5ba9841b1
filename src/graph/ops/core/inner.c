/* inner.c — weighted sum of all elements; the root of a backward pass whose adjoint is already known.
 *
 *     y  = sum_i w_i x_i
 *     dx = dy w */
#include "graph/graph.h"

struct saved { const float *weight; };

void rf__inner_back(rf_graph *g, rf_node *n)
{
    const struct saved *s = n->saved;
    const int64_t size = rf__size(n->in[0]);
    float *dx = rf__floats(g, size);
    if (!dx) return;
    g->k->scale(dx, s->weight, n->out->grad[0], size);
    rf__adjoint(g, n->in[0], dx);
}

rf_tensor *rf__inner(rf_graph *g, rf_tensor *x, const float weight[])
{
    RF_EXPECT(g, "inner", x, 0);
    const int64_t n = rf__size(x);
    RF_NEED(g, weight || !n, RF_EARG, "inner: expected weights for %lld values, got NULL", (long long)n);
    rf_tensor *y = rf__new(g, 1, (int64_t[]){1});
    const bool track = rf__tracked(g, RF_IN(x));
    const struct saved s = {track ? rf__copy(g, weight, (size_t)n, sizeof *weight) : weight};
    if (g->error.code) return &g->nil.t;
    double sum = 0;
    for (int64_t i = 0; i < n; i++) sum += (double)x->f32[i] * (double)weight[i];
    *y->f32 = (float)sum;
    return track ? rf__record(g, RF_OP(inner), y, RF_IN(x), &s, sizeof s) : y;
}
