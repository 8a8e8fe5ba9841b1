/* segment.c — the most probable way through a text by words of a dictionary: jieba.cut(text, HMM=False).
 *
 * Runs of Han characters, ASCII letters and digits and + # & . _ % - are cut by the dictionary, from the right; what is
 * found nowhere is a word of one character, and such letters and digits in a row are one word.  Everything else is a
 * word a character, but \r\n, which is one. */
#include <math.h>

#include "dictionary.h"
#include "unicode.h"

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

/* What is read when c follows `parent`, 0 when nothing goes on from there; *value is set when it is a word. */
static inline uint32_t step(const rf_dictionary *d, uint32_t parent, uint32_t c, double *value)
{
    const uint64_t key = rf_dictionary_key(parent, c);
    uint32_t at = rf_dictionary_place(key, d->header->slots);
    for (int probe = 0; probe < RF_DICTIONARY_PROBES; probe++) {
        const rf_dictionary_slot *s = &d->slot[at];
        if (!s->key) return 0;
        if (s->key >> 22 == key) {
            *value = s->value;
            return (uint32_t)(s->key & ((1u << 22) - 1));
        }
        if (++at == d->header->slots) at = 0;
    }
    return 0;
}

static inline uint32_t begin(const rf_dictionary *d, uint32_t c, double *value)
{
    if (c >= RF_DICTIONARY_FIRST) return step(d, 0, c, value);
    *value = d->first[c].value;
    return (uint32_t)d->first[c].child;
}

/* The table is larger than caches, so everything is asked for twice: `approach` brings near what two characters in a
 * row lead to, a few characters ahead of `look_up`, which keeps it and brings near what a third one leads to. */
enum { AHEAD = 24 };

static inline void bring(const rf_dictionary *d, uint32_t read, uint32_t c)
{
    const char *at = (const char *)&d->slot[rf_dictionary_place(rf_dictionary_key(read, c), d->header->slots)];
    __builtin_prefetch(at);
}

static inline void approach(const rf_dictionary *d, const uint32_t *s, size_t i)
{
    double value;
    const uint32_t read = s[i] < RF_DICTIONARY_FIRST ? begin(d, s[i], &value) : 0;
    if (read) bring(d, read, s[i + 1]);
}

static inline void look_up(const rf_dictionary *d, const uint32_t *s, size_t i, size_t n, rf_dictionary_first *two)
{
    double value;
    const uint32_t read = begin(d, s[i], &value);
    *two = (rf_dictionary_first){.value = INFINITY};
    if (read) two->child = step(d, read, s[i + 1], &two->value);
    if (two->child && i + 2 < n) bring(d, (uint32_t)two->child, s[i + 2]);
}

/* What each character and the one behind it lead to: two[i] for i below n - 1. */
static void find_pairs(rf_jieba_cutter *c, const rf_dictionary *d)
{
    const size_t n = c->characters, pairs = n ? n - 1 : 0;
    for (size_t i = 0; i < pairs + AHEAD; i++) {
        if (i < pairs) approach(d, c->scalar, i);
        if (i >= AHEAD) look_up(d, c->scalar, i - AHEAD, n, &c->two[i - AHEAD]);
    }
}

/* The best way from each character of [from, to) on. */
static void find_route(rf_jieba_cutter *c, const rf_dictionary *d, double ln_total, bool zeros, size_t from, size_t to)
{
    const uint32_t *s = c->scalar;
    double *route = c->route;
    route[to] = 0;
    for (size_t i = to; i-- > from;) {
        const size_t end = to - i < d->header->longest ? to : i + d->header->longest;
        double best = 0, value = INFINITY;
        size_t best_end = 0;
        uint32_t read = begin(d, s[i], &value);
        for (size_t j = i + 1;; j++) {
            if (value < INFINITY && (zeros || value > -INFINITY)) {
                const double p = value - ln_total + route[j];
                if (!best_end || p >= best) best = p, best_end = j;
            }
            if (!read || j == end) break;
            if (j == i + 1) {
                value = c->two[i].value;
                read = (uint32_t)c->two[i].child;
            } else {
                value = INFINITY;
                read = step(d, read, s[j], &value);
            }
        }
        route[i] = best_end ? best : 0.0 - ln_total + route[i + 1];
        c->next[i] = (uint32_t)(best_end ? best_end : i + 1);
    }
}

/* ---- words ------------------------------------------------------------------------------------------------------- */

static void put(rf_jieba_cutter *c, size_t end) { c->end[c->n++] = (uint32_t)end; }

static void cut_run(rf_jieba_cutter *c, size_t from, size_t to)
{
    bool open = false; /* letters and digits that go on                        */
    for (size_t x = from; x < to;) {
        const size_t y = c->next[x];
        const bool single = y == x + 1 && is_alphanumeric(c->scalar[x]);
        if (open && !single) put(c, x);
        if (!single) put(c, y);
        open = single;
        x = y;
    }
    if (open) put(c, to);
}

static bool decode(rf_jieba_cutter *c, const char *text, size_t size)
{
    if (!rf__grow(c->ctx, &c->scalar, &c->scalars, size + 1, sizeof *c->scalar) ||
        !rf__grow(c->ctx, &c->at, &c->ats, size + 1, sizeof *c->at))
        return false;
    size_t n = 0;
    for (size_t at = 0; at < size; n++) {
        c->at[n] = (uint32_t)at;
        c->scalar[n] = rf__utf8_get((const unsigned char *)text, &at);
    }
    c->at[n] = (uint32_t)size;
    c->characters = n;
    return rf__grow(c->ctx, &c->next, &c->nexts, n + 1, sizeof *c->next) &&
           rf__grow(c->ctx, &c->route, &c->routes, n + 1, sizeof *c->route) &&
           rf__grow(c->ctx, &c->two, &c->twos, n + 1, sizeof *c->two) &&
           rf__grow(c->ctx, &c->end, &c->ends, n + 1, sizeof *c->end);
}

bool rf__jieba_cut(rf_jieba_cutter *c, const rf_dictionary *d, rf_jieba kind, const char *text, size_t size)
{
    const bool rust = kind == RF_JIEBA_RUST;
    const double ln_total = log((double)(rust ? d->header->total : d->header->sum));
    c->n = 0;
    if (!decode(c, text, size)) return false;
    find_pairs(c, d);
    for (size_t i = 0, j; i < c->characters; i = j) {
        for (j = i; j < c->characters && in_run(kind, c->scalar[j]);) j++;
        if (j > i) {
            find_route(c, d, ln_total, rust, i, j);
            cut_run(c, i, j);
        } else {
            j = c->scalar[i] == '\r' && i + 1 < c->characters && c->scalar[i + 1] == '\n' ? i + 2 : i + 1;
            put(c, j);
        }
    }
    return true;
}

void rf__jieba_cut_clear(rf_jieba_cutter *c)
{
    rf__free(c->ctx, c->scalar);
    rf__free(c->ctx, c->at);
    rf__free(c->ctx, c->next);
    rf__free(c->ctx, c->route);
    rf__free(c->ctx, c->two);
    rf__free(c->ctx, c->end);
    *c = (rf_jieba_cutter){.ctx = c->ctx};
}
