/* task_metrics.h — the metrics that an evaluation reports. */
#ifndef RF_METRICS_OF_TASKS_H
#define RF_METRICS_OF_TASKS_H

#include "task/task.h"

/* Whether an evaluation with these labels reports a metric of this name. RF_EARG lists the names that it reports. */
rf_status rf__metric_known(const rf__task *task, const rf__labeled *l, const char *name, rf_error *why);

/* The chosen metric, or the preset's; accuracy if the task's own metric does not exist: f1 for tags that name no
 * entities. */
const char *rf__metric_chosen(const rf__task *task, const rf__labeled *l, const rf_finetune_options *o);
bool rf__metric_is_error(const char *name);                             /* whether smaller is better                  */

/* A sentence about metrics that are not computed, or "". */
void rf__metric_remark(const rf__task *task, const rf__labeled *l, char *out, size_t size);

#endif
