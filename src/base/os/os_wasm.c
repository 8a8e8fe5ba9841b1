/* os_wasm.c — the system's part (os.h) on WASI, which has files, but neither processes, threads, locks nor mapped
 * files. A map is a copy of the file in memory. */
#define _GNU_SOURCE
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/base.h"
#include "base/os/os.h"
#include "base/system/processor.h"
#include "base/system/thread.h"

enum { LINE = 64, PIECE = 1 << 30 };    /* LINE: the alignment of blocks. PIECE: the most bytes of one call */

/* ---- files ------------------------------------------------------------------------------------------------- */

static int flags_of(int how)
{
    static const struct { int how, flag; } flags[] = {
        {RF__OS_CREATE, O_CREAT}, {RF__OS_NEW, O_EXCL},     {RF__OS_NO_LINK, O_NOFOLLOW}, {RF__OS_NO_WAIT, O_NONBLOCK},
        {RF__OS_APPEND, O_APPEND},
    };
    int f = how & RF__OS_WRITE ? O_RDWR : how & RF__OS_WRITE_ONLY ? O_WRONLY : O_RDONLY;
    for (size_t i = 0; i < RF_COUNT(flags); i++)
        if (how & flags[i].how) f |= flags[i].flag;
    return f;
}

static size_t piece(size_t size) { return size < PIECE ? size : PIECE; }

int rf__os_open(const char *path, int how) { return open(path, flags_of(how), 0666); }
int rf__os_close(int fd) { return close(fd); }
int64_t rf__os_read(int fd, void *to, size_t size) { return read(fd, to, piece(size)); }
int64_t rf__os_write(int fd, const void *from, size_t size) { return write(fd, from, piece(size)); }
int64_t rf__os_read_at(int fd, void *to, size_t size, int64_t at) { return pread(fd, to, piece(size), at); }
int64_t rf__os_write_at(int fd, const void *from, size_t size, int64_t at) { return pwrite(fd, from, piece(size), at); }
/* lseek in parentheses: not the macro of wasi-libc, which is no C11. */
int64_t rf__os_seek(int fd, int64_t at) { return (lseek)(fd, at, SEEK_SET); }
int64_t rf__os_position(int fd) { return (lseek)(fd, 0, SEEK_CUR); }
int rf__os_cut(int fd, int64_t size) { return ftruncate(fd, size); }
int rf__os_sync(int fd) { return fsync(fd); }
void rf__os_sequential(int fd) { (void)posix_fadvise(fd, 0, 0, POSIX_FADV_SEQUENTIAL); }

static int64_t nanoseconds(struct timespec t) { return (int64_t)t.tv_sec * 1000000000 + t.tv_nsec; }

/* WASI has no permissions. */
static int state_of(int failed, const struct stat *st, rf__os_state *out)
{
    if (failed) return -1;
    *out = (rf__os_state){.kind = S_ISREG(st->st_mode)   ? RF__OS_FILE
                                  : S_ISDIR(st->st_mode) ? RF__OS_FOLDER
                                  : S_ISLNK(st->st_mode) ? RF__OS_LINK
                                                         : RF__OS_DEVICE,
                          .removed = !st->st_nlink,
                          .mode = S_ISDIR(st->st_mode) ? 0755 : 0644,
                          .size = st->st_size,
                          .modified = nanoseconds(st->st_mtim),
                          .changed = nanoseconds(st->st_ctim),
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
bool rf__os_writable(const char *path) { return !access(path, W_OK); }
int rf__os_remove(const char *path) { return unlink(path); }
int rf__os_make_folder(const char *path) { return mkdir(path, 0777); }
int rf__os_remove_folder(const char *path) { return rmdir(path); }
int rf__os_rename(const char *from, const char *to) { return rename(from, to); }
int rf__os_sync_folder(const char *path) { return rf__os_exists(path) ? 0 : -1; }

/* Nobody else is there. */
int rf__os_lock(int fd)
{
    (void)fd;
    return 0;
}

/* Leaves out the parts "." and "..", and empty ones. */
static void make_plain(char *path)
{
    char *to = path;
    for (const char *from = path; *from;) {
        const size_t n = strcspn(from, "/");
        if (n == 2 && !memcmp(from, "..", 2)) {
            while (to > path && *--to != '/') {}
        } else if (n && !(n == 1 && *from == '.')) {
            *to++ = '/';
            memmove(to, from, n);
            to += n;
        }
        from += n + (from[n] != 0);
    }
    if (to == path) *to++ = '/';
    *to = 0;
}

/* Links in the path stay. */
char *rf__os_whole_path(const char *path)
{
    if (!rf__os_exists(path)) return NULL;
    char *const folder = *path == '/' ? calloc(1, 1) : getcwd(NULL, 0);
    const size_t size = folder ? strlen(folder) + strlen(path) + 3 : 0;
    char *out = folder ? malloc(size) : NULL;
    if (out) {                          /* make_plain puts a '/' before each part */
        snprintf(out, size, "/%s/%s", folder, path);
        make_plain(out);
    }
    free(folder);
    return out;
}

double rf__os_free_space(const char *folder)
{
    (void)folder;
    errno = ENOTSUP;
    return -1;
}

FILE *rf__os_stream(const char *path, const char *mode) { return fopen(path, mode); }

static int make_new(char *pattern, bool folder)
{
    enum { TRIES = 1000, LETTERS = 6 };
    static const char letters[] = "0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ";
    const size_t n = strlen(pattern);
    unsigned char bytes[LETTERS];
    if (n < LETTERS || strcmp(pattern + n - LETTERS, "XXXXXX")) return errno = EINVAL, -1;
    for (int i = 0; i < TRIES; i++) {
        if (getentropy(bytes, sizeof bytes)) return -1;
        for (int k = 0; k < LETTERS; k++) pattern[n - LETTERS + (size_t)k] = letters[bytes[k] % (sizeof letters - 1)];
        const int made = folder ? rf__os_make_folder(pattern)
                                : rf__os_open(pattern, RF__OS_WRITE | RF__OS_CREATE | RF__OS_NEW);
        if (made >= 0 || errno != EEXIST) return made;
    }
    return -1;
}

int rf__os_temporary_file(char *pattern, unsigned mode)
{
    (void)mode;
    return make_new(pattern, false);
}

int rf__os_temporary_folder(char *pattern) { return make_new(pattern, true); }
const char *rf__os_temporary_place(void) { return "/tmp"; }
unsigned rf__os_new_mode(void) { return 0644; }

/* ---- folders ------------------------------------------------------------------------------------------------ */

/* All names are read before the first one is returned: hosts of WASI number them, and would leave out some if others
 * are removed meanwhile. */
struct rf__os_folder {
    DIR *list;
    bool read;
    char *names;                        /* a byte of the kind, the name, a zero */
    size_t bytes, at;
};

static int at(const rf__os_folder *f) { return f ? dirfd(f->list) : AT_FDCWD; }

rf__os_folder *rf__os_folder_open(const char *path)
{
    rf__os_folder *f = calloc(1, sizeof *f);
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
    if (!f) return;
    closedir(f->list);
    free(f->names);
    free(f);
}

static void read_names(rf__os_folder *f)
{
    size_t capacity = 0;
    for (struct dirent *e; (e = readdir(f->list));) {
        const size_t n = strlen(e->d_name) + 2;
        if (!strcmp(e->d_name, ".") || !strcmp(e->d_name, "..")) continue;
        if (f->bytes + n > capacity) {
            char *more = realloc(f->names, capacity = 2 * capacity + n + 1024);
            if (!more) return;
            f->names = more;
        }
        f->names[f->bytes] = e->d_type == DT_REG   ? RF__OS_FILE
                             : e->d_type == DT_DIR ? RF__OS_FOLDER
                                                   : RF__OS_UNKNOWN;
        memcpy(f->names + f->bytes + 1, e->d_name, n - 1);
        f->bytes += n;
    }
}

const char *rf__os_next(rf__os_folder *f, rf__os_kind *kind)
{
    if (!f->read) read_names(f);
    f->read = true;
    if (f->at == f->bytes) return NULL;
    const char *name = f->names + f->at + 1;
    if (kind) *kind = (rf__os_kind)f->names[f->at];
    f->at += strlen(name) + 2;
    return name;
}

void rf__os_again(rf__os_folder *f)
{
    rewinddir(f->list);
    free(f->names);
    f->names = NULL;
    f->read = false;
    f->bytes = f->at = 0;
}

int rf__os_open_in(const rf__os_folder *f, const char *name, int how)
{
    return openat(at(f), name, flags_of(how), 0666);
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
    if (!size) return errno = EINVAL, NULL;
    char *copy = rf__system_alloc(NULL, size);
    if (!copy) return errno = ENOMEM, NULL;
    for (size_t n = 0; n < size;) {
        const int64_t got = rf__os_read_at(fd, copy + n, size - n, (int64_t)n);
        if (got > 0) n += (size_t)got;
        else if (!got) memset(copy + n, 0, size - n), n = size;             /* the file ends before */
        else if (errno != EINTR) return free(copy), NULL;
    }
    return copy;
}

void rf__os_unmap(const void *data, size_t size)
{
    (void)size;
    free((void *)(uintptr_t)data);
}

/* The copy is the only one. */
void rf__os_map_forget(const void *data, size_t size)
{
    (void)data;
    (void)size;
}

void *rf__system_alloc(void *user, size_t size)
{
    (void)user;
    void *p = NULL;
    return posix_memalign(&p, LINE, size) ? NULL : p;
}

void rf__system_release(void *user, void *memory, size_t size)
{
    (void)user;
    (void)size;
    free(memory);
}

/* What the memory may still grow by. It has at most 65,536 pages of 64 KiB. */
double rf__memory_left(void)
{
    const double left = 65536.0 * (65536.0 - (double)__builtin_wasm_memory_size(0));
    return fmax(1, left);
}

double rf__memory_left_in(const char *root) { return *root ? 0 : rf__memory_left(); }

/* ---- the process, threads, time ----------------------------------------------------------------------------- */

int rf_processors(void) { return 1; }

size_t rf__cache_share(void) { return 0; }

size_t rf__cache_share_in(const char *folder)
{
    (void)folder;
    return 0;
}

long rf__os_process(void) { return 1; }

bool rf__os_process_ended(long process)
{
    (void)process;
    return false;
}

bool rf__os_process_locks(long process)
{
    (void)process;
    return false;
}

void rf__os_host(char *name, size_t size)
{
    if (size) *name = 0;
}

bool rf__os_self(char *path, size_t size)
{
    if (size) *path = 0;
    return false;
}

/* There are no threads. */
int rf__thread_start(pthread_t *out, void *(*body)(void *user), void *user)
{
    (void)out;
    (void)body;
    (void)user;
    return ENOTSUP;
}

int rf__os_condition(pthread_cond_t *out) { return pthread_cond_init(out, NULL); }

/* No other thread can signal it. */
void rf__os_wait_until(pthread_cond_t *c, pthread_mutex_t *lock, double until)
{
    if (until > 1e300) pthread_cond_wait(c, lock);
    else rf__os_sleep(until - rf__seconds());
}

void rf__os_sleep(double seconds)
{
    const double s = fmin(fmax(seconds, 0), 1e9), whole = floor(s);
    const struct timespec t = {.tv_sec = (time_t)whole, .tv_nsec = (long)(1e9 * (s - whole))};
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
    (void)fd;
    return 0;
}
