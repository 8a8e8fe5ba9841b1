/* json_file.c — reads JSON files; parses a file of a held folder once. */
#include "base/files/json_file.h"

rf_status rf__json_file(const rf_ctx *ctx, const char *path, size_t limit, size_t flags, json_t **out, rf_error *why)
{
    char *text;
    size_t size;
    rf_error own = {0};
    if (!why) why = &own;
    const rf_status status = rf__read_file(ctx, path, limit, &text, &size, why);
    if (status) return status;
    json_t *all = rf__json_parse(text, size, flags, path, why);
    rf__free(ctx, text);
    if (!all) return why->code;
    *out = all;
    return RF_OK;
}

static void drop(void *value) { json_decref(value); }

json_t *rf__held_json(const rf__held *h, size_t flags) { return json_incref(rf__held_made(h, flags)); }

void rf__held_keep_json(const rf__held *h, size_t flags, json_t *value)
{
    if (rf__held_keep_made(h, flags, value, drop)) json_incref(value);
}

rf_status rf__json_shared(const rf_ctx *ctx, const char *path, size_t limit, size_t flags, json_t **out, rf_error *why)
{
    const rf__held h = rf__held_of(ctx, path);
    json_t *known = rf__held_json(&h, flags);
    if (known) return *out = known, RF_OK;
    const rf_status status = rf__json_file(ctx, path, limit, flags, out, why);
    if (!status) rf__held_keep_json(&h, flags, *out);
    return status;
}
