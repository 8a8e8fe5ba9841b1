/* option_rows.c — the rows of train_options.def and finetune_options.def as tables, and everything that is derived from
 * a row. */
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/os/os.h"
#include "train/option_rows.h"

/* ---- the tables ---- */

enum { PRETRAIN = RF_OPTION_PRETRAIN, FINETUNE = RF_OPTION_FINETUNE, TRANSLATION = RF_OPTION_TRANSLATION,
       TRAIN = PRETRAIN | FINETUNE | TRANSLATION,
       EVALUATE = RF_OPTION_EVALUATE, PREDICT = RF_OPTION_PREDICT, PREPARE = RF_OPTION_PREPARE };

#define RFO_KIND_INT RF_OPTION_INT
#define RFO_KIND_REAL RF_OPTION_REAL
#define RFO_KIND_FLAG RF_OPTION_FLAG
#define RFO_KIND_SEED RF_OPTION_SEED
#define RFO_KIND_BYTES RF_OPTION_BYTES
#define RFO_KIND_CHOICE(type) RF_OPTION_CHOICE
#define RFO_KIND_TEXT RF_OPTION_TEXT
#define RFO_KIND_FILE RF_OPTION_FILE
#define RFO_KIND_FOLDER RF_OPTION_FOLDER
#define RFO_KIND_FILES(number) RF_OPTION_FILES, .count = offsetof(OPTIONS, number)
#define RFO_KIND_WEIGHTS(number) RF_OPTION_WEIGHTS, .count = offsetof(OPTIONS, number)
#define RFO_WORD(id, word) "|" #word
#define RFO_WORDS(list) &("" list(RFO_WORD))[1]
#define RFO_WITH(option, of) .depends = option, .values = of
#define RFO_PAIRS(x) .differs = 1, .translation = x

/* After `callers` come the help, and further columns by name. */
#define ROW(typed, type, member, before, tuned, least, most, callers, shown, ...)                                      \
    {.name = #typed, .kind = RFO_KIND_##type, .at = offsetof(OPTIONS, member), .pretrain = before, .finetune = tuned,  \
     .low = least, .high = most, .calls = callers, .group = RFO_GROUP, .value = shown, .help = __VA_ARGS__},

#define OPTIONS rf_train_options
static const rf_option train_rows[] = {
#define RFO(kind, member, ...) ROW(member, kind, member, __VA_ARGS__)
#define RFO_AS(name, kind, member, ...) ROW(name, kind, member, __VA_ARGS__)
#define RFO_IN(name, kind, member, ...) ROW(name, kind, member, __VA_ARGS__)
#include "roformer/inspect/train_options.def"
};
#undef OPTIONS
#define OPTIONS rf_finetune_options
static const rf_option finetune_rows[] = {
#define RFO(kind, member, ...) ROW(member, kind, member, __VA_ARGS__)
#define RFO_AS(name, kind, member, ...) ROW(name, kind, member, __VA_ARGS__)
#include "roformer/inspect/finetune_options.def"
};

const rf_option *rf_train_option(size_t i) { return i < RF_COUNT(train_rows) ? &train_rows[i] : NULL; }
const rf_option *rf_finetune_option(size_t i) { return i < RF_COUNT(finetune_rows) ? &finetune_rows[i] : NULL; }

static bool named(const rf_option *row, const char *name)
{
    return !strcmp(row->name, name) || (row->json && !strcmp(row->json, name));
}

const rf_option *rf__rows_find(rf__option_table *table, const char *name)
{
    const rf_option *row;
    for (size_t i = 0; (row = table(i)); i++)
        if (named(row, name)) return row;
    return NULL;
}

/* ---- one value of any kind ---- */

typedef struct value {
    int64_t i;
    double r;
    const char *text;
    const void *list;
    int n;                              /* of the list */
} value;

static bool is_text(const rf_option *row)
{
    return row->kind == RF_OPTION_TEXT || row->kind == RF_OPTION_FILE || row->kind == RF_OPTION_FOLDER;
}

static bool is_list(const rf_option *row) { return row->kind == RF_OPTION_FILES || row->kind == RF_OPTION_WEIGHTS; }

static value get(const void *o, const rf_option *row)
{
    const char *p = (const char *)o + row->at;
    value v = {0};
    int small;
    size_t bytes;
    switch (row->kind) {
    case RF_OPTION_INT:
    case RF_OPTION_SEED:    memcpy(&v.i, p, sizeof v.i); break;
    case RF_OPTION_REAL:    memcpy(&v.r, p, sizeof v.r); break;
    case RF_OPTION_TEXT:
    case RF_OPTION_FILE:
    case RF_OPTION_FOLDER:  memcpy(&v.text, p, sizeof v.text); break;
    case RF_OPTION_FILES:
    case RF_OPTION_WEIGHTS:
        memcpy(&v.list, p, sizeof v.list);
        memcpy(&v.n, (const char *)o + row->count, sizeof v.n);
        break;
    case RF_OPTION_BYTES:
        memcpy(&bytes, p, sizeof bytes);
        v.i = (uint64_t)bytes > INT64_MAX ? INT64_MAX : (int64_t)bytes;
        break;
    case RF_OPTION_FLAG:
    case RF_OPTION_CHOICE:
        memcpy(&small, p, sizeof small);
        v.i = small;
    }
    return v;
}

static void set(void *o, const rf_option *row, value v)
{
    char *p = (char *)o + row->at;
    const int small = (int)v.i;
    const size_t bytes = (size_t)v.i;
    switch (row->kind) {
    case RF_OPTION_INT:
    case RF_OPTION_SEED:    memcpy(p, &v.i, sizeof v.i); break;
    case RF_OPTION_REAL:    memcpy(p, &v.r, sizeof v.r); break;
    case RF_OPTION_TEXT:
    case RF_OPTION_FILE:
    case RF_OPTION_FOLDER:  memcpy(p, &v.text, sizeof v.text); break;
    case RF_OPTION_FILES:
    case RF_OPTION_WEIGHTS:
        memcpy(p, &v.list, sizeof v.list);
        memcpy((char *)o + row->count, &v.n, sizeof v.n);
        break;
    case RF_OPTION_BYTES:   memcpy(p, &bytes, sizeof bytes); break;
    case RF_OPTION_FLAG:
    case RF_OPTION_CHOICE:  memcpy(p, &small, sizeof small);
    }
}

static bool same(const rf_option *row, value a, value b)
{
    if (row->kind == RF_OPTION_REAL) return !(a.r < b.r || a.r > b.r);
    if (is_text(row)) return a.text && b.text ? !strcmp(a.text, b.text) : !a.text && !b.text;
    if (is_list(row)) return a.list == b.list;
    return a.i == b.i;
}

bool rf__row_same(const rf_option *row, const void *a, const void *b) { return same(row, get(a, row), get(b, row)); }

/* ---- names of choices ---- */

static int words(const char *list)
{
    int n = *list != 0;
    for (; *list; list++) n += *list == '|';
    return n;
}

/* Name `i`; its length in *n, 0 after the last one. */
static const char *word_at(const char *list, int64_t i, size_t *n)
{
    for (; i > 0 && *list; i--) {
        list += strcspn(list, "|");
        list += *list == '|';
    }
    *n = i < 0 ? 0 : strcspn(list, "|");
    return list;
}

int rf__row_choice(const rf_option *row, const void *o) { return (int)get(o, row).i; }

void rf__row_word(const rf_option *row, const void *o, char *out, size_t size)
{
    size_t n;
    const char *word = word_at(row->choices, get(o, row).i, &n);
    snprintf(out, size, "%.*s", (int)n, word);
}

/* ---- defaults, limits ---- */

void rf__rows_defaults(rf__option_table *table, void *o, unsigned call)
{
    const rf_option *row;
    for (size_t i = 0; (row = table(i)); i++) {
        const double x = call == FINETUNE                         ? row->finetune
                         : call == TRANSLATION && row->differs ? row->translation
                                                                  : row->pretrain;
        const bool real = row->kind == RF_OPTION_REAL;
        if (row->kind != RF_OPTION_WEIGHTS)                           /* its number is that of the files */
            set(o, row, (value){.i = real ? 0 : (int64_t)x, .r = real ? x : 0, .text = row->text});
    }
}

static rf_status check_row(const void *o, const rf_option *row, rf_error *why)
{
    const value v = get(o, row);
    if (row->kind == RF_OPTION_SEED || row->kind == RF_OPTION_WEIGHTS || is_text(row)) return RF_OK;
    if (row->kind == RF_OPTION_FILES) {
        int named = 0;
        if (v.n < 0 || (v.n && !v.list))
            return rf_fail(why, RF_EARG, "%s: expected a list of %d files, got NULL", row->name, v.n);
        while (named < v.n && ((const char *const *)v.list)[named]) named++;
        return named == v.n ? RF_OK : rf_fail(why, RF_EARG, "%s: file %d of %d: expected a path, got NULL", row->name,
                                              named + 1, v.n);
    }
    const double x = row->kind == RF_OPTION_REAL ? v.r : (double)v.i;
    const double high = row->kind == RF_OPTION_CHOICE ? words(row->choices) - 1 : row->high;
    if (x >= row->low && x <= high) return RF_OK;                     /* NaN fails */
    return rf_fail(why, RF_EARG, "%s: expected %.12g to %.12g, got %.12g", row->name, row->low, row->high, x);
}

rf_status rf__rows_check(rf__option_table *table, const void *o, rf_error *why)
{
    const rf_option *row;
    for (size_t i = 0; (row = table(i)); i++)
        if (check_row(o, row, why)) return RF_EARG;
    return RF_OK;
}

bool rf__row_chosen(const rf_option *row, const void *o, const void *usual, const rf_train_options *who)
{
    if (!who->given) return !rf__row_same(row, o, usual);
    return who->given(who->given_user, row->name) || (row->json && who->given(who->given_user, row->json));
}

/* ---- saving in checkpoints ---- */

static json_t *path_json(const char *path)
{
    char *whole = strcmp(path, "-") ? rf__os_whole_path(path) : NULL;
    json_t *text = rf__json_text(whole ? whole : path, strlen(whole ? whole : path));
    free(whole);
    return text;
}

static json_t *list_json(const rf_option *row, value v)
{
    json_t *list = json_array();
    for (int i = 0; i < v.n; i++)
        rf__json_add(&list, row->kind == RF_OPTION_FILES ? path_json(((const char *const *)v.list)[i])
                                                         : json_real(((const double *)v.list)[i]));
    return list;
}

static json_t *word_json(const rf_option *row, value v)
{
    size_t n;
    const char *word = word_at(row->choices, v.i, &n);
    return json_stringn(word, n);
}

static json_t *row_json(const rf_option *row, value v)
{
    switch (row->kind) {
    case RF_OPTION_INT:
    case RF_OPTION_SEED:
    case RF_OPTION_BYTES:   return json_integer(v.i);
    case RF_OPTION_REAL:    return json_real(v.r);
    case RF_OPTION_FLAG:    return json_boolean(v.i != 0);
    case RF_OPTION_CHOICE:  return word_json(row, v);
    case RF_OPTION_TEXT:    return rf__json_text(v.text, strlen(v.text));
    case RF_OPTION_FILE:
    case RF_OPTION_FOLDER:  return path_json(v.text);
    case RF_OPTION_FILES:
    case RF_OPTION_WEIGHTS: return list_json(row, v);
    }
    return NULL;
}

static const char *key_of(const rf_option *row) { return row->json ? row->json : row->name; }

void rf__rows_json(rf__option_table *table, const void *o, json_t **all)
{
    const rf_option *row;
    for (size_t i = 0; (row = table(i)); i++) {
        const value v = get(o, row);
        const bool absent = (is_text(row) && !v.text) || (row->kind == RF_OPTION_WEIGHTS && !v.list);
        if (!(row->flags & RF_OPTION_LOCAL) && !absent) rf__json_set(all, key_of(row), row_json(row, v));
    }
}

/* ---- restoring ---- */

static bool value_of(const rf_option *row, const json_t *j, value *out)
{
    *out = (value){0};
    if (row->kind == RF_OPTION_REAL && json_is_number(j)) {
        out->r = json_number_value(j);
        return true;
    }
    if (row->kind == RF_OPTION_FLAG && json_is_boolean(j)) {
        out->i = json_is_true(j);
        return true;
    }
    if (row->kind == RF_OPTION_CHOICE && json_is_string(j)) {
        size_t n;
        for (const char *word; word = word_at(row->choices, out->i, &n), n; out->i++)
            if (n == json_string_length(j) && !memcmp(word, json_string_value(j), n)) return true;
        return false;
    }
    out->i = json_integer_value(j);
    return (row->kind == RF_OPTION_INT || row->kind == RF_OPTION_SEED || row->kind == RF_OPTION_BYTES) &&
           json_is_integer(j);
}

/* A copy in the arena; "" is stored as NULL. */
static rf_status keep(const json_t *text, rf_arena *arena, const char **to, rf_error *why)
{
    const size_t size = json_string_length(text) + 1;
    char *copy = rf__arena_push(arena, size);
    if (!copy) return rf_fail(why, RF_ENOMEM, "out of memory: an option");
    memcpy(copy, size > 1 ? json_string_value(text) : "", size);
    *to = *copy ? copy : NULL;
    return RF_OK;
}

static rf_status restore_files(const rf_option *row, void *o, const json_t *list, rf_arena *arena, rf_error *why)
{
    const size_t n = json_array_size(list);
    if (!n || n > INT_MAX) return RF_OK;
    const char **all = rf__arena_push(arena, n * sizeof *all);
    if (!all) return rf_fail(why, RF_ENOMEM, "out of memory: %zu names of files", n);
    for (size_t i = 0; i < n; i++) {
        if (keep(json_array_get(list, i), arena, &all[i], why)) return RF_ENOMEM;
        if (!all[i]) all[i] = "";
    }
    set(o, row, (value){.list = all, .n = (int)n});
    return RF_OK;
}

/* There must be as many as files, or none. */
static rf_status restore_weights(const rf_option *row, void *o, const json_t *list, rf_arena *arena, rf_error *why)
{
    const int n = get(o, row).n;
    if (n <= 0 || (size_t)n != json_array_size(list)) return RF_OK;
    double *all = rf__arena_push(arena, (size_t)n * sizeof *all);
    if (!all) return rf_fail(why, RF_ENOMEM, "out of memory: %d weights", n);
    for (int i = 0; i < n; i++) all[i] = json_number_value(json_array_get(list, (size_t)i));
    set(o, row, (value){.list = all, .n = n});
    return RF_OK;
}

static void note_change(const rf__restoring *from, const char *name)
{
    rf__list_add(from->changed, from->size, name);
}

static rf_status restore_row(const rf_option *row, void *o, const json_t *j, const rf__restoring *from, rf_error *why)
{
    value then = {0};
    const value now = get(o, row);
    if (row->kind == RF_OPTION_FILES) return now.n ? RF_OK : restore_files(row, o, j, from->arena, why);
    if (row->kind == RF_OPTION_WEIGHTS) return restore_weights(row, o, j, from->arena, why);
    const bool chosen = rf__row_chosen(row, o, from->usual, from->who);
    if (is_text(row)) {
        if (!json_is_string(j)) return RF_OK;
        if (!chosen) return keep(j, from->arena, (const char **)(void *)((char *)o + row->at), why);
        then.text = json_string_value(j);
    } else if (!value_of(row, j, &then)) {
        return rf_fail(why, RF_EDATA, "%s: options: %s: expected a value of this option, got another one", from->name,
                       key_of(row));
    }
    if (!chosen) set(o, row, then);
    else if (!same(row, now, then) && row->kind != RF_OPTION_FILE) note_change(from, row->name);
    return RF_OK;
}

rf_status rf__rows_restore(rf__option_table *table, void *o, const rf__restoring *from, rf_error *why)
{
    const rf_option *row;
    bool source = false;
    for (size_t i = 0; (row = table(i)); i++) source |= (row->flags & RF_OPTION_SOURCE) && get(o, row).n;
    for (size_t i = 0; (row = table(i)); i++) {
        const json_t *j = json_object_get(from->saved, key_of(row));
        if ((row->flags & RF_OPTION_LOCAL) || !j || (source && (row->flags & RF_OPTION_SOURCE))) continue;
        const rf_status status = restore_row(row, o, j, from, why);
        if (status) return status;
    }
    return RF_OK;
}
