/* window.c — texts as tokens, and their division into batches.
 *
 * The texts of a window are sorted by length, so that a batch has texts of similar length. */
#include <stdlib.h>

#include "pipeline/pipeline.h"

rf_status rf__window_add(rf__text_window *w, const rf_tokenizer *t, const char *text, size_t bytes, int64_t limit,
                         int side, bool *cut, rf_error *why)
{
    return rf__window_add_pair(w, t, text, bytes, NULL, 0, limit, side, cut, why);
}

rf_status rf__check_cut_side(int side, rf_error *why)
{
    if (!side || side == RF_ENCODE_CUT_BEGIN || side == RF_ENCODE_CUT_END) return RF_OK;
    return rf_fail(why, RF_EARG, "cut_side: expected RF_ENCODE_CUT_BEGIN, RF_ENCODE_CUT_END or 0, got %d", side);
}

rf_status rf__window_add_pair(rf__text_window *w, const rf_tokenizer *t, const char *text, size_t bytes,
                              const char *pair, size_t pair_bytes, int64_t limit, int side, bool *cut, rf_error *why)
{
    size_t dropped = 0;
    const size_t before = w->n ? (size_t)w->start[w->n] : 0;
    if (!text) return rf_fail(why, RF_EARG, "text: expected a text, got NULL");
    if (!rf__grow(w->e.ctx, &w->start, &w->capacity, (size_t)w->n + 2, sizeof *w->start))
        return rf_fail(why, RF_ENOMEM, "out of memory: %lld texts", (long long)w->n + 1);
    const int flags = side | (w->n ? RF_ENCODE_APPEND : 0);
    const rf_status status = rf_encode(t, text, bytes, pair, pair_bytes, (size_t)limit, flags, &w->e, &dropped, why);
    if (status) return status;
    if (w->e.n > INT32_MAX) {
        w->e.n = before;
        return rf_fail(why, RF_ERANGE, "text: expected at most %d tokens, got more", INT32_MAX);
    }
    w->start[0] = 0;
    w->start[++w->n] = (int32_t)w->e.n;
    *cut = dropped > 0;
    return RF_OK;
}

rf_status rf__window_add_texts(rf__text_window *w, const rf__many_texts *x, int64_t *done, int64_t *cut, rf_error *bad,
                               rf_error *why)
{
    const rf_ctx *ctx = w->e.ctx;
    const size_t before = w->n ? (size_t)w->start[w->n] : 0;
    int64_t *start = rf__alloc(ctx, (size_t)(x->n + 1) * sizeof *start);
    const bool grown = start && rf__grow(ctx, &w->start, &w->capacity, (size_t)(w->n + x->n) + 1, sizeof *w->start);
    w->e.n = before;
    rf_status status = grown ? rf__encode_runs(x, &w->e, start, done, cut, bad, why)
                            : rf_fail(why, RF_ENOMEM, "out of memory: %lld texts", (long long)(w->n + x->n));
    if (!status && w->e.n > INT32_MAX)
        status = rf_fail(why, RF_ERANGE, "text: expected at most %d tokens, got more", INT32_MAX);
    if (status) w->e.n = before, *done = *cut = 0;
    else w->start[0] = 0;
    for (int64_t i = 0; i < *done && !status; i++) w->start[++w->n] = (int32_t)(before + (size_t)start[i + 1]);
    rf__free(ctx, start);
    return status;
}

/* ---- division ---------------------------------------------------------------------------------------------------- */

static int64_t length_of(const rf__text_window *w, uint64_t key)
{
    const int64_t text = rf__order_text(key);
    return w->start[text + 1] - w->start[text];
}

static int by_key(const void *a, const void *b)
{
    const uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;
    return (x > y) - (x < y);
}

/* Longest first; equal lengths in their order. A key is the difference to the greatest length, followed by the text. */
static void sort_by_length(rf__parts *x)
{
    const rf__text_window *w = &x->window;
    for (int64_t i = 0; i < w->n; i++)
        x->order[i] = (uint64_t)(INT32_MAX - (w->start[i + 1] - w->start[i])) << 32 | (uint64_t)i;
    qsort(x->order, (size_t)w->n, sizeof *x->order, by_key);
}

/* Parts of at most `tokens` tokens, or one text. */
static void cut_parts(rf__parts *x, int64_t tokens)
{
    const int64_t texts = x->window.n;
    x->n = 0;
    x->cut[0] = 0;
    for (int64_t i = 0, N = 0; i < texts; i++) {
        const int64_t more = length_of(&x->window, x->order[i]);
        if (N && N + more > tokens) x->cut[++x->n] = i, N = 0;
        N += more;
    }
    if (texts) x->cut[++x->n] = texts;
}

bool rf__texts_suffice(const rf_ctx *ctx, int64_t n, int64_t tokens)
{
    enum { LEAST = 128 };                                      /* tokens for which a thread of its own is worthwhile */
    const int64_t T = ctx->threads;
    return T > 1 && n >= T && tokens >= LEAST * T;
}

/* Each thread gets equally many parts, so that none waits for another at the end. */
bool rf__parts_divide(const rf_ctx *ctx, rf__parts *x, int64_t batch_tokens, int64_t few_tokens)
{
    const rf__text_window *w = &x->window;
    const int64_t T = ctx->threads, N = w->n ? w->start[w->n] : 0;
    sort_by_length(x);
    if (!rf__texts_suffice(ctx, w->n, N)) {
        cut_parts(x, few_tokens);
        return false;
    }
    const int64_t parts = T * ((N + T * batch_tokens - 1) / (T * batch_tokens));
    const int64_t longest = length_of(w, x->order[0]);
    cut_parts(x, rf__max64((N + parts - 1) / parts + longest / 4, longest));
    return true;
}

rf_status rf__parts_reserve(const rf_ctx *ctx, rf__parts *x, int64_t n, int64_t vectors, int64_t D, rf_error *why)
{
    size_t floats;
    if (rf__checked_mul((size_t)vectors, (size_t)D, &floats) &&
        rf__grow(ctx, &x->vectors, &x->vectors_capacity, floats, sizeof(float)) &&
        rf__grow(ctx, &x->order, &x->orders, (size_t)n, sizeof *x->order) &&
        rf__grow(ctx, &x->cut, &x->cuts, (size_t)n + 1, sizeof *x->cut))
        return RF_OK;
    return rf_fail(why, RF_ENOMEM, "out of memory: %lld vectors of %lld", (long long)vectors, (long long)D);
}

int64_t rf__parts_tokens(const rf__parts *x, int64_t i)
{
    int64_t N = 0;
    for (int64_t k = x->cut[i]; k < x->cut[i + 1]; k++) N += length_of(&x->window, x->order[k]);
    return N;
}

rf_status rf__parts_batch(const rf_ctx *ctx, const rf__parts *x, int64_t i, rf__text_batch *b, rf_error *why)
{
    const rf__text_window *w = &x->window;
    const uint64_t *order = x->order + x->cut[i];
    const int64_t N = rf__parts_tokens(x, i);
    int64_t B = x->cut[i + 1] - x->cut[i];
    while (B && !length_of(w, order[B - 1])) B--;                       /* the shortest texts are last                */
    if (!rf__grow(ctx, &b->id, &b->ids, (size_t)N, sizeof *b->id) ||
        !rf__grow(ctx, &b->type, &b->types, (size_t)N, sizeof *b->type) ||
        !rf__grow(ctx, &b->start, &b->starts, (size_t)B + 1, sizeof *b->start))
        return rf_fail(why, RF_ENOMEM, "out of memory: a batch of %lld tokens", (long long)N);
    b->start[0] = 0;
    for (int64_t k = 0; k < B; k++) {
        const int64_t more = length_of(w, order[k]), at = w->start[rf__order_text(order[k])];
        memcpy(b->id + b->start[k], w->e.id + at, (size_t)more * sizeof *b->id);
        memcpy(b->type + b->start[k], w->e.type + at, (size_t)more * sizeof *b->type);
        b->start[k + 1] = b->start[k] + (int32_t)more;
    }
    b->view = (rf_batch){.N = N, .B = B, .id = b->id, .type = b->type, .start = b->start};
    return RF_OK;
}

void rf__parts_clear(const rf_ctx *ctx, rf__parts *x)
{
    rf_encoding_clear(&x->window.e);
    rf__free(ctx, x->window.start);
    rf__free(ctx, x->order);
    rf__free(ctx, x->cut);
    rf__free(ctx, x->vectors);
    *x = (rf__parts){.n = 0};
}
