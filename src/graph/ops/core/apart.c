/* apart.c — two vectors with as many zeros between them.
 *
 *     y = [a, 0, b]                                     a and b [C], y [3C] */
#include "graph/graph.h"

void rf__apart_run(rf_graph *g, rf_node *n)
{
    const int64_t C = n->in[0]->dim[0];
    float *y = n->out->f32;
    if (!rf__computes(g)) return;
    memcpy(y, n->in[0]->f32, (size_t)C * sizeof *y);
    memset(y + C, 0, (size_t)C * sizeof *y);
    memcpy(y + 2 * C, n->in[1]->f32, (size_t)C * sizeof *y);
}

void rf__apart_back(rf_graph *g, rf_node *n)
{
    const int64_t C = n->in[0]->dim[0];
    for (int64_t i = 0; i < 2; i++) {
        float *dx = rf__floats(g, C);
        if (!dx) return;
        rf__copy_into(g, dx, n->out->grad + 2 * i * C, C);
        rf__adjoint(g, n->in[i], dx);
    }
}

rf_tensor *rf__apart(rf_graph *g, rf_tensor *a, rf_tensor *b)
{
    RF_EXPECT(g, "apart", a, 1);
    RF_EXPECT(g, "apart", b, 1);
    const int64_t C = a->dim[0];
    RF_NEED(g, b->dim[0] == C, RF_ESHAPE, "apart: expected two vectors of one length, got [%lld] and [%lld]",
            (long long)C, (long long)b->dim[0]);
    return rf__call(g, RF_OP(apart), rf__new(g, 1, (int64_t[]){3 * C}), RF_IN(a, b), NULL, 0);
}
