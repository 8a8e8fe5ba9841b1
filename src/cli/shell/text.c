/* text.c — a text that grows; see io.h. */
#include <stdlib.h>
#include <string.h>

#include "cli/shell/io.h"

bool cli_text_add(cli_text *t, const char *text, size_t n)
{
    if (t->capacity - t->n < n) {
        const size_t more = 2 * (t->n + n) + 64;
        char *fresh = realloc(t->at, more);
        if (!fresh) return false;
        t->at = fresh;
        t->capacity = more;
    }
    if (n) memcpy(t->at + t->n, text, n);
    t->n += n;
    return true;
}

bool cli_text_add_json(cli_text *t, json_t *value, size_t flags)
{
    char *dumped = value ? cli_json_dump(value, flags) : NULL;
    const bool good = dumped && cli_text_add(t, dumped, strlen(dumped));
    free(dumped);
    json_decref(value);
    return good;
}

bool cli_text_print(cli_text *t)
{
    const bool good = !t->n || fwrite(t->at, 1, t->n, stdout) == t->n;
    t->n = 0;
    return good;
}

rf_status cli_no_memory(cli_io *io) { return rf_fail(&io->why, RF_ENOMEM, "out of memory"); }
