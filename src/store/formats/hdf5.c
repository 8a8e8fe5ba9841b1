/* hdf5.c — the arrays of an HDF5 file as h5py and Keras write it by default, under transformers' names; nothing is
 * copied.
 *
 *     superblock 0   signature, sizes of addresses (8), the root group
 *     group          object header -> message 17: a tree of names (TREE, SNOD: 40 bytes for each) and a heap of texts
 *     array          object header -> message 1: shape, 3: type, 8: where its bytes are, in one piece
 *
 * HDF5 File Format Specification 1.1. Newer superblocks and groups, arrays in chunks and links are refused by name.
 * The file is not trusted: every address and size is compared with the size of the file before it is used. The number
 * of objects, the depth of groups and the length of names are limited, so that reading always ends. */
#include <stdio.h>
#include <stdlib.h>

#include "base/bytes.h"
#include "store/store.h"

enum { ENTRY = 40, PATH = 512, DEPTH = 16, VISITS = 1 << 18, PIECES = 64 };
enum { DATASPACE = 1, LINK_INFO = 2, DATATYPE = 3, LINK = 6, LAYOUT = 8, FILTERS = 11, CONTINUATION = 16, TABLE = 17 };
static const uint64_t NOWHERE = UINT64_MAX;
static const unsigned char signature[8] = {0x89, 'H', 'D', 'F', '\r', '\n', 0x1A, '\n'};

typedef struct reading {
    const rf_ctx *ctx;
    const unsigned char *data;
    size_t size;
    const char *file;
    rf_error *why;
    rf__header *out;
    size_t capacity, letters, space, strides;
    int visits;                         /* nodes and objects that are still to be looked at                           */
    char path[PATH];                    /* of the object that is read                                                 */
} reading;

/* The contents of an object's messages. */
typedef struct object {
    uint64_t tree, heap;                /* of a group                                                                 */
    bool group, space, type, layout;
    int rank;
    int64_t dim[RF_MAX_RANK];
    const rf__dtype *dtype;             /* NULL: a type that no tensor has                                            */
    uint64_t width, address, bytes;
} object;

bool rf__hdf5_is(const unsigned char *data, size_t size)
{
    return size >= sizeof signature && !memcmp(data, signature, sizeof signature);
}

static uint64_t number(const unsigned char *p, int bytes)
{
    uint64_t x = 0;
    while (bytes--) x = x << 8 | p[bytes];
    return x;
}

static rf_status refuse(const reading *r, rf_status code, const char *expected, const char *got)
{
    return rf_fail(r->why, code, "%s: \"%s\": expected %s, got %s", r->file, rf__printable(r->path).text, expected,
                   got);
}

/* `bytes` at an address, or NULL with a message. */
static const unsigned char *at(const reading *r, uint64_t address, uint64_t bytes, const char *what)
{
    if (address <= r->size && bytes <= r->size - address) return r->data + address;
    rf_fail(r->why, RF_EDATA, "%s: \"%s\": %s: expected %llu bytes at byte %llu, got a file of %zu", r->file,
            rf__printable(r->path).text, what, (unsigned long long)bytes, (unsigned long long)address, r->size);
    return NULL;
}

static rf_status visit(reading *r)
{
    if (r->visits-- > 0) return RF_OK;
    return rf_fail(r->why, RF_EDATA, "%s: expected at most %d groups and arrays, got more, or one that is its own part",
                   r->file, (int)VISITS);
}

/* ---- messages of an object --------------------------------------------------------------------------------------- */

static rf_status read_space(const reading *r, object *o, const unsigned char *m, size_t size)
{
    const int version = size ? m[0] : 0, rank = size > 1 ? m[1] : 0;
    const size_t first = version == 1 ? 8 : 4;
    if (version != 1 && version != 2) return refuse(r, RF_EUNSUPPORTED, "a shape of version 1 or 2", "another one");
    if (rank > RF_MAX_RANK || size < first + 8 * (size_t)rank)
        return refuse(r, RF_EDATA, "a shape of at most 8 dimensions", "another one");
    o->space = true;
    o->rank = rank;
    for (int d = 0; d < rank; d++) {
        const uint64_t n = number(m + first + 8 * d, 8);
        if (n > INT64_MAX) return refuse(r, RF_EDATA, "dimensions below 2^63", "a larger one");
        o->dim[d] = (int64_t)n;
    }
    return RF_OK;
}

/* Floats of IEEE 754, little-endian: where exponent and mantissa are, and the exponent's bias. */
static const struct { const char *name; uint64_t width; unsigned char form[6]; uint64_t bias; } floats[] = {
    {"F16", 2, {10, 5, 0, 10}, 15}, {"F32", 4, {23, 8, 0, 23}, 127}, {"F64", 8, {52, 11, 0, 52}, 1023},
};
static const char *const wholes[2][4] = {{"U8", "U16", "U32", "U64"}, {"I8", "I16", "I32", "I64"}};

static rf_status read_type(const reading *r, object *o, const unsigned char *m, size_t size)
{
    if (size < 8) return refuse(r, RF_EDATA, "a type of at least 8 bytes", "a shorter one");
    const int class = m[0] & 15;
    const bool little = !(m[1] & 1), is_signed = m[1] & 8;
    o->type = true;
    o->dtype = NULL;
    o->width = number(m + 4, 4);
    for (size_t i = 0; class == 1 && little && size >= 20 && i < RF_COUNT(floats); i++)
        if (o->width == floats[i].width && !memcmp(m + 12, floats[i].form, 4) && number(m + 16, 4) == floats[i].bias)
            o->dtype = rf__dtype_of(floats[i].name);
    for (int i = 0; class == 0 && little && i < 4; i++)
        if (o->width == 1u << i) o->dtype = rf__dtype_of(wholes[is_signed][i]);
    return RF_OK;
}

static rf_status read_layout(const reading *r, object *o, const unsigned char *m, size_t size)
{
    if (size < 2 || (m[0] != 3 && m[0] != 4))
        return refuse(r, RF_EUNSUPPORTED, "a layout of version 3 or 4", "another one");
    if (m[1] == 2)
        return refuse(r, RF_EUNSUPPORTED, "an array in one piece", "one in chunks; save it without compression");
    if (m[1] != 1 || size < 18) return refuse(r, RF_EUNSUPPORTED, "an array in one piece", "another layout");
    o->layout = true;
    o->address = number(m + 2, 8);
    o->bytes = number(m + 10, 8);
    return RF_OK;
}

/* A range of messages in the file. */
typedef struct piece { uint64_t address, bytes; } piece;

static rf_status read_message(const reading *r, object *o, int type, const unsigned char *m, size_t size, piece *more,
                              int *pieces)
{
    if ((type == DATASPACE && o->space) || (type == DATATYPE && o->type) || (type == LAYOUT && o->layout))
        return refuse(r, RF_EDATA, "one shape, one type and one place of an array", "two");
    switch (type) {
    case DATASPACE: return read_space(r, o, m, size);
    case DATATYPE: return read_type(r, o, m, size);
    case LAYOUT: return read_layout(r, o, m, size);
    case FILTERS: return refuse(r, RF_EUNSUPPORTED, "an array without filters", "a compressed one");
    case LINK_INFO:
    case LINK: return refuse(r, RF_EUNSUPPORTED, "groups as h5py writes them by default", "those of libver latest");
    case TABLE:
        if (size < 16) return refuse(r, RF_EDATA, "a table of names", "less than its 16 bytes");
        o->group = true;
        o->tree = number(m, 8);
        o->heap = number(m + 8, 8);
        return RF_OK;
    case CONTINUATION:
        if (size < 16 || *pieces == PIECES) return refuse(r, RF_EDATA, "at most 64 pieces of an object", "more");
        more[(*pieces)++] = (piece){number(m, 8), number(m + 8, 8)};
        return RF_OK;
    default: return RF_OK;
    }
}

static rf_status read_object(reading *r, uint64_t address, object *o)
{
    piece all[PIECES];
    int pieces = 1;
    *o = (object){0};
    const unsigned char *h = at(r, address, 16, "an object");
    if (!h) return RF_EDATA;
    if (h[0] != 1) return refuse(r, RF_EUNSUPPORTED, "an object header of version 1", "another one (libver latest)");
    all[0] = (piece){address + 16, number(h + 8, 4)};
    for (int i = 0; i < pieces; i++) {
        const unsigned char *m = at(r, all[i].address, all[i].bytes, "messages of an object");
        if (!m) return RF_EDATA;
        for (uint64_t left = all[i].bytes, used; left >= 8; left -= used, m += used) {
            const uint64_t size = number(m + 2, 2);
            used = 8 + size;
            if (used > left) return refuse(r, RF_EDATA, "a message within its object", "one that is longer");
            const rf_status status = read_message(r, o, (int)number(m, 2), m + 8, (size_t)size, all, &pieces);
            if (status) return status;
        }
    }
    return RF_OK;
}

/* ---- names of transformers --------------------------------------------------------------------------------------- */

/* The last part of a name in Keras. */
static const struct { const char *is, *now; bool matrix; } parts[] = {
    {"kernel", "weight", true}, {"gamma", "weight", false}, {"embeddings", "weight", false}, {"beta", "bias", false},
};

/* `layer/model_scope/a/b___c/d_._0/kernel:0` -> `a.c.d.0.weight`, as transformers' own loader has it. */
static bool rename_to(const char *path, char *out, size_t size)
{
    const char *p = path;
    size_t n = 0;
    bool matrix = false;
    for (int skip = 0; skip < 2; skip++) {
        const char *next = strchr(p, '/');
        if (!next) break;
        p = next + 1;
    }
    while (*p) {
        char part[PATH];
        const char *end = strchr(p, '/'), *mark;
        snprintf(part, sizeof part, "%.*s", end ? (int)(end - p) : (int)strlen(p), p);
        p = end ? end + 1 : p + strlen(p);
        if (!end && rf__ends_with(part, ":0")) part[strlen(part) - 2] = 0;
        char *is = (mark = strstr(part, "___")) ? part + (mark - part) + 3 : part;
        for (char *dot = strstr(is, "_._"); dot; dot = strstr(is, "_._")) {
            *dot = '.';
            memmove(dot + 1, dot + 3, strlen(dot + 3) + 1);
        }
        const char *now = is;
        for (size_t i = 0; !end && i < RF_COUNT(parts); i++)
            if (!strcmp(is, parts[i].is)) now = parts[i].now, matrix = parts[i].matrix;
        const int wrote = snprintf(out + n, size - n, "%s%s", n ? "." : "", now);
        n += wrote > 0 ? (size_t)wrote : 0;
        if (n >= size) n = size - 1;
    }
    return matrix;
}

/* ---- arrays ------------------------------------------------------------------------------------------------------ */

static rf_status check_bytes(const reading *r, const object *o, size_t *count)
{
    size_t bytes;
    *count = 1;
    for (int d = 0; d < o->rank; d++)
        if (!rf__checked_mul(*count, (size_t)o->dim[d], count))
            return refuse(r, RF_EDATA, "a shape of at most 2^64 elements", "more");
    if (!rf__checked_mul(*count, (size_t)o->width, &bytes) || bytes != o->bytes)
        return rf_fail(r->why, RF_EDATA, "%s: \"%s\": expected %zu elements of %llu bytes, got %llu bytes", r->file,
                       rf__printable(r->path).text, *count, (unsigned long long)o->width, (unsigned long long)o->bytes);
    if (*count && o->address == NOWHERE)
        return refuse(r, RF_EDATA, "an array with numbers", "one that was never written");
    return !*count || at(r, o->address, o->bytes, "an array") ? RF_OK : RF_EDATA;
}

/* Names are stored one after another and move while the list grows; pointers to them are set at its end. */
static rf_status add_array(reading *r, const object *o)
{
    size_t count;
    char name[PATH];
    rf__header *h = r->out;
    rf_status status = check_bytes(r, o, &count);
    if (status) return status;
    if (h->count == RF__MAX_TENSORS)
        return rf_fail(r->why, RF_EDATA, "%s: expected at most %d arrays, got more", r->file, RF__MAX_TENSORS);
    const bool transpose = rename_to(r->path, name, sizeof name) && o->rank == 2;
    const size_t letters = strlen(name) + 1;
    if (!rf__grow(r->ctx, &h->tensor, &r->capacity, h->count + 1, sizeof *h->tensor) ||
        !rf__grow(r->ctx, &h->names, &r->space, r->letters + letters, 1) ||
        !rf__grow(r->ctx, &h->stride, &r->strides, (h->count + 1) * RF_MAX_RANK, sizeof *h->stride))
        return rf_fail(r->why, RF_ENOMEM, "%s: out of memory for %zu arrays", r->file, h->count + 1);
    memcpy(h->names + r->letters, name, letters);
    r->letters += letters;
    int64_t *stride = h->stride + h->count * RF_MAX_RANK;
    rf_weight *t = &h->tensor[h->count++];
    *t = (rf_weight){.dtype = o->dtype ? o->dtype->name : "another type of HDF5", .rank = o->rank, .count = count,
                     .bytes = (size_t)o->bytes, .data = count ? r->data + o->address : r->data};
    t->readable = o->dtype && o->dtype->readable;
    t->type = t->readable ? o->dtype->type : RF_F32;
    for (int d = 0; d < o->rank; d++) t->dim[d] = o->dim[transpose ? 1 - d : d];
    stride[0] = transpose ? 1 : 0;
    stride[1] = transpose ? o->dim[1] : 0;
    return RF_OK;
}

/* Sets the pointers to names and strides, after the lists have stopped growing. Strides of 0 mean that a tensor has
 * none. */
static void point(rf__header *h)
{
    char *name = h->names;
    for (size_t i = 0; i < h->count; i++, name += strlen(name) + 1) {
        int64_t *stride = h->stride + i * RF_MAX_RANK;
        h->tensor[i].name = name;
        h->tensor[i].stride = stride[0] ? stride : NULL;
    }
}

/* ---- groups ------------------------------------------------------------------------------------------------------ */

static rf_status read_any(reading *r, uint64_t address, int depth);

/* Appends a name of the heap to the path; *length: that of the path without it. */
static rf_status enter(reading *r, uint64_t heap, uint64_t offset, size_t *length)
{
    const unsigned char *h = at(r, heap, 32, "a heap of names");
    *length = strlen(r->path);
    if (!h) return RF_EDATA;
    if (memcmp(h, "HEAP", 4)) return refuse(r, RF_EDATA, "a heap of names", "something else");
    const uint64_t size = number(h + 8, 8), place = number(h + 24, 8);
    const unsigned char *text = at(r, place, size, "names of a group");
    if (!text) return RF_EDATA;
    const unsigned char *end = offset < size ? memchr(text + offset, 0, (size_t)(size - offset)) : NULL;
    if (!end) return refuse(r, RF_EDATA, "names that end in their heap", "one that does not");
    const size_t n = (size_t)(end - text) - (size_t)offset;
    if (!n || *length + n + 2 > sizeof r->path) return refuse(r, RF_EDATA, "names of 1 to 500 bytes", "another one");
    for (size_t i = 0; i < n; i++)
        if (text[offset + i] <= ' ' || text[offset + i] >= 127)
            return refuse(r, RF_EDATA, "names in ASCII", "another one");
    snprintf(r->path + *length, sizeof r->path - *length, "%s%.*s", *length ? "/" : "", (int)n, text + offset);
    return RF_OK;
}

static rf_status read_names(reading *r, uint64_t address, uint64_t heap, int depth)
{
    const unsigned char *s = at(r, address, 8, "a list of names");
    if (!s) return RF_EDATA;
    const uint64_t n = number(s + 6, 2);
    if (memcmp(s, "SNOD", 4)) return refuse(r, RF_EDATA, "a list of names", "something else");
    if (!at(r, address + 8, n * ENTRY, "a list of names")) return RF_EDATA;
    rf_status status = RF_OK;
    for (uint64_t i = 0; i < n && !status; i++) {
        const unsigned char *e = s + 8 + i * ENTRY;
        size_t length;
        status = enter(r, heap, number(e, 8), &length);
        if (!status && number(e + 16, 4) == 2) status = refuse(r, RF_EUNSUPPORTED, "an array or a group", "a link");
        if (!status) status = read_any(r, number(e + 8, 8), depth + 1);
        r->path[length] = 0;
    }
    return status;
}

static rf_status read_tree(reading *r, uint64_t address, uint64_t heap, int depth, int level)
{
    rf_status status = visit(r);
    const unsigned char *t = status ? NULL : at(r, address, 24, "a tree of names");
    if (!t) return status ? status : RF_EDATA;
    const uint64_t n = number(t + 6, 2);
    if (memcmp(t, "TREE", 4) || t[4] != 0) return refuse(r, RF_EDATA, "a tree of names", "something else");
    if (level >= 0 && t[5] != level) return refuse(r, RF_EDATA, "a tree whose levels fall by one", "another one");
    if (!at(r, address + 24, n * 16 + 8, "a tree of names")) return RF_EDATA;
    for (uint64_t i = 0; i < n && !status; i++) {
        const uint64_t child = number(t + 24 + i * 16 + 8, 8);
        status = t[5] ? read_tree(r, child, heap, depth, t[5] - 1) : read_names(r, child, heap, depth);
    }
    return status;
}

static rf_status read_any(reading *r, uint64_t address, int depth)
{
    object o;
    rf_status status = visit(r);
    if (!status && depth > DEPTH) status = refuse(r, RF_EDATA, "groups of at most 16 levels", "more");
    if (!status) status = read_object(r, address, &o);
    if (status) return status;
    if (o.group) return read_tree(r, o.tree, o.heap, depth, -1);
    if (o.space && o.type && o.layout) return add_array(r, &o);
    return refuse(r, RF_EDATA, "a group or an array", "neither");
}

/* ---- a file ------------------------------------------------------------------------------------------------------ */

rf_status rf__hdf5_read(const rf_ctx *ctx, const unsigned char *data, size_t size, const char *name, rf__header *out,
                        rf_error *why)
{
    rf_error local = {0};
    reading r = {.ctx = ctx, .data = data, .size = size, .file = name, .why = why ? why : &local, .out = out,
                 .visits = VISITS};
    *out = (rf__header){0};
    if (size < 96)
        return rf_fail(r.why, RF_EDATA, "%s: expected an HDF5 file of at least 96 bytes, got %zu", name, size);
    if (data[8] != 0)
        return rf_fail(r.why, RF_EUNSUPPORTED, "%s: superblock: expected version 0, which h5py writes by default, got "
                       "%d (libver)", name, (int)data[8]);
    if (data[13] != 8 || data[14] != 8 || number(data + 24, 8))
        return rf_fail(r.why, RF_EUNSUPPORTED, "%s: expected addresses of 8 bytes from the file's first byte on, got "
                       "others", name);
    rf_status status = read_any(&r, number(data + 64, 8), 0);
    if (!status && !out->count) status = rf_fail(r.why, RF_EDATA, "%s: expected arrays, got none", name);
    if (!status) point(out);
    else rf__header_clear(ctx, out);
    return status;
}
