/* content.h — detect whether a file has changed: a hash of all its bytes, and its size and times. */
#ifndef RF_DATA_CONTENT_H
#define RF_DATA_CONTENT_H

#include "base/base.h"

/* Times in nanoseconds since 1970.  size -1: not a regular file, of which nothing can be known without reading. */
typedef struct rf__content { int64_t size, modified, changed; } rf__content;

/*   RF_EIO    it cannot be opened, or is a directory; "-" is standard input */
rf_status rf__content_look(const char *path, rf__content *out, rf_error *why);

/* A hash of what rf__content_look saw: as long as it is the same, the bytes are.  0: of a file that is so young that it
 * could change within the same tick of the clock of files. */
uint64_t rf__content_stamp(const rf__content *c, double now);

/* Whether size and time of modification are what they were. */
bool rf__content_same(const char *path, const rf__content *then);

/* A hash of all its bytes. */
rf_status rf__content_hash(const rf_ctx *ctx, const char *path, uint64_t *hash, rf_error *why);

#endif
