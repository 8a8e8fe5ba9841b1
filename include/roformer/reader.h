/* reader.h — documents from text files, one after the other, in bounded memory.
 *
 * A file is plain text, JSON lines, or WikiExtractor's `<doc ...>` ... `</doc>`; each may be compressed with gzip or
 * zstd (recognized by its first bytes); "-" is standard input.  Text is UTF-8, with or without BOM, with LF or CRLF;
 * what is given out is valid UTF-8 with LF (a JSON string: as it is).  Documents of nothing but white space are left
 * out.
 *
 *     rf_reader_open(ctx, paths, n, NULL, &r, &why);
 *     while (!(status = rf_reader_next(r, &d, &why)) && d.text) use(d.text, d.size);
 *     rf_reader_close(r);
 *
 * threads   one reader, one thread at a time                                                                         */
#ifndef ROFORMER_READER_H
#define ROFORMER_READER_H

#include <stddef.h>
#include <stdint.h>

#include "roformer/context.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef enum rf_text_format {
    RF_TEXT_AUTO,           /* *.jsonl, *.ndjson (also *.gz, *.zst): JSON lines; first line `<doc `: wiki; else plain */
    RF_TEXT_PLAIN,
    RF_TEXT_JSONL,              /* one object per line; its member `field` is the document                            */
    RF_TEXT_WIKI                /* WikiExtractor; &lt; &gt; &amp; &quot; are decoded                                  */
} rf_text_format;

/* What separates the documents of plain text. */
typedef enum rf_text_split {
    RF_SPLIT_BLANK,             /* blank lines                                                                        */
    RF_SPLIT_LINE,              /* each line is a document                                                            */
    RF_SPLIT_HEADING,           /* a line " = Title = ", as in WikiText; blank lines are left out                     */
    RF_SPLIT_FILE               /* nothing: a file is one document                                                    */
} rf_text_split;

typedef struct rf_reader_options {
    size_t size;                /* of this struct, set by rf_reader_defaults                                          */
    rf_text_format format;      /* RF_TEXT_AUTO                                                                       */
    rf_text_split split;        /* RF_SPLIT_BLANK                                                                     */
    const char *field;          /* NULL: "text"                                                                       */
    int keep_titles;            /* of wiki documents and headings; they are dropped otherwise                         */
    size_t max_document;        /* bytes, 64 .. 2^30; 0: 1 MiB.  A longer document is cut, at a line or word if one ends
                                   near, and goes on as the next one                                                  */
} rf_reader_options;
void rf_reader_options_init(rf_reader_options *o, size_t size);
#define rf_reader_defaults(o) rf_reader_options_init((o), sizeof *(o))
enum { RF_READER_OPTIONS_MOST = 128 };      /* bytes that they may grow to in a struct that holds them */

typedef struct rf_reader rf_reader;

/* A document, lent until the next call of its reader. */
typedef struct rf_document {
    const char *text;           /* not terminated; NULL: there are no more                                            */
    size_t size;
    int file;                   /* index into `paths`                                                                 */
    int64_t index;              /* in its file, from 0; pieces of a long document count one by one                    */
    int continues;              /* 1: goes on where the document before was cut                                       */
} rf_document;

/* Looks at every file (it must exist), reads nothing yet.
 *
 *   options    NULL: the defaults
 *   out        closed with rf_reader_close; untouched on error
 *   RF_EARG    no path, options that were not filled in, max_document out of range, standard input named twice
 *   RF_EIO     a file that cannot be read or is a folder                                                             */
rf_status rf_reader_open(const rf_ctx *ctx, const char *const paths[], int n, const rf_reader_options *options,
                         rf_reader **out, rf_error *why);
void rf_reader_close(rf_reader *r);

/* The next document, or text = NULL at the end.  A failure stays: later calls give it again.
 *
 *   RF_EDATA     file:line (or file and byte, when compressed data is at fault): invalid UTF-8, a line that is not JSON
 *                or lacks the field, truncated or damaged compression, data that expands more than 1000 times,
 *                    a file whose size changed since rf_reader_open
 *   RF_EUNSUPPORTED  xz, bzip2, UTF-16, a zstd window above 128 MiB
 *   RF_EIO           the operating system could not read                                                             */
rf_status rf_reader_next(rf_reader *r, rf_document *out, rf_error *why);

/* Where the next document is; to go there again needs reading (not tokenizing) what is before it in its file. */
typedef struct rf_reader_position { int file; int64_t index; } rf_reader_position;
rf_reader_position rf_reader_tell(const rf_reader *r);

/*   RF_EARG    standard input, once it was read
 *   RF_EDATA   the place is past the end                                                                             */
rf_status rf_reader_seek(rf_reader *r, rf_reader_position position, rf_error *why);

/* A hash of all bytes of the files, of their names (without folders) and of the options: differs when the documents do.
 * Reads the files; standard input and pipes count by their names.
 *
 *   RF_EIO           a file could not be read                                                                        */
rf_status rf_reader_fingerprint(const rf_reader *r, uint64_t *out, rf_error *why);

/* Share of all files' bytes that was read, 0 .. 1; negative when standard input or a pipe is among them. */
double rf_reader_share(const rf_reader *r);

#ifdef __cplusplus
}
#endif
#endif
