/* list.c — lists a folder: all names first, one after another, then their order. */
#include <errno.h>
#include <stdlib.h>

#include "base/files/list.h"
#include "base/os/os.h"

static int by_bytes(const void *a, const void *b)
{
    const char *const *x = a, *const *y = b;
    return strcmp(*x, *y);
}

static bool read_names(rf__os_folder *f, rf__names *out)
{
    size_t capacity = 0, size = 0;
    for (const char *name; (name = rf__os_next(f, NULL)); out->n++) {
        const size_t n = strlen(name) + 1;
        if (!rf__grow(out->ctx, &out->text, &capacity, size + n, 1)) return false;
        memcpy(out->text + size, name, n);
        size += n;
    }
    return true;
}

rf_status rf__names_in(const rf_ctx *ctx, const char *folder, rf__names *out, rf_error *why)
{
    *out = (rf__names){.ctx = ctx};
    rf__os_folder *f = rf__os_folder_open(folder);
    if (!f) return rf_fail(why, RF_EIO, "%s: cannot list: %s", folder, rf__os_reason(errno));
    const bool whole = read_names(f, out);
    rf__os_folder_close(f);
    if (whole && !out->n) return RF_OK;
    out->name = whole ? rf__calloc(ctx, out->n, sizeof *out->name) : NULL;
    if (!out->name) {
        rf__names_free(out);
        return rf_fail(why, RF_ENOMEM, "%s: out of memory", folder);
    }
    const char *at = out->text;
    for (size_t i = 0; i < out->n; i++, at += strlen(at) + 1) out->name[i] = at;
    qsort(out->name, out->n, sizeof *out->name, by_bytes);
    return RF_OK;
}

void rf__names_free(rf__names *names)
{
    rf__free(names->ctx, names->name);
    rf__free(names->ctx, names->text);
    *names = (rf__names){.ctx = names->ctx};
}
