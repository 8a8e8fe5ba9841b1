/* text.c — methods of Python's strings, for templates. Positions are characters, as in Python. */
#include "text/template/text.h"

#include "text/unicode/unicode.h"

void rf__text_put(rf__text *t, const char *text, size_t size)
{
    rf__rendering *r = t->r;
    if (!size || !rf__template_spend(r, size)) return;
    if (!rf__grow(r->t->ctx, &t->at, &t->capacity, t->n + size, 1)) {
        rf__template_fail(r, RF_ENOMEM, "out of memory");
        return;
    }
    memcpy(t->at + t->n, text, size);
    t->n += size;
}

void rf__text_line(rf__text *t, int indent, int level)
{
    if (indent < 0) return;
    rf__text_put(t, "\n", 1);
    for (int i = 0; i < indent * level; i++) rf__text_put(t, " ", 1);
}

json_t *rf__text_take(rf__text *t)
{
    json_t *v = t->r->why->code ? NULL : rf__template_text(t->r, t->n ? t->at : "", t->n);
    rf__free(t->r->t->ctx, t->at);
    t->at = NULL;
    return v;
}

const json_t *rf__template_argument(const rf__arguments *x, size_t i, const char *name)
{
    const json_t *v = json_array_get(x->list, i);
    return v ? v : json_object_get(x->named, name);
}

size_t rf__text_find(const char *s, size_t n, size_t from, const char *what, size_t size)
{
    const char *at = size <= n - from ? rf__find(s + from, n - from, what, size) : NULL;
    return at ? (size_t)(at - s) : n + 1;
}

/* Bytes of the character at s; its code point. */
static size_t character(const char *s, uint32_t *code)
{
    size_t n = 0;
    *code = rf__utf8_get((const unsigned char *)s, &n);
    return n;
}

json_t *rf__text_characters(rf__rendering *r, const json_t *v)
{
    const char *s = json_string_value(v);
    const size_t n = json_string_length(v);
    json_t *list = rf__template_made(r, json_array());
    uint32_t code;
    for (size_t i = 0, size; i < n && rf__template_spend(r, 32); i += size) {
        size = character(s + i, &code);
        if (json_array_append_new(list, json_stringn(s + i, size))) rf__template_fail(r, RF_ENOMEM, "out of memory");
    }
    return list;
}

json_t *rf__text_joined(rf__rendering *r, const json_t *list, const json_t *between, const char *what)
{
    rf__text out = {.r = r};
    json_t *x;
    size_t i;
    if (between && !json_is_string(between)) return rf__template_fail(r, RF_EDATA, "%s: expected a string", what);
    json_array_foreach(list, i, x) {
        json_t *text = r->why->code ? NULL : rf__template_string(r, x == r->undefined ? NULL : x);
        if (i && between) rf__text_put(&out, json_string_value(between), json_string_length(between));
        rf__text_put(&out, json_string_value(text), json_string_length(text));
        json_decref(text);
    }
    return rf__text_take(&out);
}

/* ---- methods ----------------------------------------------------------------------------------------------------- */

/* A method of the string s [n] with its arguments; `name` tells which of a group it is. */
typedef struct job {
    rf__rendering *r;
    const json_t *of;
    const char *s;
    size_t n;
    const char *name;
    const rf__arguments *x;
} job;

/* The string that argument i must be; NULL: failed. */
static const char *text_of(const job *j, size_t i, size_t *n)
{
    const json_t *v = json_array_get(j->x->list, i);
    *n = json_string_length(v);
    if (!json_is_string(v)) rf__template_fail(j->r, RF_EDATA, "%s: expected a string", j->name);
    return json_string_value(v);
}

/* Whether a character is one of `set`, or white space if it is NULL. */
static bool is_of(const char *s, size_t size, uint32_t code, const char *set, size_t n)
{
    if (!set) return rf__python_white(code);
    return rf__text_find(set, n, 0, s, size) <= n;
}

static json_t *strip(const job *j)
{
    const json_t *chars = rf__template_argument(j->x, 0, "chars");
    const char *set = json_string_value(chars), *s = j->s;
    const size_t of = json_string_length(chars);
    size_t from = 0, to = j->n, size;
    uint32_t code;
    if (chars && !set && !json_is_null(chars))
        return rf__template_fail(j->r, RF_EDATA, "%s: expected a string", j->name);
    if (*j->name != 'r')
        while (from < to && (size = character(s + from, &code), is_of(s + from, size, code, set, of))) from += size;
    while (*j->name != 'l' && to > from) {
        size_t at = to - 1;
        while (at > from && (s[at] & 0xC0) == 0x80) at--;
        size = character(s + at, &code);
        if (!is_of(s + at, size, code, set, of)) break;
        to = at;
    }
    return rf__template_text(j->r, s + from, to - from);
}

/* Appends a part of the text to a list. */
static void add_part(const job *j, json_t *list, size_t from, size_t to)
{
    json_t *v = rf__template_text(j->r, j->s + from, to - from);
    if (json_array_append_new(list, v)) rf__template_fail(j->r, RF_ENOMEM, "out of memory");
}

static void split_at_blanks(const job *j, json_t *list, json_int_t most)
{
    size_t from = 0, size;
    uint32_t code;
    while (!j->r->why->code) {
        while (from < j->n && (size = character(j->s + from, &code), rf__python_white(code))) from += size;
        size_t to = from;
        if (from == j->n) return;
        if (most-- == 0) to = j->n;
        while (to < j->n && (size = character(j->s + to, &code), !rf__python_white(code))) to += size;
        add_part(j, list, from, to);
        from = to;
    }
}

static json_t *split(const job *j)
{
    const json_t *sep = rf__template_argument(j->x, 0, "sep"), *limit = rf__template_argument(j->x, 1, "maxsplit");
    const char *what = json_string_value(sep);
    const size_t size = json_string_length(sep);
    json_int_t most = json_is_integer(limit) ? json_integer_value(limit) : -1;
    size_t from = 0, to;
    if ((sep && !json_is_null(sep) && !size) || (limit && *j->name == 'r'))
        return rf__template_fail(j->r, RF_EUNSUPPORTED, "%s: expected a string that is not empty%s", j->name,
                                 *j->name == 'r' ? " alone" : "");
    json_t *list = rf__template_made(j->r, json_array());
    if (!what) return split_at_blanks(j, list, most), list;
    while (most-- != 0 && !j->r->why->code && (to = rf__text_find(j->s, j->n, from, what, size)) <= j->n) {
        add_part(j, list, from, to);
        from = to + size;
    }
    add_part(j, list, from, j->n);
    return list;
}

static json_t *replace(const job *j)
{
    const json_t *limit = rf__template_argument(j->x, 2, "count");
    json_int_t most = json_is_integer(limit) ? json_integer_value(limit) : -1;
    size_t old_size, new_size, from = 0, to;
    const char *old = text_of(j, 0, &old_size), *new = text_of(j, 1, &new_size);
    rf__text out = {.r = j->r};
    if (!old || !new) return NULL;
    if (!old_size) return rf__template_fail(j->r, RF_EUNSUPPORTED, "replace: expected a string that is not empty");
    while (most-- != 0 && !j->r->why->code && (to = rf__text_find(j->s, j->n, from, old, old_size)) <= j->n) {
        rf__text_put(&out, j->s + from, to - from);
        rf__text_put(&out, new, new_size);
        from = to + old_size;
    }
    rf__text_put(&out, j->s + from, j->n - from);
    return rf__text_take(&out);
}

static bool has_at_end(const job *j, const json_t *part, bool begin)
{
    const size_t n = json_string_length(part);
    return json_is_string(part) && n <= j->n && !memcmp(begin ? j->s : j->s + j->n - n, json_string_value(part), n);
}

/* startswith, endswith: of a string, or of any of a list. */
static json_t *has_end(const job *j)
{
    const json_t *v = json_array_get(j->x->list, 0);
    const bool begin = *j->name == 's';
    bool yes = has_at_end(j, v, begin);
    json_t *x;
    size_t i;
    if (!json_is_string(v) && !json_is_array(v))
        return rf__template_fail(j->r, RF_EDATA, "%s: expected a string", j->name);
    json_array_foreach(v, i, x) yes |= has_at_end(j, x, begin);
    return json_boolean(yes);
}

static json_t *remove_end(const job *j)
{
    const json_t *v = json_array_get(j->x->list, 0);
    const bool begin = !strcmp(j->name, "removeprefix"), yes = has_at_end(j, v, begin);
    const size_t n = yes ? json_string_length(v) : 0;
    return rf__template_text(j->r, begin ? j->s + n : j->s, j->n - n);
}

static bool is_capital(char c) { return c >= 'A' && c <= 'Z'; }
static bool is_small(char c) { return c >= 'a' && c <= 'z'; }

/* Whether what follows a character is in the same word: of capitalize, of title, and of Jinja's filter title. */
static bool is_in_word(const char *name, char before)
{
    if (*name == 't') return is_capital(before) || is_small(before);
    return *name == 'c' || !(rf__python_white((unsigned char)before) || strchr("-({[<", before));
}

/* upper, lower, capitalize, title: of ASCII. */
static json_t *change_case(const job *j)
{
    rf__text out = {.r = j->r};
    for (size_t i = 0; i < j->n; i++) {
        const bool after = i && is_in_word(j->name, j->s[i - 1]);
        const bool up = *j->name == 'u' || (*j->name != 'l' && !after);
        const char c = j->s[i], other = (char)(c ^ 0x20);
        if ((unsigned char)c >= 0x80)
            rf__template_fail(j->r, RF_EUNSUPPORTED, "%s: expected ASCII, got another character", j->name);
        rf__text_put(&out, (up ? is_small(c) : is_capital(c)) ? &other : &c, 1);
    }
    return rf__text_take(&out);
}

/* find, count. */
static json_t *find(const job *j)
{
    size_t size, at = 0, n = 0;
    const char *what = text_of(j, 0, &size);
    if (!what) return NULL;
    if (!size || json_array_size(j->x->list) > 1)
        return rf__template_fail(j->r, RF_EUNSUPPORTED, "%s: expected one string that is not empty", j->name);
    if (*j->name == 'f') {
        const size_t place = rf__text_find(j->s, j->n, 0, what, size);
        for (size_t i = 0; i < place && place <= j->n; i++) n += (j->s[i] & 0xC0) != 0x80;
        return rf__template_made(j->r, json_integer(place <= j->n ? (json_int_t)n : -1));
    }
    for (; (at = rf__text_find(j->s, j->n, at, what, size)) <= j->n; at += size) n++;
    return rf__template_made(j->r, json_integer((json_int_t)n));
}

static json_t *join(const job *j)
{
    json_t *list = rf__template_listed(j->r, json_array_get(j->x->list, 0));
    json_t *v = j->r->why->code ? NULL : rf__text_joined(j->r, list, j->of, "join");
    json_decref(list);
    return v;
}

static const struct {
    const char *name;
    json_t *(*of)(const job *j);
} row[] = {{"strip", strip}, {"lstrip", strip}, {"rstrip", strip}, {"split", split}, {"rsplit", split},
           {"replace", replace}, {"startswith", has_end}, {"endswith", has_end}, {"removeprefix", remove_end},
           {"removesuffix", remove_end}, {"upper", change_case}, {"lower", change_case}, {"capitalize", change_case},
           {"title", change_case}, {RF__TITLE_FILTER, change_case}, {"find", find}, {"count", find}, {"join", join}};

bool rf__text_is_method(const char *name)
{
    for (size_t i = 0; i < RF_COUNT(row); i++)
        if (!strcmp(name, row[i].name)) return true;
    return false;
}

json_t *rf__text_method(rf__rendering *r, const json_t *of, const char *name, const rf__arguments *x)
{
    const job j = {r, of, json_string_value(of), json_string_length(of), name, x};
    for (size_t i = 0; i < RF_COUNT(row); i++)
        if (!strcmp(name, row[i].name)) return rf__template_spend(r, j.n) ? row[i].of(&j) : NULL;
    return rf__template_fail(r, RF_EUNSUPPORTED, "the method %.60s is not known here", name);
}
