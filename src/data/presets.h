/* presets.h — what the names of tasks mean, and which files of a folder are meant.                                   */
#ifndef RF_TRAIN_PRESETS_H
#define RF_TRAIN_PRESETS_H

#include "base/base.h"
#include "roformer/finetune.h"

typedef struct rf__preset {
    const char *name;
    rf_task task;
    const char *text, *pair, *label;    /* columns; NULL: the usual names                                             */
    int bare[3];                        /* their numbers in files without a header; 0: none                           */
    const char *labels;                 /* in their order; NULL: those of the training file                           */
    const char *metric;
    int64_t bad;                        /* lines of the published files that are not what they should be, at most     */
    int64_t max_length;                 /* of GLUE's what the paper's fine-tuning had                                 */
} rf__preset;

/* RF_EARG lists the names that there are. */
rf_status rf__preset_find(const char *name, const rf__preset **out, rf_error *why);

/* `path` itself, or, of a folder, the one file in it that is named train.tsv or the like (part "train"), dev, val,
 * valid, validation or dev_matched ("dev"), with the ending of any format, also compressed.  RF_EDATA: none or several;
 * with `maybe` *out is "" when there is none. */
rf_status rf__preset_file(const char *path, const char *part, bool maybe, char *out, size_t size, rf_error *why);
bool rf__is_folder(const char *path);

#endif
