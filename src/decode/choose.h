/* choose.h — the candidates for the next token; see choose.c. */
#ifndef RF_CHOOSE_H
#define RF_CHOOSE_H

#include "base/base.h"
#include "roformer/kernel/kernels.h"
#include "roformer/generate.h"

typedef struct rf__candidate { double p, distance; int32_t id; } rf__candidate;
enum { RF__SEEN = 1, RF__SUPPRESSED = 2, RF__REPEATS = 4 };

/* The candidates for the next token, most likely first, with their probabilities; c has space for V. flag [V]:
 * RF__SEEN, RF__SUPPRESSED and RF__REPEATS. Returns their number; 0: no token is allowed. */
int64_t rf__candidates(const rf_generate_options *o, const float *logits, int64_t V, const uint8_t *flag,
                       rf__candidate *c);

/* Samples one of them: the one whose interval contains `left`, in [0, 1), if the intervals of their probabilities are
 * put side by side; -1: no token is allowed. Sorts only as many as necessary. */
int32_t rf__draw(const rf_generate_options *o, const float *logits, int64_t V, const uint8_t *flag, double left,
                 rf__candidate *c);

/* For beam search: the `most` best tokens by log softmax(logits) after the processors of scores, in p; sum is the
 * result of rf__log_sum. */
int64_t rf__best_logprobs(const rfk_table *k, const rf_generate_options *o, const float *logits, double sum, int64_t V,
                        const uint8_t *flag, int64_t most, rf__candidate *c);

/* Sets or clears RF__REPEATS for the tokens that would end a sequence of `size` tokens that already occurs in the text;
 * size 0: none. Ids are in the vocabulary. */
void rf__mark_ngrams(const int32_t id[], int64_t n, int64_t size, uint8_t *flag, bool on);

#endif
