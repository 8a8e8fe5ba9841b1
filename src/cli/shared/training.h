/* training.h — shared by commands that train: progress on a terminal or in lines, and the end of a run.
 *
 * The first Ctrl-C finishes the batch, saves and exits with 75; the second one exits immediately, and the last
 * checkpoint remains. */
#ifndef CLI_TRAINING_H
#define CLI_TRAINING_H

#include "cli/io/io.h"
#include "roformer/train.h"

typedef struct cli_training {
    cli_io *io;
    const rf_comm *comm;
    cli_progress bar;
    int64_t logging_steps;      /* updates between two lines, 0: unknown; 10 s without a line make another one        */
    double loss;                /* running mean, for the bar                                                          */
    char saved[1024];           /* the last checkpoint                                                                */
} cli_training;

/* Options of the command line about processes, and which options were given. */
void cli_training_options(rf_train_options *o, const cli_io *io);

/* Installs the signal handlers. */
void cli_training_begin(cli_training *w, cli_io *io, const rf_train_options *o);

/* Reports that all runs share: a checkpoint, whose path is stored in `saved`, and notes.  goes_on: the result of a
 * report, by the signals received. */
void cli_training_event(cli_progress *bar, char *saved, size_t size, const rf_train_progress *p);
int cli_training_goes_on(void);

/* An rf_train_report whose user is a cli_training. */
int cli_training_report(void *user, const rf_train_progress *p);

/* The exit code of a run that ended with this status; `page`: write report.html. */
int cli_training_end(cli_training *w, rf_status status, bool page);

#endif
