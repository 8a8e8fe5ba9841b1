/* tokenizer_json_encode.c — text to ids, by words between blanks, or by byte-level BPE (byte_level_encode.c). */
#include "tokenizer_json.h"

void *rf__hf_scratch(const rf_ctx *ctx, void *own, bool others)
{
    rf__hf_work *w = own ? own : rf__calloc(ctx, 1, sizeof *w);
    if (w && others) rf__level_forget(w);
    if (w) w->text.ctx = w->spare.ctx = w->word.ctx = w->cut.ctx = ctx;
    return w;
}

void rf__hf_scratch_free(const rf_ctx *ctx, void *own)
{
    rf__hf_work *w = own;
    rf__mapped_clear(&w->text);
    rf__mapped_clear(&w->spare);
    rf__mapped_clear(&w->word);
    rf__piece_scratch_clear(&w->cut);
    rf__free(ctx, w->known);
    rf__free(ctx, w);
}

typedef struct target { rf_encoding *e; const rf__mapped *word; size_t from; } target;

static bool append_piece(void *user, int32_t id, size_t from, size_t to)
{
    const target *t = user;
    if (!rf__reserve_tokens(t->e, 1)) return false;
    rf__put_token(t->e, id, t->word->from[t->from + from], t->word->to[t->from + to - 1], false);
    return true;
}

static bool put_words(const hf_tokenizer *t, rf_encoding *e, rf__hf_work *w, const rf__mapped *in, size_t from,
                      size_t to)
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
static bool put_word(const hf_tokenizer *t, rf_encoding *e, rf__hf_work *w, size_t from, size_t to, bool first)
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

bool rf__hf_encode(const rf_tokenizer *any, rf_encoding *e, const rf_passage *p, void *own)
{
    const hf_tokenizer *t = as_hf(any);
    rf__hf_work *w = own;
    bool good = true;
    if (t->level && rf__normal_keeps(&t->normal, p->text + p->from, p->to - p->from))
        return rf__level_encode(t, e, w, p, NULL);
    w->text.n = 0;
    for (size_t at = p->from, next = p->from; at < p->to && good; at = next) {
        rf__utf8_get((const unsigned char *)p->text, &next);
        good = rf__mapped_append(&w->text, p->text + at, next - at, (uint32_t)at, (uint32_t)next);
    }
    good = good && rf__normal_run(&t->normal, &w->text, &w->spare) && w->text.n < UINT32_MAX / 4;
    if (good && t->level) return rf__level_encode(t, e, w, p, &w->text);
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
