/* records_json.c — labeled files of JSON objects, and of lines "word ... tag".
 *
 *     a line each     {"text": "..", "label": ".."}
 *     one document    [{..}, {..}]   or   {"data": [{"paragraphs": [{"context": "..", "qas": [{"question": "..",
 *                     ..}]}]}]}
 *
 * Sentences of CoNLL become the objects that a JSON file of them would have. */
#include <stdio.h>
#include <stdlib.h>

#include "data/examples/records.h"

static rf__text string_of(const json_t *j) { return (rf__text){json_string_value(j), json_string_length(j)}; }

static const json_t *member(const json_t *object, const char *expected, const char *const *usual)
{
    if (expected) return json_object_get(object, expected);
    for (; *usual; usual++)
        if (json_object_get(object, *usual)) return json_object_get(object, *usual);
    return NULL;
}

const json_t *rf__record_member(const json_t *object, const char *expected)
{
    return member(object, expected, rf__usual_label);
}

const json_t *rf__record_id(const json_t *object, const char *expected)
{
    const json_t *v = member(object, expected, rf__usual_id);
    json_int_t whole;
    return json_is_string(v) || rf__json_whole(v, &whole) ? v : NULL;
}

/* ---- objects ---- */

static const char *kind_of(const json_t *j)
{
    static const char *const kinds[] = {"an object", "a list", "a string", "an integer", "a number with a fraction",
                                        "true",      "false",  "null"};
    return j ? kinds[json_typeof(j)] : "nothing";
}

/* A label that is a number becomes text, which the object stores. */
static bool label_of(rf__records *r, const rf__layout *l, json_t *j, uint64_t line, rf__text *label, rf_error *why)
{
    const json_t *v = rf__record_member(j, l->label);
    const bool number = l->format->label == RF__MEMBER_NUMBER || rf__label_may_lack(l->format->label);
    if (!v && rf__label_may_lack(l->format->label) && !l->label) return true;
    if (json_is_array(v) && l->format->label == RF__MEMBER_SCORES) return true;
    if (json_is_string(v)) {
        *label = string_of(v);
        return true;
    }
    json_int_t whole;
    const bool is_whole = rf__json_whole(v, &whole);
    if (!is_whole && !(number && json_is_real(v))) {
        rf__records_bad(r, line, "label: expected a string or %s, got %s", number ? "a number" : "an integer",
                        kind_of(v));
        return false;
    }
    char text[40];
    if (is_whole) snprintf(text, sizeof text, "%lld", (long long)whole);
    else snprintf(text, sizeof text, "%.17g", json_real_value(v));
    json_t *kept = json_string(text);
    if (json_object_set_new(j, "\x01label", kept)) {
        rf_fail(why, RF_ENOMEM, "out of memory: a label");
        return false;
    }
    *label = string_of(kept);
    return true;
}

static bool needs_pair(const rf__layout *l) { return (l->pair || l->pairs) && !l->format->lists; }

/* The first object shows whether the file has the required members. */
static rf_status members_there(const rf__records *r, const rf__layout *l, const json_t *j, rf_error *why)
{
    enum { MOST = 64 };
    rf__text names[MOST];
    size_t n = 0;
    const char *key;
    json_t *value;
    json_object_foreach((json_t *)(uintptr_t)j, key, value) if (n < MOST) names[n++] = (rf__text){key, strlen(key)};
    if (!l->format->text) return RF_OK;
    if (!member(j, l->text, rf__usual_text)) return rf__records_no_column(r, "text", l->text, names, n, why);
    if (needs_pair(l) && !member(j, l->pair, rf__usual_pair))
        return rf__records_no_column(r, "pair", l->pair, names, n, why);
    if (l->with_labels && !rf__record_member(j, l->label) && (l->label || !rf__label_may_lack(l->format->label)))
        return rf__records_no_column(r, "label", l->label, names, n, why);
    return RF_OK;
}

static bool text_of(rf__records *r, const json_t *v, const char *what, uint64_t line, rf__text *out)
{
    if (json_is_string(v)) *out = string_of(v);
    else rf__records_bad(r, line, "%s: expected a string, got %s", what, kind_of(v));
    return json_is_string(v);
}

/* Takes ownership of the object. */
static rf_status add_object(rf__records *r, const rf__layout *l, json_t *j, uint64_t line, bool first, rf_error *why)
{
    rf__file_record one = {.line = line, .json = j};
    const rf__example_format *format = l->format;
    const json_t *pair = l->text && !l->pair ? NULL : member(j, l->pair, rf__usual_pair),
                 *label = rf__record_member(j, l->label);
    const bool named = format->label == RF__MEMBER_NAME || format->label == RF__MEMBER_NUMBER ||
                       rf__label_may_lack(format->label) ||
                       (format->label == RF__MEMBER_NAMES && label && !json_is_array(label));
    bool fine = true;
    rf_error failure = {0};
    if (first) {
        const rf_status status = members_there(r, l, j, why);
        if (status) {
            json_decref(j);
            return status;
        }
    }
    if (format->text) fine = text_of(r, member(j, l->text, rf__usual_text), "text", line, &one.text);
    if (fine && format->pair && (pair || needs_pair(l))) fine = text_of(r, pair, "second text", line, &one.pair);
    if (fine && named && l->with_labels) fine = label_of(r, l, j, line, &one.label, &failure);
    const json_t *id = l->with_labels ? NULL : rf__record_id(j, l->id);
    if (fine && l->id && !l->with_labels && !id) {
        const json_t *v = json_object_get(j, l->id);
        rf__records_bad(r, line, "id: expected a string or an integer, got %s", kind_of(v));
        fine = false;
    }
    if (json_is_string(id)) one.id = string_of(id);
    if (fine) return rf__records_add(r, one, why);
    json_decref(j);
    return failure.code ? rf_fail(why, failure.code, "%s", failure.text) : RF_OK;
}

/* ---- one document ---- */

/* Adds questions of SQuAD, each with the context of its paragraph. */
static rf_status add_squad(rf__records *r, const rf__layout *l, const json_t *data, rf_error *why)
{
    size_t a, b, c;
    json_t *article, *paragraph, *question;
    uint64_t line = 0;
    json_array_foreach(data, a, article) {
        json_array_foreach(json_object_get(article, "paragraphs"), b, paragraph) {
            json_array_foreach(json_object_get(paragraph, "qas"), c, question) {
                json_t *j = json_is_object(question) ? json_copy(question) : json_object();
                json_t *context = json_object_get(paragraph, "context");
                if (context) rf__json_set(&j, "context", json_incref(context));
                else if (j) json_object_del(j, "context");
                const rf_status status =
                    j ? add_object(r, l, j, ++line, false, why) : rf_fail(why, RF_ENOMEM, "out of memory: a question");
                if (status) return status;
            }
        }
    }
    return RF_OK;
}

static rf_status add_list(rf__records *r, const rf__layout *l, json_t *list, rf_error *why)
{
    size_t i;
    json_t *j;
    rf_status status = RF_OK;
    json_array_foreach(list, i, j) {
        if (status) break;
        if (json_is_object(j)) status = add_object(r, l, json_incref(j), i + 1, !r->n && !r->bad, why);
        else rf__records_bad(r, i + 1, "expected an object, got %s", kind_of(j));
    }
    return status;
}

static size_t white(const char *at, size_t n)
{
    size_t i = 0;
    while (i < n && (at[i] == ' ' || at[i] == '\t' || at[i] == '\r' || at[i] == '\n')) i++;
    return i;
}

/* Whether the whole file is one value. *root: its list of examples or articles; NULL: the file has one object per
 * line. */
static rf_status read_document(rf__records *r, json_t **root, rf_error *why)
{
    const char *at = r->data + r->at, *stop = memchr(at, '\n', r->size - r->at);
    const size_t size = r->size - r->at, first = stop ? (size_t)(stop - at) : size;
    json_error_t bad;
    bool memory;
    json_t *j = rf__json_load(at, first, 0, &bad, &memory);
    const bool lines = json_is_object(j) && !json_is_array(json_object_get(j, "data"));
    *root = NULL;
    json_decref(j);
    if (lines) return RF_OK;
    j = rf__json_load(at, size, JSON_REJECT_DUPLICATES, &bad, &memory);
    if (!j && memory) return rf_fail(why, RF_ENOMEM, "%.100s: out of memory for its JSON", r->path);
    if (json_is_array(j) || json_is_array(json_object_get(j, "data"))) {
        *root = j;
        return RF_OK;
    }
    const bool list = white(at, size) < size && at[white(at, size)] == '[';
    json_decref(j);
    if (!list) return RF_OK;                                            /* lines, the first of which is malformed */
    return rf_fail(why, RF_EDATA, "%.100s:%d: %.120s", r->path, bad.line, bad.text);
}

/* ---- lines ---- */

static rf_status read_lines(rf__records *r, const rf__layout *l, rf_error *why)
{
    const char *at = r->data + r->at, *const end = r->data + r->size, *stop;
    uint64_t line = 1;
    rf_status status = RF_OK;
    bool first = true;
    for (; at < end && !status; at = stop + 1, line++) {
        stop = memchr(at, '\n', (size_t)(end - at));
        if (!stop) stop = end;
        const size_t size = (size_t)(stop - at);
        if (white(at, size) == size && size < (size_t)(end - at)) r->blank++;
        if (white(at, size) == size || !rf__records_clean(r, line, at, size)) continue;
        json_error_t bad;
        bool memory;
        json_t *j = rf__json_load(at, size, JSON_REJECT_DUPLICATES, &bad, &memory);
        if (!j && memory) return rf_fail(why, RF_ENOMEM, "%.100s:%llu: out of memory for its JSON", r->path,
                                          (unsigned long long)line);
        if (!json_is_object(j)) {
            if (j) rf__records_bad(r, line, "expected a JSON object, got %s", kind_of(j));
            else
                rf__records_bad(r, line, "expected a JSON object: %s",
                                rf__show((rf__text){bad.text, strlen(bad.text)}, 90).text);
            json_decref(j);
            continue;
        }
        status = add_object(r, l, j, line, first, why);
        first = false;
    }
    return status;
}

rf_status rf__records_json(rf__records *r, const rf__layout *l, rf_error *why)
{
    json_t *root = NULL;
    const char *const given[] = {l->text, l->pair, l->label, l->with_labels ? NULL : l->id};
    for (size_t i = 0; i < RF_COUNT(given); i++)
        if (given[i] && rf__is_number(given[i]))
            return rf_fail(why, RF_EARG, "%.100s: expected the names of JSON members, got the number %.20s", r->path,
                           given[i]);
    rf_status status = r->document ? read_document(r, &root, why) : RF_OK;
    r->document = root != NULL;
    if (status || !root) return status ? status : read_lines(r, l, why);
    const json_t *data = json_object_get(root, "data");
    const bool squad = data && json_object_get(json_array_get(data, 0), "paragraphs");
    if (squad && !l->format->squad)
        status = rf_fail(why, RF_EDATA,
                         "%.100s: expected examples of this task, got questions in the format of SQuAD; they need "
                         "--task qa", r->path);
    else if (squad) status = add_squad(r, l, data, why);
    else status = add_list(r, l, data ? (json_t *)(uintptr_t)data : root, why);
    json_decref(root);
    return status;
}

/* ---- CoNLL ---- */

typedef struct sentence { json_t *object, *tokens, *tags; uint64_t line; bool spoiled; } sentence;

static rf_status end_sentence(rf__records *r, sentence *s, rf_error *why)
{
    json_t *j = s->object;
    const bool spoiled = s->spoiled;
    const uint64_t line = s->line;
    *s = (sentence){0};
    if (j && !spoiled) return rf__records_add(r, (rf__file_record){.line = line, .json = j}, why);
    json_decref(j);
    return RF_OK;
}

static bool begin_sentence(sentence *s, uint64_t line)
{
    if (s->object) return true;
    s->object = json_object();
    s->tokens = json_array();
    s->tags = json_array();
    s->line = line;
    if (!json_object_set_new(s->object, "tokens", s->tokens) && !json_object_set_new(s->object, "tags", s->tags))
        return true;
    json_decref(s->object);
    *s = (sentence){0};
    return false;
}

static bool blank(char c) { return c == ' ' || c == '\t' || c == '\r' || c == '\v' || c == '\f'; }

/* The words of a line: first, last, number. */
static size_t words_of(const char *at, const char *end, rf__text *first, rf__text *last)
{
    size_t n = 0;
    while (at < end) {
        const char *from = at;
        while (at < end && !blank(*at)) at++;
        *last = (rf__text){from, (size_t)(at - from)};
        if (!n++) *first = *last;
        while (at < end && blank(*at)) at++;
    }
    return n;
}

static bool is_tag(rf__text t)
{
    return (t.size == 1 && *t.at == 'O') || (t.size > 2 && t.at[1] == '-' && strchr("BIESLUM", *t.at));
}

/* key=value, as in "# id 4d8e domain=train". */
static bool is_setting(rf__text t) { return memchr(t.at, '=', t.size) != NULL; }

static bool is_mark(rf__text word) { return word.size == 1 && *word.at == '#'; }

static bool is_between(rf__text word) { return word.size == 10 && !memcmp(word.at, "-DOCSTART-", 10); }

/* Columns of the first line that is not a comment; 0: there is none. */
static size_t columns_of(const char *at, const char *end)
{
    for (const char *stop; at < end; at = stop + 1) {
        rf__text word = {0}, tag = {0};
        stop = memchr(at, '\n', (size_t)(end - at));
        if (!stop) stop = end;
        while (at < stop && blank(*at)) at++;
        const size_t n = words_of(at, stop, &word, &tag);
        if (n && !is_mark(word) && !is_between(word)) return n;
    }
    return 0;
}

/* "# id ..." above a sentence is a comment. "#" within one, "#hashtag" and "# O" are words. */
typedef enum mark { MARK_NONE, MARK_COMMENT, MARK_UNCLEAR } mark;

static mark mark_of(const sentence *s, rf__text word, rf__text tag, size_t n, size_t columns)
{
    if (s->object || !is_mark(word) || n < 2 || (n == columns && is_tag(tag))) return MARK_NONE;
    return n == columns && !is_setting(tag) ? MARK_UNCLEAR : MARK_COMMENT;
}

/* CoNLL-U: ten columns, the first of which numbers the words. Its last column is not a tag. */
static bool is_universal(const char *at, const char *end)
{
    int tabs = 0;
    if (at == end || *at < '1' || *at > '9') return false;
    const char *c = at;
    while (c < end && *c >= '0' && *c <= '9') c++;
    if (c < end && (*c == '-' || *c == '.') && c + 1 < end && c[1] >= '0' && c[1] <= '9')
        for (c++; c < end && *c >= '0' && *c <= '9';) c++;
    if (c == end || *c != '\t') return false;
    for (; c < end; c++) tabs += *c == '\t';
    return tabs == 9;
}

static void refuse_universal(rf__records *r, uint64_t line)
{
    rf__records_bad(r, line, "is CoNLL-U (ten columns, the first a number), expected a word, and its tag at the end: "
                    "grep -v '^[0-9]*[-.]' FILE | cut -f2,4 writes words and UPOS");
}

static void refuse_mark(rf__records *r, uint64_t line, rf__text tag)
{
    rf__records_bad(r, line, "begins with \"#\" and has the columns of a word: expected a word, or a comment of "
                    "another number of columns, got the tag \"%s\"; remove the line if it is a comment",
                    rf__show(tag, 40).text);
}

rf_status rf__records_conll(rf__records *r, const rf__layout *l, rf_error *why)
{
    const char *at = r->data + r->at, *const end = r->data + r->size, *stop;
    uint64_t line = 1;
    const size_t columns = columns_of(at, end);
    sentence s = {0};
    rf_status status = RF_OK;
    for (; at < end && !status; at = stop + 1, line++) {
        rf__text word = {0}, tag = {0};
        const char *const begin = at;
        stop = memchr(at, '\n', (size_t)(end - at));
        if (!stop) stop = end;
        while (at < stop && blank(*at)) at++;
        const size_t n = words_of(at, stop, &word, &tag);
        if (!n || is_between(word)) {
            status = end_sentence(r, &s, why);
            continue;
        }
        const mark m = mark_of(&s, word, tag, n, columns);
        if (m == MARK_UNCLEAR) refuse_mark(r, line, tag);
        if (m) continue;
        if (!begin_sentence(&s, line)) return rf_fail(why, RF_ENOMEM, "out of memory: a sentence");
        const uint64_t bad = r->bad;
        if (!rf__records_clean(r, line, begin, (size_t)(stop - begin))) s.spoiled = true;
        else if (is_universal(begin, stop)) refuse_universal(r, line);
        else if (n == 1 && l->with_labels) rf__records_bad(r, line, "expected a word and its tag, got another line");
        else if (n != columns)
            rf__records_bad(r, line, "expected %zu columns, as in the first line, got %zu", columns, n);
        s.spoiled |= r->bad > bad;
        if (s.spoiled) continue;
        if (json_array_append_new(s.tokens, json_stringn(word.at, word.size)) ||
            json_array_append_new(s.tags, json_stringn(tag.at, tag.size)))
            status = rf_fail(why, RF_ENOMEM, "out of memory: a sentence");
    }
    if (!status) return end_sentence(r, &s, why);
    json_decref(s.object);
    return status;
}
