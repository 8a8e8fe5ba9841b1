/* normalizer.c — the normalizer of a tokenizer.json, as in Hugging Face's tokenizers.
 *
 *     Precompiled             SentencePiece's charsmap, by grapheme clusters: one of less than 6 bytes is replaced by
 *                             the shortest entry that begins it; in longer ones each character is replaced
 *     NFC NFD NFKC NFKD       Unicode's normal forms
 *     Nmt                     removes control characters, replaces other white space by blanks
 *     Replace                 a text, or consecutive blanks (" {2,}")
 *     Prepend                 inserts text before a nonempty text
 *     Strip Lowercase StripAccents Sequence                                                                          */
#include <stdio.h>
#include <utf8proc.h>

#include "normalizer.h"

enum { CLUSTER = 6, LONGEST_CHUNK = 1024, MOST_GROWTH = 256 };

/* ---- mapped texts ------------------------------------------------------------------------------------------------ */

bool rf__mapped_append(rf__mapped *m, const char *text, size_t size, uint32_t from, uint32_t to)
{
    if (!size) return true;
    if (!rf__grow(m->ctx, &m->at, &m->capacity, m->n + size + 1, 1) ||
        !rf__grow(m->ctx, &m->from, &m->from_capacity, m->n + size, sizeof *m->from) ||
        !rf__grow(m->ctx, &m->to, &m->to_capacity, m->n + size, sizeof *m->to))
        return false;
    memcpy(m->at + m->n, text, size);
    for (size_t i = m->n; i < m->n + size; i++) m->from[i] = from, m->to[i] = to;
    m->n += size;
    m->at[m->n] = 0;
    return true;
}

void rf__mapped_clear(rf__mapped *m)
{
    rf__free(m->ctx, m->at);
    rf__free(m->ctx, m->from);
    rf__free(m->ctx, m->to);
    *m = (rf__mapped){.ctx = m->ctx};
}

/* Bytes [at, end) unchanged. */
static bool keep(const rf__mapped *in, size_t at, size_t end, rf__mapped *out)
{
    for (size_t next = at; at < end; at = next) {
        rf__mapped_next(in, &next);
        if (!rf__mapped_append(out, in->at + at, next - at, in->from[at], in->to[next - 1])) return false;
    }
    return true;
}

static bool put_char(rf__mapped *out, uint32_t c, uint32_t from, uint32_t to)
{
    char utf8[4];
    return rf__mapped_append(out, utf8, rf__utf8_encode(c, utf8), from, to);
}

/* The last character of [at, end). */
static size_t last_of(const rf__mapped *in, size_t at, size_t end)
{
    while (--end > at && (in->at[end] & 0xC0) == 0x80);
    return end;
}

/* A text in place of [at, end), which tokenizers aligns with the last character there. */
static bool put_instead(const rf__normal_step *s, const rf__mapped *in, size_t at, size_t end, rf__mapped *out)
{
    const size_t last = last_of(in, at, end);
    return rf__mapped_append(out, s->to, s->to_size, in->from[last], in->to[last]);
}

/* ---- Precompiled ------------------------------------------------------------------------------------------------- */

/* The end of the grapheme cluster at `at`. */
static size_t cluster_end(const rf__mapped *in, size_t at)
{
    utf8proc_int32_t state = 0;
    uint32_t c = rf__mapped_next(in, &at);
    for (size_t next = at; at < in->n; at = next) {
        const uint32_t d = rf__mapped_next(in, &next);
        if (utf8proc_grapheme_break_stateful((utf8proc_int32_t)c, (utf8proc_int32_t)d, &state)) return at;
        c = d;
    }
    return at;
}

/* A text of the charsmap in place of [at, end): each character is aligned with the one in its place, additional ones
 * with the last. */
static bool put_mapped(const char *text, const rf__mapped *in, size_t at, size_t end, rf__mapped *out)
{
    for (size_t next = at, size; *text; text += size) {
        size = 1;
        while ((text[size] & 0xC0) == 0x80) size++;
        if (next < end) {
            at = next;
            rf__mapped_next(in, &next);
        }
        if (!rf__mapped_append(out, text, size, in->from[at], in->to[at])) return false;
    }
    return true;
}

static bool precompiled(const rf__normalizer *n, const rf__normal_step *s, const rf__mapped *in, rf__mapped *out)
{
    (void)s;
    for (size_t at = 0, end; at < in->n; at = end) {
        end = cluster_end(in, at);
        const char *whole = end - at < CLUSTER ? rf__charsmap_shortest(&n->charsmap, in->at + at, end - at) : NULL;
        if (whole) {
            if (!put_mapped(whole, in, at, end, out)) return false;
            continue;
        }
        for (size_t c = at, next = at; c < end; c = next) {
            rf__mapped_next(in, &next);
            const char *one = rf__charsmap_shortest(&n->charsmap, in->at + c, next - c);
            if (one ? !put_mapped(one, in, c, next, out) : !keep(in, c, next, out)) return false;
        }
    }
    return true;
}

static int sextet(char c)
{
    static const char all[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    const char *p = c ? strchr(all, c) : NULL;
    return p ? (int)(p - all) : -1;
}

/* Length of the decoded base 64 in `text`; to[] has space for three quarters of it; -1: invalid. */
static int64_t from_base64(const char *text, size_t size, unsigned char *to)
{
    size_t n = 0;
    if (size % 4) return -1;
    for (size_t i = 0; i < size; i += 4) {
        uint32_t x = 0;
        const size_t fill = i + 4 < size ? 0 : (size_t)(text[i + 3] == '=') + (text[i + 2] == '=');
        for (size_t k = 0; k < 4; k++) {
            const int d = k >= 4 - fill ? 0 : sextet(text[i + k]);
            if (d < 0) return -1;
            x = x << 6 | (uint32_t)d;
        }
        for (size_t k = 0; k < 3 - fill; k++) to[n++] = (unsigned char)(x >> (16 - 8 * k));
    }
    return (int64_t)n;
}

static rf_status read_charsmap(rf__normalizer *n, const json_t *x, const char *path, rf_error *why)
{
    const json_t *map = json_object_get(x, "precompiled_charsmap");
    const char *text = json_string_value(map);
    const size_t size = json_string_length(map);
    char where[RF_PATH + 64];
    rf_status status = RF_OK;
    snprintf(where, sizeof where, "%s: normalizer: precompiled_charsmap", path);
    if (n->charsmap.unit) return rf_fail(why, RF_EUNSUPPORTED, "%s: two Precompiled are not supported", where);
    unsigned char *data = text ? rf__alloc(n->ctx, size + 4) : NULL;
    if (text && !data) return rf_fail(why, RF_ENOMEM, "%s: out of memory", path);
    const int64_t bytes = text ? from_base64(text, size, data) : -1;
    if (bytes < 0) status = rf_fail(why, RF_EDATA, "%s: expected base 64, got other characters", where);
    if (!status) status = rf__charsmap_read(&n->charsmap, n->ctx, data, (size_t)bytes, where, why);
    rf__free(n->ctx, data);
    return status;
}

/* ---- normal forms ------------------------------------------------------------------------------------------------ */

static bool within(uint32_t c, uint32_t low, uint32_t high) { return c >= low && c <= high; }

/* Whether no earlier character can combine with its decomposition: it is no mark and no part of a Hangul syllable,
 * which may be half-width. */
static bool begins_chunk(uint32_t c)
{
    utf8proc_int32_t to[32];
    int last = 0;
    if (c < 0x300) return true;
    if (within(c, 0x1100, 0x11FF) || within(c, 0x3130, 0x318F) || within(c, 0xA960, 0xA97F) ||
        within(c, 0xD7B0, 0xD7FF) || within(c, 0xFF9E, 0xFFDC))
        return false;
    const utf8proc_ssize_t k =
        utf8proc_decompose_char((utf8proc_int32_t)c, to, 32, UTF8PROC_DECOMPOSE | UTF8PROC_COMPAT, &last);
    return k < 1 || k > 32 || rf__unicode_group((uint32_t)to[0]) != 'M';
}

/* A character of a normal form: the number of additional characters inserted before it, or, if negative, of characters
 * that were joined in it.  unicode-normalization-alignments, with which tokenizers computes offsets, uses the same
 * numbers. */
typedef struct formed { int32_t c, change; unsigned order; } formed;

static unsigned order_of(int32_t c) { return c < 0x300 ? 0 : (unsigned)utf8proc_get_property(c)->combining_class; }

/* Decomposes characters [at, end), with marks in canonical order; returns their number. */
static size_t decompose(const rf__normal_step *s, const rf__mapped *in, size_t at, size_t end, formed out[])
{
    size_t n = 0;
    while (at < end) {
        utf8proc_int32_t to[32];
        int last = 0;
        const int32_t c = (int32_t)rf__mapped_next(in, &at);
        utf8proc_ssize_t k = utf8proc_decompose_char(c, to, 32, (utf8proc_option_t)s->flags, &last);
        if (k < 1 || k > 32) to[0] = c, k = 1;
        for (utf8proc_ssize_t i = 0; i < k; i++) {
            const formed x = {to[i], i > 0, order_of(to[i])};
            size_t place = n++;
            for (; x.order && place && out[place - 1].order > x.order; place--) out[place] = out[place - 1];
            out[place] = x;
        }
    }
    return n;
}

/* Canonical composition (Unicode 15, section 3.11), in place. */
static size_t compose(formed x[], size_t n)
{
    size_t starter = SIZE_MAX, kept = 0;
    for (size_t i = 0; i < n; i++) {
        const formed c = x[i];
        const bool next_to = starter != SIZE_MAX && kept == starter + 1;
        const bool free = next_to || (starter != SIZE_MAX && x[kept - 1].order && x[kept - 1].order < c.order);
        utf8proc_int32_t two[2] = {free ? x[starter].c : 0, c.c};
        if (free && utf8proc_normalize_utf32(two, 2, UTF8PROC_STABLE | UTF8PROC_COMPOSE) == 1) {
            x[starter].c = two[0];
            x[starter].change += c.change - 1;
            continue;
        }
        if (!c.order) starter = kept;
        x[kept++] = c;
    }
    return kept;
}

static rf__normal_do normal_form;

/* Only frequent characters: Latin, Cyrillic, punctuation, Kana, Han, Hangul, full-width forms. */
bool rf__nfc_keeps(uint32_t c)
{
    return c < 0x300 || within(c, 0x2010, 0x205E) || within(c, 0x4E00, 0x9FFF) || within(c, 0x3001, 0x3029) ||
           within(c, 0x3041, 0x3096) || within(c, 0x30A1, 0x30FF) || within(c, 0xAC00, 0xD7A3) ||
           within(c, 0xFF01, 0xFF9D) || within(c, 0x400, 0x482);
}

static bool step_keeps(const rf__normal_step *s, const char *text, size_t size)
{
    const bool nfc = s->go == normal_form && s->flags & UTF8PROC_COMPOSE && !(s->flags & UTF8PROC_COMPAT);
    for (size_t at = 0; at < size;) {
        uint64_t eight;
        if (size - at >= 8 && (memcpy(&eight, text + at, 8), !(eight & 0x8080808080808080))) at += 8;
        else if (!nfc && (unsigned char)text[at] >= 0x80) return false;
        else if (nfc && !rf__nfc_keeps(rf__utf8_get((const unsigned char *)text, &at))) return false;
        else at += !nfc;
    }
    return s->go == normal_form;
}

static bool normal_form(const rf__normalizer *n, const rf__normal_step *s, const rf__mapped *in, rf__mapped *out)
{
    if (step_keeps(s, in->at, in->n)) return keep(in, 0, in->n, out);
    formed *x = rf__alloc(n->ctx, (size_t)32 * LONGEST_CHUNK * sizeof *x);
    bool good = x != NULL;
    for (size_t at = 0, end; at < in->n && good; at = end) {
        size_t length = 1;
        end = at;
        rf__mapped_next(in, &end);
        for (size_t next = end; end < in->n && length < LONGEST_CHUNK; end = next, length++)
            if (begins_chunk(rf__mapped_next(in, &next))) break;
        if (end == at + 1 && (unsigned char)in->at[at] < 0x80) {
            good = keep(in, at, end, out);
            continue;
        }
        size_t k = decompose(s, in, at, end, x), last = at, next = at;
        if (s->flags & UTF8PROC_COMPOSE) k = compose(x, k);
        for (size_t i = 0; i < k && good; i++) {
            const size_t from = x[i].change > 0 || next == end ? last : next;
            for (int32_t more = x[i].change; more <= 0 && next < end; more++) {
                last = next;
                rf__mapped_next(in, &next);
            }
            good = put_char(out, (uint32_t)x[i].c, in->from[from], in->to[from]);
        }
    }
    rf__free(n->ctx, x);
    return good;
}

/* ---- characters -------------------------------------------------------------------------------------------------- */

static bool each(const rf__normalizer *n, const rf__mapped *in, rf__mapped *out,
                 int become(const rf__normalizer *n, uint32_t c, uint32_t to[2]))
{
    for (size_t at = 0, next = 0; at < in->n; at = next) {
        uint32_t to[2];
        const int k = become(n, rf__mapped_next(in, &next), to);
        for (int i = 0; i < k; i++)
            if (!put_char(out, to[i], in->from[at], in->to[next - 1])) return false;
    }
    return true;
}

static int nmt_of(const rf__normalizer *n, uint32_t c, uint32_t to[2])
{
    (void)n;
    if (within(c, 1, 8) || c == 0xB || within(c, 0xE, 0x1F) || c == 0x7F || c == 0x8F || c == 0x9F) return 0;
    const bool blank = c == 9 || c == 0xA || c == 0xC || c == 0xD || c == 0x1680 || within(c, 0x200B, 0x200F) ||
                       c == 0x2028 || c == 0x2029 || c == 0x2581 || c == 0xFEFF || c == 0xFFFD;
    to[0] = blank ? ' ' : c;
    return 1;
}

static bool nmt(const rf__normalizer *n, const rf__normal_step *s, const rf__mapped *in, rf__mapped *out)
{
    (void)s;
    return each(n, in, out, nmt_of);
}

static int without_mark(const rf__normalizer *n, uint32_t c, uint32_t to[2])
{
    (void)n;
    to[0] = c;
    return rf__unicode_group(c) != 'M';
}

static bool strip_accents(const rf__normalizer *n, const rf__normal_step *s, const rf__mapped *in, rf__mapped *out)
{
    (void)s;
    return each(n, in, out, without_mark);
}

static int lower_of(const rf__normalizer *n, uint32_t c, uint32_t to[2])
{
    return rf__unicode_lower(n->lower, c, rf__unicode_flags(n->lower, c), to);
}

static bool lowercase(const rf__normalizer *n, const rf__normal_step *s, const rf__mapped *in, rf__mapped *out)
{
    (void)s;
    return each(n, in, out, lower_of);
}

/* ---- texts ------------------------------------------------------------------------------------------------------- */

static bool strip(const rf__normalizer *n, const rf__normal_step *s, const rf__mapped *in, rf__mapped *out)
{
    size_t from = 0, to = in->n;
    (void)n;
    while (s->left && from < to) {
        size_t next = from;
        if (!rf__unicode_white(rf__mapped_next(in, &next))) break;
        from = next;
    }
    while (s->right && from < to) {
        size_t last = to - 1;
        while ((in->at[last] & 0xC0) == 0x80) last--;
        size_t next = last;
        if (!rf__unicode_white(rf__mapped_next(in, &next))) break;
        to = last;
    }
    return keep(in, from, to, out);
}

static bool replace(const rf__normalizer *n, const rf__normal_step *s, const rf__mapped *in, rf__mapped *out)
{
    (void)n;
    for (size_t at = 0; at < in->n;) {
        if (s->from_size <= in->n - at && !memcmp(in->at + at, s->from, s->from_size)) {
            const size_t end = at + s->from_size;
            if (!put_instead(s, in, at, end, out)) return false;
            at = end;
            continue;
        }
        size_t next = at;
        rf__mapped_next(in, &next);
        if (!keep(in, at, next, out)) return false;
        at = next;
    }
    return true;
}

static bool collapse(const rf__normalizer *n, const rf__normal_step *s, const rf__mapped *in, rf__mapped *out)
{
    (void)n;
    for (size_t at = 0, end; at < in->n; at = end) {
        for (end = at; end < in->n && in->at[end] == ' '; end++);
        if (end > at + 1) {
            if (!put_instead(s, in, at, end, out)) return false;
            continue;
        }
        end = at;
        rf__mapped_next(in, &end);
        if (!keep(in, at, end, out)) return false;
    }
    return true;
}

static bool prepend(const rf__normalizer *n, const rf__normal_step *s, const rf__mapped *in, rf__mapped *out)
{
    (void)n;
    return !in->n || (rf__mapped_append(out, s->to, s->to_size, in->from[0], in->to[0]) && keep(in, 0, in->n, out));
}

bool rf__normal_keeps(const rf__normalizer *n, const char *text, size_t size)
{
    for (size_t i = 0; i < n->steps; i++)
        if (!step_keeps(&n->step[i], text, size)) return false;
    return true;
}

bool rf__normal_run(const rf__normalizer *n, rf__mapped *text, rf__mapped *spare)
{
    for (size_t i = 0; i < n->steps; i++) {
        spare->n = 0;
        if (!n->step[i].go(n, &n->step[i], text, spare)) return false;
        const rf__mapped result = *spare;
        *spare = *text;
        *text = result;
    }
    return true;
}

/* ---- reading ----------------------------------------------------------------------------------------------------- */

static const struct { const char *type; rf__normal_do *go; int flags; } kinds[] = {
    {"Precompiled", precompiled, 0},
    {"NFC", normal_form, UTF8PROC_STABLE | UTF8PROC_COMPOSE},
    {"NFD", normal_form, UTF8PROC_STABLE | UTF8PROC_DECOMPOSE},
    {"NFKC", normal_form, UTF8PROC_STABLE | UTF8PROC_COMPOSE | UTF8PROC_COMPAT},
    {"NFKD", normal_form, UTF8PROC_STABLE | UTF8PROC_DECOMPOSE | UTF8PROC_COMPAT},
    {"Nmt", nmt, 0},
    {"StripAccents", strip_accents, 0},
    {"Lowercase", lowercase, 0},
    {"Strip", strip, 0},
    {"Replace", replace, 0},
    {"Prepend", prepend, 0},
};

static rf_status read_texts(rf__normalizer *n, rf__normal_step *s, const json_t *x, const char *path, rf_error *why)
{
    const json_t *pattern = json_object_get(x, "pattern");
    const char *regex = json_string_value(json_object_get(pattern, "Regex"));
    const char *from = json_string_value(json_object_get(pattern, "String"));
    const char *to = json_string_value(json_object_get(x, s->go == prepend ? "prepend" : "content"));
    if (s->go == replace && regex && strcmp(regex, " {2,}") != 0)
        return rf_fail(why, RF_EUNSUPPORTED, "%s: normalizer: Replace: expected the Regex \" {2,}\", got \"%.60s\"",
                       path, rf__printable(regex).text);
    if (!to || (s->go == replace && !regex && !(from && *from)))
        return rf_fail(why, RF_EDATA, "%s: normalizer: Replace, Prepend: expected texts, got other values", path);
    if (regex) s->go = collapse;
    s->to_size = strlen(to);
    s->from_size = from ? strlen(from) : 0;
    s->to = rf__strdup(n->ctx, to);
    s->from = rf__strdup(n->ctx, from ? from : "");
    return s->to && s->from ? RF_OK : rf_fail(why, RF_ENOMEM, "%s: out of memory", path);
}

static rf_status read_step(rf__normalizer *n, const json_t *x, const char *path, rf_error *why)
{
    const char *type = json_string_value(json_object_get(x, "type"));
    rf__normal_step s = {0};
    for (size_t i = 0; i < RF_COUNT(kinds) && type; i++)
        if (!strcmp(type, kinds[i].type)) s.go = kinds[i].go, s.flags = kinds[i].flags;
    if (!s.go)
        return rf_fail(why, RF_EUNSUPPORTED, "%s: normalizer %.60s is not supported for subwords", path,
                       type ? rf__printable(type).text : "without type");
    if (n->steps == RF_NORMAL_STEPS)
        return rf_fail(why, RF_EUNSUPPORTED, "%s: normalizer: expected at most %d steps, got more", path,
                       RF_NORMAL_STEPS);
    rf_status status = RF_OK;
    s.left = json_is_true(json_object_get(x, "strip_left"));
    s.right = json_is_true(json_object_get(x, "strip_right"));
    if (s.go == precompiled) status = read_charsmap(n, x, path, why);
    if (s.go == lowercase && !n->lower) {
        n->lower = rf__alloc(n->ctx, sizeof *n->lower);
        if (!n->lower) return rf_fail(why, RF_ENOMEM, "%s: out of memory", path);
        rf__unicode_init(n->lower, RF_RULES_RUST);
    }
    n->prepends |= s.go == prepend;
    rf__normal_step *own = &n->step[n->steps++];
    *own = s;
    if (s.go == replace || s.go == prepend) status = read_texts(n, own, x, path, why);
    return status;
}

/* The expansions of steps multiply: with three steps of a thousand characters per letter, five letters would become
 * five billion. */
static rf_status check_growth(const rf__normalizer *n, const char *path, rf_error *why)
{
    double growth = n->charsmap.longest > 1 ? (double)n->charsmap.longest : 1;
    for (size_t i = 0; i < n->steps; i++) {
        const rf__normal_step *s = &n->step[i];
        if (s->go != replace && s->go != collapse) continue;
        const double by = (double)s->to_size / (s->go == collapse ? 2 : (double)s->from_size);
        growth *= by > 1 ? by : 1;
    }
    if (growth <= MOST_GROWTH) return RF_OK;
    return rf_fail(why, RF_EUNSUPPORTED, "%s: normalizer: its Replace and Precompiled steps together make a text up to "
                   "%.0f times as long: expected at most %d times; shorten their \"content\"", path, growth,
                   MOST_GROWTH);
}

static rf_status read_part(rf__normalizer *n, const json_t *x, int depth, const char *path, rf_error *why)
{
    const char *type = json_string_value(json_object_get(x, "type"));
    size_t i;
    json_t *one;
    rf_status status = RF_OK;
    if (!x || json_is_null(x)) return RF_OK;
    if (!type || strcmp(type, "Sequence") != 0) return read_step(n, x, path, why);
    if (depth > 8) return rf_fail(why, RF_EUNSUPPORTED, "%s: normalizer: a Sequence more than 8 deep", path);
    json_array_foreach(json_object_get(x, "normalizers"), i, one)
        if (!status) status = read_part(n, one, depth + 1, path, why);
    return status;
}

rf_status rf__normal_read(rf__normalizer *n, const rf_ctx *ctx, const json_t *part, const char *path, rf_error *why)
{
    *n = (rf__normalizer){.ctx = ctx};
    const rf_status status = read_part(n, part, 0, path, why);
    return status ? status : check_growth(n, path, why);
}

void rf__normal_clear(rf__normalizer *n)
{
    for (size_t i = 0; i < n->steps; i++) {
        rf__free(n->ctx, n->step[i].from);
        rf__free(n->ctx, n->step[i].to);
    }
    rf__charsmap_clear(n->ctx, &n->charsmap);
    rf__free(n->ctx, n->lower);
}
