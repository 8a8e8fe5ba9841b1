/* records.h — the named fields of a record: the fields of a row of a table (CSV, TSV), and the members of an object of
 * JSON on a line (JSON Lines).
 *
 *     rf_table_cut(at, end, ',', 1, &row);
 *     if (row.fault == RF_ROW_FINE) rf_table_unquote(&row);
 *     for (int i = 0; i < row.n; i++) use(row.field[i].at, row.field[i].size);
 *
 *     rf_json_fields_new(ctx, name, 2, &f, &why)
 *     if (!rf_json_fields_read(f, line, bytes, "docs.jsonl:7", &why)) use(rf_json_field(f, 0, &size), size);
 *
 * threads   a row or a set of fields may be used by one thread at a time */
#ifndef ROFORMER_RECORDS_H
#define ROFORMER_RECORDS_H

#include <stddef.h>
#include <stdint.h>

#include "roformer/context.h"

#ifdef __cplusplus
extern "C" {
#endif

/* ---- rows of tables ---- */

enum { RF_TABLE_COLUMNS = 256 };

/* Bytes of a text that belongs to another object; not terminated by a zero. */
typedef struct rf_record_field { const char *at; size_t size; } rf_record_field;

typedef enum rf_row_fault {
    RF_ROW_FINE,
    RF_ROW_OPEN,                /* a quote is not closed before `end` */
    RF_ROW_AFTER,               /* a closing quote is followed by other text than a separator */
    RF_ROW_MANY                 /* more than RF_TABLE_COLUMNS fields; the others are cut, too */
} rf_row_fault;

typedef struct rf_table_row {
    rf_record_field field[RF_TABLE_COLUMNS];
    int quoted[RF_TABLE_COLUMNS];       /* 1: the field was in quotes */
    size_t n;                           /* fields */
    char *next;                         /* the first byte after the row's line end */
    uint64_t lines;                     /* lines of the row; RF_ROW_OPEN: the lines before the quote */
    rf_row_fault fault;
} rf_table_row;

/* Finds the fields of the row that begins at `at`, with their quotes (RFC 4180):
 *
 *     row     field (separator field)*  LF | CRLF | CR CR LF | end
 *     field   '"' (not '"' | '""')* '"',  or anything without the separator
 *
 *   quotes   0: a quote is an ordinary character, and a field has no line ends
 *   cost     one pass over the row */
void rf_table_cut(char *at, char *end, char separator, int quotes, rf_table_row *out);

/* Removes the quotes of a row without fault in place: doubled quotes become single ones. Called once. */
void rf_table_unquote(rf_table_row *row);

/* ---- members of JSON ---- */

enum { RF_MAX_JSON_FIELDS = 8 };

typedef struct rf_json_fields rf_json_fields;

/* Prepares to read fields by these names. The name "meta.id" is the member "meta.id" of the object, if there is one,
 * otherwise the member "id" of its member "meta".
 *
 *   name       [n], n from 1 to RF_MAX_JSON_FIELDS; copied
 *   out        freed with rf_json_fields_free; unchanged on error
 *   RF_EARG    n is out of range, or a name is empty
 *   RF_ENOMEM  out of memory */
rf_status rf_json_fields_new(const rf_ctx *ctx, const char *const name[], int n, rf_json_fields **out, rf_error *why);
void rf_json_fields_free(rf_json_fields *f);                    /* NULL is allowed */

/* Reads the fields of an object of JSON. A field is a string, or a whole number, which becomes its decimal digits.
 *
 *   where      names the object in messages
 *   cost       memory: at most about 200 MB, for the largest number of values that is allowed, and the text
 *   RF_EDATA   not an object of JSON in UTF-8; a name that occurs twice; too many values; a field that is missing or
 *              another value: the message has its name and the value */
rf_status rf_json_fields_read(rf_json_fields *f, const char *text, size_t bytes, const char *where, rf_error *why);

/* The value of name[i], UTF-8 without U+0000 and terminated by a zero. It is valid until the next call of
 * rf_json_fields_read. NULL: nothing has been read, or there is no such field. */
const char *rf_json_field(const rf_json_fields *f, int i, size_t *bytes);

#ifdef __cplusplus
}
#endif
#endif
