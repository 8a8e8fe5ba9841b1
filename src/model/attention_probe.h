/* attention_probe.h — what attention does in an opened model, as numbers: for laboratories, not for serving. */
#ifndef RF_ATTENTION_PROBE_H
#define RF_ATTENTION_PROBE_H

#include "model/model.h"
#include "model/positions.h"
#include "roformer/inspect/probe.h"

/* Probabilities p [H,T,T] of a layer whose batch is one sequence of T tokens, from inside an observer
 * (rf__session_observe).
 *
 * Attention to the identity is its own probabilities: sum_n P(m,n) e_n = P(m,:).  So they are what the layer's
 * attention gives when column c of its values says "I am token c", D tokens at a time: the same kernel, mask, angles
 * and relative terms, whatever the encoding.  Costs T/D attentions.  A failure stops the graph. */
void rf__attention_probabilities(rf_graph *g, const rf__view *view, float *p);

/* Of attention to sources, from inside an observer: p, pair after pair [T_b, S_b], the means over the heads of what a
 * token of the target gives to each of its source.  On failure the graph has stopped. */
void rf__source_shares(rf_graph *g, const rf__view *view, float *p);

/* The sums of roformer/inspect/probe.h. */
rf_status rf__head_sums_new(const rf_ctx *ctx, const rf_config *c, rf_head_sums *out, rf_error *why);
void rf__head_sums_free(const rf_ctx *ctx, rf_head_sums *s);
void rf__head_sums_add(rf_head_sums *s, const rf__view *view);

#endif
