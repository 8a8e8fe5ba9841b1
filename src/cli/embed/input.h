/* input.h — the files of a sharded run: pinned by size and hash, and cut into shards.
 *
 * The files are one sequence of bytes, of length T.  Shard R of N has the records that begin in
 * [T (R - 1) / N, T R / N), so every record is in one shard.  A file that can only be read from its beginning (gzip,
 * zstd, csv, whose fields may have line ends, and FASTA) counts as one record. */
#ifndef CLI_INPUT_H
#define CLI_INPUT_H

#include "cli/io/io.h"
#include "cli/shared/records.h"

/* Where a record begins: cli_records_at in file number `file`.  The end is {number of files, 0}. */
typedef struct cli_place { int64_t file; uint64_t at; } cli_place;

typedef struct cli_input_file {
    const char *path;
    int64_t size, modified;             /* modified: -1 if the file is so new that it may change without notice       */
    uint64_t hash;                      /* XXH3, as xxhsum -H3 prints it                                              */
    bool cut;                           /* it may be cut at line ends                                                 */
    uint64_t before;                    /* bytes of the files before it                                               */
} cli_input_file;

typedef struct cli_input {
    cli_input_file *file;
    int n;
    uint64_t total;
} cli_input;

/* Looks at the files and reads them for their hashes, except those whose size and time are as in the list `known`,
 * which cli_input_list has made (NULL: none).  Errors are in io->why.
 *
 *   RF_EARG    standard input, or another thing that is not a regular file */
rf_status cli_input_pin(cli_io *io, const cli_list *files, const cli_documents *d, const json_t *known, cli_input *in);
void cli_input_clear(cli_input *in);

/* [{"name", "size", "modified", "xxh3"}]: names without folders. */
json_t *cli_input_list(const cli_input *in);

/* RF_EDATA names the first file that is not as in the list `known` of `where`. */
rf_status cli_input_same(const cli_input *in, const json_t *known, const char *where, rf_error *why);

/* The hash of names, sizes and hashes. */
uint64_t cli_input_digest(const cli_input *in);

/* RF_EDATA: the size or time of a file has changed since it was pinned. */
rf_status cli_input_unchanged(const cli_input *in, rf_error *why);

/* The place at which shard number r, from 0, of n begins; r = n: the end. */
rf_status cli_input_cut(const cli_input *in, int64_t r, int64_t n, cli_place *out, rf_error *why);

#endif
