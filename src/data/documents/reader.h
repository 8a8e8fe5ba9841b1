/* reader.h — what the fuzz harness and the tests use besides the public header. */
#ifndef RF_READER_INTERNAL_H
#define RF_READER_INTERNAL_H

#include "roformer/inspect/files.h"
#include "roformer/tokenizer.h"

/* Copies the given options (NULL: none) over the defaults. */
rf_status rf__reader_options_read(rf_reader_options *own, const rf_reader_options *given, rf_error *why);

/* A reader of one file in memory, which must stay valid. */
rf_status rf__reader_from_memory(const rf_ctx *ctx, const void *data, size_t size, const char *name,
                                 const rf_reader_options *options, rf_reader **out, rf_error *why);

/* A hash of names, sizes, times and options: readers with the same stamp read the same bytes. 0: files that are not
 * regular, or too new. */
uint64_t rf__reader_stamp(const rf_reader *r);

/* Reads FASTA as the tokenizer needs it: sets residues_apart. */
rf_status rf__reader_residues(rf_reader *r, const rf_tokenizer *t, rf_error *why);

/*   RF_EDATA    size or time of a file has changed since the reader was opened */
rf_status rf__reader_unchanged(const rf_reader *r, rf_error *why);

/* The position of the next document. Returning to a position reads the part of the file before it again, without
 * tokenizing it. */
typedef struct rf_reader_position { int file; int64_t index; } rf_reader_position;
rf_reader_position rf__reader_tell(const rf_reader *r);

/* Continues at a position from rf__reader_tell.
 *
 *   RF_EARG    standard input has already been read
 *   RF_EDATA   the position is past the end */
rf_status rf__reader_seek(rf_reader *r, rf_reader_position position, rf_error *why);

/* A hash of the contents of all files, their names (without folders) and the options. It changes whenever the documents
 * change. The files are read; for standard input and pipes only the name is used.
 *
 *   RF_EIO           a file could not be read */
rf_status rf__reader_fingerprint(const rf_reader *r, uint64_t *out, rf_error *why);

#endif
