/* reader.h — reads documents from text files, one after the other, with bounded memory.
 *
 * A file is plain text, JSON lines, FASTA, or WikiExtractor's `<doc ...>` ... `</doc>`. It may be compressed with gzip
 * or zstd, which is detected from its first bytes. "-" is standard input. Text is UTF-8, with or without BOM, with LF
 * or CRLF. Documents are returned as valid UTF-8 with LF; JSON strings are returned unchanged. Documents with only
 * white space are skipped.
 *
 *     rf_reader_open(ctx, paths, n, NULL, &r, &why);
 *     while (!(status = rf_reader_next(r, &d, &why)) && d.text) use(d.text, d.size);
 *     rf_reader_close(r);
 *
 * threads   a reader may be used by one thread at a time */
#ifndef ROFORMER_READER_H
#define ROFORMER_READER_H

#include <stddef.h>
#include <stdint.h>

#include "roformer/context.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef enum rf_text_format {
    RF_TEXT_AUTO,               /* *.jsonl, *.ndjson (also .gz, .zst): JSON lines; *.fasta, *.fa, *.faa, *.fas (the
                                   same): FASTA; first line `<doc `: wiki; else plain */
    RF_TEXT_PLAIN,
    RF_TEXT_JSONL,              /* one object per line; its member `field` is the document */
    RF_TEXT_WIKI,               /* WikiExtractor; &lt; &gt; &amp; &quot; are decoded */
    RF_TEXT_FASTA               /* proteins: each record is a document, its lines joined; small letters become capital
                                   ones, and a '*' at the end is dropped */
} rf_text_format;

/* The format that RF_TEXT_AUTO selects by a file's name alone: RF_TEXT_JSONL, RF_TEXT_FASTA, or RF_TEXT_AUTO if the
 * contents decide. */
rf_text_format rf_text_format_of(const char *path);

/* What separates the documents in plain text. */
typedef enum rf_text_split {
    RF_SPLIT_BLANK,             /* blank lines */
    RF_SPLIT_LINE,              /* line ends: each line is a document */
    RF_SPLIT_HEADING,           /* lines " = Title = ", as in WikiText; blank lines are skipped */
    RF_SPLIT_FILE               /* nothing: each file is a document */
} rf_text_split;

typedef struct rf_reader_options {
    size_t size;                /* of this struct, set by rf_reader_defaults */
    rf_text_format format;      /* default RF_TEXT_AUTO */
    rf_text_split split;        /* default RF_SPLIT_BLANK */
    const char *field;          /* member with the text; NULL: "text" */
    int keep_titles;            /* 1: keep the titles of wiki documents and headings; default 0 */
    size_t max_document;        /* in bytes, 64 to 2^30; 0: 1 MiB. A longer document is split, if possible at the end
                                   of a line or word, and continues as the next document */
    int residues_apart;         /* FASTA: 1: a blank between two residues (RF_RESIDUES_APART); default 0 */
} rf_reader_options;
void rf_reader_options_init(rf_reader_options *o, size_t size);
#define rf_reader_defaults(o) rf_reader_options_init((o), sizeof *(o))
enum { RF_READER_OPTIONS_MOST = 128 };      /* maximum size in later versions, reserved in structs that contain it */

typedef struct rf_reader rf_reader;

/* A document, valid until the next call of its reader. */
typedef struct rf_document {
    const char *text;           /* not terminated by a zero; NULL: no more documents */
    size_t size;
    int file;                   /* index into `paths` */
    int64_t index;              /* number in its file, from 0; parts of a split document are counted separately */
    int continues;              /* 1: continues the previous document, which was split */
    const char *name;           /* FASTA: first word of the record's header; else "" */
} rf_document;

/* Opens the reader. Every file must exist; nothing is read yet.
 *
 *   options    NULL: the defaults
 *   out        closed with rf_reader_close; unchanged on error
 *   RF_EARG    no path; the options were not initialized; max_document is out of range; standard input is named twice
 *   RF_EIO     a file cannot be read or is a folder */
rf_status rf_reader_open(const rf_ctx *ctx, const char *const paths[], int n, const rf_reader_options *options,
                         rf_reader **out, rf_error *why);
void rf_reader_close(rf_reader *r);

/* Reads the next document; text is NULL after the last. After a failure, later calls return the same error.
 *
 *   RF_EDATA     the message names file and line, or file and byte of compressed data: invalid UTF-8; a line that is
 *                not JSON or lacks the field; truncated or damaged compression; data that expands more than 1000 times;
 *                a file whose size changed since rf_reader_open; FASTA: residues before the first header, a record
 *                without residues, '*' within a record, other characters than letters, '-', '.' and '*'
 *   RF_EUNSUPPORTED  xz, bzip2, UTF-16, or a zstd window above 128 MiB
 *   RF_EIO           the operating system could not read */
rf_status rf_reader_next(rf_reader *r, rf_document *out, rf_error *why);

/* Fraction of the bytes of all files that has been read, 0 to 1; negative if standard input or a pipe is among them. */
double rf_reader_share(const rf_reader *r);

#ifdef __cplusplus
}
#endif
#endif
