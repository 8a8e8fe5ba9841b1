/* divergence.h — detect a training loss that has risen permanently; see divergence.c. */
#ifndef RF_TRAIN_DIVERGENCE_H
#define RF_TRAIN_DIVERGENCE_H

#include <stdbool.h>
#include <stdint.h>

#include "roformer/status.h"

enum { RF_LOSS_BLOCK = 16, RF_LOSS_BLOCKS_ABOVE = 2 };

/* The losses of RF_LOSS_BLOCK updates in a row: the step of the last one, their mean, and the variance of that mean. */
typedef struct rf__loss_block { int64_t step; double mean, variance; } rf__loss_block;

/* Begins as zeros. */
typedef struct rf__losses {
    double loss[RF_LOSS_BLOCK];         /* of the block that is being filled                                          */
    int n, above;                       /* losses in it; finished blocks in a row that were above                     */
    bool diverged;                      /* has been answered with yes                                                 */
    rf__loss_block lowest, last;        /* finished ones; lowest.step 0: there is none yet                            */
} rf__losses;

/* Takes the loss of the update of a step (1, 2, ...).  True at most once, when l->last shows a diverged run. */
bool rf__losses_diverged(rf__losses *l, int64_t step, double loss);

#endif
