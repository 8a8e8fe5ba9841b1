/* kept.h — rf__kept for values, which a dry graph does not read. */
#ifndef RF_KEPT_H
#define RF_KEPT_H

#include "graph/graph.h"

static inline const float *rf__kept_values(rf_graph *g, bool track, const float *from, int64_t n)
{
    if (!track) return from;
    float *to = rf__values(g, (size_t)n, sizeof *to);
    if (to) rf__copy_into(g, to, from, n);
    return to;
}

#endif
