/* ngrams.c — numbers the words and n-grams of a segment, so that they are counted without hash collisions.
 *
 *     word      its number is that of its letters, which are stored once (`all`)
 *     n-gram    the number of the pair (its first n - 1 words, its last word); the empty sequence is number 0        */
#include "score.h"

bool rf__mt_reserve(rf__mt_scratch *s, rf__points *p, size_t more)
{
    if (!s->failed && rf__grow(s->ctx, &p->at, &p->capacity, p->n + more + 1, sizeof *p->at)) return true;
    s->failed = true;
    s->x.n = 0;                                           /* results from here on are invalid                         */
    return false;
}

void rf__mt_scratch_clear(rf__mt_scratch *s)
{
    rf__points *const all[] = {&s->x,   &s->y,      &s->all,  &s->word,  &s->begin,
                               &s->end, &s->symbol, &s->seen, &s->count, &s->most};
    for (size_t i = 0; i < RF_COUNT(all); i++) rf__free(s->ctx, all[i]->at);
    for (size_t i = 0; i < RF_COUNT(s->edit); i++) rf__free(s->ctx, s->edit[i].at);
    rf__free(s->ctx, s->gram.key);
    rf__free(s->ctx, s->gram.id);
    rf__free(s->ctx, s->gram.lap);
}

void rf__mt_segment_begin(rf__mt_scratch *s)
{
    s->all.n = s->begin.n = s->end.n = s->symbol.n = s->seen.n = 0;
    if (s->word.n) memset(s->word.at, 0, s->word.n * sizeof *s->word.at);
    s->gram.n = 0;
    if (++s->gram.now) return;
    memset(s->gram.lap, 0, s->gram.slots * sizeof *s->gram.lap);
    s->gram.now = 1;
}

/* ---- words ------------------------------------------------------------------------------------------------------- */

static size_t word_slot(const rf__mt_scratch *s, const uint32_t *word, size_t n)
{
    size_t i = (size_t)rf__hash64(word, n * sizeof *word, 1) & (s->word.n - 1);
    for (uint32_t id; (id = s->word.at[i]) != 0; i = (i + 1) & (s->word.n - 1)) {
        const size_t begin = s->begin.at[id - 1];
        if (s->end.at[id - 1] - begin == n && !memcmp(s->all.at + begin, word, n * sizeof *word)) break;
    }
    return i;
}

static bool grow_words(rf__mt_scratch *s)
{
    const size_t slots = s->word.n ? 2 * s->word.n : 256;
    s->word.n = 0;
    if (!rf__mt_reserve(s, &s->word, slots)) return false;
    s->word.n = slots;
    memset(s->word.at, 0, slots * sizeof *s->word.at);
    for (size_t i = 0; i < s->begin.n; i++) {
        const size_t begin = s->begin.at[i];
        s->word.at[word_slot(s, s->all.at + begin, s->end.at[i] - begin)] = (uint32_t)i + 1;
    }
    return true;
}

/* The word s->x[from, to), appended to the symbols. */
static void put_word(rf__mt_scratch *s, size_t from, size_t to)
{
    const uint32_t *word = s->x.at + from;
    const size_t n = to - from;
    if (2 * s->begin.n >= s->word.n && !grow_words(s)) return;
    const size_t slot = word_slot(s, word, n);
    if (!s->word.at[slot]) {
        if (!rf__mt_reserve(s, &s->all, n) || !rf__mt_reserve(s, &s->begin, 1) || !rf__mt_reserve(s, &s->end, 1))
            return;
        memcpy(s->all.at + s->all.n, word, n * sizeof *word);
        s->begin.at[s->begin.n++] = (uint32_t)s->all.n;
        s->all.n += n;
        s->end.at[s->end.n++] = (uint32_t)s->all.n;
        s->word.at[slot] = (uint32_t)s->begin.n;
    }
    s->symbol.at[s->symbol.n++] = s->word.at[slot];
}

static bool mark(uint32_t c) { return c > ' ' && c < 127 && !(c >= '0' && c <= '9') && (c | 32) - 'a' > 25; }

rf__mt_symbols rf__mt_words_of(rf__mt_scratch *s, bool marks)
{
    rf__mt_symbols t = {s->symbol.n, 0};
    if (!rf__mt_reserve(s, &s->symbol, s->x.n)) return t;
    for (size_t i = 0, to; i < s->x.n && !s->failed; i = to) {
        to = i + 1;
        if (rf__mt_white(s->x.at[i])) continue;
        while (to < s->x.n && !rf__mt_white(s->x.at[to])) to++;
        if (marks && to - i > 1 && mark(s->x.at[to - 1])) {
            put_word(s, i, to - 1);
            put_word(s, to - 1, to);
        } else if (marks && to - i > 1 && mark(s->x.at[i])) {
            put_word(s, i, i + 1);
            put_word(s, i + 1, to);
        } else {
            put_word(s, i, to);
        }
    }
    t.n = s->symbol.n - t.from;
    return t;
}

rf__mt_symbols rf__mt_chars_of(rf__mt_scratch *s)
{
    rf__mt_symbols t = {s->symbol.n, 0};
    if (!rf__mt_reserve(s, &s->symbol, s->x.n)) return t;
    for (size_t i = 0; i < s->x.n; i++)
        if (!rf__mt_white(s->x.at[i])) s->symbol.at[s->symbol.n++] = s->x.at[i];
    t.n = s->symbol.n - t.from;
    return t;
}

/* ---- n-grams ----------------------------------------------------------------------------------------------------- */

static size_t pair_slot(const rf__pairs *p, uint64_t key)
{
    const uint64_t h = key * 0x9E3779B97F4A7C15;
    size_t i = (size_t)(h ^ h >> 29) & (p->slots - 1);
    while (p->lap[i] == p->now && p->key[i] != key) i = (i + 1) & (p->slots - 1);
    return i;
}

/* Reserves space for `more` pairs. */
static bool grow_pairs(rf__mt_scratch *s, size_t more)
{
    rf__pairs *p = &s->gram;
    size_t slots = p->slots ? p->slots : 1024;
    while (slots < 2 * (p->n + more)) slots *= 2;
    if (slots == p->slots) return true;
    rf__pairs q = {rf__calloc(s->ctx, slots, sizeof *q.key), rf__calloc(s->ctx, slots, sizeof *q.id),
                   rf__calloc(s->ctx, slots, sizeof *q.lap), slots, p->now ? p->now : 1, p->n};
    if (!q.key || !q.id || !q.lap) {
        s->failed = true;
    } else {
        for (size_t i = 0; i < p->slots; i++) {
            if (p->lap[i] != p->now) continue;
            const size_t to = pair_slot(&q, p->key[i]);
            q.key[to] = p->key[i];
            q.id[to] = p->id[i];
            q.lap[to] = q.now;
        }
        const rf__pairs old = *p;
        *p = q;
        q = old;
    }
    rf__free(s->ctx, q.key);
    rf__free(s->ctx, q.id);
    rf__free(s->ctx, q.lap);
    return !s->failed;
}

static uint32_t number_of(rf__pairs *p, uint32_t first, uint32_t last)
{
    const uint64_t key = (uint64_t)first << 32 | last;
    const size_t i = pair_slot(p, key);
    if (p->lap[i] != p->now) {
        p->lap[i] = p->now;
        p->key[i] = key;
        p->id[i] = ++p->n;
    }
    return p->id[i];
}

void rf__mt_grams(rf__mt_scratch *s, rf__mt_symbols t, int orders, uint32_t space)
{
    if (s->failed || !grow_pairs(s, (size_t)orders * t.n + 1) || !rf__mt_reserve(s, &s->seen, (size_t)orders * t.n))
        return;
    const uint32_t *x = s->symbol.at + t.from;
    const uint32_t root = number_of(&s->gram, UINT32_MAX, space);
    uint32_t *to = s->seen.at + s->seen.n;
    const uint32_t *before = NULL;
    for (int k = 1; k <= orders; k++) {
        const size_t n = rf__mt_grams_n(t, k);
        for (size_t i = 0; i < n; i++) to[i] = number_of(&s->gram, before ? before[i] : root, x[i + (size_t)k - 1]);
        before = to;
        to += n;
        s->seen.n += n;
    }
}

bool rf__mt_count_space(rf__mt_scratch *s)
{
    s->count.n = s->most.n = 0;
    if (!rf__mt_reserve(s, &s->count, s->gram.n + 1) || !rf__mt_reserve(s, &s->most, s->gram.n + 1)) return false;
    memset(s->count.at, 0, (s->gram.n + 1) * sizeof *s->count.at);
    memset(s->most.at, 0, (s->gram.n + 1) * sizeof *s->most.at);
    return true;
}
