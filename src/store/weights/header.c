/* header.c — the header of a safetensors file. Everything is checked here, before anything is used.
 *
 *     0        n, 64 bits, little-endian
 *     8        {"__metadata__": {"format": "pt"}, "name": {"dtype": "F32", "shape": [2, 3], "data_offsets": [0, 24]}}
 *     8 + n    the data, without holes, to the end of the file
 *
 * The file is not trusted: a size is used only after a comparison with the real size of the file, products and sums are
 * checked, and the data of the tensors must cover the rest of the file exactly. */
#include <stdlib.h>

#include "store/store.h"

/* All data types of the format. Those without rf_type are recognized and refused when they are read. */
static const rf__dtype dtypes[] = {
    {"F32", 32, true, RF_F32},      {"BF16", 16, true, RF_BF16},    {"F16", 16, true, RF_F16},
    {"I8", 8, false, RF_F32},       {"I32", 32, false, RF_F32},      {"F64", 64, false, RF_F32},
    {"I64", 64, false, RF_F32},     {"U64", 64, false, RF_F32},     {"C64", 64, false, RF_F32},
    {"U32", 32, false, RF_F32},     {"I16", 16, false, RF_F32},     {"U16", 16, false, RF_F32},
    {"U8", 8, false, RF_F32},       {"BOOL", 8, false, RF_F32},     {"F8_E5M2", 8, false, RF_F32},
    {"F8_E4M3", 8, false, RF_F32},  {"F8_E8M0", 8, false, RF_F32},  {"F6_E2M3", 6, false, RF_F32},
    {"F6_E3M2", 6, false, RF_F32},  {"F4", 4, false, RF_F32},
};

const rf__dtype *rf__dtype_of(const char *name)
{
    for (size_t i = 0; i < RF_COUNT(dtypes); i++)
        if (!strcmp(name, dtypes[i].name)) return &dtypes[i];
    return NULL;
}

/* One tensor's entry while it is being read; `file` and `label` are for messages. */
struct entry { const char *file; rf__label label; rf_error *why; };

static rf_status refuse(const struct entry *e, rf_status code, const char *what, long long value)
{
    return rf_fail(e->why, code, "%s: tensor \"%s\": %s (%lld)", e->file, e->label.text, what, value);
}

/* A size or an offset: a JSON integer that is not negative. */
static rf_status read_size(const struct entry *e, const json_t *value, const char *what, int64_t *out)
{
    if (!json_is_integer(value))
        return rf_fail(e->why, RF_EDATA, "%s: tensor \"%s\": %s", e->file, e->label.text, what);
    *out = json_integer_value(value);
    return *out < 0 ? refuse(e, RF_EDATA, what, *out) : RF_OK;
}

static rf_status read_shape(const struct entry *e, const json_t *shape, rf_weight *t)
{
    if (!json_is_array(shape)) return refuse(e, RF_EDATA, "\"shape\" is missing or not a list", 0);
    if (json_array_size(shape) > RF_MAX_RANK)
        return refuse(e, RF_EDATA, "the rank is above 8", (long long)json_array_size(shape));
    t->rank = (int)json_array_size(shape);
    t->count = 1;
    for (int i = 0; i < t->rank; i++) {
        const rf_status s =
            read_size(e, json_array_get(shape, (size_t)i), "a dimension is not a whole number >= 0", &t->dim[i]);
        if (s) return s;
        if (!rf__checked_mul(t->count, (size_t)t->dim[i], &t->count))
            return refuse(e, RF_EDATA, "the product of the dimensions does not fit 64 bits", t->dim[i]);
    }
    return RF_OK;
}

/* Offsets are relative to the data, which is `data_size` bytes at `base`. */
static rf_status read_offsets(const struct entry *e, const json_t *offsets, const rf__dtype *d,
                              const unsigned char *base, size_t data_size, rf_weight *t)
{
    int64_t from = 0, to = 0;
    size_t bits;
    rf_status s;
    if (!json_is_array(offsets) || json_array_size(offsets) != 2)
        return refuse(e, RF_EDATA, "\"data_offsets\" is missing or not a pair", (long long)json_array_size(offsets));
    if ((s = read_size(e, json_array_get(offsets, 0), "data_offsets[0] is not a whole number >= 0", &from))) return s;
    if ((s = read_size(e, json_array_get(offsets, 1), "data_offsets[1] is not a whole number >= 0", &to))) return s;
    if (from > to) return refuse(e, RF_EDATA, "data_offsets run backwards", from);
    if ((uint64_t)to > data_size)
        return rf_fail(e->why, RF_EDATA,
                       "%s: tensor \"%s\": data_offsets: expected an end within the %zu bytes of data, got %lld",
                       e->file, e->label.text, data_size, (long long)to);
    if (!rf__checked_mul(t->count, d->bits, &bits))
        return refuse(e, RF_EDATA, "the size in bits does not fit 64 bits", to - from);
    if (bits % 8) return refuse(e, RF_EDATA, "does not end at a byte", (long long)(bits % 8));
    t->bytes = (size_t)(to - from);
    if (t->bytes != bits / 8)
        return rf_fail(e->why, RF_EDATA,
                       "%s: tensor \"%s\": data_offsets: expected %zu bytes for its shape and type, got %zu", e->file,
                       e->label.text, bits / 8, t->bytes);
    t->data = base + from;
    return RF_OK;
}

static rf_status read_entry(const struct entry *e, const json_t *value, const unsigned char *base, size_t data_size,
                            rf_weight *t)
{
    if (!json_is_object(value)) return refuse(e, RF_EDATA, "its entry is not an object", 0);
    if (json_object_size(value) != 3)
        return refuse(e, RF_EDATA, "keys other than dtype, shape and data_offsets", (long long)json_object_size(value));
    const json_t *type = json_object_get(value, "dtype");
    if (!json_is_string(type)) return refuse(e, RF_EDATA, "\"dtype\" is missing or not a string", 0);
    const rf__dtype *d = rf__dtype_of(json_string_value(type));
    if (!d)
        return rf_fail(e->why, RF_EUNSUPPORTED,
                       "%s: tensor \"%s\": dtype: expected a data type of safetensors, got \"%s\"", e->file,
                       e->label.text, rf__printable(json_string_value(type)).text);
    t->dtype = d->name;
    t->type = d->type;
    t->readable = d->readable;
    const rf_status s = read_shape(e, json_object_get(value, "shape"), t);
    return s ? s : read_offsets(e, json_object_get(value, "data_offsets"), d, base, data_size, t);
}

static rf_status read_metadata(const char *file, const json_t *value, rf_error *why)
{
    const char *key;
    json_t *text;
    if (!json_is_object(value))
        return rf_fail(why, RF_EDATA, "%s: __metadata__: expected an object, got %s", file, rf__json_shown(value).text);
    json_object_foreach((json_t *)(uintptr_t)value, key, text)
        if (!json_is_string(text))
            return rf_fail(why, RF_EDATA, "%s: __metadata__ \"%s\": expected a string, got %s", file,
                           rf__printable(key).text, rf__json_shown(text).text);
    return RF_OK;
}

static int by_offset(const void *a, const void *b)
{
    const rf_weight *x = a, *y = b;
    if (x->data != y->data) return (uintptr_t)x->data < (uintptr_t)y->data ? -1 : 1;
    return x->bytes < y->bytes ? -1 : x->bytes > y->bytes;
}

/* In the order of their data, each tensor must begin where the previous one ended, and the last must end with the file.
 * An empty tensor may be between two others, but not inside one. */
static rf_status tile(const char *file, rf__header *h, const unsigned char *base, size_t data_size, rf_error *why)
{
    size_t at = 0;
    qsort(h->tensor, h->count, sizeof *h->tensor, by_offset);
    for (size_t i = 0; i < h->count; i++) {
        const rf_weight *t = &h->tensor[i];
        const size_t from = (size_t)((const unsigned char *)t->data - base);
        if (from != at)
            return rf_fail(why, RF_EDATA, "%s: tensor \"%s\": %s: expected its data at byte %zu, got byte %zu", file,
                           rf__printable(t->name).text, from < at ? "overlaps another" : "a gap before it", at, from);
        at += t->bytes;
    }
    if (at != data_size)
        return rf_fail(why, RF_EDATA, "%s: expected the end of the file after the last tensor, got %zu more bytes",
                       file, data_size - at);
    return RF_OK;
}

static rf_status read_entries(const rf_ctx *ctx, json_t *root, const unsigned char *base, size_t data_size,
                              const char *file, rf__header *h, rf_error *why)
{
    const char *key;
    json_t *value;
    size_t letters = 0, n = 0;
    json_object_foreach(root, key, value)
        if (strcmp(key, "__metadata__")) {
            letters += strlen(key) + 1;
            n++;
        }
        if (n > RF__MAX_TENSORS)
            return rf_fail(why, RF_EDATA, "%s: expected at most %d tensors, got %zu", file, RF__MAX_TENSORS, n);
        h->tensor = rf__calloc(ctx, n ? n : 1, sizeof *h->tensor);
        h->names = rf__alloc(ctx, letters + 1);
        if (!h->tensor || !h->names) return rf_fail(why, RF_ENOMEM, "%s: out of memory for %zu tensors", file, n);

        char *at = h->names;
        json_object_foreach(root, key, value)
        {
            rf_status s;
            if (!strcmp(key, "__metadata__")) {
                if ((s = read_metadata(file, value, why))) return s;
                h->metadata = json_incref(value);
                continue;
            }
            const struct entry e = {file, rf__printable(key), why};
            rf_weight *t = &h->tensor[h->count];
            if ((s = read_entry(&e, value, base, data_size, t))) return s;
            const size_t size = strlen(key) + 1;
            t->name = memcpy(at, key, size);
            at += size;
            h->count++;
    }
    return tile(file, h, base, data_size, why);
}

static uint64_t little_endian(const unsigned char *p)
{
    uint64_t x = 0;
    for (int i = 7; i >= 0; i--) x = x << 8 | p[i];
    return x;
}

rf_status rf__header_read(const rf_ctx *ctx, const unsigned char *data, size_t size, const char *name, rf__header *out,
                          rf_error *why)
{
    rf_error local = {0};
    if (!why) why = &local;
    *out = (rf__header){0};
    if (size < 8)
        return rf_fail(why, RF_EDATA, "%s: not a safetensors file: expected at least 8 bytes, got %zu", name, size);
    const uint64_t n = little_endian(data);
    if (!n || n > RF__MAX_HEADER)
        return rf_fail(why, RF_EDATA, "%s: not a safetensors file: header length: expected 1 to %d, got %llu", name,
                       RF__MAX_HEADER, (unsigned long long)n);
    if (n > size - 8)
        return rf_fail(why, RF_EDATA, "%s: header length: expected at most the %zu bytes of the file, got %llu", name,
                       size, (unsigned long long)n);
    if (data[8] != '{')
        return rf_fail(why, RF_EDATA, "%s: not a safetensors file: header: expected { at its start, got another byte",
                       name);

    json_t *root = rf__json_parse((const char *)data + 8, (size_t)n, 0, name, why);
    if (!root) return why->code;
    const rf_status s = read_entries(ctx, root, data + 8 + n, size - 8 - (size_t)n, name, out, why);
    json_decref(root);
    if (s) rf__header_clear(ctx, out);
    return s;
}

void rf__header_clear(const rf_ctx *ctx, rf__header *h)
{
    rf__free(ctx, h->tensor);
    rf__free(ctx, h->names);
    rf__free(ctx, h->stride);
    rf__free(ctx, h->crc);
    json_decref(h->metadata);
    *h = (rf__header){0};
}
