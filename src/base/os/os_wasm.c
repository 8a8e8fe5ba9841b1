/* os_wasm.c — the system's part (os.h) on WASI, which has files, but neither processes, threads, locks nor mapped
 * files; with os_libc.c. A map is a copy of the file in memory. */
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
#include "base/os/os_libc.h"
#include "base/os/os_new.h"
#include "base/system/processor.h"
#include "base/system/thread.h"

enum { LINE = 64 };                     /* the alignment of blocks */

/* ---- files ------------------------------------------------------------------------------------------------- */

int rf__os_sync(int fd) { return fsync(fd); }
bool rf__os_writable(const char *path) { return !access(path, W_OK); }
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

static bool draw(char *to, size_t n)
{
    static const char letters[] = "0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ";
    unsigned char byte;
    for (size_t i = 0; i < n; i++) {
        if (getentropy(&byte, 1)) return false;
        to[i] = letters[byte % (sizeof letters - 1)];
    }
    return true;
}

int rf__os_temporary_file(char *pattern, unsigned mode)
{
    (void)mode;
    return rf__os_make_new(pattern, false, draw);
}

int rf__os_temporary_folder(char *pattern) { return rf__os_make_new(pattern, true, draw); }
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

/* ---- the process, threads, time ----------------------------------------------------------------------------- */

int rf_processors(void) { return 1; }

size_t rf__os_cache_share(void) { return 0; }
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

double rf__os_memory(void) { return (double)__builtin_wasm_memory_size(0) * 65536; }
int rf__os_open_files(void) { return 0; }

/* There are no threads but workers. */
int rf__thread_start(pthread_t *out, void *(*body)(void *user), void *user)
{
    (void)out;
    (void)body;
    (void)user;
    return ENOTSUP;
}

/* The C library refuses; a module with threads does not (wasm/threads.c). */
int rf__worker_start(pthread_t *out, void *(*body)(void *user), void *user)
{
    return pthread_create(out, NULL, body, user);
}

int rf__os_condition(pthread_cond_t *out) { return pthread_cond_init(out, NULL); }

/* No other thread can signal it. */
void rf__os_wait_until(pthread_cond_t *c, pthread_mutex_t *lock, double until)
{
    if (until > 1e300) pthread_cond_wait(c, lock);
    else rf__os_sleep(until - rf__seconds());
}

/* ---- the terminal ------------------------------------------------------------------------------------------- */

int rf__os_columns(int fd)
{
    (void)fd;
    return 0;
}
