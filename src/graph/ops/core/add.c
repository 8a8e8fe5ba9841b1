/* add.c — sum of two tensors of the same shape.
 *
 *     y = a + b
 *     da = dy,  db = dy                               one adopts the buffer, the other gets a copy */
#include "graph/graph.h"

struct sum { const rfk_table *k; float *y; const float *a, *b; };

static void sum(void *arg, int64_t first, int64_t last, int64_t block, int worker)
{
    (void)block, (void)worker;
    const struct sum *s = arg;
    s->k->add(s->y + first, s->a + first, s->b + first, last - first);
}

void rf__add_run(rf_graph *g, rf_node *n)
{
    rf__spans(g, rf__size(n->out), RF_SPAN, sum, &(struct sum){g->k, n->out->f32, n->in[0]->f32, n->in[1]->f32});
}

void rf__add_back(rf_graph *g, rf_node *n)
{
    float *dy = rf__dy(n);
    if (n->in[0]->tracked) rf__adjoint_copy(g, n->in[1], dy);
    rf__adjoint(g, n->in[n->in[0]->tracked ? 0 : 1], dy);
}

rf_tensor *rf__add(rf_graph *g, rf_tensor *a, rf_tensor *b)
{
    RF_EXPECT(g, "add", a, 0);
    RF_EXPECT(g, "add", b, a->rank);
    for (int i = 0; i < a->rank; i++)
        RF_NEED(g, a->dim[i] == b->dim[i], RF_ESHAPE, "add: dimension %d: expected that of a, %lld, got %lld in b", i,
                (long long)a->dim[i], (long long)b->dim[i]);

    return rf__call(g, RF_OP(add), rf__like(g, a), RF_IN(a, b), NULL, 0);
}
