/* torch_zip.c — the zip of torch.save, by libzip: which entries there are, and where each lies in the mapped file.
 *
 * libzip reads through a source of ours, which sees where: the first byte that is asked of an entry stands at the
 * beginning of its data.  So nothing is copied, nor unpacked: torch.save compresses nothing, and what is compressed is
 * refused. */
#include <stdio.h>
#include <stdlib.h>

#include "base/json.h"
#include "store/torch.h"

bool rf__zip_is(const unsigned char *data, size_t size)
{
    return size >= 4 && (!memcmp(data, "PK\3\4", 4) || !memcmp(data, "PK\5\6", 4)) && !(size > 8 && data[8] == '{');
}

#ifdef RF_ZIP
#include <zip.h>

enum {
    MAX_LIST = 16 << 20, /* bytes that libzip may read for the list of entries: 65,536 take some 6 MB          */
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
    size_t size, at, last, read; /* of the source: last is where the last reading began                        */
    zip_error_t error;
    zip_t *zip;
    struct entry *entry;    /* by name                                                                    */
    size_t entries, folder; /* folder: letters of the name in front of data.pkl, with its slash           */
};

/* ---- the source -------------------------------------------------------------------------------------------------- */

static zip_int64_t source(void *user, void *data, zip_uint64_t size, zip_source_cmd_t command)
{
    struct rf__zip *z = user;
    zip_int64_t to;
    size_t n;
    switch (command) {
    case ZIP_SOURCE_SUPPORTS:
        return zip_source_make_command_bitmap(ZIP_SOURCE_OPEN, ZIP_SOURCE_READ, ZIP_SOURCE_CLOSE, ZIP_SOURCE_STAT,
                                              ZIP_SOURCE_ERROR, ZIP_SOURCE_FREE, ZIP_SOURCE_SEEK, ZIP_SOURCE_TELL,
                                              ZIP_SOURCE_SUPPORTS, -1);
    case ZIP_SOURCE_OPEN: z->at = 0; return 0;
    case ZIP_SOURCE_READ:
        n = size < z->size - z->at ? (size_t)size : z->size - z->at;
        if (n > MAX_LIST - z->read) {
            zip_error_set(&z->error, ZIP_ER_MEMORY, 0);
            return -1;
        }
        memcpy(data, z->data + z->at, n);
        z->read += n;
        z->last = z->at;
        z->at += n;
        return (zip_int64_t)n;
    case ZIP_SOURCE_STAT:
        zip_stat_init(data);
        ((zip_stat_t *)data)->size = z->size;
        ((zip_stat_t *)data)->valid = ZIP_STAT_SIZE;
        return sizeof(zip_stat_t);
    case ZIP_SOURCE_ERROR: return zip_error_to_data(&z->error, data, size);
    case ZIP_SOURCE_SEEK:
        to = zip_source_seek_compute_offset(z->at, z->size, data, size, &z->error);
        if (to < 0) return -1;
        z->at = (size_t)to;
        return 0;
    case ZIP_SOURCE_TELL: return (zip_int64_t)z->at;
    case ZIP_SOURCE_CLOSE:
    case ZIP_SOURCE_FREE: return 0;
    default: zip_error_set(&z->error, ZIP_ER_OPNOTSUPP, 0); return -1;
    }
}

/* ---- entries ----------------------------------------------------------------------------------------------------- */

static rf_status refuse(const struct rf__zip *z, const char *name, const char *what, rf_error *why)
{
    return rf_fail(why, RF_EDATA, "%s: refused: the zip's entry \"%s\" %s", z->file, rf__printable(name).text, what);
}

static bool escapes(const char *name)
{
    return *name == '/' || strchr(name, '\\') || !strncmp(name, "../", 3) || strstr(name, "/../");
}

/* Where the data of an entry begins: its first byte is asked for. */
static rf_status find_data(struct rf__zip *z, zip_uint64_t i, struct entry *e, rf_error *why)
{
    unsigned char first = 0;
    e->data = z->data;
    if (!e->size) return RF_OK;
    z->read = 0;
    zip_file_t *f = zip_fopen_index(z->zip, i, ZIP_FL_COMPRESSED);
    const bool there = f && zip_fread(f, &first, 1) == 1;
    if (f) zip_fclose(f);
    if (!there || z->last >= z->size || z->data[z->last] != first || e->size > z->size - z->last)
        return refuse(z, e->name, "is not where the list of entries says", why);
    e->data += z->last;
    return RF_OK;
}

static rf_status look(struct rf__zip *z, zip_uint64_t i, rf_error *why)
{
    zip_stat_t st;
    if (zip_stat_index(z->zip, i, ZIP_FL_ENC_RAW, &st) || !(st.valid & ZIP_STAT_NAME) || !(st.valid & ZIP_STAT_SIZE))
        return rf_fail(why, RF_EDATA, "%s: refused: the zip's entry %llu cannot be read", z->file,
                       (unsigned long long)i);
    struct entry *e = &z->entry[z->entries];
    *e = (struct entry){.name = st.name, .size = (size_t)st.size};
    if (escapes(e->name)) return refuse(z, e->name, "names another folder", why);
    if (st.encryption_method != ZIP_EM_NONE) return refuse(z, e->name, "is encrypted", why);
    if (st.comp_method != ZIP_CM_STORE) return refuse(z, e->name, "is compressed, which torch.save does not do", why);
    if (st.comp_size != st.size) return refuse(z, e->name, "has two sizes", why);
    z->entries++;
    return find_data(z, i, e, why);
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

static rf_status open_list(struct rf__zip *z, rf_error *why)
{
    zip_error_t error;
    zip_error_init(&error);
    zip_error_init(&z->error);
    zip_source_t *s = zip_source_function_create(source, z, &error);
    if (s && !(z->zip = zip_open_from_source(s, ZIP_RDONLY, &error))) zip_source_free(s);
    rf_status status = RF_OK;
    if (!s || (!z->zip && zip_error_code_zip(&error) == ZIP_ER_MEMORY && z->read < MAX_LIST / 2))
        status = rf_fail(why, RF_ENOMEM, "%s: out of memory for the zip", z->file);
    else if (!z->zip)
        status = rf_fail(why, RF_EDATA, "%s: refused: expected a complete zip, got a damaged one: %s", z->file,
                         zip_error_strerror(&error));
    zip_error_fini(&error);
    return status;
}

static rf_status list_entries(struct rf__zip *z, rf_error *why)
{
    const zip_int64_t n = zip_get_num_entries(z->zip, 0);
    if (n < 0 || n > MAX_ENTRIES)
        return rf_fail(why, RF_EDATA, "%s: refused: zip: expected at most %d entries, got %lld", z->file, MAX_ENTRIES,
                       (long long)n);
    z->entry = rf__calloc(z->ctx, n ? (size_t)n : 1, sizeof *z->entry);
    if (!z->entry) return rf_fail(why, RF_ENOMEM, "%s: out of memory for %lld entries", z->file, (long long)n);
    for (zip_int64_t i = 0; i < n; i++) {
        const rf_status status = look(z, (zip_uint64_t)i, why);
        if (status) return status;
    }
    return check_entries(z, why);
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
    rf_status status = open_list(z, why);
    if (!status) status = list_entries(z, why);
    if (status) rf__zip_close(z);
    else *out = z;
    return status;
}

void rf__zip_close(rf__zip *z)
{
    if (!z) return;
    if (z->zip) zip_discard(z->zip);
    zip_error_fini(&z->error);
    rf__free(z->ctx, z->entry);
    rf__free(z->ctx, z);
}

/* ---- what the entries are ---------------------------------------------------------------------------------------- */

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
        if (!e) return refuse(z, path, "is missing, a tensor lies in it", why);
        if (e->size != one->bytes)
            return rf_fail(why, RF_EDATA,
                           "%s: refused: the zip's entry \"%s\": expected the %zu bytes of its tensors, got %zu",
                           z->file, rf__printable(path).text, one->bytes, e->size);
        one->data = e->data;
    }
    return RF_OK;
}

#else

static rf_status unavailable(const char *name, rf_error *why)
{
    return rf_fail(why, RF_EUNSUPPORTED,
                   "%s: zip of torch.save: expected a build with libzip, got one without; convert the file to "
                   "safetensors", name);
}

rf_status rf__zip_open(const rf_ctx *ctx, const unsigned char *data, size_t size, const char *name, rf__zip **out,
                       rf_error *why)
{
    (void)ctx, (void)data, (void)size, (void)out;
    return unavailable(name, why);
}

rf_status rf__zip_pickle(const rf__zip *z, const unsigned char **pickle, size_t *size, rf_error *why)
{
    (void)z, (void)pickle, (void)size;
    return unavailable("zip", why);
}

rf_status rf__zip_locate(const rf__zip *z, rf__storages *s, rf_error *why)
{
    (void)z, (void)s;
    return unavailable("zip", why);
}

void rf__zip_close(rf__zip *z) { (void)z; }

#endif
