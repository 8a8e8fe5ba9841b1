/* batch.h — micro-batches: packed pieces, and their labels: the masked tokens, or the next token of each. */
#ifndef RF_TRAIN_BATCH_H
#define RF_TRAIN_BATCH_H

#include "roformer/model.h"
#include "data/corpus/pieces.h"

/* One packed batch with its labels: the model reads id, and token row[i] has label[i]. */
typedef struct rf__mlm_batch {
    int64_t capacity, N, B, n;          /* maximum tokens; tokens, pieces, labels                                     */
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

/* How tokens are masked (Devlin et al. 2019): each token that is not special is selected with probability p. The model
 * then sees [MASK] (80 %), a random token that is not special (10 %), or the token itself (10 %). */
typedef struct rf__masking {
    rf_key key;
    double p;
    double whole_words;                 /* fraction of the pieces in which whole words are selected: a token and the
                                           "##" tokens after it, or a word of the tokenizer (rf__vocab_joined) */
    const rf__token_kinds *vocab;
    bool next;                          /* for causal models: nothing is masked, every token predicts the next one    */
} rf__masking;

/* Masks id[0..n) in place and returns how many: place[i] and the original id label[i] of each (both may be NULL). The
 * masks are a function of (m->key, stream, position). */
int64_t rf__mask_ids(int32_t id[], int64_t n, const rf__masking *m, uint64_t stream, int32_t place[], int32_t label[]);

/* Appends [CLS] ids [SEP] and masks them. The masks are a function of (m->key, stream, position in the piece). m->next:
 * [CLS] predicts the first id, and the last id predicts [SEP] if a document ends here. */
void rf__mlm_batch_add(rf__mlm_batch *b, rf__ids ids, size_t at, size_t size, bool ends, const rf__masking *m,
                       uint64_t stream);

/* If no token was selected, the first one that is not special is predicted, if there is one. */
void rf__mlm_batch_finish(rf__mlm_batch *b, const rf__masking *m);

/* ---- packing ----------------------------------------------------------------------------------------------------- */

/* The position of the run in its data. A piece that did not fit waits, and is the first of the next batch. */
enum { RF__WAITING = 32 };
typedef struct rf__piece_position { int64_t epoch, piece; } rf__piece_position;
typedef struct rf__stream_position { int64_t epoch, index, tokens; } rf__stream_position;
typedef struct rf__data_position {
    int64_t epoch, index;               /* of the first stream                                                        */
    int64_t tokens;                     /* drawn from it; counted only with several streams                           */
    rf__stream_position cursor[RF__SOURCES]; /* of the other streams, from 1 on                                       */
    int waits;
    rf__piece_position waiting[RF__WAITING];
} rf__data_position;

/* Whether the position is valid for these pieces. */
bool rf__data_position_inside(const rf__data_position *at, const rf__pieces *p);

/* Epochs so far; for a mixture: tokens drawn, divided by all tokens. */
double rf__data_position_epoch(const rf__data_position *at, const rf__pieces *p);

/* The fraction of `capacity` tokens that the next `batches` micro-batches, or those of an epoch if it is shorter, will
 * fill. */
double rf__packing(const rf__pieces *p, rf_key order, int64_t capacity, int64_t batches);

/* The key of the order of a run's epochs. */
static inline rf_key rf__order_key(uint64_t seed) { return rf__make_key(seed, 0x6f726472); }

/* Packs the next micro-batch: a function of the pieces, the keys and the position, which advances. */
void rf__pack_next(const rf__pieces *p, rf_key order, const rf__masking *m, rf__data_position *at, rf__mlm_batch *b);

#endif
