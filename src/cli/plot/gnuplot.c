/* gnuplot.c — pictures by gnuplot: it runs apart, and a picture has its name when it is complete. */
#define _GNU_SOURCE
#include <errno.h>
#include <signal.h>
#include <spawn.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "cli/plot/gnuplot.h"

void cli_gnuplot_quote(const char *text, char *out, size_t size)
{
    size_t n = 0;
    for (; *text && n + 3 < size; text++) {
        const bool plain = (unsigned char)*text >= 32;
        out[n++] = plain ? *text : '?';
        if (*text == '\'') out[n++] = '\'';
    }
    out[n] = 0;
}

/* Starts gnuplot with its words going to `words`; 0, or what the system said. */
static int start(const char *script, const char *assign, int words, pid_t *child)
{
    extern char **environ;
    posix_spawnattr_t attr;
    posix_spawn_file_actions_t files;
    sigset_t broken;
    sigemptyset(&broken);
    sigaddset(&broken, SIGPIPE);
    posix_spawnattr_init(&attr);
    posix_spawnattr_setsigdefault(&attr, &broken);
    posix_spawnattr_setflags(&attr, POSIX_SPAWN_SETSIGDEF);
    posix_spawn_file_actions_init(&files);
    posix_spawn_file_actions_adddup2(&files, words, 2);
    char *const arguments[] = {"gnuplot", "-e", (char *)(uintptr_t)assign, (char *)(uintptr_t)script, NULL};
    const int e = posix_spawnp(child, "gnuplot", &files, &attr, arguments, environ);
    posix_spawn_file_actions_destroy(&files);
    posix_spawnattr_destroy(&attr);
    return e;
}

/* The last line that gnuplot said: its first ones repeat the script. */
static void last_words(int fd, char *out, size_t size)
{
    const off_t end = lseek(fd, 0, SEEK_END), from = end > (off_t)size - 1 ? end - (off_t)size + 1 : 0;
    const ssize_t n = pread(fd, out, size - 1, from);
    out[n > 0 ? n : 0] = 0;
    for (size_t k = strlen(out); k && strchr(" \n", out[k - 1]); k--) out[k - 1] = 0;
    const char *line = strrchr(out, '\n');
    if (line) memmove(out, line + 1, strlen(line));
}

rf_status cli_gnuplot(const char *script, const char *picture, rf_error *why)
{
    char temporary[4096], assign[4200], said[160];
    cli_out words;
    pid_t child;
    int code = 0;
    snprintf(temporary, sizeof temporary, "%s.tmp-%ld", picture, (long)getpid());
    snprintf(assign, sizeof assign, "out='%s'", temporary);
    if (strchr(temporary, '\'')) return rf_fail(why, RF_EARG, "--output: gnuplot cannot write to a path with a quote");
    rf_status status = cli_out_spool(&words, why);
    if (status) return status;
    const int e = start(script, assign, words.fd, &child);
    while (!e && waitpid(child, &code, 0) < 0 && errno == EINTR) {}
    last_words(words.fd, said, sizeof said);
    cli_out_discard(&words);
    if (e == ENOENT)
        status = rf_fail(why, RF_EIO, "gnuplot is not installed (on Debian: apt install gnuplot-nox); %.100s holds script and data",
                         script);
    else if (e) status = rf_fail(why, RF_EIO, "gnuplot cannot be run: %s", strerror(e));
    else if (!WIFEXITED(code) || WEXITSTATUS(code)) status = rf_fail(why, RF_EIO, "gnuplot failed on %.100s: %s", script, said);
    else if (rename(temporary, picture)) status = rf_fail(why, RF_EIO, "%.200s: cannot create: %s", picture, strerror(errno));
    if (status) unlink(temporary);
    return status;
}
