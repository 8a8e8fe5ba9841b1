/* other_files.h — files that a conversion copies unchanged. */
#ifndef RF_CONVERT_OTHER_FILES_H
#define RF_CONVERT_OTHER_FILES_H

#include "base/base.h"
#include "roformer/tokenizer.h"

typedef struct rf__other_files {
    const rf_ctx *ctx;
    const char *from, *to;
    const char *skip;                   /* a folder below `from` that is left as it is, or NULL                       */
    bool other_vocabulary;              /* the tokenizer's files are not copied: another one replaces it              */
    const rf_tokenizer *words;          /* ... which this is, when files are copied                                   */
    bool overwrite;
    void (*report)(void *user, const char *name, const char *left_out);     /* or NULL                                */
    void *user;
} rf__other_files;

/* Checks whether all of them can be copied; nothing is written. RF_EIO names a file that exists in the target, or that
 * is neither a file nor a folder. */
rf_status rf__other_files_check(const rf__other_files *f, rf_error *why);

/* Renames to NAME.replaced what is left in `to` of another model, would be read with the new one, and is not in `from`.
 * `written`: names of files that the conversion writes, NULL at the end. */
rf_status rf__other_files_set_aside(const rf__other_files *f, const char *const *written, rf_error *why);

/* Copies them, each atomically, and reports each by its path below the folder; left_out: why it is not copied, or
 * NULL. */
rf_status rf__other_files_copy(const rf__other_files *f, rf_error *why);

#endif
