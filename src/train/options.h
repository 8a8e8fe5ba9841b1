/* options.h — the options of a run as one table: limits, defaults, JSON. */
#ifndef RF_TRAIN_OPTIONS_H
#define RF_TRAIN_OPTIONS_H

#include <jansson.h>

#include "base/base.h"
#include "roformer/train.h"

/* A table of numbers and choices in a struct of options: those of rf_train_options are one, those of a job another. */
enum { RF__INT, RF__REAL, RF__FLAG, RF__CHOICE, RF__SEED, RF__BYTES };
enum { RF__LOCAL = 1 };                 /* of this run alone: not kept in checkpoints                                  */
typedef struct rf__row {
    const char *name;
    int kind;                           /* RF__INT, ...                                                                 */
    size_t at;
    double lowest, highest, initial;
    const char *const *choice;
    int flags;
} rf__row;

void rf__rows_defaults(void *o, const rf__row row[], size_t n);
rf_status rf__rows_check(const void *o, const rf__row row[], size_t n, rf_error *why);
void rf__rows_json(const void *o, const rf__row row[], size_t n, json_t *all);

/* As rf__options_restore; `o` knows what the caller chose, `changed` is appended to. */
rf_status rf__rows_restore(void *to, const rf__row row[], size_t n, const rf_train_options *o, const json_t *saved,
                           const char *name, char *changed, size_t size, rf_error *why);

/* RF_EARG names the first option outside its limits. */
rf_status rf__options_check(const rf_train_options *o, rf_error *why);

/* RF_EARG: o->objective is not what the model `name` of this config can do. */
rf_status rf__objective_check(const rf_train_options *o, const rf_config *c, const char *name, rf_error *why);

/* What a checkpoint keeps of the options; NULL when there is no memory. */
json_t *rf__options_json(const rf_train_options *o);

/* Sets everything that the caller did not choose to what the checkpoint says; strings live in `arena`.  `changed`
 * (of `size` bytes) receives the names of options that differ from the checkpoint's. */
rf_status rf__options_restore(rf_train_options *o, const json_t *saved, rf_arena *arena, const char *name, char *changed,
                              size_t size, rf_error *why);

#endif
