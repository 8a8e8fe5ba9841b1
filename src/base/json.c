/* json.c — reads JSON documents with limits on their size, without duplicate keys, and reports errors with line and
 * byte; builds JSON values that are complete or NULL. */
#include <math.h>
#include <stdlib.h>

#include "base/json.h"

rf__label rf__printable(const char *text)
{
    rf__label label;
    size_t n = 0;
    for (; text[n] && n < sizeof label.text - 1; n++) {
        const unsigned char c = (unsigned char)text[n];
        label.text[n] = c < 32 || c == 127 ? '?' : text[n];
    }
    if (text[n])                                                   /* do not cut a character */
        while (n && ((unsigned char)text[n] & 0xC0) == 0x80) n--;
    label.text[n] = 0;
    return label;
}

/* Bytes of the scalar written as \uXXXX. Half of a surrogate pair counts as two, since the pair has four bytes. */
static size_t escaped_bytes(const char *hex)
{
    unsigned c = 0;
    for (int i = 0; i < 4; i++) c = c << 4 | (unsigned)(hex[i] <= '9' ? hex[i] - '0' : (hex[i] & 7) + 9);
    return c < 0x80 ? 1 : c < 0x800 || (c >= 0xD800 && c < 0xE000) ? 2 : 3;
}

/* Sizes of a document before it is parsed. `values` is an upper bound: a parser takes about 50 bytes for a value of two
 * bytes ("0,"), so a small file could request much memory. `bytes` counts all strings and keys, if the document is
 * valid. */
typedef struct measure { size_t values, bytes, longest; } measure;

static measure measure_of(const char *text, size_t size)
{
    measure m = {.values = 1};
    bool quoted = false;
    size_t token = 0;                                              /* where it begins */
    for (size_t i = 0; i < size; i++) {
        const char c = text[i];
        if (c == '"') {
            quoted = !quoted;
        } else if (quoted && c == '\\' && ++i + 4 < size && text[i] == 'u') {
            m.bytes += escaped_bytes(text + i + 1);
            i += 4;
        } else {
            m.bytes += quoted;
            m.values += !quoted && (c == ',' || c == '[' || c == '{');
            if (!quoted && (c == ',' || c == ':')) token = i;
        }
        if (i - token > m.longest) m.longest = i - token;
    }
    return m;
}

static size_t bytes_read(const json_t *value)
{
    const char *key;
    json_t *member;
    size_t bytes = json_string_length(value), i;
    json_object_foreach((json_t *)(uintptr_t)value, key, member) bytes += strlen(key) + bytes_read(member);
    json_array_foreach(value, i, member) bytes += bytes_read(member);
    return bytes;
}

static void lose(json_t **all)
{
    json_decref(*all);
    *all = NULL;
}

/* jansson reports most failed allocations without a message. It reports others as an invalid token that begins with a
 * quotation mark, which no text can cause, since errors in strings have other messages. */
static bool out_of_memory(const json_error_t *e)
{
    static const char *const said[] = {"invalid token near '\"", "string or '}' expected near '\""};
    if (!*e->text || json_error_code(e) == json_error_out_of_memory) return true;
    for (size_t i = 0; i < RF_COUNT(said); i++)
        if (!strncmp(e->text, said[i], strlen(said[i]))) return true;
    return false;
}

/* The largest size of jansson's buffer for a token: twice the size of the token, and the previous buffer next to it. */
static bool has_memory_for(size_t token)
{
    json_malloc_t get;
    json_free_t give_back;
    json_get_alloc_funcs(&get, &give_back);
    void *p = token < SIZE_MAX / 8 ? get(4 * token + 32) : NULL;
    give_back(p);
    return p != NULL;
}

/* If that buffer cannot grow, jansson (2.14) does not notice: it loses the current byte and accepts the token without
 * it. Therefore memory is tried first, and the size of what was read is checked, except where duplicate keys may hide
 * members. */
static json_t *load(const char *text, size_t size, const measure *m, size_t flags, json_error_t *error, bool *memory)
{
    json_error_t again;
    *error = (json_error_t){0};
    *memory = !has_memory_for(m->longest);
    json_t *root = *memory ? NULL : json_loadb(text, size, flags, error);
    if (!root) {
        *memory = out_of_memory(error);
        if (*memory) return NULL;
        root = json_loadb(text, size, flags, &again);               /* an error in the text would occur again */
        *memory = root || strcmp(error->text, again.text) != 0;
    } else {
        *memory = flags & JSON_REJECT_DUPLICATES && bytes_read(root) != m->bytes;
    }
    if (*memory) lose(&root);
    return root;
}

json_t *rf__json_load(const char *text, size_t size, size_t flags, json_error_t *error, bool *memory)
{
    const measure m = measure_of(text, size);
    return load(text, size, &m, flags, error, memory);
}

/* The name of the member whose value ends at byte `at`; "": the value does not follow a name. */
static rf__label member_before(const char *text, size_t at)
{
    char name[64] = "";
    size_t end;
    while (at && text[at - 1] && strchr("+-.0123456789eE", text[at - 1])) at--;
    while (at && text[at - 1] == ' ') at--;
    if (!at || text[--at] != ':') return rf__printable("");
    while (at && text[at - 1] == ' ') at--;
    if (!at || text[--at] != '"') return rf__printable("");
    for (end = at; at && text[at - 1] != '"'; at--) {}
    snprintf(name, sizeof name, "%.*s", (int)rf__min64((int64_t)(end - at), 60), text + at);
    return rf__printable(name);
}

static void fail_syntax(const char *text, size_t size, const char *name, const json_error_t *e, rf_error *why)
{
    const bool number = json_error_code(e) == json_error_numeric_overflow && e->position >= 0;
    const rf__label member = member_before(text, number ? (size_t)rf__min64(e->position, (int64_t)size) : 0);
    if (*member.text)
        rf_fail(why, RF_EDATA, "%s: `%s`: expected a number that fits into 64 bits: line %d, byte %d: %s", name,
                member.text, e->line, e->position, rf__printable(e->text).text);
    else
        rf_fail(why, RF_EDATA, "%s: not valid JSON: line %d, byte %d: %s", name, e->line, e->position,
                rf__printable(e->text).text);
}

json_t *rf__json_parse(const char *text, size_t size, size_t flags, const char *name, rf_error *why)
{
    if (size >= 3 && !memcmp(text, "\xEF\xBB\xBF", 3)) {
        rf_fail(why, RF_EDATA, "%s: expected JSON in UTF-8 without a byte order mark, got EF BB BF at its start; "
                "remove it: sed -i '1s/^\\xEF\\xBB\\xBF//' FILE", name);
        return NULL;
    }
    const measure m = measure_of(text, size);
    if (m.values > RF__MAX_VALUES) {
        rf_fail(why, RF_EDATA, "%s: expected at most %d JSON values, got %zu", name, RF__MAX_VALUES, m.values);
        return NULL;
    }
    json_error_t e;
    bool memory;
    json_t *root = load(text, size, &m, JSON_REJECT_DUPLICATES | flags, &e, &memory);
    if (!root && memory) {
        rf_fail(why, RF_ENOMEM, "%s: out of memory for its %zu JSON values", name, m.values);
    } else if (!root && json_error_code(&e) == json_error_null_character) {
        rf_fail(why, RF_EDATA, "%s: line %d, byte %d: expected strings without U+0000, got \\u0000; remove it", name,
                e.line, e.position);
    } else if (!root) {
        fail_syntax(text, size, name, &e, why);
    } else if (!json_is_object(root)) {
        rf_fail(why, RF_EDATA, "%s: expected a JSON object, got %s", name, rf__json_shown(root).text);
        json_decref(root);
        root = NULL;
    }
    return root;
}

/* The next escape \uXXXX of the scalar `hex` in small letters, from byte *at on, which becomes its first digit. */
static bool next_escape(const char *text, size_t size, const char *hex, size_t *at)
{
    const char *slash;
    for (size_t i = *at; i + 1 < size && (slash = memchr(text + i, '\\', size - 1 - i)); i++) {
        size_t same = 0;
        i = (size_t)(slash - text) + 1;
        if (text[i] != 'u' || i + 4 >= size) continue;
        for (char c; same < 4; same++)
            if ((c = text[i + 1 + same]) != hex[same] && !(c == 'F' && hex[same] == 'f')) break;
        if (same == 4) return *at = i + 1, true;
    }
    return false;
}

bool rf__json_hide_nul(char *text, size_t size)
{
    size_t at = 0;
    if (!next_escape(text, size, "0000", &at)) return false;
    for (size_t i = 0; i + 3 <= size; i++)
        if (!memcmp(text + i, RF__JSON_NUL, 3)) return false;
    at = 0;
    if (next_escape(text, size, "ffff", &at)) return false;
    for (at = 0; next_escape(text, size, "0000", &at);) memcpy(text + at, "ffff", 4);
    return true;
}

size_t rf__json_show_nul(char *text, size_t size)
{
    size_t to = 0;
    for (size_t i = 0; i < size; to++) {
        const bool nul = i + 3 <= size && !memcmp(text + i, RF__JSON_NUL, 3);
        text[to] = nul ? 0 : text[i];
        i += nul ? 3 : 1;
    }
    return to;
}

/* ---- building ---- */

void rf__json_set(json_t **object, const char *key, json_t *value)
{
    if (json_object_set_new(*object, key, value)) lose(object);
}

void rf__json_add(json_t **list, json_t *value)
{
    if (json_array_append_new(*list, value)) lose(list);
}

bool rf__json_flag(const json_t *object, const char *key, bool none)
{
    const json_t *value = json_object_get(object, key);
    return value && !json_is_null(value) ? json_is_true(value) : none;
}

typedef struct output { char *text; size_t size, capacity; bool failed; } output;

static int append_text(const char *text, size_t size, void *user)
{
    output *o = user;
    size_t need, wide = o->capacity;
    if (!rf__checked_add(o->size, size + 1, &need) || need > SIZE_MAX / 2) o->failed = true;
    while (!o->failed && wide < need) wide = wide ? 2 * wide : 256;
    if (!o->failed && wide > o->capacity) {
        char *more = realloc(o->text, wide);
        if (more) o->text = more, o->capacity = wide;
        else o->failed = true;
    }
    if (o->failed) return -1;
    memcpy(o->text + o->size, text, size);
    o->size += size;
    o->text[o->size] = 0;
    return 0;
}

char *rf__json_dump(const json_t *value, size_t flags)
{
    output o = {0};
    if (value && !json_dump_callback(value, append_text, &o, flags) && !o.failed) return o.text;
    free(o.text);
    return NULL;
}

/* Bytes of the scalar at the beginning of `text`, 0 if it is not valid: Table 3-7 of the Unicode standard. */
static size_t scalar_bytes(const unsigned char *text, size_t size)
{
    const unsigned char c = text[0];
    const size_t n = c < 0x80 ? 1 : c < 0xC2 || c > 0xF4 ? 0 : c < 0xE0 ? 2 : c < 0xF0 ? 3 : 4;
    if (!n || n > size) return 0;
    for (size_t i = 1; i < n; i++)
        if ((text[i] & 0xC0) != 0x80) return 0;
    const bool bad = n > 2 && ((c == 0xE0 && text[1] < 0xA0) || (c == 0xED && text[1] > 0x9F) ||
                               (c == 0xF0 && text[1] < 0x90) || (c == 0xF4 && text[1] > 0x8F));
    return bad ? 0 : n;
}

static bool is_utf8(const char *text, size_t size)
{
    size_t n = 0, one;
    while (n < size && (one = scalar_bytes((const unsigned char *)text + n, size - n)) != 0) n += one;
    return n == size;
}

bool rf__json_takes(const char *text) { return is_utf8(text, strlen(text)); }

json_t *rf__json_number(double x) { return isfinite(x) ? json_real(x) : json_null(); }

bool rf__json_whole(const json_t *value, json_int_t *out)
{
    const double exact = 9007199254740992;                /* 2^53: all smaller whole numbers are exact */
    const double x = json_real_value(value);
    if (json_is_integer(value)) *out = json_integer_value(value);
    else if (json_is_real(value) && x > -exact && x < exact && !(floor(x) < x)) *out = (json_int_t)x;
    else return false;
    return true;
}

json_t *rf__json_text(const char *text, size_t size)
{
    static const char unknown[] = "\xEF\xBF\xBD";
    if (is_utf8(text, size)) return json_stringn_nocheck(text, size);
    char *fit = size < SIZE_MAX / 4 ? malloc(3 * size) : NULL;
    if (!fit) return NULL;
    size_t wrote = 0;
    for (size_t i = 0; i < size;) {
        const size_t one = scalar_bytes((const unsigned char *)text + i, size - i);
        memcpy(fit + wrote, one ? text + i : unknown, one ? one : 3);
        wrote += one ? one : 3;
        i += one ? one : 1;
    }
    json_t *value = json_stringn_nocheck(fit, wrote);
    free(fit);
    return value;
}

rf__label rf__json_shown(const json_t *value)
{
    rf__label label = {""};
    char *const to = label.text;
    const size_t size = sizeof label.text;
    if (!value) snprintf(to, size, "none");
    else if (json_is_string(value)) snprintf(to, size, "\"%.70s\"", rf__printable(json_string_value(value)).text);
    else if (json_is_integer(value)) snprintf(to, size, "%" JSON_INTEGER_FORMAT, json_integer_value(value));
    else if (json_is_real(value)) snprintf(to, size, "%.15g", json_real_value(value));
    else if (json_is_array(value)) snprintf(to, size, "a list of %zu", json_array_size(value));
    else if (json_is_object(value)) snprintf(to, size, "an object of %zu keys", json_object_size(value));
    else snprintf(to, size, "%s", json_is_true(value) ? "true" : json_is_false(value) ? "false" : "null");
    return label;
}
