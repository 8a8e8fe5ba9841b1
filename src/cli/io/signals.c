/* signals.c — stops on signals, incomplete files, and mapped files that shrink. */
#define _GNU_SOURCE
#include <fcntl.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdint.h>
#include <string.h>
#include <unistd.h>

#include "cli/io/io.h"

static volatile sig_atomic_t stopped;
static const int ends[] = {SIGINT, SIGTERM, SIGHUP};

/* ---- incomplete files: removed if the program ends before they are complete -----------------------------------------
 * A handler may call unlink.  If there are more files than slots, the last ones are not removed.                     */

enum { INCOMPLETE = 8 };
static const char *_Atomic incomplete[INCOMPLETE];

static void remove_incomplete(void)
{
    for (size_t i = 0; i < INCOMPLETE; i++) {
        const char *path = atomic_load(&incomplete[i]);
        if (path) unlink(path);
    }
}

/* For a command that does not stop at a suitable point itself: the signal then ends the program as by default. */
static void clean_up(int number)
{
    struct sigaction usual = {.sa_handler = SIG_DFL};
    remove_incomplete();
    sigaction(number, &usual, NULL);
    raise(number);
}

void cli_incomplete(const char *path)
{
    struct sigaction now, act = {.sa_handler = clean_up};
    for (size_t i = 0; i < INCOMPLETE; i++) {
        const char *none = NULL;
        if (atomic_compare_exchange_strong(&incomplete[i], &none, path)) break;
    }
    for (size_t i = 0; i < sizeof ends / sizeof *ends; i++)
        if (!sigaction(ends[i], NULL, &now) && now.sa_handler == SIG_DFL) sigaction(ends[i], &act, NULL);
}

void cli_complete(const char *path)
{
    for (size_t i = 0; i < INCOMPLETE; i++) {
        const char *same = path;
        if (atomic_compare_exchange_strong(&incomplete[i], &same, NULL)) return;
    }
}

void cli_end(int code)
{
    remove_incomplete();
    _exit(code);
}

/* ---- stopping ---- */

/* The first signal is recorded and the work ends at a suitable point; the second ends the program immediately. */
static void remember(int number)
{
    if (stopped) cli_end(128 + number);
    stopped = number;
}

int cli_stopped(void) { return stopped; }

void cli_signals_catch(void)
{
    struct sigaction now, act = {.sa_handler = remember};       /* no SA_RESTART: a blocking read must return */
    sigemptyset(&act.sa_mask);
    for (size_t i = 0; i < sizeof ends / sizeof *ends; i++) {
        if (!sigaction(ends[i], NULL, &now) && now.sa_handler == SIG_IGN) continue;       /* nohup, or a script's "&" */
        sigaction(ends[i], &act, NULL);
    }
}

static volatile sig_atomic_t save_asked;

static void remember_save(int number)
{
    (void)number;
    save_asked = 1;
}

int cli_save_asked(void)
{
    const int asked = save_asked;
    save_asked = 0;
    return asked;
}

void cli_signals_catch_save(void)
{
    struct sigaction act = {.sa_handler = remember_save, .sa_flags = SA_RESTART};       /* reading goes on */
    sigemptyset(&act.sa_mask);
    sigaction(SIGUSR1, &act, NULL);
}

static void write_stderr(const char *text, size_t size)
{
    while (size) {
        const ssize_t n = write(2, text, size);
        if (n <= 0) return;
        text += n;
        size -= (size_t)n;
    }
}

/* ---- SIGBUS: a page of a mapped file is no longer there -------------------------------------------------------------
 * Only write, open, read, unlink and _exit are called: a handler may use nothing more.                               */

static bool read_hex(const char **p, uintptr_t *out)
{
    const char *start = *p;
    for (*out = 0;; ++*p) {
        const char c = **p;
        const int digit = c >= '0' && c <= '9' ? c - '0' : c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
        if (digit < 0) return *p > start;
        *out = *out << 4 | (uintptr_t)digit;
    }
}

/* "7f1200-7f1300 r--p 00000000 08:01 1234   /path": prints the path if the range contains `address`. */
static bool name_mapping(char *line, uintptr_t address)
{
    const char *p = line;
    uintptr_t from, to;
    if (!read_hex(&p, &from) || *p++ != '-' || !read_hex(&p, &to)) return false;
    const char *path = strchr(p, '/');
    if (address < from || address >= to || !path) return false;
    write_stderr(path, strlen(path));
    return true;
}

static bool name_file(uintptr_t address)
{
    static char text[8192];
    size_t have = 0;
    const int fd = open("/proc/self/maps", O_RDONLY | O_CLOEXEC);
    if (fd < 0) return false;
    for (;;) {
        const ssize_t got = read(fd, text + have, sizeof text - 1 - have);
        if (got <= 0) break;
        have += (size_t)got;
        text[have] = 0;
        char *line = text, *feed;
        while ((feed = strchr(line, '\n'))) {
            *feed = 0;
            if (name_mapping(line, address)) return true;
            line = feed + 1;
        }
        have = strlen(line);
        memmove(text, line, have + 1);
        if (have == sizeof text - 1) have = 0;
    }
    return false;
}

static void bus(int number, siginfo_t *info, void *context)
{
    static const char what[] = ": file was truncated while in use\n", unknown[] = "a mapped file";
    (void)number;
    (void)context;
    write_stderr("roformer: ", 10);
    if (!name_file((uintptr_t)info->si_addr)) write_stderr(unknown, sizeof unknown - 1);
    write_stderr(what, sizeof what - 1);
    cli_end(CLI_IO);
}

void cli_signals_init(void)
{
    struct sigaction ignore = {.sa_handler = SIG_IGN}, act = {.sa_sigaction = bus, .sa_flags = SA_SIGINFO};
    sigemptyset(&ignore.sa_mask);
    sigemptyset(&act.sa_mask);
    sigaction(SIGPIPE, &ignore, NULL);
    sigaction(SIGXFSZ, &ignore, NULL);                          /* `ulimit -f`: the write fails and is reported */
    sigaction(SIGBUS, &act, NULL);
}
