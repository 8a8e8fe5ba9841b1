/* reader_formats.c — the formats of text files: how one is recognized, and the rule of each, which makes documents of
 * pieces of lines. */
#include <stdio.h>

#include "base/bytes.h"
#include "base/files/path.h"
#include "data/documents/fasta.h"
#include "data/documents/reader_state.h"
#include "data/documents/wiki.h"
#include "store/store.h"
#include "text/unicode/unicode.h"

/* ---- which format ------------------------------------------------------------------------------------------------ */

static bool starts(const char *p, size_t n, const char *with)
{
    return n >= strlen(with) && !memcmp(p, with, strlen(with));
}

rf_text_format rf_text_format_of(const char *path)
{
    static const struct { const char *suffix; rf_text_format format; } row[] = {
        {".jsonl", RF_TEXT_JSONL}, {".ndjson", RF_TEXT_JSONL}, {".fasta", RF_TEXT_FASTA}, {".fa", RF_TEXT_FASTA},
        {".faa", RF_TEXT_FASTA},   {".fas", RF_TEXT_FASTA},
    };
    size_t n = path ? strlen(path) : 0;
    for (const char *const *packed = (const char *const[]){".gz", ".zst", NULL}; *packed; packed++)
        if (n >= strlen(*packed) && !memcmp(path + n - strlen(*packed), *packed, strlen(*packed))) {
            n -= strlen(*packed);
            break;
        }
    for (size_t i = 0; i < RF_COUNT(row); i++) {
        const size_t s = strlen(row[i].suffix);
        if (n >= s && !memcmp(path + n - s, row[i].suffix, s)) return row[i].format;
    }
    return RF_TEXT_AUTO;
}

/* Whether a line, which begins at p, is an object of JSON that has a string as the text; not in a file named .txt. */
static bool is_json_line(const rf_reader *r, const char *p, size_t left)
{
    static const char *const text_names[] = {".txt", ".txt.gz", ".txt.zst"};
    for (size_t i = 0; i < RF_COUNT(text_names); i++)
        if (rf__ends_with(r->file[r->now].path, text_names[i])) return false;
    const char *newline = memchr(p, '\n', left);
    bool memory;
    json_error_t fault;
    if (!newline && !r->ended) return false;
    json_t *line = rf__json_load(p, newline ? (size_t)(newline - p) : left, 0, &fault, &memory);
    const bool text = json_is_string(json_object_get(line, r->field));
    json_decref(line);
    return text;
}

rf_text_format rf__reader_format(const rf_reader *r)
{
    const rf_text_format named = rf_text_format_of(r->file[r->now].path);
    const char *p = r->line + r->at;
    size_t left = r->end - r->at;
    if (r->o.format != RF_TEXT_AUTO || named != RF_TEXT_AUTO) return r->o.format ? r->o.format : named;
    while (left && rf__white(*p)) p++, left--;
    if (starts(p, left, "{") && is_json_line(r, p, left)) return RF_TEXT_JSONL;
    return starts(p, left, "<doc ") ? RF_TEXT_WIKI : RF_TEXT_PLAIN;
}

/* ---- the document so far ----------------------------------------------------------------------------------------- */

/* From then on, r->from is 0. */
static rf_status append(rf_reader *r, const char *p, size_t n, rf_error *why)
{
    if (r->from) {
        memmove(r->doc, r->doc + r->from, r->size - r->from);
        r->size -= r->from;
        r->from = 0;
    }
    if (!n) return RF_OK;
    if (!rf__grow(r->ctx, &r->doc, &r->doc_capacity, r->size + n, 1)) return rf__reader_no_memory(r, why);
    memcpy(r->doc + r->size, p, n);
    r->size += n;
    return RF_OK;
}

/* Appends a piece of text, and the end of its line if it is complete. */
static rf_status append_line(rf_reader *r, const char *p, size_t n, bool whole, rf_error *why)
{
    const rf_status s = append(r, p, n, why);
    return s || !whole ? s : append(r, "\n", 1, why);
}

/* ---- plain text -------------------------------------------------------------------------------------------------- */

/* " = Title = ", but not " = = Section = = ". */
static bool heading(const char *p, size_t n)
{
    while (n && rf__white(p[n - 1])) n--;
    while (n && rf__white(*p)) p++, n--;
    return n >= 5 && !memcmp(p, "= ", 2) && p[2] != '=' && !memcmp(p + n - 2, " =", 2) && p[n - 3] != '=';
}

static rf_status plain(rf_reader *r, const char *p, size_t n, bool first, bool whole, rf_error *why)
{
    const bool empty = first && whole && rf__blank(p, n);
    switch (r->o.split) {
    case RF_SPLIT_LINE:
        if (whole) r->complete = true;
        return append(r, p, n, why);
    case RF_SPLIT_BLANK:
        if (!empty) return append_line(r, p, n, whole, why);
        r->complete = true;
        return RF_OK;
    case RF_SPLIT_HEADING:
        if (empty) return RF_OK;
        if (!first || !whole || !heading(p, n)) return append_line(r, p, n, whole, why);
        if (r->size > r->from || r->continues) {                  /* this line again, after the document before it */
            r->at = (size_t)(p - r->line);
            r->number--;
            r->complete = true;
            return RF_OK;
        }
        return r->o.keep_titles ? append_line(r, p, n, whole, why) : RF_OK;
    case RF_SPLIT_FILE: break;
    }
    return append_line(r, p, n, whole, why);
}

/* ---- JSON lines -------------------------------------------------------------------------------------------------- */

static rf_status jsonl(rf_reader *r, const char *p, size_t n, rf_error *why)
{
    char where[400];
    if (rf__blank(p, n)) return RF_OK;
    snprintf(where, sizeof where, "%.300s:%lld", rf__reader_name(r), (long long)r->number);
    json_t *root = rf__json_parse(p, n, JSON_ALLOW_NUL, where, why);
    if (!root) return why->code;
    const json_t *text = json_object_get(root, r->field);
    rf_status s = RF_OK;
    if (!json_is_string(text))
        s = rf_fail(why, RF_EDATA, "%s: \"%s\": expected a string, got %s", where, rf__printable(r->field).text,
                    rf__json_shown(text).text);
    else if (!(s = append(r, json_string_value(text), json_string_length(text), why)))
        r->complete = true;
    json_decref(root);
    return s;
}

/* ---- WikiExtractor ----------------------------------------------------------------------------------------------- */

static rf_status wiki(rf_reader *r, const char *p, size_t n, bool first, bool whole, rf_error *why)
{
    if (first && whole && starts(p, n, "<doc ") && p[n - 1] == '>') {
        if (r->inside)
            return rf_fail(why, RF_EDATA, "%s:%lld: expected </doc> before the next <doc>, got <doc>",
                           rf__reader_name(r), (long long)r->number);
        r->inside = r->title_next = true;
        rf__wiki_title(p, n, r->title, sizeof r->title);
        return RF_OK;
    }
    if (first && whole && n == 6 && starts(p, n, "</doc>")) {
        r->inside = false;
        r->complete = true;
        return RF_OK;
    }
    if (first && whole && rf__blank(p, n)) return RF_OK;
    if (!r->inside)
        return rf_fail(why, RF_EDATA, "%s:%lld: expected text inside <doc> ... </doc>, got text outside",
                       rf__reader_name(r), (long long)r->number);
    if (r->from == r->size) r->from = r->size = 0;
    const size_t before = r->size - r->from;
    rf_status s = append(r, p, n, why);
    if (s) return s;
    r->size = before + rf__wiki_unescape(r->doc + before, n);
    const bool title = r->title_next && first && whole && r->size == before + strlen(r->title) &&
                       !memcmp(r->doc + before, r->title, r->size - before);
    r->title_next = false;
    if (title && !r->o.keep_titles) {
        r->size = before;
        return RF_OK;
    }
    return whole ? append(r, "\n", 1, why) : RF_OK;
}

/* ---- FASTA ------------------------------------------------------------------------------------------------------- */

/* Ends the record: a '*' at its end, which marks the end of a translation, is not a residue. */
static rf_status end_record(rf_reader *r, rf_error *why)
{
    if (r->size == r->from && !r->continues)
        return rf_fail(why, RF_EDATA, "%s:%lld: '%.200s': expected residues, got none", rf__reader_name(r),
                       (long long)r->number, r->title);
    r->stop = false;
    r->complete = true;
    return RF_OK;
}

static rf_status header(rf_reader *r, const char *p, size_t n, bool whole, rf_error *why)
{
    if (!whole)
        return rf_fail(why, RF_EDATA, "%s:%lld: expected a header of at most %d bytes, got a longer one",
                       rf__reader_name(r), (long long)r->number, RF__READER_LINE);
    if (r->inside) {                                              /* this line again, after the record before it */
        const rf_status s = end_record(r, why);
        r->inside = false;
        r->at = (size_t)(p - r->line);
        r->number--;
        return s;
    }
    r->inside = true;
    rf__fasta_name(p, n, r->title, sizeof r->title);
    r->title_next = rf__fasta_pir(p, n);
    return RF_OK;
}

/* Appends residues to the record, with a blank between two of them if `residues_apart` says so. */
static rf_status append_residues(rf_reader *r, const char *residues, size_t n, rf_error *why)
{
    if (!r->o.residues_apart) return append(r, residues, n, why);
    rf_status s = RF_OK;
    for (size_t i = 0; i < n && !s; i++) {
        if (r->size > r->from || r->continues) s = append(r, " ", 1, why);
        if (!s) s = append(r, residues + i, 1, why);
    }
    return s;
}

static rf_status fasta(rf_reader *r, const char *p, size_t n, bool first, bool whole, rf_error *why)
{
    rf_error inner = {0};
    size_t used;
    if (r->title_next) return r->title_next = !whole, RF_OK;                      /* the description of PIR          */
    if (first && n && *p == '>') return header(r, p, n, whole, why);
    if ((first && n && *p == ';') || rf__blank(p, n)) return RF_OK;
    if (!r->inside)
        return rf_fail(why, RF_EDATA, "%s:%lld: expected a line that begins with '>', got residues without a name",
                       rf__reader_name(r), (long long)r->number);
    char *residues = rf__alloc(r->ctx, n);
    if (!residues) return rf__reader_no_memory(r, why);
    rf_status s = rf__fasta_residues(p, n, residues, &used, &inner);
    if (s) rf_fail(why, s, "%s:%lld: %s", rf__reader_name(r), (long long)r->number, inner.text);
    const char *stop = s ? NULL : memchr(residues, '*', used);
    if (!s && (r->stop ? used : stop && stop + 1 < residues + used))
        s = rf_fail(why, RF_EDATA, "%s:%lld: '%.200s': expected '*' only at the end of a protein, got residues behind "
                    "it", rf__reader_name(r), (long long)r->number, r->title);
    if (!s) s = append_residues(r, residues, stop ? used - 1 : used, why);
    r->stop |= stop != NULL;
    rf__free(r->ctx, residues);
    return s;
}

/* ---- the rule of the format -------------------------------------------------------------------------------------- */

rf_status rf__reader_apply(rf_reader *r, const char *p, size_t n, bool first, bool whole, rf_error *why)
{
    switch (r->format) {
    case RF_TEXT_JSONL: return jsonl(r, p, n, why);
    case RF_TEXT_WIKI: return wiki(r, p, n, first, whole, why);
    case RF_TEXT_FASTA: return fasta(r, p, n, first, whole, why);
    case RF_TEXT_AUTO:
    case RF_TEXT_PLAIN: break;
    }
    return plain(r, p, n, first, whole, why);
}

rf_status rf__reader_end(rf_reader *r, rf_error *why)
{
    if (r->format == RF_TEXT_FASTA && r->inside) return end_record(r, why);
    if (r->format == RF_TEXT_WIKI && r->inside)
        return rf_fail(why, RF_EDATA, "%s:%lld: expected </doc>, got the end of the file", r->file[r->now].path,
                       (long long)r->number);
    return RF_OK;
}
