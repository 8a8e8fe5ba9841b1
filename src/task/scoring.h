/* scoring.h — the scores that an evaluation reports. */
#ifndef RF_TRAIN_SCORING_H
#define RF_TRAIN_SCORING_H

#include "task/task.h"

/* Does an evaluation say a number of this name, with these labels?  RF_EARG lists those that it says. */
rf_status rf__score_known(const rf__task *task, const rf__labelled *l, const char *name, rf_error *why);

/* The metric that was chosen, or the preset's; accuracy where the task's own is not there: f1 of tags that name no
 * entities. */
const char *rf__score_metric(const rf__task *task, const rf__labelled *l, const rf_finetune_options *o);
bool rf__score_is_error(const char *name);                              /* less is better                             */

/* A sentence on scores that are left out; "" when there is nothing to say. */
void rf__score_remark(const rf__task *task, const rf__labelled *l, char *out, size_t size);

#endif
