/* source.h — reads a file and decompresses gzip and zstd.
 *
 * Compression is detected from the first bytes, not from the name. Memory is bounded by the window of the format (zstd:
 * at most 128 MiB). Output beyond 64 MiB is limited to 1,000 times the input. To read documents, use reader.h.
 *
 * threads   a source may be used by one thread at a time */
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
 *   path             not copied: it must outlive the source
 *   out              closed with rf_source_close; unchanged on error
 *   RF_EIO           the file cannot be opened or read, or is a folder
 *   RF_EUNSUPPORTED  xz, bzip2, Parquet, a zip archive (a workbook of Excel is one)
 *   RF_EDATA         the name ends in .gz or .zst, but the content is not in that format; a pointer of Git LFS stands
 *                    in place of the file */
rf_status rf_source_open(const rf_ctx *ctx, const char *path, rf_source **out, rf_error *why);

/* Whether a file has to be read as a source: it begins with the bytes of gzip, zstd, xz, bzip2 or of a file that is
 * refused, or its name ends in .gz or .zst. 1: yes; 0: no, it is plain; -1: undecided, more bytes are needed.
 *
 *   name   of the file; may be NULL */
int rf_source_compressed(const char *name, const char *head, size_t size);

/* Opens a source on an open file of which `head` has already been read.
 *
 *   fd      belongs to the source from now on, also after a failure; standard input is not closed
 *   size    at most 128 KiB, else RF_EARG
 *   name    for messages; it must outlive the source */
rf_status rf_source_continue(const rf_ctx *ctx, int fd, const char *head, size_t size, const char *name,
                             rf_source **out, rf_error *why);
void rf_source_close(rf_source *s);                              /* NULL is allowed */

/* Reads up to `capacity` bytes as soon as some are available. *got is 0 only at the end.
 *
 *   RF_EDATA         damaged or truncated compression, or expansion of more than 1,000 times; the message names the
 *                    byte
 *   RF_EUNSUPPORTED  UTF-16; a zstd window above 128 MiB
 *   RF_EIO           the operating system could not read */
rf_status rf_source_read(rf_source *s, char *to, size_t capacity, size_t *got, rf_error *why);

/* Reports a text whose lines end with CR only, as on old Macs, which line readers would take for a single line. Call it
 * for a text that has no LF but has a CR that is not its last byte.
 *
 *   RF_EDATA   always; the message has the name and says how to convert such a file */
rf_status rf_source_no_lines(const char *name, rf_error *why);

/* Fails if the first bytes of a text are those of a two-byte encoding: a byte order mark, or a zero in every other
 * byte.
 *
 *   RF_EUNSUPPORTED   the message has the name and says how to convert such a file */
rf_status rf_source_wide(const char *name, const char *data, size_t size, rf_error *why);

#ifdef __cplusplus
}
#endif
#endif
