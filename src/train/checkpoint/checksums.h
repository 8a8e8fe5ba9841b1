/* checksums.h — the list of a folder's files: COMPLETE of a checkpoint, checksums.json of a trained model.
 *
 *     {"crc32c": "<of the list itself>", "files": [{"crc32c": "89abcdef", "name": "config.json", "size": 612}, ...],
 *      "format": "roformer-checkpoint-1"}                                                                            */
#ifndef RF_TRAIN_CHECKSUMS_H
#define RF_TRAIN_CHECKSUMS_H

#include "base/base.h"
#include "roformer/checkpoint.h"
#include "roformer/inspect/folder.h"

/* Writes folder/list with those of `file` that exist (NULL at the end), or with all files whose names do not begin with
 * '.'. */
rf_status rf__checksums_write(const rf_ctx *ctx, const char *folder, const char *list, const char *const file[],
                              rf_error *why);

/* RF_FILE_CHECKSUMS of a model's folder: all files that a result depends on, which are configuration, weights, files of
 * the tokenizer and of generation, and those of sentence-transformers with the folders of its modules. The list must be
 * removed before any of these files is written, so that it never describes files of another model. */
rf_status rf__checksums_of_model(const rf_ctx *ctx, const char *folder, rf_error *why);
rf_status rf__checksums_remove(const char *folder, rf_error *why);

/* RF_EDATA: the folder has a list that matches its weights, and one of `file` (NULL at the end; settings, which may be
 * changed, are skipped) differs from it: the weights were trained with other tokens. */
rf_status rf__checksums_tokenizer(const rf_ctx *ctx, const char *folder, const char *const file[], rf_error *why);

#endif
