/* checksums.h — the list of a folder's files: COMPLETE of a checkpoint, checksums.json of a trained model.
 *
 *     {"crc32c": "<of the list itself>", "files": [{"crc32c": "89abcdef", "name": "config.json", "size": 612}, ...],
 *      "format": "roformer-checkpoint-1"}                                                                            */
#ifndef RF_TRAIN_CHECKSUMS_H
#define RF_TRAIN_CHECKSUMS_H

#include "base/base.h"

/* Writes folder/list with `file`s that are there (NULL at the end), or with all that do not begin with '.'. */
rf_status rf__checksums_write(const rf_ctx *ctx, const char *folder, const char *list, const char *const file[],
                              rf_error *why);

/* Told of each file: `damage` is "CRC", "missing", "5 bytes instead of 7", or NULL: as it was written. */
typedef void rf__checksums_report(void *user, const char *file, const char *damage);

/* Compares the files with folder/list, to the end when there is a report, else up to the first damage.
 *   RF_EDATA     names the first file that is damaged: "model.safetensors: CRC", short enough for a note             */
rf_status rf__checksums_verify(const rf_ctx *ctx, const char *folder, const char *list, rf__checksums_report *report,
                               void *user, rf_error *why);

#endif
