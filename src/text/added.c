/* added.c — lists of added tokens: their order, their ids, and an index by text.  Some folders have thousands. */
#include <stdlib.h>

#include "tokenizer.h"

/* ---- order and ids ----------------------------------------------------------------------------------------------- */

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

/* ---- by text ----------------------------------------------------------------------------------------------------- */

/* The slot of a text: the first from its hash on that is empty or has it. */
static size_t slot_of(const rf__added_index *x, const rf_added *added, const char *text, size_t size)
{
    size_t at = (size_t)rf__hash64(text, size, 0) & (x->slots - 1);
    for (; x->slot[at]; at = (at + 1) & (x->slots - 1)) {
        const rf_added *a = &added[x->slot[at] - 1];
        if (a->size == size && !memcmp(a->text, text, size)) break;
    }
    return at;
}

size_t rf__added_find(const rf__added_index *x, const rf_added *added, const char *text, size_t size)
{
    const uint32_t found = x->slots ? x->slot[slot_of(x, added, text, size)] : 0;
    return found ? found - 1 : SIZE_MAX;
}

bool rf__added_index_all(rf__added_index *x, const rf_ctx *ctx, const rf_added *added, size_t n)
{
    if (2 * n >= x->slots) {                                                         /* at most half of it is filled */
        size_t slots = 64;
        while (slots <= 4 * n) slots *= 2;
        uint32_t *slot = rf__calloc(ctx, slots, sizeof *slot);
        if (!slot) return false;
        rf__free(ctx, x->slot);
        *x = (rf__added_index){.slot = slot, .slots = slots};
    }
    for (; x->n < n; x->n++) {
        const size_t at = slot_of(x, added, added[x->n].text, added[x->n].size);
        if (!x->slot[at]) x->slot[at] = (uint32_t)x->n + 1;
    }
    return true;
}
