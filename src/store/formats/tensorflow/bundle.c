/* bundle.c — the variables of a checkpoint: messages of Protocol Buffers in a sorted table.
 *
 *     ""       BundleHeaderProto   1: number of shards, 2: byte order (0: little)
 *     name     BundleEntryProto    1: type, 2: shape {2: dimension {1: size}, 3: unknown rank}, 3: shard, 4: offset,
 *                                  5: size, 6: checksum (32 bits), 7: slices, of a variable in parts
 *
 * tensorflow/core/protobuf/tensor_bundle.proto, tensorflow/core/framework/types.proto. */
#include <stdlib.h>

#include "base/protobuf.h"
#include "store/formats/tensorflow/tensorflow.h"

/* Types by their number in types.proto. */
static const struct { uint64_t number; const char *name; } types[] = {
    {1, "F32"}, {2, "F64"}, {3, "I32"}, {4, "U8"},   {5, "I16"},  {6, "I8"},
    {9, "I64"}, {10, "BOOL"}, {14, "BF16"}, {17, "U16"}, {19, "F16"}, {22, "U32"}, {23, "U64"},
};

typedef struct reading { rf__bundle *b; const char *file; bool header; } reading;

/* ---- Protocol Buffers ---- */

/* Calls `one` for each field; false: the message is malformed, or `one` returned false. */
static bool each_field(rf__bytes message, bool (*one)(void *to, const rf__field *f), void *to)
{
    rf__wire w = {message.at, message.size, 0};
    rf__field f;
    const char *fault;
    while (rf__wire_next(&w, &f, &fault))
        if (!one(to, &f)) return false;
    return !fault;
}

/* ---- entries ---- */

static bool dimension(void *to, const rf__field *f)
{
    if (f->number == 1) *(uint64_t *)to = f->value;
    return true;
}

static bool shape(void *to, const rf__field *f)
{
    rf__variable *v = to;
    uint64_t size = 0;
    if (f->number == 3 && f->value) return false;                                            /* unknown rank */
    if (f->number != 2) return true;
    const bool read = v->rank < RF_MAX_RANK && each_field((rf__bytes){f->data, f->size}, dimension, &size);
    if (!read || size > INT64_MAX) return false;
    v->dim[v->rank++] = (int64_t)size;
    return true;
}

static bool entry(void *to, const rf__field *f)
{
    rf__variable *v = to;
    switch (f->number) {
    case 1:
        for (size_t i = 0; i < RF_COUNT(types); i++)
            if (types[i].number == f->value) v->dtype = rf__dtype_of(types[i].name);
        return true;
    case 2: return each_field((rf__bytes){f->data, f->size}, shape, v);
    case 3: return v->shard = f->value, true;
    case 4: return v->offset = f->value, true;
    case 5: return v->size = f->value, true;
    case 6: return v->crc = (uint32_t)f->value, true;
    case 7: return v->sliced = true;
    default: return true;
    }
}

typedef struct header { uint64_t shards, big; } header;

static bool header_field(void *to, const rf__field *f)
{
    header *h = to;
    if (f->number == 1) h->shards = f->value;
    if (f->number == 2) h->big = f->value;
    return true;
}

static rf_status read_header(reading *r, rf__bytes value, rf_error *why)
{
    header h = {0};
    r->header = true;
    if (!each_field(value, header_field, &h) || !h.shards || h.shards > RF__MAX_SHARDS)
        return rf_fail(why, RF_EDATA, "%s: header: expected 1 to %d shards, got another number or no message", r->file,
                       RF__MAX_SHARDS);
    if (h.big)
        return rf_fail(why, RF_EUNSUPPORTED, "%s: byte order: expected little-endian, got another", r->file);
    r->b->shards = h.shards;
    return RF_OK;
}

/* Names are stored one after another; pointers to them are set when all names have been read. */
static rf_status keep_name(reading *r, rf__bytes key, rf_error *why)
{
    rf__bundle *b = r->b;
    if (!rf__grow(b->ctx, &b->names, &b->space, b->bytes + key.size + 1, 1) ||
        !rf__grow(b->ctx, &b->variable, &b->capacity, b->count + 1, sizeof *b->variable))
        return rf_fail(why, RF_ENOMEM, "%s: out of memory for %zu variables", r->file, b->count);
    memcpy(b->names + b->bytes, key.at, key.size);
    b->names[b->bytes + key.size] = 0;
    b->bytes += key.size + 1;
    return RF_OK;
}

static rf_status read_entry(void *user, rf__bytes key, rf__bytes value, rf_error *why)
{
    reading *r = user;
    rf__bundle *b = r->b;
    if (!key.size) return read_header(r, value, why);
    if (!r->header) return rf_fail(why, RF_EDATA, "%s: expected a header before the variables, got none", r->file);
    if (b->count == RF__MAX_TENSORS)
        return rf_fail(why, RF_EDATA, "%s: expected at most %d variables, got more", r->file, RF__MAX_TENSORS);
    for (size_t i = 0; i < key.size; i++)
        if (key.at[i] <= ' ' || key.at[i] >= 127)
            return rf_fail(why, RF_EDATA, "%s: variable %zu: expected a name in ASCII, got byte 0x%02X", r->file,
                           b->count + 1, key.at[i]);
    const rf_status status = keep_name(r, key, why);
    if (status) return status;
    const char *name = b->names + b->bytes - key.size - 1;
    rf__variable *v = &b->variable[b->count++];
    *v = (rf__variable){0};
    if (!each_field(value, entry, v))
        return rf_fail(why, RF_EDATA, "%s: variable \"%s\": expected its type, shape and place, got a damaged message",
                       r->file, rf__printable(name).text);
    if (v->shard >= b->shards)
        return rf_fail(why, RF_EDATA, "%s: variable \"%s\": shard: expected a number below %llu, got %llu", r->file,
                       rf__printable(name).text, (unsigned long long)b->shards, (unsigned long long)v->shard);
    return RF_OK;
}

rf_status rf__bundle_parse(const rf_ctx *ctx, rf__bytes index, const char *file, rf__bundle *out, rf_error *why)
{
    *out = (rf__bundle){.ctx = ctx};
    reading r = {out, file, false};
    rf_status status = rf__table_each(ctx, index.at, index.size, file, read_entry, &r, why);
    if (!status && !r.header) status = rf_fail(why, RF_EDATA, "%s: expected a header, got an empty index", file);
    const char *name = out->names;
    for (size_t i = 0; i < out->count; i++, name += strlen(name) + 1) out->variable[i].name = name;
    return status;
}

rf_status rf__bundle_read(const rf_ctx *ctx, const char *index, rf__bundle *out, rf_error *why)
{
    rf_map map;
    *out = (rf__bundle){0};
    rf_status status = rf__map_open(ctx, index, &map, why);
    if (status) return status;
    status = rf__bundle_parse(ctx, (rf__bytes){map.data, map.size}, index, out, why);
    rf__map_close(ctx, &map);
    return status;
}

void rf__bundle_clear(rf__bundle *b)
{
    if (!b->ctx) return;
    if (b->variable) rf__free(b->ctx, b->variable);
    if (b->names) rf__free(b->ctx, b->names);
    *b = (rf__bundle){0};
}
