/* masked.h — predictions of a masked language model at several places of a text, with one place masked at a time. */
#ifndef RF_PIPELINE_MASKED_H
#define RF_PIPELINE_MASKED_H

#include "pipeline/pipeline.h"

/* log softmax(z)[id] over V logits, in double. */
double rf__log_softmax(const float *z, int64_t V, int32_t id);

/* RF_ERANGE: the tokenizer has more tokens than the model, and this is one of those. */
rf_status rf__token_in_model(const rf_pipeline *p, int32_t id, rf_error *why);

/* For each of the m places at[i] of the ids [n] with the types [n] (NULL: all 0), in order: the logits [vocab_size] of
 * the text with this place masked. With `mask` false, nothing is masked, and the text is computed once. The bits of a
 * place's logits do not depend on the other places.
 *
 *   cost       m passes over n tokens (one without `mask`), as many together as batch_tokens allows */
typedef void rf__masked_sink(void *user, int64_t i, const float *logits);
rf_status rf__each_masked(rf_pipeline *p, const int32_t id[], const int32_t type[], int64_t n, const int64_t at[],
                          int64_t m, bool mask, int64_t batch_tokens, rf__masked_sink *sink, void *user, rf_error *why);

/* logprob[i] = log p(id[first + i] | the others), i < m: the terms of the pseudo-log-likelihood (Salazar et al. 2020,
 * arXiv:1910.14659, equation 1). */
rf_status rf__pseudo_logprobs(rf_pipeline *p, const int32_t id[], const int32_t type[], int64_t n, int64_t first,
                              int64_t m, int64_t batch_tokens, double logprob[], rf_error *why);

#endif
