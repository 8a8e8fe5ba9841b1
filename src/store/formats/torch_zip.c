/* torch_zip.c — the zip of torch.save: its entries, and the location of each in the mapped file.
 *
 * Nothing is copied or decompressed: torch.save does not compress, and compressed entries are refused. The comments
 * give the sections of PKWARE's APPNOTE.TXT 6.3.10, which describes the layout.
 *
 *     local header, name, extra, data      for each entry                                        4.3.7
 *     header with size and place, name     for each entry: the list                              4.3.12
 *     [end of the list in 64 bits, its place]                                                    4.3.14, 4.3.15
 *     end: number of entries, size and place of the list                                         4.3.16 */
#include <stdio.h>
#include <stdlib.h>

#include "base/bytes.h"
#include "store/formats/torch.h"

enum {
    LOCAL = 30, LISTED = 46, END = 22, END64 = 56, LOCATOR64 = 20,               /* bytes of the parts, without names */
    MOST_COMMENT = 65535,
    MAX_ENTRIES = RF__MAX_TENSORS + 64
};

struct entry {
    const char *name;
    const unsigned char *data;
    size_t size;
};

struct rf__zip {
    const rf_ctx *ctx;
    const char *file;
    const unsigned char *data;
    size_t size;
    struct entry *entry;                /* by name                                                                    */
    char *names;                        /* of all entries, each terminated by a zero                                  */
    size_t entries, folder;            /* folder: length of the part of the name before data.pkl, including its slash */
};

bool rf__zip_is(const unsigned char *data, size_t size)
{
    return size >= 4 && (!memcmp(data, "PK\3\4", 4) || !memcmp(data, "PK\5\6", 4)) && !(size > 8 && data[8] == '{');
}

static uint64_t little16(const unsigned char *p) { return (uint64_t)p[0] | (uint64_t)p[1] << 8; }
static uint64_t little64(const unsigned char *p) { return rf__little32(p) | (uint64_t)rf__little32(p + 4) << 32; }

static rf_status damaged(const struct rf__zip *z, const char *what, rf_error *why)
{
    return rf_fail(why, RF_EDATA, "%s: refused: expected a complete zip, got a damaged one: %s", z->file, what);
}

static rf_status refuse(const struct rf__zip *z, const char *name, const char *what, rf_error *why)
{
    return rf_fail(why, RF_EDATA, "%s: refused: the zip's entry \"%s\" %s", z->file, rf__printable(name).text, what);
}

static bool escapes(const char *name)
{
    return *name == '/' || strchr(name, '\\') || !strncmp(name, "../", 3) || strstr(name, "/../");
}

/* ---- the list ---------------------------------------------------------------------------------------------------- */

typedef struct list { uint64_t entries, size, at; } list;

/* The 64-bit end record of the list, whose position is stored before the end record at `end`. */
static rf_status find_list64(const struct rf__zip *z, size_t end, list *out, rf_error *why)
{
    if (end < LOCATOR64 || memcmp(z->data + end - LOCATOR64, "PK\6\7", 4))
        return damaged(z, "no end of the list in 64 bits", why);
    const uint64_t at = little64(z->data + end - LOCATOR64 + 8);
    if (at > end - LOCATOR64 || end - LOCATOR64 - at < END64 || memcmp(z->data + at, "PK\6\6", 4))
        return damaged(z, "the end of the list in 64 bits is not where the file says", why);
    const unsigned char *p = z->data + at;
    *out = (list){little64(p + 32), little64(p + 40), little64(p + 48)};
    return RF_OK;
}

/* The end record is the last one whose comment ends with the file. */
static rf_status find_list(const struct rf__zip *z, list *out, rf_error *why)
{
    if (z->size < END) return damaged(z, "no end", why);
    const size_t last = z->size - END, first = last > MOST_COMMENT ? last - MOST_COMMENT : 0;
    size_t at = last + 1;
    for (; at > first; at--)
        if (!memcmp(z->data + at - 1, "PK\5\6", 4) && little16(z->data + at - 1 + 20) == last - (at - 1)) break;
    if (at == first) return damaged(z, "no end", why);
    const unsigned char *p = z->data + --at;
    *out = (list){little16(p + 10), rf__little32(p + 12), rf__little32(p + 16)};
    const bool wide = out->entries == UINT16_MAX || out->size == UINT32_MAX || out->at == UINT32_MAX;
    const rf_status status = wide ? find_list64(z, at, out, why) : RF_OK;
    if (status) return status;
    if (out->at > at || out->size > at - out->at) return damaged(z, "the list is not where the file says", why);
    if (out->entries > out->size / LISTED) return damaged(z, "the list is shorter than its entries", why);
    return RF_OK;
}

/* Sizes and position of an entry, also if the header leaves them to a 64-bit field; 4.5.3. */
typedef struct place { uint64_t size, packed, at; } place;

static bool find_place(const unsigned char *header, size_t name, size_t extra, place *out)
{
    const unsigned char *p = header + LISTED + name, *end = p + extra;
    uint64_t *const field[] = {&out->size, &out->packed, &out->at};
    *out = (place){rf__little32(header + 24), rf__little32(header + 20), rf__little32(header + 42)};
    while (end - p >= 4 && little16(p) != 1) {
        const size_t n = (size_t)little16(p + 2);
        if (n > (size_t)(end - p) - 4) return false;
        p += 4 + n;
    }
    const bool there = end - p >= 4;
    size_t left = there ? (size_t)little16(p + 2) : 0;
    if (there && left > (size_t)(end - p) - 4) return false;
    if (there) p += 4;
    for (int i = 0; i < 3; i++) {
        if (*field[i] != UINT32_MAX) continue;
        if (left < 8) return false;
        *field[i] = little64(p);
        p += 8;
        left -= 8;
    }
    return true;
}

/* ---- entries ----------------------------------------------------------------------------------------------------- */

/* The data follows the entry's own header, which must have the same name. */
static rf_status find_data(const struct rf__zip *z, const place *p, struct entry *e, rf_error *why)
{
    static const char what[] = "is not where the list of entries says";
    const size_t letters = strlen(e->name);
    if (p->at > z->size || z->size - p->at < LOCAL || memcmp(z->data + p->at, "PK\3\4", 4))
        return refuse(z, e->name, what, why);
    const unsigned char *header = z->data + p->at;
    const size_t left = z->size - (size_t)p->at - LOCAL, name = (size_t)little16(header + 26),
                 extra = (size_t)little16(header + 28);
    if (name != letters || name + extra > left || memcmp(header + LOCAL, e->name, letters) ||
        e->size > left - name - extra)
        return refuse(z, e->name, what, why);
    e->data = header + LOCAL + name + extra;
    return RF_OK;
}

/* Reads the entry whose header in the list has `left` bytes to the end of the list; *bytes receives its size. */
static rf_status read_list_entry(struct rf__zip *z, const unsigned char *header, size_t left, char *name,
                                 size_t *bytes, rf_error *why)
{
    if (left < LISTED || memcmp(header, "PK\1\2", 4)) return damaged(z, "an entry of the list", why);
    const size_t letters = (size_t)little16(header + 28), extra = (size_t)little16(header + 30);
    *bytes = LISTED + letters + extra + (size_t)little16(header + 32);
    struct entry *e = &z->entry[z->entries];
    place p;
    if (*bytes > left || !find_place(header, letters, extra, &p)) return damaged(z, "an entry of the list", why);
    memcpy(name, header + LISTED, letters);
    name[letters] = 0;
    *e = (struct entry){.name = name, .size = (size_t)p.size};
    if (strlen(name) != letters || escapes(name)) return refuse(z, name, "names another folder", why);
    if (little16(header + 8) & 1) return refuse(z, name, "is encrypted", why);
    if (little16(header + 10)) return refuse(z, name, "is compressed, which torch.save does not do", why);
    if (p.packed != p.size) return refuse(z, name, "has two sizes", why);
    z->entries++;
    return find_data(z, &p, e, why);
}

static int by_name(const void *a, const void *b)
{
    return strcmp(((const struct entry *)a)->name, ((const struct entry *)b)->name);
}

static int by_place(const void *a, const void *b)
{
    const struct entry *x = a, *y = b;
    return (uintptr_t)x->data < (uintptr_t)y->data ? -1 : (uintptr_t)x->data > (uintptr_t)y->data;
}

static rf_status check_entries(struct rf__zip *z, rf_error *why)
{
    const struct entry *last = NULL;
    qsort(z->entry, z->entries, sizeof *z->entry, by_place);
    for (size_t i = 0; i < z->entries; i++) {
        const struct entry *e = &z->entry[i];
        if (!e->size) continue;
        if (last && e->data < last->data + last->size) return refuse(z, e->name, "overlaps another", why);
        last = e;
    }
    qsort(z->entry, z->entries, sizeof *z->entry, by_name);
    for (size_t i = 1; i < z->entries; i++)
        if (!by_name(&z->entry[i - 1], &z->entry[i])) return refuse(z, z->entry[i].name, "is there twice", why);
    return RF_OK;
}

static const struct entry *find(const struct rf__zip *z, const char *name)
{
    const struct entry asked = {.name = name};
    return z->entries ? bsearch(&asked, z->entry, z->entries, sizeof asked, by_name) : NULL;
}

static rf_status list_entries(struct rf__zip *z, rf_error *why)
{
    list l = {0};
    rf_status status = find_list(z, &l, why);
    if (status) return status;
    if (l.entries > MAX_ENTRIES)
        return rf_fail(why, RF_EDATA, "%s: refused: zip: expected at most %d entries, got %llu", z->file, MAX_ENTRIES,
                       (unsigned long long)l.entries);
    z->entry = rf__calloc(z->ctx, l.entries ? (size_t)l.entries : 1, sizeof *z->entry);
    z->names = rf__alloc(z->ctx, (size_t)l.size + 1);                /* a header is longer than the zero after a name */
    if (!z->entry || !z->names)
        return rf_fail(why, RF_ENOMEM, "%s: out of memory for %llu entries", z->file, (unsigned long long)l.entries);
    const unsigned char *header = z->data + l.at;
    size_t left = (size_t)l.size, bytes = 0;
    char *name = z->names;
    for (uint64_t i = 0; i < l.entries; i++, header += bytes, left -= bytes) {
        status = read_list_entry(z, header, left, name, &bytes, why);
        if (status) break;
        name += strlen(name) + 1;
    }
    return status ? status : check_entries(z, why);
}

rf_status rf__zip_open(const rf_ctx *ctx, const unsigned char *data, size_t size, const char *name, rf__zip **out,
                       rf_error *why)
{
    struct rf__zip *z = rf__calloc(ctx, 1, sizeof *z);
    if (!z) return rf_fail(why, RF_ENOMEM, "%s: out of memory", name);
    z->ctx = ctx;
    z->file = name;
    z->data = data;
    z->size = size;
    const rf_status status = list_entries(z, why);
    if (status) rf__zip_close(z);
    else *out = z;
    return status;
}

void rf__zip_close(rf__zip *z)
{
    if (!z) return;
    rf__free(z->ctx, z->entry);
    rf__free(z->ctx, z->names);
    rf__free(z->ctx, z);
}

/* ---- contents of the entries ------------------------------------------------------------------------------------- */

static rf_status member(const rf__zip *z, char *path, size_t size, const char *name, int letters,
                        const struct entry **out, rf_error *why)
{
    const int n = snprintf(path, size, "%.*s%.*s", (int)z->folder, z->entry[0].name, letters, name);
    if (n < 0 || (size_t)n >= size) return refuse(z, name, "has too long a name", why);
    *out = find(z, path);
    return RF_OK;
}

/* NAME/data.pkl: NAME is the first part of every entry's name. */
rf_status rf__zip_pickle(const rf__zip *z, const unsigned char **pickle, size_t *size, rf_error *why)
{
    static const char data[] = "data.pkl", order[] = "byteorder";
    char path[512];
    const struct entry *e = NULL, *bytes = NULL;
    const char *slash = z->entries ? strchr(z->entry[0].name, '/') : NULL;
    if (slash) ((rf__zip *)(uintptr_t)z)->folder = (size_t)(slash - z->entry[0].name) + 1;
    rf_status status = slash ? member(z, path, sizeof path, data, sizeof data, &e, why) : RF_OK;
    if (!status && slash) status = member(z, path, sizeof path, order, sizeof order, &bytes, why);
    if (status) return status;
    if (!e) return rf_fail(why, RF_EUNSUPPORTED, "%s: expected a zip of torch.save, got one without data.pkl", z->file);
    if (bytes && (bytes->size != 6 || memcmp(bytes->data, "little", 6)))
        return rf_fail(why, RF_EUNSUPPORTED, "%s: byteorder: expected \"little\", got another value", z->file);
    *pickle = e->data;
    *size = e->size;
    return RF_OK;
}

rf_status rf__zip_locate(const rf__zip *z, rf__storages *s, rf_error *why)
{
    char path[512], name[256];
    for (size_t i = 0; i < s->count; i++) {
        rf__storage *one = &s->storage[i];
        const struct entry *e = NULL;
        const int n =
            snprintf(name, sizeof name, "data/%.*s", (int)(one->key_size < 200 ? one->key_size : 200), one->key);
        const rf_status status = member(z, path, sizeof path, name, n, &e, why);
        if (status) return status;
        if (!e) return refuse(z, path, "is missing, although a tensor is stored in it", why);
        if (e->size != one->bytes)
            return rf_fail(why, RF_EDATA,
                           "%s: refused: the zip's entry \"%s\": expected the %zu bytes of its tensors, got %zu",
                           z->file, rf__printable(path).text, one->bytes, e->size);
        one->data = e->data;
    }
    return RF_OK;
}
