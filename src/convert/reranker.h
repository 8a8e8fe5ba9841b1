/* reranker.h — makes a reranker of a causal model that is published without the files that say so. */
#ifndef RF_CONVERT_RERANKER_H
#define RF_CONVERT_RERANKER_H

#include "roformer/checkpoint.h"
#include "roformer/tokenizer.h"

typedef struct rf__reranker rf__reranker;

/* The kind of that name, if the model in `from` can be one; nothing is written. */
rf_status rf__reranker_find(const char *kind, const char *from, const rf_config *c, const rf_tokenizer *t,
                            const rf__reranker **out, rf_error *why);
/* Writes its files to `to`: the modules of sentence-transformers and the chat template. */
rf_status rf__reranker_write(const rf_ctx *ctx, const rf__reranker *r, const rf_config *c, const rf_tokenizer *t,
                             const char *to, rf_error *why);

#endif
