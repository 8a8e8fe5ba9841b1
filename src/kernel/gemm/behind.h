/* behind.h — what is fetched while a panel is multiplied.
 *
 * Where two groups of rows go through a panel, what lies behind it in memory is fetched into the second-level cache
 * meanwhile, a line of 64 bytes for each step, half of it by each group: with few rows that is multiplied next, and
 * comes from memory.  Otherwise the first group waits for it, and the second leaves the memory idle.
 *
 *     memory   [ panel  |===group 0===|===group 1===]                                                                */
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

/* Where a group's lines begin; NULL: nothing is fetched. */
static inline const char *behind_panel(const void *panel, int64_t bytes, int64_t groups, int64_t group)
{
    return groups == 2 ? (const char *)panel + bytes + group * (bytes / 2) : NULL;
}

static inline __attribute__((always_inline)) void fetch_behind(const char *behind, int64_t step)
{
    if (behind) __builtin_prefetch(behind + 64 * step, 0, 2);
}

#endif
