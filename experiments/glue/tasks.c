/* tasks.c — GLUE's files as one form.
 *
 *     held out    row i of a file without a dev part, when hash(i, 3) is a multiple of 10: as in
 *                 glue-baselines/baselines.c
 *     kept        of n > cap rows those whose hash(i, 5) is among the cap smallest                                   */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "roformer/context.h"
#include "../hash.h"
#include "tasks.h"
#include "roformer/source.h"

enum { COLUMNS = 64, FILES = 8 };

typedef struct row { char *text, *pair, *label; } row;
typedef struct rows { row *at; size_t n, capacity; char *text[FILES]; int texts; } rows; /* rows point into the texts */

static void *need(void *p)
{
    if (!p) die("out of memory");
    return p;
}

static char *load(const rf_ctx *ctx, const char *path)
{
    char *data = NULL;
    size_t size = 0, capacity = 0, got = 1;
    rf_source *s = NULL;
    rf_error why = {0};
    if (rf_source_open(ctx, path, &s, &why)) die("%s", why.text);
    while (got) {
        if (size + 65537 > capacity) data = need(realloc(data, capacity = 2 * capacity + 131072));
        if (rf_source_read(s, data + size, 65536, &got, &why)) die("%s", why.text);
        size += got;
    }
    data[size] = 0;
    rf_source_close(s);
    return data;
}

static void push(rows *r, row one)
{
    if (r->n == r->capacity) r->at = need(realloc(r->at, (r->capacity = 2 * r->capacity + 1024) * sizeof *r->at));
    r->at[r->n++] = one;
}

static void forget_rows(rows *r)
{
    while (r->texts) free(r->text[--r->texts]);
    free(r->at);
}

static void add_line(char *line, const int column[3], rows *out)
{
    char *field[COLUMNS];
    int n = 0, last = 0;
    for (char *at = line; at && n < COLUMNS; n++) {
        field[n] = at;
        at = strchr(at, '\t');
        if (at) *at++ = 0;
    }
    for (int i = 0; i < 3; i++) last = column[i] > last ? column[i] : last;
    if (n >= last)
        push(out, (row){field[column[0] - 1], column[1] ? field[column[1] - 1] : NULL, field[column[2] - 1]});
}

static void read_files(const rf_ctx *ctx, json_t *files, const char *data, const int column[3], rows *out)
{
    size_t f;
    json_t *file;
    json_array_foreach(files, f, file) {
        char path[PATH];
        path_of(path, "%s/%s", data, json_string_value(json_array_get(file, 0)));
        if (out->texts == FILES) die("%s: more than %d files", path, FILES);
        char *at = out->text[out->texts++] = load(ctx, path);
        if (!strncmp(at, "\xEF\xBB\xBF", 3)) at += 3;
        for (size_t number = json_array_size(file) > 1 ? 0 : 1; *at; number++) {
            const size_t n = strcspn(at, "\n");
            char *next = at + n + (at[n] == '\n');
            at[n] = 0;
            if (n && at[n - 1] == '\r') at[n - 1] = 0;
            if (*at && number) add_line(at, column, out);
            at = next;
        }
    }
}

static void hold_out(rows *train, rows *dev)
{
    size_t kept = 0;
    for (uint64_t i = 0; i < train->n; i++) {
        if (hash64(&i, sizeof i, 3) % 10) train->at[kept++] = train->at[i];
        else push(dev, train->at[i]);
    }
    train->n = kept;
}

static int by_size(const void *a, const void *b)
{
    uint64_t x, y;
    memcpy(&x, a, sizeof x);
    memcpy(&y, b, sizeof y);
    return (x > y) - (x < y);
}

static void keep_some(rows *r, size_t cap)
{
    if (!cap || r->n <= cap) return;
    uint64_t *hash = need(malloc(2 * r->n * sizeof *hash)), *sorted = hash + r->n;
    for (uint64_t i = 0; i < r->n; i++) hash[i] = sorted[i] = hash64(&i, sizeof i, 5);
    qsort(sorted, r->n, sizeof *sorted, by_size);
    size_t kept = 0;
    for (size_t i = 0; i < r->n; i++)
        if (hash[i] < sorted[cap]) r->at[kept++] = r->at[i];
    r->n = kept;
    free(hash);
}

static void write_rows(const char *path, const rows *r)
{
    char unfinished[PATH];
    path_of(unfinished, "%s.unfinished", path);
    FILE *f = fopen(unfinished, "w");
    if (!f) die("%s: cannot be written", unfinished);
    const bool pair = r->n && r->at[0].pair;
    fprintf(f, pair ? "sentence1\tsentence2\tlabel\n" : "sentence1\tlabel\n");
    for (size_t i = 0; i < r->n; i++)
        if (pair) fprintf(f, "%s\t%s\t%s\n", r->at[i].text, r->at[i].pair, r->at[i].label);
        else fprintf(f, "%s\t%s\n", r->at[i].text, r->at[i].label);
    if (fclose(f) || rename(unfinished, path)) die("%s: cannot be written", path);
}

void task_files(json_t *task, const char *data, const char *folder, long long cap, long long *train_rows,
                long long *dev_rows)
{
    const char *name = json_string_value(json_object_get(task, "name"));
    int column[3];
    rf_ctx *ctx = NULL;
    rf_error why = {0};
    rows train = {0}, dev = {0};
    char path[PATH];
    for (size_t i = 0; i < 3; i++) {
        column[i] = (int)json_integer_value(json_array_get(json_object_get(task, "columns"), i));
        if (column[i] < (i == 1 ? 0 : 1) || column[i] > COLUMNS)
            die("%s: columns are [text, pair or 0, label], from 1", name);
    }
    if (rf_ctx_new(&(rf_ctx_options){.size = sizeof(rf_ctx_options), .threads = 1}, &ctx, &why)) die("%s", why.text);
    read_files(ctx, json_object_get(task, "train"), data, column, &train);
    read_files(ctx, json_object_get(task, "dev"), data, column, &dev);
    if (!json_object_get(task, "dev")) hold_out(&train, &dev);
    keep_some(&train, cap > 0 ? (size_t)cap : 0);
    if (!train.n || !dev.n) die("%s: %zu rows to train on, %zu to measure on", name, train.n, dev.n);
    *train_rows = (long long)train.n;
    *dev_rows = (long long)dev.n;
    path_of(path, "%s/%s-train.tsv", folder, name);
    if (access(path, F_OK)) write_rows(path, &train);
    path_of(path, "%s/%s-dev.tsv", folder, name);
    if (access(path, F_OK)) write_rows(path, &dev);
    forget_rows(&train);
    forget_rows(&dev);
    rf_ctx_free(ctx);
}
