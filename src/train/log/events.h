/* events.h — writes the numbers of metrics.jsonl to a file that TensorBoard reads. */
#ifndef RF_TRAIN_EVENTS_H
#define RF_TRAIN_EVENTS_H

#include "base/json.h"

#include "train/log/journal.h"

typedef rf__journal rf__events;         /* fd -1: not requested */

/* Opens folder/events.out.tfevents.roformer and cuts it to the length that the checkpoint records; an empty file gets
 * its first record. `now`: seconds since 1970. */
rf_status rf__events_open(const char *folder, int64_t bytes, double now, rf__events *out, rf_error *why);

/* Whether the existing file begins with the bytes that the checkpoint records; see rf__journal_known. */
rf_status rf__events_known(const char *folder, int64_t bytes, int64_t crc, rf_error *why);

/* Adds the numbers of a line of metrics.jsonl, "loss" as train/loss and "eval_loss" as eval/loss, at its "step". A
 * record that cannot be written completely is removed. */
rf_status rf__events_add(rf__events *e, const json_t *line, double now, rf_error *why);

/* ---- the format, into memory ---- */

typedef struct rf__bytes { unsigned char at[2048]; size_t n; bool full; } rf__bytes;

void rf__event_version(rf__bytes *record, double now);
void rf__event_scalars(rf__bytes *record, const json_t *line, double now);

#endif
