/* activate.c — an activation as a separate operation.
 *
 *     y  = act(x)
 *     dx = act'(x) dy                                 overwrites dy */
#include "graph/graph.h"

struct saved { rf_act act; };

void rf__activate_run(rf_graph *g, rf_node *n)
{
    const struct saved *s = n->saved;
    rf__act_forward(g, s->act, n->out->f32, n->in[0]->f32, rf__size(n->out));
}

void rf__activate_back(rf_graph *g, rf_node *n)
{
    const struct saved *s = n->saved;
    float *dy = rf__dy(n);
    rf__act_back(g, s->act, dy, dy, n->in[0]->f32, rf__size(n->out));
    rf__adjoint(g, n->in[0], dy);
}

rf_tensor *rf__activate(rf_graph *g, rf_tensor *x, rf_act act)
{
    rf_act_kernels known;
    RF_EXPECT(g, "activate", x, 0);
    RF_NEED(g, rf__act_find(g, act, &known), RF_EARG, "activate: expected a known activation, got %d", (int)act);
    if (act == RF_ACT_NONE) return x;
    rf__needed(x);
    return rf__call(g, RF_OP(activate), rf__like(g, x), RF_IN(x), &(struct saved){act}, sizeof(struct saved));
}
