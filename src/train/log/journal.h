/* journal.h — a file that grows by whole records and whose length checkpoints know: metrics.jsonl, the event file. */
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

/* Whether folder/name begins with the `bytes` bytes of this CRC that a checkpoint knows.  crc 0: the checkpoint is of
 * an older version, which did not keep it; then the last of those bytes must end a line where records are `lines`.  A
 * file that is empty or absent is nobody's.
 *
 *   RF_EARG    it is another run's, or another branch of this one's: cutting it would lose what is in it */
rf_status rf__journal_known(const char *folder, const char *name, int64_t bytes, uint32_t crc, bool lines,
                            rf_error *why);

/* Opens folder/name and cuts it to `bytes`, or keeps what there is of them. */
rf_status rf__journal_open(const char *folder, const char *name, int64_t bytes, rf__journal *out, rf_error *why);
void rf__journal_close(rf__journal *j);

/* Appends a record.  One that cannot be written as a whole is taken back. */
rf_status rf__journal_append(rf__journal *j, const void *data, size_t size, rf_error *why);

/* Never twice after a failure: records that were lost would count as written.  The checkpoints of this run end here. */
rf_status rf__journal_sync(rf__journal *j, rf_error *why);

#endif
