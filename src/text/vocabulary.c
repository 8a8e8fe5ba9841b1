/* vocabulary.c — reads the two long members of a tokenizer.json; see vocabulary.h. */
#include <math.h>
#include <stdlib.h>

#include "base/json.h"
#include "text/unicode/unicode.h"
#include "text/vocabulary.h"

/* ---- the document: where its members are ------------------------------------------------------------------------- */

typedef struct span { const char *from, *to; } span;                                       /* with the brackets       */

static const char *after_blanks(const char *at, const char *end)
{
    while (at < end && (*at == ' ' || *at == '\n' || *at == '\r' || *at == '\t')) at++;
    return at;
}

/* What follows a string whose quotation mark is before `at`; NULL: it does not end. */
static const char *after_string(const char *at, const char *end)
{
    for (; at < end && *at != '"'; at++) at += *at == '\\';
    return at < end ? at + 1 : NULL;
}

/* The comma or bracket after a value. */
static const char *after_value(const char *at, const char *end)
{
    size_t depth = 0;
    while (at && at < end) {
        const char c = *at++;
        if (!depth && (c == ',' || c == '}' || c == ']')) return at - 1;
        if (c == '"') at = after_string(at, end);
        depth += c == '{' || c == '[';
        depth -= c == '}' || c == ']';
    }
    return NULL;
}

/* The value of the next member of an object, from the bracket or comma before it; NULL: not JSON. */
static const char *next_value(const char *at, const char *end, span *key)
{
    key->from = after_blanks(at + 1, end);
    key->to = key->from < end && *key->from == '"' ? after_string(key->from + 1, end) : NULL;
    if (!key->to) return NULL;
    at = after_blanks(key->to, end);
    return at < end && *at == ':' ? after_blanks(at + 1, end) : NULL;
}

static bool is_named(span key, const char *quoted)
{
    return (size_t)(key.to - key.from) == strlen(quoted) && !memcmp(key.from, quoted, strlen(quoted));
}

/* The value of the first member "model" of the document; NULL: none. */
static const char *find_model(const char *text, const char *end)
{
    const char *at = after_blanks(text, end), *value;
    span key;
    if (at == end || *at != '{') return NULL;
    do {
        value = next_value(at, end, &key);
        if (!value || is_named(key, "\"model\"")) return value;
        at = after_value(value, end);
    } while (at && *at == ',');
    return NULL;
}

/* The members of the model; false: one of them twice, or not JSON. */
static bool find_lists(const char *model, const char *end, span *vocab, span *merges)
{
    const char *at = model, *value;
    span key;
    *vocab = *merges = (span){NULL, NULL};
    if (at == end || *at != '{') return false;
    do {
        if (!(value = next_value(at, end, &key)) || !(at = after_value(value, end))) return false;
        span *const to = is_named(key, "\"vocab\"") ? vocab : is_named(key, "\"merges\"") ? merges : NULL;
        if (to && to->from) return false;
        if (to) *to = (span){value, at};
    } while (*at == ',');
    return *at == '}';
}

/* ---- strings and numbers ----------------------------------------------------------------------------------------- */

typedef struct reader { const char *at, *end; char *to; } reader;

static bool takes(reader *r, char c)
{
    r->at = after_blanks(r->at, r->end);
    if (r->at == r->end || *r->at != c) return false;
    return r->at++, true;
}

static int hex(char c)
{
    const char small = (char)(c | 32);
    return c >= '0' && c <= '9' ? c - '0' : small >= 'a' && small <= 'f' ? small - 'a' + 10 : -1;
}

/* The four digits of \uXXXX; -1: others. */
static int32_t unit(reader *r)
{
    int32_t value = 0;
    for (int i = 0; i < 4; i++, r->at++) {
        const int digit = r->at < r->end ? hex(*r->at) : -1;
        if (digit < 0) return -1;
        value = value << 4 | digit;
    }
    return value;
}

static bool put_scalar(reader *r)
{
    int32_t c = unit(r);
    if (c >= 0xD800 && c < 0xDC00) {
        if (r->end - r->at < 6 || r->at[0] != '\\' || r->at[1] != 'u') return false;
        r->at += 2;
        const int32_t low = unit(r);
        if (low < 0xDC00 || low > 0xDFFF) return false;
        c = 0x10000 + ((c - 0xD800) << 10 | (low - 0xDC00));
    }
    if (c <= 0 || (c >= 0xDC00 && c < 0xE000)) return false;
    r->to += rf__utf8_encode((uint32_t)c, r->to);
    return true;
}

static bool put_escaped(reader *r)
{
    static const char from[] = "\"\\/bfnrt", to[] = "\"\\/\b\f\n\r\t";
    const char *found = r->at < r->end && *r->at ? strchr(from, *r->at) : NULL;
    if (r->at < r->end && *r->at == 'u') return r->at++, put_scalar(r);
    if (!found) return false;
    *r->to++ = to[found - from];
    return r->at++, true;
}

/* A string, copied and terminated. */
static bool string(reader *r, const char **out, size_t *size)
{
    bool ascii = true;
    if (!takes(r, '"')) return false;
    char *const first = r->to;
    while (r->at < r->end && *r->at != '"') {
        const unsigned char c = (unsigned char)*r->at++;
        if (c < 32 || (c == '\\' && !put_escaped(r))) return false;
        if (c != '\\') *r->to++ = (char)c;
        ascii &= c < 0x80;
    }
    if (r->at == r->end) return false;
    r->at++;
    *size = (size_t)(r->to - first);
    *r->to++ = 0;
    *out = first;
    return ascii || rf__json_takes(first);
}

static bool is_digit(const reader *r) { return r->at < r->end && *r->at >= '0' && *r->at <= '9'; }

static double power_of_ten(int n)                                                          /* 0 to 308                */
{
    char text[8];
    snprintf(text, sizeof text, "1e%d", n);
    return strtod(text, NULL);
}

static double scaled(double digits, int power)
{
    if (!power || digits < 1) return digits;
    if (power < -616 || power > 308) return power > 0 ? digits * INFINITY : digits * 0;
    if (power < -308) digits /= 1e308, power += 308;
    return power > 0 ? digits * power_of_ten(power) : digits / power_of_ten(-power);
}

/* Digits as far as they fit into 64 bits: how many did, and how many did not (serde_json leaves out all after them). */
static bool take_digits(reader *r, uint64_t *digits, bool *full, int *taken, int *left)
{
    const char *const first = r->at;
    for (; is_digit(r); r->at++) {
        const uint64_t digit = (uint64_t)(*r->at - '0');
        *full |= *digits > (UINT64_MAX - digit) / 10;
        if (!*full) *digits = 10 * *digits + digit;
        *(*full ? left : taken) += 1;
    }
    return r->at > first;
}

static bool take_exponent(reader *r, int *power)
{
    int exponent = 0;
    const bool down = r->at < r->end && *r->at == '-';
    if (r->at < r->end && (down || *r->at == '+')) r->at++;
    if (!is_digit(r)) return false;
    for (; is_digit(r); r->at++) exponent = exponent < 100000 ? 10 * exponent + (*r->at - '0') : exponent;
    *power += down ? -exponent : exponent;
    return true;
}

static bool number(reader *r, double *out)
{
    uint64_t digits = 0;
    int whole = 0, beyond = 0, part = 0, unused = 0;
    bool full = false;
    const bool minus = takes(r, '-');                                                     /* or after blanks         */
    const char *const first = r->at;
    if (!take_digits(r, &digits, &full, &whole, &beyond) || (*first == '0' && r->at > first + 1)) return false;
    if (r->at < r->end && *r->at == '.' && (r->at++, !take_digits(r, &digits, &full, &part, &unused))) return false;
    int power = beyond - part;
    if (r->at < r->end && (*r->at == 'e' || *r->at == 'E') && (r->at++, !take_exponent(r, &power))) return false;
    const double size = scaled((double)digits, power);
    *out = minus ? -size : size;
    return isfinite(size);
}

/* ---- the lists --------------------------------------------------------------------------------------------------- */

/* The elements of a list or object; false: `read` refused one, or no JSON. */
static bool each(rf__vocabulary *p, reader *r, char open, bool (*read)(rf__vocabulary *, reader *))
{
    const char close = open == '{' ? '}' : ']';
    if (!takes(r, open)) return false;
    if (takes(r, close)) return true;
    do
        if (!read(p, r)) return false;
    while (takes(r, ','));
    return takes(r, close);
}

static rf__piece *more_pieces(rf__vocabulary *p)
{
    if (p->n == RF__MAX_VALUES) return NULL;
    p->lost = !rf__grow(p->ctx, &p->piece, &p->capacity, p->n + 1, sizeof *p->piece);
    return p->lost ? NULL : &p->piece[p->n++];
}

static bool read_id(rf__vocabulary *p, reader *r)
{
    rf__piece *x = more_pieces(p);
    return x && string(r, &x->name, &x->size) && takes(r, ':') && number(r, &x->value);
}

static bool read_score(rf__vocabulary *p, reader *r)
{
    rf__piece *x = more_pieces(p);
    return x && takes(r, '[') && string(r, &x->name, &x->size) && takes(r, ',') && number(r, &x->value) &&
           takes(r, ']');
}

static bool read_merge(rf__vocabulary *p, reader *r)
{
    if (p->merges == RF__MAX_VALUES) return false;
    p->lost = !rf__grow(p->ctx, &p->merge, &p->merges_capacity, p->merges + 1, sizeof *p->merge);
    if (p->lost) return false;
    rf__piece_pair *x = &p->merge[p->merges++];
    *x = (rf__piece_pair){NULL, NULL, 0, 0};
    if (!takes(r, '[')) return string(r, &x->a, &x->a_size);
    return string(r, &x->a, &x->a_size) && takes(r, ',') && string(r, &x->b, &x->b_size) && takes(r, ']');
}

/* ---- by name ----------------------------------------------------------------------------------------------------- */

/* False: no memory, or a name occurs twice. */
static bool index_names(rf__vocabulary *p)
{
    p->lost = !rf__text_index_all(&p->index, p->ctx, p->piece, sizeof *p->piece, p->n);
    return !p->lost && p->index.texts == p->n;
}

const rf__piece *rf__vocabulary_find(const rf__vocabulary *p, const char *name)
{
    const size_t i = rf__text_index_find(&p->index, p->piece, sizeof *p->piece, name, strlen(name));
    return i < p->n ? &p->piece[i] : NULL;
}

/* ---- reading ----------------------------------------------------------------------------------------------------- */

/* The text without the two spans, of which the brackets stay. */
static char *without(const rf_ctx *ctx, const char *text, size_t size, span one, span other, size_t *out)
{
    const span first = !other.from || one.from < other.from ? one : other,
               second = !other.from || one.from < other.from ? other : one;
    char *rest = rf__alloc(ctx, size + 1), *to = rest;
    const span cut[] = {first, second};
    const char *at = text;
    for (size_t i = 0; rest && i < RF_COUNT(cut) && cut[i].from; i++) {
        const char close = *cut[i].from == '{' ? '}' : ']';
        memcpy(to, at, (size_t)(cut[i].from + 1 - at));
        to += cut[i].from + 1 - at;
        *to++ = close;
        at = cut[i].to;
    }
    if (!rest) return NULL;
    memcpy(to, at, (size_t)(text + size - at));
    to += text + size - at;
    *to = 0;
    *out = (size_t)(to - rest);
    return rest;
}

static bool read_lists(rf__vocabulary *p, span vocab, span merges)
{
    const bool map = *vocab.from == '{';
    reader r = {vocab.from, vocab.to, p->strings};
    if (!each(p, &r, *vocab.from, map ? read_id : read_score) || !p->n) return false;
    if (after_blanks(r.at, r.end) != r.end || (map && !index_names(p))) return false;
    r = (reader){merges.from, merges.to, r.to};
    return !merges.from || (each(p, &r, '[', read_merge) && after_blanks(r.at, r.end) == r.end);
}

static bool begins_with(span x, const char *brackets) { return x.from && x.from < x.to && strchr(brackets, *x.from); }

rf_status rf__vocabulary_read(rf__vocabulary *p, const rf_ctx *ctx, const char *text, size_t size, char **rest,
                              size_t *rest_size)
{
    const char *const end = text + size;
    const char *const model = find_model(text, end);
    span vocab, merges;
    *p = (rf__vocabulary){.ctx = ctx};
    *rest = NULL;
    if (!model || !find_lists(model, end, &vocab, &merges) || !begins_with(vocab, "{[")) return RF_OK;
    if (!begins_with(merges, "[")) merges = (span){NULL, NULL};
    p->strings = rf__alloc(ctx, size + 1);
    const bool done = p->strings && read_lists(p, vocab, merges);
    if (done) *rest = without(ctx, text, size, vocab, merges, rest_size);
    const bool lost = p->lost || !p->strings || (done && !*rest);
    if (!*rest) rf__vocabulary_clear(p);
    return lost ? RF_ENOMEM : RF_OK;
}

void rf__vocabulary_clear(rf__vocabulary *p)
{
    rf__free(p->ctx, p->strings);
    rf__free(p->ctx, p->piece);
    rf__free(p->ctx, p->merge);
    rf__free(p->ctx, p->index.slot);
    *p = (rf__vocabulary){.ctx = p->ctx};
}
