/* options.h — the options of training as rows: what each of them is, for whoever offers, shows or checks them.
 *
 * train_options.def and finetune_options.def hold every option once.  From its row come the member of rf_train_options
 * or rf_finetune_options, its default and limits, what a checkpoint keeps of it, and here a description to read.
 *
 *     const rf_option *o;
 *     for (size_t i = 0; (o = rf_train_option(i)); i++) printf("%s: %s\n", o->name, o->help);
 *
 * threads   rows are constant                                                                                        */
#ifndef ROFORMER_OPTIONS_H
#define ROFORMER_OPTIONS_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef enum rf_option_kind {
    RF_OPTION_INT,                      /* int64_t in [low, high]                                                     */
    RF_OPTION_REAL,                     /* double in [low, high]                                                      */
    RF_OPTION_FLAG,                     /* int, 0 or 1; of one with `choices` these are its two words                 */
    RF_OPTION_SEED,                     /* uint64_t                                                                   */
    RF_OPTION_BYTES,                    /* size_t in [low, high]                                                      */
    RF_OPTION_CHOICE,                   /* an enum: which of `choices`, from 0                                        */
    RF_OPTION_TEXT,                     /* const char *, NULL when not given                                          */
    RF_OPTION_FILE,                     /* the same, the path of a file                                               */
    RF_OPTION_FOLDER,                   /* ... of a folder                                                            */
    RF_OPTION_FILES,                    /* const char *const *, paths, and at `count` an int, how many                */
    RF_OPTION_WEIGHTS                   /* const double *, as many as `count` says, or NULL                           */
} rf_option_kind;

/* Who reads an option: rf_pretrain, rf_finetune, rf_evaluate_mlm, rf_evaluate_pairs and rf_answerer_evaluate,
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
    RF_OPTION_LOCAL = 1,                /* of this run alone: checkpoints do not keep it                              */
    RF_OPTION_SOURCE = 2                /* what is trained on: who gives one of these takes none from a checkpoint    */
};

typedef struct rf_option {
    const char *name;                   /* as it is typed, and in checkpoints                                         */
    rf_option_kind kind;
    size_t at, count;                   /* where in the struct of options                                             */
    double pretrain, finetune;          /* defaults of rf_train_defaults and rf_finetune_defaults                     */
    double low, high;
    unsigned calls;                     /* RF_OPTION_PRETRAIN, ... or-ed                                              */
    const char *value;                  /* what help calls the value, "N"; NULL: flags and choices have none          */
    const char *help;                   /* a line, without the default                                                */
    const char *choices;                /* "linear|cosine"                                                            */
    const char *text;                   /* default of a text                                                          */
    const char *alias;                  /* another name, or NULL                                                      */
    const char *json;                   /* its name in checkpoints, where that is another one                         */
    const char *group;                  /* heading that it belongs under                                              */
    const char *depends;                /* an option without some words of which this one has no effect, or NULL      */
    unsigned values;                    /* ... and those with: bit 0 for its first word                               */
    unsigned flags;                     /* RF_OPTION_LOCAL, ...                                                       */
    char letter;                        /* 'o' for -o, or 0                                                           */
    int differs;                        /* of training translators there is another default than `pretrain`:          */
    double translation;
} rf_option;

/* The options of rf_train_options, from 0; NULL behind the last one. */
const rf_option *rf_train_option(size_t i);

/* Those of rf_finetune_options besides; `at` counts from its beginning. */
const rf_option *rf_finetune_option(size_t i);

/* How train.h and finetune.h make a member of a row: its type; and a list of words the values of an enum. */
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
