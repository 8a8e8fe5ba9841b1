/* card.h — the model card of a trained folder: README.md with the header that Hugging Face's hub reads. */
#ifndef RF_TRAIN_CARD_H
#define RF_TRAIN_CARD_H

#include "base/json.h"

#include "base/base.h"
#include "roformer/checkpoint.h"
#include "roformer/finetune.h"

typedef struct rf__card {
    const rf_ctx *ctx;
    const char *folder;                 /* its last part is the model's name                                          */
    const char *tokenizer;              /* the class of transformers that reads the folder's tokenizer, or NULL       */
    const rf_config *config;            /* task and labels are there                                                  */
    const char *base;                   /* model folder that fine-tuning began with, or NULL                          */
    const json_t *options;              /* of the run, as checkpoints keep them (rf__options_json): data files, too   */
    const json_t *defaults;             /* the same where nothing was chosen: what equals it is not listed; or NULL   */
    const json_t *stages;               /* rows of stages, as in all_results.json; or NULL                            */
    int64_t steps;
    double epochs;
    rf_scores scores;                   /* of the model as it is in the folder; may be none                           */
} rf__card;

/* Writes folder/README.md: as a whole or not at all, the same bytes for the same card, files by their names without
 * their paths. A README.md that is there and was not written by this function is left as it is.  RF_EIO, RF_ENOMEM. */
rf_status rf__card_write(const rf__card *c, rf_error *why);

#endif
