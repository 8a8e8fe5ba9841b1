/* train_options.h — the rows that pretrain and evaluate share. */
#ifndef CLI_TRAIN_OPTIONS_H
#define CLI_TRAIN_OPTIONS_H

#include "cli/shell/io.h"
#include "roformer/train.h"

enum { TRAIN_CACHES = 16 };

typedef struct train_args {
    rf_train_options t;
    cli_list text, validation, data, mix;
    char cache[TRAIN_CACHES][4096];
    const char *cache_name[TRAIN_CACHES];
    double cache_weight[TRAIN_CACHES];
    const char *resume;
    int json, report;
} train_args;

void train_prepare(void *args);

#define T(field) offsetof(train_args, t.field)
#define TRAIN_TEXT \
    {"text", 0, CLI_FILES, offsetof(train_args, text), "FILE", NULL, 0, 0, NULL, \
     "files to read: .txt, .jsonl, WikiExtractor's, each also as .gz or .zst; - is standard input", "train_file"}
#define TRAIN_READER \
    {"text_format", 0, CLI_CHOICE, T(reader.format), "auto|plain|jsonl|wiki", NULL, 0, 0, NULL, "of the files", NULL}, \
    {"text_split", 0, CLI_CHOICE, T(reader.split), "blank|line|heading|file", NULL, 0, 0, NULL, \
     "what ends a document of plain text", NULL}, \
    {"text_field", 0, CLI_TEXT, T(reader.field), "NAME", NULL, 0, 0, NULL, \
     "member of a JSON line that holds the text (text)", NULL}, \
    {"keep_titles", 0, CLI_FLAG, T(reader.keep_titles), NULL, NULL, 0, 0, NULL, "keep titles and headings as text", \
     NULL}
#define TRAIN_SHARED \
    TRAIN_READER, \
    {"max_length", 0, CLI_INT, T(max_length), "N", NULL, 8, 1 << 20, NULL, \
     "longest piece of a document in tokens, [CLS] and [SEP] included", "max_seq_length"}, \
    {"tokens_per_batch", 0, CLI_INT, T(tokens_per_batch), "N", NULL, 8, 1 << 24, NULL, \
     "tokens of one batch, packed without padding", NULL}, \
    {"mlm_probability", 0, CLI_REAL, T(mlm_probability), "P", NULL, 0.001, 0.999, NULL, \
     "share of tokens that are masked and predicted", NULL}, \
    {"whole_word_mask", 0, CLI_FLAG, T(whole_word_mask), NULL, NULL, 0, 0, NULL, "mask whole words, not pieces", \
     NULL}, \
    {"eval_documents", 0, CLI_INT, T(eval_documents), "N", NULL, 0, 1e12, NULL, \
     "held-out documents in an evaluation; 0: all", NULL}, \
    {"seed", 0, CLI_INT, T(seed), "N", NULL, 0, 9.2e18, NULL, "decides every random choice", NULL}

#endif
