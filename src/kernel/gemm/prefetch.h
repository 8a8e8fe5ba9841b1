/* prefetch.h — what is prefetched while a panel is multiplied.
 *
 * Groups of rows go through a panel one after the other.  Meanwhile the next panel, which follows in memory, is
 * prefetched: each group fetches a part of it, one line of 64 bytes every few steps.  Without that the first group
 * would wait for memory, because hardware prefetchers start too late, and memory would be idle during the others.
 *
 *     memory   [ panel  |=group 0=|=group 1=|=group 2=]
 *
 * With many rows, lines are prefetched into the first-level cache, even if a panel is larger than that; the second
 * level was slower in measurements.  Two groups need lines as fast as memory delivers them, and the first level cannot
 * wait for that many lines at a time: theirs go into the second level. */
#ifndef RF_BEHIND_H
#define RF_BEHIND_H

#include <stddef.h>
#include <stdint.h>

/* Groups of nearly equal height, of at most `most` rows.  Rows that fit one group are divided into two if the second
 * group finds the panel in the first-level cache, or if multiplying takes longer than reading (measured on Zen 4). */
static inline int64_t groups_of(int64_t rows, int64_t most, int64_t bytes)
{
    const int64_t few = bytes <= 24 << 10 ? 4 : 12;
    return rows >= few && rows <= most ? 2 : (rows + most - 1) / most;
}

/* A group's part: its first line, and the number of steps between lines; for each of two groups. */
typedef struct behind { const char *line; int64_t every; int two; } behind;

/* A single group fetches at most one line: it waits for memory anyway. */
static inline behind behind_panel(const void *panel, int64_t bytes, int64_t steps, int64_t groups, int64_t group)
{
    const int64_t share = bytes / (64 * groups);
    return (behind){(const char *)panel + bytes + group * 64 * share,
                    groups == 1 ? steps : share < steps ? steps / (share ? share : 1) : 1, groups == 2};
}

/* The step before which the next line is prefetched.  `two` is a compile-time constant of the loop: a test in each step
 * took 5 % of the time in bf16. */
static inline __attribute__((always_inline)) int64_t fetch_behind(behind *b, int64_t step, int64_t steps, const int two)
{
    if (two) __builtin_prefetch(b->line, 0, 2);
    else __builtin_prefetch(b->line, 0, 3);
    b->line += 64;
    return two ? step + 1 : steps - step < b->every ? steps : step + b->every;
}

/* Prefetches the destination of the sums before they are computed.  This is a loop because registers for addresses are
 * scarce. */
static inline __attribute__((always_inline)) void claim_tile(const float *c, int64_t ldc, int rows, int columns)
{
#pragma GCC unroll 1
    for (int i = 0; i < rows; i++, c += ldc)
        for (int j = 0; j < columns; j += 16) __builtin_prefetch(c + j, 1, 3);
}

#endif
