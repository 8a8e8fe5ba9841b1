/* divergence.h — detects a training loss that has risen permanently; see divergence.c. */
#ifndef RF_TRAIN_DIVERGENCE_H
#define RF_TRAIN_DIVERGENCE_H

#include <stdbool.h>
#include <stdint.h>

#include "roformer/context.h"

enum { RF_LOSS_BLOCK = 16, RF_LOSS_BLOCKS_ABOVE = 2 };

/* The losses of RF_LOSS_BLOCK consecutive updates: the step of the last one, their mean, and the variance of that
 * mean. */
typedef struct rf__loss_block { int64_t step; double mean, variance; } rf__loss_block;

/* Initialized with zeros. */
typedef struct rf__losses {
    double loss[RF_LOSS_BLOCK];         /* of the block that is being filled                                          */
    int n, above;                       /* losses in it; number of consecutive finished blocks that were above        */
    bool diverged;                      /* the run has been reported as diverged                                      */
    rf__loss_block lowest, last;        /* finished blocks; lowest.step 0: there is none yet                          */
} rf__losses;

/* Adds the loss of the update of a step (1, 2, ...). Returns true at most once, when l->last shows that the run has
 * diverged. */
bool rf__losses_diverged(rf__losses *l, int64_t step, double loss);

#endif
