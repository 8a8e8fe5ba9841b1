/* answer_row.c — the head of a causal reranker (store/logit_score.c), a row that is computed from the logits' matrix.
 *
 *     w = W[true] - W[false], or W[true]                W: lm_head.weight, or the word embeddings if they are tied */
#include "model/params/params.h"
#include "store/store.h"

bool rf__is_answer_row(const rf_params *params, const rf_param *p)
{
    return params->config.logit_score && p->head && p->rank == 2 && p->dim[0] == 1;
}

const rf_weight *rf__answer_matrix(const rf_params *params, const rf_weights *w)
{
    const rf_config *c = &params->config;
    const rf_weight *t = rf__params_find(params, w, c->tie_word_embeddings ? params->p[params->word].name
                                                                           : "lm_head.weight");
    return t && t->rank == 2 && t->dim[0] == c->vocab_size && t->dim[1] == c->hidden_size && !t->stride ? t : NULL;
}

/* Row `id` of a matrix. */
static rf_status read_row(const rf_weights *w, const rf_weight *t, int64_t id, float *to, rf_error *why)
{
    rf_weight row = *t;
    row.dim[0] = 1;
    row.count = (size_t)t->dim[1];
    row.bytes = t->bytes / (size_t)t->dim[0];
    row.data = (const char *)t->data + (size_t)id * row.bytes;
    return rf__weights_read(w, &row, to, 1, why);
}

rf_status rf__answer_row_read(const rf_params *params, const rf_weights *w, const rf_weight *t, float *to,
                              rf_error *why)
{
    const rf_config *c = &params->config;
    const int64_t C = t->dim[1];
    rf_status status = rf__weights_check_sum(w, t, why);
    if (!status) status = read_row(w, t, c->true_token_id, to, why);
    if (status || c->false_token_id < 0) return status;
    float *no = rf__alloc(params->ctx, (size_t)C * sizeof *no);
    if (!no) return rf_fail(why, RF_ENOMEM, "out of memory: a row of %lld weights", (long long)C);
    status = read_row(w, t, c->false_token_id, no, why);
    for (int64_t i = 0; i < C && !status; i++) to[i] -= no[i];
    rf__free(params->ctx, no);
    return status;
}
