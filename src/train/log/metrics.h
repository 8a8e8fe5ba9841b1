/* metrics.h — metrics.jsonl: one object per line, never half a line, never a step twice. */
#ifndef RF_METRICS_H
#define RF_METRICS_H

#include <jansson.h>

#include "base/base.h"

typedef struct rf__metrics { int fd; int64_t bytes; bool lost; char path[4096]; } rf__metrics;     /* lost: a sync failed */

/* Opens folder/metrics.jsonl and cuts it to the length that the checkpoint knows. */
rf_status rf__metrics_open(const char *folder, int64_t bytes, rf__metrics *out, rf_error *why);
void rf__metrics_close(rf__metrics *m);

/* Appends a line; takes the reference.  A line that cannot be written as a whole is taken back. */
rf_status rf__metrics_add(rf__metrics *m, json_t *line, rf_error *why);

/* Never twice after a failure: the lines that were lost would count as written.  The checkpoints of this run end here. */
rf_status rf__metrics_sync(rf__metrics *m, rf_error *why);

#endif
