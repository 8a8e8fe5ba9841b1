/* pieces.h — documents cut to length, and the order in which an epoch visits the pieces. */
#ifndef RF_PIECES_H
#define RF_PIECES_H

#include "data/tokens.h"
#include "data/vocab.h"

enum { RF__TEMPLATE = 2 };              /* [CLS] and [SEP] around each piece                                          */

/* How many of the `left` tokens from `at` on make the next piece, at most `limit`.
 *
 * Pieces are full but for the last; the last two share what there is when the last would be a scrap.  A piece does not
 * begin inside a word, unless the word is longer than half a piece.  Where kinds tell what ends a sentence
 * (rf__vocab_sentences), a piece is as many whole sentences as it has space for, and one that is longer is cut so. */
size_t rf__cut(rf__ids ids, size_t at, size_t left, size_t limit, const uint8_t *kind);

enum { RF__SOURCES = 16 };              /* caches, at most                                                            */

/* Pieces of one or several caches in the order of the text: 20 bits of length, 43 of place, 1 for a document's last. */
typedef struct rf__pieces {
    uint64_t *piece;
    size_t n, documents;
    int64_t tokens;                     /* with [CLS] and [SEP]                                                       */
    int sources, streams;
    struct { const rf__tokens *from; size_t end; int64_t tokens; } source[RF__SOURCES];      /* pieces up to `end`    */
    struct { size_t first, n; double weight; } stream[RF__SOURCES];     /* each has an order and an epoch of its own  */
} rf__pieces;

/* Cuts the documents for training, or those held out (`most` of them, evenly spaced; 0: all).  One stream. */
rf_status rf__pieces_new(const rf_ctx *ctx, const rf__tokens from[], int sources, const rf__token_kinds *v,
                         int64_t max_length, bool held, int64_t most, rf__pieces *out, rf_error *why);

/* A stream for each source, drawn from so that its tokens are weight[i] / sum of weights of all tokens.
 *   RF_EDATA  a source has no piece, though it has a weight                                                          */
rf_status rf__pieces_mix(rf__pieces *p, const double weight[], rf_error *why);

/* The cache that piece i is in. */
static inline const rf__tokens *rf__piece_of(const rf__pieces *p, size_t i)
{
    int s = 0;
    while (s + 1 < p->sources && i >= p->source[s].end) s++;
    return p->source[s].from;
}
void rf__pieces_free(const rf_ctx *ctx, rf__pieces *p);
static inline size_t rf__piece_at(const rf__pieces *p, size_t i) { return (size_t)(p->piece[i] << 1 >> 21); }
static inline size_t rf__piece_size(const rf__pieces *p, size_t i) { return (size_t)(p->piece[i] & 0xFFFFF); }
static inline bool rf__piece_ends(const rf__pieces *p, size_t i) { return p->piece[i] >> 63; }

/* The i-th of n in the order of an epoch: a permutation of [0, n) as a function, so that the place in an epoch is one
 * number.  n < 2^62. */
uint64_t rf__shuffled(uint64_t i, uint64_t n, rf_key key, uint64_t epoch);

#endif
