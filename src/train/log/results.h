/* results.h — all_results.json: what came of a run, as transformers' Trainer writes it. */
#ifndef RF_TRAIN_RESULTS_H
#define RF_TRAIN_RESULTS_H

#include "roformer/finetune.h"
#include "train/checkpoint/state.h"
#include "train/stages.h"

typedef struct rf__results {
    const rf_ctx *ctx;
    const char *folder;
    const rf__state *state;
    const rf__stages *stages;               /* or NULL                                                                */
    double epoch;
    int64_t train_samples, eval_samples;    /* examples, or pieces of documents                                       */
    double eval_seconds;                    /* of the evaluation that `scores` are of; 0: not known                   */
    rf_scores scores;                       /* of the model as it is in the folder; may be none                       */
    bool tokens;                            /* pre-training: the perplexity of the loss is a result, too              */
} rf__results;

/* Writes folder/all_results.json, keys in order.  What is not known, or not finite, is left out.  RF_EIO, RF_ENOMEM. */
rf_status rf__results_write(const rf__results *r, rf_error *why);

#endif
