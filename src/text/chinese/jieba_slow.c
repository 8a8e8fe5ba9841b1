/* jieba_slow.c — the slow RoFormerTokenizer of transformers up to 4.57, which the users of the authors' models had.
 *
 *     text -> lower case, scalar by scalar -> words of the dictionary, white space and controls among them
 *          -> a word of the vocabulary as one token; otherwise BERT's slow tokenizer: cleaned, Han characters
 *             separated, accents removed, split at punctuation, pieces
 *
 * So a word is looked up before it is cleaned.  The class of transformers 5 cleans the text first.                   */
#include "jieba.h"

void rf__jieba_slow_init(rf_jieba_slow *s, const rf_ctx *ctx)
{
    *s = (rf_jieba_slow){.ctx = ctx};
    rf__words_init(&s->words, ctx);
}

void rf__jieba_slow_clear(rf_jieba_slow *s)
{
    rf__words_clear(&s->words);
    rf__free(s->ctx, s->text);
    rf__free(s->ctx, s->from);
    rf__free(s->ctx, s->to);
    rf__free(s->ctx, s->first);
    rf__free(s->ctx, s->last);
    rf__free(s->ctx, s->part);
}

bool rf__jieba_slow_add(rf_jieba_slow *s, uint32_t c, size_t from, size_t to)
{
    const size_t need = s->size + 4;
    if (!rf__grow(s->ctx, &s->text, &s->texts, need, 1) ||
        !rf__grow(s->ctx, &s->from, &s->froms, need, sizeof *s->from) ||
        !rf__grow(s->ctx, &s->to, &s->tos, need, sizeof *s->to))
        return false;
    const size_t n = rf__utf8_encode(c, s->text + s->size);
    for (size_t i = 0; i < n; i++) {
        s->from[s->size + i] = (uint32_t)from;
        s->to[s->size + i] = (uint32_t)to;
    }
    s->size += n;
    return true;
}

static bool lower(rf_jieba_slow *s, const rf_normal *n, const rf_passage *p)
{
    s->size = 0;
    for (size_t at = p->from, from = at; at < p->to; from = at) {
        const uint32_t c = rf__utf8_get((const unsigned char *)p->text, &at);
        uint32_t low[2] = {c, 0};
        const int lows =
            n->lowercase ? rf__unicode_lower(&n->unicode, c, rf__unicode_flags(&n->unicode, c), low) : 1;
        for (int i = 0; i < lows; i++)
            if (!rf__jieba_slow_add(s, low[i], from, at)) return false;
    }
    return true;
}

bool rf__jieba_slow_trace(rf_jieba_slow *s, rf_word *w)
{
    if (!rf__grow(s->ctx, &s->first, &s->firsts, w->size, sizeof *s->first) ||
        !rf__grow(s->ctx, &s->last, &s->lasts, w->size, sizeof *s->last))
        return false;
    for (size_t i = 0; i < w->size; i++) {
        s->first[i] = s->from[w->from ? w->from[i] : w->at + i];
        s->last[i] = s->to[w->to ? w->to[i] - 1 : w->at + i];
    }
    w->from = s->first;
    w->to = s->last;
    return true;
}

static bool put_pieces(const jieba *t, rf_encoding *e, rf_jieba_slow *s, rf_piecer *piecer, size_t from, size_t to)
{
    rf_word w;
    rf__words_start(&s->words, &t->pieces.normal, s->text, from, to, s->size);
    while (rf__words_next(&s->words, &w))
        if (!rf__jieba_slow_trace(s, &w) || !rf__put_word(&t->pieces, e, piecer, &w, rf__wordpieces)) return false;
    return !s->words.failed;
}

bool rf__jieba_slow_cut(const jieba *t, rf_encoding *e, rf_jieba_slow *s, rf_piecer *piecer, rf_jieba_cutter *cut,
                        rf_jieba_put_pieces *put_rest)
{
    if (!rf__jieba_cut(cut, &t->dictionary, t->kind, s->text, s->size)) return false;
    for (size_t i = 0, first = 0; i < cut->n; first = cut->end[i++]) {
        const size_t from = cut->at[first], to = cut->at[cut->end[i]];
        const int32_t id = rf__vocab_find(&t->pieces.vocab, s->text + from, to - from);
        if (id < 0) {
            if (!put_rest(t, e, s, piecer, from, to)) return false;
            continue;
        }
        if (!rf__reserve_tokens(e, 1)) return false;
        rf__put_token(e, id, s->from[from], s->to[to - 1], false);
    }
    return true;
}

bool rf__jieba_slow_encode(const jieba *t, rf_encoding *e, const rf_passage *p, rf_jieba_slow *s, rf_piecer *piecer,
                           rf_jieba_cutter *cut)
{
    s->words.keep_whole = !p->plain;
    if (p->from == p->to) return true;
    return lower(s, &t->pieces.normal, p) && rf__jieba_slow_cut(t, e, s, piecer, cut, put_pieces);
}
