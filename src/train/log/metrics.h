/* metrics.h — metrics.jsonl: one object per line, only complete lines, each step once. */
#ifndef RF_METRICS_H
#define RF_METRICS_H

#include "base/json.h"

#include "train/log/journal.h"

typedef rf__journal rf__metrics;

/* Opens folder/metrics.jsonl and cuts it to the length that the checkpoint records. */
rf_status rf__metrics_open(const char *folder, int64_t bytes, rf__metrics *out, rf_error *why);

/* Whether the existing file begins with the bytes that the checkpoint records; see rf__journal_known. */
rf_status rf__metrics_known(const char *folder, int64_t bytes, int64_t crc, rf_error *why);

/* Appends a line; takes ownership of it. */
rf_status rf__metrics_add(rf__metrics *m, json_t *line, rf_error *why);

#endif
