/* attention_work.h — what an attention computes, from its description. */
#ifndef RF_ATTENTION_WORK_H
#define RF_ATTENTION_WORK_H

#include "graph/graph.h"

/* Keys of sequence b. */
int64_t rf__attention_keys(const rf_attention_spec *p, int64_t b);

/* Adds its arithmetic to the graph's: heads of D columns, and of E more. times: 2 for the backward pass, else 1. */
void rf__attention_count(rf_graph *g, const rf_attention_spec *p, int64_t D, int64_t E, int times);

/* For spec.seen (attention_seen.c).
 *
 *   fits       whether the description can be computed; false: the graph has stopped
 *   head       queries [first, last) of a problem by the kernel */
bool rf__attention_seen_fits(rf_graph *g, const rf_attention_spec *p);
void rf__attention_head(const rfk_table *k, bool bf16, bool seen, const rfk_attention *p, int64_t first, int64_t last,
                        void *scratch);

#endif
