/* report.h — one page about a run: its settings, its course, and predictions of the model. */
#ifndef CLI_REPORT_H
#define CLI_REPORT_H

#include "cli/io/io.h"

/* Writes `path`, completely or not at all, from the output folder of a run.  `samples`: texts with masks to predict; if
 * empty, pieces of held-out text from the run's token cache if it exists.
 *   RF_EIO  no metrics.jsonl, or `path` cannot be written;  RF_EDATA  metrics.jsonl is not one                       */
rf_status report_write(cli_io *io, const char *folder, const char *path, const cli_list *samples, rf_error *why);

/* RF_EARG if a file with that name exists that is not such a page, for names that the caller did not choose. */
rf_status report_own(const char *path, rf_error *why);

/* The section of predictions.  If nothing can be predicted (no model yet, no masked-language-model head) it is omitted
 * without a message, unless `samples` were given: then io->why has the reason. */
void report_samples(cli_io *io, FILE *to, const char *folder, const json_t *options, const cli_list *samples);

/* trainer_state.json of the newest checkpoint, or NULL. */
json_t *report_state(cli_io *io, const char *folder);

#endif
