/* objective.h — the training objective of a batch of labeled examples. */
#ifndef RF_TRAIN_OBJECTIVE_H
#define RF_TRAIN_OBJECTIVE_H

#include "task/task.h"

/* weight * (sum of the losses of the batch's labels) from a head's logits; the sum is added to *sum if it is not
 * NULL. */
rf_tensor *rf__task_objective_loss(rf_graph *g, rf_tensor *z, const rf__item_batch *b, const rf__task_objective *o,
                                   double weight, double *sum);

/* One weight for each of K labels from "balanced" (n / (K count), so that their mean over the examples is 1) or from
 * numbers such as "1,0.5,2". */
rf_status rf__class_weights(const char *text, const rf__items *t, float weight[], rf_error *why);

#endif
