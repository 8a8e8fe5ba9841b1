/* evaluate.h — held-out loss and accuracy, summed over batches of pieces or pairs. */
#ifndef RF_EVALUATE_H
#define RF_EVALUATE_H

#include "model/encoder.h"
#include "data/corpus/batch.h"
#include "data/pairs.h"
#include "dist/comm.h"

typedef struct rf__batch_loss { double loss; int64_t hits; } rf__batch_loss;

typedef struct rf__evaluator {
    rf_graph *graph;
    rf_encoder *encoder;
    rf__mlm_batch *batch;               /* space for one micro-batch                                                  */
    const rf__masking *masking;
    rf__pair_batch *pairs;              /* for translation models, instead of both                                    */
    void (*score_batch)(struct rf__evaluator *s, rf__batch_loss *out);      /* NULL: the loss of predicted tokens     */
    void *user;                         /* for `score_batch`                                                          */
    double loss;                        /* sums                                                                       */
    int64_t hits, labels, tokens;
    const rf_ctx *ctx;                  /* for several ranks                                                          */
    rf_comm *comm;                      /* several ranks take the batches in turn; NULL: one rank                     */
    rf__batch_loss *own;                /* the batches of this rank                                                   */
    size_t capacity, batches;           /* of all ranks                                                               */
} rf__evaluator;

/* The sums depend only on the pieces, their streams and the masking, up to the order in which losses are added. */
rf_status rf__evaluator_add(rf__evaluator *s, rf__ids ids, size_t at, size_t size, bool ends, uint64_t stream,
                            rf_error *why);
rf_status rf__evaluator_flush(rf__evaluator *s, rf_error *why);   /* computes the current batch and empties it        */

/* After the last flush: the sums over all ranks, with the bits that a single rank would compute. */
rf_status rf__evaluator_end(rf__evaluator *s, rf_error *why);

/* The key for masks in evaluations: the same in every evaluation of a run. */
rf_key rf__evaluation_key(uint64_t seed);

#endif
