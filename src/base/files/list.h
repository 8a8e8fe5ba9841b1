/* list.h — the names in a folder of the file system, sorted. */
#ifndef RF_LIST_H
#define RF_LIST_H

#include "base/base.h"

typedef struct rf__names {
    const rf_ctx *ctx;
    const char **name;                  /* point into `text` */
    size_t n;
    char *text;
} rf__names;

/* All names except "." and "..", in the order of strcmp. RF_EIO: the folder cannot be read; RF_ENOMEM. */
rf_status rf__names_in(const rf_ctx *ctx, const char *folder, rf__names *out, rf_error *why);
void rf__names_free(rf__names *names);

#endif
