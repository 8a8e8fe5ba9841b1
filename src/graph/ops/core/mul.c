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

void rf__mul_run(rf_graph *g, rf_node *n)
{
    multiply(g, n->out->f32, n->in[0]->f32, n->in[1]->f32, rf__size(n->out));
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

    if (rf__tracked(g, RF_IN(a, b))) {
        rf__needed(a);
        rf__needed(b);
    }
    return rf__call(g, RF_OP(mul), rf__like(g, a), RF_IN(a, b), NULL, 0);
}
