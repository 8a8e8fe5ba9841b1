/* example_files.h — find the example files in a folder.                                                              */
#ifndef RF_DATA_EXAMPLE_FILES_H
#define RF_DATA_EXAMPLE_FILES_H

#include "base/base.h"

/* `path` itself, or, of a folder, the one file in it that is named train.tsv or the like (part "train"), dev, val,
 * valid, validation or dev_matched ("dev"), with the ending of any format, also compressed.  RF_EDATA: none or several;
 * with `maybe` *out is "" when there is none. */
rf_status rf__example_file(const char *path, const char *part, bool maybe, char *out, size_t size, rf_error *why);
bool rf__is_folder(const char *path);

#endif
