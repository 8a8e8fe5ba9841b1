/* median.h — of the repetitions of a bench. */
#ifndef BENCH_MEDIAN_H
#define BENCH_MEDIAN_H

#include <stdlib.h>

static inline int ascending(const void *a, const void *b)
{
    const double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

/* Sorts x. */
static inline double median(double *x, int n)
{
    qsort(x, (size_t)n, sizeof *x, ascending);
    return x[n / 2];
}

#endif
