/* text_job.h — pre-training on texts: what it adds to a run (run.h).
 *
 *     text_job.c       masked or next tokens: the job's hooks
 *     start_text.c     tokens, pieces, batches, stages, and the position at which the run continues */
#ifndef RF_TRAIN_TEXT_JOB_H
#define RF_TRAIN_TEXT_JOB_H

#include "train/run.h"

typedef struct rf__text_training {
    const rf_ctx *ctx;
    rf__tokens tokens[RF__SOURCES];
    int sources;
    rf__pieces pieces, held;            /* training data, held-out data                                               */
    rf__masking masking, eval_masking;
    rf__mlm_batch *batch;               /* [batches], of this rank's micro-batches                                    */
    int64_t batches;
} rf__text_training;

/* Opens texts or caches, and sets the number of steps by their size. */
rf_status rf__text_open(rf__run *r, rf_error *why);

/* The next stage: its options, its pieces, its micro-batches. */
rf_status rf__text_advance(rf__run *r, rf_error *why);

void rf__text_clear(rf__text_training *t);

/* Whether the run predicts next tokens. */
static inline bool rf__text_next(const rf__run *r) { return r->params.config.is_decoder; }

#endif
