/* dropout.c — sets a fraction p of the elements to zero and scales the others.
 *
 *     y[i]  = x[i] keep(i) / (1 - p)                  keep: Philox of (seed, step, this dropout's number, i)
 *     dx[i] = dy[i] keep(i) / (1 - p)                 recomputed; no mask is stored */
#include "graph/graph.h"

struct saved { const rfk_table *k; float p; rf_key key; uint64_t stream; };
struct pass { const struct saved *s; float *y; const float *x; };

static void drop(void *arg, int64_t first, int64_t last, int64_t block, int worker)
{
    (void)block, (void)worker;
    const struct pass *a = arg;
    a->s->k->dropout(a->y + first, a->x + first, last - first, a->s->p, a->s->key.k, a->s->stream, (uint64_t)first);
}

void rf__dropout_run(rf_graph *g, rf_node *n)
{
    rf__spans(g, rf__size(n->out), RF_SPAN, drop, &(struct pass){n->saved, n->out->f32, n->in[0]->f32});
}

void rf__dropout_back(rf_graph *g, rf_node *n)
{
    float *dy = rf__dy(n);
    rf__spans(g, rf__size(n->out), RF_SPAN, drop, &(struct pass){n->saved, dy, dy});
    rf__adjoint(g, n->in[0], dy);
}

rf_tensor *rf__dropout(rf_graph *g, rf_tensor *x, double p)
{
    RF_EXPECT(g, "dropout", x, 0);
    RF_NEED(g, p >= 0 && p < 1, RF_ERANGE, "dropout: p: expected 0 <= p < 1, got %g", p);
    if (!g->train || p == 0) return x;
    struct saved s = {g->k, (float)p, g->key, rf__drop_stream(g)};
    return rf__call(g, RF_OP(dropout), rf__like(g, x), RF_IN(x), &s, sizeof s);
}
