/* save.h — what a run leaves: checkpoints on its way, and the model at its end. */
#ifndef RF_TRAIN_SAVE_H
#define RF_TRAIN_SAVE_H

#include "train/run.h"

typedef struct rf__saves {
    rf__run *run;
    int64_t saved_step;                 /* the last step that is in a checkpoint; -1: none                            */
    int failed;                         /* in a row                                                                   */
    struct { double metric; int64_t step; } best;       /* before the last save, which may fail                       */
} rf__saves;

/* The number that tells the best checkpoint; rf__run_better(o, a, b): a is, of two such. */
double rf__run_metric(const rf__run *r);
bool rf__run_better(const rf_train_options *o, double a, double b);

/* The checkpoint that is being written in the background, when it is written, or `wait`. */
rf_status rf__saves_settle(rf__saves *l, bool wait, rf_error *why);

/* A checkpoint of this step: in the background, when there are steps to go on with (not `last`); several ranks' moments
 * come together where all of them wait. */
rf_status rf__saves_write(rf__saves *l, bool last, rf_error *why);

/* "run/checkpoint-4 is the last good one, ...": the newest checkpoint whose weights gave a loss that is finite. */
void rf__run_name_good(const rf__run *r, char *out, size_t size);

/* The trained model into the run's folder; the first rank writes, all learn how it went.  RF_ENUMERIC: its loss is not
 * finite, and nothing is written. */
rf_status rf__run_save_model(rf__run *r, rf_error *why);

#endif
