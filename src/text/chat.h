/* chat.h — the chat template of a folder: what a model reads for a list of messages.
 *
 * As in transformers, the template is chat_template.jinja, or else chat_template of tokenizer_config.json: a string, or
 * a list of {"name", "template"}, of which `default` counts, and `tool_use` for messages with tools. */
#ifndef RF_TEXT_CHAT_H
#define RF_TEXT_CHAT_H

#include <jansson.h>
#include <time.h>

#include "base/base.h"

typedef struct rf_chat rf_chat;

/* Names of the special tokens that templates know as variables. */
enum { RF_CHAT_TOKENS = 7 };
extern const char *const rf__chat_tokens[RF_CHAT_TOKENS];

/* `source`: a string or such a list; `tokens`: bos_token and the like, with their texts. A template that cannot be read
 * is kept with the reason. RF_ENOMEM: out of memory. */
rf_status rf__chat_new(const rf_ctx *ctx, const char *name, const json_t *source, const json_t *tokens, rf_chat **out,
                       rf_error *why);
void rf__chat_free(const rf_ctx *ctx, rf_chat *c); /* NULL is allowed */

/* Whether there is a chat template that can be read. RF_EUNSUPPORTED: there is none (c: NULL); others: as
 * rf__template_new. The functions below need one. */
rf_status rf__chat_check(const rf_chat *c, rf_error *why);

/* Whether the template goes through a content that is a list; whether it names the tools. */
bool rf__chat_takes_parts(const rf_chat *c);
bool rf__chat_takes_tools(const rf_chat *c);

/* The text of messages, to which the model is to add an answer, freed with rf__free.
 *
 *   tools    a list, or NULL
 *   more     other variables of the template, or NULL
 *   others   as rf__template_render */
rf_status rf__chat_text(const rf_chat *c, const json_t *messages, const json_t *tools, const json_t *more,
                        const struct tm *now, char **text, size_t *size, rf_error *why);

#endif
