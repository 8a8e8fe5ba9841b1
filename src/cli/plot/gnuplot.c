/* gnuplot.c — draws plots with gnuplot in a separate process; a plot gets its name when it is complete. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/os/os.h"
#include "cli/os/program.h"
#include "cli/plot/gnuplot.h"

enum { PATH = 4096 };

static void quote(const char *text, bool all, char *out, size_t size)
{
    size_t n = 0;
    for (; *text && n + 3 < size; text++) {
        const bool plain = all || (unsigned char)*text >= 32;
        out[n++] = plain ? *text : '?';
        if (*text == '\'') out[n++] = '\'';
    }
    out[n] = 0;
}

void cli_gnuplot_quote(const char *text, char *out, size_t size) { quote(text, false, out, size); }

/* gnuplot interprets '|command' as a program to run and '~' as the home folder. */
static const char *here(const char *path) { return cli_os_absolute(path) || *path == '.' ? "" : "./"; }

/* ---- the script next to the plot ------- */

static const char first_line[] = "# drawn with: gnuplot FILE.gp\n";

enum { HEAD = sizeof first_line + 2100 };

/* The first two lines, of which the second names the plot. */
static int make_head(const char *plot, char out[HEAD])
{
    char name[1024];
    const char *file = cli_file_name(plot);
    cli_gnuplot_quote(file, name, sizeof name);
    return snprintf(out, HEAD, "%sif (!exists('out')) out = '%s%s'\n", first_line, strchr("|~", *file) ? "./" : "",
                    name);
}

rf_status cli_gnuplot_path(const char *plot, char *script, size_t size, rf_error *why)
{
    const char *dot = strrchr(plot, '.');
    const bool svg = dot && !strcmp(dot, ".svg");
    const int n = snprintf(script, size, "%.*s.gp", (int)(svg ? dot - plot : (ptrdiff_t)strlen(plot)), plot);
    return n < 0 || (size_t)n >= size - 32 ? rf_fail(why, RF_EARG, "--output: the path is too long") : RF_OK;
}

rf_status cli_gnuplot_own(const char *script, const char *plot, rf_error *why)
{
    static const char remedy[] = "and would be overwritten: choose another name with -o, or move it";
    char begin[HEAD] = "", expected[HEAD];
    rf__os_state st;
    FILE *f = !rf__os_look(script, &st) && st.kind == RF__OS_FILE ? rf__os_stream(script, "r") : NULL;
    if (!f) return RF_OK;                                               /* opening it for writing reports the error */
    const int size = make_head(plot, expected);
    const size_t n = fread(begin, 1, (size_t)size, f);
    fclose(f);
    if (!n || !strcmp(begin, expected)) return RF_OK;
    if (strncmp(begin, first_line, sizeof first_line - 1))
        return rf_fail(why, RF_EARG, "%.200s: not a script of this program, %s", script, remedy);
    return rf_fail(why, RF_EARG, "%.200s: the script of a plot other than %.100s, %s", script, cli_file_name(plot),
                   remedy);
}

rf_status cli_gnuplot_script(cli_out *out, const char *script, const char *plot, rf_error *why)
{
    char head[HEAD];
    *out = (cli_out){.fd = -1, .begin = -1};
    rf_status status = cli_gnuplot_own(script, plot, why);
    if (!status) status = cli_out_open(out, script, why);
    return status ? status : cli_out_write(out, head, (size_t)make_head(plot, head), why);
}

/* ---- running it ---- */

/* The last line of gnuplot's messages: the first lines repeat the script. */
static void last_words(int fd, char *out, size_t size)
{
    rf__os_state st = {.size = 0};
    const int64_t end = rf__os_look_file(fd, &st) ? 0 : st.size, most = (int64_t)size - 1;
    const int64_t n = rf__os_read_at(fd, out, size - 1, end > most ? end - most : 0);
    out[n > 0 ? n : 0] = 0;
    for (size_t k = strlen(out); k && strchr(" \r\n", out[k - 1]); k--) out[k - 1] = 0;
    const char *line = strrchr(out, '\n');
    if (line) memmove(out, line + 1, strlen(line));
}

/* Draws to `temporary`, which is renamed at the end. */
static rf_status draw(const char *script, const char *temporary, const char *plot, rf_error *why)
{
    char name[2 * PATH], assign[2 * PATH + 16], said[160], beside[PATH];
    cli_out words;
    quote(temporary, true, name, sizeof name);
    snprintf(assign, sizeof assign, "out='%s%s'", here(temporary), name);
    snprintf(beside, sizeof beside, "%s%s", here(script), script);
    rf_status status = cli_out_spool(&words, why);
    if (status) return status;
    const char *const arguments[] = {"gnuplot", "-e", assign, beside, NULL};
    const int code = cli_os_run("gnuplot", arguments, words.fd), e = errno;
    last_words(words.fd, said, sizeof said);
    cli_out_discard(&words);
    if (code < 0 && e == ENOENT)
        return rf_fail(why, RF_EIO,
                       "gnuplot is not installed (on Debian: apt install gnuplot-nox); %.100s holds script and data",
                       script);
    if (code < 0) return rf_fail(why, RF_EIO, "gnuplot cannot be run: %s", rf__os_reason(e));
    if (code) return rf_fail(why, RF_EIO, "gnuplot failed on %.100s: %s", script, said);
    if (rf__os_rename(temporary, plot))
        return rf_fail(why, RF_EIO, "%.200s: cannot create: %s", plot, rf__os_reason(errno));
    return RF_OK;
}

rf_status cli_gnuplot(const char *script, const char *plot, rf_error *why)
{
    char temporary[PATH];
    char *target = cli_target(plot);
    if (!target) return rf_fail(why, RF_ENOMEM, "out of memory");
    const int n = snprintf(temporary, sizeof temporary, "%s.tmp-%ld", target, rf__os_process());
    const bool fits = n > 0 && (size_t)n < sizeof temporary;
    if (fits) cli_incomplete(temporary);
    rf_status status =
        fits ? draw(script, temporary, target, why) : rf_fail(why, RF_EARG, "--output: the path is too long");
    if (fits && status) rf__os_remove(temporary);
    if (fits) cli_complete(temporary);
    free(target);
    return status;
}
