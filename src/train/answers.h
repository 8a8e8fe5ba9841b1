/* answers.h — a model's logits for all items of a file. */
#ifndef RF_TRAIN_ANSWERS_H
#define RF_TRAIN_ANSWERS_H

#include "train/items.h"

/* Logits of one batch: rows of K.  Lent until the next call. */
typedef rf_status rf__logits(void *user, const rf__item_batch *b, const float **logit, int64_t *rows, rf_error *why);

/* A row for each example (cls, reg, multilabel), candidate (mc) or token (tag, qa), in the order of the items. */
typedef struct rf__answers {
    const rf_ctx *ctx;
    int64_t K;                          /* columns: labels, 2 for qa, 1 for mc                                          */
    size_t rows, room;
    float *logit;
    rf__item_batch batch;
} rf__answers;

/* Batches of about `tokens` tokens, in order. */
rf_status rf__answers_fill(rf__answers *a, const rf__items *t, int64_t tokens, rf__logits *logits, void *user, rf_error *why);
void rf__answers_free(rf__answers *a);

int64_t rf__answer_columns(const rf__items *t);

/* The best begin and end of item i (tokens of its sequence, begin <= end < begin + most) by the sum of their logits; both
 * -1 when the first token, "no answer", is better and allowed.  `score`: how much better than the other possibility. */
void rf__answer_span(const rf__answers *a, const rf__items *t, size_t i, int64_t most, int32_t place[2], double *score);

#endif
