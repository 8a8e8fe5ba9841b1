/* jieba_bert4keras.c — Chinese words as in bert4keras, with which the authors trained and published their models.
 *
 *     text -> lower case (Python's, the final sigma too), decomposed, without nonspacing marks, as a whole
 *          -> words of the dictionary, white space and controls among them
 *          -> a word of the vocabulary as one token; otherwise punctuation and Han characters as single tokens, without
 *             controls (Cc, Cf), and pieces of the text between them (unknown without pieces or above 200 characters)
 *
 * It differs from the slow class of transformers in two ways: words are looked up without accents, and unassigned and
 * private characters (Cn, Co) are kept.  Special tokens in a text are tokens here, too; bert4keras splits them.      */
#include "jieba.h"

enum { SIGMA = 0x3A3, FINAL_SIGMA = 0x3C2 };

/* Whether the next character that is not ignored, in the given direction, is cased. */
static bool cased_before(const rf_scalars *s, size_t i)
{
    while (i-- > 0)
        if (!rf__unicode_ignorable(s->at[i].c)) return rf__unicode_cased(s->at[i].c);
    return false;
}

static bool cased_follows(const rf_passage *p, size_t at)
{
    while (at < p->to) {
        const uint32_t c = rf__utf8_get((const unsigned char *)p->text, &at);
        if (!rf__unicode_ignorable(c)) return rf__unicode_cased(c);
    }
    return false;
}

/* The passage's scalars in lower case, in w->raw. */
static bool lower(rf_words *w, const rf_normal *n, const rf_passage *p)
{
    w->raw.n = 0;
    for (size_t at = p->from, from = at; at < p->to; from = at) {
        const uint32_t c = rf__utf8_get((const unsigned char *)p->text, &at);
        uint32_t low[2] = {c, 0};
        const int lows =
            n->lowercase ? rf__unicode_lower(&n->unicode, c, rf__unicode_flags(&n->unicode, c), low) : 1;
        if (c == SIGMA && n->lowercase && cased_before(&w->raw, w->raw.n) && !cased_follows(p, at))
            low[0] = FINAL_SIGMA;
        for (int i = 0; i < lows; i++) {
            const uint8_t flags = (uint8_t)rf__unicode_flags(&n->unicode, low[i]);
            if (!rf__words_push(w, &w->raw, (rf_scalar){low[i], (uint32_t)from, (uint32_t)at, flags, 0, 0}))
                return false;
        }
    }
    return true;
}

static bool normalize(rf_jieba_slow *s, const rf_normal *n, const rf_passage *p)
{
    rf_words *w = &s->words;
    w->normal = n;
    w->failed = false;
    if (!lower(w, n, p)) return false;
    if (n->lowercase) rf__words_decompose(w);
    const rf_scalars *all = n->lowercase ? &w->ready : &w->raw;
    s->size = 0;
    for (size_t i = 0; i < all->n && !w->failed; i++) {
        const rf_scalar x = all->at[i];
        if (n->lowercase && x.flags & RF_MARK) continue;
        if (!rf__jieba_slow_add(s, x.c, x.from, x.to)) return false;
    }
    return !w->failed;
}

static bool put_word(const jieba *t, rf_encoding *e, rf_jieba_slow *s, rf_piecer *piecer, rf_word *w)
{
    w->text = s->part;
    if (!w->size) return true;
    w->from = s->first;
    w->to = s->last;
    memset(w->key, 0, sizeof w->key);
    if (w->size <= RF_KEY) memcpy(w->key, w->text, w->size);
    const bool done = rf__put_word(&t->pieces, e, piecer, w, rf__wordpieces);
    w->size = w->chars = 0;
    return done;
}

/* Appends a character to the word. */
static bool grow_word(rf_jieba_slow *s, rf_word *w, size_t at, size_t bytes)
{
    const size_t need = w->size + bytes;
    if (!rf__grow(s->ctx, &s->part, &s->parts, need, 1) ||
        !rf__grow(s->ctx, &s->first, &s->firsts, need, sizeof *s->first) ||
        !rf__grow(s->ctx, &s->last, &s->lasts, need, sizeof *s->last))
        return false;
    memcpy(s->part + w->size, s->text + at, bytes);
    memcpy(s->first + w->size, s->from + at, bytes * sizeof *s->first);
    memcpy(s->last + w->size, s->to + at, bytes * sizeof *s->last);
    w->size = need;
    w->chars++;
    return true;
}

/* A word that is not in the vocabulary: bytes [from, to) of the normalized text. */
static bool put_pieces(const jieba *t, rf_encoding *e, rf_jieba_slow *s, rf_piecer *piecer, size_t from, size_t to)
{
    rf_word w = {0};
    for (size_t at = from, before = at; at < to; before = at) {
        const uint32_t c = rf__utf8_get((const unsigned char *)s->text, &at);
        const unsigned f = rf__unicode_flags(&t->pieces.normal.unicode, c);
        const bool alone = f & (RF_PUNCT | RF_HAN);
        if (f & RF_DROP && (!c || c == 0xFFFD || rf__unicode_control(c))) continue;
        if ((alone || f & RF_SPACE) && !put_word(t, e, s, piecer, &w)) return false;
        if (f & RF_SPACE) continue;
        if (!grow_word(s, &w, before, at - before) || (alone && !put_word(t, e, s, piecer, &w))) return false;
    }
    return put_word(t, e, s, piecer, &w);
}

bool rf__jieba_bert4keras_encode(const jieba *t, rf_encoding *e, const rf_passage *p, rf_jieba_slow *s,
                                 rf_piecer *piecer, rf_jieba_cutter *cut)
{
    if (p->from == p->to) return true;
    return normalize(s, &t->pieces.normal, p) && rf__jieba_slow_cut(t, e, s, piecer, cut, put_pieces);
}
