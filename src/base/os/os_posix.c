/* os_posix.c — the system's part (os.h) on Linux, macOS and other POSIX systems. */
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
#include "base/os/os.h"
#include "base/system/thread.h"

/* ---- files ------------------------------------------------------------------------------------------------- */

static int flags_of(int how)
{
    static const struct { int how, flag; } flags[] = {
        {RF__OS_CREATE, O_CREAT}, {RF__OS_NEW, O_EXCL},     {RF__OS_NO_LINK, O_NOFOLLOW}, {RF__OS_NO_WAIT, O_NONBLOCK},
        {RF__OS_APPEND, O_APPEND},
    };
    int f = O_CLOEXEC | O_NOCTTY | (how & RF__OS_WRITE ? O_RDWR : how & RF__OS_WRITE_ONLY ? O_WRONLY : O_RDONLY);
    for (size_t i = 0; i < RF_COUNT(flags); i++)
        if (how & flags[i].how) f |= flags[i].flag;
    return f;
}

static mode_t mode_of(int how) { return how & RF__OS_PRIVATE ? 0640 : 0666; }

int rf__os_open(const char *path, int how) { return open(path, flags_of(how), mode_of(how)); }
int rf__os_close(int fd) { return close(fd); }

/* macOS refuses more than INT_MAX bytes in one call. */
static size_t most(size_t size) { return size < (size_t)1 << 30 ? size : (size_t)1 << 30; }

int64_t rf__os_read(int fd, void *to, size_t size) { return read(fd, to, most(size)); }
int64_t rf__os_write(int fd, const void *from, size_t size) { return write(fd, from, most(size)); }
int64_t rf__os_read_at(int fd, void *to, size_t size, int64_t at) { return pread(fd, to, most(size), at); }
int64_t rf__os_write_at(int fd, const void *from, size_t size, int64_t at) { return pwrite(fd, from, most(size), at); }
int64_t rf__os_seek(int fd, int64_t at) { return lseek(fd, at, SEEK_SET); }
int64_t rf__os_position(int fd) { return lseek(fd, 0, SEEK_CUR); }
int rf__os_cut(int fd, int64_t size) { return ftruncate(fd, size); }

int rf__os_sync(int fd)
{
#ifdef F_FULLFSYNC                      /* macOS: fsync leaves the bytes in the disk's own cache */
    if (!fcntl(fd, F_FULLFSYNC)) return 0;
#endif
    return fsync(fd);
}

void rf__os_sequential(int fd)
{
#ifdef POSIX_FADV_SEQUENTIAL
    (void)posix_fadvise(fd, 0, 0, POSIX_FADV_SEQUENTIAL);
#else
    (void)fd;
#endif
}

static int64_t nanoseconds(struct timespec t) { return (int64_t)t.tv_sec * 1000000000 + t.tv_nsec; }

static int state_of(int failed, const struct stat *st, rf__os_state *out)
{
    if (failed) return -1;
    *out = (rf__os_state){.kind = S_ISREG(st->st_mode)   ? RF__OS_FILE
                                  : S_ISDIR(st->st_mode) ? RF__OS_FOLDER
                                  : S_ISLNK(st->st_mode) ? RF__OS_LINK
                                                         : RF__OS_DEVICE,
                          .removed = !st->st_nlink,
                          .mode = (unsigned)st->st_mode & 07777,
                          .size = st->st_size,
#ifdef __APPLE__
                          .modified = nanoseconds(st->st_mtimespec),
                          .changed = nanoseconds(st->st_ctimespec),
#else
                          .modified = nanoseconds(st->st_mtim),
                          .changed = nanoseconds(st->st_ctim),
#endif
                          .volume = (uint64_t)st->st_dev,
                          .number = (uint64_t)st->st_ino};
    return 0;
}

int rf__os_look(const char *path, rf__os_state *out)
{
    struct stat st;
    return state_of(stat(path, &st), &st, out);
}

int rf__os_look_link(const char *path, rf__os_state *out)
{
    struct stat st;
    return state_of(lstat(path, &st), &st, out);
}

int rf__os_look_file(int fd, rf__os_state *out)
{
    struct stat st;
    return state_of(fstat(fd, &st), &st, out);
}

bool rf__os_exists(const char *path) { return !access(path, F_OK); }
bool rf__os_readable(const char *path) { return !access(path, R_OK); }

bool rf__os_writable(const char *path)
{
    struct stat st;
    return !access(path, W_OK | (!stat(path, &st) && S_ISDIR(st.st_mode) ? X_OK : 0));
}

int rf__os_remove(const char *path) { return unlink(path); }
int rf__os_make_folder(const char *path) { return mkdir(path, 0777); }
int rf__os_remove_folder(const char *path) { return rmdir(path); }
int rf__os_rename(const char *from, const char *to) { return rename(from, to); }

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

FILE *rf__os_stream(const char *path, const char *mode)
{
    FILE *f = fopen(path, mode);
    if (f) (void)fcntl(fileno(f), F_SETFD, FD_CLOEXEC);      /* the mode "e" is not known everywhere */
    return f;
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
    return openat(at(f), name, flags_of(how), mode_of(how));
}

int rf__os_look_in(const rf__os_folder *f, const char *name, rf__os_state *out)
{
    struct stat st;
    return state_of(fstatat(at(f), name, &st, 0), &st, out);
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

static struct timespec time_of(double t)
{
    struct timespec out = {.tv_sec = (time_t)t};
    out.tv_nsec = (long)(1e9 * (t - (double)out.tv_sec));
    return out;
}

void rf__os_wait_until(pthread_cond_t *c, pthread_mutex_t *lock, double until)
{
    if (isinf(until)) {
        pthread_cond_wait(c, lock);
        return;
    }
#ifdef __APPLE__
    const struct timespec left = time_of(fmax(0, until - rf__seconds()));
    pthread_cond_timedwait_relative_np(c, lock, &left);
#else
    const struct timespec end = time_of(until);
    pthread_cond_timedwait(c, lock, &end);
#endif
}

void rf__os_sleep(double seconds)
{
    const struct timespec t = time_of(seconds);
    nanosleep(&t, NULL);
}

bool rf__os_utc(time_t t, struct tm *out) { return gmtime_r(&t, out) != NULL; }
bool rf__os_local(time_t t, struct tm *out) { return localtime_r(&t, out) != NULL; }

size_t rf__os_date(char *out, size_t size, const char *format, const struct tm *t)
{
    return strftime(out, size, format, t);
}

/* ---- text --------------------------------------------------------------------------------------------------- */

bool rf__os_text_open(rf__os_text *t)
{
    *t = (rf__os_text){.text = NULL};
    t->to = open_memstream(&t->text, &t->size);
    return t->to != NULL;
}

bool rf__os_text_close(rf__os_text *t)
{
    if (!t->to) return false;
    const bool failed = ferror(t->to) != 0, lost = fclose(t->to) != 0;
    t->to = NULL;
    if (!failed && !lost) return true;
    free(t->text);
    t->text = NULL;
    return false;
}

/* ---- the terminal ------------------------------------------------------------------------------------------- */

bool rf__os_terminal(int fd) { return isatty(fd) == 1; }

int rf__os_columns(int fd)
{
    struct winsize w;
    return ioctl(fd, TIOCGWINSZ, &w) ? 0 : w.ws_col;
}
