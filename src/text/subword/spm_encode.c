/* spm_encode.c — text to pieces of a SentencePiece model.
 *
 *     unigram      the segmentation with the largest sum of scores (Kudo 2018)
 *     BPE          spm_bpe.c
 *     words        from one U+2581 to the next
 *     characters   one each, and user-defined symbols
 *
 * A character without a piece becomes the unknown piece, or with byte_fallback the pieces of its bytes.  Consecutive
 * unknown pieces are one.                                                                                            */
#include "spm_model.h"

/* The best path to a position: its score, and the last piece. */
struct rf__spm_best { float score; uint32_t from; int32_t id; };
#define NOWHERE UINT32_MAX
enum { LONGEST_TEXT = 1 << 30 };

rf__spm_work *rf__spm_work_new(const rf_ctx *ctx)
{
    rf__spm_work *w = rf__calloc(ctx, 1, sizeof *w);
    if (w) w->ctx = w->text.ctx = ctx;
    return w;
}

void rf__spm_work_free(rf__spm_work *w)
{
    if (!w) return;
    rf__free(w->ctx, w->text.at);
    rf__free(w->ctx, w->text.from);
    rf__free(w->ctx, w->segments.at);
    rf__free(w->ctx, w->stack.at);
    rf__free(w->ctx, w->best);
    rf__free(w->ctx, w->symbol);
    rf__free(w->ctx, w->heap.merge);
    rf__free(w->ctx, w->split);
    rf__free(w->ctx, w);
}

/* ---- unigram ----------------------------------------------------------------------------------------------------- */

/* Sums are stored as float.  They are compared as double where a user-defined symbol or a piece ends, and as float for
 * unknown characters: this reproduces the library's choice between equal paths. */
static inline void offer(rf__spm_best *b, double score, size_t from, int32_t id)
{
    if (b->from == NOWHERE || score > (double)b->score) *b = (rf__spm_best){(float)score, (uint32_t)from, id};
}

/* A user-defined symbol has a better score than any other path. */
static inline double score_of(const rf__spm *m, int32_t id, size_t bytes)
{
    const rf__spm_piece_row *p = &m->piece[id];
    return p->type == RF_PIECE_USER_DEFINED ? (double)((float)bytes * m->highest) - 0.1 : (double)p->score;
}

static void search(const rf__spm *m, const char *text, size_t size, rf__spm_best b[])
{
    const float unknown = m->lowest - 10.0f;
    for (size_t i = 0; i <= size; i++) b[i] = (rf__spm_best){0, NOWHERE, -1};
    for (size_t at = 0, next = 0; at < size; at = next) {
        const float so_far = b[at].score;
        uint32_t node = 0;
        bool single = false;
        for (size_t end = at; end < size;) {
            const bool first = end == at;
            const int32_t id = rf__trie_step(&m->trie, &node, rf__utf8_get((const unsigned char *)text, &end));
            if (first) next = end, single = id >= 0;
            if (!node) break;
            if (id >= 0) offer(&b[end], score_of(m, id, end - at) + (double)so_far, at, id);
        }
        if (!single) {
            const float sum = unknown + so_far;
            offer(&b[next], (double)sum, at, m->unk);
        }
    }
}

static bool cut_unigram(const rf__spm *m, rf__spm_work *w)
{
    const size_t size = w->text.n;
    if (!rf__grow(w->ctx, &w->best, &w->bests, size + 1, sizeof *w->best)) return false;
    search(m, w->text.at, size, w->best);
    size_t n = 0;
    for (size_t end = size; end; end = w->best[end].from) n++;
    if (!rf__grow(w->ctx, &w->segments.at, &w->segments.capacity, n + 1, sizeof *w->segments.at)) return false;
    w->segments.n = n;
    for (size_t end = size; end; end = w->best[end].from)
        w->segments.at[--n] = (rf__spm_segment){w->best[end].from, (uint32_t)end, w->best[end].id};
    return true;
}

/* ---- words, characters ------------------------------------------------------------------------------------------- */

static bool cut_words(const rf__spm *m, rf__spm_work *w)
{
    const char *text = w->text.at;
    const size_t n = w->text.n;
    for (size_t from = 0, to; from < n; from = to) {
        for (to = from + 1; to < n && (n - to < 3 || memcmp(text + to, RF__BLANK, 3) != 0);) to++;
        if (!rf__spm_segment_append(w->ctx, &w->segments, from, to, rf__spm_piece_of(m, text + from, to - from)))
            return false;
    }
    return true;
}

static bool cut_characters(const rf__spm *m, rf__spm_work *w)
{
    const char *text = w->text.at;
    for (size_t from = 0, to; from < w->text.n; from = to) {
        to = from + (m->has_users ? rf__spm_user_symbol(m, text + from, w->text.n - from) : 0);
        if (to == from) rf__utf8_get((const unsigned char *)text, &to);
        if (!rf__spm_segment_append(w->ctx, &w->segments, from, to, rf__spm_piece_of(m, text + from, to - from)))
            return false;
    }
    return true;
}

/* ---- segments to pieces ------------------------------------------------------------------------------------------ */

/* The pieces of its bytes; the last one has the position in the text. */
static bool put_bytes(const rf__spm *m, const rf__spm_text *t, rf__spm_segment s, rf__spm_sink *put, void *user)
{
    for (uint32_t i = s.from; i < s.to; i++) {
        const int32_t id = m->byte[(unsigned char)t->at[i]];
        const uint32_t end = i + 1 == s.to ? t->from[s.to] : t->from[s.from];
        if (!put(user, m->piece[id].name, m->piece[id].size, id, t->from[s.from], end)) return false;
    }
    return true;
}

static bool put_all(const rf__spm *m, rf__spm_work *w, rf__spm_sink *put, void *user)
{
    const rf__spm_text *t = &w->text;
    const rf__spm_segment *s = w->segments.at;
    for (size_t i = 0, next; i < w->segments.n; i = next) {
        rf__spm_segment one = s[i];
        next = i + 1;
        if (one.id == m->unk && m->byte_fallback) {
            if (!put_bytes(m, t, one, put, user)) return false;
            continue;
        }
        while (one.id == m->unk && next < w->segments.n && s[next].id == m->unk) one.to = s[next++].to;
        if (!put(user, t->at + one.from, one.to - one.from, one.id, t->from[one.from], t->from[one.to])) return false;
    }
    return true;
}

static bool cut(const rf__spm *m, rf__spm_work *w, const rf__spm_sample *s)
{
    switch (m->kind) {
    case RF_SPM_BPE: return rf__spm_cut_bpe(m, w, s);
    case RF_SPM_WORD: return cut_words(m, w);
    case RF_SPM_CHAR: return cut_characters(m, w);
    case RF_SPM_UNIGRAM: break;
    }
    return s && s->nbest != 0 && s->nbest != 1 ? rf__spm_sample_unigram(m, w, s) : cut_unigram(m, w);
}

bool rf__spm_encode(const rf__spm *m, rf__spm_work *w, const char *text, size_t size, const rf__spm_sample *sample,
                    rf__spm_sink *put, void *user)
{
    w->segments.n = 0;
    if (!rf__spm_normalize(m, &m->normal, text, size, &w->text) || w->text.n > LONGEST_TEXT) return false;
    return !w->text.n || (cut(m, w, sample && sample->alpha > 0 ? sample : NULL) && put_all(m, w, put, user));
}
