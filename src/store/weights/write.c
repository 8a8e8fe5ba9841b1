/* write.c — writes a safetensors file as a stream, completely or not at all.
 *
 *     path.tmp-<pid>-<n>: length, header, data   ->   fsync   ->   rename to path   ->   fsync of the folder
 *
 * Tensors are sorted by the width of their type, then by name, as in the reference implementation. All of them are
 * therefore aligned, and the same tensors give the same bytes. */
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/files/path.h"
#include "base/os/os.h"
#include "roformer/kernel/kernels.h"
#include "store/store.h"

enum { RUN = 16384 };                                              /* values that are converted at a time */

/* The tensor of a file that is written as it is; NULL: it has numbers. */
static const rf_weight *whole_of(const rf_weight_out *t)
{
    return (int)t->type == RF__AS_IT_IS ? (const rf_weight *)(const void *)t->data : NULL;
}

static size_t width_of(const rf_weight_out *t)
{
    const rf_weight *whole = whole_of(t);
    return whole ? rf__dtype_of(whole->dtype)->bits / 8 : t->type == RF_F32 ? 4 : t->type == RF_I8 ? 1 : 2;
}

static const char *dtype_name(const rf_weight_out *t)
{
    const rf_weight *whole = whole_of(t);
    if (whole) return whole->dtype;
    return t->type == RF_F32 ? "F32" : t->type == RF_BF16 ? "BF16" : t->type == RF_I8 ? "I8" : "F16";
}

static int by_width_and_name(const void *a, const void *b)
{
    const rf_weight_out *const *x = a, *const *y = b;
    const size_t wx = width_of(*x), wy = width_of(*y);
    return wx != wy ? (wx > wy ? -1 : 1) : strcmp((*x)->name, (*y)->name);
}

static int by_name(const void *a, const void *b)
{
    const rf_weight_out *const *x = a, *const *y = b;
    return strcmp((*x)->name, (*y)->name);
}

/* ---- the list of tensors ----------------------------------------------------------------------------------------- */

static rf_status count_of(const rf_weight_out *t, bool later, const char *path, size_t *count, rf_error *why)
{
    if (!t->name || !*t->name || !strcmp(t->name, "__metadata__"))
        return rf_fail(why, RF_EARG, "%s: a tensor's name is empty or reserved", path);
    const rf__label name = rf__printable(t->name);
    if (t->type != RF_F32 && t->type != RF_BF16 && t->type != RF_F16 && t->type != RF_I8 && !whole_of(t))
        return rf_fail(why, RF_EARG, "%s: tensor \"%s\": type: expected F32, BF16, F16 or I8, got %d", path,
                       name.text, (int)t->type);
    if (t->rank < 0 || t->rank > (int)RF_COUNT(t->dim))
        return rf_fail(why, RF_EARG, "%s: tensor \"%s\": rank: expected 0 to %zu, got %d", path, name.text,
                       RF_COUNT(t->dim), t->rank);
    *count = 1;
    for (int i = 0; i < t->rank; i++)
        if (t->dim[i] < 0 || !rf__checked_mul(*count, (size_t)t->dim[i], count) || *count > SIZE_MAX / 64)
            return rf_fail(why, RF_EARG, "%s: tensor \"%s\": dimension %d is %lld", path, name.text, i,
                           (long long)t->dim[i]);
    if (*count && !t->data && !later) return rf_fail(why, RF_EARG, "%s: tensor \"%s\": no data", path, name.text);
    return RF_OK;
}

static json_t *entry_of(const rf_weight_out *t, size_t from, size_t to)
{
    json_t *shape = json_array();
    for (int i = 0; i < t->rank; i++) rf__json_add(&shape, json_integer(t->dim[i]));
    return json_pack("{s:s, s:o, s:[I,I]}", "dtype", dtype_name(t), "shape", shape, "data_offsets",
                     (json_int_t)from, (json_int_t)to);
}

static json_t *metadata_of(const char *const *metadata)
{
    json_t *m = json_pack("{s:s}", "format", "pt");
    for (; m && metadata && metadata[0]; metadata += 2)
        rf__json_set(&m, metadata[0], json_string(metadata[1]));
    return m;
}

/* The header as text, padded with spaces so that the data begins at a multiple of 8. */
static rf_status header_of(const char *path, const rf_weight_out *const *sorted, size_t n, bool later,
                           const char *const *metadata, char **text, size_t *size, rf_error *why)
{
    json_t *root = json_object(), *m = metadata_of(metadata);
    rf_status status = RF_OK;
    size_t at = 0, count = 0, to = 0;
    for (const char *const *s = metadata; !status && s && *s; s++)
        if (!rf__json_takes(*s)) status = rf_fail(why, RF_EARG, "%s: metadata that is not UTF-8", path);
    rf__json_set(&root, "__metadata__", m);
    for (size_t i = 0; i < n && !status; i++, at = to) {
        if ((status = count_of(sorted[i], later, path, &count, why))) break;
        if (!rf__checked_add(at, count * width_of(sorted[i]), &to) || to > INT64_MAX)
            status = rf_fail(why, RF_ERANGE, "%s: the data does not fit 63 bits", path);
        else if (!rf__json_takes(sorted[i]->name))
            status = rf_fail(why, RF_EARG, "%s: tensor \"%s\": a name that is not UTF-8", path,
                             rf__printable(sorted[i]->name).text);
        else rf__json_set(&root, sorted[i]->name, entry_of(sorted[i], at, to));
    }
    char *json = status || !root ? NULL : rf__json_dump(root, JSON_COMPACT);
    json_decref(root);
    if (status) return status;
    const size_t length = json ? strlen(json) : 0;
    *size = (length + 7) / 8 * 8;
    char *padded = json ? realloc(json, *size + 1) : NULL;
    if (!padded) {
        free(json);
        return rf_fail(why, RF_ENOMEM, "%s: out of memory for the header", path);
    }
    memset(padded + length, ' ', *size - length);
    *text = padded;
    return *size > RF__MAX_HEADER ? rf_fail(why, RF_ERANGE, "%s: expected a header of at most %d bytes, got %zu", path,
                                            RF__MAX_HEADER, *size)
                                  : RF_OK;
}

/* ---- the bytes --------------------------------------------------------------------------------------------------- */

static bool finite_run(const rf_ctx *ctx, const float *x, size_t n)
{
    if (ctx->k && ctx->k->finite) return ctx->k->finite(x, (int64_t)n);
    for (size_t i = 0; i < n; i++)
        if (!isfinite(x[i])) return false;
    return true;
}

static bool as_bytes(int8_t *to, const float *x, size_t n)
{
    bool fine = true;
    for (size_t i = 0; i < n; i++) {
        const bool fits = x[i] >= INT8_MIN && x[i] <= INT8_MAX;
        to[i] = fits ? (int8_t)x[i] : 0;
        fine &= fits && x[i] - (float)to[i] == 0;
    }
    return fine;
}

/* Rounds one run; false: a value became infinite. */
static bool narrow(const rf_ctx *ctx, rf_type type, uint16_t *to, const float *x, size_t n)
{
    if (type == RF_I8) return as_bytes((int8_t *)to, x, n);
    const uint16_t exponent = type == RF_BF16 ? 0x7F80 : 0x7C00;
    bool fine = true;
    if (type == RF_BF16 && ctx->k && ctx->k->to_bf16) ctx->k->to_bf16(to, x, (int64_t)n);
    else if (type == RF_F16 && ctx->k && ctx->k->to_f16) ctx->k->to_f16(to, x, (int64_t)n);
    else for (size_t i = 0; i < n; i++) to[i] = type == RF_BF16 ? rf__bf16(x[i]) : rf__f16(x[i]);
    for (size_t i = 0; i < n; i++) fine &= (to[i] & exponent) != exponent;
    return fine;
}

/* A source of data that is not in memory yet. */
typedef struct later { const rf_weight_out *first; rf__fetch *fetch; void *user; } later;

static rf_status write_tensor(const rf_ctx *ctx, int fd, const char *path, const rf_weight_out *t, const later *from,
                              uint16_t *buffer, rf_error *why)
{
    size_t count = 1;
    rf_error failed = {0};
    if (whole_of(t)) return rf__write_all(fd, whole_of(t)->data, whole_of(t)->bytes, path, why);
    const float *data = t->data       ? t->data
                        : from->fetch ? from->fetch(from->user, (size_t)(t - from->first), &failed)
                                      : NULL;
    if (failed.code) return rf_fail(why, failed.code, "%s", failed.text);
    for (int i = 0; i < t->rank; i++) count *= (size_t)t->dim[i];
    for (size_t i = 0; i < count; i += RUN) {
        const size_t n = count - i < RUN ? count - i : RUN;
        const void *bytes = data + i;
        if (!finite_run(ctx, data + i, n))
            return rf_fail(why, RF_ENUMERIC, "%s: tensor \"%s\": a value among elements %zu..%zu is not finite", path,
                           rf__printable(t->name).text, i, i + n - 1);
        if (t->type != RF_F32) {
            if (!narrow(ctx, t->type, buffer, data + i, n))
                return rf_fail(why, RF_ENUMERIC,
                               "%s: tensor \"%s\": a value among elements %zu..%zu is too large for %s", path,
                               rf__printable(t->name).text, i, i + n - 1, dtype_name(t));
            bytes = buffer;
        }
        const rf_status status = rf__write_all(fd, bytes, n * width_of(t), path, why);
        if (status) return status;
    }
    return RF_OK;
}

static rf_status write_file(const rf_ctx *ctx, int fd, const char *path, const rf_weight_out *const *sorted, size_t n,
                            const later *from, const char *header, size_t size, rf_error *why)
{
    unsigned char length[8];
    for (int i = 0; i < 8; i++) length[i] = (unsigned char)((uint64_t)size >> 8 * i);
    uint16_t *buffer = rf__alloc(ctx, RUN * sizeof *buffer);
    if (!buffer) return rf_fail(why, RF_ENOMEM, "%s: out of memory", path);
    rf_status status = rf__write_all(fd, length, sizeof length, path, why);
    if (!status) status = rf__write_all(fd, header, size, path, why);
    for (size_t i = 0; i < n && !status; i++) status = write_tensor(ctx, fd, path, sorted[i], from, buffer, why);
    rf__free(ctx, buffer);
    return status;
}

static rf_status refused(rf_error *why, const char *path, const char *verb)
{
    return rf_fail(why, RF_EIO, "%s: cannot %s: %s", path, verb, rf__os_reason(errno));
}

static rf_status sync_folder_of(const char *path, rf_error *why)
{
    char folder[4096];
    const rf_status status = rf__folder_of(path, folder, sizeof folder, why);
    return status ? status : rf__sync_folder(folder, why);
}

static rf_status replace(const rf_ctx *ctx, const char *path, const rf_weight_out *const *sorted, size_t n,
                         const later *from, const char *header, size_t size, int *unsynced, rf_error *why)
{
    char temporary[4096];
    int fd;
    rf_status status = rf__temporary_open(path, temporary, sizeof temporary, &fd, why);
    if (status) return status;
    status = write_file(ctx, fd, path, sorted, n, from, header, size, why);
    if (!status && !unsynced && rf__os_sync(fd)) status = refused(why, path, "sync");
    if ((status || !unsynced) && rf__os_close(fd) && !status) status = refused(why, path, "close");
    if (!status && unsynced) *unsynced = fd;
    if (!status && rf__os_rename(temporary, path)) status = refused(why, path, "replace");
    if (status) rf__os_remove(temporary);
    return status || unsynced ? status : sync_folder_of(path, why);
}

/* Sorts an array of pointers twice: by name, to find duplicates; then in the order of writing. */
static rf_status sort(const char *path, const rf_weight_out **sorted, size_t count, rf_error *why)
{
    for (size_t i = 0; i < count; i++)
        if (!sorted[i]->name) return rf_fail(why, RF_EARG, "%s: tensor %zu has no name", path, i);
    qsort(sorted, count, sizeof *sorted, by_name);
    for (size_t i = 1; i < count; i++)
        if (!strcmp(sorted[i - 1]->name, sorted[i]->name))
            return rf_fail(why, RF_EARG, "%s: tensor \"%s\" is given twice", path, rf__printable(sorted[i]->name).text);
    qsort(sorted, count, sizeof *sorted, by_width_and_name);
    return RF_OK;
}

rf_status rf__weights_write(const rf_ctx *ctx, const char *path, const rf_weight_out *tensor, size_t count,
                            const char *const *metadata, rf_error *why)
{
    if (!(ctx && path && (tensor || !count))) return rf__missing("rf__weights_write", "ctx, path, tensors", why);
    for (size_t i = 0; i < count; i++)
        if (whole_of(&tensor[i])) return rf_fail(why, RF_EARG, "%s: tensor %zu: type: expected F32, BF16, F16 or I8, "
                                                 "got %d", path, i, (int)tensor[i].type);
    return rf__weights_stream(ctx, path, tensor, count, metadata, NULL, NULL, NULL, why);
}

rf_status rf__weights_stream(const rf_ctx *ctx, const char *path, const rf_weight_out *tensor, size_t count,
                            const char *const *metadata, rf__fetch *fetch, void *user, int *fd, rf_error *why)
{
    const later from = {tensor, fetch, user};
    if (count > RF__MAX_TENSORS)
        return rf_fail(why, RF_EARG, "%s: expected at most %d tensors, got %zu", path, RF__MAX_TENSORS, count);
    char *header = NULL;
    size_t size = 0;
    const rf_weight_out **sorted = rf__calloc(ctx, count ? count : 1, sizeof *sorted);
    if (!sorted) return rf_fail(why, RF_ENOMEM, "%s: out of memory", path);
    for (size_t i = 0; i < count; i++) sorted[i] = &tensor[i];
    rf_status status = sort(path, sorted, count, why);
    if (!status) status = header_of(path, sorted, count, fetch != NULL, metadata, &header, &size, why);
    if (!status) status = replace(ctx, path, sorted, count, &from, header, size, fd, why);
    free(header);
    rf__free(ctx, sorted);
    return status;
}
