/* options.h — the options of a run as one table: limits, defaults, JSON. */
#ifndef RF_TRAIN_OPTIONS_H
#define RF_TRAIN_OPTIONS_H

#include <jansson.h>

#include "base/base.h"
#include "roformer/train.h"

/* RF_EARG names the first option outside its limits. */
rf_status rf__options_check(const rf_train_options *o, rf_error *why);

/* What a checkpoint keeps of the options; NULL when there is no memory. */
json_t *rf__options_json(const rf_train_options *o);

/* Sets everything that the caller did not choose to what the checkpoint says; strings live in `arena`.  `changed`
 * (of `size` bytes) receives the names of options that differ from the checkpoint's. */
rf_status rf__options_restore(rf_train_options *o, const json_t *saved, rf_arena *arena, const char *name, char *changed,
                              size_t size, rf_error *why);

#endif
