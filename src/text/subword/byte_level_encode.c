/* byte_level_encode.c — text to ids by byte-level BPE.
 *
 *     normalized text | words (byte_level.c) | merges of their bytes (piece_model.c)
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

static size_t raw_place(const rf__level_text *s, size_t i)
{
    i -= s->from;
    return s->base + (i > s->blank ? i - s->blank : 0);
}

uint32_t rf__source_begin(const rf__level_text *s, size_t i)
{
    if (s->begin) return s->begin[i];
    size_t place = raw_place(s, i);
    while ((s->raw[place] & 0xC0) == 0x80) place--;
    return (uint32_t)place;
}

/* The end of the character that byte i is a part of. */
uint32_t rf__source_end(const rf__level_text *s, size_t i)
{
    if (s->end) return s->end[i];
    size_t place = raw_place(s, i) + 1;
    while (place < s->raw_end && (s->raw[place] & 0xC0) == 0x80) place++;
    return (uint32_t)place;
}

/* Part [from, to) of s. */
static rf__level_text part_of(const rf__level_text *s, size_t from, size_t to)
{
    rf__level_text part = *s;
    part.from = from;
    part.to = to;
    if (!s->begin) part.base = raw_place(s, from);
    return part;
}

/* The part with a blank before it, in w->pre.spare.  False: no memory. */
static bool insert_blank(rf__hf_work *w, const rf__level_text *part, rf__level_text *out)
{
    rf__mapped *to = &w->pre.spare;
    const size_t size = part->to - part->from;
    to->n = 0;
    *out = (rf__level_text){.first = part->first, .raw = part->raw, .base = part->base, .raw_end = part->raw_end,
                            .blank = 1, .to = size + 1};
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

/* A word that begins at byte `at` of its source. */
typedef struct level_word {
    const hf_tokenizer *t;
    rf_encoding *e;
    const rf__level_text *s;
    size_t at;
    known *slot;                        /* the cache; NULL: the word does not fit into it                             */
    size_t n, end;                      /* tokens so far, and where the last one ends                                 */
} level_word;

static bool put_token(const level_word *x, int32_t id, size_t from, size_t to)
{
    uint32_t start = rf__source_begin(x->s, x->at + from), end = rf__source_end(x->s, x->at + to - 1);
    if (!rf__reserve_tokens(x->e, 1)) return false;
    const char *name = x->t->pieces.token[id];
    if (x->t->base.trims)
        rf__trim_offsets(&x->t->base, x->s->raw, name, strlen(name), x->e->n == x->s->first, &start, &end);
    rf__put_token(x->e, id, start, end, false);
    return true;
}

static bool put_new(void *user, int32_t id, size_t from, size_t to)
{
    level_word *x = user;
    if (x->n == KNOWN_TOKENS || from != x->end) x->slot = NULL;          /* it has only the ends of tokens            */
    if (x->slot) x->slot->id[x->n] = id, x->slot->end[x->n] = (uint8_t)to;
    x->n++;
    x->end = to;
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
    return rf__piece_model_cut_bytes(&x->t->pieces, &w->cut, x->t->scalar, x->t->byte_id, word, size, put_new, x);
}

/* The word [at, at + size), from the cache or split. */
static bool put_word(const hf_tokenizer *t, rf_encoding *e, rf__hf_work *w, const rf__level_text *s, size_t at,
                     size_t size)
{
    level_word x = {t, e, s, at, NULL, 0, 0};
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
    if (!x.slot) return true;
    memcpy(k->key, key, sizeof key);
    k->n = (uint8_t)x.n;
    return true;
}

/* ---- the text ---------------------------------------------------------------------------------------------------- */

/* A word of the steps before ByteLevel. */
static bool put_part(const hf_tokenizer *t, rf_encoding *e, rf__hf_work *w, const rf__level_text *all, size_t from,
                     size_t to)
{
    rf__level_text part = part_of(all, from, to), blank;
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

bool rf__level_encode(const hf_tokenizer *t, rf_encoding *e, rf__hf_work *w, const rf_passage *p,
                      const rf__level_text *all, size_t from, size_t to)
{
    if (!w->known && !(w->known = rf__calloc(e->ctx, (size_t)1 << KNOWN_BITS, sizeof *w->known))) return false;
    if (!t->before) return put_part(t, e, w, all, from, to);
    if (!rf__pre_begin(&w->pre, e->ctx, from, to) || !rf__pre_run(&t->pre, t->before, &w->pre, all->at, p->why))
        return false;
    for (size_t i = 0; i < w->pre.n; i++)
        if (!put_part(t, e, w, all, w->pre.word[i].from, w->pre.word[i].to)) return false;
    return true;
}
