/* report.h — one page about a run: what it was, how it went, what the model says. */
#ifndef CLI_REPORT_H
#define CLI_REPORT_H

#include "cli/shell/io.h"

/* Writes `path`, complete or not at all, from the output folder of a run.  `samples`: texts with masks to predict; with
 * none, pieces of held-out text from the run's token cache, when it is there.
 *   RF_EIO  no metrics.jsonl, or `path` cannot be written;  RF_EDATA  metrics.jsonl is not one                       */
rf_status report_write(cli_io *io, const char *folder, const char *path, const cli_list *samples, rf_error *why);

/* RF_EARG when a file of that name is there which is no such page, for where the caller did not name it. */
rf_status report_own(const char *path, rf_error *why);

/* The section of predictions.  What cannot be predicted (no model yet, no masked-language-model head) is left out in
 * silence, unless `samples` asked for it: io->why says then what is wrong with them. */
void report_samples(cli_io *io, FILE *to, const char *folder, const json_t *options, const cli_list *samples);

/* trainer_state.json of the newest checkpoint, or NULL. */
json_t *report_state(cli_io *io, const char *folder);

#endif
