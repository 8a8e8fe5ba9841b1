/* labelled.c — files of labelled examples.
 *
 *     cls, reg, multilabel    text (or sentence, sentence1, question), pair (sentence2, ...), label (score, ...);
 *                             several labels of a text with commas between them, or a list in JSON
 *     tag                     {"tokens": [...], "tags": [...]}, or lines of CoNLL
 *     qa                      {"question": .., "context": .., "answers": {"text": [..], "answer_start": [..]}}
 *     mc                      {"text": .., "choices": [..], "label": 0}                                               */
#include <ctype.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "store/store.h"
#include "train/labelled.h"
#include "train/pieces.h"
#include "train/source.h"

/* ---- tasks by name ---- */

static const struct { const char *name; rf_task task; const char *text, *pair, *label, *metric; } tasks[] = {
    {"cls", RF_TASK_CLS, NULL, NULL, NULL, "accuracy"},
    {"reg", RF_TASK_REG, NULL, NULL, NULL, "pearson"},
    {"multilabel", RF_TASK_MULTILABEL, NULL, NULL, NULL, "f1_micro"},
    {"tag", RF_TASK_TAG, NULL, NULL, NULL, "f1"},
    {"qa", RF_TASK_QA, NULL, NULL, NULL, "f1"},
    {"mc", RF_TASK_MC, NULL, NULL, NULL, "accuracy"},
    {"glue/cola", RF_TASK_CLS, "4", NULL, "2", "matthews_correlation"},
    {"glue/sst2", RF_TASK_CLS, "sentence", NULL, "label", "accuracy"},
    {"glue/mrpc", RF_TASK_CLS, "#1 String", "#2 String", "Quality", "f1"},
    {"glue/stsb", RF_TASK_REG, "sentence1", "sentence2", "score", "spearmanr"},
    {"glue/qqp", RF_TASK_CLS, "question1", "question2", "is_duplicate", "f1"},
    {"glue/qnli", RF_TASK_CLS, "question", "sentence", "label", "accuracy"},
    {"glue/rte", RF_TASK_CLS, "sentence1", "sentence2", "label", "accuracy"},
    {"glue/wnli", RF_TASK_CLS, "sentence1", "sentence2", "label", "accuracy"},
    {"glue/mnli", RF_TASK_CLS, "sentence1", "sentence2", "gold_label", "accuracy"},
};
static const char *const usual_text[] = {"text", "sentence", "sentence1", "text_a", "question", "question1", "premise", NULL};
static const char *const usual_pair[] = {"pair", "text_pair", "sentence2", "text_b", "question2", "hypothesis", NULL};
static const char *const usual_label[] = {"label", "labels", "score", "gold_label", "target", "class", NULL};

rf_status rf__labelled_open(rf__labelled *l, const rf_ctx *ctx, const rf_finetune_options *o, rf_error *why)
{
    const char *name = o->task ? o->task : "cls";
    const int64_t fold = l->fold;
    *l = (rf__labelled){.ctx = ctx, .o = o, .fold = fold};
    for (size_t i = 0; i < RF_COUNT(tasks); i++) {
        if (strcmp(name, tasks[i].name)) continue;
        l->task = tasks[i].task;
        l->text = o->text_column ? o->text_column : tasks[i].text;
        l->pair = o->text_column || o->pair_column ? o->pair_column : tasks[i].pair;
        l->label = o->label_column ? o->label_column : tasks[i].label;
        l->metric = tasks[i].metric;
        return RF_OK;
    }
    return rf_fail(why, RF_EARG, "task: '%.40s' is none of cls, reg, multilabel, tag, qa, mc, glue/cola, sst2, mrpc, stsb, qqp, qnli, rte, "
                   "wnli, mnli", name);
}

void rf__labelled_close(rf__labelled *l)
{
    for (size_t i = 0; i < l->n; i++) rf__free(l->ctx, l->name[i]);
    if (l->name) rf__free(l->ctx, l->name);
    l->name = NULL;
    l->n = l->room = 0;
}

static bool has_names(const rf__labelled *l) { return l->task == RF_TASK_CLS || l->task == RF_TASK_MULTILABEL || l->task == RF_TASK_TAG; }
int64_t rf__labelled_outputs(const rf__labelled *l) { return has_names(l) ? (int64_t)l->n : l->task == RF_TASK_QA ? 2 : 1; }
const char *const *rf__labelled_names(const rf__labelled *l) { return has_names(l) ? (const char *const *)l->name : NULL; }

const char *rf__labelled_metric(const rf__labelled *l, const rf_finetune_options *o)
{
    const char *metric = o->metric ? o->metric : l->metric;
    return strncmp(metric, "eval_", 5) ? metric : metric + 5;
}

/* ---- labels ---- */

static int32_t find(const rf__labelled *l, rf__text name)
{
    for (size_t i = 0; i < l->n; i++)
        if (strlen(l->name[i]) == name.size && !memcmp(l->name[i], name.at, name.size)) return (int32_t)i;
    return -1;
}

static rf_status learn(rf__labelled *l, rf__text name, rf_error *why)
{
    enum { MOST = 65536 };
    if (l->fixed || find(l, name) >= 0) return RF_OK;
    char *copy = l->n < MOST && rf__grow(l->ctx, &l->name, &l->room, l->n + 1, sizeof *l->name) ? rf__alloc(l->ctx, name.size + 1) : NULL;
    if (!copy) return rf_fail(why, RF_ENOMEM, "more than %zu labels", l->n);
    memcpy(copy, name.at, name.size);
    copy[name.size] = 0;
    l->name[l->n++] = copy;
    return RF_OK;
}

static bool whole(const char *s) { return *s && strspn(s + (*s == '-'), "0123456789") == strlen(s + (*s == '-')); }

static int by_name(const void *a, const void *b)
{
    const char *x, *y;
    memcpy(&x, a, sizeof x);
    memcpy(&y, b, sizeof y);
    if (whole(x) && whole(y)) {
        const long long p = strtoll(x, NULL, 10), q = strtoll(y, NULL, 10);
        if (p != q) return (p > q) - (p < q);
    }
    return strcmp(x, y);
}

rf_status rf__labelled_labels(rf__labelled *l, const rf_labels *from, rf_error *why)
{
    rf_status status = RF_OK;
    for (int64_t i = 0; i < from->n && !status; i++) status = learn(l, (rf__text){from->name[i], strlen(from->name[i])}, why);
    l->fixed = true;
    return status;
}

/* ---- a file in memory ---- */

typedef struct record { rf__text text, pair, label; uint64_t line; json_t *json; } record;
typedef struct file { const rf_ctx *ctx; const char *path; char *data; size_t size; record *record; size_t n, room; } file;

static void close_file(file *f)
{
    for (size_t i = 0; i < f->n; i++) json_decref(f->record[i].json);
    rf__free(f->ctx, f->record);
    rf__free(f->ctx, f->data);
}

static rf_status at_line(const file *f, uint64_t line, rf_error *why, const char *what)
{
    return rf_fail(why, RF_EDATA, "%s:%llu: %s", f->path, (unsigned long long)line, what);
}

static rf_status load(file *f, rf_error *why)
{
    rf__source *s;
    size_t room = 0, got = 1;
    rf_status status = rf__source_open(f->ctx, f->path, &s, why);
    if (status) return status;
    while (!status && got) {
        if (!rf__grow(f->ctx, &f->data, &room, f->size + (1 << 16) + 1, 1)) status = rf_fail(why, RF_ENOMEM, "out of memory: %s", f->path);
        if (!status) status = rf__source_read(s, f->data + f->size, 1 << 16, &got, why);
        if (!status) f->size += got;
    }
    rf__source_close(s);
    if (!status) f->data[f->size] = 0;
    return status;
}

static bool ends(const char *path, const char *end)
{
    char plain[4096];
    static const char *const packed[] = {".gz", ".zst"};
    snprintf(plain, sizeof plain, "%s", path);
    for (size_t i = 0; i < RF_COUNT(packed); i++) {
        const size_t n = strlen(plain), m = strlen(packed[i]);
        if (n > m && !strcmp(plain + n - m, packed[i])) plain[n - m] = 0;
    }
    const size_t n = strlen(plain), m = strlen(end);
    return n >= m && !strcmp(plain + n - m, end);
}

static rf_status add(file *f, record r, rf_error *why)
{
    if (!rf__grow(f->ctx, &f->record, &f->room, f->n + 1, sizeof *f->record)) {
        json_decref(r.json);
        return rf_fail(why, RF_ENOMEM, "out of memory: %zu examples", f->n);
    }
    f->record[f->n++] = r;
    return RF_OK;
}

/* ---- columns ---- */

enum { COLUMNS = 256 };

/* Cuts a line into fields, in place; CSV: doubled quotes become one.  Returns how many; *next is the line behind it. */
static size_t split(char *at, char *end, bool csv, rf__text field[COLUMNS], char **next, uint64_t *lines)
{
    size_t n = 0;
    *lines = 1;
    for (;;) {
        char *begin = at, *to = at;
        if (csv && *at == '"') {
            for (at++; at < end; at++) {
                if (*at == '"' && at[1] != '"') break;
                at += *at == '"';
                *lines += *at == '\n';
                *to++ = *at;
            }
            at += at < end;
            while (at < end && *at != ',' && *at != '\n') at++;
        } else {
            while (at < end && *at != '\n' && *at != (csv ? ',' : '\t')) at++;
            to = at;
            if (to > begin && to[-1] == '\r' && (at == end || *at == '\n')) to--;
        }
        if (n < COLUMNS) field[n++] = (rf__text){begin, (size_t)(to - begin)};
        if (at >= end || *at == '\n') break;
        at++;
    }
    *next = at < end ? at + 1 : end;
    return n;
}

static bool is(rf__text t, const char *name) { return strlen(name) == t.size && !memcmp(t.at, name, t.size); }

/* A column by name, by number, or by the first of the usual names that is there; -1: none. */
static int column(const char *wanted, const char *const *usual, const rf__text head[], size_t n)
{
    if (wanted && whole(wanted) && strtoll(wanted, NULL, 10) >= 1 && strtoll(wanted, NULL, 10) <= COLUMNS) return (int)strtoll(wanted, NULL, 10) - 1;
    for (size_t i = 0; i < n && wanted; i++)
        if (is(head[i], wanted)) return (int)i;
    for (; !wanted && *usual; usual++)
        for (size_t i = 0; i < n; i++)
            if (is(head[i], *usual)) return (int)i;
    return -1;
}

static rf_status read_table(const rf__labelled *l, file *f, bool wanted, rf_error *why)
{
    const bool csv = ends(f->path, ".csv");
    rf__text field[COLUMNS];
    char *at = f->data, *const end = f->data + f->size, *next;
    uint64_t line = 1, lines;
    if (f->size >= 3 && !memcmp(at, "\xef\xbb\xbf", 3)) at += 3;
    if (at == end) return rf_fail(why, RF_EDATA, "%s: is empty", f->path);
    const bool numbers = l->text && whole(l->text);
    size_t n = numbers ? 0 : split(at, end, csv, field, &next, &lines);
    const int text = column(l->text, usual_text, field, n), pair = l->text && !l->pair ? -1 : column(l->pair, usual_pair, field, n);
    const int label = column(l->label, usual_label, field, n);
    if (text < 0 || (label < 0 && wanted) || (l->pair && pair < 0))
        return rf_fail(why, RF_EDATA, "%s:1: no column %s; text_column, pair_column and label_column name them (or number them from 1, "
                       "in a file without names)", f->path, text < 0 ? l->text ? l->text : "text" : label < 0 ? l->label ? l->label : "label" : l->pair);
    if (!numbers) {
        at = next;
        line += lines;
    }
    rf_status status = RF_OK;
    const int most = rf__max64(text, rf__max64(pair, wanted ? label : -1)) > 0 ? (int)rf__max64(text, rf__max64(pair, wanted ? label : -1)) : 0;
    for (; at < end && !status; at = next, line += lines) {
        n = split(at, end, csv, field, &next, &lines);
        if (n == 1 && !field[0].size) continue;
        if (n <= (size_t)most) {
            char what[96];
            snprintf(what, sizeof what, "%zu columns, column %d is needed", n, most + 1);
            return at_line(f, line, why, what);
        }
        record r = {.text = field[text], .line = line};
        if (pair >= 0) r.pair = field[pair];
        if (label >= 0 && (size_t)label < n) r.label = field[label];
        status = add(f, r, why);
    }
    return status;
}

/* ---- JSON ---- */

static rf__text string_of(const json_t *j) { return (rf__text){json_string_value(j), json_string_length(j)}; }

static const json_t *member(const json_t *j, const char *wanted, const char *const *usual)
{
    if (wanted) return json_object_get(j, wanted);
    for (; *usual; usual++)
        if (json_object_get(j, *usual)) return json_object_get(j, *usual);
    return NULL;
}

/* A label that is a number becomes text, kept in the record. */
static rf__text label_of(json_t *j, const json_t *v)
{
    if (!v || json_is_null(v)) return (rf__text){0};
    if (json_is_string(v)) return string_of(v);
    char *text = json_dumps(v, JSON_ENCODE_ANY | JSON_REAL_PRECISION(17));
    json_t *kept = json_string(text ? text : "");
    free(text);
    json_object_set_new(j, "\x01label", kept);
    return string_of(kept);
}

static rf_status read_json(const rf__labelled *l, file *f, rf_error *why)
{
    char *at = f->data, *const end = f->data + f->size, *stop;
    uint64_t line = 1;
    rf_status status = RF_OK;
    for (; at < end && !status; at = stop + 1, line++) {
        stop = memchr(at, '\n', (size_t)(end - at));
        if (!stop) stop = end;
        if (strspn(at, " \t\r\n") >= (size_t)(stop - at)) continue;
        json_error_t bad;
        json_t *j = json_loadb(at, (size_t)(stop - at), 0, &bad);
        if (!json_is_object(j)) {
            json_decref(j);
            return at_line(f, line, why, "is not a JSON object");
        }
        record r = {.line = line, .json = j};
        const json_t *text = member(j, l->text, usual_text);
        if (text && json_is_string(text)) r.text = string_of(text);
        const json_t *pair = l->text && !l->pair ? NULL : member(j, l->pair, usual_pair);
        if (pair && json_is_string(pair)) r.pair = string_of(pair);
        r.label = label_of(j, member(j, l->label, usual_label));
        status = add(f, r, why);
    }
    return status;
}

/* Lines "word ... tag" become the same objects as those of a JSON file. */
static rf_status read_conll(file *f, rf_error *why)
{
    char *at = f->data, *const end = f->data + f->size;
    uint64_t line = 1;
    json_t *now = NULL;
    rf_status status = RF_OK;
    while (at < end && !status) {
        char *stop = memchr(at, '\n', (size_t)(end - at));
        char *e = stop ? stop : end;
        while (e > at && isspace((unsigned char)e[-1])) e--;
        if (e == at || !strncmp(at, "-DOCSTART-", 10)) {
            if (now) status = add(f, (record){.line = line, .json = now}, why);
            now = NULL;
        } else {
            char *word = at, *tag = e;
            while (word < e && !isspace((unsigned char)*word)) word++;
            while (tag > at && !isspace((unsigned char)tag[-1])) tag--;
            if (!now) now = json_pack("{s:[], s:[]}", "tokens", "tags");
            json_t *one = json_stringn(at, (size_t)(word - at)), *two = json_stringn(tag, (size_t)(e - tag));
            if (!one || !two || tag <= at) {
                json_decref(one);
                json_decref(two);
                json_decref(now);
                return at_line(f, line, why, "is not a word and its tag");
            }
            json_array_append_new(json_object_get(now, "tokens"), one);
            json_array_append_new(json_object_get(now, "tags"), two);
        }
        at = stop ? stop + 1 : end;
        line++;
    }
    return now && !status ? add(f, (record){.line = line, .json = now}, why) : status;
}

static rf_status open_file(const rf__labelled *l, const char *path, bool wanted, file *f, rf_error *why)
{
    *f = (file){.ctx = l->ctx, .path = path};
    rf_status status = load(f, why);
    const bool json = ends(path, ".jsonl") || ends(path, ".json");
    if (!status && l->task == RF_TASK_TAG && !json) status = read_conll(f, why);
    else if (!status && json) status = read_json(l, f, why);
    else if (!status && (l->task == RF_TASK_QA || l->task == RF_TASK_MC))
        status = rf_fail(why, RF_EUNSUPPORTED, "%s: examples of %s are read from .jsonl", path, l->task == RF_TASK_QA ? "qa" : "mc");
    else if (!status) status = read_table(l, f, wanted, why);
    if (!status && !f->n) status = rf_fail(why, RF_EDATA, "%s: holds no example", path);
    return status;
}

/* ---- from records to items ---- */

static const json_t *tags_of(const json_t *j)
{
    static const char *const names[] = {"tags", "ner_tags", "labels", NULL};
    return member(j, NULL, names);
}

/* Calls `one` for every label of a record. */
typedef rf_status each_label(void *user, rf__text name, rf_error *why);

static rf_status labels_of(const rf__labelled *l, const record *r, each_label *one, void *user, rf_error *why)
{
    const json_t *list = l->task == RF_TASK_TAG ? tags_of(r->json) : r->json ? member(r->json, l->label, usual_label) : NULL;
    rf_status status = RF_OK;
    if (json_is_array(list)) {
        for (size_t i = 0; i < json_array_size(list) && !status; i++) {
            const json_t *v = json_array_get(list, i);
            char number[32];
            snprintf(number, sizeof number, "%lld", (long long)json_integer_value(v));
            status = one(user, json_is_string(v) ? string_of(v) : (rf__text){number, strlen(number)}, why);
        }
        return status;
    }
    if (l->task != RF_TASK_MULTILABEL) return r->label.at ? one(user, r->label, why) : RF_OK;
    for (const char *at = r->label.at, *end = at ? at + r->label.size : at; at && at < end && !status;) {
        const char *stop = memchr(at, ',', (size_t)(end - at));
        if (!stop) stop = end;
        if (stop > at) status = one(user, (rf__text){at, (size_t)(stop - at)}, why);
        at = stop + 1;
    }
    return status;
}

static rf_status learn_one(void *user, rf__text name, rf_error *why) { return learn(user, name, why); }

typedef struct making { rf__labelled *l; const file *f; const record *r; bool wanted; int32_t *id; size_t n, room; } making;

static rf_status place_one(void *user, rf__text name, rf_error *why)
{
    making *m = user;
    char what[160];
    const int32_t id = find(m->l, name);
    if (id < 0 && m->wanted) {
        snprintf(what, sizeof what, "label '%.*s' is none of the %zu that training knows", (int)rf__min64((int64_t)name.size, 60), name.at, m->l->n);
        return at_line(m->f, m->r->line, why, what);
    }
    if (!rf__grow(m->l->ctx, &m->id, &m->room, m->n + 1, sizeof *m->id)) return rf_fail(why, RF_ENOMEM, "out of memory: labels");
    m->id[m->n++] = id;
    return RF_OK;
}

static rf_status number_of(const making *m, float *x, rf_error *why)
{
    char text[64], *end;
    snprintf(text, sizeof text, "%.*s", (int)rf__min64((int64_t)m->r->label.size, 63), m->r->label.at ? m->r->label.at : "");
    *x = (float)strtod(text, &end);
    if (end != text && !*end && isfinite(*x)) return RF_OK;
    *x = 0;
    return m->wanted ? at_line(m->f, m->r->line, why, "the label is not a finite number") : RF_OK;
}

static rf_status make_tags(making *m, rf__items *out, rf_error *why)
{
    const json_t *words = json_object_get(m->r->json, "tokens");
    const size_t n = json_array_size(words);
    if (!n || (m->wanted && m->n != n)) return at_line(m->f, m->r->line, why, "tokens and tags are not lists of one length");
    rf__text *word = rf__calloc(m->l->ctx, n, sizeof *word);
    if (!word || !rf__grow(m->l->ctx, &m->id, &m->room, n, sizeof *m->id)) {
        rf__free(m->l->ctx, word);
        return rf_fail(why, RF_ENOMEM, "out of memory: %zu words", n);
    }
    for (; m->n < n; m->n++) m->id[m->n] = -1;
    for (size_t i = 0; i < n; i++) {
        const json_t *w = json_array_get(words, i);
        word[i] = json_is_string(w) ? string_of(w) : (rf__text){"", 0};
    }
    const rf_status status = rf__items_words(out, word, m->id, n, why);
    rf__free(m->l->ctx, word);
    return status;
}

/* answer_start counts characters. */
static size_t bytes_of(rf__text t, json_int_t characters)
{
    size_t at = 0;
    for (; at < t.size && characters > 0; characters--)
        do at++;
        while (at < t.size && ((unsigned char)t.at[at] & 0xC0) == 0x80);
    return at;
}

static rf_status make_question(const making *m, rf__items *out, rf_error *why)
{
    const json_t *j = m->r->json, *question = json_object_get(j, "question"), *context = json_object_get(j, "context");
    const json_t *answers = json_object_get(j, "answers"), *text = json_array_get(json_object_get(answers, "text"), 0);
    const json_t *start = json_array_get(json_object_get(answers, "answer_start"), 0);
    if (!json_is_string(question) || !json_is_string(context)) return at_line(m->f, m->r->line, why, "no question or no context");
    size_t begin = 0, end = 0;
    if (json_is_string(text) && json_is_integer(start)) {
        const rf__text c = string_of(context), a = string_of(text);
        begin = bytes_of(c, json_integer_value(start));
        end = begin + a.size;
        if (end > c.size || memcmp(c.at + begin, a.at, a.size)) return at_line(m->f, m->r->line, why, "the answer is not in the context where answer_start says");
    }
    return rf__items_question(out, string_of(question), string_of(context), begin, end, why);
}

static rf_status make_choices(const making *m, rf__items *out, int32_t *label, rf_error *why)
{
    const json_t *choices = json_object_get(m->r->json, "choices"), *v = member(m->r->json, m->l->label, usual_label);
    const size_t n = json_array_size(choices);
    rf_status status = n && m->r->text.at ? RF_OK : at_line(m->f, m->r->line, why, "no text, or no list of choices");
    for (size_t i = 0; i < n && !status; i++) {
        const json_t *c = json_array_get(choices, i);
        status = json_is_string(c) ? rf__items_text(out, m->r->text, string_of(c), why) : at_line(m->f, m->r->line, why, "a choice is not a string");
    }
    *label = json_is_integer(v) ? (int32_t)json_integer_value(v) : -1;
    if (!status && m->wanted && (*label < 0 || (size_t)*label >= n)) status = at_line(m->f, m->r->line, why, "the label is not the number of a choice, from 0");
    return status;
}

static rf_status make(making *m, rf__items *out, rf_error *why)
{
    const rf_task task = m->l->task;
    int32_t label = -1;
    float number = 0, *target = NULL;
    m->n = 0;
    rf_error inner = {0};
    rf_status status = has_names(m->l) ? labels_of(m->l, m->r, place_one, m, why) : RF_OK;
    if (status) return status;
    if (task == RF_TASK_CLS && m->wanted && m->n != 1) return at_line(m->f, m->r->line, why, "no label");
    if (task == RF_TASK_REG) {
        if (number_of(m, &number, why)) return RF_EDATA;
        target = &number;
    }
    switch (task) {
    case RF_TASK_TAG: status = make_tags(m, out, why); break;
    case RF_TASK_QA:  status = make_question(m, out, why); break;
    case RF_TASK_MC:  status = make_choices(m, out, &label, why); break;
    default:
        if (!m->r->text.at) return at_line(m->f, m->r->line, why, "no text");
        status = rf__items_text(out, m->r->text, m->r->pair, &inner);
        if (status) return at_line(m->f, m->r->line, why, inner.text);
    }
    if (task == RF_TASK_CLS) label = m->n ? m->id[0] : -1;
    if (task == RF_TASK_MULTILABEL) {
        target = rf__calloc(m->l->ctx, m->l->n, sizeof *target);
        if (!target) return rf_fail(why, RF_ENOMEM, "out of memory: labels");
        for (size_t i = 0; i < m->n; i++)
            if (m->id[i] >= 0) target[m->id[i]] = 1;
    }
    if (!status) status = rf__items_end(out, label, target, why);
    if (task == RF_TASK_MULTILABEL) rf__free(m->l->ctx, target);
    return status;
}

/* Records of `part`: 0 all, 1 those that fold does not hold out, 2 those that it does. */
static rf_status fill(rf__labelled *l, const file *f, const rf_tokenizer *t, int64_t max_length, bool wanted, int part, rf__items *out,
                      rf_error *why)
{
    making m = {.l = l, .f = f, .wanted = wanted};
    const rf_key key = rf__key(l->o ? l->o->t.seed : 0, 0x666f6c64);
    rf_status status = RF_OK;
    rf__items_init(out, l->ctx, t, l->task, rf__labelled_outputs(l), max_length);
    for (size_t i = 0; i < f->n && !status; i++) {
        const int64_t of = part ? (int64_t)(rf__shuffled(i, f->n, key, 0) * (uint64_t)l->o->k_fold / f->n) : 0;
        if (part && (of == l->fold) != (part == 2)) continue;
        m.r = &f->record[i];
        status = make(&m, out, why);
    }
    rf__free(l->ctx, m.id);
    if (!status && !out->n) status = rf_fail(why, RF_EDATA, "%s: holds no example", f->path);
    return status;
}

static rf_status settle_labels(rf__labelled *l, const file *f, rf_error *why)
{
    rf_status status = RF_OK;
    const char *given = l->o->labels;
    if (!has_names(l)) return RF_OK;
    while (given && *given && !status) {
        const size_t n = strcspn(given, ",");
        status = learn(l, (rf__text){given, n}, why);
        given += n + (given[n] == ',');
    }
    for (size_t i = 0; i < f->n && !status && !l->o->labels; i++) status = labels_of(l, &f->record[i], learn_one, l, why);
    if (status) return status;
    if (!l->o->labels && l->n) qsort(l->name, l->n, sizeof *l->name, by_name);
    l->fixed = true;
    if (l->n < (l->task == RF_TASK_MULTILABEL ? 1u : 2u))
        return rf_fail(why, RF_EDATA, "%s: %zu label%s: nothing to tell apart", f->path, l->n, l->n == 1 ? "" : "s");
    return RF_OK;
}

rf_status rf__labelled_train(rf__labelled *l, const rf_tokenizer *t, int64_t max_length, rf__items *train, rf__items *dev, rf_error *why)
{
    file f;
    const bool folds = l->o->k_fold > 1;
    rf_status status = open_file(l, l->o->train, true, &f, why);
    if (!status) status = settle_labels(l, &f, why);
    if (!status) status = fill(l, &f, t, max_length, true, folds ? 1 : 0, train, why);
    if (!status && folds) status = fill(l, &f, t, max_length, true, 2, dev, why);
    close_file(&f);
    return status || folds || !l->o->dev ? status : rf__labelled_read(l, t, max_length, l->o->dev, true, dev, why);
}

rf_status rf__labelled_read(rf__labelled *l, const rf_tokenizer *t, int64_t max_length, const char *path, bool wanted, rf__items *out,
                            rf_error *why)
{
    file f;
    rf_status status = open_file(l, path, wanted, &f, why);
    if (!status) status = fill(l, &f, t, max_length, wanted, 0, out, why);
    close_file(&f);
    return status;
}
