/* options.h — the options of a run as one table: limits, defaults, JSON. */
#ifndef RF_TRAIN_OPTIONS_H
#define RF_TRAIN_OPTIONS_H

#include "base/json.h"

#include "base/base.h"
#include "roformer/train.h"

/* A table of numbers and choices in a struct of options: those of rf_train_options are one, those of a job another. */
enum { RF__INT, RF__REAL, RF__FLAG, RF__CHOICE, RF__SEED, RF__BYTES };
enum { RF__LOCAL = 1 };                 /* of this run alone: not kept in checkpoints                                 */
typedef struct rf__option_row {
    const char *name;
    int kind;                           /* RF__INT, ...                                                               */
    size_t at;
    double lowest, highest, initial;
    const char *const *choice;
    int flags;
} rf__option_row;

void rf__rows_defaults(void *o, const rf__option_row row[], size_t n);
rf_status rf__rows_check(const void *o, const rf__option_row row[], size_t n, rf_error *why);
void rf__rows_json(const void *o, const rf__option_row row[], size_t n, json_t **all);

/* As rf__options_restore; `usual` is a struct as `to` with the defaults, `o` knows what the caller chose, `changed` is
 * appended to. */
rf_status rf__rows_restore(void *to, const rf__option_row row[], size_t n, const void *usual, const rf_train_options *o,
                           const json_t *saved, const char *name, char *changed, size_t size, rf_error *why);

/* Whether the caller chose this option: o->given knows, and without it what differs from `usual`, the defaults of this
 * kind of run. */
bool rf__options_chosen(const rf_train_options *o, const rf_train_options *usual, const char *name);

/* Of two options for one thing the one that the caller chose counts, whatever default or checkpoint say of the other:
 * warmup_steps and warmup_ratio (given both, steps of 0 leave it to the ratio, as in Trainer), max_steps and
 * num_train_epochs, lr_schedule and lr_scheduler_type.  For options as given, and again as restored. */
void rf__options_settle(rf_train_options *o, const rf_train_options *usual);

/* Names of options that the caller chose and that have no effect: "momentum (optim is adamw)".  False: there are
 * none. */
bool rf__options_ineffective(const rf_train_options *o, const rf_train_options *usual, char *out, size_t size);

/* RF_EARG names the first option outside its limits. */
rf_status rf__options_check(const rf_train_options *o, rf_error *why);

/* RF_EARG: o->objective is not what the model `name` of this config can do. */
rf_status rf__task_objective_check(const rf_train_options *o, const rf_config *c, const char *name, rf_error *why);

/* What a checkpoint keeps of the options; NULL when there is no memory. */
json_t *rf__options_json(const rf_train_options *o);

/* Sets everything that the caller did not choose to what the checkpoint says; strings live in `arena`.  `changed`
 * (of `size` bytes) receives the names of options that differ from the checkpoint's. */
rf_status rf__options_restore(rf_train_options *o, const rf_train_options *usual, const json_t *saved, rf_arena *arena,
                              const char *name, char *changed, size_t size, rf_error *why);

#endif
