/* test_faults.c — mirrors src/train/checkpoint/checkpoint.c, saver.c and loop.c: a run in a separate process that is
 * killed or whose system calls fail, including those of the thread that writes checkpoints.  In all cases the restarted
 * run ends with the bits of an undisturbed one.
 *
 *     kills at random moments      ROFORMER_KILLS=200 for more
 *     kills before the n-th write, sync, rename, ... of a run, or of one that goes back to an earlier checkpoint; the
 *     same, and what was not synced by then is lost, as when the power fails; the n-th failing with ENOSPC or EIO
 *                                  every 29th by default, ROFORMER_SWEEP=1 for every 1st (tools/kill_sweep.sh)       */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <signal.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>

#if defined(__linux__)
#include <linux/ptrace.h>
#endif
#if defined(__x86_64__)
#include <sys/user.h>
#endif

#include "base/os/os.h"
#include "result.h"
#include "train/checkpoint/folder.h"

/* ---- the process that trains ---- */

/* Six steps with all their checkpoints; then again from the second one, with another learning rate. */
static const char first_future[] = "6 first", second_future[] = "6 second";

/* Goes back, until no later checkpoints remain. */
static void go_back(const char *out, const char *second_step, rf_train_options *o)
{
    if (tiny_count(out, "abandoned-checkpoint-") < 2) o->resume_from_checkpoint = second_step;
    o->learning_rate = 1e-3;
}

static int train(const char *model, const char *out, const char *steps)
{
    char *corpus = tiny_path(model, "corpus.txt"), *second_step = tiny_path(out, "checkpoint-2");
    const char *text[] = {corpus};
    rf_train_options o = tiny_options(model, text, out);
    const rf_ctx_options c = {.size = sizeof(c), .threads = 1, .isa = t_isa()};
    rf_ctx *ctx;
    rf_error why = {0};
    o.max_steps = atoi(steps);
    o.save_steps = 2;
    o.save_total_limit = strcmp(steps, first_future) ? 2 : 0;
    o.eval_steps = 4;
    if (tiny_count(out, "checkpoint-")) o.resume_from_checkpoint = "latest";
    if (!strcmp(steps, second_future)) go_back(out, second_step, &o);
    if (rf_ctx_new(&c, &ctx, NULL)) return 99;
    const rf_status status = rf_pretrain(ctx, &o, NULL, NULL, &why);
    if (status) fprintf(stderr, "%s\n", why.text);
    rf_ctx_free(ctx);
    free(corpus);
    free(second_step);
    return (int)status;
}

typedef struct fixture { char *model, *out; const char *steps; } fixture;

static fixture make(const char *steps)
{
    fixture f = {tiny_model(), NULL, steps};
    f.out = tiny_path(f.model, "out");
    return f;
}

static void unmake(fixture *f)
{
    free(f->model);
    free(f->out);
}

static pid_t start(const fixture *f, bool traced)
{
    const pid_t pid = fork();
    if (pid) return pid;
    const int null = open("/dev/null", O_WRONLY);
    dup2(null, 1);
    dup2(null, 2);
    setenv("ASAN_OPTIONS", "detect_leaks=0", 1);                     /* the leak checker is a tracer itself */
    if (traced) ptrace(PTRACE_TRACEME, 0, NULL, NULL);
    execl("/proc/self/exe", "test_faults", "--train", f->model, f->out, f->steps, (char *)NULL);
    _exit(98);
}

static void finish(const fixture *f)
{
    int status;
    waitpid(start(f, false), &status, 0);
    if (!WIFEXITED(status) || WEXITSTATUS(status)) fail_msg("the run that was started again ends with %d", status);
}

static void anew(const fixture *f)
{
    fixture first = *f;
    first.steps = first_future;
    rf__os_remove_tree(f->out);
    if (!strcmp(f->steps, second_future)) finish(&first);
}

/* ---- what must be the same ---- */

static result left(const fixture *f)
{
    assert_int_equal(tiny_count(f->out, ".tmp"), 0);
    return result_of(f->out, atol(f->steps));
}

static result undisturbed(const char *steps)
{
    fixture f = make(steps);
    anew(&f);
    finish(&f);
    const result r = left(&f);
    unmake(&f);
    return r;
}

static long setting(const char *name, long usual)
{
    const char *text = getenv(name);
    return text ? atol(text) : usual;
}

/* ---- kills at random moments ---- */

static void sleep_ms(double ms)
{
    struct timespec t = {(time_t)(ms / 1000), (long)(fmod(ms, 1000) * 1e6)};
    while (nanosleep(&t, &t) && errno == EINTR) {}
}

static void killed_at_random(void **state)
{
    (void)state;
    const long goal = setting("ROFORMER_KILLS", 10);
    const double begin = rf__seconds();
    const result expected = undisturbed("30");
    const double whole = 1000 * (rf__seconds() - begin);
    rf_rng r;
    rf_rng_init(&r, 99, (uint64_t)goal);
    long kills = 0;
    fixture f = make("30");
    while (kills < goal) {
        bool ended = false;
        anew(&f);
        while (!ended && kills < goal) {
            int status;
            const pid_t pid = start(&f, false);
            sleep_ms(0.4 * whole * (double)rf_rng_uniform(&r));
            kill(pid, SIGKILL);
            waitpid(pid, &status, 0);
            ended = WIFEXITED(status);
            kills += !ended;
        }
        finish(&f);
        const result got = left(&f);
        if (memcmp(&got, &expected, sizeof got)) fail_msg("after %ld kills the run ended with other bits", kills);
    }
    unmake(&f);
    print_message("           %ld kills\n", kills);
}

/* ---- kills and failures at a system call ---- */

static bool changes_the_disk(uint64_t call, const uint64_t *argument)
{
    switch (call) {
    case SYS_write:
    case SYS_pwrite64:
    case SYS_fsync:
    case SYS_fdatasync:
    case SYS_ftruncate:
    case SYS_renameat:
    case SYS_renameat2:
    case SYS_unlinkat:
    case SYS_mkdirat:
#ifdef SYS_rename
    case SYS_rename:
    case SYS_unlink:
    case SYS_rmdir:
    case SYS_mkdir:
#endif
        return true;
    case SYS_openat:
        return (argument[2] & O_CREAT) != 0;
    default:
        return false;
    }
}

/* Makes the call fail instead of executing it: its number is replaced by an invalid one, then its result is set. */
static bool spoil(pid_t pid, bool entering, int error)
{
#if defined(__x86_64__)
    struct user_regs_struct regs;
    if (ptrace(PTRACE_GETREGS, pid, NULL, &regs)) return false;
    if (entering) regs.orig_rax = (unsigned long long)-1;
    else regs.rax = (unsigned long long)-error;
    return !ptrace(PTRACE_SETREGS, pid, NULL, &regs);
#else
    (void)pid;
    (void)entering;
    (void)error;
    return false;
#endif
}

/* ---- what a power failure takes: bytes written since the file's last sync ---- */

static struct { struct { ino_t inode; off_t safe; bool dirty; } file[1024]; int n, lost; } disk;

/* A call that is about to be made.  Data below `safe` was synced and not written again: it cannot be lost. */
static void follow(pid_t pid, uint64_t call, const uint64_t *argument)
{
    char path[64];
    struct stat st;
    snprintf(path, sizeof path, "/proc/%ld/fd/%ld", (long)pid, (long)argument[0]);
    const bool writes = call == SYS_write || call == SYS_pwrite64 || call == SYS_ftruncate;
    if ((!writes && call != SYS_fsync && call != SYS_fdatasync) || stat(path, &st) || !S_ISREG(st.st_mode)) return;
    int i = 0;
    while (i < disk.n && disk.file[i].inode != st.st_ino) i++;
    if (i == (int)RF_COUNT(disk.file)) fail_msg("a run writes more than %d files", i);
    if (i == disk.n) disk.file[disk.n++].inode = st.st_ino;
    off_t safe = writes ? disk.file[i].safe : st.st_size, to = st.st_size;   /* an inode may be a new file's: shorter */
    if (call == SYS_pwrite64) to = rf__min64(to, (off_t)argument[3]);
    if (call == SYS_ftruncate) to = rf__min64(to, (off_t)argument[1]);
    disk.file[i].safe = rf__min64(safe, to);
    disk.file[i].dirty = writes;
}

/* They become zeros, or half of the data exists, or none. */
static int lose(const char *path, const struct stat *st, int kind, struct FTW *ftw)
{
    static int how;
    (void)ftw;
    int i = 0;
    while (i < disk.n && (disk.file[i].inode != st->st_ino || !disk.file[i].dirty)) i++;
    if (kind != FTW_F || i == disk.n) return 0;
    const off_t safe = rf__min64(disk.file[i].safe, st->st_size);
    how = (how + 1) % 3;
    disk.lost++;
    if (truncate(path, how == 1 ? safe + (st->st_size - safe) / 2 : safe)) return 1;
    return how == 2 ? truncate(path, st->st_size) : 0;
}

/* ---- a run under the eyes of its parent ---- */

enum { KILLED = 1000, CANNOT_TRACE = 1001 };

/* Whose calls count: those of all threads; those of the thread that writes checkpoints; the same, but the moment is not
 * the call itself but when training cannot continue without it. */
enum whose { EVERYBODY, WRITER, WRITER_HELD };

/* One run with all of its threads traced. */
typedef struct watched {
    pid_t leader, spoiling, held;       /* threads: the first one; one in a failing call; one held in a call */
    long n, calls;
    int error;
    enum whose whose;
    bool waiting;                       /* the first thread, for another one                                          */
} watched;

/* A call that thread `pid` is about to make.  false: it must not be made now. */
static bool entered(watched *s, pid_t pid, uint64_t call, const uint64_t *argument)
{
    if (pid == s->leader) s->waiting = call == SYS_futex || call == SYS_exit_group;
    if (s->held && s->waiting) {
        kill(s->leader, SIGKILL);
        return true;
    }
    if (!changes_the_disk(call, argument)) return true;
    if ((s->whose != EVERYBODY && pid == s->leader) || ++s->calls != s->n) {
        follow(pid, call, argument);
        return true;
    }
    if (s->whose == WRITER_HELD && s->waiting) kill(s->leader, SIGKILL);
    else if (s->whose == WRITER_HELD) s->held = pid;
    else if (!s->error) kill(s->leader, SIGKILL);
    else if (spoil(pid, true, s->error)) s->spoiling = pid;
    return !s->held;
}

/* A thread that stopped.  false: it must not continue; *pass is the signal that it gets. */
static bool stopped(watched *s, pid_t pid, int status, intptr_t *pass)
{
    struct ptrace_syscall_info info;
    *pass = 0;
    if (status >> 16 || (pid != s->leader && WSTOPSIG(status) == SIGSTOP)) return true;       /* a thread begins */
    if (WSTOPSIG(status) != (SIGTRAP | 0x80)) {
        *pass = WSTOPSIG(status);
        return true;
    }
    if (ptrace(PTRACE_GET_SYSCALL_INFO, pid, (void *)sizeof info, &info) <= 0) return true;   /* killed meanwhile */
    if (info.op == PTRACE_SYSCALL_INFO_EXIT && pid == s->leader) s->waiting = false;
    if (info.op == PTRACE_SYSCALL_INFO_EXIT && s->spoiling == pid) {
        spoil(pid, false, s->error);
        s->spoiling = 0;
    }
    return info.op != PTRACE_SYSCALL_INFO_ENTRY || entered(s, pid, info.entry.nr, (const uint64_t *)info.entry.args);
}

/* One run.  Its n-th call that changes the disk (0: none) is the moment of the kill, or fails with `error`.  Returns
 * its exit status; *calls counts them. */
static int traced(const fixture *f, long n, int error, enum whose whose, long *calls)
{
    int status;
    watched s = {.leader = start(f, true), .n = n, .error = error, .whose = whose};
    *calls = 0;
    memset(&disk.file, 0, sizeof disk.file);
    disk.n = 0;
    waitpid(s.leader, &status, 0);
    if (!WIFSTOPPED(status) || ptrace(PTRACE_SETOPTIONS, s.leader, NULL,
                                      (void *)(PTRACE_O_TRACESYSGOOD | PTRACE_O_EXITKILL | PTRACE_O_TRACECLONE))) {
        kill(s.leader, SIGKILL);
        waitpid(s.leader, &status, 0);
        return CANNOT_TRACE;
    }
    ptrace(PTRACE_SYSCALL, s.leader, NULL, NULL);
    for (;;) {
        intptr_t pass;
        const pid_t pid = waitpid(-1, &status, __WALL);
        if (pid < 0) fail_msg("a process that is traced is gone");
        *calls = s.calls;
        if (pid == s.leader && WIFEXITED(status)) return WEXITSTATUS(status);
        if (pid == s.leader && WIFSIGNALED(status)) return KILLED;
        if (WIFSTOPPED(status) && stopped(&s, pid, status, &pass)) ptrace(PTRACE_SYSCALL, pid, NULL, (void *)pass);
    }
}

static bool tracing_works(const char *steps, enum whose whose, long *calls)
{
    fixture f = make(steps);
    anew(&f);
    const int status = traced(&f, 0, 0, whose, calls);
    unmake(&f);
    if (status == CANNOT_TRACE) print_message("           skipped: processes cannot be traced here\n");
    else assert_int_equal(status, RF_OK);
    return status == RF_OK;
}

static void kills_at_calls(const char *steps, long first, enum whose whose, bool power_fails)
{
    long calls, points = 0;
    disk.lost = 0;
    if (!tracing_works(steps, whose, &calls)) return;
    const long stride = setting("ROFORMER_SWEEP", 29);
    const result expected = undisturbed(steps);
    fixture f = make(steps);
    for (long n = stride == 1 ? 1 : first; n <= calls; n += stride, points++) {
        long seen;
        anew(&f);
        assert_int_equal(traced(&f, n, 0, whose, &seen), KILLED);
        if (power_fails && !access(f.out, F_OK)) assert_int_equal(nftw(f.out, lose, 8, FTW_PHYS), 0);
        finish(&f);
        const result got = left(&f);
        if (!strcmp(steps, second_future)) assert_true(tiny_count(f.out, "abandoned-checkpoint-") == 2);
        if (memcmp(&got, &expected, sizeof got))
            fail_msg("killed before call %ld of %ld, the run ended with other bits", n, calls);
    }
    unmake(&f);
    print_message("           %ld of %ld calls, %d files lost\n", points, calls, disk.lost);
    assert_true(points > 2);
    if (power_fails) assert_true(disk.lost > points / 2);          /* the log at least is nearly always incomplete */
}

static void killed_at_a_call(void **state)
{
    (void)state;
    kills_at_calls("6", 1, EVERYBODY, false);
}

static void power_fails_at_a_call(void **state)
{
    (void)state;
    kills_at_calls("6", 11, EVERYBODY, true);
}

/* Wherever it is killed, it ends with the new results, and the old ones are complete. */
static void going_back_is_killed(void **state)
{
    (void)state;
    kills_at_calls(second_future, 7, EVERYBODY, true);
}

/* The writer is as slow as possible: training is as far ahead of the checkpoint as it ever gets, and its log is not
 * synced. */
static void power_fails_ahead_of_the_writer(void **state)
{
    (void)state;
    kills_at_calls("6", 5, WRITER_HELD, true);
}

/* A failing call ends the run with a message, or costs a checkpoint, or a line of the log: never the bits. */
static void calls_fail(enum whose whose)
{
    long calls, points = 0, ended = 0;
#if !defined(__x86_64__)
    print_message("           skipped: written for x86-64\n");
    return;
#endif
    if (!tracing_works("6", whose, &calls)) return;
    const long stride = setting("ROFORMER_SWEEP", 29);
    const result expected = undisturbed("6");
    fixture f = make("6");
    for (long n = stride == 1 ? 1 : 4; n <= calls; n += stride, points++) {
        long seen;
        anew(&f);
        const int status = traced(&f, n, n % 2 ? ENOSPC : EIO, whose, &seen);
        if (status != RF_OK && status != RF_EIO) fail_msg("call %ld of %ld failed: status %d", n, calls, status);
        ended += status != RF_OK;
        /* files that could not be removed are removed by the next start */
        if (status || !tiny_has(f.out, "checkpoint-6") || tiny_count(f.out, ".tmp")) finish(&f);
        const result got = left(&f);
        if (got.model != expected.model || got.optimizer != expected.optimizer)
            fail_msg("call %ld of %ld failed, and the run ended with other bits", n, calls);
    }
    unmake(&f);
    print_message("           %ld of %ld calls, %ld ended the run\n", points, calls, ended);
    assert_true(points > 2);
    if (whose == WRITER) assert_int_equal(ended, 0);                /* the checkpoint of the end is not its work */
}

static void a_call_fails(void **state)
{
    (void)state;
    calls_fail(EVERYBODY);
}

static void a_call_of_the_writer_fails(void **state)
{
    (void)state;
    calls_fail(WRITER);
}

int main(int argc, char **argv)
{
    if (argc == 5 && !strcmp(argv[1], "--train")) return train(argv[2], argv[3], argv[4]);
    if (argc == 2) cmocka_set_test_filter(argv[1]);                  /* "power*" */
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(killed_at_random),
        cmocka_unit_test(killed_at_a_call),
        cmocka_unit_test(power_fails_at_a_call),
        cmocka_unit_test(going_back_is_killed),
        cmocka_unit_test(power_fails_ahead_of_the_writer),
        cmocka_unit_test(a_call_fails),
        cmocka_unit_test(a_call_of_the_writer_fails),
    };
    return cmocka_run_group_tests_name("train/faults", tests, NULL, NULL);
}
