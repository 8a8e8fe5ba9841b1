/* options.h — the table of options: parser, --help, man pages and shell completion are derived from its rows.
 *
 *     roformer [COMMON OPTIONS] COMMAND [OPTIONS] [OPERANDS]
 *
 * Long options accept '-' and '_'; the value follows '=' or is the next argument.  A number must be valid to its last
 * character.  Nothing here prints or exits.                                                                          */
#ifndef CLI_OPTIONS_H
#define CLI_OPTIONS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "roformer/context.h"

#define CLI_COUNT(array) (sizeof(array) / sizeof *(array))

typedef enum cli_kind {
    CLI_END,
    CLI_FLAG,       /* int: 1 if given                           --json, --json=false                                 */
    CLI_INT,        /* int64_t in [low, high]                    --size 8192                                          */
    CLI_REAL,       /* double in [low, high]                     --learning_rate 5e-5                                 */
    CLI_TEXT,       /* const char *; it may be empty if `low` is below 0                                              */
    CLI_FILE,       /* const char *, completed as a file                                                              */
    CLI_FOLDER,     /* const char *, completed as a folder                                                            */
    CLI_CHOICE,     /* int: which of the words in `value`        --pooling mean                                       */
    CLI_FILES,      /* cli_list: all arguments up to the next option, repeatable    --text a.txt b.txt --text c.txt   */
    CLI_EACH,       /* cli_list: one argument, repeatable                           --target red --target blue        */
    CLI_OPERANDS,   /* cli_list: what is not an option; `low` to `high` of them                                       */

    /* Options that the library defines (roformer/train.h), with `at` of the struct that contains them: */
    CLI_TRAIN,      /* the option `name` of rf_train_options; members given here replace those of its row; for a list of
                       files, `at` is that of a cli_list                                                              */
    CLI_FINETUNE,   /* ... of rf_finetune_options                                                                     */
    CLI_TRAIN_ALL,  /* all options that the calls in `low` read, except lists and those that this table names         */
    CLI_FINETUNE_ALL
} cli_kind;

typedef struct cli_list {
    const char **item;
    int n, capacity;
} cli_list;

typedef struct cli_option {
    const char *name;       /* as displayed: "learning_rate", "top-k"                                                 */
    char letter;            /* 'm' for -m, or 0                                                                       */
    cli_kind kind;
    size_t at;              /* offset in the command's arguments                                                      */
    const char *value;      /* "N", "DIR", "cls|mean|max"; NULL for a flag                                            */
    const char *initial;    /* the default as a user would type it; NULL: zero, or the value that `prepare` sets      */
    double low, high;
    const char *env;        /* environment variable that overrides `initial`, or NULL                                 */
    const char *help;
    const char *alias;      /* a second long name, or NULL                                                            */
} cli_option;

typedef struct cli_io cli_io;

typedef struct cli_command {
    const char *name;
    const char *operands;               /* for the usage line: "[TEXT...]", or ""                                     */
    const char *summary;                /* one line without a period                                                  */
    const char *description;            /* paragraphs separated by '\n'                                               */
    const char *const *examples;        /* lines, NULL at the end                                                     */
    const cli_option *options;          /* CLI_END at the end; cli_expand fills in what the library describes         */
    size_t size;                        /* of the command's arguments                                                 */
    void (*prepare)(void *args);        /* defaults of the library, or NULL                                           */
    int (*run)(void *args, cli_io *io); /* returns the exit code                                                      */
} cli_command;

/* The options of every command. */
typedef struct cli_common {
    int64_t threads;
    const char *isa, *profile;
    int quiet, color, help, short_help, version, man;
} cli_common;
enum { CLI_COLOR_AUTO, CLI_COLOR_ALWAYS, CLI_COLOR_NEVER };
extern const cli_option cli_common_options[], cli_before_options[];      /* the latter only before a command        */

extern const cli_command *const cli_commands[];         /* NULL at the end (commands.c)                               */
extern const char *const cli_headings[];                /* of each of them, in help                                   */
const cli_command *cli_find_command(const char *name);

enum { CLI_OPTIONS_MAX = 128 };

/* A command's options one by one, including those that the library defines; CLI_END at the end. */
void cli_expand(const cli_command *c, cli_option out[CLI_OPTIONS_MAX]);

/* The library's row of an option of rf_train_options, or NULL. */
const struct rf_option *cli_described(const char *name);

/* The heading in help of an option of c: that of the library if the command takes all of its options; otherwise "". */
const char *cli_option_heading(const cli_command *c, const cli_option *o);

typedef struct cli_parsed {
    const cli_command *command;
    cli_option options[CLI_OPTIONS_MAX];                 /* of the command, by cli_defaults                           */
    void *args;                                          /* command->size bytes                                       */
    bool given[CLI_OPTIONS_MAX];                         /* by row of options                                         */
    cli_common common;
} cli_parsed;

/* The values without options: initial values, then `prepare`, then the environment (`look` is like getenv, or NULL). */
rf_status cli_defaults(cli_parsed *p, const char *(*look)(const char *name), rf_error *why);

/* Reads argv[0..argc).  If p->command is NULL, reads only common options and stops before the first operand, or after
 * all; *used (or NULL) receives the index.  RF_EARG with a message that names the option, the value and the limit. */
rf_status cli_parse(cli_parsed *p, int argc, const char *const argv[], int *used, rf_error *why);
void cli_parsed_clear(cli_parsed *p);

bool cli_given(const cli_parsed *p, const char *name);

/* RF_EARG if an option was given that only has an effect together with `with`, which is missing: no request is ignored
 * silently. */
rf_status cli_needs(const cli_parsed *p, const char *name, bool there, const char *with, rf_error *why);
const cli_option *cli_find_option(const cli_option *options, const char *name, size_t size);
bool cli_takes_value(const cli_option *o);

/* The place of a word in "a|b|c", -1: it is not there.  f32, bf16 and f16 are also called as PyTorch calls them. */
int cli_choice(const char *words, const char *word);

/* The choice for option `name` if it was not given: the suffix of `path`, if it is one of the words.  false: the suffix
 * is none of them. */
bool cli_by_suffix(const cli_parsed *p, const char *name, const char *path, int *choice);

/* The value of `o` in `args` as a user would type it; "" for none. */
void cli_show_value(const cli_option *o, const void *args, char *out, size_t size);

/* The word among `word`s that is most similar to `typed`, or NULL if none is similar. */
typedef struct cli_nearest { const char *typed, *best; size_t distance; } cli_nearest;
void cli_consider(cli_nearest *n, const char *word);

/* "max-length" and "max_length" are the same name; name may be NULL. */
bool cli_same_name(const char *name, const char *typed, size_t size);

/* The replacement for an option of transformers' Trainer that this command does not have, or NULL. */
const char *cli_trainer_advice(const char *command, const char *name);

/* The same for options of fairseq-train, marian and run_translation.py, in train-translation. */
const char *cli_translator_advice(const char *name);

#endif
