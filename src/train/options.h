/* options.h — the options of a run: what they mean together.  What each of them is says its row (option_rows.h). */
#ifndef RF_TRAIN_OPTIONS_H
#define RF_TRAIN_OPTIONS_H

#include "train/option_rows.h"

/* The defaults of all, of such a run (rf__rows_defaults). */
void rf__train_options_begin(rf_train_options *o, unsigned call);

/* What a caller gave, over `own`, which holds the defaults.  RF_EARG: it was not filled in. */
rf_status rf__train_options_read(rf_train_options *own, const rf_train_options *given, rf_error *why);

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

/* rf__masking's whole_words. */
double rf__whole_words(const rf_train_options *o);

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
