/* fields.c — checks the members of a JSON body by the table of its route. */
#include "serve/fields.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/json.h"
#include "serve/api/api.h"

const json_t *srv_member(const json_t *in, const char *name)
{
    const json_t *v = json_object_get(in, name);
    return v && !json_is_null(v) ? v : NULL;
}

bool srv_bool(const json_t *in, const char *name, bool otherwise)
{
    const json_t *v = srv_member(in, name);
    return v ? json_is_true(v) : otherwise;
}

int64_t srv_int(const json_t *in, const char *name, int64_t otherwise)
{
    json_int_t n;
    const json_t *v = srv_member(in, name);
    return v && rf__json_whole(v, &n) ? (int64_t)n : otherwise;
}

double srv_real(const json_t *in, const char *name, double otherwise)
{
    const json_t *v = srv_member(in, name);
    return v ? json_number_value(v) : otherwise;
}

const char *srv_string(const json_t *in, const char *name) { return json_string_value(srv_member(in, name)); }

/* ---- kinds ------------------------------------------------------------------------------------------------------- */

static bool all(const json_t *list, bool (*is)(const json_t *))
{
    if (!json_is_array(list)) return false;
    for (size_t i = 0; i < json_array_size(list); i++)
        if (!is(json_array_get(list, i))) return false;
    return true;
}

static bool is_string(const json_t *v) { return json_is_string(v); }

static bool is_object(const json_t *v) { return json_is_object(v); }

static bool is_id(const json_t *v)
{
    json_int_t n;
    return json_is_integer(v) && rf__json_whole(v, &n) && n >= 0 && n <= INT32_MAX;
}

static bool is_ids(const json_t *v) { return json_array_size(v) && all(v, is_id); }

static bool is_ids_or_many(const json_t *v) { return is_ids(v) || (json_array_size(v) && all(v, is_ids)); }

static bool is_input(const json_t *v) { return json_is_string(v) || is_ids(v); }

static bool is_inputs(const json_t *v) { return is_input(v) || all(v, is_input); }

static bool is_pair_entry(const json_t *v)
{
    return json_array_size(v) >= 1 && json_array_size(v) <= 2 && all(v, is_string);
}

static bool is_pairs(const json_t *v)
{
    return json_is_string(v) || is_pair_entry(v) || all(v, is_pair_entry);
}

static bool is_text_object(const json_t *v)
{
    const json_t *pair = srv_member(v, "text_pair");
    return json_is_string(json_object_get(v, "text")) && (!pair || json_is_string(pair)) &&
           json_object_size(v) == 1 + (json_object_get(v, "text_pair") != NULL);
}

static bool is_labeled_entry(const json_t *v) { return json_is_string(v) || is_text_object(v) || is_pair_entry(v); }

static bool is_labeled(const json_t *v)
{
    return json_is_string(v) || is_text_object(v) || all(v, is_labeled_entry);
}

static bool is_strings(const json_t *v) { return json_is_string(v) || all(v, is_string); }

static bool is_texts_or_pairs(const json_t *v) { return is_strings(v) || is_pairs(v); }

static bool is_document(const json_t *v)
{
    return json_is_string(v) || (json_is_object(v) && json_is_string(json_object_get(v, "text")));
}

static bool is_choice(const json_t *v, const char *choices)
{
    const char *word = json_string_value(v);
    const size_t n = word ? strlen(word) : 0;
    for (const char *at = choices; word && at; at = strchr(at, '|')) {
        at += *at == '|';
        if (!strncmp(at, word, n) && (at[n] == '|' || !at[n])) return true;
    }
    return false;
}

static bool is_whole(const json_t *v, const srv_field *f)
{
    json_int_t n;
    return rf__json_whole(v, &n) && (double)n >= f->low && (double)n <= f->high;
}

static bool is_real(const json_t *v, const srv_field *f)
{
    return json_is_number(v) && json_number_value(v) >= f->low && json_number_value(v) <= f->high;
}

static bool is_only(const json_t *v, const char *value)
{
    json_t *same = json_loads(value, JSON_DECODE_ANY, NULL);
    json_int_t n, m;
    const bool equal =
        json_equal(v, same) || (json_is_number(v) && rf__json_whole(v, &n) && rf__json_whole(same, &m) && n == m);
    json_decref(same);
    return equal;
}

static const char *const expectation[] = {
    [SRV_ANY] = "a value",
    [SRV_BOOL] = "true or false",
    [SRV_STRING] = "a string",
    [SRV_STRINGS] = "a string or a list of strings",
    [SRV_TEXTS] = "a list of strings",
    [SRV_INPUTS] = "a string, a list of strings, a list of token ids, or a list of such lists",
    [SRV_PAIRS] = "a string, a pair of strings, or a list of lists of one or two strings",
    [SRV_TEXTS_OR_PAIRS] = "a string, a list of strings, or a list of lists of one or two strings",
    [SRV_LABELED] = "a string, an object with \"text\" and \"text_pair\", or a list of these",
    [SRV_IDS] = "a list of token ids, or a list of such lists",
    [SRV_OBJECT] = "an object",
    [SRV_OBJECTS] = "a list of objects",
    [SRV_DOCUMENTS] = "a list of strings or of objects with a string \"text\"",
};

static bool fits(const json_t *v, const srv_field *f)
{
    switch (f->kind) {
    case SRV_BOOL: return json_is_boolean(v);
    case SRV_INT: return is_whole(v, f);
    case SRV_REAL: return is_real(v, f);
    case SRV_STRING: return json_is_string(v);
    case SRV_CHOICE: return is_choice(v, f->choices);
    case SRV_STRINGS: return is_strings(v);
    case SRV_TEXTS: return all(v, is_string);
    case SRV_INPUTS: return is_inputs(v);
    case SRV_PAIRS: return is_pairs(v);
    case SRV_TEXTS_OR_PAIRS: return is_texts_or_pairs(v);
    case SRV_LABELED: return is_labeled(v);
    case SRV_IDS: return is_ids_or_many(v);
    case SRV_OBJECT: return json_is_object(v);
    case SRV_OBJECTS: return all(v, is_object);
    case SRV_DOCUMENTS: return all(v, is_document);
    case SRV_ONLY: return is_only(v, f->choices);
    case SRV_ANY:
    case SRV_IGNORED:
    case SRV_END: break;
    }
    return true;
}

/* ---- the body ---------------------------------------------------------------------------------------------------- */

static void refuse(srv_request *r, const srv_field *f, const json_t *v)
{
    char *got = v ? json_dumps(v, JSON_COMPACT | JSON_ENCODE_ANY | JSON_ENSURE_ASCII) : NULL;
    char expected[160];
    if (f->kind == SRV_INT) snprintf(expected, sizeof expected, "a whole number from %.0f to %.0f", f->low, f->high);
    else if (f->kind == SRV_REAL)
        snprintf(expected, sizeof expected, "a number from %.15g to %.15g", f->low, f->high);
    else if (f->kind == SRV_CHOICE) snprintf(expected, sizeof expected, "one of %s", f->choices);
    else if (f->kind == SRV_ONLY) snprintf(expected, sizeof expected, "%s, as no other value is supported", f->choices);
    else snprintf(expected, sizeof expected, "%s", expectation[f->kind]);
    srv_error(r, 422, "Validation", "`%s`: expected %s, got %.80s", f->name, expected, got ? got : "nothing");
    free(got);
}

static const srv_field *find_field(const srv_field *f, const char *name)
{
    while (f->kind != SRV_END && strcmp(f->name, name)) f++;
    return f->kind != SRV_END ? f : NULL;
}

/* Refuses members of an object that are not in the table; they would be ignored in silence. false: answered. */
static bool check_names(srv_request *r, const char *object, const json_t *in, const srv_field *field)
{
    const char *name;
    json_t *v;
    json_object_foreach((json_t *)in, name, v)
    {
        if (json_is_null(v) || find_field(field, name)) continue;
        srv_text known = {0};
        for (const srv_field *f = field; f->kind != SRV_END; f++)
            if (f->kind != SRV_IGNORED && f->kind != SRV_ONLY) srv_printf(&known, "%s%s", known.n ? ", " : "", f->name);
        srv_error(r, 422, "Validation", "`%s`: expected no members but %.300s, got `%.60s`, which is not supported",
                  object, known.n ? known.at : "none", name);
        srv_text_clear(&known);
        return false;
    }
    return true;
}

bool srv_check(srv_request *r, const json_t *in, const srv_field *f)
{
    for (; f->kind != SRV_END; f++) {
        const json_t *v = srv_member(in, f->name);
        if (!v && !f->required) continue;
        if (!v || !fits(v, f)) return refuse(r, f, v), false;
        if (f->kind == SRV_OBJECT && f->members &&
            !(srv_check(r, v, f->members) && check_names(r, f->name, v, f->members)))
            return false;
    }
    return true;
}

static int hex(char c)
{
    return c >= '0' && c <= '9'   ? c - '0'
           : c >= 'a' && c <= 'f' ? c - 'a' + 10
           : c >= 'A' && c <= 'F' ? c - 'A' + 10
                                  : -1;
}

/* Decodes %XX as a byte. `out` may be `text`. */
static size_t unescape(const char *text, size_t size, char *out)
{
    size_t n = 0;
    for (size_t i = 0; i < size; i++) {
        const bool escaped = text[i] == '%' && i + 2 < size && hex(text[i + 1]) >= 0 && hex(text[i + 2]) >= 0;
        out[n++] = escaped ? (char)(16 * hex(text[i + 1]) + hex(text[i + 2])) : text[i];
        i += escaped ? 2 : 0;
    }
    return n;
}

size_t srv_unescape(const char *text, size_t size, char *out, size_t space)
{
    const size_t n = size < space ? unescape(text, size, out) : 0;
    out[n] = 0;
    return n;
}

/* Decodes a name or a value of a form, in which + is a space. */
static json_t *form_text(char *text, size_t size)
{
    for (size_t i = 0; i < size; i++)
        if (text[i] == '+') text[i] = ' ';
    const size_t n = unescape(text, size, text);
    return memchr(text, 0, n) ? NULL : json_stringn(text, n);
}

/* application/x-www-form-urlencoded, as LibreTranslate's clients send it. NULL: not UTF-8, a name twice, or no memory.
 * An empty body may be NULL. */
static json_t *parse_form(char *body, size_t size)
{
    json_t *in = json_object();
    for (char *at = body, *end = size ? body + size : body; at < end && in;) {
        char *stop = memchr(at, '&', (size_t)(end - at));
        if (!stop) stop = end;
        char *value = memchr(at, '=', (size_t)(stop - at));
        if (!value) value = stop;
        json_t *name = form_text(at, (size_t)(value - at));
        json_t *text = value < stop ? form_text(value + 1, (size_t)(stop - value - 1)) : json_string("");
        if (name && !json_object_get(in, json_string_value(name))) rf__json_set(&in, json_string_value(name), text);
        else { /* not UTF-8, or twice */
            json_decref(text);
            json_decref(in);
            in = NULL;
        }
        json_decref(name);
        at = stop < end ? stop + 1 : end;
    }
    return in;
}

bool srv_dialect_is_strict(srv_dialect d) { return d == SRV_OPENAI || d == SRV_COHERE; }

/* Removes members that are not in the table, so that they use no memory while the request waits. POST / has several
 * tables. */
static void drop_unknown(json_t *in, const srv_field *field)
{
    const char *name;
    json_t *v;
    void *next;
    json_object_foreach_safe(in, next, name, v)
    {
        const srv_field *f = find_field(field, name);
        if (!f || f->kind == SRV_IGNORED) json_object_del(in, name);
    }
}

/* `curl -d` declares every body as a form. A form contains no brace, because names are percent-encoded. */
static bool begins_object(const srv_request *r)
{
    size_t i = 0;
    while (i < r->size && strchr(" \t\r\n", r->body[i])) i++;
    return i < r->size && r->body[i] == '{';
}

/* About the memory that a body needs when it has been parsed, whatever is in it: that of [0,0,...] is mostly values. */
static int64_t json_memory(const srv_request *r)
{
    enum { VALUE = 48 };
    int64_t values = 1;
    for (size_t i = 0; i < r->size; i++) {
        const char c = r->body[i];
        values += c == ',' || c == '[' || c == '{' || c == ':' || c == '&';
    }
    return (int64_t)r->size + VALUE * values;
}

static bool parse_body(srv_request *r)
{
    rf_error why = {0};
    if (r->in) return true; /* a part of another request */
    if (!srv_go_on(r) || !srv_charge(r, json_memory(r))) return false; /* it has waited for a worker */
    r->form = r->form && !begins_object(r);
    if (!r->form) r->in = rf__json_parse(r->body ? r->body : "", r->size, 0, "body", &why);
    else if (!(r->in = parse_form(r->body, r->size)))
        rf_fail(&why, RF_EDATA, "body: expected a form of UTF-8 texts, each name once, got something else");
    if (!r->in) {
        if (why.code == RF_ENOMEM) srv_fail(r, &why);
        else srv_error(r, 400, "Validation", "%s", why.text);
        return false;
    }
    free(r->body);
    r->body = NULL;
    r->size = r->capacity = 0;
    const char *key = srv_string(r->in, "api_key");
    if (r->key_in_body && !(key && srv_key_matches(r, key)))
        return srv_error(r, 401, "Unauthorized", "expected a valid API key as `api_key`, or as the header "
                         "\"Authorization: Bearer KEY\""), false;
    return true;
}

bool srv_read_body(srv_request *r)
{
    if (!parse_body(r)) return false;
    if (srv_dialect_is_strict(r->dialect) && !check_names(r, "body", r->in, r->route->field)) return false;
    if (r->route->field->kind != SRV_ANY) drop_unknown(r->in, r->route->field);
    return srv_check(r, r->in, r->route->field);
}

/* ---- texts ------------------------------------------------------------------------------------------------------- */

void srv_texts_clear(srv_texts *t)
{
    free(t->text);
    free(t->bytes);
    *t = (srv_texts){0};
}

uint32_t *srv_characters(const char *text, size_t size)
{
    uint32_t *out = calloc(size + 1, sizeof *out), n = 0;
    for (size_t i = 0; out && i <= size; i++) {
        out[i] = n;
        n += i < size && (text[i] & 0xC0) != 0x80;
    }
    return out;
}

int64_t srv_most_bytes(const srv_request *r)
{
    return r->model->max_length > 0 ? rf__max64(SRV_TOKEN_BYTES * r->model->max_length, SRV_TEXT_BYTES) : INT64_MAX;
}

/* Keeps `most` bytes of a longer text, or up to 3 less, so that it is cut between characters. */
static void cut_text(const char **text, size_t *bytes, size_t most, bool begin)
{
    const char *end = *text + *bytes;
    if (*bytes <= most) return;
    if (begin) *text = end - most;
    else end = *text + most;
    while (begin && (**text & 0xC0) == 0x80) ++*text;
    while (!begin && (*end & 0xC0) == 0x80) end--;
    *bytes = (size_t)(end - *text);
}

srv_fit srv_fit_of(const srv_request *r, const json_t *in)
{
    const char *side = srv_string(in, "truncation_direction");
    return (srv_fit){.cut = srv_bool(in, "truncate", r->s->o.auto_truncate),
                     .side = !side                            ? 0
                             : (*side == 'L' || *side == 'l') ? RF_ENCODE_CUT_BEGIN
                                                              : RF_ENCODE_CUT_END};
}

bool srv_input_fits(srv_request *r, rf_encoding *e, const char *name, const char *text, size_t bytes, const char *pair,
                    size_t pair_bytes)
{
    rf_error why = {0};
    const int64_t most = r->model->max_length > 0 ? r->model->max_length : INT64_MAX;
    if (!srv_go_on(r)) return false;
    if ((int64_t)(bytes + pair_bytes) > srv_most_bytes(r))
        srv_error(r, 422, "Validation", "`%s` must have at most %lld tokens. Given: %zu bytes", name, (long long)most,
                  bytes + pair_bytes);
    else if (rf_encode(r->model->tokenizer, text, bytes, pair, pair_bytes, 0, 0, e, NULL, &why)) srv_fail(r, &why);
    else if ((int64_t)e->n > most)
        srv_error(r, 422, "Validation", "`%s` must have at most %lld tokens. Given: %zu", name, (long long)most, e->n);
    return !r->status;
}

/* Whether a prompt and a text fit. */
static bool prompted_fits(srv_request *r, rf_encoding *e, const char *name, const char *prompt, const char *text,
                          size_t bytes)
{
    srv_text all = {0};
    srv_puts(&all, prompt);
    srv_put(&all, text, bytes);
    const bool good = all.failed ? (srv_error(r, 503, "Overloaded", "out of memory: a text"), false)
                                 : srv_input_fits(r, e, name, all.at, all.n, NULL, 0);
    srv_text_clear(&all);
    return good;
}

bool srv_texts_fit(srv_request *r, const char *name, srv_texts *t, srv_fit how)
{
    rf_encoding e;
    bool good = true;
    const size_t most = (size_t)srv_most_bytes(r);
    for (int64_t i = 0; i < t->n && how.cut; i++)
        cut_text(&t->text[i], &t->bytes[i], most, how.side == RF_ENCODE_CUT_BEGIN);
    if (how.cut) return true;
    rf_encoding_init(&e, r->s->o.ctx);
    for (int64_t i = 0; i < t->n && good; i++)
        good = how.prompt && *how.prompt
                   ? prompted_fits(r, &e, name, how.prompt, t->text[i], t->bytes[i])
                   : srv_input_fits(r, &e, name, t->text[i], t->bytes[i], NULL, 0);
    rf_encoding_clear(&e);
    return good;
}

static const json_t *text_of(const json_t *v) { return json_is_object(v) ? json_object_get(v, "text") : v; }

bool srv_check_count(srv_request *r, const char *name, size_t n)
{
    const srv_limits *l = &r->s->o.limits;
    const bool service = (r->dialect == SRV_OPENAI || r->dialect == SRV_COHERE) &&
                         l->max_service_batch_size > l->max_client_batch_size;
    const int64_t most = service ? l->max_service_batch_size : l->max_client_batch_size, got = (int64_t)n - r->beside;
    if (!n) return srv_error(r, 400, "Empty", "`%s` cannot be empty", name), false;
    if (got <= most) return true;
    r->failure = "batch_size";
    srv_error(r, 422, "Validation", "`%s`: batch size %lld > maximum allowed batch size %lld (%s)", name,
              (long long)got, (long long)most, service ? "--max-service-batch-size" : "--max-client-batch-size");
    return false;
}

static bool read_texts(srv_request *r, const json_t *list, const char *name, bool empty, srv_texts *out)
{
    const bool one = json_is_string(list);
    const size_t n = one ? 1 : json_array_size(list);
    *out = (srv_texts){.one = one, .n = (int64_t)n};
    out->text = calloc(n, sizeof *out->text);
    out->bytes = calloc(n, sizeof *out->bytes);
    if (!out->text || !out->bytes) return srv_error(r, 503, "Overloaded", "out of memory"), false;
    for (size_t i = 0; i < n; i++) {
        const json_t *v = text_of(one ? list : json_array_get(list, i));
        out->text[i] = json_string_value(v);
        out->bytes[i] = json_string_length(v);
        if (!out->bytes[i] && !empty) {
            char which[64] = "";
            if (n > 1) snprintf(which, sizeof which, ": text %zu of %zu is", i + 1, n);
            return srv_error(r, 400, "Empty", "`%s` cannot be empty%s", name, which), false;
        }
        r->characters += srv_length(out->text[i], out->bytes[i]);
    }
    return true;
}

bool srv_read_texts(srv_request *r, const json_t *list, const char *name, srv_texts *out)
{
    return srv_read_some_texts(r, list, name, false, out);
}

bool srv_read_some_texts(srv_request *r, const json_t *list, const char *name, bool empty, srv_texts *out)
{
    *out = (srv_texts){.n = 0};
    if (!srv_check_count(r, name, json_is_string(list) ? 1 : json_array_size(list))) return false;
    return read_texts(r, list, name, empty, out);
}

bool srv_read_labels(srv_request *r, const json_t *list, const char *name, srv_texts *out)
{
    *out = (srv_texts){.n = 0};
    if (json_array_size(list)) return read_texts(r, list, name, false, out);
    return srv_error(r, 400, "Empty", "`%s` cannot be empty", name), false;
}
