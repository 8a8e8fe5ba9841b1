/* embedding.h — options that determine the vectors of texts: those given, otherwise the folder's, otherwise the
 * defaults. */
#ifndef CLI_EMBEDDING_H
#define CLI_EMBEDDING_H

#include "cli/shell/commands.h"
#include "cli/io/io.h"
#include "roformer/pipeline.h"

typedef struct cli_embedding {
    int pooling;
    int64_t max_length, batch_tokens, dimensions;
    const char *prompt, *prompt_name;
    int skip_special_tokens, layer_norm;
} cli_embedding;

/* The options of a command for it; `member` is the cli_embedding in its struct of arguments. */
#define CLI_EMBEDDING_OPTIONS(type, member)                                                                            \
    {"pooling", 'p', CLI_CHOICE, offsetof(type, member.pooling), "cls|mean|max|last|sqrtlen|wmean", "mean", 0, 0,      \
     NULL, "pooling of token vectors into one vector (default: as in the model folder, otherwise mean)", NULL},        \
        {"dimensions", 0, CLI_INT, offsetof(type, member.dimensions), "N", "0", 0, 1 << 20, NULL,                      \
         "truncate vectors to their first N dimensions before normalization (Matryoshka); 0: all", NULL},              \
        {"layer-norm", 0, CLI_FLAG, offsetof(type, member.layer_norm), NULL, NULL, 0, 0, NULL,                         \
         "before --dimensions, give the components of a vector mean 0 and variance 1 (nomic-embed-text-v1.5)", NULL},  \
        {"skip-special-tokens", 0, CLI_FLAG, offsetof(type, member.skip_special_tokens), NULL, NULL, 0, 0, NULL,       \
         "leave the tokens that the tokenizer adds ([CLS], [SEP]) out of the mean or maximum", NULL},                  \
        {"prompt", 0, CLI_TEXT, offsetof(type, member.prompt), "TEXT", NULL, -1, 0, NULL,                              \
         "put TEXT, which may be empty, before every line (default: the folder's default prompt)", NULL},              \
        {"prompt-name", 0, CLI_TEXT, offsetof(type, member.prompt_name), "NAME", NULL, 0, 0, NULL,                     \
         "put the folder's prompt of this name before every line", NULL},                                              \
        {"max-length", 0, CLI_INT, offsetof(type, member.max_length), "N", "-1", -1, 1 << 20, NULL,                    \
         "truncate texts to N tokens; 0: never; -1: as in the folder, otherwise max_position_embeddings", NULL},       \
    {                                                                                                                  \
        "batch-tokens", 0, CLI_INT, offsetof(type, member.batch_tokens), "N", "192", 1, 1 << 22, NULL,                 \
            "number of tokens in a batch of one thread", NULL                                                          \
    }

/* The text before a query; it replaces the one for lines. */
#define CLI_QUERY_PROMPT_OPTIONS(type, text, name)                                                                     \
    {"query-prompt", 0, CLI_TEXT, offsetof(type, text), "TEXT", NULL, -1, 0, NULL,                                     \
     "put TEXT, which may be empty, before the query (default: the prompt of the lines)", NULL},                       \
    {                                                                                                                  \
        "query-prompt-name", 0, CLI_TEXT, offsetof(type, name), "NAME", NULL, 0, 0, NULL,                              \
            "put the folder's prompt of this name before the query", NULL                                              \
    }

/* Changes the options for lines to those for a query, by its prompt or the name of its prompt; io->why on failure. */
rf_status cli_query_prompt(cli_io *io, rf_pipeline *p, const char *text, const char *name, rf_embed_options *o);

/* The settled options of rf_embed_texts (rf_embed_resolve), with normalize as in the folder; io->why on failure. */
rf_status cli_embedding_resolve(cli_io *io, rf_pipeline *p, const cli_embedding *given, rf_embed_options *out);

/* The same of rf_embed_tokens with a late-interaction model, in this role (-1: as --prompt-name says). */
rf_status cli_embedding_resolve_tokens(cli_io *io, rf_pipeline *p, const cli_embedding *given, int role,
                                       rf_embed_options *out);

/* Number of tokens of a query itself: blanks and control characters have none, and search finds nothing for them. */
rf_status cli_query_tokens(const cli_io *io, const rf_pipeline *p, const char *text, size_t size, size_t *tokens,
                           rf_error *why);
rf_status cli_query_empty(rf_error *why);                                                   /* RF_EARG and message */

/* Adds up the reports about texts. */
void cli_embedding_count(rf_texts_report *all, const rf_texts_report *some);

/* Prints what the vectors of texts (`what`: "lines") leave out: tokens beyond the limit, and words without a token.  It
 * also names the option that changes this, unless the command follows an index. */
void cli_embedding_note(const cli_io *io, const rf_pipeline *p, const rf_embed_options *o, const rf_texts_report *all,
                        const char *what, bool by_index);

#endif
