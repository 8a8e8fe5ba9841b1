/* journal.h — a file that grows by whole records and whose length checkpoints record: metrics.jsonl, the event file. */
#ifndef RF_TRAIN_JOURNAL_H
#define RF_TRAIN_JOURNAL_H

#include "base/base.h"

typedef struct rf__journal {
    int fd;                             /* -1: there is none */
    bool lost;                          /* a sync failed */
    uint32_t crc;                       /* CRC-32C of the first `bytes` */
    int64_t bytes;
    char path[4096];
} rf__journal;

/* Whether folder/name begins with the `bytes` bytes of this CRC, which a checkpoint records. crc 0: the checkpoint is
 * from an older version without CRCs; then the last of those bytes must end a line, if records are `lines`. A file that
 * is empty or does not exist is accepted.
 *
 *   RF_EARG    the file belongs to another run, or to another branch of this one; cutting it would lose its contents */
rf_status rf__journal_known(const char *folder, const char *name, int64_t bytes, uint32_t crc, bool lines,
                            rf_error *why);

/* Opens folder/name and cuts it to `bytes`, or keeps what exists of them. */
rf_status rf__journal_open(const char *folder, const char *name, int64_t bytes, rf__journal *out, rf_error *why);
void rf__journal_close(rf__journal *j);

/* Appends a record. A record that cannot be written completely is removed. */
rf_status rf__journal_append(rf__journal *j, const void *data, size_t size, rf_error *why);

/* Never called again after a failure: lost records would count as written. The run then writes no more checkpoints. */
rf_status rf__journal_sync(rf__journal *j, rf_error *why);

#endif
