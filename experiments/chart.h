/* chart.h — what an experiment found, drawn: held-out loss against steps, minutes and length. */
#ifndef EXPERIMENTS_CHART_H
#define EXPERIMENTS_CHART_H

#include "run.h"

enum { LENGTHS = 8, POINTS = 256 };

/* A row of the experiment over its seeds; y[i] are losses at step[i]. */
typedef struct curve {
    const char *name;
    int points, lengths;
    double step[POINTS], length[LENGTHS];
    numbers loss[POINTS], at_length[LENGTHS];
    double minutes_a_step;   /* at the fastest rate that the log of any seed shows: when the machine did nothing else */
} curve;

/* Adds the run of one seed: what metrics.jsonl in its folder has, in units of so many nats. */
void chart_add_run(curve *c, const char *folder, int seed, double nats);

/* RESULTS/curves.gp and curves.svg, without a panel of lengths where no curve has any; unit: what losses are in.  Sorts
 * the curves by their last loss. */
void chart_draw(const char *results, const char *title, const char *unit, curve *c, int n);

#endif
