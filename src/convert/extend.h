/* extend.h — replaces a model's vocabulary by a larger one. */
#ifndef RF_PIPELINE_EXTEND_H
#define RF_PIPELINE_EXTEND_H

#include "model/params/params.h"
#include "roformer/tokenizer.h"

/* What happens to the tokens: kept keep their row; means are new and get the mean of their pieces' rows; unknown are
 * new and get the row of [UNK]. */
typedef struct rf__extension { int64_t kept, means, unknown, lost; } rf__extension;

/* Replaces parameters and slab for the vocabulary of `from` by those for `to`; also sets vocab_size and pad_token_id of
 * the config. On failure nothing is changed. */
rf_status rf__extend_vocabulary(const rf_tokenizer *from, const rf_tokenizer *to, rf_params *params, float **slab,
                                rf__extension *out, rf_error *why);

/* Ids of tokens in generation_config.json become those of the same tokens in `to`. A token that `to` lacks, or its key,
 * is left out, and the key is named to `report`, unless that is NULL. */
rf_status rf__extend_generation(const rf_ctx *ctx, const rf_tokenizer *from, const rf_tokenizer *to, rf__kept_file *f,
                                void (*report)(void *user, const char *name, const char *left_out), void *user,
                                rf_error *why);

#endif
