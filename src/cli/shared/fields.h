/* fields.h — documents in lines of JSON or in rows of a table: the text and the id of each. */
#ifndef CLI_FIELDS_H
#define CLI_FIELDS_H

#include "cli/io/io.h"
#include "roformer/inspect/records.h"

typedef struct cli_fields {
    const char *text, *id;              /* names of the fields; id NULL: documents have none                          */
    rf_json_fields *json;               /* lines of JSON; NULL: a table                                               */
    char separator;                     /* of a table: ',' with quotes, '\t' without                                  */
    rf_table_row *row;
    char *bytes;                        /* of the row, which may have several lines                                   */
    size_t used, capacity;
    int text_at, id_at;                 /* columns from 0; -1: there is none                                          */
    size_t columns;
} cli_fields;

/* Reads the header of a table from `l`.  separator 0: lines of JSON.  Names must stay valid.  RF_EDATA: there is no
 * such column, or it occurs twice. */
rf_status cli_fields_open(cli_fields *f, const rf_ctx *ctx, cli_lines *l, char separator, const char *text,
                          const char *id, rf_error *why);

/* The next document; *text and *id ("" if they have none) are valid until the next call.  *text NULL: the end, or a
 * signal requested a stop.  *line: the (first) line of the document.  RF_EDATA, with the file and the line: a document
 * without a text, or with a blank one; one without an id, or with an id that is not one line of at most CLI_ID_MAX
 * bytes. */
enum { CLI_ID_MAX = 4096 };
rf_status cli_fields_next(cli_fields *f, cli_lines *l, const char **text, size_t *size, const char **id,
                          uint64_t *line, rf_error *why);
void cli_fields_close(cli_fields *f);

#endif
