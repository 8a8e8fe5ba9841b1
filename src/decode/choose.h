/* choose.h — the candidates for the next token; see choose.c. */
#ifndef RF_CHOOSE_H
#define RF_CHOOSE_H

#include "base/base.h"
#include "roformer/kernel/kernels.h"
#include "roformer/generate.h"

typedef struct rf__candidate { double p, distance; int32_t id; } rf__candidate;
enum { RF__SEEN = 1, RF__SUPPRESSED = 2, RF__REPEATS = 4, RF__EARLY = 8, RF__WRITTEN = 16,
       RF__EXCLUDED = RF__SUPPRESSED | RF__REPEATS | RF__EARLY };

/* The logits of the next token and what the text so far says of them. flag: RF__SEEN, RF__WRITTEN in the new text, or
 * the reasons why a token is excluded. less: what is subtracted from the scores of tokens that are RF__SEEN; NULL:
 * nothing. */
typedef struct rf__scores {
    const float *logits;        /* [V] */
    const uint8_t *flag;        /* [V] */
    const double *less;         /* [V] */
    int64_t V;
} rf__scores;

/* The candidates for the next token, most likely first, with their probabilities; c has space for V. Returns their
 * number; 0: no token is allowed. */
int64_t rf__candidates(const rf_generate_options *o, const rf__scores *s, rf__candidate *c);

/* Samples one of them: the one whose interval contains `left`, in [0, 1), if the intervals of their probabilities are
 * put side by side; -1: no token is allowed. Sorts only as many as necessary. */
int32_t rf__draw(const rf_generate_options *o, const rf__scores *s, double left, rf__candidate *c);

/* For beam search: the `most` best tokens by log softmax(logits) after the processors of scores, in p; sum is the
 * result of rf__log_sum. */
int64_t rf__best_logprobs(const rfk_table *k, const rf_generate_options *o, const float *logits, double sum, int64_t V,
                        const uint8_t *flag, int64_t most, rf__candidate *c);

/* Sets or clears, for the next token of a text of n tokens, `fresh` of them new: RF__REPEATS for the tokens that
 * would end a sequence of no_repeat_ngram_size tokens that already occurs in it, and RF__EARLY for those that would
 * end the text before its minimum. Ids are in the vocabulary. */
void rf__mark_excluded(const rf_generate_options *o, const int32_t id[], int64_t n, int64_t fresh, int64_t V,
                       uint8_t *flag, bool on);

#endif
