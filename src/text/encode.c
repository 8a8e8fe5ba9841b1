/* encode.c — text to ids: added tokens, words, pieces, template, truncation.
 *
 * Text is Zipfian: most words were seen before.  Each encoding keeps a direct-mapped cache from a short word to its
 * pieces, one line of memory per word, so that threads share the tokenizer and nothing else.                        */
#include "text.h"

enum { CACHE_BITS = 14, CACHED = 7 };                     /* 1 MiB                                                    */

typedef struct line {
    uint64_t key[RF_KEY / 8];
    int32_t id[CACHED];
    uint8_t end[CACHED];
    uint8_t n;                                            /* 0: nothing here                                          */
} line;

typedef struct scratch {
    rf_words words;
    line *cache;
    uint64_t mark;                                        /* the tokenizer that the cache belongs to                  */
    uint64_t *hash;
    int32_t *id;
    uint32_t *end;
    size_t hashes, ids, ends;
} scratch;

void rf_encoding_init(rf_encoding *e, const rf_ctx *ctx)
{
    *e = (rf_encoding){.ctx = ctx};
}

void rf_encoding_clear(rf_encoding *e)
{
    scratch *s = e->scratch;
    if (s) {
        rf__words_clear(&s->words);
        rf__free(e->ctx, s->cache);
        rf__free(e->ctx, s->hash);
        rf__free(e->ctx, s->id);
        rf__free(e->ctx, s->end);
        rf__free(e->ctx, s);
    }
    rf__free(e->ctx, e->id);
    rf__free(e->ctx, e->type);
    rf__free(e->ctx, e->start);
    rf__free(e->ctx, e->end);
    rf__free(e->ctx, e->added);
    rf_encoding_init(e, e->ctx);
}

static scratch *scratch_for(rf_encoding *e, const rf_tokenizer *t)
{
    scratch *s = e->scratch;
    if (!s) {
        s = rf__calloc(e->ctx, 1, sizeof *s);
        if (!s) return NULL;
        rf__words_init(&s->words, e->ctx);
        e->scratch = s;
    }
    if (!s->cache) {
        s->cache = rf__calloc(e->ctx, (size_t)1 << CACHE_BITS, sizeof *s->cache);
        if (!s->cache) return NULL;
    } else if (s->mark != t->mark) {
        memset(s->cache, 0, sizeof *s->cache << CACHE_BITS);
    }
    s->mark = t->mark;
    return s;
}

/* Space for `more` further tokens. */
static bool reserve(rf_encoding *e, size_t more)
{
    const size_t need = e->n + more;
    if (need <= e->capacity) return true;
    size_t c[5];
    for (int i = 0; i < 5; i++) c[i] = e->capacity;
    if (!rf__grow(e->ctx, &e->id, &c[0], need, sizeof *e->id) ||
        !rf__grow(e->ctx, &e->type, &c[1], need, sizeof *e->type) ||
        !rf__grow(e->ctx, &e->start, &c[2], need, sizeof *e->start) ||
        !rf__grow(e->ctx, &e->end, &c[3], need, sizeof *e->end) ||
        !rf__grow(e->ctx, &e->added, &c[4], need, sizeof *e->added))
        return false;
    e->capacity = c[0];
    return true;
}

static inline void push(rf_encoding *e, int32_t id, uint32_t start, uint32_t end, bool added)
{
    e->id[e->n] = id;
    e->start[e->n] = start;
    e->end[e->n] = end;
    e->added[e->n++] = added;
}

/* ---- words ------------------------------------------------------------------------------------------------------- */

static inline void push_piece(rf_encoding *e, const rf_word *w, int32_t id, size_t begin, size_t end)
{
    if (w->from) push(e, id, w->from[begin], w->to[end - 1], false);
    else push(e, id, (uint32_t)(w->at + begin), (uint32_t)(w->at + end), false);
}

static inline size_t cache_slot(const uint64_t key[3])
{
    const uint64_t h = (key[0] ^ (key[1] * 0x9FB21C651E98DF25) ^ (key[2] * 0xD6E8FEB86659FD93)) * 0x9E3779B97F4A7C15;
    return (size_t)((h ^ h << 17) >> (64 - CACHE_BITS));
}

/* The pieces of a word that the cache does not hold. */
static bool look_up(const rf_tokenizer *t, rf_encoding *e, const rf_word *w, line *cached)
{
    scratch *s = e->scratch;
    size_t n = 0;
    if (w->chars <= (size_t)t->options.max_word) {
        if (!rf__grow(e->ctx, &s->hash, &s->hashes, w->size + 1, sizeof *s->hash) ||
            !rf__grow(e->ctx, &s->id, &s->ids, w->size + 1, sizeof *s->id) ||
            !rf__grow(e->ctx, &s->end, &s->ends, w->size + 1, sizeof *s->end))
            return false;
        n = rf__vocab_pieces(&t->vocab, w->text, w->size, s->hash, s->id, s->end);
    }
    if (!reserve(e, n + 1)) return false;
    if (!n) {
        push_piece(e, w, t->special[RF_UNK], 0, w->size);
    } else {
        for (size_t i = 0; i < n; i++) push_piece(e, w, s->id[i], i ? s->end[i - 1] : 0, s->end[i]);
    }
    if (cached && n <= CACHED) {
        memcpy(cached->key, w->key, sizeof cached->key);
        cached->n = (uint8_t)(n ? n : 1);
        for (size_t i = 0; i < n; i++) {
            cached->id[i] = s->id[i];
            cached->end[i] = (uint8_t)s->end[i];
        }
        if (!n) {
            cached->id[0] = t->special[RF_UNK];
            cached->end[0] = (uint8_t)w->size;
        }
    }
    return true;
}

static bool encode_words(const rf_tokenizer *t, rf_encoding *e, const char *text, size_t from, size_t to, size_t size)
{
    scratch *s = e->scratch;
    rf_word w;
    rf__words_start(&s->words, &t->normal, text, from, to, size);
    while (rf__words_next(&s->words, &w)) {
        line *l = NULL;
        if (w.size <= RF_KEY && w.chars <= (size_t)t->options.max_word) {
            l = &s->cache[cache_slot(w.key)];
            if (l->n && l->key[0] == w.key[0] && l->key[1] == w.key[1] && l->key[2] == w.key[2]) {
                if (!reserve(e, CACHED)) return false;
                size_t begin = 0;
                for (unsigned i = 0; i < l->n; i++) {
                    push_piece(e, &w, l->id[i], begin, l->end[i]);
                    begin = l->end[i];
                }
                continue;
            }
        }
        if (!look_up(t, e, &w, l)) return false;
    }
    return !s->words.failed;
}

/* ---- added tokens ------------------------------------------------------------------------------------------------ */

/* Bytes of text[at, size) that are token a in lower case; 0 when they are not. */
static size_t folds_to(const rf_tokenizer *t, const char *text, size_t at, size_t size, const rf_added *a)
{
    size_t i = at, k = 0;
    while (k < a->size && i < size) {
        const uint32_t c = rf__utf8_get((const unsigned char *)text, &i);
        uint32_t low[2];
        const int n = rf__unicode_lower(&t->normal.unicode, c, rf__unicode_flags(&t->normal.unicode, c), low);
        for (int j = 0; j < n; j++) {
            char utf8[4];
            const size_t bytes = rf__utf8_put(low[j], utf8);
            if (bytes > a->size - k || memcmp(a->text + k, utf8, bytes) != 0) return 0;
            k += bytes;
        }
    }
    return k == a->size ? i - at : 0;
}

/* The longest added token at `at`. */
static const rf_added *added_at(const rf_tokenizer *t, const char *text, size_t at, size_t size, size_t *bytes)
{
    const rf_added *best = NULL;
    for (size_t i = 0; i < t->added_n; i++) {
        const rf_added *a = &t->added[i];
        if (best && a->size <= best->size) continue;
        size_t n = a->size <= size - at && !memcmp(text + at, a->text, a->size) ? a->size : 0;
        if (!n && t->fold) n = folds_to(t, text, at, size, a);
        if (!n) continue;
        best = a;
        *bytes = n;
    }
    return best;
}

/* The first added token in [at, size): its place, widened by the white space that it takes along. */
static const rf_added *next_added(const rf_tokenizer *t, const char *text, size_t at, size_t size, size_t *from,
                                  size_t *to)
{
    const unsigned char *p = (const unsigned char *)text;
    for (size_t i = at; i < size; i++) {
        if (t->opener >= 0) {
            const unsigned char *q = memchr(p + i, t->opener, size - i);
            if (!q) break;
            i = (size_t)(q - p);
        } else if (!t->opens[p[i]] || (p[i] & 0xC0) == 0x80) {
            continue;
        }
        size_t bytes = 0;
        const rf_added *a = added_at(t, text, i, size, &bytes);
        if (!a) continue;
        *from = i;
        *to = i + bytes;
        while (a->lstrip && *from > at) {
            size_t start = *from - 1;
            while (start > at && (p[start] & 0xC0) == 0x80) start--;
            size_t next = start;
            if (!rf__unicode_white(rf__utf8_get(p, &next))) break;
            *from = start;
        }
        while (a->rstrip && *to < size) {
            size_t next = *to;
            if (!rf__unicode_white(rf__utf8_get(p, &next))) break;
            *to = next;
        }
        return a;
    }
    return NULL;
}

static bool encode_text(const rf_tokenizer *t, rf_encoding *e, const char *text, size_t size, int flags)
{
    scratch *s = e->scratch;
    const bool plain = flags & RF_ENCODE_NO_SPECIALS;
    s->words.keep_whole = t->normal.python && !plain;
    for (size_t at = 0; at < size;) {
        size_t from = size, to = size;
        const rf_added *a = plain ? NULL : next_added(t, text, at, size, &from, &to);
        if (from > at && !encode_words(t, e, text, at, from, size)) return false;
        if (a) {
            if (!reserve(e, 1)) return false;
            push(e, a->id, (uint32_t)from, (uint32_t)to, false);
        }
        at = to;
    }
    return true;
}

/* ---- template and truncation ------------------------------------------------------------------------------------- */

/* Hugging Face's longest_first: how many of na and nb tokens stay, together at most `limit`.  The shorter text is left
 * alone while the longer one can give enough; otherwise both get half, and the odd token goes to the longer one (Rust)
 * or to the first one (Python). */
static void longest_first(size_t *na, size_t *nb, size_t limit, bool python)
{
    const bool swap = *na > *nb;
    size_t low = swap ? *nb : *na, high = swap ? *na : *nb;
    if (low + high <= limit) return;
    high = low > limit || limit - low < low ? low : limit - low;
    bool first_more = swap;
    if (low + high > limit) {
        low = limit / 2;
        high = low + limit % 2;
        first_more |= python;
    }
    *na = first_more ? high : low;
    *nb = first_more ? low : high;
}

static void move(rf_encoding *e, size_t to, size_t from, size_t n)
{
    memmove(e->id + to, e->id + from, n * sizeof *e->id);
    memmove(e->start + to, e->start + from, n * sizeof *e->start);
    memmove(e->end + to, e->end + from, n * sizeof *e->end);
    memmove(e->added + to, e->added + from, n);
}

static rf_status check_text(const char *text, size_t size, const char *which, rf_error *why)
{
    if (size > UINT32_MAX)
        return rf_fail(why, RF_ERANGE, "encode: the %s has %zu bytes, the limit is %u", which, size, UINT32_MAX);
    const size_t bad = rf__utf8_check(text, size);
    if (bad == size) return RF_OK;
    return rf_fail(why, RF_EDATA, "encode: the %s is not UTF-8 at byte %zu (0x%02X)", which, bad,
                   (unsigned char)text[bad]);
}

static bool encode_all(const rf_tokenizer *t, const char *text, size_t size, const char *pair, size_t pair_size,
                       size_t limit, int flags, rf_encoding *e, size_t *dropped)
{
    const bool frame = !(flags & RF_ENCODE_PLAIN) && !t->bare;
    const size_t base = e->n, around = frame ? 2 + (pair != NULL) : 0;
    if (!scratch_for(e, t) || !reserve(e, 2)) return false;
    if (frame) push(e, t->special[RF_CLS], 0, 0, true);
    const size_t a = e->n;
    if (!encode_text(t, e, text, size, flags)) return false;
    size_t na = e->n - a, nb = 0;
    const size_t b = e->n;
    if (pair) {
        if (!encode_text(t, e, pair, pair_size, flags)) return false;
        nb = e->n - b;
    }
    const size_t all = na + nb;
    if (limit) {
        if (pair) longest_first(&na, &nb, limit - around, t->normal.python);
        else if (na > limit - around) na = limit - around;
    }
    *dropped = all - na - nb;
    if (!reserve(e, around)) return false;
    move(e, a + na + frame, b, nb);
    e->n = a + na;
    if (frame) push(e, t->special[RF_SEP], 0, 0, true);
    const size_t second = e->n;
    e->n += nb;
    if (frame && pair) push(e, t->special[RF_SEP], 0, 0, true);
    for (size_t i = base; i < e->n; i++) e->type[i] = pair && i >= second;
    return true;
}

rf_status rf_encode(const rf_tokenizer *t, const char *text, size_t size, const char *pair, size_t pair_size,
                    size_t limit, int flags, rf_encoding *e, size_t *dropped, rf_error *why)
{
    if (!(t && (text || !size) && e)) return rf__missing("rf_encode", "tokenizer, text, encoding", why);
    rf_status status = check_text(text, size, "text", why);
    if (!status && pair) status = check_text(pair, pair_size, "second text", why);
    if (status) return status;
    const size_t around = flags & RF_ENCODE_PLAIN || t->bare ? 0 : pair ? 3 : 2;
    if (limit && limit < around)
        return rf_fail(why, RF_ERANGE, "encode: a limit of %zu tokens, [CLS] and [SEP] alone take %zu", limit, around);
    if (!(flags & RF_ENCODE_APPEND)) e->n = 0;
    const size_t before = e->n;
    size_t cut = 0;
    if (!encode_all(t, text, size, pair, pair_size, limit, flags, e, &cut)) {
        e->n = before;
        return rf_fail(why, RF_ENOMEM, "encode: no memory for %zu bytes of text", size);
    }
    if (dropped) *dropped = cut;
    return RF_OK;
}
