/* spm_bpe.c — BPE as in SentencePiece (Sennrich et al. 2016).
 *
 * It begins with characters and user-defined symbols and merges two neighbors if their concatenation is a piece:
 * highest score first, ties from left to right.  User-defined symbols are never merged.  An unused piece (type 5) is
 * split again into the two that it was merged from.                                                                  */
#include <math.h>

#include "spm_model.h"

/* A part of the text, in a list; to == from: it was merged into the one before. */
struct rf__spm_symbol { uint32_t from, to; int32_t before, after; bool whole; };

/* Maps floats to integers in descending order. */
static uint32_t rank_of(float score)
{
    uint32_t bits;
    score += 0.0f;                                                  /* -0 is 0                                        */
    memcpy(&bits, &score, sizeof bits);
    return bits & UINT32_C(1) << 31 ? bits : ~bits & ~(UINT32_C(1) << 31);
}

/* Adds the merge of symbols i and k if their concatenation is a piece. */
static bool push_pair(const rf__spm *m, rf__spm_work *w, int32_t i, int32_t k)
{
    const rf__spm_symbol *s = w->symbol;
    if (i < 0 || k < 0 || s[i].whole || s[k].whole) return true;
    const uint32_t from = s[i].from, to = s[k].to;
    const int32_t id = rf__spm_find(m, w->text.at + from, to - from);
    if (id < 0 || !rf__spm_of_text(m, id)) return true;
    if (m->piece[id].type == RF_PIECE_UNUSED) w->split[id] = s[i].to - from;
    return rf__merge_push(w->ctx, &w->heap, (rf__merge){rank_of(m->piece[id].score), (uint32_t)i, to});
}

/* Splits into characters and user-defined symbols; returns their number. */
static size_t begin(const rf__spm *m, rf__spm_work *w)
{
    const char *text = w->text.at;
    const size_t size = w->text.n;
    size_t n = 0;
    for (size_t from = 0, to; from < size; from = to, n++) {
        const size_t whole = m->has_users ? rf__spm_user_symbol(m, text + from, size - from) : 0;
        to = from + whole;
        if (!whole) rf__utf8_get((const unsigned char *)text, &to);
        w->symbol[n] = (rf__spm_symbol){(uint32_t)from, (uint32_t)to, (int32_t)n - 1, to < size ? (int32_t)n + 1 : -1,
                                        whole > 0};
    }
    return n;
}

/* A segment, split as long as it is an unused piece. */
static bool put_used(const rf__spm *m, rf__spm_work *w, uint32_t from, uint32_t to)
{
    const char *text = w->text.at;
    w->stack.n = 0;
    if (!rf__spm_segment_append(w->ctx, &w->stack, from, to, 0)) return false;
    while (w->stack.n) {
        const rf__spm_segment s = w->stack.at[--w->stack.n];
        const int32_t id = rf__spm_piece_of(m, text + s.from, s.to - s.from);
        size_t first = s.from;
        rf__utf8_get((const unsigned char *)text, &first);
        if (m->piece[id].type != RF_PIECE_UNUSED || first >= s.to) {
            if (!rf__spm_segment_append(w->ctx, &w->segments, s.from, s.to, id)) return false;
            continue;
        }
        const uint32_t middle = s.from + w->split[id];
        if (!rf__spm_segment_append(w->ctx, &w->stack, middle, s.to, 0) ||
            !rf__spm_segment_append(w->ctx, &w->stack, s.from, middle, 0))
            return false;
    }
    return true;
}

/* Which merges are skipped at random: none, all, or each with probability alpha. */
typedef struct dropout { float alpha; rf__mt19937 random; } dropout;

static bool left_out(dropout *d)
{
    if (!(d->alpha > 0)) return false;
    return d->alpha >= 1 || rf__mt19937_uniform(&d->random) < (double)d->alpha;
}

static bool merge_all(const rf__spm *m, rf__spm_work *w, dropout *d)
{
    rf__spm_symbol *s = w->symbol;
    while (w->heap.n) {
        const rf__merge top = rf__merge_pop(&w->heap);
        rf__spm_symbol *left = &s[top.at];
        if (left->from == left->to || left->after < 0 || s[left->after].to != top.to) continue;
        if (left_out(d)) continue;
        rf__spm_symbol *right = &s[left->after];
        left->to = right->to;
        left->after = right->after;
        right->from = right->to;
        if (left->after >= 0) s[left->after].before = (int32_t)top.at;
        if (!push_pair(m, w, left->before, (int32_t)top.at) || !push_pair(m, w, (int32_t)top.at, left->after))
            return false;
    }
    return true;
}

bool rf__spm_cut_bpe(const rf__spm *m, rf__spm_work *w, const rf__spm_sample *sample)
{
    dropout d = {.alpha = sample ? sample->alpha : 0};
    if (!rf__grow(w->ctx, &w->symbol, &w->symbols, w->text.n + 1, sizeof *w->symbol)) return false;
    if (m->has_unused && !rf__grow(w->ctx, &w->split, &w->splits, (size_t)m->n, sizeof *w->split)) return false;
    if (sample && d.alpha > 0) rf__mt19937_seed(&d.random, sample->seed);
    const size_t n = begin(m, w);
    w->heap.n = 0;
    for (size_t i = 1; i < n; i++)
        if (!push_pair(m, w, (int32_t)i - 1, (int32_t)i)) return false;
    if (!merge_all(m, w, &d)) return false;
    for (int32_t i = 0; i >= 0; i = w->symbol[i].after) {
        const rf__spm_symbol *s = &w->symbol[i];
        if (m->has_unused) {
            if (!put_used(m, w, s->from, s->to)) return false;
        } else if (!rf__spm_segment_append(w->ctx, &w->segments, s->from, s->to,
                                    rf__spm_piece_of(m, w->text.at + s->from, s->to - s->from))) {
            return false;
        }
    }
    return true;
}
