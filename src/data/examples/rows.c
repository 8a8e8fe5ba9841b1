/* rows.c — the rows of tables, cut into fields; see roformer/inspect/records.h. */
#include "base/base.h"
#include "roformer/inspect/records.h"

/* The position after the quote that closes a field; NULL: there is none. */
static char *closing(char *at, const char *end, uint64_t *lines)
{
    for (at++; at < end; at++) {
        *lines += *at == '\n';
        if (*at != '"') continue;
        if (at + 1 >= end || at[1] != '"') return at + 1;
        at++;
    }
    return NULL;
}

void rf_table_cut(char *at, char *end, char separator, int quotes, rf_table_row *out)
{
    out->n = 0;
    out->lines = 1;
    out->fault = RF_ROW_FINE;
    for (;; at++) {
        char *const begin = at;
        const uint64_t above = out->lines - 1;
        const bool quoted = quotes && at < end && *at == '"';
        if (quoted && !(at = closing(at, end, &out->lines))) {
            out->fault = RF_ROW_OPEN;
            out->lines = above;
            return;
        }
        char *to = at;
        while (at < end && *at != separator && *at != '\n') at++;
        ptrdiff_t cr = 0;               /* CR CR LF, which Python's csv writes on Windows without newline="", too     */
        while ((at == end || *at == '\n') && at - cr > to && at[-1 - cr] == '\r') cr++;
        if (quoted && at - cr > to) out->fault = RF_ROW_AFTER;
        if (!quoted) to = at - cr;
        if (out->n < RF_TABLE_COLUMNS) {
            out->quoted[out->n] = quoted;
            out->field[out->n++] = (rf_record_field){begin, (size_t)(to - begin)};
        } else {
            out->fault = RF_ROW_MANY;
        }
        if (at >= end || *at == '\n') break;
    }
    out->next = at < end ? at + 1 : end;
}

void rf_table_unquote(rf_table_row *row)
{
    for (size_t i = 0; i < row->n; i++) {
        if (!row->quoted[i]) continue;
        char *from = (char *)(uintptr_t)row->field[i].at + 1, *to = from, *const end = from + row->field[i].size - 2;
        row->field[i].at = to;
        for (; from < end; from++) {
            *to++ = *from;
            from += *from == '"';
        }
        row->field[i].size = (size_t)(to - row->field[i].at);
    }
}
