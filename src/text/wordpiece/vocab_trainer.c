/* vocab_trainer.c — trains a WordPiece vocabulary by merging pairs.
 *
 *   words     w with count n(w), each a row of symbols: its characters, all but the first marked "##"
 *   repeat    (a, b) = the pair of neighbors with the largest sum of n(w) over its occurrences; ties: the smaller ids
 *             a new symbol ab; every a b becomes ab
 *
 * The criterion is that of Hugging Face's WordPieceTrainer: plain frequency.  A heap has the pairs with counts that may
 * be outdated.  Counts only decrease until a pair is merged, so an outdated entry is too high and is reinserted when it
 * reaches the top.  Each pair has a list of the words in which it has occurred.                                      */

#include "counter.h"
#include "text/unicode/letters.h"

struct rf_vocab_trainer {
    const rf_ctx *ctx;
    rf_tokenizer_options options;
    rf_normal normal;
    rf_words words;
    rf_counter counter;
};

typedef struct pair { uint64_t key; int64_t count; uint32_t list; uint32_t fresh; } pair;   /* key: a << 32 | b       */
typedef struct occurrence { uint32_t word, next; } occurrence;                              /* next 0: the last       */
typedef struct candidate { int64_t count; uint64_t key; } candidate;
typedef struct symbol { uint64_t at; uint32_t size; bool tail; } symbol;                    /* text without "##"      */

typedef struct learner {
    const rf_ctx *ctx;
    rf_counted *word;
    size_t words;
    int32_t *sym;                       /* symbols of all words, one word after another                               */
    uint64_t *first;                    /* [words + 1] into sym                                                       */
    uint32_t *length;
    symbol *symbol;
    size_t symbols, symbol_capacity;
    char *text;
    size_t bytes, byte_capacity;
    int32_t *known;                     /* hash: symbols by text                                                      */
    size_t known_mask;
    pair *pair;                         /* hash: pairs by key; key 0 (PAD, PAD) is free                               */
    size_t pairs, pair_slots;
    occurrence *occurrence;
    size_t occurrences, occurrence_capacity;
    uint32_t free_occurrence;
    candidate *heap;
    size_t heaped, heap_capacity;
    uint64_t *fresh;                    /* pairs that grew during a merge                                             */
    size_t freshes, fresh_capacity;
} learner;

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

/* The symbol of this text, created if it does not exist; -1: no memory. */
static int32_t make_symbol(learner *l, const char *text, size_t size, bool tail)
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

/* ---- the start: special tokens, characters, words as rows of characters ------------------------------------------ */

static size_t scalar_size(const char *text)
{
    const unsigned char b = (unsigned char)*text;
    return b < 0x80 ? 1 : b < 0xE0 ? 2 : b < 0xF0 ? 3 : 4;
}

static uint32_t scalar_at(const char *text)
{
    size_t at = 0;
    return rf__utf8_get((const unsigned char *)text, &at);
}

/* Creates the characters' symbols: the `limit` most frequent, ordered by scalar; first those that begin a word. */
static bool make_alphabet(learner *l, const char *text, size_t limit)
{
    uint64_t *count = rf__calloc(l->ctx, RF_SCALARS, sizeof *count);
    uint8_t *inside = rf__calloc(l->ctx, RF_SCALARS, 1);
    rf_letter *x = NULL;
    bool good = false;
    size_t n = 0;
    if (!count || !inside) goto done;
    for (size_t i = 0; i < l->words; i++)
        for (const char *p = text + l->word[i].at, *end = p + l->word[i].size; p < end; p += scalar_size(p))
            count[scalar_at(p)] += l->word[i].count;
    x = rf__letters(l->ctx, count, limit, 1, &n);
    if (!x) goto done;
    for (size_t i = 0; i < l->words; i++) {
        const char *p = text + l->word[i].at, *end = p + l->word[i].size;
        for (p += scalar_size(p); p < end; p += scalar_size(p)) inside[scalar_at(p)] = 1;
    }
    good = true;
    for (int tail = 0; tail < 2; tail++)
        for (size_t i = 0; i < n && good; i++) {
            char utf8[4];
            if (!tail || inside[x[i].c]) good = make_symbol(l, utf8, rf__utf8_put(x[i].c, utf8), tail) >= 0;
        }
done:
    rf__free(l->ctx, count);
    rf__free(l->ctx, inside);
    rf__free(l->ctx, x);
    return good;
}

/* Sequences of symbols.  Characters that are not in the alphabet are left out, as in Hugging Face's trainer. */
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
        for (const char *p = begin; p < end; p += scalar_size(p)) {
            const int32_t s = find_symbol(l, p, scalar_size(p), p > begin);
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
    const int32_t id = make_symbol(l, text, size, x.tail);
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
    if (ab < 0) return false;
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

static void learner_clear(learner *l)
{
    void *const all[] = {l->word,  l->sym,  l->first,      l->length, l->symbol, l->text,
                         l->known, l->pair, l->occurrence, l->heap,   l->fresh};
    for (size_t i = 0; i < RF_COUNT(all); i++) rf__free(l->ctx, all[i]);
}

static char *write_vocab(const learner *l, size_t *bytes)
{
    size_t size = 1;
    for (size_t i = 0; i < l->symbols; i++) size += l->symbol[i].size + 3u;
    char *text = rf__alloc(l->ctx, size), *to = text;
    if (!text) return NULL;
    for (size_t i = 0; i < l->symbols; i++) {
        const symbol *s = &l->symbol[i];
        if (s->tail) *to++ = '#', *to++ = '#';
        memcpy(to, l->text + s->at, s->size);
        to += s->size;
        *to++ = '\n';
    }
    *to = 0;
    *bytes = (size_t)(to - text);
    return text;
}

static bool learn(learner *l, const rf_vocab_trainer *v, size_t size, size_t alphabet, uint64_t least,
                  void (*progress)(void *user, int32_t done, int32_t size), void *user)
{
    const rf_tokenizer_options *o = &v->options;
    const char *const special[] = {o->pad ? o->pad : "[PAD]", o->unk ? o->unk : "[UNK]", o->cls ? o->cls : "[CLS]",
                                   o->sep ? o->sep : "[SEP]", o->mask ? o->mask : "[MASK]"};
    size_t slots = 16;
    while (slots < 2 * (size + 2 * alphabet + 8)) slots *= 2;
    l->known = rf__alloc(l->ctx, slots * sizeof *l->known);
    l->word = rf__counter_sorted(&v->counter);
    l->words = v->counter.used;
    if (!l->known || !l->word) return false;
    l->known_mask = slots - 1;
    for (size_t i = 0; i < slots; i++) l->known[i] = -1;
    for (size_t i = 0; i < RF_COUNT(special); i++)
        if (make_symbol(l, special[i], strlen(special[i]), false) < 0) return false;
    if (!make_alphabet(l, v->counter.text, alphabet) || !make_rows(l, v->counter.text) || !count_pairs(l)) return false;
    for (bool done = false; l->symbols < size && !done;) {
        if (!merge_best(l, least, &done)) return false;
        if (progress && (l->symbols % 256 == 0 || done)) progress(user, (int32_t)l->symbols, (int32_t)size);
    }
    return true;
}

rf_status rf_vocab_trainer_new(const rf_ctx *ctx, const rf_tokenizer_options *options, size_t max_words,
                               rf_vocab_trainer **out, rf_error *why)
{
    if (!(ctx && out)) return rf__missing("rf_vocab_trainer_new", "ctx, out", why);
    if (max_words < 16 || max_words > UINT32_MAX / 2)
        return rf_fail(why, RF_EARG, "vocabulary: max_words: expected 16 to %u, got %zu", UINT32_MAX / 2, max_words);
    rf_tokenizer_options o;
    if (rf__tokenizer_options_read(&o, options, why)) return RF_EARG;
    rf_vocab_trainer *v = rf__calloc(ctx, 1, sizeof *v);
    if (!v) return rf_fail(why, RF_ENOMEM, "vocabulary: out of memory");
    v->ctx = ctx;
    v->options = o;
    rf__normal_init(&v->normal, &v->options);
    rf__words_init(&v->words, ctx);
    rf__counter_init(&v->counter, ctx, max_words);
    *out = v;
    return RF_OK;
}

void rf_vocab_trainer_free(rf_vocab_trainer *v)
{
    if (!v) return;
    rf__words_clear(&v->words);
    rf__counter_clear(&v->counter);
    rf__free(v->ctx, v);
}

static rf_status count_words(rf_vocab_trainer *v, const char *text, size_t size, rf_error *why)
{
    rf_word w;
    rf__words_start(&v->words, &v->normal, text, 0, size, size);
    while (rf__words_next(&v->words, &w)) {
        if (w.chars > (size_t)v->options.max_word) continue;
        if (!rf__counter_add(&v->counter, w.text, w.size))
            return rf_fail(why, RF_ENOMEM, "vocabulary: out of memory after %zu different words", v->counter.used);
    }
    if (v->words.failed) return rf_fail(why, RF_ENOMEM, "vocabulary: out of memory for a word of the text");
    return RF_OK;
}

rf_status rf_vocab_trainer_feed(rf_vocab_trainer *v, const char *text, size_t size, rf_error *why)
{
    if (!(v && (text || !size))) return rf__missing("rf_vocab_trainer_feed", "trainer, text", why);
    const rf_status status = rf__training_text(text, size, why);
    return status ? status : count_words(v, text, size, why);
}

rf_status rf_vocab_trainer_learn(rf_vocab_trainer *v, int32_t size, int32_t alphabet, uint64_t least,
                                 void (*progress)(void *user, int32_t done, int32_t size), void *user,
                                 char **vocab, size_t *bytes, rf_error *why)
{
    if (!(v && vocab && bytes)) return rf__missing("rf_vocab_trainer_learn", "trainer, vocab, bytes", why);
    if (size < 6 || alphabet < 1 || alphabet > 0x110000)
        return rf_fail(why, RF_EARG, "vocabulary: tokens, alphabet: expected at least 6 and 1, got %d and %d",
                       (int)size, (int)alphabet);
    if (!v->counter.used) return rf_fail(why, RF_EDATA, "vocabulary: there is no word in the text to learn from");
    learner l = {.ctx = v->ctx};
    char *text = NULL;
    if (learn(&l, v, (size_t)size, (size_t)alphabet, least, progress, user)) text = write_vocab(&l, bytes);
    learner_clear(&l);
    if (!text) return rf_fail(why, RF_ENOMEM, "vocabulary: out of memory for %zu words", v->counter.used);
    *vocab = text;
    return RF_OK;
}

void rf_vocab_trainer_release(rf_vocab_trainer *v, char *vocab)
{
    if (v) rf__free(v->ctx, vocab);
}

/* ---- as a tokenizer's training ----------------------------------------------------------------------------------- */

static rf_status begin(rf_tokenizer_trainer *t, rf_error *why)
{
    rf_vocab_trainer *v = NULL;
    const rf_status status = rf_vocab_trainer_new(t->ctx, t->options.words, t->options.max_words, &v, why);
    t->own = v;
    return status;
}

static rf_status feed(rf_tokenizer_trainer *t, const char *text, size_t size, rf_error *why)
{
    return count_words(t->own, text, size, why);
}

static rf_status finish(rf_tokenizer_trainer *t, rf_tokenizer **out, rf_error *why)
{
    const rf_tokenizer_train_options *o = &t->options;
    rf_vocab_trainer *v = t->own;
    char *vocab = NULL;
    size_t bytes = 0;
    rf_status status = rf_vocab_trainer_learn(v, o->tokens, o->alphabet, o->least ? o->least : 2, o->progress, o->user,
                                              &vocab, &bytes, why);
    if (!status) status = rf_tokenizer_new(t->ctx, vocab, bytes, "vocabulary", &v->options, out, why);
    rf_vocab_trainer_release(v, vocab);
    return status;
}

static void clear(rf_tokenizer_trainer *t) { rf_vocab_trainer_free(t->own); }

const rf_tokenizer_training rf__wordpiece_training = {
    .uses = RF_TRAIN_ALPHABET | RF_TRAIN_LEAST | RF_TRAIN_MAX_WORDS | RF_TRAIN_WORDS,
    .begin = begin,
    .feed = feed,
    .finish = finish,
    .clear = clear,
};
