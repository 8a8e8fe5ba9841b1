/* option_rows.h — what is derived from the rows of options.h: defaults, limits, saving and restoring in checkpoints.
 *
 * A table is rf_train_option or rf_finetune_option; `o` is the struct that it describes. */
#ifndef RF_TRAIN_OPTION_ROWS_H
#define RF_TRAIN_OPTION_ROWS_H

#include "base/base.h"
#include "base/json.h"
#include "roformer/train.h"

typedef const rf_option *rf__option_table(size_t i);

/* Finds a row by the name on the command line or in checkpoints; NULL: there is none. */
const rf_option *rf__rows_find(rf__option_table *table, const char *name);

/* Sets the defaults for RF_OPTION_PRETRAIN, RF_OPTION_FINETUNE or RF_OPTION_TRANSLATION. */
void rf__rows_defaults(rf__option_table *table, void *o, unsigned call);

/* RF_EARG names the first option outside its limits. */
rf_status rf__rows_check(rf__option_table *table, const void *o, rf_error *why);

/* The index of the chosen name of an option with choices; it is a bit of rf_option's `values`. */
int rf__row_choice(const rf_option *row, const void *o);
void rf__row_word(const rf_option *row, const void *o, char *out, size_t size);

bool rf__row_same(const rf_option *row, const void *a, const void *b);

/* Whether the caller chose the option: as who->given reports; without it, whether `o` differs from `usual`, the
 * defaults. */
bool rf__row_chosen(const rf_option *row, const void *o, const void *usual, const rf_train_options *who);

/* Adds what a checkpoint stores to *all. Files are stored with absolute paths, since a run may be resumed in another
 * folder. */
void rf__rows_json(rf__option_table *table, const void *o, json_t **all);

/* Sets every option that the caller did not choose to its value in `saved`; strings are stored in `arena`. The names of
 * chosen options that differ from the checkpoint's, except files, are appended to `changed` (`size` bytes). Messages of
 * RF_EDATA begin with `name`. */
typedef struct rf__restoring {
    const void *usual;                  /* defaults, in a struct of the same type                                     */
    const rf_train_options *who;        /* see rf__row_chosen                                                         */
    const json_t *saved;
    const char *name;
    rf_arena *arena;
    char *changed;
    size_t size;
} rf__restoring;
rf_status rf__rows_restore(rf__option_table *table, void *o, const rf__restoring *from, rf_error *why);

#endif
