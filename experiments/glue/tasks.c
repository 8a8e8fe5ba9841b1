/* tasks.c — reads the files of GLUE and CLUE into one form.
 *
 *     columns     [text, pair or 0, label], from 1, of a table
 *     keys        [text, pair or "", label] of JSON objects, one a line; a list is its members, a space between them
 *     skip        labels whose rows are left out: "-", on which annotators did not agree
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
#include "roformer/inspect/files.h"

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

/* How a task's files are read. */
typedef struct form { const char *name; int column[3]; json_t *keys, *skip; } form;

static bool skipped(const form *as, const char *label)
{
    size_t i;
    json_t *one;
    json_array_foreach(as->skip, i, one)
        if (!strcmp(label, json_string_value(one))) return true;
    return false;
}

static void add_columns(char *line, const int column[3], const form *as, rows *out)
{
    char *field[COLUMNS];
    int n = 0, last = 0;
    for (char *at = line; at && n < COLUMNS; n++) {
        field[n] = at;
        at = strchr(at, '\t');
        if (at) *at++ = 0;
    }
    for (int i = 0; i < 3; i++) last = column[i] > last ? column[i] : last;
    if (n >= last && !skipped(as, field[column[2] - 1]))
        push(out, (row){field[column[0] - 1], column[1] ? field[column[1] - 1] : NULL, field[column[2] - 1]});
}

/* Copies a value's text after `to`, without quotes; the line that it comes from has enough bytes. */
static char *put_value(char *to, const json_t *v)
{
    size_t i;
    json_t *one;
    if (json_is_integer(v)) return to + sprintf(to, "%lld", (long long)json_integer_value(v));
    json_array_foreach(v, i, one) {
        if (i) *to++ = ' ';
        to = put_value(to, one);
    }
    for (const char *s = json_string_value(v); s && *s; s++) *to++ = strchr("\t\r\n", *s) ? ' ' : *s;
    *to = 0;
    return to;
}

static void add_object(char *line, const char *path, size_t number, const form *as, rows *out)
{
    json_error_t why;
    json_t *o = json_loads(line, 0, &why);
    char *field[3] = {NULL}, *to = line;
    if (!json_is_object(o)) die("%s:%zu: no JSON object: %s", path, number, o ? "another value" : why.text);
    for (size_t i = 0; i < 3; i++) {
        const char *key = json_string_value(json_array_get(as->keys, i));
        const json_t *v = key && *key ? json_object_get(o, key) : NULL;
        if (key && *key && !v) die("%s:%zu: no \"%s\" in it", path, number, key);
        if (!v) continue;
        if (!json_is_string(v) && !json_is_integer(v) && !json_is_array(v))
            die("%s:%zu: \"%s\" is neither text nor a whole number nor a list", path, number, key);
        field[i] = to;
        to = put_value(to, v) + 1;
    }
    json_decref(o);
    if (!skipped(as, field[2])) push(out, (row){field[0], field[1], field[2]});
}

static void read_files(const rf_ctx *ctx, json_t *files, const char *data, const form *as, rows *out)
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
            if (*at && as->keys) add_object(at, path, number, as, out);
            else if (*at && number) add_columns(at, as->column, as, out);
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

static form form_of(json_t *task, const char *name)
{
    form as = {.name = name, .keys = json_object_get(task, "keys"), .skip = json_object_get(task, "skip")};
    for (size_t i = 0; i < 3; i++) {
        as.column[i] = (int)json_integer_value(json_array_get(json_object_get(task, "columns"), i));
        if (!as.keys && (as.column[i] < (i == 1 ? 0 : 1) || as.column[i] > COLUMNS))
            die("%s: columns are [text, pair or 0, label], from 1", name);
        const char *key = json_string_value(json_array_get(as.keys, i));
        for (size_t k = 0; as.keys && k < i; k++)
            if (key && !strcmp(key, json_string_value(json_array_get(as.keys, k)))) key = NULL;
        if (as.keys && (!key || (i != 1 && !*key))) die("%s: keys are [text, pair or \"\", label]", name);
    }
    return as;
}

void task_files(json_t *task, const char *data, const char *folder, long long cap, long long *train_rows,
                long long *dev_rows)
{
    const char *name = json_string_value(json_object_get(task, "name"));
    rf_ctx *ctx = NULL;
    rf_error why = {0};
    rows train = {0}, dev = {0};
    char path[PATH];
    const form as = form_of(task, name);
    if (rf_ctx_new(&(rf_ctx_options){.size = sizeof(rf_ctx_options), .threads = 1}, &ctx, &why)) die("%s", why.text);
    read_files(ctx, json_object_get(task, "train"), data, &as, &train);
    read_files(ctx, json_object_get(task, "dev"), data, &as, &dev);
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
