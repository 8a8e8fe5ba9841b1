/* records.h — texts of a file: its lines, or the proteins of a FASTA file with their names. */
#ifndef CLI_RECORDS_H
#define CLI_RECORDS_H

#include "cli/io/io.h"
#include "roformer/inspect/files.h"
#include "roformer/train.h"

typedef struct cli_records {
    cli_io *io;
    cli_lines lines;
    rf_reader *proteins;        /* NULL: texts are lines                                                              */
    const char *file;           /* for messages                                                                       */
    uint64_t number;            /* of the record returned last, from 1                                                */
    bool warned;                /* a record looks like nucleotides                                                    */
} cli_records;

/* --input-format */
enum { CLI_INPUT_AUTO, CLI_INPUT_LINES, CLI_INPUT_FASTA };
#define CLI_INPUT_FORMAT_OPTION(type, member)                                                                          \
    {                                                                                                                  \
        "input-format", 0, CLI_CHOICE, offsetof(type, member), "auto|lines|fasta", "auto", 0, 0, NULL,                 \
            "lines: each line is a text; fasta: each record is a protein; auto: fasta for *.fasta, *.fa, *.faa and "   \
            "*.fas (also .gz, .zst)",                                                                                  \
            NULL                                                                                                       \
    }

/* "-" is standard input.  Errors are in io->why.  t: proteins are read as it needs them, and a note says if its
 * vocabulary is not one of proteins; NULL: as they are. */
rf_status cli_records_open(cli_io *io, cli_records *r, const char *path, int format, const rf_tokenizer *t);

/* Says so if texts are FASTA files and the folder's vocabulary is not one of proteins. */
void cli_records_note(const cli_io *io, const char *folder, const rf_train_options *o);

/* *text is valid until the next call; NULL at the end or if a signal requested a stop.  *name: "" for lines. */
rf_status cli_records_next(cli_records *r, const char **text, size_t *size, const char **name);
void cli_records_close(cli_records *r);
bool cli_records_ready(const cli_records *r);   /* the next call will hardly wait                                     */

/* All texts of a file, in `text`, and the names of proteins, or "record 3" for one without a name, in `name`. */
rf_status cli_records_read(cli_io *io, const char *path, int format, const rf_tokenizer *t, cli_window *text,
                           cli_window *name);

/* How to display a record: its name, or "record 3" for a protein without one; NULL: the line itself. */
const char *cli_records_title(const cli_records *r, const char *name, char buffer[32]);

/* `inner`, preceded by the file and the number of its record, in io->why. */
rf_status cli_records_fail(const cli_records *r, uint64_t number, const rf_error *inner);

#endif
