/* attention_probe.h — what attention does in an open model, as numbers; for analysis, not for serving. */
#ifndef RF_ATTENTION_PROBE_H
#define RF_ATTENTION_PROBE_H

#include "model/model.h"
#include "model/positions.h"
#include "roformer/inspect/positions.h"

/* Probabilities p [H,T,T] of a layer whose batch is one sequence of T tokens, called by an observer
 * (rf__session_observe).
 *
 * If the values are the identity, the result of attention is its probabilities: sum_n P(m,n) e_n = P(m,:). So the
 * layer's attention is computed with values whose column c is 1 for token c, D tokens at a time: with the same kernel,
 * mask, angles and relative terms, for any encoding. Costs T/D attentions. After a failure the graph has stopped. */
void rf__attention_probabilities(rf_graph *g, const rf__view *view, float *p);

/* For attention to sources, called by an observer: p, pair after pair [T_b, S_b], the means over the heads of the
 * weights that a target token gives to the tokens of its source. After a failure the graph has stopped. */
void rf__source_shares(rf_graph *g, const rf__view *view, float *p);

/* The sums of roformer/inspect/positions.h. */
rf_status rf__head_sums_new(const rf_ctx *ctx, const rf_config *c, rf_head_sums *out, rf_error *why);
void rf__head_sums_free(const rf_ctx *ctx, rf_head_sums *s);
void rf__head_sums_add(rf_head_sums *s, const rf__view *view);

#endif
