/* pair_learner.c — learning symbols by merging pairs; see pair_learner.h.
 *
 * A heap has the pairs with counts that may be outdated.  Counts only decrease until a pair is merged, so an outdated
 * entry is too high and is reinserted when it reaches the top.  Each pair has a list of the words in which it has
 * occurred. */
#include "pair_learner.h"

typedef struct rf__pair_count { uint64_t key; int64_t count; uint32_t list; uint16_t fresh, merged; } pair;
typedef struct rf__occurrence { uint32_t word, next; } occurrence;                              /* next 0: the last   */
typedef struct rf__candidate { int64_t count; uint64_t key; } candidate;
typedef rf__symbol symbol;
typedef rf__learner learner;

/* ---- symbols ----------------------------------------------------------------------------------------------------- */

static bool same(const learner *l, int32_t id, const char *text, size_t size, bool tail)
{
    const symbol *s = &l->symbol[id];
    return s->size == size && s->tail == tail && !memcmp(l->text + s->at, text, size);
}

static size_t symbol_slot(const learner *l, const char *text, size_t size, bool tail)
{
    size_t i = (size_t)rf__hash64(text, size, tail) & l->known_mask;
    while (l->known[i] >= 0 && !same(l, l->known[i], text, size, tail)) i = (i + 1) & l->known_mask;
    return i;
}

static int32_t find_symbol(const learner *l, const char *text, size_t size, bool tail)
{
    return l->known[symbol_slot(l, text, size, tail)];
}

int32_t rf__learner_symbol(learner *l, const char *text, size_t size, bool tail)
{
    const size_t slot = symbol_slot(l, text, size, tail);
    if (l->known[slot] >= 0) return l->known[slot];
    if (!rf__grow(l->ctx, &l->symbol, &l->symbol_capacity, l->symbols + 1, sizeof *l->symbol) ||
        !rf__grow(l->ctx, &l->text, &l->byte_capacity, l->bytes + size + 1, 1))
        return -1;
    memcpy(l->text + l->bytes, text, size);
    l->symbol[l->symbols] = (symbol){l->bytes, (uint32_t)size, tail};
    l->bytes += size;
    return l->known[slot] = (int32_t)l->symbols++;
}

/* ---- pairs ------------------------------------------------------------------------------------------------------- */

static inline size_t pair_slot(const pair *p, size_t slots, uint64_t key)
{
    const uint64_t h = key * 0x9E3779B97F4A7C15;
    size_t i = (size_t)(h ^ h >> 32) & (slots - 1);
    while (p[i].key && p[i].key != key) i = (i + 1) & (slots - 1);
    return i;
}

static bool grow_pairs(learner *l)
{
    const size_t slots = l->pair_slots ? 2 * l->pair_slots : 1 << 16;
    pair *p = rf__calloc(l->ctx, slots, sizeof *p);
    if (!p) return false;
    for (size_t i = 0; i < l->pair_slots; i++)
        if (l->pair[i].key) p[pair_slot(p, slots, l->pair[i].key)] = l->pair[i];
    rf__free(l->ctx, l->pair);
    l->pair = p;
    l->pair_slots = slots;
    return true;
}

static pair *get_pair(learner *l, int32_t a, int32_t b)
{
    if (2 * l->pairs >= l->pair_slots && !grow_pairs(l)) return NULL;
    const uint64_t key = (uint64_t)(uint32_t)a << 32 | (uint32_t)b;
    pair *p = &l->pair[pair_slot(l->pair, l->pair_slots, key)];
    if (!p->key) {
        p->key = key;
        l->pairs++;
    }
    return p;
}

/* Notes that pair p occurs in `word`. */
static bool note(learner *l, pair *p, uint32_t word)
{
    if (p->list && l->occurrence[p->list].word == word) return true;
    uint32_t at = l->free_occurrence;
    if (at) {
        l->free_occurrence = l->occurrence[at].next;
    } else {
        if (l->occurrences >= UINT32_MAX - 1) return false;
        if (!rf__grow(l->ctx, &l->occurrence, &l->occurrence_capacity, l->occurrences + 2, sizeof *l->occurrence))
            return false;
        at = (uint32_t)++l->occurrences;
    }
    l->occurrence[at] = (occurrence){word, p->list};
    p->list = at;
    return true;
}

/* ---- the heap: largest count first, then the smaller key --------------------------------------------------------- */

static bool above(candidate a, candidate b)
{
    return a.count != b.count ? a.count > b.count : a.key < b.key;
}

static bool heap_push(learner *l, candidate c)
{
    if (!rf__grow(l->ctx, &l->heap, &l->heap_capacity, l->heaped + 1, sizeof *l->heap)) return false;
    size_t i = l->heaped++;
    for (; i && above(c, l->heap[(i - 1) / 2]); i = (i - 1) / 2) l->heap[i] = l->heap[(i - 1) / 2];
    l->heap[i] = c;
    return true;
}

static candidate heap_pop(learner *l)
{
    const candidate top = l->heap[0], last = l->heap[--l->heaped];
    size_t i = 0;
    for (size_t k; (k = 2 * i + 1) < l->heaped; i = k) {
        if (k + 1 < l->heaped && above(l->heap[k + 1], l->heap[k])) k++;
        if (!above(l->heap[k], last)) break;
        l->heap[i] = l->heap[k];
    }
    if (l->heaped) l->heap[i] = last;
    return top;
}

/* Sequences of symbols.  Characters that are no symbols are left out, as in Hugging Face's trainers. */
static bool make_rows(learner *l, const char *text)
{
    size_t total = 0;
    for (size_t i = 0; i < l->words; i++) total += l->word[i].size;
    l->sym = rf__alloc(l->ctx, (total + 1) * sizeof *l->sym);
    l->first = rf__alloc(l->ctx, (l->words + 1) * sizeof *l->first);
    l->length = rf__alloc(l->ctx, (l->words + 1) * sizeof *l->length);
    if (!l->sym || !l->first || !l->length) return false;
    size_t n = 0;
    for (size_t i = 0; i < l->words; i++) {
        l->first[i] = n;
        const char *begin = text + l->word[i].at, *end = begin + l->word[i].size;
        for (const char *p = begin; p < end; p += rf__scalar_size(p)) {
            const int32_t s = find_symbol(l, p, rf__scalar_size(p), l->marks && p > begin);
            if (s >= 0) l->sym[n++] = s;
        }
        l->length[i] = (uint32_t)(n - l->first[i]);
    }
    return true;
}

static bool count_pairs(learner *l)
{
    for (size_t w = 0; w < l->words; w++) {
        const int32_t *s = l->sym + l->first[w];
        for (uint32_t i = 0; i + 1 < l->length[w]; i++) {
            pair *p = get_pair(l, s[i], s[i + 1]);
            if (!p || !note(l, p, (uint32_t)w)) return false;
            p->count += (int64_t)l->word[w].count;
        }
    }
    for (size_t i = 0; i < l->pair_slots; i++)
        if (l->pair[i].key && !heap_push(l, (candidate){l->pair[i].count, l->pair[i].key})) return false;
    return true;
}

/* ---- merging ----------------------------------------------------------------------------------------------------- */

/* The pair (a, b) has `by` more occurrences in `word`. */
static bool change(learner *l, int32_t a, int32_t b, int64_t by, size_t word)
{
    pair *p = get_pair(l, a, b);
    if (!p) return false;
    p->count += by;
    if (by < 0) return true;
    if (!p->fresh) {
        if (!rf__grow(l->ctx, &l->fresh, &l->fresh_capacity, l->freshes + 1, sizeof *l->fresh)) return false;
        l->fresh[l->freshes++] = p->key;
        p->fresh = 1;
    }
    return note(l, p, (uint32_t)word);
}

static bool merge_in(learner *l, size_t w, int32_t a, int32_t b, int32_t ab)
{
    int32_t *s = l->sym + l->first[w];
    const int64_t count = (int64_t)l->word[w].count;
    const uint32_t n = l->length[w];
    uint32_t m = 0;
    bool good = true;
    for (uint32_t i = 0; i < n && good; i++) {
        if (s[i] != a || i + 1 == n || s[i + 1] != b) {
            s[m++] = s[i];
            continue;
        }
        if (m) good = change(l, s[m - 1], a, -count, w) && change(l, s[m - 1], ab, count, w);
        if (i + 2 < n && good) good = change(l, b, s[i + 2], -count, w) && change(l, ab, s[i + 2], count, w);
        s[m++] = ab;
        i++;
    }
    l->length[w] = m;
    return good;
}

static int32_t merged_symbol(learner *l, int32_t a, int32_t b)
{
    const symbol x = l->symbol[a], y = l->symbol[b];
    char small[256], *text = small;
    const size_t size = (size_t)x.size + y.size;
    if (size > sizeof small && !(text = rf__alloc(l->ctx, size))) return -1;
    memcpy(text, l->text + x.at, x.size);
    memcpy(text + x.size, l->text + y.at, y.size);
    const int32_t id = rf__learner_symbol(l, text, size, x.tail);
    if (text != small) rf__free(l->ctx, text);
    return id;
}

/* Merges the best pair; *done: no pair is left that occurs `least` times. */
static bool merge_best(learner *l, uint64_t least, bool *done)
{
    candidate top;
    pair *p;
    for (;;) {
        *done = !l->heaped;
        if (*done) return true;
        top = heap_pop(l);
        p = &l->pair[pair_slot(l->pair, l->pair_slots, top.key)];
        if (top.count == p->count) break;
        if (p->count > 0 && !heap_push(l, (candidate){p->count, top.key})) return false;
    }
    *done = top.count < 1 || (uint64_t)top.count < least;
    if (*done) return true;
    const int32_t a = (int32_t)(top.key >> 32), b = (int32_t)(top.key & UINT32_MAX);
    const int32_t ab = merged_symbol(l, a, b);
    if (ab < 0 || !rf__grow(l->ctx, &l->merge, &l->merge_capacity, l->merges + 1, sizeof *l->merge)) return false;
    if (!p->merged) l->merge[l->merges++] = top.key;                /* it may grow again by a symbol that exists      */
    p->merged = 1;
    const uint32_t list = p->list;
    p->list = 0;
    l->freshes = 0;
    for (uint32_t at = list, next; at; at = next) {
        next = l->occurrence[at].next;
        const size_t word = l->occurrence[at].word;
        l->occurrence[at].next = l->free_occurrence;
        l->free_occurrence = at;
        if (!merge_in(l, word, a, b, ab)) return false;
    }
    l->pair[pair_slot(l->pair, l->pair_slots, top.key)].count = 0;
    for (size_t i = 0; i < l->freshes; i++) {
        p = &l->pair[pair_slot(l->pair, l->pair_slots, l->fresh[i])];
        p->fresh = 0;
        if (p->count > 0 && !heap_push(l, (candidate){p->count, p->key})) return false;
    }
    return true;
}

/* ---- the calls --------------------------------------------------------------------------------------------------- */

bool rf__learner_begin(learner *l, const rf_counter *c, size_t symbols)
{
    size_t slots = 16;
    while (slots < 2 * symbols) slots *= 2;
    l->known = rf__alloc(l->ctx, slots * sizeof *l->known);
    l->word = rf__counter_sorted(c);
    l->words = c->used;
    if (!l->known || !l->word) return false;
    l->known_mask = slots - 1;
    for (size_t i = 0; i < slots; i++) l->known[i] = -1;
    return true;
}

bool rf__learner_run(learner *l, const rf_counter *c, size_t size, uint64_t least,
                     void (*progress)(void *user, int32_t done, int32_t size), void *user)
{
    if (!make_rows(l, c->text) || !count_pairs(l)) return false;
    for (bool done = false; l->symbols < size && !done;) {
        if (!merge_best(l, least, &done)) return false;
        if (progress && (l->symbols % 256 == 0 || done)) progress(user, (int32_t)l->symbols, (int32_t)size);
    }
    return true;
}

void rf__learner_clear(learner *l)
{
    void *const all[] = {l->word, l->sym,  l->first,      l->length, l->symbol, l->text, l->merge,
                         l->known, l->pair, l->occurrence, l->heap,   l->fresh};
    for (size_t i = 0; i < RF_COUNT(all); i++) rf__free(l->ctx, all[i]);
}
