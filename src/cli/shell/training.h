/* training.h — what commands that train share: progress in a terminal or in lines, the end of a run.
 *
 * A first Ctrl-C finishes the batch, saves and exits with 75; a second one ends at once, and the last checkpoint
 * counts. */
#ifndef CLI_TRAINING_H
#define CLI_TRAINING_H

#include "cli/shell/io.h"
#include "roformer/train.h"

typedef struct cli_training {
    cli_io *io;
    const rf_comm *comm;
    cli_progress bar;
    int64_t logging_steps;      /* updates between two lines; 0: one every few seconds (a resumed run knows better)   */
    double loss;                /* running mean, for the bar                                                          */
    char saved[1024];           /* the last checkpoint                                                                */
} cli_training;

/* What the command line says of the processes, and which options it gave. */
void cli_training_options(rf_train_options *o, const cli_io *io);

/* Signals are caught from here on. */
void cli_training_begin(cli_training *w, cli_io *io, const rf_train_options *o);

/* What all runs tell alike: a checkpoint, whose path is kept in `saved`, and notes.  goes_on: what a report returns, by
 * the signals that came. */
void cli_training_event(cli_progress *bar, char *saved, size_t size, const rf_train_progress *p);
int cli_training_goes_on(void);

/* An rf_train_report whose user is a cli_training. */
int cli_training_report(void *user, const rf_train_progress *p);

/* The exit code of a run that ended so; `page`: report.html is to be written. */
int cli_training_end(cli_training *w, rf_status status, bool page);

#endif
