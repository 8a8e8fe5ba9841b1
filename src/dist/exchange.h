/* exchange.h — what ranks send each other in a step.
 *
 *     backward     layer L-1 final  -> its bucket's parts to their owners        while layer L-2 is still computed
 *                  layer L-2 final  -> ...                                       at most three buckets at a time
 *     owners       sum of all ranks' nodes, in the order of the tree (tree.h)
 *     norm         squares of own spans -> everybody; added in the order of the spans
 *     update       own spans; their values -> everybody
 *
 * Every float of the gradient and of the values is sent and received (ranks - 1) / ranks times, which is the
 * minimum. */
#ifndef RF_TRAIN_EXCHANGE_H
#define RF_TRAIN_EXCHANGE_H

#include "dist/comm.h"
#include "dist/shares.h"
#include "dist/tree.h"

enum { RF__WINDOW = 3 };                /* buckets in transfer                                                        */

typedef struct rf__exchange {
    const rf_ctx *ctx;
    rf_comm *comm;
    const rf__shares *shares;
    rf__span *span;                     /* the optimizer's                                                            */
    rf__tree *tree;
    rf__tree_node *node;                /* of all ranks' shares, left to right                                        */
    int *first;                         /* [ranks + 1] the first node of each rank                                    */
    float **from;                       /* [nodes] where the floats of each node are                                  */
    float *buffer[RF__WINDOW];          /* received: [nodes of others][most_floats]                                   */
    double *sums;                       /* [most_spans] own and [ranks][most_spans] of everybody                      */
    size_t *left;                       /* [buckets] floats that are not final yet                                    */
    size_t started, finished;           /* buckets of this step, from the last one of the slab to the first           */
    const float *leaf;                  /* where the current backward pass accumulates                                */
    bool partial;                       /* after the sum, each rank needs only its own parts                          */
    rf_error why;                       /* the first failure; later calls do nothing                                  */
} rf__exchange;

/* Each rank has `share` micro-batches; partial: each rank updates its own spans, otherwise all ranks update
 * everything. */
rf_status rf__exchange_new(const rf_ctx *ctx, rf_comm *comm, const rf__shares *shares, rf__span *span, rf__tree *tree,
                           int64_t share, bool partial, rf__exchange *out, rf_error *why);
void rf__exchange_free(rf__exchange *x);

/* Bytes of the buffers. */
double rf__exchange_bytes(const rf_params *params, int ranks);

/* The gradient of a step: begin before the backward pass of the last micro-batch; it is notified as parameters become
 * final (an rf_ready); end after the backward pass. Then the own parts of tree->slab[0], or all of it, hold the sum
 * over all ranks. */
void rf__exchange_begin(rf__exchange *x, const float *leaf);
void rf__exchange_ready(void *x, const float *grad, int64_t n);
void rf__exchange_end(rf__exchange *x);

/* Replaces sum[i] of spans that other ranks keep by theirs. */
void rf__exchange_sums(rf__exchange *x, double sum[]);

/* Sends every rank's parts of a slab to all ranks. */
void rf__exchange_parts(rf__exchange *x, float *slab);

/* Sends the own spans' slots of `kept`, a moment, between floats [at, at + n), to rank 0's slab. */
void rf__exchange_to_first(rf__exchange *x, const float *kept, float *slab, size_t at, size_t n);

static inline rf_status rf__exchange_error(const rf__exchange *x, rf_error *why)
{
    return x && x->why.code ? rf_fail(why, x->why.code, "%s", x->why.text) : RF_OK;
}

#endif
