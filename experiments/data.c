/* data.c — checks the texts of an experiment before anything is computed, and converts them to finetune's format. */
#define _GNU_SOURCE
#include <errno.h>
#include <math.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "data.h"
#include "hash.h"
#include "roformer/context.h"
#include "roformer/inspect/files.h"

static const char *const endings[] = {"", ".zst", ".gz"};

void data_path(const request *r, const char *name, char out[PATH])
{
    for (size_t i = 0; i < sizeof endings / sizeof *endings; i++) {
        path_of(out, "%s/%s%s", r->data, name, endings[i]);
        if (!access(out, R_OK)) return;
    }
    path_of(out, "%s/%s", r->data, name);
}

static const char *text(json_t *entry, const char *key)
{
    const char *s = json_string_value(json_object_get(entry, key));
    return s ? s : "";
}

/* ---- is it there ------------------------------------------------------------------------------------------------- */

static bool absent(const request *r, json_t *entry)
{
    char path[PATH];
    data_path(r, text(entry, "path"), path);
    return access(path, R_OK) != 0;
}

static void say_absent(const request *r, json_t *entry)
{
    const char *path = text(entry, "path");
    fprintf(stderr, "  %s: %s\n      looked for %s/%s, .zst and .gz\n      %s\n", path, text(entry, "is"),
            r->data, path, text(entry, "get"));
}

/* ---- is it what it should be ------------------------------------------------------------------------------------- */

/* The first `most` bytes of a text, decompressed, followed by a zero. */
static char *beginning(const char *path, size_t most)
{
    const rf_ctx_options one = {.size = sizeof one, .threads = 1};
    rf_error why = {0};
    rf_ctx *ctx = NULL;
    rf_source *s = NULL;
    char *out = NULL;
    size_t n = 0, capacity = 0, got = 1;
    if (rf_ctx_new(&one, &ctx, &why) || rf_source_open(ctx, path, &s, &why)) die("%s", why.text);
    while (got && n < most) {
        if (n + 1 >= capacity && !(out = realloc(out, capacity = 2 * capacity + (1 << 16)))) die("out of memory");
        const size_t space = capacity - n - 1, left = most - n;
        if (rf_source_read(s, out + n, space < left ? space : left, &got, &why)) die("%s", why.text);
        n += got;
    }
    out[n] = 0;
    rf_source_close(s);
    rf_ctx_free(ctx);
    return out;
}

static void other(const char *path, json_t *entry, const char *found, const char *expected)
{
    fprintf(stderr, "%s: %s: %s, expected %s\n  %s: %s\n  %s\n", program_invocation_short_name, path, found, expected,
            text(entry, "path"), text(entry, "is"), text(entry, "get"));
    exit(3);
}

static void check_keys(const char *path, json_t *entry, const char *line)
{
    json_t *keys = json_object_get(entry, "keys"), *key;
    json_t *first = keys ? json_loads(line, 0, NULL) : NULL;
    const bool object = json_is_object(first);
    char expected[256] = "";
    size_t i;
    if (!keys) return;
    json_array_foreach(keys, i, key)
        if (!*expected && !json_object_get(first, json_string_value(key)))
            snprintf(expected, sizeof expected, "\"%s\" in each object", json_string_value(key));
    json_decref(first);
    if (!object) other(path, entry, "the first line is no JSON object", "one object a line");
    if (*expected) other(path, entry, "the first line has no such member", expected);
}

static void check_columns(const char *path, json_t *entry, const char *line)
{
    char found[64], expected[64];
    const json_int_t columns = json_integer_value(json_object_get(entry, "columns"));
    int n = 1;
    for (const char *s = line; *s; s++) n += *s == '\t';
    if (!columns || n >= columns) return;
    snprintf(found, sizeof found, "%d columns in the first line", n);
    snprintf(expected, sizeof expected, "%d between tabs", (int)columns);
    other(path, entry, found, expected);
}

/* Within a hundredth, so that a text truncated at a line end is accepted. */
static void check_bytes(const char *path, json_t *entry)
{
    char found[64], expected[64];
    struct stat st;
    const double bytes = json_number_value(json_object_get(entry, "bytes"));
    if (!(bytes > 0) || stat(path, &st) || !strcmp(path + strlen(path) - 3, ".gz")) return;
    if (strlen(path) > 4 && !strcmp(path + strlen(path) - 4, ".zst")) return;
    if ((double)st.st_size > 0.99 * bytes && (double)st.st_size < 1.01 * bytes) return;
    snprintf(found, sizeof found, "%lld bytes", (long long)st.st_size);
    snprintf(expected, sizeof expected, "%.0f", bytes);
    other(path, entry, found, expected);
}

static void check_layout(const request *r, json_t *entry, bool stand_in)
{
    enum { BEGINNING = 1 << 20 };
    static char *head;                                   /* static, because a message ends the program */
    char path[PATH];
    data_path(r, text(entry, "path"), path);
    head = beginning(path, BEGINNING);
    if (!*head) other(path, entry, "empty", "text");
    if (json_is_true(json_object_get(entry, "documents")) && !strstr(head, "\n\n") && !strstr(head, "</doc>") &&
        !strstr(head, "\r\n\r\n"))
        other(path, entry, "no document ends in its first megabyte", "an empty line behind each document");
    head[strcspn(head, "\r\n")] = 0;
    check_keys(path, entry, head);
    check_columns(path, entry, head);
    if (!stand_in) check_bytes(path, entry);
    free(head);
    head = NULL;
}

void data_check(const request *r, bool stand_in)
{
    json_t *list = json_object_get(r->file, "data"), *entry;
    size_t i, missing = 0;
    json_array_foreach(list, i, entry) missing += absent(r, entry);
    if (missing)
        fprintf(stderr, "%s: %zu of %zu files of \"%s\" are not in %s (--data):\n", program_invocation_short_name,
                missing, json_array_size(list), r->name, r->data);
    json_array_foreach(list, i, entry)
        if (absent(r, entry)) say_absent(r, entry);
    if (missing) exit(4);
    json_array_foreach(list, i, entry) check_layout(r, entry, stand_in);
}

/* ---- laid over --------------------------------------------------------------------------------------------------- */

static void lay(json_t *o, const char *key, json_t *value)
{
    json_t *old = json_object_get(o, key);
    if (json_is_object(old) && json_is_object(value)) json_object_update_recursive(old, value);
    else json_object_set(o, key, value);
}

void data_overlay(request *r, const char *path)
{
    json_error_t bad;
    json_t *over = json_load_file(path, 0, &bad), *row, *value;
    const char *key;
    size_t i;
    if (!json_is_object(over)) die("%s:%d: %s", path, bad.line, over ? "no JSON object" : bad.text);
    json_object_foreach(over, key, value) lay(r->file, key, value);
    json_array_foreach(json_object_get(r->file, "rows"), i, row)
        json_object_foreach(over, key, value)
            if (json_is_object(row) && json_is_object(json_object_get(row, key))) lay(row, key, value);
    json_decref(over);
}

/* ---- triplets ---------------------------------------------------------------------------------------------------- */

/* {"text": A, "choices": [B, C], "label": 0 or 1}; NULL: it is no triplet. */
static json_t *as_choices(const char *line)
{
    json_t *t = json_loads(line, 0, NULL), *o = NULL;
    const char *label = text(t, "label");
    if (json_is_object(t) && (!strcmp(label, "B") || !strcmp(label, "C")))
        o = json_pack("{s:O, s:[O, O], s:i}", "text", json_object_get(t, "A"), "choices", json_object_get(t, "B"),
                      json_object_get(t, "C"), "label", !strcmp(label, "C"));
    json_decref(t);
    return o;
}

typedef struct candidate { uint64_t text; size_t triplet; bool right; } candidate;

static int by_text(const void *x, const void *y)
{
    const candidate *a = x, *b = y;
    return (a->text > b->text) - (a->text < b->text);
}

/* For each candidate, the fraction of the other triplets with it in which it is right, or one half if there are none:
 * [2 i] for the right candidate of triplet i, [2 i + 1] for the wrong one. */
static void share_of_others(candidate *c, size_t n, double *share)
{
    qsort(c, n, sizeof *c, by_text);
    for (size_t i = 0, end, right; i < n; i = end) {
        for (end = i, right = 0; end < n && c[end].text == c[i].text; end++) right += c[end].right;
        for (size_t k = i; k < end; k++)
            share[2 * c[k].triplet + !c[k].right] =
                end - i > 1 ? (double)(right - c[k].right) / (double)(end - i - 1) : 0.5;
    }
}

double data_guess(const char *path)
{
    char *all = beginning(path, SIZE_MAX - 1), *end;
    size_t lines = 1, n = 0;
    double right = 0;
    for (const char *p = all; (p = strchr(p, '\n')); p++) lines++;
    candidate *c = calloc(2 * lines, sizeof *c);
    double *share = calloc(2 * lines, sizeof *share);
    if (!c || !share) die("out of memory");
    for (char *line = all; *line; line = end + 1, n++) {
        end = strchrnul(line, '\n');
        const bool last = !*end;
        *end = 0;
        json_t *t = json_loads(line, 0, NULL), *choices = json_object_get(t, "choices");
        const json_int_t label = json_integer_value(json_object_get(t, "label"));
        for (size_t k = 0; k < 2; k++) {
            const char *s = json_string_value(json_array_get(choices, k));
            c[2 * n + k] = (candidate){s ? hash64(s, strlen(s), 0) : 0, n, (json_int_t)k == label};
        }
        json_decref(t);
        if (last) break;
    }
    share_of_others(c, 2 * n, share);
    for (size_t i = 0; i < n; i++)
        right += share[2 * i] > share[2 * i + 1] ? 1 : share[2 * i] < share[2 * i + 1] ? 0 : 0.5;
    free(all);
    free(c);
    free(share);
    return n ? fmax(right, (double)n - right) / (double)n : 0;
}

void data_triplets(const char *from, const char *to)
{
    char unfinished[PATH], *all = beginning(from, SIZE_MAX - 1), *end;
    size_t number = 0;
    path_of(unfinished, "%s.unfinished", to);
    FILE *out = fopen(unfinished, "w");
    if (!out) die("%s: %s", unfinished, strerror(errno));
    for (char *line = all; *line; line = end + 1) {
        end = strchrnul(line, '\n');
        const bool last = !*end;
        *end = 0;
        json_t *o = as_choices(line);
        number++;
        if (!o || json_dumpf(o, out, JSON_ENSURE_ASCII | JSON_COMPACT) || fputc('\n', out) == EOF)
            die("%s:%zu: expected an object with A, B, C and the label \"B\" or \"C\"", from, number);
        json_decref(o);
        if (last) break;
    }
    free(all);
    if (fclose(out) || rename(unfinished, to)) die("%s: %s", to, strerror(errno));
}
