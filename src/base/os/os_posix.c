/* os_posix.c — the system's part (os.h) on Linux, macOS and other POSIX systems, with os_libc.c. */
#define _GNU_SOURCE
#define _DARWIN_C_SOURCE
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include "base/base.h"
#include "base/os/os_libc.h"
#include "base/system/thread.h"

/* ---- files ------------------------------------------------------------------------------------------------- */

int rf__os_sync(int fd)
{
#ifdef F_FULLFSYNC                      /* macOS: fsync leaves the bytes in the disk's own cache */
    if (!fcntl(fd, F_FULLFSYNC)) return 0;
#endif
    return fsync(fd);
}

bool rf__os_writable(const char *path)
{
    struct stat st;
    return !access(path, W_OK | (!stat(path, &st) && S_ISDIR(st.st_mode) ? X_OK : 0));
}

int rf__os_sync_folder(const char *path)
{
    const int fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (fd < 0) return -1;
    const int failed = fsync(fd), e = errno;
    close(fd);
    errno = e;
    return failed && e != EINVAL && e != EROFS ? -1 : 0;                 /* some file systems have no such sync */
}

int rf__os_lock(int fd) { return flock(fd, LOCK_EX | LOCK_NB); }
char *rf__os_whole_path(const char *path) { return realpath(path, NULL); }

double rf__os_free_space(const char *folder)
{
    struct statvfs st;
    return statvfs(folder, &st) ? -1 : (double)st.f_bavail * (double)st.f_frsize;
}

int rf__os_temporary_file(char *pattern, unsigned mode)
{
    const int fd = mkostemp(pattern, O_CLOEXEC);
    if (fd >= 0) (void)fchmod(fd, (mode_t)mode);                         /* a failure here does not matter */
    return fd;
}

int rf__os_temporary_folder(char *pattern) { return mkdtemp(pattern) ? 0 : -1; }
const char *rf__os_temporary_place(void) { return "/tmp"; }

unsigned rf__os_new_mode(void)
{
    const mode_t mask = umask(0);
    umask(mask);
    return 0666 & ~(unsigned)mask;
}

/* ---- folders ------------------------------------------------------------------------------------------------ */

struct rf__os_folder { DIR *list; };

static int at(const rf__os_folder *f) { return f ? dirfd(f->list) : AT_FDCWD; }

rf__os_folder *rf__os_folder_open(const char *path)
{
    rf__os_folder *f = malloc(sizeof *f);
    if (f && !(f->list = opendir(path))) {
        const int e = errno;
        free(f);
        errno = e;
        return NULL;
    }
    return f;
}

void rf__os_folder_close(rf__os_folder *f)
{
    if (f) closedir(f->list);
    free(f);
}

const char *rf__os_next(rf__os_folder *f, rf__os_kind *kind)
{
    for (struct dirent *e; (e = readdir(f->list));) {
        if (!strcmp(e->d_name, ".") || !strcmp(e->d_name, "..")) continue;
        if (kind) *kind = e->d_type == DT_REG ? RF__OS_FILE : e->d_type == DT_DIR ? RF__OS_FOLDER : RF__OS_UNKNOWN;
        return e->d_name;
    }
    return NULL;
}

void rf__os_again(rf__os_folder *f) { rewinddir(f->list); }

int rf__os_open_in(const rf__os_folder *f, const char *name, int how)
{
    return openat(at(f), name, rf__libc_flags(how), rf__libc_mode(how));
}

int rf__os_look_in(const rf__os_folder *f, const char *name, rf__os_state *out)
{
    struct stat st;
    return rf__libc_state(fstatat(at(f), name, &st, 0), &st, out);
}

bool rf__os_exists_in(const rf__os_folder *f, const char *name) { return !faccessat(at(f), name, F_OK, 0); }

/* ---- memory ------------------------------------------------------------------------------------------------- */

const void *rf__os_map(int fd, size_t size)
{
    void *p = mmap(NULL, size, PROT_READ, MAP_PRIVATE, fd, 0);
    return p == MAP_FAILED ? NULL : p;
}

void rf__os_unmap(const void *data, size_t size) { munmap((void *)(uintptr_t)data, size); }

void rf__os_map_forget(const void *data, size_t size)
{
    (void)madvise((void *)(uintptr_t)data, size, MADV_DONTNEED);
}

enum { LINE = 64 };                     /* bytes of a cache line, the alignment of every block */

/* Large blocks come from the system, at addresses and in sizes that suit huge pages, and are returned to it. Weights
 * and the memory of a step are read from end to end again and again, and the C library would keep freed memory. A last
 * page that is at least half used is a huge page as well: every generated token reads all weights once, and this makes
 * it up to a tenth faster (results/generate.txt). */
enum { HUGE_PAGE = 2 << 20 };
#ifdef __SANITIZE_ADDRESS__
#define LARGE SIZE_MAX                  /* AddressSanitizer watches only the C library's blocks */
#else
#define LARGE ((size_t)1 << 20)
#endif

static size_t size_of_pages(size_t size)
{
    const size_t small = (size_t)sysconf(_SC_PAGESIZE), page = size % HUGE_PAGE < HUGE_PAGE / 2 ? small : HUGE_PAGE;
    return (size + page - 1) / page * page;
}

void *rf__system_alloc(void *user, size_t size)
{
    (void)user;
    void *p = NULL;
    if (size < LARGE) return posix_memalign(&p, LINE, size) ? NULL : p;

    size_t whole;
    if (!rf__checked_add(size, 2 * HUGE_PAGE, &whole)) return NULL;
    char *map = mmap(NULL, whole, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (map == MAP_FAILED) return NULL;
    const size_t before = (HUGE_PAGE - (uintptr_t)map % HUGE_PAGE) % HUGE_PAGE;
    if (before) munmap(map, before);
    munmap(map + before + size_of_pages(size), whole - before - size_of_pages(size));
#ifdef MADV_HUGEPAGE
    (void)madvise(map + before, size_of_pages(size), MADV_HUGEPAGE);        /* only a hint: a failure has no effect */
#endif
    return map + before;
}

void rf__system_release(void *user, void *memory, size_t size)
{
    (void)user;
    if (size < LARGE) free(memory);
    else munmap(memory, size_of_pages(size));
}

/* ---- the process, threads, time ----------------------------------------------------------------------------- */

long rf__os_process(void) { return (long)getpid(); }
bool rf__os_process_ended(long process) { return kill((pid_t)process, 0) && errno == ESRCH; }

void rf__os_host(char *name, size_t size)
{
    if (gethostname(name, size)) *name = 0;
    name[size - 1] = 0;
}

int rf__os_open_files(void)
{
    int n = 0;
    DIR *d = opendir("/proc/self/fd");
    if (!d) d = opendir("/dev/fd");      /* macOS has no /proc */
    if (!d) return 0;
    while (readdir(d)) n++;
    closedir(d);
    return n - 3;                       /* ., .. and the folder itself */
}

int rf__thread_start(pthread_t *out, void *(*body)(void *user), void *user)
{
    sigset_t all, before;
    sigfillset(&all);
    sigdelset(&all, SIGBUS);
    int failed = pthread_sigmask(SIG_SETMASK, &all, &before);
    if (failed) return failed;
    failed = pthread_create(out, NULL, body, user);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    return failed;
}

int rf__worker_start(pthread_t *out, void *(*body)(void *user), void *user)
{
    return rf__thread_start(out, body, user);
}

/* macOS knows no other clock for conditions than the wall clock's, but times from now on. */
int rf__os_condition(pthread_cond_t *out)
{
#ifdef __APPLE__
    return pthread_cond_init(out, NULL);
#else
    pthread_condattr_t by;
    pthread_condattr_init(&by);
    pthread_condattr_setclock(&by, CLOCK_MONOTONIC);
    const int failed = pthread_cond_init(out, &by);
    pthread_condattr_destroy(&by);
    return failed;
#endif
}

void rf__os_wait_until(pthread_cond_t *c, pthread_mutex_t *lock, double until)
{
    if (isinf(until)) {
        pthread_cond_wait(c, lock);
        return;
    }
#ifdef __APPLE__
    const struct timespec left = rf__libc_time(fmax(0, until - rf__seconds()));
    pthread_cond_timedwait_relative_np(c, lock, &left);
#else
    const struct timespec end = rf__libc_time(until);
    pthread_cond_timedwait(c, lock, &end);
#endif
}

/* ---- the terminal ------------------------------------------------------------------------------------------- */

int rf__os_columns(int fd)
{
    struct winsize w;
    return ioctl(fd, TIOCGWINSZ, &w) ? 0 : w.ws_col;
}
