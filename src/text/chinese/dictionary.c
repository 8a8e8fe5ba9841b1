/* dictionary.c — opens a compiled dictionary by mapping it. */
#include "dictionary.h"

#include "base/json.h"

size_t rf__dictionary_size(const rf_dictionary_header *h)
{
    if (memcmp(h->magic, RF_DICTIONARY_MAGIC, sizeof h->magic) || h->name[sizeof h->name - 1] || !h->total || !h->sum ||
        !h->longest || h->longest > RF_DICTIONARY_LONGEST || !h->units || h->units > RF_DICTIONARY_UNITS ||
        !h->values || h->values > RF_DICTIONARY_VALUES || h->wides > 0x110000)
        return 0;
    return sizeof *h + h->values * sizeof(double) + h->units * sizeof(uint64_t) +
           RF_DICTIONARY_PLANE * sizeof(uint32_t) + h->wides * sizeof(rf_dictionary_wide);
}

void rf__dictionary_parts(rf_dictionary *d, const void *file)
{
    d->header = file;
    d->value = (const double *)(const void *)(d->header + 1);
    d->unit = (const uint64_t *)(const void *)(d->value + d->header->values);
    d->code = (const uint32_t *)(const void *)(d->unit + d->header->units);
    d->wide = (const rf_dictionary_wide *)(const void *)(d->code + RF_DICTIONARY_PLANE);
}

rf_status rf__dictionary_open(const rf_ctx *ctx, const char *path, rf_dictionary *out, rf_error *why)
{
    rf_dictionary d = {0};
    rf_status status = rf__map_open(ctx, path, &d.map, why);
    if (status) return status;
    const rf_dictionary_header *h = (const rf_dictionary_header *)(const void *)d.map.data;
    const bool aligned = !((uintptr_t)d.map.data % sizeof(uint64_t));
    if (aligned && rf__dictionary_is_old(d.map.data, d.map.size))
        status = rf__dictionary_renew(ctx, &d.map, path, &d.laid_out, why);
    else if (!aligned || d.map.size < sizeof *h || rf__dictionary_size(h) != d.map.size)
        status = rf_fail(why, RF_EDATA,
                         "%s: expected a compiled dictionary, got another or a truncated file; `roformer dictionary` "
                         "compiles one", path);
    if (status) return rf__map_close(ctx, &d.map), status;
    rf__dictionary_parts(&d, d.laid_out ? (const void *)d.laid_out : d.map.data);
    *out = d;
    return RF_OK;
}

void rf__dictionary_close(const rf_ctx *ctx, rf_dictionary *d)
{
    if (d->header) rf__map_close(ctx, &d->map);
    rf__free(ctx, d->laid_out);
    *d = (rf_dictionary){0};
}
