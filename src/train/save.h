/* save.h — what a run writes: checkpoints, and the model at the end. */
#ifndef RF_TRAIN_SAVE_H
#define RF_TRAIN_SAVE_H

#include "train/run.h"

typedef struct rf__saves {
    rf__run *run;
    int64_t saved_step;                 /* the last step that a checkpoint contains; -1: none                         */
    int failed;                         /* in a row                                                                   */
    struct { double metric; int64_t step; } best;       /* state before the last save, which may fail                 */
} rf__saves;

/* The metric that selects the best checkpoint; rf__run_better(o, a, b): whether a is better than b. */
double rf__run_metric(const rf__run *r);
bool rf__run_better(const rf_train_options *o, double a, double b);

/* Finishes the checkpoint that is being written in the background, if it is complete, or after waiting if `wait`. */
rf_status rf__saves_collect(rf__saves *l, bool wait, rf_error *why);

/* Writes a checkpoint of this step: in the background if more steps follow (not `last`). With several ranks, all ranks
 * wait while the moments are collected. */
rf_status rf__saves_write(rf__saves *l, bool last, rf_error *why);

/* "run/checkpoint-4 is the last good one, ...": the newest checkpoint whose weights gave a finite loss. */
void rf__run_name_good(const rf__run *r, char *out, size_t size);

/* For the `card` of a job: loss, accuracy and, if asked, perplexity of the weights that are saved; nothing if they were
 * not evaluated. */
void rf__run_card_losses(const rf__run *r, bool perplexity, rf__card *c);

/* Writes the trained model into the run's folder; rank 0 writes, and all learn the result. RF_ENUMERIC: its loss is not
 * finite, and nothing is written. */
rf_status rf__run_save_model(rf__run *r, rf_error *why);

#endif
