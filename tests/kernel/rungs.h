/* rungs.h — shared by the kernel tests: every rung of this machine's ladder, and sizes with every kind of tail. */
#ifndef RUNGS_H
#define RUNGS_H

#include <float.h>

#include "t.h"

#define EPS ((double)FLT_EPSILON)          /* 2^-23: the rounding of one operation is at most half of it */

/* for (EACH_RUNG(k)) ... with `k` an rfk_table. */
#define EACH_RUNG(k) int k##_at = 0; rfk_rung(k##_at, &k); k##_at++

static const int64_t sizes[] = {0,  1,  2,  3,  4,  5,   7,   8,   15,  16,  17,  31,
                                32, 33, 63, 64, 65, 100, 127, 128, 255, 768, 1000};

/* A copy of n numbers at an address `shift` floats beyond a multiple of 64 bytes, with a fence after it. */
static inline float *copied(const float *x, int64_t n, int64_t shift)
{
    float *y = t_floats(n + shift) + shift;
    if (n) memcpy(y, x, (size_t)n * sizeof *x);
    return y;
}

static inline void same_bits(const void *a, const void *b, int64_t n, const char *what)
{
    if (n && memcmp(a, b, (size_t)n * sizeof(float))) fail_msg("%s: bits differ", what);
}

/* Runs `f` repeatedly on a context of a rung (NULL: the best), each time with the next of its allocations failing,
 * until none does: RF_ENOMEM, and nothing leaks. */
typedef rf_status attempt(const rf_ctx *ctx, const void *what, rf_error *why);
static inline void fail_every_allocation(const char *rung, attempt *f, const void *what)
{
    rf_status s = RF_ENOMEM;
    for (long n = 1; s; n++) {
        t_memory memory = {0};
        rf_ctx *ctx = t_counting_ctx(2, rung, &memory);
        rf_error why = {0};
        memory.fail = memory.calls + n;
        s = f(ctx, what, &why);
        if (s) t_failed(&why, RF_ENOMEM, "out of memory");
        rf_ctx_free(ctx);
        assert_int_equal(memory.live, 0);
    }
}

#endif
