/* finetune_options.h — what finetune, predict and evaluate share. */
#ifndef CLI_FINETUNE_OPTIONS_H
#define CLI_FINETUNE_OPTIONS_H

#include "cli/shell/io.h"
#include "roformer/finetune.h"

/* What an answer does not say: texts that were cut, lines that were passed over, scores that are left out, or that
 * another program shows otherwise. */
void cli_report_reading(const cli_io *io, const rf_reading *r);

/* A line for each score, or one JSON object. */
int cli_show_scores(const rf_scores *s, bool json, rf_error *why);

#endif
