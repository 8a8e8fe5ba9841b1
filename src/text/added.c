/* added.c — lists of added tokens: their order and their ids.  Some folders have thousands. */
#include <stdlib.h>

#include "tokenizer.h"

static int by_id(const void *a, const void *b)
{
    const int32_t x = ((const rf_added *)a)->id, y = ((const rf_added *)b)->id;
    return (x > y) - (x < y);
}

void rf__added_sort(rf_added *added, size_t n)
{
    const int32_t first = (int32_t)((size_t)INT32_MAX - n);       /* for those without an id, which keep their order */
    for (size_t i = 0; i < n; i++)
        if (added[i].id == RF_ADDED_OPEN) added[i].id = first + (int32_t)i;
    if (n) qsort(added, n, sizeof *added, by_id);
    for (size_t i = 0; i < n; i++)
        if (added[i].id >= first) added[i].id = RF_ADDED_OPEN;
}

void rf__added_resolve(rf_added *added, size_t n, int32_t own, int32_t (*find)(const void *user, const char *text),
                       const void *user)
{
    int32_t next = own;
    for (size_t i = 0; i < n; i++)
        if (added[i].id >= next) next = added[i].id + 1;
    for (size_t i = 0; i < n; i++) {
        if (added[i].id != RF_ADDED_OPEN) continue;
        const int32_t id = find(user, added[i].text);
        added[i].id = id < 0 ? next : id;
        if (added[i].id >= next) next = added[i].id + 1;
    }
}
