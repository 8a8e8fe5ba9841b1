/* options.h — every option once: its row makes the parser, --help, the man page and shell completion.
 *
 *     roformer [COMMON OPTIONS] COMMAND [OPTIONS] [OPERANDS]
 *
 * A long option is written with '-' or '_' alike, its value after '=' or as the next argument.  Numbers are read whole
 * or not at all.  Nothing here prints or exits.                                                                      */
#ifndef CLI_OPTIONS_H
#define CLI_OPTIONS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "roformer/status.h"

#define CLI_COUNT(array) (sizeof(array) / sizeof *(array))

typedef enum cli_kind {
    CLI_END,
    CLI_FLAG,       /* int: 1 when given                         --json, --json=false                                 */
    CLI_INT,        /* int64_t in [low, high]                    --size 8192                                          */
    CLI_REAL,       /* double in [low, high]                     --learning_rate 5e-5                                 */
    CLI_TEXT,       /* const char *; with `low` below 0 it may be empty                                               */
    CLI_FILE,       /* const char *, completed as a file                                                              */
    CLI_FOLDER,     /* const char *, completed as a folder                                                            */
    CLI_CHOICE,     /* int: which of the words in `value`        --pooling mean                                       */
    CLI_FILES,      /* cli_list: all arguments up to the next option, and again     --text a.txt b.txt --text c.txt   */
    CLI_EACH,       /* cli_list: one argument each time                             --target red --target blue        */
    CLI_OPERANDS,   /* cli_list: what is not an option; `low` to `high` of them                                       */

    /* Options that the library describes (roformer/inspect/options.h), with `at` of the struct that has them: */
    CLI_TRAIN,      /* the one of rf_train_options that is called `name`; what else is given here replaces what its row
                       says; of a list of files `at` is that of a cli_list                                            */
    CLI_FINETUNE,   /* ... of rf_finetune_options                                                                     */
    CLI_TRAIN_ALL,  /* all that the calls in `low` read, without lists and those that this table names                */
    CLI_FINETUNE_ALL
} cli_kind;

typedef struct cli_list {
    const char **item;
    int n, capacity;
} cli_list;

typedef struct cli_option {
    const char *name;       /* as it is shown: "learning_rate", "top-k"                                               */
    char letter;            /* 'm' for -m, or 0                                                                       */
    cli_kind kind;
    size_t at;              /* where in the command's arguments                                                       */
    const char *value;      /* "N", "DIR", "cls|mean|max"; NULL for a flag                                            */
    const char *initial;    /* what it is when not given, as one would type it; NULL: zero, or what `prepare` set     */
    double low, high;
    const char *env;        /* environment variable that comes before `initial`, or NULL                              */
    const char *help;
    const char *alias;      /* a second long name, or NULL                                                            */
} cli_option;

typedef struct cli_io cli_io;

typedef struct cli_command {
    const char *name;
    const char *operands;               /* for the usage line: "[TEXT...]", or ""                                     */
    const char *summary;                /* one line, no full stop                                                     */
    const char *description;            /* paragraphs separated by '\n'                                               */
    const char *const *examples;        /* lines, NULL at the end                                                     */
    const cli_option *options;          /* CLI_END at the end; cli_expand fills in what the library describes         */
    size_t size;                        /* of the command's arguments                                                 */
    void (*prepare)(void *args);        /* defaults that the library knows, or NULL                                   */
    int (*run)(void *args, cli_io *io); /* returns the exit code                                                      */
} cli_command;

/* What every command understands. */
typedef struct cli_common {
    int64_t threads;
    const char *isa;
    int quiet, color, help, short_help, version, man;
} cli_common;
enum { CLI_COLOR_AUTO, CLI_COLOR_ALWAYS, CLI_COLOR_NEVER };
extern const cli_option cli_common_options[], cli_before_options[];      /* the latter only before a command        */

extern const cli_command *const cli_commands[];         /* NULL at the end (commands.c)                               */
const cli_command *cli_find_command(const char *name);

enum { CLI_OPTIONS_MAX = 128 };

/* A command's options one by one, with those that the library describes; CLI_END at the end. */
void cli_expand(const cli_command *c, cli_option out[CLI_OPTIONS_MAX]);

/* What the library says of an option of rf_train_options, or NULL. */
const struct rf_option *cli_described(const char *name);

typedef struct cli_parsed {
    const cli_command *command;
    cli_option options[CLI_OPTIONS_MAX];                 /* of the command, by cli_defaults                           */
    void *args;                                          /* command->size bytes                                       */
    bool given[CLI_OPTIONS_MAX];                         /* by row of options                                         */
    cli_common common;
} cli_parsed;

/* Values of nothing given: initial values, then `prepare`, then the environment (getenv-like `look`, or NULL). */
rf_status cli_defaults(cli_parsed *p, const char *(*look)(const char *name), rf_error *why);

/* Reads argv[0..argc).  With p->command NULL reads common options only and stops before the first operand, or after
 * all;
 * *used (or NULL) tells where.  RF_EARG with a sentence that names the option, the value and the limit. */
rf_status cli_parse(cli_parsed *p, int argc, const char *const argv[], int *used, rf_error *why);
void cli_parsed_clear(cli_parsed *p);

bool cli_given(const cli_parsed *p, const char *name);

/* RF_EARG where an option was given that has an effect beside `with` alone, which is not there: nothing that was asked
 * for is passed over in silence. */
rf_status cli_needs(const cli_parsed *p, const char *name, bool there, const char *with, rf_error *why);
const cli_option *cli_find_option(const cli_option *options, const char *name, size_t size);
bool cli_takes_value(const cli_option *o);

/* The choice of option `name` when it was not given: that which the suffix of `path` is a word of.  false: it has a
 * suffix that is none. */
bool cli_by_suffix(const cli_parsed *p, const char *name, const char *path, int *choice);

/* The value that `o` has in `args`, as one would type it; "" for none. */
void cli_show_value(const cli_option *o, const void *args, char *out, size_t size);

/* The word of `word`s that is nearest to `typed`, or NULL when none is near. */
typedef struct cli_nearest { const char *typed, *best; size_t distance; } cli_nearest;
void cli_consider(cli_nearest *n, const char *word);

/* "max-length" and "max_length" are the same name; name may be NULL. */
bool cli_same_name(const char *name, const char *typed, size_t size);

/* What to do instead of an option of transformers' Trainer that this command has not; NULL: it is none. */
const char *cli_trainer_advice(const char *command, const char *name);

/* The same of options of fairseq-train, marian and run_translation.py, for train-translation. */
const char *cli_translator_advice(const char *name);

#endif
