/* processors.c — how many processors this process may run on. */
#define _GNU_SOURCE
#include <sched.h>
#include <unistd.h>

#include "roformer/context.h"

/* The kernel refuses a set that is smaller than its own; no Linux counts to more than 8192. */
enum { MOST = 1 << 16 };

int rf_processors(void)
{
    cpu_set_t set[MOST / CPU_SETSIZE];
    long n = sched_getaffinity(0, sizeof set, set) ? sysconf(_SC_NPROCESSORS_ONLN) : CPU_COUNT_S(sizeof set, set);
    return n < 1 ? 1 : n > MOST ? MOST : (int)n;
}
