/* prefetch.h — what is fetched while a panel is multiplied.
 *
 * Groups of rows go through a panel one after the other; meanwhile what lies behind it in memory, the next panel, is
 * fetched, a share by each group, a line of 64 bytes every so many steps.  Otherwise the first group waits for the
 * memory, whose reading no hardware begins early enough, and the others leave it idle.
 *
 *     memory   [ panel  |=group 0=|=group 1=|=group 2=]
 *
 * Of many rows it is asked for where it is read from, in the first-level cache, also where a panel is larger than that:
 * the second level was slower.  Two groups need it as fast as memory gives it, and the first level cannot wait for as
 * many lines at a time: theirs go into the second. */
#ifndef RF_BEHIND_H
#define RF_BEHIND_H

#include <stddef.h>
#include <stdint.h>

/* Groups of nearly equal height, of at most `most` rows.  Rows that one group could hold are two where the second finds
 * the panel in the first-level cache, or where multiplying takes longer than reading (measured on Zen 4). */
static inline int64_t groups_of(int64_t rows, int64_t most, int64_t bytes)
{
    const int64_t few = bytes <= 24 << 10 ? 4 : 12;
    return rows >= few && rows <= most ? 2 : (rows + most - 1) / most;
}

/* A group's share: its first line, and after how many steps the next one follows; of two groups each. */
typedef struct behind { const char *line; int64_t every; int two; } behind;

/* One group fetches no more than a line: it waits for the memory anyway. */
static inline behind behind_panel(const void *panel, int64_t bytes, int64_t steps, int64_t groups, int64_t group)
{
    const int64_t share = bytes / (64 * groups);
    return (behind){(const char *)panel + bytes + group * 64 * share,
                    groups == 1 ? steps : share < steps ? steps / (share ? share : 1) : 1, groups == 2};
}

/* The step before which the next line is to be fetched.  `two` is known where a loop is compiled: a test in each step
 * took 5 % of the time in bf16. */
static inline __attribute__((always_inline)) int64_t fetch_behind(behind *b, int64_t step, int64_t steps, const int two)
{
    if (two) __builtin_prefetch(b->line, 0, 2);
    else __builtin_prefetch(b->line, 0, 3);
    b->line += 64;
    return two ? step + 1 : steps - step < b->every ? steps : step + b->every;
}

/* Where sums will be stored is asked for before they are made; in a loop, for addresses in registers are scarce. */
static inline __attribute__((always_inline)) void claim_tile(const float *c, int64_t ldc, int rows, int columns)
{
#pragma GCC unroll 1
    for (int i = 0; i < rows; i++, c += ldc)
        for (int j = 0; j < columns; j += 16) __builtin_prefetch(c + j, 1, 3);
}

#endif
