/* choose.h — the tokens that may come next; see choose.c. */
#ifndef RF_CHOOSE_H
#define RF_CHOOSE_H

#include "base/base.h"
#include "roformer/kernel/kernels.h"
#include "roformer/generate.h"

typedef struct rf__candidate { double p, distance; int32_t id; } rf__candidate;
enum { RF__SEEN = 1, RF__SUPPRESSED = 2, RF__REPEATS = 4 };

/* The tokens that may come next, likeliest first, with their probabilities; c has space for V.  flag [V] of RF__SEEN,
 * RF__SUPPRESSED and RF__REPEATS.  Returns how many there are: 0 when none may come. */
int64_t rf__candidates(const rf_generate_options *o, const float *logits, int64_t V, const uint8_t *flag,
                       rf__candidate *c);

/* One of them: the one in which `left`, in [0, 1), ends when their probabilities are put one behind the other; -1 when
 * none may come.  No more of them are put in order than that takes. */
int32_t rf__draw(const rf_generate_options *o, const float *logits, int64_t V, const uint8_t *flag, double left,
                 rf__candidate *c);

/* For beam search: the `most` best of log softmax(logits) with the processors of scores, in p; sum is what
 * rf__log_sum gives. */
int64_t rf__best_logprobs(const rfk_table *k, const rf_generate_options *o, const float *logits, double sum, int64_t V,
                        const uint8_t *flag, int64_t most, rf__candidate *c);

/* Sets, or takes away, RF__REPEATS of the tokens that would end a sequence of `size` tokens that the text has already;
 * size 0: none.  Ids are in the vocabulary. */
void rf__mark_ngrams(const int32_t id[], int64_t n, int64_t size, uint8_t *flag, bool on);

#endif
