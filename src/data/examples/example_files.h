/* example_files.h — finds the example files in a folder. */
#ifndef RF_DATA_EXAMPLE_FILES_H
#define RF_DATA_EXAMPLE_FILES_H

#include "base/base.h"

/* `path` itself or, for a folder, the one file in it that is named train.tsv or the like (part "train"), or dev, val,
 * valid, validation or dev_matched (part "dev"), with the extension of any format, also compressed. RF_EDATA: none or
 * several; with `maybe`, *out is "" if there is none. */
rf_status rf__example_file(const char *path, const char *part, bool maybe, char *out, size_t size, rf_error *why);
bool rf__is_folder(const char *path);

#endif
