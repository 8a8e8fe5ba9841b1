/* loss.c — shared functions of the losses over small tensors of logits.
 *
 * A head has few logits (labels of an example, not a vocabulary).  So these losses are computed by their formulas in
 * double, together with their gradient; the backward pass only multiplies it by the adjoint of the loss. */
#include "graph/graph.h"

struct saved { float *dz; };

void rf__loss_back(rf_graph *g, rf_node *n)
{
    const struct saved *s = n->saved;
    const float dy = n->out->grad[0];
    const int64_t size = rf__size(n->in[0]);
    g->k->scale(s->dz, s->dz, dy, size);
    rf__adjoint(g, n->in[0], s->dz);
}

bool rf__loss_begin(rf_graph *g, rf_tensor *z, float **dz)
{
    *dz = rf__tracked(g, RF_IN(z)) ? rf__floats(g, rf__size(z)) : NULL;
    if (*dz) rf__zero(g, *dz, rf__size(z));
    return !g->error.code;
}

rf_tensor *rf__loss_end(rf_graph *g, const rf_op *op, rf_tensor *z, float *dz, double value)
{
    rf_tensor *y = rf__new(g, 1, (int64_t[]){1});
    if (g->error.code) return &g->nil.t;
    *y->f32 = (float)value;
    const struct saved s = {dz};
    return dz ? rf__record(g, op, y, RF_IN(z), &s, sizeof s) : y;
}
