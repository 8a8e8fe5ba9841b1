/* kernel.h — internal: the rungs of the ladder. */
#ifndef RF_KERNEL_H
#define RF_KERNEL_H

#include <math.h>
#include "base/base.h"
#include "roformer/kernel/kernels.h"

/* Each isa_<name>.c exports exactly one symbol, its table. */
extern const rfk_table rfk_ref;
#define RFR(name, machine, needs, flags) extern const rfk_table rfk_##name;
#include "roformer/kernel/rungs.def"
#undef RFR

/* a b + c, rounded once, as fmaf, which rounds twice in MinGW's library. The product is exact in double; the sum is
 * rounded to odd, so that rounding to float gives what the exact sum would (Boldo and Melquiond 2008). */
static inline float rfk__fused(float a, float b, float c)
{
    const double p = (double)a * (double)b, s = p + (double)c;
    const double t = s - p, lost = (p - (s - t)) + ((double)c - t);
    uint64_t bits;
    memcpy(&bits, &s, sizeof bits);
    const bool inexact = isfinite(s) && lost != 0 && !(bits & 1);
    return (float)(inexact ? nextafter(s, lost > 0 ? INFINITY : -INFINITY) : s);
}

/* The size of `count` elements, and of two parts.  If it does not fit into the size_t of a 32-bit machine: the largest
 * multiple of 64, which no allocation grants. */
#define RFK__TOO_LARGE (SIZE_MAX - 63)
static inline size_t rfk__size(int64_t count, size_t each)
{
    const uint64_t bytes = (uint64_t)count * each;
    return bytes < RFK__TOO_LARGE ? (size_t)bytes : RFK__TOO_LARGE;
}
static inline size_t rfk__both(size_t a, size_t b)
{
    size_t sum;
    return rf__checked_add(a, b, &sum) ? sum : RFK__TOO_LARGE;
}

/* Which instructions beyond its dialect a rung has is said by its own file, before this one, and not by the compiler's
 * macros, which also follow CFLAGS: with -march=native every rung would be compiled as the best one.
 *
 *     HAS_VNNI     vpdpbusd: four products of bytes
 *     HAS_BF16     vdpbf16ps; on Arm BFDOT, BFMMLA and BFCVTN
 *     HAS_DOT      SDOT
 *     HAS_I8MM     SMMLA: two rows by two columns                                                                    */

#endif
