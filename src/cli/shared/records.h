/* records.h — texts of a file: its lines, the proteins of a FASTA file with their names, or documents, whose texts and
 * ids are members of lines of JSON or columns of a table. */
#ifndef CLI_RECORDS_H
#define CLI_RECORDS_H

#include "cli/io/io.h"
#include "cli/shared/fields.h"
#include "roformer/inspect/files.h"
#include "roformer/train.h"

typedef struct cli_records {
    cli_io *io;
    cli_lines lines;
    rf_reader *proteins;        /* NULL: texts are lines, or fields of them                                           */
    cli_fields fields;          /* if `documents`                                                                     */
    bool documents;
    const char *file;           /* for messages                                                                       */
    uint64_t number;            /* of the record returned last, from 1; of lines and documents: its (first) line      */
    bool warned;                /* a record looks like nucleotides                                                    */
} cli_records;

/* --input-format; the last three: cli_documents_open alone */
enum { CLI_INPUT_AUTO, CLI_INPUT_LINES, CLI_INPUT_FASTA, CLI_INPUT_JSONL, CLI_INPUT_CSV, CLI_INPUT_TSV };
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

/* The same for a command that reads documents, too. */
typedef struct cli_documents {
    int format;
    const char *text_field, *id_field;  /* id_field NULL: documents have no ids                                       */
} cli_documents;
#define CLI_DOCUMENTS_OPTIONS(type, member)                                                                            \
    {"input-format", 0, CLI_CHOICE, offsetof(type, member.format), "auto|lines|fasta|jsonl|csv|tsv", "auto", 0, 0,     \
     NULL,                                                                                                             \
     "lines: each line is a text; fasta: each record is a protein; jsonl: each line is an object of JSON; csv, tsv: "  \
     "the first line has the names of the columns, and tsv has no quotes; auto: by the extension (also before .gz, "   \
     ".zst): fasta for .fasta, .fa, .faa and .fas, jsonl for .jsonl and .ndjson, csv, tsv, otherwise lines", NULL},    \
        {"text-field", 0, CLI_TEXT, offsetof(type, member.text_field), "NAME", "text", 0, 0, NULL,                     \
         "member or column that has the text of a document; with jsonl, a.b is the member b of the member a", NULL},   \
    {                                                                                                                  \
        "id-field", 0, CLI_TEXT, offsetof(type, member.id_field), "NAME", NULL, 0, 0, NULL,                            \
            "member or column that has the id of a document, a string or a whole number", NULL                         \
    }
int cli_documents_format(int format, const char *path);    /* without CLI_INPUT_AUTO                                  */
rf_status cli_documents_open(cli_io *io, cli_records *r, const char *path, const cli_documents *d,
                             const rf_tokenizer *t);

/* The place at which the next record begins: the byte of the (uncompressed) text or, of FASTA, the number of records
 * before it; and continuing there, right after opening. */
uint64_t cli_records_at(const cli_records *r);
rf_status cli_records_go(cli_records *r, uint64_t at);

/* Says so if texts are FASTA files and the folder's vocabulary is not one of proteins. */
void cli_records_note(const cli_io *io, const char *folder, const rf_train_options *o);

/* *text is valid until the next call; NULL at the end or if a signal requested a stop.  *name: of a
 * protein, or the id of a document; "" for one without, and for lines. */
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
