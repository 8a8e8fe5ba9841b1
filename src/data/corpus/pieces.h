/* pieces.h — documents cut to length, and the order in which an epoch visits the pieces. */
#ifndef RF_PIECES_H
#define RF_PIECES_H

#include "data/corpus/tokens.h"
#include "data/corpus/vocab.h"

enum { RF__TEMPLATE = 2 };              /* [CLS] and [SEP] around each piece                                          */

/* The length of the next piece: how many of the `left` tokens from `at` on, at most `limit`.
 *
 * All pieces except the last are full; the last two are divided evenly if the last would be very short. A piece does
 * not begin inside a word, unless the word is longer than half a piece. If kinds mark the ends of sentences
 * (rf__vocab_sentences), a piece consists of as many whole sentences as fit; a longer sentence is cut. */
size_t rf__piece_length(rf__ids ids, size_t at, size_t left, size_t limit, const uint8_t *kind);

enum { RF__SOURCES = 16 };              /* maximum number of caches                                                   */

/* Pieces of one or several caches in the order of the text: 20 bits for the length, 43 for the position, 1 for the last
 * piece of a document. */
typedef struct rf__pieces {
    uint64_t *piece;
    size_t n, documents;
    int64_t tokens;                     /* with [CLS] and [SEP]                                                       */
    int sources, streams;
    struct { const rf__tokens *from; size_t end; int64_t tokens; } source[RF__SOURCES];      /* pieces up to `end`    */
    struct { size_t first, n; double weight; } stream[RF__SOURCES];     /* each has its own order and epoch           */
} rf__pieces;

/* Cuts the training documents, or the held-out ones (`most` of them, evenly spaced; 0: all). One stream. */
rf_status rf__pieces_new(const rf_ctx *ctx, const rf__tokens from[], int sources, const rf__token_kinds *v,
                         int64_t max_length, bool held, int64_t most, rf__pieces *out, rf_error *why);

/* One stream for each source, from which pieces are drawn so that it supplies the fraction weight[i] / sum of weights
 * of all tokens.
 *   RF_EDATA  a source with a weight has no pieces */
rf_status rf__pieces_mix(rf__pieces *p, const double weight[], rf_error *why);

/* The cache that contains piece i. */
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

/* The i-th of n in the order of an epoch: a permutation of [0, n) as a function, so that the position in an epoch is
 * one number. n < 2^62. */
uint64_t rf__shuffled(uint64_t i, uint64_t n, rf_key key, uint64_t epoch);

#endif
