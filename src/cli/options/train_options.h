/* train_options.h — options of commands that the library defines, and the arguments that commands about text share. */
#ifndef CLI_TRAIN_OPTIONS_H
#define CLI_TRAIN_OPTIONS_H

#include "cli/io/io.h"
#include "roformer/train.h"

/* One option of rf_train_options or rf_finetune_options, at args.member of that type (a list of files: cli_list);
 * `help` NULL: the library's text. */
#define CLI_TRAIN_ROW(name, args, member, help)                                                                        \
    {name, 0, CLI_TRAIN, offsetof(args, member), NULL, NULL, 0, 0, NULL, help, NULL}
#define CLI_FINETUNE_ROW(name, args, member, help)                                                                     \
    {name, 0, CLI_FINETUNE, offsetof(args, member), NULL, NULL, 0, 0, NULL, help, NULL}

/* All options that a call reads: RF_OPTION_PRETRAIN and others. */
#define CLI_TRAIN_ROWS(args, member, call)                                                                             \
    {NULL, 0, CLI_TRAIN_ALL, offsetof(args, member), NULL, NULL, call, 0, NULL, NULL, NULL}
#define CLI_FINETUNE_ROWS(args, member, call)                                                                          \
    {NULL, 0, CLI_FINETUNE_ALL, offsetof(args, member), NULL, NULL, call, 0, NULL, NULL, NULL}

/* The model to start from, or to use; by default the shipped one. */
#define CLI_TRAIN_MODEL(args, member, help)                                                                            \
    {"model", 0, CLI_TRAIN, offsetof(args, member), NULL, NULL, 0, 0, "ROFORMER_MODEL", help, NULL}

/* The format of text files. */
#define CLI_TRAIN_READER(args, member)                                                                                 \
    CLI_TRAIN_ROW("text_format", args, member, NULL), CLI_TRAIN_ROW("text_split", args, member, NULL),                 \
    CLI_TRAIN_ROW("text_field", args, member, NULL), CLI_TRAIN_ROW("keep_titles", args, member, NULL)

enum { TRAIN_CACHES = 16 };

typedef struct train_args {
    rf_train_options t;
    cli_list text, validation, data, mix;
    char cache[TRAIN_CACHES][4096];
    const char *cache_name[TRAIN_CACHES];
    double cache_weight[TRAIN_CACHES];
    int json, report;
} train_args;

void train_prepare(void *args);

#endif
