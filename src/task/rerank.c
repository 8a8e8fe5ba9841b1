/* rerank.c — scores of pairs of texts by a model that reads both at once, equal to those of CrossEncoder of
 * sentence-transformers.                                                                    Nogueira and Cho 2019
 *
 *     score(q, t) = f(the model's one output for the pair q, t),  f the folder's activation_fn, else the sigmoid
 *
 * Pairs are computed together up to a number of tokens; a score does not depend on the rest of its batch. */
#include <math.h>
#include <stdlib.h>

#include "task/answerer.h"
#include "text/tokenizer.h"

enum { BATCH_TOKENS = 4096 };

/* Pairs that are not computed yet: tokens, types, and the start of each. */
typedef struct waiting { int32_t *id, *type, *start; size_t ids, types, starts; int64_t n; } waiting;

static rf_status check(const rf_answerer *a, rf_error *why)
{
    const rf_config *c = rf_model_config(a->model);
    if (!a->task->probabilities)
        return rf_fail(why, RF_EUNSUPPORTED, rf__task_of_vectors(a->task)
                       ? "scores of pairs: expected a model that reads both texts at once (a reranker), got one that "
                         "embeds each text"
                       : "scores of pairs: expected a model that labels texts, got one that labels tokens, answers or "
                         "choices");
    if (c->num_labels == 1) return RF_OK;
    return rf_fail(why, RF_EUNSUPPORTED, "scores of pairs: expected a model with one output (a reranker), got one with "
                   "%lld; use classify or predict", (long long)c->num_labels);
}

rf_status rf__answerer_can_cross(const rf_answerer *a, double (**of)(double z), rf_error *why)
{
    const rf_status status = check(a, why);
    return status ? status : rf__score_function(rf__answerer_function(a), of, why);
}

/* Adds a pair to the waiting ones. */
static rf_status add(rf_answerer *a, waiting *w, const char *query, size_t query_size, const char *text, size_t size,
                     int64_t limit, rf_error *why)
{
    rf_encoding *e = &a->encoding;
    size_t dropped = 0;
    const rf_status status = rf_encode(rf_model_tokenizer(a->model), query, query_size, text, size, (size_t)limit, 0, e,
                                       &dropped, why);
    if (status) return status;
    const size_t at = w->n ? (size_t)w->start[w->n] : 0, n = at + e->n;
    if (!rf__grow(a->ctx, &w->id, &w->ids, n + 1, sizeof *w->id) ||
        !rf__grow(a->ctx, &w->type, &w->types, n + 1, sizeof *w->type) ||
        !rf__grow(a->ctx, &w->start, &w->starts, (size_t)w->n + 2, sizeof *w->start))
        return rf_fail(why, RF_ENOMEM, "out of memory: %zu tokens of pairs", n);
    memcpy(w->id + at, e->id, e->n * sizeof *w->id);
    memcpy(w->type + at, e->type, e->n * sizeof *w->type);
    w->start[0] = 0;
    w->start[++w->n] = (int32_t)n;
    a->reading.examples++;
    a->reading.cut += dropped > 0;
    a->reading.unread += rf__all_unknown(rf_model_tokenizer(a->model), e);
    return RF_OK;
}

static rf_status score_pairs(rf_answerer *a, waiting *w, double (*f)(double z), double out[], rf_error *why)
{
    const float *z;
    int64_t rows;
    if (!w->n) return RF_OK;
    const rf_batch b = {.N = w->start[w->n], .B = w->n, .id = w->id, .type = w->type, .start = w->start};
    const rf_status status = rf_session_logits(a->session, &b, &z, &rows, why);
    for (int64_t i = 0; i < w->n && !status; i++) out[i] = f((double)z[i]);
    w->n = 0;
    return status;
}

rf_status rf_answerer_cross(rf_answerer *a, const char *query, size_t query_bytes, const char *const text[],
                            const size_t bytes[], int64_t n, int64_t max_length, double out[], rf_error *why)
{
    if (!(a && query && (!n || (text && bytes && out))))
        return rf__missing("rf_answerer_cross", "answerer, texts", why);
    if (max_length < -1)
        return rf_fail(why, RF_EARG, "max_length: expected -1 or more, got %lld", (long long)max_length);
    double (*f)(double z) = NULL;
    waiting w = {0};
    const int64_t limit = max_length < 0 ? a->max_length : max_length;
    char *joined = NULL;
    rf_status status = rf__answerer_can_cross(a, &f, why);
    if (!status) status = rf__answerer_put_prompt(a, NULL, &query, &query_bytes, &joined, why);
    a->reading.max_length = limit;
    int64_t done = 0;
    for (int64_t i = 0; i < n && !status; i++) {
        status = add(a, &w, query, query_bytes, text[i], bytes[i], limit, why);
        if (status || (w.start[w.n] < BATCH_TOKENS && i + 1 < n)) continue;
        const int64_t pairs = w.n;
        status = score_pairs(a, &w, f, out + done, why);
        done += pairs;
    }
    rf__free(a->ctx, joined);
    rf__free(a->ctx, w.id);
    rf__free(a->ctx, w.type);
    rf__free(a->ctx, w.start);
    return status;
}
