/* shares.h — which rank reduces, updates and holds the moments of which spans (ZeRO stage 1, Rajbhandari et al. 2020).
 *
 *     slab      | embeddings . . . . . . . . | layer 0 | layer 1 | ... | head |
 *     buckets   |   5   |   4   |     3      |    2    |    1    | ... |  0   |     become final in this order
 *     parts     |0|1|2|3|                    |3|0|1|2|                              one for each rank, whole spans
 *
 * Every bucket has parts for all ranks (if it has as many spans), so all ranks send and receive while it is reduced.
 * The rank of the first part changes from bucket to bucket. */
#ifndef RF_TRAIN_SHARES_H
#define RF_TRAIN_SHARES_H

#include "model/params/params.h"

/* A fixed block of the slab, inside one parameter; whole rows of a matrix. `slot` is the offset of its moments: `at`,
 * if one rank keeps everything; `away`: another rank keeps them. */
typedef struct rf__span { size_t at, n, param; bool decay, away; size_t slot; } rf__span;

/* Spans [first, last); floats [at, at + n) of the slab, including padding between parameters. */
typedef struct rf__share { size_t first, last, at, n; } rf__share;
typedef struct rf__bucket { rf__share whole; size_t floats; } rf__bucket;     /* floats: without padding              */

typedef struct rf__shares {
    int ranks, rank;
    size_t buckets;
    rf__bucket *bucket;
    rf__share *part;                     /* [buckets][ranks]                                                          */
    size_t owned;                       /* floats of moments on this rank: the slots of all own spans                 */
    size_t most_floats, most_spans;     /* of one part, of any rank                                                   */
} rf__shares;

/* Divides the slab of params into buckets of one layer or 16 MiB, and assigns them to ranks; sets `slot` and `away` of
 * every span. */
rf_status rf__shares_new(const rf_params *params, rf__span span[], size_t spans, int ranks, int rank, rf__shares *out,
                         rf_error *why);
void rf__shares_free(const rf_ctx *ctx, rf__shares *s);

static inline const rf__share *rf__share_of(const rf__shares *s, size_t bucket, int rank)
{
    return &s->part[bucket * (size_t)s->ranks + (size_t)rank];
}

#endif
