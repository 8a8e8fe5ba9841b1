/* table.h — the table of rf__embed and rf__mix: values in f32, or rows of a file if it is not trained. */
#ifndef RF_TABLE_H
#define RF_TABLE_H

#include "graph/graph.h"

static inline bool rf__expect_table(rf_graph *g, const char *op, const rf_tensor *x)
{
    if (!x || x->f32 || !x->rows) return rf__expect_rank(g, op, "table", x, 2);
    if (g->error.code) return false;
    if (x->rank != 2) rf__stop(g, RF_ESHAPE, "%s: table: expected rank 2, got %d", op, x->rank);
    else if (x->tracked) rf__stop(g, RF_EARG, "%s: table: expected f32 values to learn, got only rows", op);
    return !g->error.code;
}

#endif
