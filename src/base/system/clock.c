/* clock.c — time in seconds. */
#define _GNU_SOURCE
#include <time.h>

#include "base/base.h"

static double seconds_of(clockid_t clock)
{
    struct timespec t;
    clock_gettime(clock, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

double rf__seconds(void) { return seconds_of(CLOCK_MONOTONIC); }
double rf__wall_seconds(void) { return seconds_of(CLOCK_REALTIME); }
