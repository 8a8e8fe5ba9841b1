/* finetune_options.h — shared by finetune, predict and evaluate. */
#ifndef CLI_FINETUNE_OPTIONS_H
#define CLI_FINETUNE_OPTIONS_H

#include "cli/io/io.h"
#include "roformer/train.h"

/* Prints what the results do not show: truncated texts, skipped lines, omitted metrics, or metrics that other programs
 * define differently. */
void cli_report_reading(const cli_io *io, const rf_reading *r);

/* One line for each metric, or one JSON object. */
int cli_show_metrics(const rf_metric_values *s, bool json, rf_error *why);

#endif
