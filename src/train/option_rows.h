/* option_rows.h — what follows from the rows of options.h alone: defaults, limits, what a checkpoint keeps and gives
 * back.
 *
 * A table is rf_train_option or rf_finetune_option, `o` the struct that it is of.                                    */
#ifndef RF_TRAIN_OPTION_ROWS_H
#define RF_TRAIN_OPTION_ROWS_H

#include "base/base.h"
#include "base/json.h"
#include "roformer/finetune.h"

typedef const rf_option *rf__option_table(size_t i);

/* By the name that is typed or that of checkpoints; NULL: there is none. */
const rf_option *rf__rows_find(rf__option_table *table, const char *name);

/* Of RF_OPTION_PRETRAIN, RF_OPTION_FINETUNE or RF_OPTION_TRANSLATION. */
void rf__rows_defaults(rf__option_table *table, void *o, unsigned call);

/* RF_EARG names the first option outside its limits. */
rf_status rf__rows_check(rf__option_table *table, const void *o, rf_error *why);

/* The word of an option with choices; bit `value` of rf_option's `values`. */
int rf__row_choice(const rf_option *row, const void *o);
void rf__row_word(const rf_option *row, const void *o, char *out, size_t size);

bool rf__row_same(const rf_option *row, const void *a, const void *b);

/* Whether the caller chose it: who->given knows, and without it what differs between `o` and `usual`, the defaults. */
bool rf__row_chosen(const rf_option *row, const void *o, const void *usual, const rf_train_options *who);

/* What a checkpoint keeps, into *all: files by their paths from the root, since it must not matter where a run is
 * resumed. */
void rf__rows_json(rf__option_table *table, const void *o, json_t **all);

/* Sets everything that the caller did not choose to what `saved` says; texts live in `arena`.  The names of chosen
 * options that differ from the checkpoint's, files excepted, are appended to `changed`, of `size` bytes.  RF_EDATA says
 * `name`. */
typedef struct rf__restoring {
    const void *usual;                  /* defaults, a struct as the one that is restored                             */
    const rf_train_options *who;        /* see rf__row_chosen                                                         */
    const json_t *saved;
    const char *name;
    rf_arena *arena;
    char *changed;
    size_t size;
} rf__restoring;
rf_status rf__rows_restore(rf__option_table *table, void *o, const rf__restoring *from, rf_error *why);

#endif
