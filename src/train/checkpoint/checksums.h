/* checksums.h — the list of a folder's files: COMPLETE of a checkpoint, checksums.json of a trained model.
 *
 *     {"crc32c": "<of the list itself>", "files": [{"crc32c": "89abcdef", "name": "config.json", "size": 612}, ...],
 *      "format": "roformer-checkpoint-1"}                                                                            */
#ifndef RF_TRAIN_CHECKSUMS_H
#define RF_TRAIN_CHECKSUMS_H

#include "base/base.h"
#include "roformer/folder.h"

/* Writes folder/list with `file`s that are there (NULL at the end), or with all that do not begin with '.'. */
rf_status rf__checksums_write(const rf_ctx *ctx, const char *folder, const char *list, const char *const file[],
                              rf_error *why);

#endif
