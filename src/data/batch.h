/* batch.h — micro-batches: packed pieces, and their labels: the masked tokens, or the next token of each. */
#ifndef RF_TRAIN_BATCH_H
#define RF_TRAIN_BATCH_H

#include "roformer/model.h"
#include "data/pieces.h"

/* One packed batch with its labels: the model sees id, and is asked for label[i] at token row[i]. */
typedef struct rf__mlm_batch {
    int64_t capacity, N, B, n;          /* tokens at most; tokens, pieces, labels                                     */
    int32_t *id, *start, *row, *label;  /* [capacity], [capacity/3 + 2], [capacity], [capacity]                       */
} rf__mlm_batch;

rf_status rf__mlm_batch_new(const rf_ctx *ctx, int64_t capacity, rf__mlm_batch *out, rf_error *why);
void rf__mlm_batch_free(const rf_ctx *ctx, rf__mlm_batch *b);
void rf__mlm_batch_clear(rf__mlm_batch *b);
rf_batch rf__mlm_batch_view(const rf__mlm_batch *b);

static inline bool rf__fits(const rf__mlm_batch *b, size_t size)
{
    return b->N + (int64_t)size + RF__TEMPLATE <= b->capacity;
}

/* How tokens are masked (Devlin et al. 2019): each token that is not special is to be predicted with probability p; the
 * model then sees [MASK] (80 %), a token drawn from those that are not special (10 %), or the token itself (10 %). */
typedef struct rf__masking {
    rf_key key;
    double p;
    double whole_words;                 /* share of the pieces in which one draw is for a word: a token and the "##"
                                           tokens behind it, or what the tokenizer says is one (rf__vocab_joined)     */
    const rf__token_kinds *vocab;
    bool next;                          /* of a causal model: nothing is masked, every token predicts the next one    */
} rf__masking;

/* Masks id[0..n) in place: how many, each at place[i], where label[i] was (both NULL: not asked).  The masks are a
 * function of (m->key, stream, place). */
int64_t rf__mask_ids(int32_t id[], int64_t n, const rf__masking *m, uint64_t stream, int32_t place[], int32_t label[]);

/* Appends [CLS] ids [SEP] and masks them.  The masks are a function of (m->key, stream, place in the piece).
 * m->next: [CLS] predicts the first of the ids, and the last predicts [SEP] if a document ends here. */
void rf__mlm_batch_add(rf__mlm_batch *b, rf__ids ids, size_t at, size_t size, bool ends, const rf__masking *m,
                       uint64_t stream);

/* A batch that drew no token at all predicts its first one that is not special, if it has one. */
void rf__mlm_batch_finish(rf__mlm_batch *b, const rf__masking *m);

/* ---- packing ----------------------------------------------------------------------------------------------------- */

/* Where the run is in its data.  A piece that did not fit waits, and goes first into the next batch. */
enum { RF__WAITING = 32 };
typedef struct rf__piece_position { int64_t epoch, piece; } rf__piece_position;
typedef struct rf__stream_position { int64_t epoch, index, tokens; } rf__stream_position;
typedef struct rf__data_position {
    int64_t epoch, index;               /* of the first stream                                                        */
    int64_t tokens;                     /* drawn from it; counted only when there are several                         */
    rf__stream_position cursor[RF__SOURCES]; /* of the others, from 1 on                                              */
    int waits;
    rf__piece_position waiting[RF__WAITING];
} rf__data_position;

/* Whether the position is one within these pieces. */
bool rf__data_position_inside(const rf__data_position *at, const rf__pieces *p);

/* Passes over all of the pieces so far; of a mixture: tokens drawn, over all tokens. */
double rf__data_position_epoch(const rf__data_position *at, const rf__pieces *p);

/* The share of `capacity` tokens that the next `batches` micro-batches, or those of an epoch when it is shorter, will
 * fill. */
double rf__packing(const rf__pieces *p, rf_key order, int64_t capacity, int64_t batches);

/* The key of the order of a run's epochs. */
static inline rf_key rf__order_key(uint64_t seed) { return rf__make_key(seed, 0x6f726472); }

/* The next micro-batch: a function of the pieces, the keys and the position, which moves on. */
void rf__pack_next(const rf__pieces *p, rf_key order, const rf__masking *m, rf__data_position *at, rf__mlm_batch *b);

#endif
