/* generation.h — generation_config.json: how a model's makers would have its texts found; see generation.c. */
#ifndef RF_STORE_GENERATION_H
#define RF_STORE_GENERATION_H

#include "base/base.h"

/* What a key that is not there leaves as it is. */
typedef struct rf__generation_config {
    int64_t num_beams, max_new_tokens, no_repeat_ngram_size, top_k;
    int64_t max_length;                 /* of a model of one side: with the prompt; 0: no key                         */
    int64_t forced_bos, forced_eos;
    double length_penalty, repetition_penalty, temperature, top_p, min_p, typical_p;
    int do_sample, renormalize;
    int early;                          /* 0 false, 1 true, 2 "never"                                                 */
    int32_t *stop, *suppress;           /* [stops], [suppressed]: the context's; NULL: no key                         */
    int64_t stops, suppressed;
    rf_error why;                       /* code RF_OK, or what it asks for that cannot be had                         */
} rf__generation_config;

/* Reads the folder's file, or config.json where there is none, over what is there.  Of a translator max_length becomes
 * max_new_tokens with one token before the new ones.
 *
 *   start       decoder_start_token_id of config.json, which this file may not contradict; -1: a model of one side
 *   RF_EDATA    a key with a value that it cannot have                                                               */
rf_status rf__generation_read(const rf_ctx *ctx, const char *folder, int64_t start, rf__generation_config *out,
                              rf_error *why);

/* The folder's file as it is, or one of the keys of this kind that its config.json has; with neither, text stays NULL,
 * and nothing is written.  text: freed with rf__free. */
bool rf__generation_key(const char *key);        /* whether it is one of a config.json's that are for texts alone    */
rf_status rf__generation_keep(const rf_ctx *ctx, const char *folder, rf__kept_file *out, rf_error *why);
rf_status rf__generation_write(const rf_ctx *ctx, const char *folder, const rf__kept_file *f, rf_error *why);
void rf__generation_clear(const rf_ctx *ctx, rf__generation_config *x);

#endif
