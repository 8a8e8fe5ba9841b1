/* answers.c — logits of a file's items, computed in batches. */
#include <math.h>

#include "task/answers.h"

/* The maximum and minimum number of examples in a batch. */
typedef struct limits { size_t most, least; } limits;

static limits limits_of(int64_t most, int64_t least)
{
    return (limits){(size_t)rf__max64(least, rf__min64(most > 0 ? most : 32, RF__ANSWER_TOKENS)), (size_t)least};
}

/* The batch that begins with example i: number of examples, and their tokens. */
static size_t batch_at(const rf__items *t, size_t i, limits b, size_t *tokens)
{
    const size_t begin = i;
    *tokens = 0;
    for (; i < t->n && i - begin < b.most; i++) {
        const bool fits = *tokens + rf__item_size(t, i) <= RF__ANSWER_TOKENS;
        if (!fits && i - begin >= b.least) break;
        *tokens += rf__item_size(t, i);
    }
    for (const bool few = t->n - i < b.least; few && i < t->n; i++) *tokens += rf__item_size(t, i);
    return i - begin;
}

int64_t rf__answers_tokens(const rf__items *t, int64_t most, int64_t least)
{
    size_t largest = 0, tokens;
    for (size_t i = 0; i < t->n;) {
        i += batch_at(t, i, limits_of(most, least), &tokens);
        if (tokens > largest) largest = tokens;
    }
    return (int64_t)largest;
}

static rf_status fill(rf__answers *a, const rf__items *t, size_t which[], limits b, rf__logits *logits, void *user,
                      rf_error *why)
{
    for (size_t i = 0; i < t->n;) {
        size_t tokens;
        const size_t n = batch_at(t, i, b, &tokens);
        for (size_t j = 0; j < n; j++) which[j] = i++;
        const float *z;
        int64_t rows;
        rf_status status = rf__item_batch_fill(&a->batch, t, which, n, false, why);
        if (!status) status = logits(user, &a->batch, &z, &rows, &a->K, why);
        if (status) return status;
        const size_t K = (size_t)a->K, more = (size_t)rows * K;
        if (!rf__grow(a->ctx, &a->logit, &a->capacity, a->rows * K + more, sizeof *a->logit))
            return rf_fail(why, RF_ENOMEM, "out of memory: logits of %zu examples", t->n);
        memcpy(a->logit + a->rows * K, z, more * sizeof *z);
        a->rows += (size_t)rows;
    }
    return RF_OK;
}

rf_status rf__answers_fill(rf__answers *a, const rf__items *t, int64_t most, int64_t least, rf__logits *logits,
                           void *user, rf_error *why)
{
    const limits b = limits_of(most, least);
    const size_t each = b.most + b.least - 1;
    size_t *which = rf__calloc(t->ctx, each, sizeof *which);
    a->ctx = t->ctx;
    a->K = t->K;
    a->rows = 0;
    if (!which) return rf_fail(why, RF_ENOMEM, "out of memory: a batch of %zu examples", each);
    const rf_status status = fill(a, t, which, b, logits, user, why);
    rf__free(t->ctx, which);
    return status;
}

void rf__answers_free(rf__answers *a)
{
    if (!a->ctx) return;
    rf__free(a->ctx, a->logit);
    rf__item_batch_free(a->ctx, &a->batch);
    *a = (rf__answers){0};
}

/* Finds the best span of example i, if it is better than the current one. */
static bool span_of(const rf__answers *a, const rf__items *t, size_t i, int64_t most, int32_t bounds[2], double *best)
{
    const size_t at = t->start[t->first[i]], size = rf__item_size(t, i);
    const float *z = a->logit + 2 * at;
    bool better = false;
    for (size_t b = 0; b < size; b++) {
        if (t->from[at + b] == UINT32_MAX) continue;                      /* not part of the context */
        for (size_t e = b; e < size && e < b + (size_t)most; e++) {
            const double sum = (double)z[2 * b] + (double)z[2 * e + 1];
            if (t->from[at + e] == UINT32_MAX || sum <= *best) continue;
            *best = sum;
            bounds[0] = (int32_t)b;
            bounds[1] = (int32_t)e;
            better = true;
        }
    }
    return better;
}

void rf__answer_span(const rf__answers *a, const rf__items *t, size_t q, int64_t most, size_t *item, int32_t bounds[2],
                     double *score)
{
    double best = -INFINITY, none = INFINITY;
    bounds[0] = bounds[1] = -1;
    *item = t->window[q];
    for (size_t i = t->window[q]; i < t->window[q + 1]; i++) {
        const float *z = a->logit + 2 * t->start[t->first[i]];
        none = fmin(none, (double)z[0] + (double)z[1]);
        if (span_of(a, t, i, most, bounds, &best)) *item = i;
    }
    *score = best - none;
}

rf__byte_range rf__answer_bytes(const rf__answers *a, const rf__items *t, size_t q, double *score)
{
    enum { MOST = 30 };                                                  /* transformers' max_answer_length */
    size_t i;
    int32_t bounds[2];
    rf__answer_span(a, t, q, MOST, &i, bounds, score);
    const size_t at = t->start[t->first[i]];
    if (bounds[0] < 0 || (t->nothing && *score < 0)) return (rf__byte_range){0, 0};
    return (rf__byte_range){t->from[at + (size_t)bounds[0]], t->to[at + (size_t)bounds[1]]};
}
