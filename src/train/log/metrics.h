/* metrics.h — metrics.jsonl: one object per line, never half a line, never a step twice. */
#ifndef RF_METRICS_H
#define RF_METRICS_H

#include "base/json.h"

#include "train/log/journal.h"

typedef rf__journal rf__metrics;

/* Opens folder/metrics.jsonl and cuts it to the length that the checkpoint knows. */
rf_status rf__metrics_open(const char *folder, int64_t bytes, rf__metrics *out, rf_error *why);

/* Whether the file that is there is the one whose beginning the checkpoint knows, see rf__journal_known. */
rf_status rf__metrics_known(const char *folder, int64_t bytes, int64_t crc, rf_error *why);

/* Appends a line; takes the reference. */
rf_status rf__metrics_add(rf__metrics *m, json_t *line, rf_error *why);

#endif
