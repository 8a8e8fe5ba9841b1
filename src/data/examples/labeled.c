/* labeled.c — converts records to items. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "data/examples/labeled.h"
#include "data/corpus/pieces.h"
#include "store/task.h"

enum { LABELS = 65536, NAME = 255, DIGITS = 63 };          /* labels; bytes of a label, of a number: at most          */

static rf_status read_header(const char *text, int *header, rf_error *why)
{
    static const char *const words[] = {[RF__HEADER_AUTO] = "", [RF__HEADER_YES] = "yes", [RF__HEADER_NO] = "no"};
    for (int i = 0; i < (int)RF_COUNT(words); i++)
        if (!strcmp(text ? text : "", words[i])) return *header = i, RF_OK;
    return rf_fail(why, RF_EARG, "header: expected yes or no, got '%.40s'", text);
}

/* Any character except those of words and numbers, quotes and line ends. */
static rf_status read_separator(const char *text, char *separator, rf_error *why)
{
    *separator = 0;
    if (!text || !*text) return RF_OK;
    if (!strcmp(text, "tab") || !strcmp(text, "\t")) return *separator = '\t', RF_OK;
    if (!text[1] && strchr(",;|:!#$%&*/~^", *text)) return *separator = *text, RF_OK;
    return rf_fail(why, RF_EARG, "separator: expected tab or one of , ; | : ! # $ %% & * / ~ ^, got '%.40s'", text);
}

rf_status rf__labeled_open(rf__labeled *l, const rf_ctx *ctx, const rf__preset *p, const rf_finetune_options *o,
                            rf_error *why)
{
    const int64_t fold = l->fold;
    *l = (rf__labeled){.ctx = ctx, .o = o, .fold = fold, .preset = *p, .format = p->format};
    int header = RF__HEADER_AUTO;
    char separator = 0;
    rf_status status = read_header(o->header, &header, why);
    if (!status) status = read_separator(o->separator, &separator, why);
    if (status) return status;
    const bool own = o->text_column || o->pair_column || o->label_column;
    l->layout = (rf__layout){
        .format = p->format,
        .text = o->text_column ? o->text_column : p->text,
        .pair = o->text_column || o->pair_column ? o->pair_column : p->pair,
        .label = o->label_column ? o->label_column : p->label,
        .id = o->id_column,
        .header = header,
        .separator = separator,
    };
    if (!own) memcpy(l->layout.bare, p->bare, sizeof p->bare);
    return RF_OK;
}

rf_status rf__labeled_check(const rf__labeled *l, const rf_finetune_options *o, const char *file, rf_error *why)
{
    const rf__example_format *f = l->format;
    const struct { const char *option, *given; bool effective; const char *what;
    } all[] = {
        {"header", o->header, l->tables > 0, "tables of fields"},
        {"separator", o->separator, l->tables > 0, "tables of fields"},
        {"text_column", o->text_column, f->text, "examples with a text in a column or member of its own"},
        {"pair_column", o->pair_column, f->pair, "examples with a second text in a column or member of its own"},
        {"label_column", o->label_column, f->label != RF__MEMBER_NONE,
         "examples with a label in a column or member of its own"},
        {"id_column", o->id_column, l->tables + l->objects > 0, "tables of fields and JSON"},
    };
    for (size_t i = 0; i < RF_COUNT(all); i++)
        if (all[i].given && !all[i].effective)
            return rf_fail(why, RF_EARG,
                           "%s: applies only to %s; %.150s, read for task %s, has none of them: leave the option out",
                           all[i].option, all[i].what, file, f->name);
    return RF_OK;
}

void rf__labeled_close(rf__labeled *l)
{
    if (l->ctx) rf__teacher_close(l->ctx, &l->teacher);
    for (size_t i = 0; i < l->n; i++) rf__free(l->ctx, l->name[i]);
    if (l->name) rf__free(l->ctx, l->name);
    l->name = NULL;
    l->n = l->capacity = 0;
}

static bool has_names(const rf__labeled *l) { return l->format->labels != NULL; }
const char *const *rf__labeled_names(const rf__labeled *l)
{
    return has_names(l) ? (const char *const *)l->name : NULL;
}

int64_t rf__labeled_outputs(const rf__labeled *l)
{
    return l->format->outputs ? l->format->outputs((int64_t)l->n) : has_names(l) ? (int64_t)l->n : 1;
}

const char *rf__metric_bare(const char *name) { return strncmp(name, "eval_", 5) ? name : name + 5; }

/* ---- the set of labels ---- */

/* The number k of "k" or, with `named`, of "LABEL_k"; -1: it is neither. */
static int32_t number_of(rf__text name, bool named)
{
    static const char label[] = "LABEL_";
    const size_t skip = named && name.size >= sizeof label && !memcmp(name.at, label, sizeof label - 1)
                            ? sizeof label - 1 : 0;
    int32_t k = 0;
    if (name.size == skip || name.size > skip + 6) return -1;
    for (size_t i = skip; i < name.size; i++) {
        if (name.at[i] < '0' || name.at[i] > '9') return -1;
        k = 10 * k + name.at[i] - '0';
    }
    return k;
}

static int32_t find(const rf__labeled *l, rf__text name)
{
    for (size_t i = 0; i < l->n; i++) {
        const rf__text own = rf__trim((rf__text){l->name[i], strlen(l->name[i])});  /* a folder's need not be trimmed */
        if (own.size == name.size && !memcmp(own.at, name.at, name.size)) return (int32_t)i;
    }
    const int32_t k = l->unnamed ? number_of(name, false) : -1;
    return k < (int32_t)l->n ? k : -1;
}

static rf_status learn(rf__labeled *l, rf__text name, rf_error *why)
{
    if (l->fixed || !name.size || name.size > NAME || find(l, name) >= 0) return RF_OK;
    if (l->n >= LABELS)
        return rf_fail(why, RF_EDATA, "labels: expected at most %d different labels, got more; check label_column",
                       LABELS);
    char *copy =
        rf__grow(l->ctx, &l->name, &l->capacity, l->n + 1, sizeof *l->name) ? rf__alloc(l->ctx, name.size + 1) : NULL;
    if (!copy) return rf_fail(why, RF_ENOMEM, "out of memory: %zu labels", l->n);
    memcpy(copy, name.at, name.size);
    copy[name.size] = 0;
    l->name[l->n++] = copy;
    return RF_OK;
}

/* Numbers by value, then names by bytes. */
static int by_name(const void *a, const void *b)
{
    const char *x, *y;
    memcpy(&x, a, sizeof x);
    memcpy(&y, b, sizeof y);
    const bool p = rf__is_number(x), q = rf__is_number(y);
    if (p != q) return q - p;
    if (p && q) {
        const long long i = strtoll(x, NULL, 10), k = strtoll(y, NULL, 10);
        if (i != k) return (i > k) - (i < k);
    }
    return strcmp(x, y);
}

rf_status rf__labeled_labels(rf__labeled *l, const rf_labels *from, rf_error *why)
{
    rf_status status = RF_OK;
    for (int64_t i = 0; i < from->n && !status; i++)
        status = learn(l, (rf__text){from->name[i], strlen(from->name[i])}, why);
    l->fixed = true;
    l->unnamed = rf__labels_unnamed(from);
    return status;
}

/* Whether the labels of the examples are outputs of l->head, by their numbers or as LABEL_k. */
static bool are_of_head(const rf__labeled *l)
{
    bool all = l->head && !l->format->outputs;
    for (size_t i = 0; i < l->n && all; i++) {
        const int32_t k = number_of((rf__text){l->name[i], strlen(l->name[i])}, true);
        all = k >= 0 && k < l->head->n;
    }
    return all;
}

/* An integer in a list is an index into the known labels, unless the labels are numbers. */
static rf__text name_at(const rf__labeled *l, json_int_t i, char number[32])
{
    bool numbers = !l->fixed || i < 0 || i >= (json_int_t)l->n;
    for (size_t k = 0; k < l->n && !numbers; k++) numbers = rf__is_number(l->name[k]);
    snprintf(number, 32, "%lld", (long long)i);
    const char *name = numbers ? number : l->name[i];
    return rf__trim((rf__text){name, strlen(name)});
}

rf_status rf__labels_list(const rf__labeled *l, const json_t *list, rf__label_fn *one, void *user, rf_error *why)
{
    rf_status status = RF_OK;
    for (size_t i = 0; i < json_array_size(list) && !status; i++) {
        const json_t *v = json_array_get(list, i);
        char number[32];
        json_int_t place;
        status = one(user, json_is_string(v) ? rf__trim(rf__json_string(v))
                         : rf__json_whole(v, &place) ? name_at(l, place, number) : (rf__text){0}, why);
    }
    return status;
}

rf_status rf__labels_column(const rf__labeled *l, const rf__file_record *r, rf__label_fn *one, void *user,
                            rf_error *why)
{
    (void)l;
    return r->label.at ? one(user, r->label, why) : RF_OK;
}

static rf_status labels_of(const rf__labeled *l, const rf__file_record *r, rf__label_fn *one, void *user,
                           rf_error *why)
{
    return l->format->labels(l, r, one, user, why);
}

static rf_status learn_one(void *user, rf__text name, rf_error *why) { return learn(user, name, why); }

/* "no, yes" */
static rf_status learn_given(rf__labeled *l, const char *given, rf_error *why)
{
    for (const char *at = given; at;) {
        const size_t n = strcspn(at, ",");
        const rf__text name = rf__trim((rf__text){at, n});
        if (name.size > NAME) return rf_fail(why, RF_EARG, "labels: expected at most %d bytes, got a label of %zu",
                                             NAME, name.size);
        if (!name.size) return rf_fail(why, RF_EARG,
                                       "labels: expected names with commas between them, got an empty name in "
                                       "\"%.80s\"", given);
        if (find(l, name) >= 0) return rf_fail(why, RF_EARG, "labels: expected each label once, got '%s' twice",
                                               rf__show(name, 60).text);
        if (learn(l, name, why)) return why ? why->code : RF_ENOMEM;
        at = at[n] ? at + n + 1 : NULL;
    }
    return RF_OK;
}

typedef struct counting { const rf__labeled *l; size_t *count; bool again; } counting;

static rf_status count_one(void *user, rf__text name, rf_error *why)
{
    const counting *c = user;
    const int32_t id = find(c->l, name);
    (void)why;
    if (id >= 0) c->count[id]++;
    return RF_OK;
}

static rf_status second_label(void *user, rf__text name, rf_error *why)
{
    counting *c = user;
    const int32_t id = find(c->l, name);
    (void)why;
    c->again |= id < 0 || c->count[id] > 1;
    return RF_OK;
}

/* A label that only occurs in the first line may be the name of its column. */
static rf_status check_first(const rf__labeled *l, const rf__records *r, rf_error *why)
{
    rf_status status = RF_OK;
    if (!r->assumed || r->n < 2 || r->record[0].line > 1 || !r->record[0].label.size) return RF_OK;
    counting c = {l, rf__calloc(l->ctx, l->n + 1, sizeof *c.count), false};
    if (!c.count) return rf_fail(why, RF_ENOMEM, "out of memory: %zu labels", l->n);
    for (size_t i = 0; i < r->n && !status; i++) status = labels_of(l, &r->record[i], count_one, &c, why);
    if (!status) status = labels_of(l, &r->record[0], second_label, &c, why);
    rf__free(l->ctx, c.count);
    if (status || c.again) return status;
    return rf_fail(why, RF_EDATA,
                   "%.150s:1: label '%s' occurs only here, so this may be a header; give --header yes to skip the "
                   "line, or --header no to read it as an example", r->path, rf__show(r->record[0].label, 60).text);
}

/* The order of labels that are names must be given by the caller. */
static rf_status check_order(const rf__labeled *l, const rf__records *r, rf_error *why)
{
    for (size_t i = 0; i < l->n && l->format->ordered; i++)
        if (!rf__is_number(l->name[i]))
            return rf_fail(why, RF_EDATA,
                           "%.150s: expected whole numbers as ordered labels, got '%.60s'; give their order with "
                           "--labels", r->path, l->name[i]);
    return RF_OK;
}

static rf_status resolve_labels(rf__labeled *l, const rf__records *r, rf_error *why)
{
    rf_status status = RF_OK;
    const char *given = l->o->labels ? l->o->labels : l->preset.labels;
    const bool discover = !given;
    if (!has_names(l) || l->fixed) return RF_OK;
    if (given) status = learn_given(l, given, why);
    for (size_t i = 0; i < r->n && !status && discover; i++) status = labels_of(l, &r->record[i], learn_one, l, why);
    if (status) return status;
    if (discover && (status = check_first(l, r, why))) return status;
    if (discover && (status = check_order(l, r, why))) return status;
    if (discover && l->n) qsort(l->name, l->n, sizeof *l->name, by_name);
    if (discover && l->n && are_of_head(l)) {
        while (l->n) rf__free(l->ctx, l->name[--l->n]);
        if ((status = rf__labeled_labels(l, l->head, why))) return status;
    }
    l->fixed = true;
    if (l->n >= l->format->least_labels) return RF_OK;
    if (r->bad) return rf__records_judge(r, 0, why);
    if (!l->n) return rf_fail(why, RF_EDATA, "%.150s: expected labels, got no example with one", r->path);
    return rf_fail(why, RF_EDATA, "%.150s: expected at least two labels, got only '%.60s'", r->path, l->name[0]);
}

/* ---- one example ---- */

/* "0, 1, 2" */
static void list_names(const rf__labeled *l, char *out, size_t size)
{
    *out = 0;
    for (size_t i = 0; i < l->n; i++)
        rf__list_add(out, size, rf__show((rf__text){l->name[i], strlen(l->name[i])}, 50).text);
}

static rf_status add_label(void *user, rf__text name, rf_error *why)
{
    rf__example *m = user;
    char all[200];
    if (!name.at) return RF__EXAMPLE_BAD(m, "label: expected a string or an integer, got another value"), RF_OK;
    if (name.size > NAME) return RF__EXAMPLE_BAD(m, "label: expected at most %d bytes, got %zu", NAME,
                                                 name.size), RF_OK;
    if (!name.size) return RF__EXAMPLE_BAD(m, "label: expected a text, got an empty one"), RF_OK;
    const int32_t id = find(m->l, name);
    if (id < 0) {
        list_names(m->l, all, sizeof all);
        const bool header = m->r->assumed && m->record->line == 1;
        return RF__EXAMPLE_BAD(m, "label: expected one of the %zu known labels (%s), got '%s'%s", m->l->n, all,
                               rf__show(name, 60).text, header ? "; --header yes skips this line" : ""), RF_OK;
    }
    if (!rf__grow(m->l->ctx, &m->id, &m->capacity, m->n + 1, sizeof *m->id))
        return rf_fail(why, RF_ENOMEM, "out of memory: labels");
    m->id[m->n++] = id;
    return RF_OK;
}

void rf__example_label(rf__example *m, int32_t *id)
{
    *id = -1;
    if (!m->with_labels) return;
    if (m->n != 1 && !m->bad) RF__EXAMPLE_BAD(m, "no label");
    if (!m->bad) *id = m->id[0];
}

double rf__example_number(rf__example *m, const char *what)
{
    const rf__text t = m->record->label;
    char text[DIGITS + 1], *end;
    if (t.size > DIGITS)
        return RF__EXAMPLE_BAD(m, "the %s has %zu characters, a number has at most %d", what, t.size, DIGITS), 0;
    if (t.size) memcpy(text, t.at, t.size);
    text[t.size] = 0;
    const double x = strtod(text, &end);
    if (t.size && !*end && strspn(text, "0123456789+-.eE") == t.size && isfinite((float)x)) return x;
    return RF__EXAMPLE_BAD(m, "the %s '%s' is not a finite number", what, rf__show(t, 60).text), 0;
}

static rf_status make(rf__example *m, rf__items *out, rf_error *why)
{
    m->n = 0;
    m->bad = false;
    const rf_status status = has_names(m->l) && m->with_labels ? labels_of(m->l, m->record, add_label, m, why) : RF_OK;
    return status ? status : m->l->format->example(m, out, why);
}

/* ---- all examples ---- */

/* fold[i] is the part that holds out record i. Records are sorted by class (for tasks with one label per text;
 * otherwise there is a single class), shuffled within each class, and distributed like cards:
 *
 *     record at place j of that order -> part j mod K
 *
 * The sizes of two parts therefore differ by at most one, and so do the numbers of a class in them. A function of seed
 * and file. */
static rf_status deal(const rf__labeled *l, const rf__records *r, int64_t fold[], rf_error *why)
{
    const rf_key key = rf__make_key(l->o->t.seed, 0x666f6c64);
    const size_t classes = l->format->stratified ? l->n + 1 : 1;        /* the last class: labels that are malformed */
    int64_t *class = rf__alloc(l->ctx, r->n * sizeof *class);
    size_t *order = rf__alloc(l->ctx, r->n * sizeof *order), *next = rf__calloc(l->ctx, classes + 1, sizeof *next);
    const bool fine = class && order && next;
    for (size_t i = 0; fine && i < r->n; i++) {
        class[i] = classes > 1 ? find(l, r->record[i].label) : 0;
        if (class[i] < 0) class[i] = (int64_t)l->n;
        order[rf__shuffled(i, r->n, key, 0)] = i;
        next[class[i] + 1]++;
    }
    for (size_t k = 0; fine && k < classes; k++) next[k + 1] += next[k];                /* where each class begins */
    for (size_t j = 0; fine && j < r->n; j++)
        fold[order[j]] = (int64_t)(next[class[order[j]]]++ % (size_t)l->o->k_fold);
    rf__free(l->ctx, class);
    rf__free(l->ctx, order);
    rf__free(l->ctx, next);
    return fine ? RF_OK : rf_fail(why, RF_ENOMEM, "out of memory: folds of %zu examples", r->n);
}

/* Adds the records for which fold[i] is (`held`) or is not the part that this run holds out; fold NULL: all. `held`:
 * not for training. */
static rf_status fill(rf__labeled *l, rf__records *r, const rf_tokenizer *t, int64_t max_length, bool with_labels,
                      const int64_t fold[], bool held, rf__items *out, rf_error *why)
{
    rf__example m = {.l = l, .r = r, .with_labels = with_labels, .held = held};
    rf_status status = RF_OK;
    const int64_t outputs = rf__labeled_outputs(l);
    rf__items_init(out, l->ctx, t, l->format, outputs, max_length);
    out->doc_stride = l->o->doc_stride;
    out->nothing = l->nothing;
    out->prompt = l->prompt;
    out->teacher = l->taught ? &l->teacher : NULL;
    if (!(m.target = rf__calloc(l->ctx, outputs > 0 ? (size_t)outputs : 1, sizeof *m.target)))
        return rf_fail(why, RF_ENOMEM, "out of memory: labels");
    for (size_t i = 0; i < r->n && !status; i++) {
        if (fold && (fold[i] == l->fold) != held) continue;
        m.record = &r->record[i];
        status = make(&m, out, why);
    }
    rf__free(l->ctx, m.id);
    rf__free(l->ctx, m.target);
    return status;
}

/* The id of a record as text; `number` is space for a number. */
static rf__text name_of(const rf__labeled *l, const rf__file_record *r, char number[32], bool *integer)
{
    const json_t *id = r->id.at ? NULL : rf__record_id(r->json, l->layout.id);
    json_int_t whole;
    *integer = rf__json_whole(id, &whole);
    if (!*integer) return r->id;
    snprintf(number, 32, "%lld", (long long)whole);
    return (rf__text){number, strlen(number)};
}

/* For prediction, every record is an example, which keeps its id. */
static rf_status keep_names(const rf__labeled *l, const rf__records *r, rf__items *out, rf_error *why)
{
    char number[32];
    size_t size = 0, n = 0, integers = 0;
    bool integer;
    if (r->n != rf__items_asked(out)) return RF_OK;                       /* a malformed line, which ends the reading */
    for (size_t i = 0; i < r->n; i++, integers += integer) {
        const rf__text name = name_of(l, &r->record[i], number, &integer);
        n += name.size > 0;
        size += name.size;
    }
    if (!n) return RF_OK;
    out->numbers = integers == r->n;
    out->name = rf__alloc(l->ctx, size);
    out->name_at = rf__calloc(l->ctx, r->n + 1, sizeof *out->name_at);
    if (!out->name || !out->name_at) return rf_fail(why, RF_ENOMEM, "out of memory: ids of %zu examples", r->n);
    for (size_t i = 0; i < r->n; i++) {
        const rf__text name = name_of(l, &r->record[i], number, &integer);
        if (name.size) memcpy(out->name + out->name_at[i], name.at, name.size);
        out->name_at[i + 1] = out->name_at[i] + name.size;
    }
    return RF_OK;
}

/* Checks the whole file: whether so many malformed lines are allowed, and whether there is an example. */
static rf_status judge(rf__labeled *l, const rf__records *r, bool with_labels, const rf__items *out, rf_error *why)
{
    const int64_t most = !with_labels ? 0 : l->o->max_bad_lines ? l->o->max_bad_lines : l->preset.bad;
    const rf_status status = rf__records_judge(r, most, why);
    if (status) return status;
    if (!out->n) return rf_fail(why, RF_EDATA, "%.150s: expected examples, got none", r->path);
    if (l->hot == 2 && l->n == 2)
        return rf_fail(why, RF_EDATA, "%.150s: labels: expected names or ids of labels, got %lld times 0 or 1 in each "
                       "list; one number for each label is written 0.0 or 1.0", r->path, (long long)l->hot);
    l->hot = 0;
    if (r->bad && !l->bad) l->first = r->first;
    if (r->unread.size)
        snprintf(l->unread, sizeof l->unread, "%.*s", (int)rf__min64((int64_t)r->unread.size, 60), r->unread.at);
    l->bad += r->bad;
    l->empty += r->empty;
    return RF_OK;
}

/* Fills the training items with the whole file or this run's part of it, and the dev items with the rest. */
static rf_status fill_training(rf__labeled *l, rf__records *r, const rf_tokenizer *t, int64_t max_length,
                               rf__items *train, rf__items *dev, rf_error *why)
{
    const long long folds = l->o->k_fold > 1 ? (long long)l->o->k_fold : 0;
    int64_t *fold = NULL;
    rf_status status = RF_OK;
    if (folds && !(fold = rf__alloc(l->ctx, r->n * sizeof *fold)))
        return rf_fail(why, RF_ENOMEM, "out of memory: folds of %zu examples", r->n);
    if (folds) status = deal(l, r, fold, why);
    if (!status) status = fill(l, r, t, max_length, true, fold, false, train, why);
    l->nothing = train->nothing = train->unanswered > 0;
    if (!status && folds) status = fill(l, r, t, max_length, true, fold, true, dev, why);
    if (!status && folds && !dev->n && r->bad) status = rf__records_judge(r, 0, why);
    if (!status && folds && !dev->n)
        status = rf_fail(why, RF_EDATA, "%.150s: expected at least one example per fold, got too few for %lld folds",
                         r->path, folds);
    rf__free(l->ctx, fold);
    return status;
}

/* The teacher has vectors for each example, so no line may be skipped. */
static rf_status open_teacher(rf__labeled *l, const rf__records *r, rf_error *why)
{
    const int64_t each = l->format->taught;
    if (!l->o->teacher || !each) return RF_OK;
    rf_status status = rf__records_judge(r, 0, why);
    if (!status) status = rf__teacher_open(l->ctx, l->o->teacher, &l->teacher, why);
    if (status) return status;
    if (l->teacher.rows % each || (size_t)(l->teacher.rows / each) != r->n)
        return rf_fail(why, RF_EDATA,
                       "%.150s: expected %lld vectors, %s for each example of %.150s, got %lld", l->o->teacher,
                       (long long)each * (long long)r->n, each == 1 ? "one" : "two (one for each text)", r->path,
                       (long long)l->teacher.rows);
    l->taught = true;
    return RF_OK;
}

/* Records the kind of the file, and whether its examples are pairs. */
static void note_form(rf__labeled *l, const rf__records *r)
{
    size_t pairs = 0;
    for (size_t i = 0; i < r->n; i++) pairs += r->record[i].pair.at != NULL;
    l->pairs = r->n && pairs == r->n;
    l->tables += r->table;
    l->objects += r->json;
}

rf_status rf__labeled_train(rf__labeled *l, const rf_tokenizer *t, int64_t max_length, rf__items *train,
                             rf__items *dev, rf_error *why)
{
    rf__records r;
    const bool folds = l->o->k_fold > 1;
    l->layout.with_labels = true;
    rf_status status = rf__records_read(&r, l->ctx, l->o->train, &l->layout, why);
    if (!status && !r.n) status = rf__records_judge(&r, 0, why);
    if (!status && folds && r.n < (size_t)l->o->k_fold)
        status = rf_fail(why, RF_EDATA, "%.150s: expected at least one example for each of %lld folds, got %zu",
                         r.path, (long long)l->o->k_fold, r.n);
    if (!status) status = resolve_labels(l, &r, why);
    if (!status) status = open_teacher(l, &r, why);
    if (!status) status = fill_training(l, &r, t, max_length, train, dev, why);
    if (!status && l->taught) status = rf__records_judge(&r, 0, why);
    if (!status) status = judge(l, &r, true, train, why);
    l->taught = false;
    note_form(l, &r);
    l->layout.pairs |= l->format->pair && l->pairs;
    rf__records_free(&r);
    return status || folds || !l->o->dev ? status : rf__labeled_read(l, t, max_length, l->o->dev, true, dev, why);
}

rf_status rf__labeled_items(rf__labeled *l, const rf_tokenizer *t, int64_t max_length, rf__records *r,
                             bool with_labels, rf__items *out, rf_error *why)
{
    rf_status status = r->n ? resolve_labels(l, r, why) : rf__records_judge(r, 0, why);
    if (!status) status = fill(l, r, t, max_length, with_labels, NULL, true, out, why);
    if (!status && !with_labels) status = keep_names(l, r, out, why);
    note_form(l, r);
    return status ? status : judge(l, r, with_labels, out, why);
}

rf_status rf__labeled_read(rf__labeled *l, const rf_tokenizer *t, int64_t max_length, const char *path,
                            bool with_labels, rf__items *out, rf_error *why)
{
    rf__records r;
    l->layout.with_labels = with_labels;
    rf_status status = rf__records_read(&r, l->ctx, path, &l->layout, why);
    if (!status) status = rf__labeled_items(l, t, max_length, &r, with_labels, out, why);
    rf__records_free(&r);
    return status;
}
