/* words.c — splits text into normalized words.
 *
 *   Rust rules     drop controls; a Han character is a word; decompose and drop marks; lower case; split at punctuation
 *   Python rules   lower case; drop controls; a Han character is a word; compose, or decompose and drop marks; split at
 *                  punctuation (the slow tokenizer converts its text to lower case, scalar by scalar, first)
 *
 * A word of plain ASCII has a fast path: its bytes are converted to lower case eight at a time, without a copy.  Other
 * text is collected as scalars up to the next space (or Han character, or punctuation if nothing composes).  Marks
 * never move across those, so processing in parts gives the result of the whole text.                                */
#include "wordpiece.h"

void rf__normal_init(rf_normal *n, const rf_tokenizer_options *options)
{
    rf__unicode_init(&n->unicode, options->rules);
    n->lowercase = options->lowercase != 0;
    n->strip = options->strip_accents < 0 ? n->lowercase : options->strip_accents != 0;
    n->han = options->han_split != 0;
    n->python = options->rules != RF_RULES_RUST;
    for (int b = 0; b < 256; b++) {
        const unsigned f = n->unicode.flags[b] & (RF_SPACE | RF_PUNCT | RF_DROP);
        n->ascii[b] = (uint8_t)(b >= 0x80 ? RF_OTHER : f & RF_DROP ? RF_OTHER : f);
    }
    n->uncut = false;
    n->whole = NULL;
    n->wholes = 0;
}

void rf__normal_uncut(rf_normal *n)
{
    n->uncut = true;
    for (int b = 0; b < 256; b++) n->ascii[b] &= (uint8_t)~RF_PUNCT;
}

size_t rf__normal_scalar(const rf_normal *n, bool han, uint32_t c, uint32_t out[RF_NORMAL_MOST])
{
    const rf_unicode *u = &n->unicode;
    const unsigned f = rf__unicode_flags(u, c);
    const bool alone = han && f & RF_HAN;
    uint32_t part[4] = {c};
    size_t k = 0;
    if (f & RF_DROP) return 0;
    if (f & RF_SPACE) return out[0] = ' ', 1;
    if (alone) out[k++] = ' ';
    const int parts = n->strip ? rf__unicode_decompose(c, f, part) : 1;
    for (int i = 0; i < parts; i++) {
        const unsigned g = part[i] == c ? f : rf__unicode_flags(u, part[i]);
        uint32_t low[2] = {part[i]};
        const int lows = n->lowercase ? rf__unicode_lower(u, part[i], g, low) : 1;
        for (int j = 0; j < lows && !(n->strip && g & RF_MARK); j++) out[k++] = low[j];
    }
    if (alone) out[k++] = ' ';
    return k;
}

void rf__words_init(rf_words *w, const rf_ctx *ctx)
{
    *w = (rf_words){.ctx = ctx};
}

void rf__words_clear(rf_words *w)
{
    const rf_ctx *ctx = w->ctx;
    rf__free(ctx, w->raw.at);
    rf__free(ctx, w->ready.at);
    rf__free(ctx, w->number);
    rf__free(ctx, w->byte);
    rf__free(ctx, w->from);
    rf__free(ctx, w->to);
    rf__free(ctx, w->cut);
    rf__words_init(w, ctx);
}

void rf__words_start(rf_words *w, const rf_normal *normal, const char *text, size_t from, size_t to, size_t size)
{
    w->normal = normal;
    w->text = (const unsigned char *)text;
    w->at = from;
    w->end = to;
    w->limit = size;
    w->plain = from;
    w->cuts = w->next = 0;
    w->failed = false;
}

/* ---- the long way ------------------------------------------------------------------------------------------------ */

bool rf__words_push(rf_words *w, rf_scalars *to, rf_scalar s)
{
    if (to->n == to->capacity && !rf__grow(w->ctx, &to->at, &to->capacity, to->n + 1, sizeof *to->at)) {
        w->failed = true;
        return false;
    }
    to->at[to->n++] = s;
    return true;
}

/* Collects cleaned scalars in `raw` up to the end of a word. */
static void gather(rf_words *w)
{
    const rf_normal *n = w->normal;
    const bool lower_first = n->python && n->lowercase;
    w->raw.n = 0;
    while (w->at < w->end && !w->failed) {
        const size_t from = w->at;
        const uint32_t c = rf__utf8_get(w->text, &w->at);
        const unsigned f = rf__unicode_flags(&n->unicode, c);
        if (f & RF_DROP) continue;
        if (f & RF_SPACE) return;
        const bool alone = (f & RF_HAN && n->han) || (f & RF_PUNCT && !n->python && !n->uncut);
        if (alone && w->raw.n) {
            w->at = from;
            return;
        }
        uint32_t low[2] = {c, 0};
        const int lows = lower_first ? rf__unicode_lower(&n->unicode, c, f, low) : 1;
        for (int i = 0; i < lows; i++) {
            const unsigned g = low[i] == c ? f : rf__unicode_flags(&n->unicode, low[i]);
            if (!(g & RF_DROP))
                rf__words_push(w, &w->raw, (rf_scalar){low[i], (uint32_t)from, (uint32_t)w->at, (uint8_t)g, 0, 0});
        }
        if (alone) return;
    }
}

/* Stable sort by combining class: insertion sort for short runs, counting sort for long ones, so that the time is
 * linear. */
static bool sort_marks(rf_words *w, rf_scalar *s, size_t n)
{
    if (n <= 32) {
        for (size_t i = 1; i < n; i++) {
            const rf_scalar x = s[i];
            size_t j = i;
            for (; j && s[j - 1].class > x.class; j--) s[j] = s[j - 1];
            s[j] = x;
        }
        return true;
    }
    rf_scalar *copy = rf__alloc(w->ctx, n * sizeof *copy);
    if (!copy) return false;
    size_t offset[257] = {0};
    for (size_t i = 0; i < n; i++) offset[s[i].class + 1]++;
    for (int k = 0; k < 256; k++) offset[k + 1] += offset[k];
    memcpy(copy, s, n * sizeof *copy);
    for (size_t i = 0; i < n; i++) s[offset[copy[i].class]++] = copy[i];
    rf__free(w->ctx, copy);
    return true;
}

/* raw -> ready, canonically decomposed and ordered.  Origins are assigned by index, as Hugging Face does: the i-th
 * scalar that does not continue a decomposition comes from the i-th scalar of `raw`, even if ordering has moved it.  */
void rf__words_decompose(rf_words *w)
{
    const rf_unicode *u = &w->normal->unicode;
    w->ready.n = 0;
    for (size_t i = 0; i < w->raw.n; i++) {
        const rf_scalar s = w->raw.at[i];
        uint32_t part[4];
        const int parts = rf__unicode_decompose(s.c, s.flags, part);
        for (int k = 0; k < parts; k++) {
            const unsigned f = part[k] == s.c ? s.flags : rf__unicode_flags(u, part[k]);
            const unsigned class = rf__unicode_class(part[k], f);
            if (!rf__words_push(w, &w->ready, (rf_scalar){part[k], 0, 0, (uint8_t)f, (uint8_t)class, k > 0})) return;
        }
    }
    rf_scalar *s = w->ready.at;
    for (size_t i = 0, j; i < w->ready.n; i = j) {
        for (j = i + 1; j < w->ready.n && s[i].class && s[j].class;) j++;
        if (j - i > 1 && !sort_marks(w, s + i, j - i)) {
            w->failed = true;
            return;
        }
    }
    for (size_t i = 0, origin = 0; i < w->ready.n; i++) {
        const rf_scalar *o = &w->raw.at[s[i].added && origin ? origin - 1 : origin++];
        s[i].from = o->from;
        s[i].to = o->to;
    }
}

/* Composes `ready` in place.  A composite has the origins of all its parts. */
static void compose(rf_words *w)
{
    const rf_unicode *u = &w->normal->unicode;
    rf_scalar *s = w->ready.at;
    if (!rf__grow(w->ctx, &w->number, &w->numbers, w->ready.n + 1, sizeof *w->number)) {
        w->failed = true;
        return;
    }
    for (size_t i = 0; i < w->ready.n; i++) w->number[i] = s[i].c;
    const size_t n = rf__unicode_compose(w->number, w->ready.n);
    for (size_t i = 0, from = 0; i < n; i++) {
        const uint32_t c = w->number[i];
        const unsigned f = rf__unicode_flags(u, c);
        uint32_t part[4];
        size_t last = from + (size_t)rf__unicode_decompose(c, f, part) - 1;
        if (last >= w->ready.n) last = w->ready.n - 1;
        s[i] = (rf_scalar){c, s[from].from, s[last].to, (uint8_t)f, 0, 0};
        from = last + 1;
    }
    w->ready.n = n;
}

static void append_character(rf_words *w, uint32_t c, uint32_t from, uint32_t to)
{
    const size_t need = w->bytes + 4;
    if (need > w->byte_capacity || need > w->from_capacity || need > w->to_capacity)
        if (!rf__grow(w->ctx, &w->byte, &w->byte_capacity, need, 1) ||
            !rf__grow(w->ctx, &w->from, &w->from_capacity, need, sizeof *w->from) ||
            !rf__grow(w->ctx, &w->to, &w->to_capacity, need, sizeof *w->to)) {
            w->failed = true;
            return;
        }
    const size_t n = rf__utf8_encode(c, w->byte + w->bytes);
    for (size_t i = 0; i < n; i++) {
        w->from[w->bytes + i] = from;
        w->to[w->bytes + i] = to;
    }
    w->bytes += n;
}

/* Adds scalar c to the finished words; `joins`: to the last of them. */
static void add(rf_words *w, uint32_t c, uint32_t from, uint32_t to, bool joins)
{
    if (!joins) {
        if (!rf__grow(w->ctx, &w->cut, &w->cut_capacity, w->cuts + 1, sizeof *w->cut)) {
            w->failed = true;
            return;
        }
        w->cut[w->cuts].begin = w->bytes;
        w->cut[w->cuts++].chars = 0;
    }
    append_character(w, c, from, to);
    w->cut[w->cuts - 1].end = w->bytes;
    w->cut[w->cuts - 1].chars++;
}

/* Python rules keep a word that equals a special token after cleaning. */
static void keep_whole(rf_words *w)
{
    for (size_t i = 0; i < w->normal->wholes && w->cuts > 1; i++) {
        const rf_added *a = &w->normal->whole[i];
        if (!a->special || a->size != w->bytes || memcmp(a->text, w->byte, w->bytes) != 0) continue;
        for (size_t k = 1; k < w->cuts; k++) w->cut[0].chars += w->cut[k].chars;
        w->cut[0].end = w->bytes;
        w->cuts = 1;
    }
}

/* One part of a text, normalized and split into words. */
static void stretch(rf_words *w)
{
    const rf_normal *n = w->normal;
    w->bytes = w->cuts = w->next = 0;
    gather(w);
    if (w->failed || !w->raw.n) return;
    rf_scalars *s = &w->raw;
    if (n->strip || n->python) {
        rf__words_decompose(w);
        s = &w->ready;
        if (!n->strip && !w->failed) compose(w);
    }
    bool joins = false;
    for (size_t i = 0; i < s->n && !w->failed; i++) {
        const rf_scalar x = s->at[i];
        if (n->strip && x.flags & RF_MARK) continue;
        uint32_t low[2] = {x.c, 0};
        const int lows = n->lowercase && !n->python ? rf__unicode_lower(&n->unicode, x.c, x.flags, low) : 1;
        for (int k = 0; k < lows && !w->failed; k++) {
            const bool punct = !n->uncut && rf__unicode_flags(&n->unicode, low[k]) & RF_PUNCT;
            add(w, low[k], x.from, x.to, joins && !punct);
            joins = !punct;
        }
    }
    if (w->keep_whole && !w->failed) keep_whole(w);
}

/* ---- the short way ----------------------------------------------------------------------------------------------- */

/* Lower case of eight ASCII bytes. */
static inline uint64_t lower8(uint64_t x)
{
    const uint64_t ones = 0x0101010101010101;
    const uint64_t from_a = x + (0x80 - 'A') * ones, above_z = x + (0x7F - 'Z') * ones;
    return x | ((from_a ^ above_z) & 0x80 * ones) >> 2;
}

/* The ASCII word at [at, at + size). */
static bool short_word(rf_words *w, size_t size, rf_word *out)
{
    const unsigned char *p = w->text + w->at;
    const bool lower = w->normal->lowercase;
    *out = (rf_word){.size = size, .chars = size, .at = w->at};
    if (size <= RF_KEY) {
        uint64_t x[RF_KEY / 8];
        rf__word_key(p, size, w->limit - w->at, x);
        for (int i = 0; i < 3; i++) w->small[i] = out->key[i] = lower ? lower8(x[i]) : x[i];
        out->text = (const char *)w->small;
    } else {
        if (!rf__grow(w->ctx, &w->byte, &w->byte_capacity, size + 1, 1)) {
            w->failed = true;
            return false;
        }
        for (size_t i = 0; i < size; i++)
            w->byte[i] = (char)(lower && p[i] >= 'A' && p[i] <= 'Z' ? p[i] + ('a' - 'A') : p[i]);
        out->text = w->byte;
    }
    w->at += size;
    return true;
}

static void long_word(rf_words *w, rf_word *out)
{
    const size_t begin = w->cut[w->next].begin, size = w->cut[w->next].end - begin;
    *out = (rf_word){w->byte + begin, size, w->cut[w->next].chars, 0, w->from + begin, w->to + begin, {0}};
    if (size <= RF_KEY) memcpy(out->key, out->text, size);
    w->next++;
}

/* Python rules: whether everything up to the next ASCII space is plain. */
static bool plain_stretch(rf_words *w)
{
    const uint8_t *class = w->normal->ascii;
    size_t i = w->at > w->plain ? w->at : w->plain;
    while (i < w->end && !(class[w->text[i]] & (RF_SPACE | RF_OTHER))) i++;
    w->plain = i;
    return i == w->end || class[w->text[i]] & RF_SPACE;
}

bool rf__words_next(rf_words *w, rf_word *out)
{
    const uint8_t *class = w->normal->ascii;
    for (;;) {
        if (w->failed) return false;
        if (w->next < w->cuts) return long_word(w, out), true;
        size_t i = w->at;
        while (i < w->end && class[w->text[i]] & RF_SPACE) i++;
        w->at = i;
        if (i == w->end) return false;
        bool plain = !w->normal->python || w->at < w->plain || plain_stretch(w);
        if (plain) {
            if (class[w->text[i]] & RF_PUNCT) return short_word(w, 1, out);
            while (i < w->end && !class[w->text[i]]) i++;
            plain = i == w->end || !(class[w->text[i]] & RF_OTHER);
        }
        if (plain) return short_word(w, i - w->at, out);
        stretch(w);
    }
}
