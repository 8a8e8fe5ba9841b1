/* answers.h — a model's logits for all items of a file. */
#ifndef RF_TRAIN_ANSWERS_H
#define RF_TRAIN_ANSWERS_H

#include "data/examples/items.h"

/* Computes the logits of one batch: `rows` rows of `columns`, the same number in every batch. Valid until the next
 * call. */
typedef rf_status rf__logits(void *user, const rf__item_batch *b, const float **logit, int64_t *rows, int64_t *columns,
                             rf_error *why);

/* One row for each example, candidate or token, as the head requires, in the order of the items. */
typedef struct rf__answers {
    const rf_ctx *ctx;
    int64_t K;                          /* columns: outputs of the model                                              */
    const char *function;    /* of a cross-encoder: the function that converts outputs to scores; owned by the caller */
    size_t rows, capacity;
    float *logit;
    rf__item_batch batch;
} rf__answers;

/* Batches have at most `most` examples (0: 32), in order. With long examples they have fewer, so that a batch of
 * several has at most RF__ANSWER_TOKENS tokens, but never fewer than `least`: a smaller last batch is joined with the
 * previous one. Results do not depend on the batches, except a loss that compares the examples of a batch. */
enum { RF__ANSWER_TOKENS = 4096 };
rf_status rf__answers_fill(rf__answers *a, const rf__items *t, int64_t most, int64_t least, rf__logits *logits,
                           void *user, rf_error *why);
int64_t rf__answers_tokens(const rf__items *t, int64_t most, int64_t least);     /* of the largest of these batches   */
void rf__answers_free(rf__answers *a);

/* The best answer to question q in all its windows (rf__items_question), by the sum of the logits of its first and last
 * token, at most `most` tokens long; *item: the window, place: its tokens, -1: there is none. `score`: the difference
 * to the score of no answer, which is the minimum over the windows of the score of their first tokens, as in SQuAD's
 * baselines. */
void rf__answer_span(const rf__answers *a, const rf__items *t, size_t q, int64_t most, size_t *item, int32_t bounds[2],
                     double *score);

/* The bytes of the context that answer question q; empty if there is no answer or, where this is allowed, no answer
 * scores higher. */
rf__byte_range rf__answer_bytes(const rf__answers *a, const rf__items *t, size_t q, double *score);

#endif
