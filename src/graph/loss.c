/* loss.c — shared functions of the losses over small tensors of logits.
 *
 * A head has few logits (labels of an example, not a vocabulary).  So these losses are computed by their formulas in
 * double, together with their gradient; the backward pass only multiplies it by the adjoint of the loss. */
#include "graph/graph.h"

rf_tensor *rf__loss_call(rf_graph *g, const rf_op *op, rf_tensor *z, void *saved, size_t size, double *sum,
                         int64_t *hits)
{
    rf_loss_saved *s = saved;
    if (rf__tracked(g, RF_IN(z))) s->dz = rf__floats(g, rf__size(z));
    rf_tensor *y = rf__call(g, op, rf__new(g, 1, (int64_t[]){1}), RF_IN(z), saved, size);
    if (sum) *sum += s->sum;
    if (hits) *hits += s->hits;
    return y;
}

void rf__loss_run(rf_graph *g, rf_node *n, rf_loss_body *body)
{
    rf_loss_saved *s = n->saved;
    if (s->dz) rf__zero(g, s->dz, rf__size(n->in[0]));
    if (!rf__computes(g)) return;
    s->sum = body(n);
    *n->out->f32 = (float)(s->weight * s->sum);
}

void rf__loss_back(rf_graph *g, rf_node *n)
{
    const rf_loss_saved *s = n->saved;
    if (rf__computes(g)) g->k->scale(s->dz, s->dz, *n->out->grad, rf__size(n->in[0]));
    rf__adjoint(g, n->in[0], s->dz);
}
