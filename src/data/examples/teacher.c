/* teacher.c — a file of numpy.save (NEP 1):
 *
 *     0x93 "NUMPY" | major, minor | n: u16, from version 2 on u32 | n bytes, a dictionary of Python | rows
 *
 *     {'descr': '<f4', 'fortran_order': False, 'shape': (1000, 256), } */
#include <ctype.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "data/examples/teacher.h"

enum { HEADER = 4096, MAGIC = 8 };

typedef struct header { char type[16]; bool fortran; int dims; int64_t shape[2]; } header;

/* ---- the dictionary ---- */

static void skip(const char **at) { *at += strspn(*at, " \t\n,"); }

/* 'word' */
static bool quoted(const char **at, char *out, size_t size)
{
    const char mark = **at;
    if (mark != '\'' && mark != '"') return false;
    const size_t n = strcspn(++*at, "'\"");
    if (n >= size || (*at)[n] != mark) return false;
    memcpy(out, *at, n);
    out[n] = 0;
    *at += n + 1;
    return true;
}

/* (1000, 256); with more than two numbers, the others are counted. */
static bool shape(const char **at, header *h)
{
    if (*(*at)++ != '(') return false;
    for (skip(at); isdigit((unsigned char)**at); skip(at)) {
        char *end;
        const long long n = strtoll(*at, &end, 10);
        *at = end + (*end == 'L');
        if (h->dims < 2) h->shape[h->dims] = n;
        h->dims++;
    }
    return *(*at)++ == ')';
}

static bool boolean(const char **at, bool *out)
{
    *out = !strncmp(*at, "True", 4);
    if (!*out && strncmp(*at, "False", 5)) return false;
    *at += *out ? 4 : 5;
    return true;
}

static bool parse(const char *at, header *h)
{
    char key[16];
    int found = 0;
    skip(&at);
    if (*at++ != '{') return false;
    for (skip(&at); *at != '}'; skip(&at), found++) {
        if (!quoted(&at, key, sizeof key)) return false;
        at += strspn(at, " ");
        if (*at++ != ':') return false;
        at += strspn(at, " ");
        const bool fine = !strcmp(key, "descr")           ? quoted(&at, h->type, sizeof h->type)
                          : !strcmp(key, "fortran_order") ? boolean(&at, &h->fortran)
                          : !strcmp(key, "shape")         ? shape(&at, h)
                                                          : false;
        if (!fine) return false;
    }
    return found == 3;
}

/* ---- the file ---- */

static rf_status no_array(const char *path, rf_error *why)
{
    return rf_fail(why, RF_EDATA,
                   "%.200s: expected an array of numbers in the format of numpy.save (.npy), got another file; use "
                   "numpy.save(\"teacher.npy\", vectors.astype(\"float32\"))",
                   path);
}

static rf_status read_header(const rf_map *map, const char *path, header *h, size_t *end, rf_error *why)
{
    char text[HEADER + 1];
    const unsigned char *p = map->data;
    if (map->size < MAGIC + 4 || memcmp(p, "\x93NUMPY", 6) || p[6] < 1 || p[6] > 3) return no_array(path, why);
    const size_t begin = MAGIC + (p[6] > 1 ? 4 : 2);
    const size_t n = p[6] > 1 ? (size_t)p[8] | (size_t)p[9] << 8 | (size_t)p[10] << 16 | (size_t)p[11] << 24
                              : (size_t)p[8] | (size_t)p[9] << 8;
    if (n > HEADER || n > map->size - begin) return no_array(path, why);
    memcpy(text, p + begin, n);
    text[n] = 0;
    *end = begin + n;
    return parse(text, h) ? RF_OK : no_array(path, why);
}

static rf_status check(const header *h, const char *path, size_t *width, rf_error *why)
{
    static const char *const types[] = {"<f2", "<f4", "<f8"};
    *width = 0;
    for (size_t i = 0; i < sizeof types / sizeof *types; i++)
        if (!strcmp(h->type, types[i])) *width = (size_t)2 << i;
    if (!*width)
        return rf_fail(why, RF_EDATA,
                       "%.200s: expected floats ('<f2', '<f4' or '<f8'), got type '%s'; convert them with "
                       "vectors.astype(\"float32\")", path, h->type);
    if (h->dims != 2)
        return rf_fail(why, RF_EDATA,
                       "%.200s: expected an array of 2 dimensions, one row per example, got %d dimensions", path,
                       h->dims);
    if (h->fortran && h->shape[0] != 1 && h->shape[1] != 1)
        return rf_fail(why, RF_EDATA, "%.200s: expected rows, got columns (fortran_order); convert it with "
                       "numpy.ascontiguousarray(vectors)", path);
    if (h->shape[1] < 1) return rf_fail(why, RF_EDATA, "%.200s: expected vectors, got rows of 0 numbers", path);
    return RF_OK;
}

rf_status rf__teacher_open(const rf_ctx *ctx, const char *path, rf__teacher *t, rf_error *why)
{
    header h = {.dims = 0};
    size_t begin, bytes;
    *t = (rf__teacher){.rows = 0};
    rf_status status = rf__map_open(ctx, path, &t->map, why);
    if (!status) status = read_header(&t->map, path, &h, &begin, why);
    if (!status) status = check(&h, path, &t->width, why);
    if (status) return status;
    const bool fine = rf__checked_mul((size_t)h.shape[0], (size_t)h.shape[1], &bytes) &&
                      rf__checked_mul(bytes, t->width, &bytes) && bytes == t->map.size - begin;
    if (!fine)
        return rf_fail(why, RF_EDATA,
                       "%.200s: expected %lld rows of %lld numbers of %zu bytes after the header, got %zu "
                       "bytes", path, (long long)h.shape[0], (long long)h.shape[1], t->width, t->map.size - begin);
    t->at = t->map.data + begin;
    t->rows = h.shape[0];
    t->C = h.shape[1];
    return RF_OK;
}

void rf__teacher_close(const rf_ctx *ctx, rf__teacher *t)
{
    rf__map_close(ctx, &t->map);
    *t = (rf__teacher){.rows = 0};
}

int64_t rf__teacher_row(const rf__teacher *t, int64_t i, float *out)
{
    const unsigned char *row = t->at + (size_t)i * (size_t)t->C * t->width;
    int64_t strange = 0;
    for (int64_t c = t->C; c-- > 0;) {
        double wide;
        uint16_t half;
        const unsigned char *p = row + (size_t)c * t->width;
        switch (t->width) {
        case sizeof half:
            memcpy(&half, p, sizeof half);
            out[c] = rf__from_f16(half);
            break;
        case sizeof wide:
            memcpy(&wide, p, sizeof wide);
            out[c] = (float)wide;
            break;
        default: memcpy(&out[c], p, sizeof *out);
        }
        if (!isfinite(out[c])) strange = c + 1;
    }
    return strange;
}
