/* spm_child.c — runs SentencePiece's training in a child process.
 *
 *     caller   fork   |  child: train, write {status, size, reason} and the model to a pipe, _exit
 *              read the pipe, waitpid: a child that ended otherwise gives RF_EDATA and a message
 *
 * SentencePiece ends its process if one of its checks fails, and some texts make it crash.  A library cannot start
 * itself as a program, so this is a plain fork.  The child has only the calling thread: it takes no lock except those
 * of malloc, which the C library resets in a child, and does not use the caller's allocator.  It prints nothing,
 * handles the signals that stop a program by default, and runs no atexit functions of the caller.  Ctrl-C reaches it as
 * a process of the terminal; the caller then gets RF_ESTOPPED.                                                       */
#ifndef RF_SENTENCEPIECE
#include "spm.h"

rf_status rf__spm_learn(const char *const option[], const char *text, size_t size, rf__spm_take *take, void *user,
                        rf_error *why)
{
    return rf__spm_train(option, text, size, take, user, why);      /* the message says what to install               */
}
#else
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#ifdef __linux__
#include <sys/prctl.h>
#endif
#include <sys/wait.h>
#include <unistd.h>

#include "spm.h"

typedef struct message { rf_error why; uint64_t size; } message;

/* ---- the child --------------------------------------------------------------------------------------------------- */

static bool send_all(int to, const void *data, size_t size)
{
    for (const char *p = data; size;) {
        const ssize_t n = write(to, p, size);
        if (n < 0 && errno == EINTR) continue;
        if (n <= 0) return false;
        p += n;
        size -= (size_t)n;
    }
    return true;
}

static bool send_model(void *user, const char *data, size_t size)
{
    const message m = {.size = size};
    return send_all(*(const int *)user, &m, sizeof m) && send_all(*(const int *)user, data, size);
}

enum { CHECK_FAILED = 70 };             /* exit status of a child that the library ends                               */
static void leave(void) { _exit(CHECK_FAILED); }

static void silence(void)
{
    const int none = open("/dev/null", O_RDWR);
    if (none < 0) return;
    for (int i = 0; i < 3; i++) dup2(none, i);
    if (none > 2) close(none);
}

static void child(int to, const sigset_t *mask, const char *const option[], const char *text, size_t size)
{
    static const int usual[] = {SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGPIPE, SIGSEGV, SIGABRT, SIGBUS, SIGFPE, SIGILL,
                                SIGALRM, SIGUSR1, SIGUSR2, SIGCHLD};
    message m = {.size = 0};
    for (size_t i = 0; i < sizeof usual / sizeof *usual; i++) signal(usual[i], SIG_DFL);
#ifdef __linux__
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    prctl(PR_SET_DUMPABLE, 0);                                      /* a crash here leaves no core file               */
#endif
    atexit(leave);                                                  /* runs first and last                            */
    sigprocmask(SIG_SETMASK, mask, NULL);
    if (to < 3) to = fcntl(to, F_DUPFD, 3);
    silence();
    if (rf__spm_train(option, text, size, send_model, &to, &m.why)) send_all(to, &m, sizeof m);
    _exit(0);
}

/* ---- the caller -------------------------------------------------------------------------------------------------- */

static bool receive_all(int from, void *data, size_t size)
{
    for (char *p = data; size;) {
        const ssize_t n = read(from, p, size);
        if (n < 0 && errno == EINTR) continue;
        if (n <= 0) return false;
        p += n;
        size -= (size_t)n;
    }
    return true;
}

/* The child's answer; false: there is none. */
static bool receive(int from, rf__spm_take *take, void *user, rf_status *status, rf_error *why)
{
    message m;
    char part[65536];
    if (!receive_all(from, &m, sizeof m)) return false;
    *status = m.why.code;
    if (*status) return rf_fail(why, *status, "%s", m.why.text), true;
    for (size_t left = (size_t)m.size, n; left; left -= n) {
        n = left < sizeof part ? left : sizeof part;
        if (!receive_all(from, part, n)) return false;
        if (!take(user, part, n)) return *status = rf_fail(why, RF_ENOMEM, "vocabulary: out of memory"), true;
    }
    return true;
}

static rf_status ended(int how, rf_error *why)
{
    const int signal = WIFSIGNALED(how) ? WTERMSIG(how) : 0;
    if (signal == SIGINT || signal == SIGTERM || signal == SIGHUP || signal == SIGQUIT)
        return rf_fail(why, RF_ESTOPPED, "vocabulary: SentencePiece was stopped by signal %d while it learned", signal);
    if (signal == SIGKILL)
        return rf_fail(why, RF_ENOMEM, "vocabulary: SentencePiece was killed while it learned, usually "
                       "because memory ran out: learn from less text");
    if (signal)
        return rf_fail(why, RF_EDATA, "vocabulary: SentencePiece crashed (signal %d) while it learned from this text: "
                       "expected lines of words; another --type may take it", signal);
    return rf_fail(why, RF_EDATA,
                   "vocabulary: SentencePiece failed on this text without a reason: expected lines of words, got a "
                   "text without words, or with a word that is too long");
}

rf_status rf__spm_learn(const char *const option[], const char *text, size_t size, rf__spm_take *take, void *user,
                        rf_error *why)
{
    int end[2], how = 0;
    sigset_t all, before;
    rf_status status = RF_OK;
    if (pipe(end)) return rf_fail(why, RF_EIO, "vocabulary: no pipe: %s", strerror(errno));
    fcntl(end[0], F_SETFD, FD_CLOEXEC);
    fcntl(end[1], F_SETFD, FD_CLOEXEC);
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);                    /* no handler of the caller runs here */
    const pid_t pid = fork();
    if (!pid) {
        close(end[0]);
        child(end[1], &before, option, text, size);
    }
    const int reason = errno;
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    close(end[1]);
    const bool answered = pid > 0 && receive(end[0], take, user, &status, why);
    close(end[0]);                                                  /* ends a child that still writes                 */
    if (pid < 0)
        return rf_fail(why, reason == ENOMEM ? RF_ENOMEM : RF_EIO, "vocabulary: no process to learn in: %s",
                       strerror(reason));
    while (waitpid(pid, &how, 0) < 0 && errno == EINTR) continue;   /* a caller that ignores SIGCHLD: no zombie */
    return answered ? status : ended(how, why);
}
#endif
