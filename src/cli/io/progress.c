/* progress.c — a progress bar on a terminal, lines elsewhere; readable numbers. */
#define _GNU_SOURCE
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include <utf8proc.h>

#include "base/os/os.h"
#include "cli/io/io.h"
#include "cli/os/program.h"

double cli_seconds(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

void cli_duration(double seconds, char *out, size_t size)
{
    if (!(seconds >= 0) || seconds > 1e9) {
        snprintf(out, size, "--:--");
        return;
    }
    const long s = (long)(seconds + 0.5);
    if (s < 3600) snprintf(out, size, "%ld:%02ld", s / 60, s % 60);
    else snprintf(out, size, "%ld:%02ld:%02ld", s / 3600, s / 60 % 60, s % 60);
}

cli_number cli_fixed(double x, int digits)
{
    cli_number n;
    if (isnan(x)) snprintf(n.text, sizeof n.text, "nan");                   /* printf has "-nan", too */
    else snprintf(n.text, sizeof n.text, isfinite(x) && fabs(x) < 1e9 ? "%.*f" : "%.*g", digits, x);
    return n;
}

void cli_loss(double loss, char *out, size_t size)
{
    snprintf(out, size, "%s", isnan(loss) ? "-" : cli_fixed(loss, 4).text);
}

void cli_count(double n, char *out, size_t size)
{
    static const char unit[] = " kMGT";
    int u = 0;
    while (fabs(n) >= 1000 && u < 4) {
        n /= 1000;
        u++;
    }
    if (!u) snprintf(out, size, "%.0f", n);
    else snprintf(out, size, "%.*f%c", fabs(n) < 10 ? 2 : fabs(n) < 100 ? 1 : 0, n, unit[u]);
}

int cli_terminal_width(int fd)
{
    const int columns = rf__os_columns(fd);
    return columns >= 20 ? columns : 80;
}

int cli_cells(const char *text)
{
    int cells = 0;
    const utf8proc_uint8_t *p = (const utf8proc_uint8_t *)text;
    while (*p) {
        utf8proc_int32_t c;
        const utf8proc_ssize_t n = utf8proc_iterate(p, -1, &c);
        cells += n > 0 ? utf8proc_charwidth(c) : 1;
        p += n > 0 ? n : 1;
    }
    return cells;
}

int cli_put_token(FILE *out, const char *token)
{
    int cells = 0;
    for (size_t size = strlen(token), n, control; size; token += n + control, size -= n + control) {
        n = cli_shown(token, size, false, &control);
        for (size_t at = 0; at < n;) {
            utf8proc_int32_t c = 0;
            const utf8proc_ssize_t one =
                utf8proc_iterate((const utf8proc_uint8_t *)token + at, (utf8proc_ssize_t)(n - at), &c);
            cells += one > 0 ? utf8proc_charwidth(c) : 1;
            at += one > 0 ? (size_t)one : 1;
        }
        if (out) fwrite(token, 1, n, out);
        if (out && control) fputc('?', out);
        cells += control > 0;
    }
    return cells;
}

void cli_bar(double share, int width, char *out, size_t size)
{
    static const char *const part[] = {"", "▏", "▎", "▍", "▌", "▋", "▊", "▉"};
    const bool utf8 = cli_os_utf8();
    if (!(share > 0)) share = 0;
    if (share > 1) share = 1;
    const int eighths = (int)(share * width * 8 + 0.5);
    size_t n = 0;
    *out = 0;
    for (int i = 0; i < width; i++) {
        const char *cell = eighths >= 8 * (i + 1)    ? (utf8 ? "█" : "#")
                           : utf8 && eighths > 8 * i ? part[eighths - 8 * i]
                                                     : " ";
        const size_t length = strlen(cell);
        if (n + length + 1 > size) break;
        memcpy(out + n, cell, length + 1);
        n += length;
    }
}

void cli_progress_init(cli_progress *p, const cli_io *io, double interval)
{
    const char *term = cli_os_terminal_name();
    *p = (cli_progress){
        .live = rf__os_terminal(2) && !(term && !strcmp(term, "dumb")),
        .silent = io->quiet,
        .color = io->color_err,
        .interval = interval,
        .begun = cli_seconds(),
    };
    p->last = p->live ? 0 : p->begun;
}

double cli_progress_seconds(const cli_progress *p) { return cli_seconds() - p->begun; }

void cli_progress_clear(cli_progress *p)
{
    if (p->drawn) fputs("\r\033[K", stderr);
    if (p->drawn) fflush(stderr);
    p->drawn = false;
}

void cli_progress_line(cli_progress *p, const char *text)
{
    if (p->silent) return;
    cli_progress_clear(p);
    fprintf(stderr, "%s\n", text);
    fflush(stderr);
    p->last = p->live ? 0 : cli_seconds();
}

void cli_progress_show(cli_progress *p, const char *label, double share, const char *text)
{
    const double t = cli_seconds();
    if (p->silent || t - p->last < (p->live ? 0.1 : p->interval)) return;
    p->last = t;
    if (!p->live) {
        if (share >= 0) fprintf(stderr, "%s %3.0f %%  %s\n", label, 100 * share, text);
        else fprintf(stderr, "%s %s\n", label, text);
        fflush(stderr);
        return;
    }
    char bar[128] = "";
    const int columns = cli_terminal_width(2);
    int width = columns - (int)strlen(label) - (int)strlen(text) - 14;
    width = width > 30 ? 30 : width;
    if (share < 0 || width < 4) {
        fprintf(stderr, "\r\033[K%.*s", columns - 1, text);
    } else {
        cli_bar(share, width, bar, sizeof bar);
        fprintf(stderr, "\r\033[K%s [%s%s%s] %3.0f %%  %s", label, p->color ? "\033[36m" : "", bar,
                p->color ? "\033[0m" : "", 100 * share, text);
    }
    fflush(stderr);
    p->drawn = true;
}
