/* peak.h — the multiply-add peak with which products of a type are compared: that of the type, or f32's if the
 * processor has no instruction for it.                                                                               */
#ifndef BENCH_PEAK_H
#define BENCH_PEAK_H

#include "roformer/kernel/kernels.h"

/* Operations a second, all threads, measured for `length` seconds. */
static inline double peak_of_type(const rf_ctx *ctx, rf_type type, double length)
{
    const double own = rf_peak_of(ctx, type, length);
    return own > 0 ? own : rf_peak_flops(ctx, length);
}

#endif
