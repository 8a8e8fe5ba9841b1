/* torch.c — reads a checkpoint of torch.save: lists its tensors.
 *
 *     zip         NAME/data.pkl: the pickle of {name: tensor}; NAME/data/KEY: one storage each, not compressed
 *     before 1.6  pickles of a magic number, a version, the machine, {name: tensor}, [KEY, ...]; then for each KEY
 *                 the number of elements (64 bits) and the elements
 *
 * A tensor is a storage, an offset, sizes and strides, all in elements. Nothing is copied: the tensors of both formats
 * point into the mapped file, and those that are not in C order keep their strides for rf__weights_read. */
#include <stdlib.h>

#include "store/formats/torch.h"

enum { MAX_NAMES = 32 << 20 };

static const unsigned char magic[] = {0x80, 2,    0x8a, 10,   0x6c, 0xfc, 0x9c, 0x46,
                                      0xf9, 0x20, 0x6a, 0xa8, 0x50, 0x19, '.'};
static const unsigned char version[] = {0x80, 2, 'M', 0xe9, 3, '.'};

struct file {
    const rf_ctx *ctx;
    const unsigned char *data;
    size_t size;
    const char *name;
    rf__pickle pickle;
    rf__storages storages;
    rf_error *why;
};

/* ---- storages ---------------------------------------------------------------------------------------------------- */

static int compare_keys(const char *a, size_t m, const char *b, size_t n)
{
    const int c = memcmp(a, b, m < n ? m : n);
    return c ? c : m < n ? -1 : m > n;
}

static int by_key(const void *a, const void *b)
{
    const rf__storage *x = a, *y = b;
    return compare_keys(x->key, x->key_size, y->key, y->key_size);
}

static rf__storage *find_storage(const rf__storages *s, const char *key, size_t key_size)
{
    const rf__storage asked = {.key = key, .key_size = key_size};
    return s->count ? bsearch(&asked, s->storage, s->count, sizeof asked, by_key) : NULL;
}

/* Lists every storage that the pickle names, once. */
static rf_status list_storages(struct file *f)
{
    const rf__pickle *p = &f->pickle;
    rf__storages *s = &f->storages;
    size_t n = 0, kept = 0;
    for (size_t i = 0; i < p->values; i++) n += p->value[i].kind == RF_PICKLE_STORAGE;
    if (n > RF__MAX_TENSORS)
        return rf_fail(f->why, RF_EDATA, "%s: expected at most %d tensors, got %zu", f->name, RF__MAX_TENSORS, n);
    s->storage = rf__calloc(f->ctx, n ? n : 1, sizeof *s->storage);
    if (!s->storage) return rf_fail(f->why, RF_ENOMEM, "%s: out of memory for %zu storages", f->name, n);
    for (size_t i = 0; i < p->values; i++) {
        const rf__pickle_value *v = &p->value[i];
        if (v->kind != RF_PICKLE_STORAGE) continue;
        const rf__pickle_value *key = &p->value[v->a];
        rf__storage *one = &s->storage[s->count++];
        *one = (rf__storage){.key = (const char *)p->data + key->a, .key_size = key->b};
        one->dtype = rf__dtype_of(rf__pickle_dtype(v));
        if (!rf__checked_mul((size_t)v->n, one->dtype->bits / 8, &one->bytes))
            return rf_fail(f->why, RF_EDATA, "%s: storage: expected fewer than 2^64 bytes, got %lld elements",
                           f->name, (long long)v->n);
    }
    qsort(s->storage, s->count, sizeof *s->storage, by_key);
    for (size_t i = 0; i < s->count; i++) {
        const rf__storage *one = &s->storage[i], *last = kept ? &s->storage[kept - 1] : NULL;
        if (!last || by_key(one, last)) s->storage[kept++] = *one;
        else if (one->dtype != last->dtype || one->bytes != last->bytes)
            return rf_fail(f->why, RF_EDATA,
                           "%s: storage: expected one type and size, got %s of %zu bytes and %s of %zu", f->name,
                           last->dtype->name, last->bytes, one->dtype->name, one->bytes);
    }
    s->count = kept;
    return RF_OK;
}

/* ---- tensors ----------------------------------------------------------------------------------------------------- */

/* A tensor while it is being read. */
struct tensor {
    struct file *file;
    rf__label label;
    rf_weight *to;
    int64_t *stride;
};

static rf_status refuse(const struct tensor *t, const char *what, int64_t value)
{
    return rf_fail(t->file->why, RF_EDATA, "%s: tensor \"%s\": %s (%lld)", t->file->name, t->label.text, what,
                   (long long)value);
}

static rf_status whole_numbers(const struct tensor *t, const rf__pickle_value *tuple, const char *what, int64_t *to)
{
    const rf__pickle *p = &t->file->pickle;
    for (int64_t i = 0; i < tuple->n; i++) {
        const rf__pickle_value *v = &p->value[p->item[tuple->a + (uint32_t)i]];
        if (v->kind != RF_PICKLE_WHOLE || v->n < 0) return refuse(t, what, v->n);
        to[i] = v->n;
    }
    return RF_OK;
}

/* The elements from the first to the last that the strides reach, and whether the strides are those of C order. */
static rf_status measure(const struct tensor *t, size_t *span, bool *plain)
{
    rf_weight *w = t->to;
    size_t expected = 1, step;
    w->count = 1;
    *span = 1;
    *plain = true;
    for (int i = w->rank; i-- > 0;) {
        if (w->dim[i] > 1 && (size_t)t->stride[i] != expected) *plain = false;
        if (!rf__checked_mul(w->count, (size_t)w->dim[i], &w->count))
            return refuse(t, "the product of the dimensions does not fit 64 bits", w->dim[i]);
        expected = w->count;
        if (w->dim[i] < 2) continue;
        if (!rf__checked_mul((size_t)w->dim[i] - 1, (size_t)t->stride[i], &step) || !rf__checked_add(*span, step, span))
            return refuse(t, "the product of a dimension and its stride does not fit 64 bits", t->stride[i]);
    }
    if (!w->count) *span = 0, *plain = true;
    if (*span < w->count)
        return rf_fail(t->file->why, RF_EDATA,
                       "%s: tensor \"%s\": strides: expected %zu addresses, one for each element, got %zu",
                       t->file->name, t->label.text, w->count, *span);
    return RF_OK;
}

static rf_status place(const struct tensor *t, const rf__storage *s, size_t offset)
{
    rf_weight *w = t->to;
    const size_t width = s->dtype->bits / 8, all = s->bytes / width;
    size_t span, end;
    bool plain;
    const rf_status status = measure(t, &span, &plain);
    if (status) return status;
    if (!rf__checked_add(offset, span, &end) || end > all)
        return rf_fail(t->file->why, RF_EDATA,
                       "%s: tensor \"%s\": expected elements within its storage of %zu, got %zu elements from %zu on",
                       t->file->name, t->label.text, all, span, offset);
    w->dtype = s->dtype->name;
    w->type = s->dtype->type;
    w->readable = s->dtype->readable;
    w->bytes = span * width;
    w->data = s->data + offset * width;
    w->stride = plain ? NULL : t->stride;
    return RF_OK;
}

static rf_status read_tensor(const struct tensor *t, const rf__pickle_value *v)
{
    const rf__pickle *p = &t->file->pickle;
    const uint32_t *argument = p->item + p->value[v->a].a;
    const rf__pickle_value *storage = &p->value[argument[0]], *offset = &p->value[argument[1]],
                           *size = &p->value[argument[2]], *stride = &p->value[argument[3]],
                           *key = &p->value[storage->a];
    if (size->n > RF_MAX_RANK) return refuse(t, "the rank is above 8", size->n);
    if (stride->n != size->n) return refuse(t, "another number of strides than of dimensions", stride->n);
    t->to->rank = (int)size->n;
    rf_status status = whole_numbers(t, size, "a dimension is not a whole number >= 0", t->to->dim);
    if (!status) status = whole_numbers(t, stride, "a stride is not a whole number >= 0", t->stride);
    if (!status && offset->n < 0) status = refuse(t, "begins before its storage", offset->n);
    if (status) return status;
    return place(t, find_storage(&t->file->storages, (const char *)p->data + key->a, key->b), (size_t)offset->n);
}

/* A member of the dict: its name is untrusted text, its value must be a tensor. */
static rf_status read_member(struct file *f, const rf__pickle_value *key, const rf__pickle_value *value, rf__header *h,
                             char **at)
{
    if (key->kind != RF_PICKLE_TEXT)
        return rf_fail(f->why, RF_EDATA, "%s: member %zu: name: expected text, got another object", f->name, h->count);
    memcpy(*at, f->pickle.data + key->a, key->b);
    (*at)[key->b] = 0;
    struct tensor t = {.file = f, .label = rf__printable(*at), .to = &h->tensor[h->count]};
    if (strlen(*at) != key->b || !rf__json_takes(*at))
        return rf_fail(f->why, RF_EDATA, "%s: tensor \"%s\": name: expected UTF-8, got other bytes", f->name,
                       t.label.text);
    if (value->kind != RF_PICKLE_TENSOR)
        return rf_fail(f->why, RF_EDATA,
                       "%s: \"%s\": expected a tensor of a state dict, as torch.save(model.state_dict(), ...) writes "
                       "it, got another object", f->name, t.label.text);
    t.stride = h->stride + h->count * RF_MAX_RANK;
    t.to->name = *at;
    *at += key->b + 1;
    h->count++;
    return read_tensor(&t, value);
}

static rf_status read_members(struct file *f, rf__header *h)
{
    const rf__pickle *p = &f->pickle;
    const rf__pickle_value *root = &p->value[p->root];
    if (root->kind != RF_PICKLE_DICT)
        return rf_fail(f->why, RF_EDATA, "%s: expected a dict of tensors, got another object", f->name);
    const size_t n = (size_t)root->n / 2;
    size_t letters = 0;
    if (n > RF__MAX_TENSORS)
        return rf_fail(f->why, RF_EDATA, "%s: expected at most %d tensors, got %zu", f->name, RF__MAX_TENSORS, n);
    for (uint32_t c = root->a; c; c = p->cell[p->cell[c].next].next)
        letters += (size_t)p->value[p->cell[c].value].b + 1;
    if (letters > MAX_NAMES)
        return rf_fail(f->why, RF_EDATA,
                       "%s: expected names of at most %d bytes in all, got %zu", f->name, MAX_NAMES, letters);
    h->tensor = rf__calloc(f->ctx, n ? n : 1, sizeof *h->tensor);
    h->stride = rf__calloc(f->ctx, n ? n : 1, RF_MAX_RANK * sizeof *h->stride);
    h->names = rf__alloc(f->ctx, letters + 1);
    if (!h->tensor || !h->stride || !h->names)
        return rf_fail(f->why, RF_ENOMEM, "%s: out of memory for %zu tensors", f->name, n);
    char *at = h->names;
    rf_status status = RF_OK;
    for (uint32_t c = root->a; c && !status; c = p->cell[p->cell[c].next].next)
        status = read_member(f, &p->value[p->cell[c].value], &p->value[p->cell[p->cell[c].next].value], h, &at);
    return status;
}

/* ---- containers -------------------------------------------------------------------------------------------------- */

static rf_status read_pickle(struct file *f, const unsigned char *pickle, size_t size)
{
    return rf__pickle_read(f->ctx, pickle, size, f->name, (size_t)(pickle - f->data), &f->pickle, f->why);
}

static rf_status read_zip(struct file *f)
{
    rf__zip *z = NULL;
    const unsigned char *pickle = NULL;
    size_t size = 0;
    rf_status status = rf__zip_open(f->ctx, f->data, f->size, f->name, &z, f->why);
    if (!status) status = rf__zip_pickle(z, &pickle, &size, f->why);
    if (!status) status = read_pickle(f, pickle, size);
    if (!status) status = list_storages(f);
    if (!status) status = rf__zip_locate(z, &f->storages, f->why);
    rf__zip_close(z);
    return status;
}

/* Reads a pickle for what it says about the machine, or to skip it. */
static rf_status check_machine(struct file *f, size_t *at)
{
    rf__pickle p;
    rf_status status = rf__pickle_read(f->ctx, f->data + *at, f->size - *at, f->name, *at, &p, f->why);
    const rf__pickle_value *root = status ? NULL : &p.value[p.root];
    bool little = false;
    for (uint32_t c = root && root->kind == RF_PICKLE_DICT ? root->a : 0; c; c = p.cell[p.cell[c].next].next) {
        const rf__pickle_value *v = &p.value[p.cell[p.cell[c].next].value];
        if (rf__pickle_is(&p, p.cell[c].value, "little_endian")) little = v->kind == RF_PICKLE_TRUTH && v->n;
    }
    if (!status && !little)
        status = rf_fail(f->why, RF_EUNSUPPORTED, "%s: byte order: expected little-endian, got another", f->name);
    *at += p.size;
    rf__pickle_clear(f->ctx, &p);
    return status;
}

/* The storages follow each other in the order of the last pickle's list. */
static rf_status locate(struct file *f, size_t at)
{
    rf__pickle keys;
    rf_status status = rf__pickle_read(f->ctx, f->data + at, f->size - at, f->name, at, &keys, f->why);
    const rf__pickle_value *root = status ? NULL : &keys.value[keys.root];
    if (!status && root->kind != RF_PICKLE_LIST)
        status = rf_fail(f->why, RF_EDATA, "%s: expected a list of storages, got another object", f->name);
    at += keys.size;
    for (uint32_t c = status ? 0 : root->a; c && !status; c = keys.cell[c].next) {
        const rf__pickle_value *key = &keys.value[keys.cell[c].value];
        rf__storage *s = key->kind == RF_PICKLE_TEXT
                             ? find_storage(&f->storages, (const char *)keys.data + key->a, key->b)
                             : NULL;
        uint64_t elements = 0;
        if (!s || s->data) {
            status = rf_fail(f->why, RF_EDATA, "%s: list of storages: expected each storage of a tensor once, got an "
                             "unknown or repeated one", f->name);
        } else if (f->size - at < 8 || s->bytes > f->size - at - 8) {
            status = rf_fail(f->why, RF_EDATA,
                             "%s: storage at byte %zu: expected %zu bytes, got the end of the file at byte %zu",
                             f->name, at, s->bytes, f->size);
        } else {
            for (size_t i = 8; i-- > 0;) elements = elements << 8 | f->data[at + i];
            if (elements != s->bytes / (s->dtype->bits / 8))
                status = rf_fail(f->why, RF_EDATA,
                                 "%s: storage at byte %zu: expected %zu elements, as its tensors say, got %llu",
                                 f->name, at, s->bytes / (s->dtype->bits / 8), (unsigned long long)elements);
            s->data = f->data + at + 8;
            at += 8 + s->bytes;
        }
    }
    if (!status && at != f->size)
        status = rf_fail(f->why, RF_EDATA,
                         "%s: expected the end of the file after the last storage, got %zu more bytes", f->name,
                         f->size - at);
    rf__pickle_clear(f->ctx, &keys);
    return status;
}

static rf_status read_old(struct file *f)
{
    size_t at = sizeof magic;
    if (f->size - at < sizeof version || memcmp(f->data + at, version, sizeof version))
        return rf_fail(f->why, RF_EUNSUPPORTED, "%s: old format of torch.save: expected version 1001, got another",
                       f->name);
    at += sizeof version;
    rf_status status = check_machine(f, &at);
    if (!status) status = read_pickle(f, f->data + at, f->size - at);
    at += f->pickle.size;
    if (!status) status = list_storages(f);
    if (!status) status = locate(f, at);
    for (size_t i = 0; i < f->storages.count && !status; i++)
        if (!f->storages.storage[i].data)
            status = rf_fail(f->why, RF_EDATA, "%s: list of storages: expected one of %zu bytes, got none", f->name,
                             f->storages.storage[i].bytes);
    return status;
}

static bool is_old(const unsigned char *data, size_t size)
{
    return size >= sizeof magic && !memcmp(data, magic, sizeof magic);
}

/* Byte 8 of a safetensors file, whose length may look like a pickle, is a brace. */
bool rf__torch_is(const unsigned char *data, size_t size)
{
    return rf__zip_is(data, size) || (size > 8 && data[0] == 0x80 && data[1] <= 5 && data[8] != '{');
}

rf_status rf__torch_read(const rf_ctx *ctx, const unsigned char *data, size_t size, const char *name, rf__header *out,
                         rf_error *why)
{
    rf_error local = {0};
    struct file f = {.ctx = ctx, .data = data, .size = size, .name = name, .why = why ? why : &local};
    *out = (rf__header){0};
    rf_status status;
    if (rf__zip_is(data, size)) status = read_zip(&f);
    else if (is_old(data, size)) status = read_old(&f);
    else status = rf_fail(f.why, RF_EUNSUPPORTED, "%s: expected a file of torch.save, got another pickle", name);
    if (!status) status = read_members(&f, out);
    if (status) rf__header_clear(ctx, out);
    rf__free(ctx, f.storages.storage);
    rf__pickle_clear(ctx, &f.pickle);
    return status;
}
