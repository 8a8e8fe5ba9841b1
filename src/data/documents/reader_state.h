/* reader_state.h — a reader, for the files that it is divided into: reader.c (lines, documents, files) and
 * reader_formats.c (the rule of each format). */
#ifndef RF_READER_STATE_H
#define RF_READER_STATE_H

#include "data/documents/content.h"
#include "roformer/inspect/files.h"

enum { RF__READER_LINE = 256 << 10, RF__READER_JSON_LINE = 64 << 20 };

struct rf__reader_file { char *path; rf__content is; };            /* state when the reader was opened */

struct rf_reader {
    const rf_ctx *ctx;
    rf_reader_options o;
    char *field;
    struct rf__reader_file *file;
    int files;
    const void *memory;                 /* the only file, if it is in memory                                         */
    size_t memory_size;

    int now;                            /* the file that is being read                                               */
    int64_t index;                      /* of its next document                                                      */
    rf_source *source;                 /* NULL: not open                                                            */
    rf_text_format format;
    bool used_stdin;
    rf_error stuck;                     /* the error that ended the reading                                          */

    char *line;                         /* bytes [at, end) are not used yet                                          */
    size_t line_capacity, at, end;
    int64_t number;                     /* of the line, from 1                                                       */
    size_t column;                      /* bytes of this line in earlier pieces                                      */
    bool cr;                            /* the first line has a CR that does not end it                              */
    bool ended;                         /* the source has no more                                                    */

    char *doc;                          /* bytes [from, size) have not been returned yet                             */
    size_t doc_capacity, from, size;
    bool complete;                      /* the document ends at `size`                                               */
    bool file_done;                     /* ... and the file with it                                                  */
    bool continues;
    bool inside;                        /* wiki: between <doc> and </doc>                                            */
    bool title_next;                    /* wiki: the next line may repeat the title; PIR: it is the description      */
    char title[512];                    /* wiki: of the document; FASTA: the record's name                           */
    bool stop;                          /* FASTA: the residues so far end with '*'                                   */
};

/* The file that is being read, in messages. */
const char *rf__reader_name(const rf_reader *r);
rf_status rf__reader_no_memory(const rf_reader *r, rf_error *why);

/* The format of the file whose first bytes are in the line buffer. */
rf_text_format rf__reader_format(const rf_reader *r);

/* Applies the format's rule to a piece of a line: appends its text to the document, and sets `complete` at a document's
 * end.
 *
 *   first, whole   the piece begins the line; the line ends with it */
rf_status rf__reader_apply(rf_reader *r, const char *p, size_t n, bool first, bool whole, rf_error *why);

/* The file has ended. RF_EDATA: not where its format allows it. */
rf_status rf__reader_end(rf_reader *r, rf_error *why);

#endif
