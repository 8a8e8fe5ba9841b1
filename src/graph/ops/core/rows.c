/* rows.c — selects rows of a tensor, in any order, with repetitions.
 *
 *     y[i,:]         = x[row[i],:]
 *     dx[row[i],:]  += dy[i,:]                        the other rows of dx are zero */
#include "graph/graph.h"

struct saved { const int32_t *row; };

void rf__rows_run(rf_graph *g, rf_node *n)
{
    const struct saved *s = n->saved;
    rf__gather(g, n->out->f32, n->in[0]->f32, s->row, n->out->dim[0], n->out->dim[1]);
}

void rf__rows_back(rf_graph *g, rf_node *n)
{
    const struct saved *s = n->saved;
    float *dx = rf__adjoint_sum(g, n->in[0]);
    if (dx) rf__scatter_add(g, dx, n->out->grad, s->row, n->out->dim[0], n->out->dim[1]);
}

rf_tensor *rf__rows(rf_graph *g, rf_tensor *x, const int32_t row[], int64_t n)
{
    RF_EXPECT(g, "rows", x, 2);
    RF_NEED(g, n >= 0 && (row || !n), RF_EARG,
            "rows: expected 0 or more and a list of them, got %lld or no list", (long long)n);
    for (int64_t i = 0; i < n; i++)
        RF_NEED(g, row[i] >= 0 && row[i] < x->dim[0], RF_ERANGE,
                "rows: row[%lld]: expected a row below x's %lld, got %d",
                (long long)i, (long long)x->dim[0], (int)row[i]);

    rf_tensor *y = rf__new(g, 2, (int64_t[]){n, x->dim[1]});
    struct saved s = {rf__for_back(g, rf__tracked(g, RF_IN(x)), row, (size_t)n, sizeof *row)};
    return rf__call(g, RF_OP(rows), y, RF_IN(x), &s, sizeof s);
}
