/* dictionary.c — a compiled dictionary, mapped. */
#include "dictionary.h"

#include "base/json.h"

static bool plausible(const rf_dictionary_header *h, size_t size)
{
    size_t slots, all;
    return !memcmp(h->magic, "RFWORDS1", sizeof h->magic) && !h->name[sizeof h->name - 1] && h->total && h->sum &&
           h->longest && h->longest <= RF_DICTIONARY_LONGEST && h->slots &&
           rf__checked_mul(h->slots, sizeof(rf_dictionary_slot), &slots) &&
           rf__checked_add(slots, sizeof *h + RF_DICTIONARY_FIRST * sizeof(rf_dictionary_first), &all) && all == size;
}

rf_status rf__dictionary_open(const rf_ctx *ctx, const char *path, rf_dictionary *out, rf_error *why)
{
    rf_map map;
    const rf_status status = rf__map_open(ctx, path, &map, why);
    if (status) return status;
    const rf_dictionary_header *h = (const rf_dictionary_header *)(const void *)map.data;
    if (map.size < sizeof *h || (uintptr_t)map.data % sizeof(uint64_t) || !plausible(h, map.size)) {
        rf__map_close(ctx, &map);
        return rf_fail(why, RF_EDATA, "%s: not a compiled dictionary, or cut short: `roformer dictionary` makes one",
                       path);
    }
    out->map = map;
    out->header = h;
    out->first = (const rf_dictionary_first *)(const void *)(h + 1);
    out->slot = (const rf_dictionary_slot *)(const void *)(out->first + RF_DICTIONARY_FIRST);
    return RF_OK;
}

void rf__dictionary_close(const rf_ctx *ctx, rf_dictionary *d)
{
    if (d->header) rf__map_close(ctx, &d->map);
    *d = (rf_dictionary){0};
}
