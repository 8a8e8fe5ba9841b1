/* average.h — the mean of several checkpoints' weights. */
#ifndef RF_TRAIN_AVERAGE_H
#define RF_TRAIN_AVERAGE_H

#include "optim/optimizer.h"

/* The mean of the weights of the last `most` intact checkpoints of a folder, up to `newest`, into o->value; the
 * gradients are used up.  `note` says which ones.  RF_EDATA when there is none, or when one is of another shape. */
rf_status rf__average_checkpoints(rf__optimizer *o, const char *folder, int64_t newest, int64_t most, char *note,
                                  size_t size, rf_error *why);

#endif
