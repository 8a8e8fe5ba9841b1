/* extend.h — replace a model's vocabulary by a larger one. */
#ifndef RF_PIPELINE_EXTEND_H
#define RF_PIPELINE_EXTEND_H

#include "model/params.h"
#include "roformer/tokenizer.h"

/* What becomes of the tokens: kept have the row that they had, means are new, unknown are new and made of [UNK]. */
typedef struct rf__extension { int64_t kept, means, unknown, lost; } rf__extension;

/* Parameters and slab for the vocabulary of `to` in place of those for the one of `from`; vocab_size and pad_token_id
 * of the config go along.  On failure everything is as it was. */
rf_status rf__extend_vocabulary(const rf_tokenizer *from, const rf_tokenizer *to, rf_params *params, float **slab,
                                rf__extension *out, rf_error *why);

#endif
