/* results.h — all_results.json: the results of a run, in the form of transformers' Trainer. */
#ifndef RF_TRAIN_RESULTS_H
#define RF_TRAIN_RESULTS_H

#include "roformer/train.h"
#include "train/checkpoint/state.h"
#include "train/stages.h"

typedef struct rf__results {
    const rf_ctx *ctx;
    const char *folder;
    const rf__state *state;
    const rf__stages *stages;               /* or NULL                                                                */
    double epoch;
    int64_t train_samples, eval_samples;    /* examples, or pieces of documents                                       */
    double eval_seconds;                    /* of the evaluation that gave `metrics`; 0: unknown                      */
    rf_metric_values metrics;               /* of the model in the folder; may be empty                               */
    bool tokens;                            /* pre-training: perplexity is a result, too                              */
} rf__results;

/* Writes folder/all_results.json, with sorted keys. Values that are unknown or not finite are omitted. RF_EIO,
 * RF_ENOMEM. */
rf_status rf__results_write(const rf__results *r, rf_error *why);

#endif
