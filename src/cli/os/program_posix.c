/* program_posix.c — the program's part of the system (program.h) on Linux, macOS and other POSIX systems. */
#define _GNU_SOURCE
#define _DARWIN_C_SOURCE
#include "cli/os/program.h"

#include <errno.h>
#include <fcntl.h>
#include <langinfo.h>
#include <locale.h>
#include <math.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/time.h>
#include <sys/utsname.h>
#include <sys/wait.h>
#include <unistd.h>
#ifdef __APPLE__
#include <sys/sysctl.h>
#endif
#if defined(__linux__) && defined(__aarch64__)
#include <sys/auxv.h>
#endif

#include "base/os/os.h"

/* ---- the begin, the environment -------------------------------------------------------------------------------- */

/* A program started with descriptor 0, 1 or 2 closed would open its files there, so /dev/null takes these descriptors.
 * Standard output is opened for reading only, so that a write to it still fails. */
static void keep_standard_files(void)
{
    for (int fd = 0; fd < 3; fd++)
        if (fcntl(fd, F_GETFD) < 0 && errno == EBADF) {
            const int got = open("/dev/null", fd == 2 ? O_WRONLY : fd == 0 ? O_WRONLY : O_RDONLY);
            if (got >= 0 && got != fd) close(got);
        }
}

void cli_os_begin(int *argc, char ***argv)
{
    struct sigaction ignore = {.sa_handler = SIG_IGN};
    (void)argc, (void)argv;
    keep_standard_files();
    setlocale(LC_CTYPE, "");                            /* for the terminal's characters; numbers stay as in C */
    sigemptyset(&ignore.sa_mask);
    sigaction(SIGPIPE, &ignore, NULL);
    sigaction(SIGXFSZ, &ignore, NULL);                  /* `ulimit -f`: the write fails and is reported */
}

const char *cli_os_variable(const char *name) { return getenv(name); }

const char *cli_os_home(void)
{
    const char *home = getenv("HOME");
    return home && *home ? home : NULL;
}

/* ---- paths ----------------------------------------------------------------------------------------------------- */

bool cli_os_absolute(const char *path) { return *path == '/'; }

bool cli_os_link(const char *path, char *target, size_t size)
{
    const ssize_t n = readlink(path, target, size - 1);
    if (n < 0) return false;
    target[n] = 0;
    return true;
}

/* ---- input and output ------------------------------------------------------------------------------------------ */

int64_t cli_os_read(int fd, void *to, size_t size) { return read(fd, to, size); }

bool cli_os_ready(int fd)
{
    struct pollfd now = {.fd = fd, .events = POLLIN};
    return poll(&now, 1, 0) > 0;
}

int cli_os_output(int fd, bool *appends)
{
    const int flags = fcntl(fd, F_GETFL);
    *appends = flags >= 0 && flags & O_APPEND;
    if (flags >= 0 && (flags & O_ACCMODE) != O_RDONLY) return 0;
    if (flags >= 0) errno = EBADF;
    return -1;
}

/* Between the two calls of macOS, a new process could inherit it; a server starts none. */
int cli_os_replace(int from, int to)
{
#ifdef __APPLE__
    return dup2(from, to) < 0 ? -1 : fcntl(to, F_SETFD, FD_CLOEXEC);
#else
    return dup3(from, to, O_CLOEXEC) < 0 ? -1 : 0;
#endif
}

bool cli_os_pipe_closed(int error) { return error == EPIPE; }

/* ---- the terminal ---------------------------------------------------------------------------------------------- */

bool cli_os_utf8(void) { return !strcmp(nl_langinfo(CODESET), "UTF-8"); }
const char *cli_os_terminal_name(void) { return getenv("TERM"); }

/* ---- signals --------------------------------------------------------------------------------------------------- */

void cli_os_on_end(void (*handler)(int number), bool keep)
{
    static const int ends[] = {SIGINT, SIGTERM, SIGHUP};
    struct sigaction now, act = {.sa_handler = handler};        /* no SA_RESTART: a blocking read must return */
    sigemptyset(&act.sa_mask);
    for (size_t i = 0; i < sizeof ends / sizeof *ends; i++) {
        const bool known = !sigaction(ends[i], NULL, &now);
        if (keep ? known && now.sa_handler == SIG_DFL : !known || now.sa_handler != SIG_IGN)
            sigaction(ends[i], &act, NULL);
    }
}

void cli_os_end_by(int number)
{
    struct sigaction usual = {.sa_handler = SIG_DFL};
    sigaction(number, &usual, NULL);
    raise(number);
}

void cli_os_on_save(void (*handler)(int number))
{
    struct sigaction act = {.sa_handler = handler, .sa_flags = SA_RESTART};
    sigemptyset(&act.sa_mask);
    sigaction(SIGUSR1, &act, NULL);
}

void cli_os_on_serve(void (*end)(int number), void (*again)(int number), void (*log)(int number))
{
    const struct sigaction ends = {.sa_handler = end}, reload = {.sa_handler = again}, reopen = {.sa_handler = log};
    sigaction(SIGTERM, &ends, NULL);
    sigaction(SIGINT, &ends, NULL);
    sigaction(SIGHUP, &reload, NULL);
    sigaction(SIGUSR1, &reopen, NULL);
}

void cli_os_after(double seconds, void (*handler)(int number))
{
    const struct sigaction late = {.sa_handler = handler};
    const struct itimerval then = {.it_value = {.tv_sec = (time_t)seconds,
                                                .tv_usec = (suseconds_t)(fmod(seconds, 1) * 1e6)}};
    sigaction(SIGALRM, &late, NULL);
    setitimer(ITIMER_REAL, &then, NULL);
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
 * Only write, open, read, unlink and _exit are called: a handler may use nothing more. */

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

/* Linux; other systems have no such file. */
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

static void (*on_cut)(void);

static void bus(int number, siginfo_t *info, void *context)
{
    static const char what[] = ": file was truncated while in use\n", unknown[] = "a mapped file";
    (void)number;
    (void)context;
    write_stderr("roformer: ", 10);
    if (!name_file((uintptr_t)info->si_addr)) write_stderr(unknown, sizeof unknown - 1);
    write_stderr(what, sizeof what - 1);
    on_cut();
}

void cli_os_on_cut(void (*handler)(void))
{
    struct sigaction act = {.sa_sigaction = bus, .sa_flags = SA_SIGINFO};
    on_cut = handler;
    sigemptyset(&act.sa_mask);
    sigaction(SIGBUS, &act, NULL);
}

/* ---- other programs -------------------------------------------------------------------------------------------- */

/* SIGPIPE, which this program ignores, ends the other one as usual. */
int cli_os_run(const char *program, const char *const arguments[], int said)
{
    extern char **environ;
    posix_spawnattr_t attr;
    posix_spawn_file_actions_t files;
    sigset_t broken;
    pid_t child;
    int code = 0;
    sigemptyset(&broken);
    sigaddset(&broken, SIGPIPE);
    posix_spawnattr_init(&attr);
    posix_spawnattr_setsigdefault(&attr, &broken);
    posix_spawnattr_setflags(&attr, POSIX_SPAWN_SETSIGDEF);
    posix_spawn_file_actions_init(&files);
    if (said >= 0) posix_spawn_file_actions_adddup2(&files, said, 2);
    const int e = posix_spawnp(&child, program, &files, &attr, (char *const *)(uintptr_t)arguments, environ);
    posix_spawn_file_actions_destroy(&files);
    posix_spawnattr_destroy(&attr);
    errno = e;
    if (e) return -1;
    while (waitpid(child, &code, 0) < 0 && errno == EINTR) {}
    return WIFEXITED(code) ? WEXITSTATUS(code) : 128 + WTERMSIG(code);
}

/* ---- the machine ----------------------------------------------------------------------------------------------- */

int cli_os_processors(void) { return (int)sysconf(_SC_NPROCESSORS_ONLN); }

double cli_os_peak_memory(void)
{
    struct rusage u;
#ifdef __APPLE__
    const double unit = 1;
#else
    const double unit = 1024;
#endif
    return getrusage(RUSAGE_SELF, &u) ? 0 : unit * (double)u.ru_maxrss;
}

static bool system_text(char *out, size_t size)
{
    struct utsname u;
    if (uname(&u)) return false;
    snprintf(out, size, "%.60s %.60s %.60s", u.sysname, u.release, u.machine);
    return true;
}

#ifdef __APPLE__

bool cli_os_describe(cli_os_fact fact, char *out, size_t size)
{
    uint64_t bytes;
    size_t n = size, eight = sizeof bytes;
    switch (fact) {
    case CLI_OS_SYSTEM: return system_text(out, size);
    case CLI_OS_PROCESSOR: return !sysctlbyname("machdep.cpu.brand_string", out, &n, NULL, 0);
    case CLI_OS_MEMORY:
        if (sysctlbyname("hw.memsize", &bytes, &eight, NULL, 0)) return false;
        snprintf(out, size, "%llu kB", (unsigned long long)bytes / 1024);
        return true;
    case CLI_OS_UNITS:
    case CLI_OS_MEMORY_FREE: break;
    }
    return false;
}

#else

/* The value of the first line "key : value" of a file of /proc. */
static bool proc_value(const char *path, const char *key, char *out, size_t size)
{
    char line[4096];
    bool found = false;
    FILE *f = rf__os_stream(path, "r");
    while (f && !found && fgets(line, sizeof line, f)) {
        const char *colon = strchr(line, ':');
        if (strncmp(line, key, strlen(key)) || !colon) continue;
        colon += 1 + strspn(colon + 1, " \t");
        snprintf(out, size, "%.*s", (int)strcspn(colon, "\n"), colon);
        found = true;
    }
    if (f) fclose(f);
    return found;
}

/* On Arm, the auxiliary vector describes the processor of this process, which under emulation is not that of the host's
 * /proc/cpuinfo. Bits of asm/hwcap.h; older systems lack some of them. */
static bool vector_units(char *flags, size_t size)
{
#if defined(__linux__) && defined(__aarch64__)
    static const struct { const char *name; unsigned long word, bit; } bits[] = {
        {"asimd", AT_HWCAP, 1UL << 1},    {"asimdhp", AT_HWCAP, 1UL << 10}, {"asimddp", AT_HWCAP, 1UL << 20},
        {"sve", AT_HWCAP, 1UL << 22},     {"i8mm", AT_HWCAP2, 1UL << 13},   {"bf16", AT_HWCAP2, 1UL << 14},
        {"sme", AT_HWCAP2, 1UL << 23},
    };
    size_t n = 0;
    flags[0] = '\0';
    for (size_t i = 0; i < sizeof bits / sizeof *bits && n < size; i++)
        if (getauxval(bits[i].word) & bits[i].bit) n += (size_t)snprintf(flags + n, size - n, " %s", bits[i].name);
    return n > 0;
#else
    (void)flags, (void)size;
    return false;
#endif
}

bool cli_os_describe(cli_os_fact fact, char *out, size_t size)
{
    switch (fact) {
    case CLI_OS_SYSTEM: return system_text(out, size);
    case CLI_OS_PROCESSOR: return proc_value("/proc/cpuinfo", "model name", out, size);
    case CLI_OS_UNITS:
        return vector_units(out, size) || proc_value("/proc/cpuinfo", "flags", out, size) ||
               proc_value("/proc/cpuinfo", "Features", out, size);
    case CLI_OS_MEMORY: return proc_value("/proc/meminfo", "MemTotal", out, size);
    case CLI_OS_MEMORY_FREE: return proc_value("/proc/meminfo", "MemAvailable", out, size);
    }
    return false;
}

#endif
