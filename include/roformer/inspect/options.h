/* options.h — the training options as a table, for programs that offer, display or check them.
 *
 * train_options.def and finetune_options.def define every option once. Its row gives the member of rf_train_options or
 * rf_finetune_options, the default and limits, what checkpoints store, and the description here.
 *
 *     const rf_option *o;
 *     for (size_t i = 0; (o = rf_train_option(i)); i++) printf("%s: %s\n", o->name, o->help);
 *
 * threads   rows are constant */
#ifndef ROFORMER_OPTIONS_H
#define ROFORMER_OPTIONS_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef enum rf_option_kind {
    RF_OPTION_INT,                      /* int64_t in [low, high] */
    RF_OPTION_REAL,                     /* double in [low, high] */
    RF_OPTION_FLAG,                     /* int, 0 or 1; if `choices` is set, it has the words for 0 and 1 */
    RF_OPTION_SEED,                     /* uint64_t */
    RF_OPTION_BYTES,                    /* size_t in [low, high] */
    RF_OPTION_CHOICE,                   /* an enum: index into `choices`, from 0 */
    RF_OPTION_TEXT,                     /* const char *, NULL if not given */
    RF_OPTION_FILE,                     /* the same, path of a file */
    RF_OPTION_FOLDER,                   /* the same, path of a folder */
    RF_OPTION_FILES,                    /* const char *const *, paths; their number is the int at `count` */
    RF_OPTION_WEIGHTS                   /* const double *, as many as at `count`, or NULL */
} rf_option_kind;

/* The calls that read an option: rf_pretrain, rf_finetune, rf_evaluate_mlm, rf_evaluate_pairs and rf_answerer_evaluate,
 * rf_answerer_predict, rf_prepare, rf_train_translation. */
enum {
    RF_OPTION_PRETRAIN = 1,
    RF_OPTION_FINETUNE = 2,
    RF_OPTION_EVALUATE = 4,
    RF_OPTION_PREDICT = 8,
    RF_OPTION_PREPARE = 16,
    RF_OPTION_TRANSLATION = 32
};

enum {
    RF_OPTION_LOCAL = 1,                /* applies to one run: not stored in checkpoints */
    RF_OPTION_SOURCE = 2                /* training data: if one of these is given, none is taken from a checkpoint */
};

typedef struct rf_option {
    const char *name;                   /* on the command line and in checkpoints */
    rf_option_kind kind;
    size_t at, count;                   /* offsets in the struct of options */
    double pretrain, finetune;          /* defaults of rf_train_defaults and rf_finetune_defaults */
    double low, high;
    unsigned calls;                     /* flags RF_OPTION_PRETRAIN, ... */
    const char *value;                  /* name of the value in help, "N"; NULL: flags and choices */
    const char *help;                   /* one line, without the default */
    const char *choices;                /* "linear|cosine" */
    const char *text;                   /* default of a text */
    const char *alias;                  /* another name, or NULL */
    const char *json;                   /* name in checkpoints, if different */
    const char *group;                  /* heading in help */
    const char *depends;                /* another option on which the effect of this one depends, or NULL */
    unsigned values;                    /* its words with which this one has an effect: bit 0 for the first */
    unsigned flags;                     /* RF_OPTION_LOCAL, ... */
    char letter;                        /* 'o' for -o, or 0 */
    int differs;                        /* 1: the default for training translation models is `translation` */
    double translation;
} rf_option;

/* The options of rf_train_options, from 0; NULL past the last. */
const rf_option *rf_train_option(size_t i);

/* The additional options of rf_finetune_options; `at` is an offset in that struct. */
const rf_option *rf_finetune_option(size_t i);

/* For train.h and finetune.h: the C type of a row's member, and the enum value for a word of a choice. */
#define RFO_TYPE_INT int64_t
#define RFO_TYPE_REAL double
#define RFO_TYPE_FLAG int
#define RFO_TYPE_SEED uint64_t
#define RFO_TYPE_BYTES size_t
#define RFO_TYPE_CHOICE(type) type
#define RFO_TYPE_TEXT const char *
#define RFO_TYPE_FILE const char *
#define RFO_TYPE_FOLDER const char *
#define RFO_TYPE_FILES(count) int count; const char *const *
#define RFO_TYPE_WEIGHTS(count) const double *
#define RFO_VALUE(id, word) RF_##id,

#ifdef __cplusplus
}
#endif
#endif
