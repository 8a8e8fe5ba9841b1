/* activate.c — an activation as a separate operation.
 *
 *     y  = act(x)
 *     dx = act'(x) dy                                 overwrites dy */
#include "graph/graph.h"

struct saved { rf_act act; };

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
    rf_tensor *y = rf__like(g, x);
    if (g->error.code) return y;
    rf__act_forward(g, act, y->f32, x->f32, rf__size(x));
    const struct saved s = {act};
    rf__needed(x);
    return rf__tracked(g, RF_IN(x)) ? rf__record(g, RF_OP(activate), y, RF_IN(x), &s, sizeof s) : y;
}
