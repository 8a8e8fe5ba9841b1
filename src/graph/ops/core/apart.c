/* apart.c — two vectors with as many zeros between them.
 *
 *     y = [a, 0, b]                                     a and b of C numbers, or b NULL (zeros), y [3C] */
#include "graph/graph.h"

void rf__apart_run(rf_graph *g, rf_node *n)
{
    const int64_t C = rf__size(n->in[0]);
    float *y = n->out->f32;
    if (!rf__computes(g)) return;
    memcpy(y, n->in[0]->f32, (size_t)C * sizeof *y);
    memset(y + C, 0, (size_t)(2 * C) * sizeof *y);
    if (n->in[1]) memcpy(y + 2 * C, n->in[1]->f32, (size_t)C * sizeof *y);
}

void rf__apart_back(rf_graph *g, rf_node *n)
{
    const int64_t C = rf__size(n->in[0]);
    for (int64_t i = 0; i < 2 && n->in[i]; i++) {
        float *dx = rf__floats(g, C);
        if (!dx) return;
        rf__copy_into(g, dx, n->out->grad + 2 * i * C, C);
        rf__adjoint(g, n->in[i], dx);
    }
}

rf_tensor *rf__apart(rf_graph *g, rf_tensor *a, rf_tensor *b)
{
    RF_EXPECT(g, "apart", a, 0);
    const int64_t C = rf__size(a);
    if (b) RF_VECTOR(g, "apart", b, C);
    return rf__call(g, RF_OP(apart), rf__new(g, 1, (int64_t[]){3 * C}), RF_IN(a, b), NULL, 0);
}
