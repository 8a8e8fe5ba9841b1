/* tokenizer_json_encode.c — text to ids, by words of blanks or by byte-level BPE. */
#include "tokenizer_json.h"

/* A word of byte-level BPE that was split before, and the ends of its tokens. */
enum { KNOWN_BYTES = 22, KNOWN_TOKENS = 8, KNOWN_WORDS = 1 << 14 };
typedef struct known {
    uint8_t size, n;                    /* n == 0: there is none                                                      */
    char key[KNOWN_BYTES];
    uint8_t end[KNOWN_TOKENS];
    int32_t id[KNOWN_TOKENS];
} known;

typedef struct work {
    rf__mapped text, spare, word;
    rf__piece_scratch cut;
    const char *raw;
    known *known;                       /* [KNOWN_WORDS] by their hash; allocated at the first encoding               */
} work;
typedef struct target { rf_encoding *e; const rf__mapped *word; size_t from; } target;

void *rf__hf_scratch(const rf_ctx *ctx, void *own, bool others)
{
    work *w = own ? own : rf__calloc(ctx, 1, sizeof *w);
    if (w && w->known && others) memset(w->known, 0, KNOWN_WORDS * sizeof *w->known);
    if (w) w->text.ctx = w->spare.ctx = w->word.ctx = w->cut.ctx = ctx;
    return w;
}

void rf__hf_scratch_free(const rf_ctx *ctx, void *own)
{
    work *w = own;
    rf__mapped_clear(&w->text);
    rf__mapped_clear(&w->spare);
    rf__mapped_clear(&w->word);
    rf__piece_scratch_clear(&w->cut);
    rf__free(ctx, w->known);
    rf__free(ctx, w);
}

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

static bool append_piece(void *user, int32_t id, size_t from, size_t to)
{
    const target *t = user;
    if (!rf__reserve_tokens(t->e, 1)) return false;
    rf__put_token(t->e, id, t->word->from[t->from + from], t->word->to[t->from + to - 1], false);
    return true;
}

static bool put_words(const hf_tokenizer *t, rf_encoding *e, work *w, const rf__mapped *in, size_t from, size_t to)
{
    for (size_t at = from, end; at < to; at = end) {
        end = to;
        for (size_t i = at + 1; t->split && i + 3 <= to && end == to; i++)
            if (!memcmp(in->at + i, BLANK, 3)) end = i;
        target each = {e, in, at};
        if (!rf__piece_model_cut(&t->pieces, &w->cut, in->at + at, end - at, append_piece, &each)) return false;
    }
    return true;
}

/* A word [from, to) of the normalized text; `first`: the beginning of the raw text. */
static bool put_word(const hf_tokenizer *t, rf_encoding *e, work *w, size_t from, size_t to, bool first)
{
    const rf__mapped *in = &w->text;
    if (from == to) return true;
    if (!t->metaspace) return put_words(t, e, w, in, from, to);
    const bool begun = in->at[from] == ' ' || (to - from >= 3 && !memcmp(in->at + from, BLANK, 3));
    size_t first_end = from;
    rf__mapped_next(in, &first_end);    /* the blank covers the first character                                       */
    w->word.n = 0;
    bool good = true;
    if (!begun && (t->before == ALWAYS || (t->before == FIRST && first)))
        good = rf__mapped_append(&w->word, BLANK, 3, in->from[from], in->to[first_end - 1]);
    for (size_t at = from, next = from; at < to && good; at = next) {
        const bool blank = rf__mapped_next(in, &next) == ' ';
        good = rf__mapped_append(&w->word, blank ? BLANK : in->at + at, blank ? 3 : next - at, in->from[at],
                              in->to[next - 1]);
    }
    return good && put_words(t, e, w, &w->word, 0, w->word.n);
}

/* ---- byte-level text to ids -------------------------------------------------------------------------------------- */

/* A word of the text `in`, which begins at `base`. */
typedef struct level_word {
    const hf_tokenizer *t;
    rf_encoding *e;
    const work *w;
    const rf__mapped *in;
    size_t base;
    known *slot;                        /* the cache, or NULL                                                         */
    size_t n;                           /* tokens so far                                                              */
} level_word;

static bool put_token(const level_word *x, int32_t id, size_t from, size_t to)
{
    uint32_t start = x->in->from[x->base + from], end = x->in->to[x->base + to - 1];
    if (!rf__reserve_tokens(x->e, 1)) return false;
    if (x->t->base.trims) trim(x->t, x->w->raw, id, &start, &end);
    rf__put_token(x->e, id, start, end, false);
    return true;
}

static bool put_new(void *user, int32_t id, size_t from, size_t to)
{
    level_word *x = user;
    const rf__mapped *word = &x->w->word;
    if (x->slot && x->n < KNOWN_TOKENS) x->slot->id[x->n] = id, x->slot->end[x->n] = (uint8_t)word->to[to - 1];
    x->n++;
    return put_token(x, id, word->from[from], word->to[to - 1]);
}

/* A word: from the cache, or split as the visible characters of its bytes, of which `word` has the positions. */
static bool put_level_word(const hf_tokenizer *t, rf_encoding *e, work *w, const rf__mapped *in, size_t from, size_t to)
{
    const size_t size = to - from;
    known *slot = size <= KNOWN_BYTES ? &w->known[rf__hash64(in->at + from, size, 0) % KNOWN_WORDS] : NULL;
    level_word x = {t, e, w, in, from, slot, 0};
    bool good = true;
    if (slot && slot->n && slot->size == size && !memcmp(slot->key, in->at + from, size)) {
        for (size_t i = 0; i < slot->n && good; i++)
            good = put_token(&x, slot->id[i], i ? slot->end[i - 1] : 0, slot->end[i]);
        return good;
    }
    w->word.n = 0;
    for (size_t i = 0; i < size && good; i++) {
        const unsigned char byte = (unsigned char)in->at[from + i];
        good = rf__mapped_append(&w->word, t->visible[byte].at, t->visible[byte].n, (uint32_t)i, (uint32_t)i + 1);
    }
    if (slot) slot->n = 0;
    if (!good || !rf__piece_model_cut(&t->pieces, &w->cut, w->word.at, w->word.n, put_new, &x)) return false;
    if (!slot || x.n > KNOWN_TOKENS) return true;
    memcpy(slot->key, in->at + from, size);
    slot->size = (uint8_t)size;
    slot->n = (uint8_t)x.n;
    return true;
}

/* Bytes [from, to) of the normalized text, which contain no added token. */
static bool put_level(const hf_tokenizer *t, rf_encoding *e, work *w, size_t from, size_t to)
{
    const rf__mapped *in = &w->text;
    bool good = true;
    if (t->blank_first && in->at[from] != ' ') {
        w->spare.n = 0;
        good = rf__mapped_append(&w->spare, " ", 1, in->from[from], in->to[from]);
        for (; from < to && good; from++)
            good = rf__mapped_append(&w->spare, in->at + from, 1, in->from[from], in->to[from]);
        in = &w->spare;
        from = 0;
        to = in->n;
    }
    for (size_t end; from < to && good; from = end) {
        end = rf__split_end(t->level, in->at, from, to);
        good = put_level_word(t, e, w, in, from, end);
    }
    return good;
}

/* The longest added token of the normalized text at *at, which advances past it; NULL: none. */
static const rf_added *normalized_at(const hf_tokenizer *t, const rf__mapped *in, size_t *at)
{
    const rf_added *best = NULL;
    uint32_t node = 0;
    for (size_t next = *at; next < in->n;) {
        const int32_t i = rf__trie_step(&t->normalized, &node, rf__mapped_next(in, &next));
        if (!node) break;
        if (i >= 0) best = &t->base.added[i], *at = next;
    }
    return best;
}

/* The first added token of the normalized text from `at` on, with the white space that it absorbs. */
static const rf_added *next_normalized(const hf_tokenizer *t, const rf__mapped *in, size_t at, size_t *from, size_t *to)
{
    const rf_added *a = NULL;
    for (size_t i = at; i < in->n && !a; rf__mapped_next(in, &i)) {
        *from = *to = i;
        if ((a = normalized_at(t, in, to))) break;
    }
    if (!a) return *from = *to = in->n, a;
    while (a->lstrip && *from > at) {
        size_t start = *from - 1;
        while (start > at && (in->at[start] & 0xC0) == 0x80) start--;
        size_t next = start;
        if (!rf__unicode_white(rf__mapped_next(in, &next))) break;
        *from = start;
    }
    for (size_t next = *to; a->rstrip && *to < in->n; *to = next)
        if (!rf__unicode_white(rf__mapped_next(in, &next))) break;
    return a;
}

static bool encode_level(const hf_tokenizer *t, rf_encoding *e, work *w, bool plain)
{
    const rf__mapped *in = &w->text;
    if (!w->known) w->known = rf__calloc(e->ctx, KNOWN_WORDS, sizeof *w->known);
    bool good = w->known != NULL;
    for (size_t at = 0, from, to; at < in->n && good; at = to) {
        from = to = in->n;
        const rf_added *a = plain || !t->base.normalized ? NULL : next_normalized(t, in, at, &from, &to);
        if (from > at) good = put_level(t, e, w, at, from);
        if (!a || !good) continue;
        good = rf__put_added(&t->base, e, a, w->raw, in->from[from], in->to[to - 1]);
    }
    return good;
}

bool rf__hf_encode(const rf_tokenizer *any, rf_encoding *e, const rf_passage *p, void *own)
{
    const hf_tokenizer *t = as_hf(any);
    work *w = own;
    bool good = true;
    w->raw = p->text;
    w->text.n = 0;
    for (size_t at = p->from, next = p->from; at < p->to && good; at = next) {
        rf__utf8_get((const unsigned char *)p->text, &next);
        good = rf__mapped_append(&w->text, p->text + at, next - at, (uint32_t)at, (uint32_t)next);
    }
    good = good && rf__normal_run(&t->normal, &w->text, &w->spare) && w->text.n < UINT32_MAX / 4;
    if (good && t->level) return encode_level(t, e, w, p->plain);
    if (!good || !t->white) return good && put_word(t, e, w, 0, w->text.n, !p->from);
    for (size_t at = 0, next = 0, from = 0; at <= w->text.n && good; at = next) {
        const bool end = at == w->text.n, white = end || rf__unicode_white(rf__mapped_next(&w->text, &next));
        if (end) next = at + 1;
        if (!white) continue;
        good = from == at || put_word(t, e, w, from, at, !w->text.from[from]);
        from = next;
    }
    return good;
}
