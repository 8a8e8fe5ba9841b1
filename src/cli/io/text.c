/* text.c — a growing text, and files that are written at once; see io.h. */
#include <stdlib.h>
#include <string.h>

#include "base/os/os.h"
#include "cli/io/io.h"

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

rf_status cli_write_file(const char *path, const void *data, size_t size, rf_error *why)
{
    cli_out out;
    rf_status status = cli_out_open(&out, path, why);
    if (status) return status;
    status = cli_out_write(&out, data, size, why);
    if (!status) status = cli_out_commit(&out, why);
    cli_out_discard(&out);
    return status;
}

rf_status cli_write_json(const char *path, json_t *value, size_t flags, rf_error *why)
{
    cli_text text = {0};
    const bool whole = cli_text_add_json(&text, value, flags) && cli_text_add(&text, "\n", 1);
    const rf_status status = whole ? cli_write_file(path, text.at, text.n, why)
                                   : rf_fail(why, RF_ENOMEM, "%.200s: out of memory", path);
    free(text.at);
    return status;
}

void cli_names_add(cli_names *names, const char *name)
{
    enum { END = 32 };                                                      /* for " and N more"                      */
    const size_t size = strlen(name) + (names->n ? 2 : 0), left = sizeof names->text - END - names->used;
    names->n++;
    if (names->more || size >= left) {
        names->more++;
        return;
    }
    snprintf(names->text + names->used, left, "%s%s", names->n > 1 ? ", " : "", name);
    names->used += size;
}

const char *cli_names_text(cli_names *names)
{
    if (names->more)
        snprintf(names->text + names->used, sizeof names->text - names->used, "%s%lld more",
                 names->used ? " and " : "", (long long)names->more);
    return names->text;
}

bool cli_text_print(cli_text *t)
{
    const bool good = cli_put_text(t->at, t->n);
    t->n = 0;
    return good;
}

/* Length of the character at p, and whether a terminal only displays it. */
static size_t character(const unsigned char *p, size_t left, bool lines, bool *shows)
{
    size_t n = 1;
    *shows = *p >= 32 && *p < 127;
    if (*p < 0x80) {
        if (lines) *shows |= *p == '\n' || *p == '\t' || (*p == '\r' && left > 1 && p[1] == '\n');
        return 1;
    }
    const size_t size = *p < 0xC2 ? 1 : *p < 0xE0 ? 2 : *p < 0xF0 ? 3 : *p < 0xF5 ? 4 : 1;
    while (n < size && n < left && (p[n] & 0xC0) == 0x80) n++;
    *shows = size > 1 && n == size && !(*p == 0xC2 && p[1] < 0xA0);     /* U+0080 to U+009F begin sequences, too      */
    return n;
}

size_t cli_shown(const char *text, size_t size, bool lines, size_t *control)
{
    bool shows = true;
    *control = 0;
    for (size_t at = 0, n; at < size; at += n) {
        n = character((const unsigned char *)text + at, size - at, lines, &shows);
        if (!shows) return *control = n, at;
    }
    return size;
}

bool cli_put_text(const char *text, size_t size)
{
    static int terminal = -1;
    if (terminal < 0) terminal = rf__os_terminal(1);
    if (!terminal) return !size || fwrite(text, 1, size, stdout) == size;
    for (size_t n, control; size; text += n + control, size -= n + control) {
        n = cli_shown(text, size, true, &control);
        if (fwrite(text, 1, n, stdout) != n || (control && putchar('?') == EOF)) return false;
    }
    return true;
}

void cli_put_name(const char *name) { cli_put_text(name, strlen(name)); }

rf_status cli_no_memory(cli_io *io) { return rf_fail(&io->why, RF_ENOMEM, "out of memory"); }
