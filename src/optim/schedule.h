/* schedule.h — the learning rate of each update. */
#ifndef RF_SCHEDULE_H
#define RF_SCHEDULE_H

#include <stdbool.h>

#include "roformer/train.h"

int64_t rf__warmup(const rf_train_options *o, int64_t max_steps);

/* The learning rate of update `step`, 1 .. max_steps; after the end, that of the end. */
double rf__learning_rate(const rf_train_options *o, int64_t step, int64_t max_steps);

/* Whether the text has the form "update:share,update:share" with ascending updates. */
bool rf__schedule_valid(const char *text);

#endif
