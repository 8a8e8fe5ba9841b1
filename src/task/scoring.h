/* scoring.h — what logits say about labelled items. */
#ifndef RF_TRAIN_SCORING_H
#define RF_TRAIN_SCORING_H

#include "task/answers.h"
#include "data/labelled.h"

/* Appends the scores of the task to `out`. */
rf_status rf__score_answers(const rf__answers *a, const rf__items *t, const rf__labelled *l, rf_scores *out,
                            rf_error *why);

/* Does an evaluation say a number of this name, with these labels?  RF_EARG lists those that it says. */
rf_status rf__score_known(const rf__labelled *l, const char *name, rf_error *why);

/* The metric that was chosen, or the task's own: f1 of tags that name no entities would be 0. */
const char *rf__score_metric(const rf__labelled *l, const rf_finetune_options *o);
bool rf__score_is_error(const char *name);                              /* less is better                             */

/* A sentence on tags whose entities cannot be scored, or not all; "" when there is nothing to say. */
void rf__score_remark(const rf__labelled *l, char *out, size_t size);

#endif
