/* records.c — reads labeled files, and tables of fields (rows.c). */
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <strings.h>

#include "text/unicode/unicode.h"
#include "data/examples/records.h"
#include "data/documents/source.h"
#include "roformer/inspect/files.h"

enum { COLUMNS = RF_TABLE_COLUMNS, LINE = 64 << 20 };
typedef rf_table_row row;

const char *const rf__usual_text[] = {"text",     "sentence",  "sentence1", "text_a",
                                      "question", "question1", "premise",   "anchor",
                                      "query",    NULL};
const char *const rf__usual_pair[] = {"pair", "text_pair", "sentence2", "text_b", "question2", "hypothesis", "positive",
                                      NULL};
const char *const rf__usual_id[] = {"id", "idx", "index", "guid", "qid", NULL};
const char *const rf__usual_label[] = {"label", "labels", "score", "gold_label", "target", "class", NULL};

bool rf__is_number(const char *s)
{
    return *s && strspn(s + (*s == '-'), "0123456789") == strlen(s + (*s == '-')) && s[*s == '-'];
}

/* ---- messages ---- */

rf__shown rf__show(rf__text t, size_t most)
{
    rf__shown s = {""};
    size_t n = t.size < most ? t.size : most;
    if (n > sizeof s.text - 1) n = sizeof s.text - 1;
    while (n && n < t.size && ((unsigned char)t.at[n] & 0xC0) == 0x80) n--;
    for (size_t i = 0; i < n; i++) s.text[i] = (unsigned char)t.at[i] < 32 || t.at[i] == 127 ? '?' : t.at[i];
    for (size_t i = 0; (i += rf_utf8_check(s.text + i, n - i)) < n;) s.text[i] = '?';
    s.text[n] = 0;
    return s;
}

/* The end of a long path is more informative than its beginning. */
static const char *short_path(const rf__records *r)
{
    const size_t n = strlen(r->path);
    return n > 120 ? r->path + n - 120 : r->path;
}

void rf__records_bad(rf__records *r, uint64_t line, const char *format, ...)
{
    char what[240];
    va_list args;
    if (r->bad && r->bad_line == line) return;
    r->bad_line = line;
    if (r->bad++ && line > r->first_line) return;
    r->first_line = line;
    r->first.code = RF_OK;
    va_start(args, format);
    vsnprintf(what, sizeof what, format, args);
    va_end(args);
    rf_fail(&r->first, RF_EDATA, "%s%s%llu: %s", short_path(r), r->document ? ": example " : ":",
            (unsigned long long)line, what);
}

rf_status rf__records_judge(const rf__records *r, int64_t most, rf_error *why)
{
    if (r->bad > (uint64_t)most && r->bad > 1)
        return rf_fail(why, RF_EDATA, "%.230s (and %llu more such lines%s)", r->first.text,
                       (unsigned long long)r->bad - 1, r->with_labels ? "; max_bad_lines skips some" : "");
    if (r->bad > (uint64_t)most) return rf_fail(why, RF_EDATA, "%s", r->first.text);
    return r->n ? RF_OK : rf_fail(why, RF_EDATA, "%s: expected an example, got none", short_path(r));
}

bool rf__records_clean(rf__records *r, uint64_t line, const char *at, size_t size)
{
    const char *nul = memchr(at, 0, size);
    const size_t fine = rf_utf8_check(at, size), bad = nul && (size_t)(nul - at) < fine ? (size_t)(nul - at) : fine;
    size_t begin = 0;
    if (bad == size) return true;
    for (size_t i = 0; i < bad; i++)
        if (at[i] == '\n') {
            line++;
            begin = i + 1;
        }
    if (bad < fine) rf__records_bad(r, line, "byte %zu of the line is NUL, which no text holds", bad - begin + 1);
    else
        rf__records_bad(r, line, "byte %zu of the line (0x%02X) is not UTF-8%s", bad - begin + 1,
                        (unsigned)(unsigned char)at[bad], rf_utf8_advice(at + begin, size - begin));
    return false;
}

rf_status rf__records_no_column(const rf__records *r, const char *what, const char *expected, const rf__text names[],
                                size_t n, rf_error *why)
{
    char all[140] = "", name[128] = "";
    size_t used = 0, best = 0;
    int least = 1 << 20;
    for (size_t i = 0; i < n; i++) {
        const int d = expected ? rf__edit_distance(expected, strlen(expected), names[i].at, names[i].size) : 0;
        if (expected && d < least) {
            least = d;
            best = i;
        }
        const rf__shown s = rf__show(names[i], 40);
        if (used + strlen(s.text) + 8 < sizeof all)
            used += (size_t)snprintf(all + used, sizeof all - used, "%s%s", i ? ", " : "", s.text);
        else if (used && all[used - 1] != '.') used += (size_t)snprintf(all + used, sizeof all - used, ", ...");
    }
    if (expected && n && least <= (int)strlen(expected) / 2)
        snprintf(name, sizeof name, "; the nearest is '%s'", rf__show(names[best], 40).text);
    if (expected) return rf_fail(why, RF_EDATA, "%s: expected a column '%s' for the %s, got %s%s", short_path(r),
                               rf__show((rf__text){expected, strlen(expected)}, 40).text, what, all, name);
    const char *usual = *what == 't' ? "text" : *what == 'p' ? "pair" : "label";
    return rf_fail(why, RF_EDATA, "%s: expected a column '%s' for the %s, got %s; %s_column takes another name, or a "
                   "number", short_path(r), usual, what, all, usual);
}

/* ---- the bytes ---- */

rf_status rf__records_add(rf__records *r, rf__file_record record, rf_error *why)
{
    if (!rf__grow(r->ctx, &r->record, &r->capacity, r->n + 1, sizeof *r->record)) {
        json_decref(record.json);
        return rf_fail(why, RF_ENOMEM, "out of memory: %zu examples", r->n);
    }
    record.label = rf__trim(record.label);
    r->record[r->n++] = record;
    r->empty += r->blank;
    r->blank = 0;
    return RF_OK;
}

void rf__records_free(rf__records *r)
{
    if (!r->ctx) return;
    for (size_t i = 0; i < r->n; i++) json_decref(r->record[i].json);
    rf__free(r->ctx, r->record);
    rf__free(r->ctx, r->data);
    *r = (rf__records){0};
}

/* Reads the whole file; a line without end is refused before it fills the memory. */
static rf_status load(rf__records *r, rf_source *s, rf_error *why)
{
    enum { BLOCK = 1 << 16 };
    size_t capacity = 0, got = 1, begin = 0;
    uint64_t line = 1;
    rf_status status = RF_OK;
    while (!status && got) {
        if (!rf__grow(r->ctx, &r->data, &capacity, r->size + BLOCK + 1, 1))
            return rf_fail(why, RF_ENOMEM, "out of memory: %s", short_path(r));
        status = rf_source_read(s, r->data + r->size, BLOCK, &got, why);
        for (size_t i = r->size; !status && i < r->size + got; i++)
            if (r->data[i] == '\n') {
                line++;
                begin = i + 1;
            }
        if (!status) r->size += got;
        if (!status && r->size - begin > LINE)
            return rf_fail(why, RF_EDATA, "%s:%llu: expected a line of at most %d MiB, got a longer one", short_path(r),
                           (unsigned long long)line, LINE >> 20);
    }
    if (!status) r->data[r->size] = 0;
    if (!status && r->size >= 3 && !memcmp(r->data, "\xef\xbb\xbf", 3)) r->at = 3;
    if (!status && r->at == r->size)
        return rf_fail(why, RF_EDATA, "%s: expected a file with examples, got an empty one", short_path(r));
    return status;
}

/* Refuses lines that end with CR alone; `one`: a JSON document, in which a CR is white space. */
static rf_status check_line_ends(const rf__records *r, bool one, rf_error *why)
{
    const char *cr = memchr(r->data, '\r', r->size);
    if (one || !cr || cr + 1 == r->data + r->size || memchr(r->data, '\n', r->size)) return RF_OK;
    return rf_source_no_lines(short_path(r), why);
}

/* ---- columns ---- */

typedef struct dialect { char separator; bool quotes; } dialect;

typedef struct fields {
    int text, pair, label, id;          /* from 0, -1: none                                                           */
    size_t fields;                      /* fields of a row, 0: any number                                             */
    bool one;                           /* the table has one column, so an empty line is an empty field               */
} fields;

static bool is(rf__text t, const char *name) { return strlen(name) == t.size && !memcmp(t.at, name, t.size); }

static int numbered(const char *s)
{
    return s && rf__is_number(s) ? (int)rf__min64(strtoll(s, NULL, 10), COLUMNS + 1) : 0;
}

/* Finds a column by name, by number, or by the first of the default names; -1: none, -2: two of that name. */
static int column(const char *expected, const char *const *usual, const row *head)
{
    const char *const one[] = {expected, NULL};
    if (expected && numbered(expected) >= 1 && numbered(expected) <= COLUMNS) return numbered(expected) - 1;
    for (usual = expected ? one : usual; *usual; usual++) {
        int found = -1;
        for (size_t i = 0; i < head->n; i++)
            if (is(head->field[i], *usual)) found = found == -1 ? (int)i : -2;
        if (found != -1) return found;
    }
    return -1;
}

static rf_status check_column(const rf__records *r, int found, const char *what, const char *expected, const row *head,
                              rf_error *why)
{
    if (found >= 0 && (!head->n || (size_t)found < head->n)) return RF_OK;
    if (found >= 0)
        return rf_fail(why, RF_EDATA, "%s: expected column %d for the %s, got a header of %zu columns", short_path(r),
                       found + 1, what, head->n);
    if (found == -2)
        return rf_fail(why, RF_EDATA, "%s: header: expected one column for the %s, got two", short_path(r), what);
    return rf__records_no_column(r, what, expected, head->field, head->n, why);
}

/* If all named columns are numbers, the table has no header, unless the caller says that it has one. */
static rf_status by_number(const rf__layout *l, const rf__records *r, fields *p, bool *all, rf_error *why)
{
    const char *const given[] = {l->text, l->pair, l->label, l->id};
    int at[] = {-1, -1, -1, -1};
    *all = l->text != NULL && l->header != RF__HEADER_YES;
    for (size_t i = 0; i < RF_COUNT(given); i++) {
        if (!given[i]) continue;
        if (!rf__is_number(given[i])) *all = false;
        else if (numbered(given[i]) < 1 || numbered(given[i]) > COLUMNS)
            return rf_fail(why, RF_EARG, "columns: expected a number from 1 to %d, got %.40s", COLUMNS, given[i]);
        else at[i] = numbered(given[i]) - 1;
    }
    if (*all && l->with_labels && !l->label && !rf__label_may_lack(l->format->label))
        return rf_fail(why, RF_EARG,
                       "%s: label_column: expected a number, as in text_column, got none; use a number, or header yes",
                       short_path(r));
    *p =
        (fields){.text = at[0], .pair = at[1], .label = l->with_labels ? at[2] : -1, .id = l->with_labels ? -1 : at[3]};
    return RF_OK;
}

static bool usual(const row *head, int at, const char *const *names)
{
    for (; at >= 0 && (size_t)at < head->n && *names; names++)
        if (is(head->field[at], *names)) return true;
    return false;
}

/* A first line that looks like names of columns would become an example by mistake. */
static rf_status no_header(rf__records *r, const rf__layout *l, const row *head, const fields *p, rf_error *why)
{
    const int label = l->label ? numbered(l->label) - 1 : -1;
    r->assumed = l->header == RF__HEADER_AUTO;
    if (!r->assumed) return RF_OK;
    const int at = usual(head, p->text, rf__usual_text) ? p->text : usual(head, p->pair, rf__usual_pair) ? p->pair
                 : usual(head, label, rf__usual_label) ? label : -1;
    if (at < 0) return RF_OK;
    return rf_fail(why, RF_EDATA,
                   "%s:1: header: expected no header with numbered columns, got '%s', which looks like a column name; "
                   "use header yes to skip the line, or header no to read it as an example",
                   short_path(r), rf__show(head->field[at], 40).text);
}

/* A line with one field that contains a separator of other formats; `any`: also outside CSV, since no column was
 * found. */
static rf_status check_separator(const rf__records *r, const rf__layout *l, const dialect *d, const row *head, bool any,
                                 rf_error *why)
{
    static const char known[] = ";\t|,";
    if (head->n != 1 || head->quoted[0] || (!any && (l->separator || !d->quotes))) return RF_OK;
    for (const char *c = known; *c; c++) {
        if (*c == d->separator || (!any && *c != ';' && *c != '\t') ||
            !memchr(head->field[0].at, *c, head->field[0].size))
            continue;
        const char one[] = {*c == '\t' ? 't' : *c, 0}, own[] = {d->separator == '\t' ? 't' : d->separator, 0};
        return rf_fail(why, RF_EDATA,
                       "%s:1: fields are separated by \"%s\", the first line has none, but \"%s\": separator \"%s\" "
                       "reads it so%s%s%s",
                       short_path(r), *own == 't' ? "tab" : own, *one == 't' ? "tab" : one, *one == 't' ? "tab" : one,
                       any ? "" : ", separator \"",
                       any           ? ""
                       : *own == 't' ? "tab"
                                     : own,
                       any ? "" : "\" as it is");
    }
    return RF_OK;
}

/* The header of a FASTA file; those of UniProt have '|', which is no separator. */
static rf_status check_fasta(const rf__records *r, const row *head, rf_error *why)
{
    if (head->n < 1 || !head->field[0].size || *head->field[0].at != '>' || head->quoted[0]) return RF_OK;
    if (head->n > 1 && rf_text_format_of(r->path) != RF_TEXT_FASTA) return RF_OK;
    return rf_fail(why, RF_EDATA, "%s: expected a table of examples, got a FASTA file; write a table with a column "
                   "'text' for the sequences, and a column 'label'", short_path(r));
}

/* Columns that would be learned if they were read: negatives, which are refused, and what may be second texts. */
static rf_status unread_columns(rf__records *r, const row *head, const fields *p, rf_error *why)
{
    static const char negative[] = "negative";
    const int id = column(NULL, rf__usual_id, head);
    for (int i = 0; i < (int)head->n; i++) {
        const rf__text name = head->field[i];
        if (name.size >= sizeof negative - 1 && !memcmp(name.at, negative, sizeof negative - 1))
            return rf_fail(why, RF_EDATA, "%s: header: expected no column of negatives, got '%.*s'; they are read from "
                           "lines of JSON: {\"text\": ..., \"pair\": ..., \"negative\": ...}", short_path(r),
                           (int)rf__min64((int64_t)name.size, 60), name.at);
        if (p->pair == -1 && i != p->text && i != p->label && i != id && !r->unread.size) r->unread = name;
    }
    return RF_OK;
}

static rf_status find_columns(const rf__layout *l, rf__records *r, const dialect *d, const row *head, fields *p,
                              bool *header, rf_error *why)
{
    bool all = false;
    *header = false;
    rf_status status = check_fasta(r, head, why);
    if (!status) status = by_number(l, r, p, &all, why);
    if (!status && all) status = check_separator(r, l, d, head, false, why);
    if (status || all) return status ? status : no_header(r, l, head, p, why);
    p->text = column(l->text, rf__usual_text, head);
    if (l->bare[0] && (l->header == RF__HEADER_NO || (l->header == RF__HEADER_AUTO && p->text == -1))) {
        *p = (fields){
            .text = l->bare[0] - 1, .pair = l->bare[1] - 1, .label = l->with_labels ? l->bare[2] - 1 : -1, .id = -1};
        r->assumed = l->header == RF__HEADER_AUTO;
        return RF_OK;
    }
    if (l->header == RF__HEADER_NO)
        return rf_fail(why, RF_EARG, "header no: expected numbers for text_column and label_column, got names");
    *header = true;
    p->pair = l->text && !l->pair ? -1 : column(l->pair, rf__usual_pair, head);
    p->label = l->with_labels ? column(l->label, rf__usual_label, head) : -1;
    p->id = l->with_labels ? -1 : column(l->id, rf__usual_id, head);
    if (p->id < 0 && !l->id) p->id = -1;                                    /* two columns "id" count as none */
    p->fields = head->n;
    if (l->with_labels && l->format->negatives) status = unread_columns(r, head, p, why);
    if (!status && p->text < 0) status = check_separator(r, l, d, head, true, why);
    if (!status) status = check_column(r, p->text, "text", l->text, head, why);
    if (!status && (l->pair || l->pairs || p->pair == -2))
        status = check_column(r, p->pair, "pair", l->pair, head, why);
    const bool may_lack = rf__label_may_lack(l->format->label) && !l->label && p->label == -1;
    if (!status && l->with_labels && !may_lack) status = check_column(r, p->label, "label", l->label, head, why);
    if (!status && l->id && !l->with_labels) status = check_column(r, p->id, "id", l->id, head, why);
    return status;
}

/* ---- tables ---- */

static rf_status unreadable(const rf__records *r, uint64_t line, const row *w, rf_error *why)
{
    if (w->fault == RF_ROW_OPEN)
        return rf_fail(why, RF_EDATA,
                       "%s:%llu: expected a closing quote for the one on this line, got none", short_path(r),
                       (unsigned long long)(line + w->lines));
    return rf_fail(why, RF_EDATA, "%s:%llu: expected at most %d columns, got more", short_path(r),
                   (unsigned long long)line, COLUMNS);
}

/* Whether the row fits the table; otherwise it is counted as malformed. */
static bool row_fits(rf__records *r, uint64_t line, const row *w, const fields *p)
{
    const int64_t most = rf__max64(rf__max64(p->text, p->id), rf__max64(p->pair, p->label));
    if (w->fault == RF_ROW_AFTER)
        rf__records_bad(r, line, "expected a separator after a closing quote, got other text");
    else if (w->fault == RF_ROW_MANY) rf__records_bad(r, line, "more than %d columns", COLUMNS);
    else if (p->fields && w->n != p->fields)
        rf__records_bad(r, line, "expected the %zu columns of the header, got %zu", p->fields, w->n);
    else if (w->n <= (size_t)most)
        rf__records_bad(r, line, "expected at least %d columns, got %zu", (int)most + 1, w->n);
    else return true;
    return false;
}

static bool is_empty(const row *w) { return w->n == 1 && !w->quoted[0] && !w->field[0].size; }

/* Whether the first non-empty row has one field. */
static bool one_column(char *at, char *end, const dialect *d, row *w)
{
    while (at < end && (*at == '\n' || *at == '\r')) at++;
    rf_table_cut(at, end, d->separator, d->quotes, w);
    return w->n == 1;
}

static rf_status add_row(rf__records *r, const rf__layout *l, const row *w, const fields *p, uint64_t line,
                         rf_error *why)
{
    if (is_empty(w) && (l->with_labels || !p->one)) return r->blank++, RF_OK;
    if (!row_fits(r, line, w, p)) return RF_OK;
    rf__file_record one = {.text = w->field[p->text], .line = line};
    if (p->pair >= 0) one.pair = w->field[p->pair];
    if (p->label >= 0) one.label = w->field[p->label];
    if (p->id >= 0) one.id = w->field[p->id];
    return rf__records_add(r, one, why);
}

static bool ends(const char *path, const char *end)
{
    size_t n = strlen(path);
    const size_t m = strlen(end);
    if (n > 3 && !memcmp(path + n - 3, ".gz", 3)) n -= 3;
    else if (n > 4 && !memcmp(path + n - 4, ".zst", 4)) n -= 4;
    return n >= m && !memcmp(path + n - m, end, m);
}

/* Excel's first line sep=; names the separator of the others. Returns the first byte after it; `at`: there is none. */
static char *named_separator(char *at, const char *end, char *separator)
{
    const size_t left = (size_t)(end - at);
    if (left < 6 || strncasecmp(at, "sep=", 4) || (at[5] != '\n' && (at[5] != '\r' || left < 7 || at[6] != '\n')))
        return at;
    *separator = at[4];
    return at + (at[5] == '\n' ? 6 : 7);
}

rf_status rf__records_table(rf__records *r, const rf__layout *l, rf_error *why)
{
    const bool csv = ends(r->path, ".csv");
    char *const begin = r->data + r->at, *const end = r->data + r->size;
    dialect d = {csv ? ',' : '\t', csv};
    char *at = named_separator(begin, end, &d.separator);
    uint64_t line = at == begin ? 1 : 2;
    if (l->separator) d.separator = l->separator;
    fields p = {0};
    bool first = true;
    row w;
    const bool one = one_column(at, end, &d, &w);
    rf_status status = RF_OK;
    for (; at < end && !status; at = w.next, line += w.lines) {
        bool header = false;
        rf_table_cut(at, end, d.separator, d.quotes, &w);
        if (w.fault == RF_ROW_OPEN || (first && w.fault == RF_ROW_MANY)) return unreadable(r, line, &w, why);
        const bool clean = rf__records_clean(r, line, at, (size_t)(w.next - at));
        if (first && !clean) return rf_fail(why, RF_EDATA, "%s", r->first.text);
        if (!clean) continue;
        rf_table_unquote(&w);
        if (first) status = find_columns(l, r, &d, &w, &p, &header, why);
        if (first) p.one = one;
        first = false;
        if (!status && !header) status = add_row(r, l, &w, &p, line, why);
    }
    return status;
}

/* ---- a file ---- */

static rf_status read_all(rf__records *r, rf_source *s, const rf__layout *l, rf_error *why)
{
    const char *path = r->path;
    const bool json = ends(path, ".jsonl") || ends(path, ".json") || ends(path, ".ndjson");
    rf_status status = load(r, s, why);
    r->with_labels = l->with_labels;
    if (!status) status = check_line_ends(r, ends(path, ".json"), why);
    if (status) return status;
    r->document = ends(path, ".json");
    r->json = json;
    r->table = !json && l->format->lines == rf__records_table;
    if (json) return rf__records_json(r, l, why);
    if (l->format->lines) return l->format->lines(r, l, why);
    return rf_fail(why, RF_EUNSUPPORTED, "%s: expected .jsonl or .json for examples of %s, got another format",
                   short_path(r), l->format->name);
}

rf_status rf__records_read(rf__records *r, const rf_ctx *ctx, const char *path, const rf__layout *l, rf_error *why)
{
    rf_source *s;
    *r = (rf__records){.ctx = ctx, .path = path};
    rf_status status = rf_source_open(ctx, path, &s, why);
    if (status) return status;
    status = read_all(r, s, l, why);
    rf_source_close(s);
    return status;
}

rf_status rf__records_from_memory(rf__records *r, const rf_ctx *ctx, const void *data, size_t size, const char *name,
                                  const rf__layout *l, rf_error *why)
{
    rf_source *s;
    *r = (rf__records){.ctx = ctx, .path = name};
    rf_status status = rf__source_from_memory(ctx, data, size, name, &s, why);
    if (status) return status;
    status = read_all(r, s, l, why);
    rf_source_close(s);
    return status;
}
