/* source.h — the bytes of a file, with compression taken off.  Used by reader.c. */
#ifndef RF_SOURCE_H
#define RF_SOURCE_H

#include "base/base.h"

typedef struct rf__source rf__source;

/* Opens a file ("-": standard input; gzip and zstd by their first bytes). */
rf_status rf__source_open(const rf_ctx *ctx, const char *path, rf__source **out, rf_error *why);

/* The same from memory, which stays the caller's.  `name` is for messages. */
rf_status rf__source_from_memory(const rf_ctx *ctx, const void *data, size_t size, const char *name, rf__source **out,
                                 rf_error *why);

/* Whether a file that begins so is gzip or zstd: 1 yes, 0 no, -1 with more bytes it may be. */
int rf__source_compressed(const char *head, size_t size);

/* Goes on with an open file, of which `head` (at most 128 KiB) was read.  The file is the source's from now on, also
 * after a failure. */
rf_status rf__source_go_on(const rf_ctx *ctx, int fd, const char *head, size_t size, const char *name, rf__source **out,
                           rf_error *why);
void rf__source_close(rf__source *s);

/* Up to `capacity` bytes; *got = 0 at the end, and only there. */
rf_status rf__source_read(rf__source *s, char *to, size_t capacity, size_t *got, rf_error *why);

/* Bytes of the file itself that were used. */
uint64_t rf__source_used(const rf__source *s);

#endif
