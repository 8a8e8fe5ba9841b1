/* fields.c — the text and the id of documents; see fields.h. */
#include <stdlib.h>
#include <string.h>

#include "cli/shared/fields.h"
#include "roformer/tokenizer.h"

/* file:line of a document, for messages. */
typedef struct place { char text[320]; } place;

static place place_of(const cli_lines *l, uint64_t line)
{
    place p;
    snprintf(p.text, sizeof p.text, "%.280s:%llu", l->name, (unsigned long long)cli_lines_number(l, line));
    return p;
}

/* ---- rows, which continue on the next line inside quotes --------------------------------------------------------- */

static rf_status add_bytes(cli_fields *f, const char *text, size_t size, rf_error *why)
{
    if (f->used + size + 1 > f->capacity) {
        const size_t wide = 2 * (f->used + size + 1);
        char *bytes = realloc(f->bytes, wide);
        if (!bytes) return rf_fail(why, RF_ENOMEM, "out of memory: a row of %zu bytes", wide);
        f->bytes = bytes;
        f->capacity = wide;
    }
    if (size) memcpy(f->bytes + f->used, text, size);
    f->used += size;
    f->bytes[f->used] = 0;
    return RF_OK;
}

static void cut_row(cli_fields *f)
{
    rf_table_cut(f->bytes, f->bytes + f->used, f->separator, f->separator == ',', f->row);
}

/* Whether a quoted field, inside which this line begins, ends on it. */
static bool closes_quote(const char *at, size_t size)
{
    for (size_t i = 0; i < size; i++) {
        if (at[i] != '"') continue;
        if (i + 1 == size || at[i + 1] != '"') return true;
        i++;
    }
    return false;
}

/* Appends lines up to the one that closes the open quote.  The row is cut again once for each field with line ends. */
static rf_status finish_quote(cli_fields *f, cli_lines *l, uint64_t line, rf_error *why)
{
    const char *text = NULL;
    size_t size = 0;
    rf_status status = RF_OK;
    for (bool closed = false; !closed && !status;) {
        status = add_bytes(f, &"\r\n"[!l->returned], 1 + (size_t)l->returned, why);
        if (!status) status = cli_lines_next(l, &text, &size, why);
        if (!status && !text && !cli_stopped())
            status = rf_fail(why, RF_EDATA, "%s: expected a closing quote for the one on this line, got none",
                             place_of(l, line + f->row->lines).text);
        if (status || !text) return status;
        if (f->used + size > CLI_LINE_MAX)
            return rf_fail(why, RF_EDATA, "%s: row: expected at most %d bytes, got more; a quote may be missing",
                           place_of(l, line + f->row->lines).text, CLI_LINE_MAX);
        closed = closes_quote(text, size);
        status = add_bytes(f, text, size, why);
    }
    cut_row(f);
    return status;
}

/* *line: its first line; 0: there is no further row.  Blank lines between rows of several columns are skipped. */
static rf_status next_row(cli_fields *f, cli_lines *l, uint64_t *line, rf_error *why)
{
    const char *text;
    size_t size;
    *line = 0;
    rf_status status;
    do {
        status = cli_lines_next(l, &text, &size, why);
    } while (!status && text && !size && f->columns != 1);
    if (status || !text) return status;
    const uint64_t first = l->number;
    f->used = 0;
    if ((status = add_bytes(f, text, size, why))) return status;
    cut_row(f);
    while (!status && f->row->fault == RF_ROW_OPEN && !cli_stopped()) status = finish_quote(f, l, first, why);
    if (status || f->row->fault == RF_ROW_OPEN) return status;
    if (f->row->fault == RF_ROW_AFTER)
        return rf_fail(why, RF_EDATA, "%s: expected a separator after a closing quote, got other text",
                       place_of(l, first).text);
    if (f->row->fault == RF_ROW_MANY)
        return rf_fail(why, RF_EDATA, "%s: expected at most %d columns, got more", place_of(l, first).text,
                       RF_TABLE_COLUMNS);
    rf_table_unquote(f->row);
    *line = first;
    return RF_OK;
}

/* A field as a text with a zero at its end, in the place of the separator, quote or line end after it. */
static const char *text_of(const rf_record_field *field)
{
    char *at = (char *)(uintptr_t)field->at;
    at[field->size] = 0;
    return at;
}

/* ---- the header -------------------------------------------------------------------------------------------------- */

static rf_status find_column(const cli_fields *f, const char *file, const char *name, int *column, rf_error *why)
{
    cli_names names = {0};
    *column = -1;
    for (size_t i = 0; i < f->row->n; i++) {
        const char *here = text_of(&f->row->field[i]);
        cli_names_add(&names, here);
        if (strcmp(here, name)) continue;
        if (*column >= 0)
            return rf_fail(why, RF_EDATA, "%.200s:1: header: expected one column '%.60s', got two", file, name);
        *column = (int)i;
    }
    if (*column >= 0) return RF_OK;
    return rf_fail(why, RF_EDATA, "%.200s:1: header: expected a column '%.60s', got %.200s; --text-field and "
                   "--id-field name others, --input-format lines reads each line as a text",
                   file, name, cli_names_text(&names));
}

static rf_status read_header(cli_fields *f, cli_lines *l, rf_error *why)
{
    uint64_t line;
    rf_status status = next_row(f, l, &line, why);
    if (!status && !line && !cli_stopped())
        status = rf_fail(why, RF_EDATA, "%.200s: expected a line with the names of the columns, got an empty file",
                         l->name);
    if (status || !line) return status;
    f->columns = f->row->n;
    status = find_column(f, l->name, f->text, &f->text_at, why);
    if (!status && f->id) status = find_column(f, l->name, f->id, &f->id_at, why);
    return status;
}

rf_status cli_fields_open(cli_fields *f, const rf_ctx *ctx, cli_lines *l, char separator, const char *text,
                          const char *id, rf_error *why)
{
    const char *const name[] = {text, id};
    *f = (cli_fields){.text = text, .id = id, .separator = separator, .id_at = -1};
    if (!separator) return rf_json_fields_new(ctx, name, id ? 2 : 1, &f->json, why);
    if (!(f->row = malloc(sizeof *f->row))) return rf_fail(why, RF_ENOMEM, "out of memory: a row of a table");
    return read_header(f, l, why);
}

void cli_fields_close(cli_fields *f)
{
    rf_json_fields_free(f->json);
    free(f->row);
    free(f->bytes);
    *f = (cli_fields){0};
}

/* ---- documents --------------------------------------------------------------------------------------------------- */

/* *line 0: there is no further object.  The place is found only for a message, since that may read the file again. */
static rf_status next_object(cli_fields *f, cli_lines *l, uint64_t *line, rf_error *why)
{
    const char *text;
    size_t size;
    *line = 0;
    rf_status status;
    do {
        status = cli_lines_next(l, &text, &size, why);
    } while (!status && text && rf_utf8_blank(text, size));
    if (status || !text) return status;
    *line = l->number;
    if (!rf_json_fields_read(f->json, text, size, l->name, NULL)) return RF_OK;
    return rf_json_fields_read(f->json, text, size, place_of(l, *line).text, why);
}

static rf_status check_document(const cli_fields *f, const cli_lines *l, const char *text, size_t size, const char *id,
                                size_t id_size, uint64_t line, rf_error *why)
{
    if (rf_utf8_blank(text, size))
        return rf_fail(why, RF_EDATA, "%s: \"%.60s\": expected a text, got %s; remove the document",
                       place_of(l, line).text, f->text, size ? "blanks" : "an empty one");
    if (!f->id) return RF_OK;
    bool fine = id_size && id_size <= CLI_ID_MAX;
    for (size_t i = 0; i < id_size && fine; i++) fine = (unsigned char)id[i] >= 32 && id[i] != 127;
    if (fine) return RF_OK;
    return rf_fail(why, RF_EDATA, "%s: \"%.60s\": expected an id of 1 to %d bytes without control characters, got %s",
                   place_of(l, line).text, f->id, CLI_ID_MAX,
                   !id_size ? "an empty one" : id_size > CLI_ID_MAX ? "a longer one" : "one with a control character");
}

static rf_status check_columns(const cli_fields *f, const cli_lines *l, uint64_t line, rf_error *why)
{
    if (f->row->n == f->columns) return RF_OK;
    return rf_fail(why, RF_EDATA, "%s: expected the %zu columns of the header, got %zu", place_of(l, line).text,
                   f->columns, f->row->n);
}

rf_status cli_fields_next(cli_fields *f, cli_lines *l, const char **text, size_t *size, const char **id,
                          uint64_t *line, rf_error *why)
{
    size_t id_size = 0;
    *text = NULL;
    *id = "";
    rf_status status = f->json ? next_object(f, l, line, why) : next_row(f, l, line, why);
    if (status || !*line) return status;
    if (!f->json && (status = check_columns(f, l, *line, why))) return status;
    if (f->json) {
        *text = rf_json_field(f->json, 0, size);
        if (f->id) *id = rf_json_field(f->json, 1, &id_size);
    } else {
        *text = text_of(&f->row->field[f->text_at]);
        *size = f->row->field[f->text_at].size;
        if (f->id) *id = text_of(&f->row->field[f->id_at]);
        if (f->id) id_size = f->row->field[f->id_at].size;
    }
    status = check_document(f, l, *text, *size, *id, id_size, *line, why);
    if (status) *text = NULL;
    return status;
}
