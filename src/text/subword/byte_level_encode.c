/* byte_level_encode.c — text to ids by byte-level BPE.
 *
 *     normalized text | added tokens | words (byte_level.c) | merges of their bytes (piece_model.c)
 *
 * Most texts are in normal form; their words are taken from the raw text without a copy.  Most words occurred before:
 * each encoding keeps a direct-mapped cache from a short word to its tokens, one cache line per word.                */
#include "text/word_key.h"
#include "tokenizer_json.h"

/* ---- words that were split before -------------------------------------------------------------------------------- */

enum { KNOWN_BITS = 14, KNOWN_TOKENS = 7 };               /* 2 MiB                                                    */

typedef struct rf__known {
    uint64_t key[RF_KEY / 8];
    int32_t id[KNOWN_TOKENS];
    uint8_t end[KNOWN_TOKENS];                            /* of each token, in bytes of the word                      */
    uint8_t n;                                            /* 0: empty                                                 */
} known;

void rf__level_forget(rf__hf_work *w)
{
    if (w->known) memset(w->known, 0, sizeof *w->known << KNOWN_BITS);
}

/* ---- where bytes come from --------------------------------------------------------------------------------------- */

/* Text [from, to) at `at`; bytes below `limit` may be read. */
typedef struct source {
    const char *at;
    size_t from, to, limit;
    const uint32_t *begin, *end;        /* for each byte the bytes of the raw text; NULL: it is the raw text, where   */
    const char *raw;                    /* byte from + i is raw[base + i], or, if a blank was inserted before the     */
    size_t base, raw_end, blank;        /* text, raw[base + i - 1]; the blank has the place of the next character     */
} source;

static size_t raw_place(const source *s, size_t i)
{
    i -= s->from;
    return s->base + (i > s->blank ? i - s->blank : 0);
}

static uint32_t begin_of(const source *s, size_t i)
{
    if (s->begin) return s->begin[i];
    size_t place = raw_place(s, i);
    while ((s->raw[place] & 0xC0) == 0x80) place--;
    return (uint32_t)place;
}

/* The end of the character that byte i is a part of. */
static uint32_t end_of(const source *s, size_t i)
{
    if (s->end) return s->end[i];
    size_t place = raw_place(s, i) + 1;
    while (place < s->raw_end && (s->raw[place] & 0xC0) == 0x80) place++;
    return (uint32_t)place;
}

/* Part [from, to) of s. */
static source part_of(const source *s, size_t from, size_t to)
{
    source part = *s;
    part.from = from;
    part.to = to;
    if (!s->begin) part.base = raw_place(s, from);
    return part;
}

/* The part with a blank before it, in w->spare.  False: no memory. */
static bool insert_blank(rf__hf_work *w, const source *part, source *out)
{
    rf__mapped *to = &w->spare;
    const size_t size = part->to - part->from;
    to->n = 0;
    *out = (source){.raw = part->raw, .base = part->base, .raw_end = part->raw_end, .blank = 1, .to = size + 1};
    bool good = true;
    if (part->begin) {
        good = rf__mapped_append(to, " ", 1, part->begin[part->from], part->end[part->from]);
        for (size_t i = part->from; i < part->to && good; i++)
            good = rf__mapped_append(to, part->at + i, 1, part->begin[i], part->end[i]);
        out->begin = to->from;
        out->end = to->to;
    } else if ((good = rf__grow(to->ctx, &to->at, &to->capacity, size + RF_KEY, 1))) {
        to->at[0] = ' ';
        memcpy(to->at + 1, part->at + part->from, size);
    }
    out->at = to->at;
    out->limit = size + 1;
    return good;
}

/* ---- words ------------------------------------------------------------------------------------------------------- */

/* Applies trim_offsets as tokenizers does: removes as many characters of the raw text as the piece has leading blanks,
 * and as it has trailing blanks.  The blank inserted before a text counts as its first character. */
static void trim(const hf_tokenizer *t, const char *raw, int32_t id, uint32_t *from, uint32_t *to)
{
    const char *name = t->pieces.token[id], *end = name + strlen(name);
    uint32_t before = 0, behind = 0;
    for (; !strncmp(name + 2 * before, SPACE, 2); before++);
    for (; end - name >= 2 * (behind + 1) && !memcmp(end - 2 * (behind + 1), SPACE, 2); behind++);
    if (before == 1 && !*from && t->base.trims_first) before = 0;   /* two blanks were in the text                    */
    for (; before && *from < *to; before--)
        for (++*from; *from < *to && (raw[*from] & 0xC0) == 0x80; ++*from);
    for (; behind && *to > *from; behind--)
        for (--*to; *to > *from && (raw[*to] & 0xC0) == 0x80; --*to);
}

/* A word that begins at byte `at` of its source. */
typedef struct level_word {
    const hf_tokenizer *t;
    rf_encoding *e;
    const source *s;
    size_t at;
    known *slot;                        /* the cache, or NULL                                                         */
    size_t n;                           /* tokens so far                                                              */
} level_word;

static bool put_token(const level_word *x, int32_t id, size_t from, size_t to)
{
    uint32_t start = begin_of(x->s, x->at + from), end = end_of(x->s, x->at + to - 1);
    if (!rf__reserve_tokens(x->e, 1)) return false;
    if (x->t->base.trims) trim(x->t, x->s->raw, id, &start, &end);
    rf__put_token(x->e, id, start, end, false);
    return true;
}

static bool put_new(void *user, int32_t id, size_t from, size_t to)
{
    level_word *x = user;
    if (x->slot && x->n < KNOWN_TOKENS) x->slot->id[x->n] = id, x->slot->end[x->n] = (uint8_t)to;
    x->n++;
    return put_token(x, id, from, to);
}

/* The piece that a whole word is, or -1. */
static int32_t whole_piece(const hf_tokenizer *t, const char *word, size_t size)
{
    uint32_t node = 0;
    int32_t id = -1;
    for (size_t i = 0; i < size; i++) {
        id = rf__trie_step(&t->pieces.names_trie, &node, t->scalar[(unsigned char)word[i]]);
        if (!node) return -1;
    }
    return id;
}

static bool split_word(level_word *x, rf__hf_work *w, const char *word, size_t size)
{
    const int32_t whole = x->t->pieces.whole ? whole_piece(x->t, word, size) : -1;
    if (whole >= 0) return put_new(x, whole, 0, size);
    return rf__piece_model_cut_bytes(&x->t->pieces, &w->cut, x->t->byte_id, word, size, put_new, x);
}

/* The word [at, at + size), from the cache or split. */
static bool put_word(const hf_tokenizer *t, rf_encoding *e, rf__hf_work *w, const source *s, size_t at, size_t size)
{
    level_word x = {t, e, s, at, NULL, 0};
    if (size > RF_KEY) return split_word(&x, w, s->at + at, size);
    uint64_t key[RF_KEY / 8];
    rf__word_key(s->at + at, size, s->limit - at, key);
    known *k = x.slot = &w->known[rf__key_slot(key, KNOWN_BITS)];
    bool good = true;
    if (k->n && k->end[k->n - 1] == size && rf__same_key(k->key, key)) {
        for (size_t i = 0; i < k->n && good; i++) good = put_token(&x, k->id[i], i ? k->end[i - 1] : 0, k->end[i]);
        return good;
    }
    k->n = 0;
    if (!split_word(&x, w, s->at + at, size)) return false;
    if (x.n > KNOWN_TOKENS) return true;
    memcpy(k->key, key, sizeof key);
    k->n = (uint8_t)x.n;
    return true;
}

/* ---- the text ---------------------------------------------------------------------------------------------------- */

/* Bytes [from, to), which contain no added token. */
static bool put_part(const hf_tokenizer *t, rf_encoding *e, rf__hf_work *w, const source *all, size_t from, size_t to)
{
    source part = part_of(all, from, to), blank;
    if (t->blank_first && part.at[from] != ' ') {
        if (!insert_blank(w, &part, &blank)) return false;
        part = blank;
    }
    for (size_t at = part.from, end; at < part.to; at = end) {
        end = rf__split_end(t->level, part.at, at, part.to);
        if (!put_word(t, e, w, &part, at, end - at)) return false;
    }
    return true;
}

static uint32_t next_of(const source *s, size_t *at) { return rf__utf8_get((const unsigned char *)s->at, at); }

/* The longest added token at *at, which advances past it; NULL: none. */
static const rf_added *added_at(const hf_tokenizer *t, const source *s, size_t *at)
{
    const rf_added *best = NULL;
    uint32_t node = 0;
    for (size_t next = *at; next < s->to;) {
        const int32_t i = rf__trie_step(&t->normalized, &node, next_of(s, &next));
        if (!node) break;
        if (i >= 0) best = &t->base.added[i], *at = next;
    }
    return best;
}

/* The first added token of the normalized text from `at` on, with the white space that it absorbs. */
static const rf_added *next_added(const hf_tokenizer *t, const source *s, size_t at, size_t *from, size_t *to)
{
    const rf_added *a = NULL;
    for (size_t i = at; i < s->to; i++) {
        if (!t->opens[(unsigned char)s->at[i]]) continue;
        *from = *to = i;
        if ((a = added_at(t, s, to))) break;
    }
    if (!a) return *from = *to = s->to, a;
    while (a->lstrip && *from > at) {
        size_t start = *from - 1;
        while (start > at && (s->at[start] & 0xC0) == 0x80) start--;
        size_t next = start;
        if (!rf__unicode_white(next_of(s, &next))) break;
        *from = start;
    }
    for (size_t next = *to; a->rstrip && *to < s->to; *to = next)
        if (!rf__unicode_white(next_of(s, &next))) break;
    return a;
}

bool rf__level_encode(const hf_tokenizer *t, rf_encoding *e, rf__hf_work *w, const rf_passage *p,
                      const rf__mapped *normal)
{
    source s = {.at = p->text, .from = p->from, .to = p->to, .limit = p->size, .raw = p->text, .base = p->from,
                .raw_end = p->to};
    if (normal)
        s = (source){.at = normal->at, .to = normal->n, .limit = normal->n, .begin = normal->from, .end = normal->to,
                     .raw = p->text};
    if (!w->known && !(w->known = rf__calloc(e->ctx, (size_t)1 << KNOWN_BITS, sizeof *w->known))) return false;
    bool good = true;
    for (size_t at = s.from, from, to; at < s.to && good; at = to) {
        from = to = s.to;
        const rf_added *a = p->plain || !t->base.normalized ? NULL : next_added(t, &s, at, &from, &to);
        if (from > at) good = put_part(t, e, w, &s, at, from);
        if (a && good) good = rf__put_added(&t->base, e, a, p->text, begin_of(&s, from), end_of(&s, to - 1));
    }
    return good;
}
