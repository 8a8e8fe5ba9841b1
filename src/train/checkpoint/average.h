/* average.h — the average of several checkpoints' weights. */
#ifndef RF_TRAIN_AVERAGE_H
#define RF_TRAIN_AVERAGE_H

#include "optim/optimizer.h"

/* Averages the weights of the last `most` intact checkpoints of a folder, up to `newest`, into o->value; the gradients
 * are destroyed. `note` names the checkpoints. RF_EDATA: there is none, or one has another shape. */
rf_status rf__average_last(rf__optimizer *o, const char *folder, int64_t newest, int64_t most, char *note, size_t size,
                           rf_error *why);

/* How checkpoints are ranked: by a metric of the evaluation of their own step. */
typedef struct rf__ranking { int64_t most; rf_metric metric; bool greater; } rf__ranking;
enum { RF__RANKED = 64 };

/* The steps of the best checkpoints up to `newest`, the best first, at most by->most. Checkpoints without an evaluation
 * are not included. */
rf_status rf__checkpoints_best(const rf_ctx *ctx, const char *folder, int64_t newest, const rf__ranking *by,
                               int64_t best[RF__RANKED], size_t *n, rf_error *why);

/* The average of those. */
rf_status rf__average_best(rf__optimizer *o, const char *folder, int64_t newest, const rf__ranking *by, char *note,
                           size_t size, rf_error *why);

#endif
