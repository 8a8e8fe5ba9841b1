/* tokenizer_json_encode.c — text to ids.
 *
 *     normalized text | added tokens | words (pre_tokenizer.c) | pieces (piece_model.c)
 *
 * Byte-level BPE has words and pieces of its own (byte_level_encode.c); if a text is in normal form, they are taken
 * from it without a copy. */
#include "tokenizer_json.h"

void *rf__hf_scratch(const rf_ctx *ctx, void *own, bool others)
{
    rf__hf_work *w = own ? own : rf__calloc(ctx, 1, sizeof *w);
    if (w && others) rf__level_forget(w);
    if (w) w->normal.ctx = w->pre.ctx = w->pre.text.ctx = w->pre.spare.ctx = w->cut.ctx = ctx;
    return w;
}

void rf__hf_scratch_free(const rf_ctx *ctx, void *own)
{
    rf__hf_work *w = own;
    rf__mapped_clear(&w->normal);
    rf__pre_work_clear(&w->pre);
    rf__piece_scratch_clear(&w->cut);
    rf__free(ctx, w->known);
    rf__free(ctx, w);
}

/* ---- words ------------------------------------------------------------------------------------------------------- */

typedef struct target {
    const hf_tokenizer *t;
    rf_encoding *e;
    const rf__mapped *text;             /* the word begins at its byte `from`                                         */
    const char *raw;
    size_t from, first;                 /* first: token of the text                                                   */
} target;

static bool put_piece(void *user, int32_t id, size_t from, size_t to)
{
    const target *x = user;
    uint32_t begin = x->text->from[x->from + from], end = x->text->to[x->from + to - 1];
    if (!rf__reserve_tokens(x->e, 1)) return false;
    const rf__piece_model *m = &x->t->pieces;
    const bool as_text = m->kind == RF_PIECES_UNIGRAM && id == m->unk;                   /* which is its name         */
    const char *name = as_text ? x->text->at + x->from + from : m->token[id];
    if (x->t->base.trims)
        rf__trim_offsets(&x->t->base, x->raw, name, as_text ? to - from : strlen(name), x->e->n == x->first, &begin,
                         &end);
    rf__put_token(x->e, id, begin, end, false);
    return true;
}

/* Bytes [from, to) of w->normal, which contain no added token. */
static bool put_part(const hf_tokenizer *t, rf_encoding *e, rf__hf_work *w, const rf_passage *p, size_t from, size_t to)
{
    w->pre.text.n = 0;
    if (!rf__mapped_copy(&w->pre.text, &w->normal, from, to) || !rf__pre_begin(&w->pre, e->ctx, 0, to - from) ||
        !rf__pre_run(&t->pre, t->pre.n, &w->pre, NULL, p->why))
        return false;
    for (size_t i = 0; i < w->pre.n; i++) {
        const rf__pre_word x = w->pre.word[i];
        target each = {t, e, &w->pre.text, p->text, x.from, p->first};
        if (!rf__piece_model_cut(&t->pieces, &w->cut, w->pre.text.at + x.from, x.to - x.from, put_piece, &each))
            return false;
    }
    return true;
}

/* ---- the text ---------------------------------------------------------------------------------------------------- */

/* The normalized text, in w->normal unless it is the raw text. */
static bool normalized(const hf_tokenizer *t, rf__hf_work *w, const rf_passage *p, rf__level_text *out)
{
    rf__mapped *text = &w->normal;
    *out = (rf__level_text){.first = p->first, .at = p->text, .from = p->from, .to = p->to, .limit = p->size,
                            .raw = p->text, .base = p->from, .raw_end = p->to};
    if (t->level && rf__normal_keeps(&t->normal, p->text + p->from, p->to - p->from)) return true;
    text->n = 0;
    text->base = (uint32_t)p->from;
    if (!rf__mapped_raw(text, p->text, p->from, p->to) || !rf__normal_run(&t->normal, text, &w->pre.spare, p->why))
        return false;
    *out = (rf__level_text){.first = p->first, .at = text->at, .to = text->n, .limit = text->n, .begin = text->from,
                            .end = text->to, .raw = p->text};
    return true;
}

bool rf__hf_encode(const rf_tokenizer *any, rf_encoding *e, const rf_passage *p, void *own)
{
    const hf_tokenizer *t = as_hf(any);
    rf__hf_work *w = own;
    rf__level_text s;
    bool good = normalized(t, w, p, &s);
    const bool cuts = good && !p->plain && t->base.normalized;
    for (size_t at = s.from, seek = at, from, to; good && (at < s.to || seek < s.to); at = to) {
        from = to = s.to;
        const rf_added *a = cuts ? rf__hf_next_added(t, s.at, s.from, at, s.to, &seek, &from, &to) : NULL;
        if (!a) seek = s.to;
        if (from > at)
            good = t->level ? rf__level_encode(t, e, w, p, &s, at, from) : put_part(t, e, w, p, at, from);
        if (a && good)
            good = rf__put_added(&t->base, e, a, p->first, p->text, rf__source_begin(&s, from),
                                 rf__source_end(&s, to - 1), s.at + from, to - from);
    }
    return good;
}
