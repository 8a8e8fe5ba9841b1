/* attention_probe.h — what attention does in an opened model, as numbers: for laboratories, not for serving. */
#ifndef RF_ATTENTION_PROBE_H
#define RF_ATTENTION_PROBE_H

#include "model/model.h"
#include "model/position.h"

/* Probabilities p [H,T,T] of a layer whose batch is one sequence of T tokens, from inside an observer
 * (rf__session_observe).
 *
 * Attention to the identity is its own probabilities: sum_n P(m,n) e_n = P(m,:).  So they are what the layer's
 * attention gives when column c of its values says "I am token c", D tokens at a time: the same kernel, mask, angles
 * and relative terms, whatever the encoding.  Costs T/D attentions.  A failure stops the graph. */
void rf__attention_probabilities(rf_graph *g, const rf__view *view, float *p);

/* Sums over the tokens that a layer has seen: what is left of queries and keys when their places are forgotten. */
typedef struct rf__head_sums {
    int64_t H, D, r;                    /* heads, their width, rotated columns                                        */
    rf_rope_layout layout;
    int64_t tokens;
    bool rotates;             /* scores are <q, R(n - m) k>, each plane of the first `rotated` heads by its frequency */
    int64_t rotated;
    double gain;                        /* of the rotated columns' product                                            */
    double *theta;                      /* [r/2]     of the layer                                                     */
    double *query, *key;                /* [H,D]     sum of q, of k, unrotated                                        */
    double *query_square, *key_square;  /* [H,D,D]   sum of q q^T, of k k^T                                           */
    double *query_plane, *key_plane;    /* [H,r/2]   sum of the norms of q, of k in a plane                           */
} rf__head_sums;
rf_status rf__head_sums_new(const rf_ctx *ctx, const rf_config *c, rf__head_sums *out, rf_error *why);
void rf__head_sums_free(const rf_ctx *ctx, rf__head_sums *s);
void rf__head_sums_add(rf__head_sums *s, const rf__view *view);

/* Mean and variance of the score <q, R(delta) k> / sqrt D of head h over all pairs of a query and a key that were seen,
 * were they delta = n - m apart, when the layer rotates; workspace is for D^2 numbers.
 *
 *     mean = <E q, R E k> / sqrt D          mean of squares = <E q q^T, R E k k^T R^T> / D                           */
void rf__head_score(const rf__head_sums *s, int64_t h, double delta, double *workspace, double *mean, double *variance);

#endif
