/* window.c — texts that a command processes together; see io.h. */
#include <stdlib.h>
#include <string.h>

#include "cli/io/io.h"

enum { LEAST_TEXTS = 64, LEAST_BYTES = 1 << 14 };

static rf_status no_memory(size_t bytes, rf_error *why)
{
    return rf_fail(why, RF_ENOMEM, "out of memory: %zu bytes of text", bytes);
}

rf_status cli_window_add(cli_window *w, const char *text, size_t size, rf_error *why)
{
    if (size >= SIZE_MAX / 4 - w->used) return no_memory(size, why);
    if (w->used + size + 1 > w->capacity) {
        size_t wide = w->capacity ? 2 * w->capacity : LEAST_BYTES;
        if (wide < w->used + size + 1) wide = w->used + size + 1;
        char *bytes = realloc(w->bytes, wide);
        if (!bytes) return no_memory(wide, why);
        w->bytes = bytes;
        w->capacity = wide;
    }
    if ((size_t)w->n == w->texts) {
        const size_t wide = w->texts ? 2 * w->texts : LEAST_TEXTS;
        size_t *sizes = realloc(w->size, wide * sizeof *sizes);
        if (sizes) w->size = sizes;
        const char **texts = realloc((void *)w->text, wide * sizeof *texts);
        if (texts) w->text = texts;
        if (!sizes || !texts) return no_memory(wide * sizeof *sizes, why);
        w->texts = wide;
    }
    if (size) memcpy(w->bytes + w->used, text, size);
    w->bytes[w->used + size] = 0;
    w->used += size + 1;
    w->size[w->n++] = size;
    return RF_OK;
}

const char *const *cli_window_texts(cli_window *w)
{
    const char *at = w->bytes;
    for (int64_t i = 0; i < w->n; i++) {
        w->text[i] = at;
        at += w->size[i] + 1;
    }
    return w->text;
}

void cli_window_empty(cli_window *w)
{
    w->n = 0;
    w->used = 0;
}

void cli_window_clear(cli_window *w)
{
    free(w->bytes);
    free(w->size);
    free((void *)w->text);
    *w = (cli_window){0};
}

rf_status cli_window_run(cli_io *io, const cli_list *operands, cli_window *w, uint64_t *first,
                         rf_status (*answer)(void *user, const cli_texts *in), void *user)
{
    cli_texts in = {0};
    const char *text = "";
    size_t size;
    rf_status status = cli_texts_open(io->ctx, &in, operands, &io->why);
    while (!status && text && !cli_stopped()) {
        rf_status bad = cli_texts_next(&in, &text, &size, &io->why);
        if (!w->n) *first = cli_texts_number(&in);
        if (!bad && text) bad = cli_window_add(w, text, size, &io->why);
        if (!bad && text && w->n < CLI_WINDOW && cli_texts_ready(&in)) continue;
        const rf_error unread = io->why;
        io->why = (rf_error){0};
        status = answer(user, &in);
        if (status || !bad) continue;
        io->why = unread;
        status = bad;
    }
    cli_texts_close(&in);
    return status;
}
