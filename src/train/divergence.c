/* divergence.c — detects a training loss that has risen permanently.
 *
 * The losses of 16 consecutive updates are a block, with a mean m and the variance of that mean
 *
 *     v = sum (x_i - m)^2 / (16 * 15)
 *
 * The run has diverged when two consecutive blocks are above the block with the lowest mean m0 by more than the noise
 * of both:
 *
 *     m - m0  >  0.25 |m0| + 1         and         m - m0  >  5 sqrt(v + v0)
 *
 * A loss that has risen this far does not recover: weights that predict tokens by frequency have almost no gradient. A
 * single large loss among small ones never suffices: a loss x adds x / 16 to m and nearly as much to sqrt v. */
#include "train/divergence.h"

#include <math.h>

static rf__loss_block finish(const rf__losses *l, int64_t step)
{
    rf__loss_block b = {.step = step};
    for (int i = 0; i < RF_LOSS_BLOCK; i++) b.mean += l->loss[i] / RF_LOSS_BLOCK;
    for (int i = 0; i < RF_LOSS_BLOCK; i++) {
        const double away = l->loss[i] - b.mean;
        b.variance += away * away / (RF_LOSS_BLOCK * (RF_LOSS_BLOCK - 1));
    }
    return b;
}

bool rf__losses_diverged(rf__losses *l, int64_t step, double loss)
{
    l->loss[l->n++] = loss;
    if (l->n < RF_LOSS_BLOCK) return false;
    const rf__loss_block b = l->last = finish(l, step);
    l->n = 0;
    const double rise = b.mean - l->lowest.mean;
    const bool above = l->lowest.step && rise > 0.25 * fabs(l->lowest.mean) + 1 &&
                       rise > 5 * sqrt(b.variance + l->lowest.variance);
    l->above = above ? l->above + 1 : 0;
    if (!l->lowest.step || b.mean < l->lowest.mean) l->lowest = b;
    if (l->diverged || l->above < RF_LOSS_BLOCKS_ABOVE) return false;
    return l->diverged = true;
}
