/* inner.c — weighted sum of all elements; the root of a backward pass whose adjoint is already known.
 *
 *     y  = sum_i w_i x_i
 *     dx = dy w */
#include "graph/graph.h"

struct saved { const float *weight; };

void rf__inner_run(rf_graph *g, rf_node *n)
{
    const struct saved *s = n->saved;
    const rf_tensor *x = n->in[0];
    double sum = 0;
    if (!rf__computes(g)) return;
    for (int64_t i = 0; i < rf__size(x); i++) sum += (double)x->f32[i] * (double)s->weight[i];
    *n->out->f32 = (float)sum;
}

void rf__inner_back(rf_graph *g, rf_node *n)
{
    const struct saved *s = n->saved;
    const int64_t size = rf__size(n->in[0]);
    float *dx = rf__floats(g, size);
    if (!dx) return;
    if (rf__computes(g)) g->k->scale(dx, s->weight, n->out->grad[0], size);
    rf__adjoint(g, n->in[0], dx);
}

rf_tensor *rf__inner(rf_graph *g, rf_tensor *x, const float weight[])
{
    RF_EXPECT(g, "inner", x, 0);
    const int64_t n = rf__size(x);
    RF_NEED(g, weight || !n, RF_EARG, "inner: expected weights for %lld values, got NULL", (long long)n);
    rf_tensor *y = rf__new(g, 1, (int64_t[]){1});
    struct saved s = {rf__values_for_back(g, rf__tracked(g, RF_IN(x)), weight, n)};
    return rf__call(g, RF_OP(inner), y, RF_IN(x), &s, sizeof s);
}
