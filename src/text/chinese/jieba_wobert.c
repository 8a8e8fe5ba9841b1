/* jieba_wobert.c — WoBertTokenizer (JunnYu/WoBERT_pytorch), a slow BertTokenizer of transformers up to 4.57 with word
 * boundaries.
 *
 *     text -> lower case, scalar by scalar, and cleaned -> words of the dictionary
 *          -> words of the vocabulary, and Han characters of other words, are separated; the text between these is
 *             joined across word boundaries -> accents removed, split at white space and punctuation, pieces
 *
 * It differs from the slow RoFormerTokenizer in three ways: words are looked up in cleaned text, words of the
 * vocabulary are split into pieces as well, and adjacent parts of words are joined. */
#include "jieba.h"

/* Like BERT's words, except for Han characters, which are separated already where necessary. */
void rf__jieba_wobert_normal(rf_normal *out, const rf_normal *of)
{
    *out = *of;
    out->han = false;
}

static bool clean(rf_jieba_slow *s, const rf_normal *n, const rf_passage *p)
{
    s->size = 0;
    for (size_t at = p->from, from = at; at < p->to; from = at) {
        const uint32_t c = rf__utf8_get((const unsigned char *)p->text, &at);
        uint32_t low[2] = {c, 0};
        const int lows =
            n->lowercase ? rf__unicode_lower(&n->unicode, c, rf__unicode_flags(&n->unicode, c), low) : 1;
        for (int i = 0; i < lows; i++) {
            const unsigned f = rf__unicode_flags(&n->unicode, low[i]);
            if (f & RF_DROP) continue;
            if (!rf__jieba_slow_add(s, f & RF_SPACE ? ' ' : low[i], from, at)) return false;
        }
    }
    return true;
}

/* The text between two boundaries, from *begin to `to`. */
static bool encode_until(const jieba *t, rf_encoding *e, rf_jieba_slow *s, rf_piecer *piecer, size_t *begin, size_t to)
{
    rf_word w;
    const size_t from = *begin;
    *begin = to;
    if (from == to) return true;
    rf__words_start(&s->words, &t->told, s->text, from, to, s->size);
    while (rf__words_next(&s->words, &w))
        if (!rf__jieba_slow_trace(s, &w) || !rf__put_word(&t->pieces, e, piecer, &w, rf__wordpieces)) return false;
    return !s->words.failed;
}

/* Boundaries around the Han characters of a word, bytes [at, to). */
static bool put_characters(const jieba *t, rf_encoding *e, rf_jieba_slow *s, rf_piecer *piecer, size_t *begin,
                           size_t at, size_t to)
{
    for (size_t before = at; at < to; before = at) {
        const uint32_t c = rf__utf8_get((const unsigned char *)s->text, &at);
        if (!(rf__unicode_flags(&t->pieces.normal.unicode, c) & RF_HAN)) continue;
        if (!encode_until(t, e, s, piecer, begin, before) || !encode_until(t, e, s, piecer, begin, at)) return false;
    }
    return true;
}

bool rf__jieba_wobert_encode(const jieba *t, rf_encoding *e, const rf_passage *p, rf_jieba_slow *s, rf_piecer *piecer,
                             rf_jieba_cutter *cut)
{
    size_t begin = 0;
    s->words.keep_whole = !p->plain;
    if (p->from == p->to) return true;
    if (!clean(s, &t->pieces.normal, p)) return false;
    if (!rf__jieba_cut(cut, &t->dictionary, t->kind, s->text, s->size)) return false;
    for (size_t i = 0, first = 0; i < cut->n; first = cut->end[i++]) {
        const size_t from = cut->at[first], to = cut->at[cut->end[i]];
        const bool known = rf__vocab_find(&t->pieces.vocab, s->text + from, to - from) >= 0;
        const bool done = known
                              ? encode_until(t, e, s, piecer, &begin, from) && encode_until(t, e, s, piecer, &begin, to)
                              : put_characters(t, e, s, piecer, &begin, from, to);
        if (!done) return false;
    }
    return encode_until(t, e, s, piecer, &begin, s->size);
}
