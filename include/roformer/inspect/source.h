/* source.h — the bytes of a file, with gzip or zstd taken off.
 *
 * The first bytes say whether a file is compressed, not its name.  Memory is bounded by the window of the format (zstd:
 * 128 MiB at most), what comes out by 1,000 times what went in, beyond 64 MiB.  Documents are read with reader.h.
 *
 * threads   one source, one thread at a time                                                                         */
#ifndef ROFORMER_SOURCE_H
#define ROFORMER_SOURCE_H

#include <stddef.h>

#include "roformer/context.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct rf_source rf_source;

/* Opens a file; "-" is standard input.
 *
 *   path             kept by the source: it must outlive it
 *   out              closed with rf_source_close; untouched on error
 *   RF_EIO           it cannot be opened or read, or is a folder
 *   RF_EUNSUPPORTED  xz, bzip2
 *   RF_EDATA         the name ends in .gz or .zst and the bytes are not such                                         */
rf_status rf_source_open(const rf_ctx *ctx, const char *path, rf_source **out, rf_error *why);

/* Whether a file that begins with these bytes is gzip or zstd: 1 yes, 0 no, -1 with more bytes it may be. */
int rf_source_compressed(const char *head, size_t size);

/* The same as rf_source_open of a file that is open, and of which `head` was read already.
 *
 *   fd      the source's from now on, also after a failure; standard input stays open
 *   size    at most 128 KiB: RF_EARG
 *   name    for messages; it must outlive the source                                                                 */
rf_status rf_source_continue(const rf_ctx *ctx, int fd, const char *head, size_t size, const char *name,
                             rf_source **out, rf_error *why);
void rf_source_close(rf_source *s);                              /* NULL is fine */

/* Up to `capacity` bytes to `to`, as soon as there are some; *got = 0 at the end, and only there.
 *
 *   RF_EDATA         damaged or truncated compression, or more than 1,000 bytes of one: the message names the byte
 *   RF_EUNSUPPORTED  UTF-16; a zstd window above 128 MiB                   RF_EIO   the system could not read        */
rf_status rf_source_read(rf_source *s, char *to, size_t capacity, size_t *got, rf_error *why);

/* Fails with the sentence about a text whose lines end with CR alone, as on old Macs: to all readers of lines it is one
 * line.  For a text that has no LF, and a CR that is not its last byte.
 *
 *   RF_EDATA   with a name, always: the message says how such a file is converted                                    */
rf_status rf_source_no_lines(const char *name, rf_error *why);

/* Fails where the first bytes of a text are those of an encoding of two bytes: a byte order mark, or zeros in every
 * other byte.
 *
 *   RF_EUNSUPPORTED   with the name, and what converts such a file                                                   */
rf_status rf_source_wide(const char *name, const char *data, size_t size, rf_error *why);

#ifdef __cplusplus
}
#endif
#endif
