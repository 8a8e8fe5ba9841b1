/* pieces.h — documents cut to length, and the order in which an epoch visits the pieces. */
#ifndef RF_PIECES_H
#define RF_PIECES_H

#include "train/tokens.h"
#include "train/vocab.h"

enum { RF__TEMPLATE = 2 };              /* [CLS] and [SEP] around each piece                                            */

/* How many of the `left` tokens from `at` on make the next piece, at most `room`.
 *
 * Pieces are full but for the last; the last two share what there is when the last would be a scrap.  A piece does not
 * begin inside a word, unless the word is longer than half a piece. */
size_t rf__cut(rf__ids ids, size_t at, size_t left, size_t room, const uint8_t *kind);

/* Pieces of a cache in the order of the text: 20 bits of length, 44 of place. */
typedef struct rf__pieces {
    const rf__tokens *from;
    uint64_t *piece;
    size_t n, documents;
    int64_t tokens;                     /* with [CLS] and [SEP]                                                         */
} rf__pieces;

/* Cuts the documents for training, or those held out (`most` of them, evenly spaced; 0: all). */
rf_status rf__pieces_new(const rf_ctx *ctx, const rf__tokens *from, const rf__vocab *v, int64_t max_length, bool held,
                         int64_t most, rf__pieces *out, rf_error *why);
void rf__pieces_free(const rf_ctx *ctx, rf__pieces *p);
static inline size_t rf__piece_at(const rf__pieces *p, size_t i) { return (size_t)(p->piece[i] >> 20); }
static inline size_t rf__piece_size(const rf__pieces *p, size_t i) { return (size_t)(p->piece[i] & 0xFFFFF); }

/* The i-th of n in the order of an epoch: a permutation of [0, n) as a function, so that the place in an epoch is one
 * number.  n < 2^62. */
uint64_t rf__shuffled(uint64_t i, uint64_t n, rf_key key, uint64_t epoch);

#endif
