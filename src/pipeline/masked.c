/* masked.c — computes a text with one place after the other masked. */
#include "pipeline/masked.h"

#include <math.h>

double rf__log_softmax(const float *z, int64_t V, int32_t id)
{
    double most = (double)z[0], sum = 0;
    for (int64_t v = 1; v < V; v++) most = (double)z[v] > most ? (double)z[v] : most;
    for (int64_t v = 0; v < V; v++) sum += exp((double)z[v] - most);
    return (double)z[id] - most - log(sum);
}

rf_status rf__token_in_model(const rf_pipeline *p, int32_t id, rf_error *why)
{
    const int64_t V = rf_model_config(p->model)->vocab_size;
    if (id >= 0 && id < V) return RF_OK;
    const char *token = rf_tokenizer_token(rf_model_tokenizer(p->model), id);
    return rf_fail(why, RF_ERANGE, "token \"%.60s\": expected an id below config.json's vocab_size, %lld, got %d",
                   rf__printable(token ? token : "").text, (long long)V, (int)id);
}

static rf_status run(rf_pipeline *p, const rf_batch *b, const int32_t row[], int64_t i, int64_t m,
                     rf__masked_sink *sink, void *user, rf_error *why)
{
    const float *z;
    const int64_t V = rf_model_config(p->model)->vocab_size;
    const rf_status status = rf_session_mlm_logits(p->session, b, row, m, &z, why);
    for (int64_t k = 0; k < m && !status; k++) sink(user, i + k, z + k * V);
    return status;
}

rf_status rf__each_masked(rf_pipeline *p, const int32_t id[], const int32_t type[], int64_t n, const int64_t at[],
                          int64_t m, bool mask, int64_t batch_tokens, rf__masked_sink *sink, void *user, rf_error *why)
{
    const int64_t most = mask ? rf__max64(1, rf__min64(m, batch_tokens / n)) : 1, rows = mask ? most : m;
    rf__text_batch *b = &p->worker[0].batch;
    int32_t *row = rf__calloc(p->ctx, (size_t)rows, sizeof *row);
    size_t ids;
    rf_status status = n <= INT32_MAX ? RF_OK
                                      : rf_fail(why, RF_ERANGE, "text: expected at most %d tokens, got %lld", INT32_MAX,
                                                (long long)n);
    if (!status && (!row || !rf__checked_mul((size_t)most, (size_t)n, &ids) ||
        !rf__grow(p->ctx, &b->id, &b->ids, ids, sizeof *b->id) ||
        !rf__grow(p->ctx, &b->type, &b->types, ids, sizeof *b->type) ||
        !rf__grow(p->ctx, &b->start, &b->starts, (size_t)most + 1, sizeof *b->start)))
        status = rf_fail(why, RF_ENOMEM, "out of memory: %lld texts of %lld tokens", (long long)most, (long long)n);
    for (int64_t i = 0, B; i < m && !status; i += mask ? B : m) {
        B = rf__min64(most, m - i);
        b->start[0] = 0;
        for (int64_t k = 0; k < B; k++) {
            memcpy(b->id + k * n, id, (size_t)n * sizeof *id);
            if (type) memcpy(b->type + k * n, type, (size_t)n * sizeof *type);
            b->start[k + 1] = (int32_t)((k + 1) * n);
        }
        for (int64_t k = 0; k < (mask ? B : m); k++) {
            row[k] = (int32_t)((mask ? k * n : 0) + at[i + k]);
            if (mask) b->id[row[k]] = rf_tokenizer_mask(rf_model_tokenizer(p->model));
        }
        const rf_batch batch = {.N = B * n, .B = B, .id = b->id, .type = type ? b->type : NULL, .start = b->start};
        status = run(p, &batch, row, i, mask ? B : m, sink, user, why);
    }
    rf__free(p->ctx, row);
    return status;
}

typedef struct terms { const int32_t *id; const int64_t *at; double *logprob; int64_t V; } terms;

static void take_term(void *user, int64_t i, const float *logits)
{
    const terms *t = user;
    t->logprob[i] = rf__log_softmax(logits, t->V, t->id[t->at[i]]);
}

rf_status rf__pseudo_logprobs(rf_pipeline *p, const int32_t id[], const int32_t type[], int64_t n, int64_t first,
                              int64_t m, int64_t batch_tokens, double logprob[], rf_error *why)
{
    int64_t *at = rf__calloc(p->ctx, (size_t)m, sizeof *at);
    if (m && !at) return rf_fail(why, RF_ENOMEM, "out of memory: a text of %lld tokens", (long long)m);
    for (int64_t i = 0; i < m; i++) at[i] = first + i;
    rf_status status = RF_OK;
    for (int64_t i = 0; i < n && !status; i++) status = rf__token_in_model(p, id[i], why);
    terms t = {id, at, logprob, rf_model_config(p->model)->vocab_size};
    if (m && !status) status = rf__each_masked(p, id, type, n, at, m, true, batch_tokens, take_term, &t, why);
    rf__free(p->ctx, at);
    return status;
}
