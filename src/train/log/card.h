/* card.h — the model card of a trained folder: README.md with the header that the Hugging Face Hub reads. */
#ifndef RF_TRAIN_CARD_H
#define RF_TRAIN_CARD_H

#include "base/json.h"

#include "base/base.h"
#include "roformer/checkpoint.h"
#include "roformer/train.h"

typedef struct rf__card {
    const rf_ctx *ctx;
    const char *folder;                 /* its last part is the model's name                                          */
    const char *tokenizer;              /* the transformers class that reads the folder's tokenizer, or NULL          */
    const rf_config *config;            /* includes task and labels                                                   */
    const char *base;                   /* model folder that fine-tuning started from, or NULL                        */
    const json_t *options;          /* of the run, as checkpoints store them (rf__options_json), including data files */
    const json_t *defaults;             /* the defaults: equal values are not listed; or NULL                         */
    const json_t *stages;               /* rows of stages, as in all_results.json; or NULL                            */
    int64_t steps;
    double epochs;
    rf_metric_values metrics;           /* of the model in the folder; may be empty                                   */
} rf__card;

/* Writes folder/README.md, completely or not at all. The same card gives the same bytes; files are named without their
 * paths. A README.md that was not written by this function is not changed. RF_EIO, RF_ENOMEM. */
rf_status rf__card_write(const rf__card *c, rf_error *why);

#endif
