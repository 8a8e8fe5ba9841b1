/* segment.c — the most probable segmentation of a text into words of a dictionary: jieba.cut(text, HMM=False).
 *
 * Runs of Han characters, ASCII letters and digits and + # & . _ % - are segmented by the dictionary, from the right.
 * A character that is not in a word of the dictionary is a word; consecutive letters and digits of this kind form one
 * word.  Of all other text each character is a word, except \r\n, which is one word. */
#include "dictionary.h"
#include "text/unicode/unicode.h"

static bool has(const uint32_t range[][2], size_t n, uint32_t c)
{
    for (size_t i = 0; i < n; i++)
        if (c >= range[i][0] && c <= range[i][1]) return true;
    return false;
}

static bool is_alphanumeric(uint32_t c)
{
    return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
}

static bool in_run(rf_jieba kind, uint32_t c)
{
    static const uint32_t rust[][2] = {{0x3400, 0x4DBF},   {0xF900, 0xFAFF},   {0x20000, 0x2A6DF}, {0x2A700, 0x2B73F},
                                       {0x2B740, 0x2B81F}, {0x2B820, 0x2CEAF}, {0x2CEB0, 0x2EBEF}, {0x2F800, 0x2FA1F}};
    if (c < 0x80) return is_alphanumeric(c) || (c && strchr("+#&._%-", (int)c));
    if (c >= 0x4E00 && c <= (kind == RF_JIEBA_RUST ? 0x9FFFu : 0x9FD5u)) return true;
    return kind == RF_JIEBA_RUST && has(rust, RF_COUNT(rust), c);
}

/* ---- the dictionary ---------------------------------------------------------------------------------------------- */

static inline uint32_t code_of(const rf_dictionary *d, uint32_t c)
{
    uint32_t code = 0;
    if (c < RF_DICTIONARY_PLANE) {
        code = d->code[c];
    } else {
        for (size_t low = 0, high = d->header->wides; low < high;) {
            const size_t middle = low + (high - low) / 2;
            if (d->wide[middle].c == c) code = d->wide[middle].code;
            if (d->wide[middle].c <= c) low = middle + 1;
            else high = middle;
        }
    }
    return code < d->header->units ? code : 0;
}

/* The unit that follows unit number `at` by `code`; 0: none. */
static inline uint32_t step(const rf_dictionary *d, uint32_t at, uint32_t code)
{
    const uint32_t to = rf_dictionary_base(d->unit[at]) + code;
    return to < d->header->units && rf_dictionary_check(d->unit[to]) == at ? to : 0;
}

uint32_t rf__dictionary_find(const rf_dictionary *d, const char *text, size_t size)
{
    uint32_t at = 0;
    for (size_t i = 0; i < size;) {
        const bool first = !i;
        const uint32_t code = code_of(d, rf__utf8_get((const unsigned char *)text, &i));
        at = first ? code : step(d, at, code);
        if (!at) return 0;
    }
    return at;
}

/* The table exceeds the first-level cache.  So the unit of two consecutive characters is prefetched some characters
 * before its look-up, and that of a third one with it. */
enum { AHEAD = 16 };

static inline void prefetch_unit(const rf_dictionary *d, uint32_t at, uint32_t code)
{
    __builtin_prefetch(&d->unit[rf_dictionary_base(d->unit[at]) + code]);
}

/* The units of each character and the next one: two[i] for i below n - 1. */
static void find_pairs(rf_jieba_cutter *c, const rf_dictionary *d)
{
    const uint32_t *code = c->code;
    const size_t n = c->characters, pairs = n ? n - 1 : 0;
    for (size_t i = 0; i < pairs + AHEAD; i++) {
        if (i < pairs) prefetch_unit(d, code[i], code[i + 1]);
        if (i < AHEAD) continue;
        const size_t k = i - AHEAD;
        const uint32_t two = c->two[k] = code[k] ? step(d, code[k], code[k + 1]) : 0;
        if (two && k + 2 < n) prefetch_unit(d, two, code[k + 2]);
    }
}

/* The best path from each character of [from, to) on. */
static void find_route(rf_jieba_cutter *c, const rf_dictionary *d, double ln_total, bool zeros, size_t from, size_t to)
{
    const uint32_t values = d->header->values;
    double *route = c->route;
    route[to] = 0;
    for (size_t i = to; i-- > from;) {
        const size_t end = to - i < d->header->longest ? to : i + d->header->longest;
        double best = 0;
        size_t best_end = 0;
        uint32_t at = c->code[i], best_unit = 0;
        for (size_t j = i + 1; at; j++) {
            const uint32_t number = rf_dictionary_value(d->unit[at]);
            const double value = number < values ? d->value[number] : INFINITY;
            if (value < INFINITY && (zeros || value > -INFINITY)) {
                const double p = value - ln_total + route[j];
                if (!best_end || p >= best) best = p, best_end = j, best_unit = at;
            }
            if (j == end) break;
            at = j == i + 1 ? c->two[i] : step(d, at, c->code[j]);
        }
        route[i] = best_end ? best : 0.0 - ln_total + route[i + 1];
        c->next[i] = (uint32_t)(best_end ? best_end : i + 1);
        c->best[i] = best_unit;
    }
}

/* ---- words ------------------------------------------------------------------------------------------------------- */

static void append_word(rf_jieba_cutter *c, size_t end, uint32_t unit)
{
    c->unit[c->n] = unit;
    c->end[c->n++] = (uint32_t)end;
}

static void cut_run(rf_jieba_cutter *c, size_t from, size_t to)
{
    bool open = false; /* letters and digits that continue                     */
    for (size_t x = from; x < to;) {
        const size_t y = c->next[x];
        const bool single = y == x + 1 && is_alphanumeric(c->scalar[x]);
        if (open && !single) append_word(c, x, 0);
        if (!single) append_word(c, y, c->best[x]);
        open = single;
        x = y;
    }
    if (open) append_word(c, to, 0);
}

static bool decode(rf_jieba_cutter *c, const rf_dictionary *d, const char *text, size_t size)
{
    if (!rf__grow(c->ctx, &c->scalar, &c->scalars, size + 1, sizeof *c->scalar) ||
        !rf__grow(c->ctx, &c->code, &c->codes, size + 1, sizeof *c->code) ||
        !rf__grow(c->ctx, &c->at, &c->ats, size + 1, sizeof *c->at))
        return false;
    size_t n = 0;
    for (size_t at = 0; at < size; n++) {
        c->at[n] = (uint32_t)at;
        c->scalar[n] = rf__utf8_get((const unsigned char *)text, &at);
        c->code[n] = code_of(d, c->scalar[n]);
    }
    c->at[n] = (uint32_t)size;
    c->characters = n;
    return rf__grow(c->ctx, &c->next, &c->nexts, n + 1, sizeof *c->next) &&
           rf__grow(c->ctx, &c->route, &c->routes, n + 1, sizeof *c->route) &&
           rf__grow(c->ctx, &c->two, &c->twos, n + 1, sizeof *c->two) &&
           rf__grow(c->ctx, &c->best, &c->bests, n + 1, sizeof *c->best) &&
           rf__grow(c->ctx, &c->unit, &c->units, n + 1, sizeof *c->unit) &&
           rf__grow(c->ctx, &c->end, &c->ends, n + 1, sizeof *c->end);
}

bool rf__jieba_cut(rf_jieba_cutter *c, const rf_dictionary *d, rf_jieba kind, const char *text, size_t size)
{
    const bool rust = kind == RF_JIEBA_RUST;
    const double ln_total = log((double)(rust ? d->header->total : d->header->sum));
    c->n = 0;
    if (!decode(c, d, text, size)) return false;
    find_pairs(c, d);
    for (size_t i = 0, j; i < c->characters; i = j) {
        for (j = i; j < c->characters && in_run(kind, c->scalar[j]);) j++;
        if (j > i) {
            find_route(c, d, ln_total, rust, i, j);
            cut_run(c, i, j);
        } else {
            j = c->scalar[i] == '\r' && i + 1 < c->characters && c->scalar[i + 1] == '\n' ? i + 2 : i + 1;
            append_word(c, j, 0);
        }
    }
    return true;
}

void rf__jieba_cut_clear(rf_jieba_cutter *c)
{
    rf__free(c->ctx, c->scalar);
    rf__free(c->ctx, c->code);
    rf__free(c->ctx, c->at);
    rf__free(c->ctx, c->next);
    rf__free(c->ctx, c->route);
    rf__free(c->ctx, c->two);
    rf__free(c->ctx, c->best);
    rf__free(c->ctx, c->unit);
    rf__free(c->ctx, c->end);
    *c = (rf_jieba_cutter){.ctx = c->ctx};
}
