/* mul.c — elementwise product of two tensors of the same shape.
 *
 *     y = a b
 *     da = b dy,  db = a dy */
#include "graph/graph.h"

struct flat { const rfk_table *k; float *y; const float *a, *b; };

static void multiply_span(void *arg, int64_t first, int64_t last, int64_t block, int worker)
{
    (void)block, (void)worker;
    const struct flat *f = arg;
    f->k->mul(f->y + first, f->a + first, f->b + first, last - first);
}

static void multiply(rf_graph *g, float *y, const float *a, const float *b, int64_t n)
{
    rf__spans(g, n, RF_SPAN, multiply_span, &(struct flat){g->k, y, a, b});
}

void rf__mul_back(rf_graph *g, rf_node *n)
{
    const int64_t size = rf__size(n->out);
    for (int i = 0; i < 2; i++) {
        if (!n->in[i]->tracked) continue;
        float *dx = rf__floats(g, size);
        if (!dx) return;
        multiply(g, dx, n->out->grad, n->in[1 - i]->f32, size);
        rf__adjoint(g, n->in[i], dx);
    }
}

rf_tensor *rf__mul(rf_graph *g, rf_tensor *a, rf_tensor *b)
{
    RF_EXPECT(g, "mul", a, 0);
    RF_EXPECT(g, "mul", b, a->rank);
    for (int i = 0; i < a->rank; i++)
        RF_NEED(g, a->dim[i] == b->dim[i], RF_ESHAPE, "mul: dimension %d: expected that of a, %lld, got %lld in b", i,
                (long long)a->dim[i], (long long)b->dim[i]);

    rf_tensor *y = rf__like(g, a);
    if (g->error.code) return y;
    multiply(g, y->f32, a->f32, b->f32, rf__size(y));
    if (!rf__tracked(g, RF_IN(a, b))) return y;
    rf__needed(a);
    rf__needed(b);
    return rf__record(g, RF_OP(mul), y, RF_IN(a, b), NULL, 0);
}
