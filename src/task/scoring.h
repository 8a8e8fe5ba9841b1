/* scoring.h — what logits say about labelled items. */
#ifndef RF_TRAIN_SCORING_H
#define RF_TRAIN_SCORING_H

#include "task/answers.h"
#include "data/labelled.h"

/* Appends the scores of the task to `out`. */
rf_status rf__score_answers(const rf__answers *a, const rf__items *t, const rf__labelled *l, rf_scores *out, rf_error *why);

/* Does an evaluation of this task, with K outputs, say a number of this name?  RF_EARG lists those that it says. */
rf_status rf__score_known(rf_task task, int64_t K, const char *name, rf_error *why);

#endif
