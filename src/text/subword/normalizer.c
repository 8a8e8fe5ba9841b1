/* normalizer.c — the normalizer of a tokenizer.json, as in Hugging Face's tokenizers.
 *
 *     BertNormalizer            cleans, puts Han characters apart, removes accents, changes to lower case
 *     ByteLevel                 the printable character of each byte
 *     NFC NFD NFKC NFKD         Unicode's normal forms
 *     Nmt                       removes control characters, replaces other white space by blanks
 *     Precompiled               SentencePiece's charsmap (precompiled.c)
 *     Prepend                   inserts text before a nonempty text
 *     Replace                   a text, or what a regular expression matches
 *     Strip Lowercase StripAccents Sequence (normalizer_read.c)                                                      */
#include <utf8proc.h>

#include "byte_level.h"
#include "normalizer.h"
#include "text/pipeline/classes.h"

enum { LONGEST_CHUNK = 1024, MOST_GROWTH = 256, SHORT = 1 << 16 };

bool rf__normal_fits(const rf__mapped *m, rf_error *why)
{
    if (m->n <= m->limit && m->n < UINT32_MAX / 4) return true;
    rf_fail(why, RF_ERANGE, "encode: the normalized text: expected at most %d times the bytes of the text, got more",
            MOST_GROWTH);
    return false;
}

/* Bytes [at, end) unchanged. */
static bool keep(const rf__mapped *in, size_t at, size_t end, rf__mapped *out)
{
    return rf__mapped_copy(out, in, at, end);
}

static bool put_char(rf__mapped *out, uint32_t c, uint32_t from, uint32_t to)
{
    char utf8[4];
    return rf__mapped_append(out, utf8, rf__utf8_encode(c, utf8), from, to);
}

/* A text in place of one that ends at `end`: tokenizers aligns it with the last character before. */
static bool put_instead(const rf__normal_step *s, const rf__mapped *in, size_t end, rf__mapped *out)
{
    const uint32_t from = end ? in->from[end - 1] : in->base, to = end ? in->to[end - 1] : in->base;
    return rf__mapped_append(out, s->to, s->to_size, from, to);
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

static unsigned order_of(int32_t c)
{
    if (c < 0x300 || rf__classes_of((uint32_t)c) & RF_CLASS_NEWER) return 0;
    return (unsigned)utf8proc_get_property(c)->combining_class;
}

/* Decomposes characters [at, end), with marks in canonical order; returns their number. */
static size_t decompose(const rf__normal_step *s, const rf__mapped *in, size_t at, size_t end, formed out[])
{
    size_t n = 0;
    while (at < end) {
        utf8proc_int32_t to[32];
        int last = 0;
        const int32_t c = (int32_t)rf__mapped_next(in, &at);
        utf8proc_ssize_t k = 0;
        if (!(rf__classes_of((uint32_t)c) & RF_CLASS_NEWER))
            k = utf8proc_decompose_char(c, to, 32, (utf8proc_option_t)s->flags, &last);
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

/* Only frequent characters: Latin, Cyrillic, punctuation, Kana, Han, Hangul, full-width forms. */
bool rf__nfc_keeps(uint32_t c)
{
    return c < 0x300 || within(c, 0x2010, 0x205E) || within(c, 0x4E00, 0x9FFF) || within(c, 0x3001, 0x3029) ||
           within(c, 0x3041, 0x3096) || within(c, 0x30A1, 0x30FF) || within(c, 0xAC00, 0xD7A3) ||
           within(c, 0xFF01, 0xFF9D) || within(c, 0x400, 0x482);
}

static bool step_keeps(const rf__normal_step *s, const char *text, size_t size)
{
    const bool nfc = s->go == rf__normal_form && s->flags & UTF8PROC_COMPOSE && !(s->flags & UTF8PROC_COMPAT);
    for (size_t at = 0; at < size;) {
        uint64_t eight;
        if (size - at >= 8 && (memcpy(&eight, text + at, 8), !(eight & 0x8080808080808080))) at += 8;
        else if (!nfc && (unsigned char)text[at] >= 0x80) return false;
        else if (nfc && !rf__nfc_keeps(rf__utf8_get((const unsigned char *)text, &at))) return false;
        else at += !nfc;
    }
    return s->go == rf__normal_form;
}

bool rf__normal_form(const rf__normalizer *n, const rf__normal_step *s, const rf__mapped *in, rf__mapped *out,
                     rf_error *why)
{
    (void)why;
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

/* The characters that replace c, with its place. */
typedef int becomes(const rf__normalizer *n, uint32_t c, uint32_t to[3]);

static bool each(const rf__normalizer *n, const rf__mapped *in, rf__mapped *out, becomes *become)
{
    for (size_t at = 0, next = 0; at < in->n; at = next) {
        uint32_t to[3];
        const int k = become(n, rf__mapped_next(in, &next), to);
        for (int i = 0; i < k; i++)
            if (!put_char(out, to[i], in->from[at], in->to[next - 1])) return false;
    }
    return true;
}

static int nmt_of(const rf__normalizer *n, uint32_t c, uint32_t to[3])
{
    (void)n;
    if (within(c, 1, 8) || c == 0xB || within(c, 0xE, 0x1F) || c == 0x7F || c == 0x8F || c == 0x9F) return 0;
    const bool blank = c == 9 || c == 0xA || c == 0xC || c == 0xD || c == 0x1680 || within(c, 0x200B, 0x200F) ||
                       c == 0x2028 || c == 0x2029 || c == 0x2581 || c == 0xFEFF || c == 0xFFFD;
    to[0] = blank ? ' ' : c;
    return 1;
}

static int without_combining(const rf__normalizer *n, uint32_t c, uint32_t to[3])
{
    (void)n;
    to[0] = c;
    return !(rf__classes_of(c) & RF_CLASS_COMBINING);
}

static int lower_of(const rf__normalizer *n, uint32_t c, uint32_t to[3])
{
    return rf__unicode_lower(n->rust, c, rf__unicode_flags(n->rust, c), to);
}

/* clean_text, handle_chinese_chars and strip_accents of BertNormalizer. */
static int cleaned(const rf__normalizer *n, uint32_t c, uint32_t to[3])
{
    const unsigned flags = rf__unicode_flags(n->rust, c);
    to[0] = flags & RF_SPACE ? ' ' : c;
    return !(flags & RF_DROP);
}

static int han_apart(const rf__normalizer *n, uint32_t c, uint32_t to[3])
{
    const bool han = rf__unicode_flags(n->rust, c) & RF_HAN;
    to[0] = to[2] = ' ';
    to[han] = c;
    return han ? 3 : 1;
}

static int without_nonspacing(const rf__normalizer *n, uint32_t c, uint32_t to[3])
{
    to[0] = c;
    return !(rf__unicode_flags(n->rust, c) & RF_MARK);
}

bool rf__normal_by_characters(const rf__normalizer *n, const rf__normal_step *s, const rf__mapped *in, rf__mapped *out,
                          rf_error *why)
{
    static becomes *const all[] = {
        [RF_NMT] = nmt_of, [RF_LOWER] = lower_of, [RF_NO_COMBINING] = without_combining, [RF_CLEAN] = cleaned,
        [RF_HAN_APART] = han_apart, [RF_NO_NONSPACING] = without_nonspacing};
    (void)why;
    return each(n, in, out, all[s->flags]);
}

/* The printable character of each byte. */
bool rf__normal_byte_level(const rf__normalizer *n, const rf__normal_step *s, const rf__mapped *in, rf__mapped *out,
                       rf_error *why)
{
    (void)n, (void)s, (void)why;
    for (size_t i = 0; i < in->n; i++)
        if (!put_char(out, rf__byte_scalar((unsigned char)in->at[i]), in->from[i], in->to[i])) return false;
    return true;
}

/* ---- texts ------------------------------------------------------------------------------------------------------- */

bool rf__normal_strip(const rf__normalizer *n, const rf__normal_step *s, const rf__mapped *in, rf__mapped *out,
                  rf_error *why)
{
    size_t from = 0, to = in->n;
    (void)n, (void)why;
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

bool rf__normal_replace(const rf__normalizer *n, const rf__normal_step *s, const rf__mapped *in, rf__mapped *out,
                    rf_error *why)
{
    size_t kept = 0;
    (void)n, (void)why;
    for (size_t at = 0; s->from_size <= in->n - at;) {
        const char *p = memchr(in->at + at, s->from[0], in->n - at - s->from_size + 1);
        if (!p) break;
        at = (size_t)(p - in->at);
        if (memcmp(p, s->from, s->from_size) != 0) {
            at++;
            continue;
        }
        if (!keep(in, kept, at, out) || !put_instead(s, in, at + s->from_size, out)) return false;
        kept = at += s->from_size;
    }
    return keep(in, kept, in->n, out);
}

/* Two or more blanks, which most tokenizers of this kind replace. */
bool rf__normal_collapse(const rf__normalizer *n, const rf__normal_step *s, const rf__mapped *in, rf__mapped *out,
                     rf_error *why)
{
    size_t kept = 0;
    (void)n, (void)why;
    for (size_t at = 0, end; at < in->n; at = end + 1) {
        const char *p = memchr(in->at + at, ' ', in->n - at);
        if (!p) break;
        at = (size_t)(p - in->at);
        for (end = at; end < in->n && in->at[end] == ' '; end++);
        if (end == at + 1) continue;
        if (!keep(in, kept, at, out) || !put_instead(s, in, end, out)) return false;
        kept = end;
    }
    return keep(in, kept, in->n, out);
}

bool rf__normal_replace_regex(const rf__normalizer *n, const rf__normal_step *s, const rf__mapped *in, rf__mapped *out,
                          rf_error *why)
{
    rf__regex_scan scan;
    size_t kept = 0, from, to;
    int found = 0;
    (void)n;
    if (!in->n) return true;
    if (!rf__regex_scan_begin(&scan, s->regex)) return false;
    bool good = rf__regex_scan_text(&scan, in->at, in->n);
    while (good && (found = rf__regex_next(&scan, &from, &to, why)) > 0) {
        good = keep(in, kept, from, out) && put_instead(s, in, to, out) && rf__normal_fits(out, why);
        kept = to;
    }
    rf__regex_scan_end(&scan);
    return good && !found && keep(in, kept, in->n, out);
}

bool rf__normal_prepend(const rf__normalizer *n, const rf__normal_step *s, const rf__mapped *in, rf__mapped *out,
                    rf_error *why)
{
    (void)n, (void)why;
    return !in->n || (rf__mapped_append(out, s->to, s->to_size, in->from[0], in->to[0]) && keep(in, 0, in->n, out));
}

bool rf__normal_keeps(const rf__normalizer *n, const char *text, size_t size)
{
    for (size_t i = 0; i < n->steps; i++)
        if (!step_keeps(&n->step[i], text, size)) return false;
    return true;
}

bool rf__normal_run(const rf__normalizer *n, rf__mapped *text, rf__mapped *spare, rf_error *why)
{
    spare->base = text->base;
    spare->limit = text->limit = text->n * MOST_GROWTH + SHORT;
    for (size_t i = 0; i < n->steps; i++) {
        spare->n = 0;
        if (!n->step[i].go(n, &n->step[i], text, spare, why) || !rf__normal_fits(spare, why)) return false;
        rf__mapped_swap(text, spare);
    }
    return true;
}
