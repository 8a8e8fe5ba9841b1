/* options.h — conditions between the options of a run. Each single option is defined by its row (option_rows.h). */
#ifndef RF_TRAIN_OPTIONS_H
#define RF_TRAIN_OPTIONS_H

#include "train/option_rows.h"

/* The defaults of all options for such a run (rf__rows_defaults). */
void rf__train_options_begin(rf_train_options *o, unsigned call);

/* Copies the caller's options over `own`, which holds the defaults. RF_EARG: they were not initialized. */
rf_status rf__train_options_read(rf_train_options *own, const rf_train_options *given, rf_error *why);

/* Whether the caller chose this option: as o->given reports; without it, whether it differs from `usual`, the defaults
 * of this kind of run. */
bool rf__options_chosen(const rf_train_options *o, const rf_train_options *usual, const char *name);

/* Of two options for the same thing, the one that the caller chose takes precedence over a default or a checkpoint:
 * warmup_steps and warmup_ratio (if both are given and steps is 0, the ratio counts, as in Trainer), max_steps and
 * num_train_epochs, lr_schedule and lr_scheduler_type. Called for options as given, and again as restored. */
void rf__options_resolve(rf_train_options *o, const rf_train_options *usual);

/* Names of options that the caller chose and that have no effect: "momentum (optim is adamw)". false: there are
 * none. */
bool rf__options_ineffective(const rf_train_options *o, const rf_train_options *usual, char *out, size_t size);

/* rf__masking's whole_words. */
double rf__whole_word_share(const rf_train_options *o);

/* RF_EARG names the first option outside its limits. */
rf_status rf__options_check(const rf_train_options *o, rf_error *why);

/* RF_EARG: the model `name` with this config does not support o->objective. */
rf_status rf__task_objective_check(const rf_train_options *o, const rf_config *c, const char *name, rf_error *why);

/* The options as a checkpoint stores them; NULL: out of memory. */
json_t *rf__options_json(const rf_train_options *o);

/* Sets every option that the caller did not choose to the checkpoint's value; strings are stored in `arena`. `changed`
 * (`size` bytes) receives the names of options that differ from the checkpoint's. */
rf_status rf__options_restore(rf_train_options *o, const rf_train_options *usual, const json_t *saved, rf_arena *arena,
                              const char *name, char *changed, size_t size, rf_error *why);

#endif
