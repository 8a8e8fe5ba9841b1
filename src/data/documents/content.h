/* content.h — detects whether a file has changed, by a hash of all its bytes, or by its size and times. */
#ifndef RF_DATA_CONTENT_H
#define RF_DATA_CONTENT_H

#include "base/base.h"

/* Times in nanoseconds since 1970. size -1: not a regular file; changes cannot be detected without reading it. */
typedef struct rf__content { int64_t size, modified, changed; } rf__content;

/*   RF_EIO    it cannot be opened, or is a directory; "-" is standard input */
rf_status rf__content_read(const char *path, rf__content *out, rf_error *why);

/* A hash of what rf__content_read returned: if it is the same, the bytes are the same. 0: the file is so new that it
 * could change again within the same tick of the file system's clock. */
uint64_t rf__content_stamp(const rf__content *c, double now);

/* Whether size and modification time are unchanged. */
bool rf__content_same(const char *path, const rf__content *then);

/* A hash of all its bytes. */
rf_status rf__content_hash(const rf_ctx *ctx, const char *path, uint64_t *hash, rf_error *why);

#endif
