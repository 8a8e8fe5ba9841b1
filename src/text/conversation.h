/* conversation.h — pairs of texts that a chat template places in one text, for rerankers such as Qwen3-Reranker.
 *
 *     text(q, d) = w_0 x_1 w_1 ... x_n w_n,   w words of the template, x the query, the document or the instruction
 *
 * The template is that of the folder: chat_template.jinja, else chat_template of tokenizer_config.json.  A message of
 * each role `query`, `document` and `system` (the instruction) is placed; sentence-transformers 6 renders pairs so. */
#ifndef RF_TEXT_CONVERSATION_H
#define RF_TEXT_CONVERSATION_H

#include "base/base.h"

typedef struct rf_conversation rf_conversation;

/* Reads a template.  *out is NULL if it does not name both roles.  One that names them and does more than to place them
 * is kept as one that refuses pairs.  instruction: for `system`; NULL: the template's default. */
rf_status rf__conversation_new(const rf_ctx *ctx, const char *name, const char *text, size_t size,
                               const char *instruction, rf_conversation **out, rf_error *why);
void rf__conversation_free(const rf_ctx *ctx, rf_conversation *c);

/* The text of a pair, `size` bytes of which the last `end` are words of the template; freed with rf__free. */
rf_status rf__conversation_text(const rf_ctx *ctx, const rf_conversation *c, const char *query, size_t query_size,
                                const char *document, size_t document_size, char **text, size_t *size, size_t *end,
                                rf_error *why);

#endif
