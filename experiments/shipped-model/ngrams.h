/* ngrams.h — word-piece n-gram models of a token stream, the baselines of a masked language model.
 *
 * Witten-Bell back-off (Witten & Bell 1991): with c counts and T(h) the number of different words seen after h,
 *
 *     p(w | a b) = (c(a b w) + T(a b) p(w | b)) / (c(a b) + T(a b)),     p(w | b) alike over p(w),
 *     p(w)       = (c(w) + 1) / (tokens + V)
 *
 * A context that was never seen, or that holds a masked token, falls through to the shorter one.                     */
#ifndef NGRAMS_H
#define NGRAMS_H

#include <stddef.h>
#include <stdint.h>

typedef struct ngrams ngrams;

/* Counts documents laid end to end: document i is token[start[i]] .. token[start[i+1]-1].  `reversed` reads each from
 * its end, which makes a model of what comes before.  NULL: out of memory (about 24 bytes a token are needed). */
ngrams *ngrams_count(const uint16_t *token, const size_t *start, size_t documents, int32_t V, int reversed);
void ngrams_free(ngrams *n);

/* p[w] for all w after a, b (b is next to w); -1: unknown or masked.  order 1: no context, 2: b alone, 3: both. */
void ngrams_predict(const ngrams *n, int order, int32_t a, int32_t b, double *p);

#endif
