/* generation.h — generation_config.json: the settings for generation that the publishers of a model recommend; see
 * generation.c. */
#ifndef RF_STORE_GENERATION_H
#define RF_STORE_GENERATION_H

#include "base/base.h"

/* Missing keys leave the members unchanged. */
typedef struct rf__generation_config {
    int64_t num_beams, max_new_tokens, no_repeat_ngram_size, top_k;
    int64_t min_new_tokens, min_length;
    int64_t max_length;                 /* for decoder-only models, including the prompt; 0: missing                  */
    int64_t bos;                        /* begins an empty prompt; -1: missing                                        */
    int64_t forced_bos, forced_eos;
    double length_penalty, repetition_penalty, temperature, top_p, min_p, typical_p;
    int do_sample, renormalize;
    int early;                          /* 0 false, 1 true, 2 "never"                                                 */
    int32_t *stop, *suppress;           /* [stops], [suppressed]: owned by the context; NULL: missing                 */
    int64_t stops, suppressed;
    rf_error why;                       /* code RF_OK, or the error for a setting that is not supported               */
} rf__generation_config;

/* Reads the folder's file, or config.json if it does not exist, over the given values. For translation models,
 * max_length becomes max_new_tokens, since one token comes before the new ones.
 *
 * End tokens of config.json that are not below its vocab_size are left out.
 *
 *   start       decoder_start_token_id of config.json, which this file must not contradict; -1: a decoder-only model
 *   RF_EDATA    a key has an invalid value */
rf_status rf__generation_read(const rf_ctx *ctx, const char *folder, int64_t start, rf__generation_config *out,
                              rf_error *why);

/* The settings of a task in task_specific_params of the folder's config.json, over the given ones, which have no lists.
 *
 *   prefix           [size] "" if it has none
 *   RF_EUNSUPPORTED  there is no such task; the message names those that are there */
rf_status rf__generation_task(const rf_ctx *ctx, const char *folder, const char *task, int64_t start,
                              rf__generation_config *out, char *prefix, size_t size, rf_error *why);

/* The contents of the folder's file, or the keys of this kind in its config.json. If there are neither, text stays NULL
 * and nothing is written. text: freed with rf__free. */
bool rf__generation_key(const char *key);        /* whether it is a key of config.json that only concerns generation */
rf_status rf__generation_keep(const rf_ctx *ctx, const char *folder, rf__kept_file *out, rf_error *why);
rf_status rf__generation_write(const rf_ctx *ctx, const char *folder, const rf__kept_file *f, rf_error *why);
void rf__generation_clear(const rf_ctx *ctx, rf__generation_config *x);

#endif
