/* os_libc.c — the part of os.h that is the same with every C library in the manner of POSIX: Linux, macOS, WASI. */
#define _GNU_SOURCE
#define _DARWIN_C_SOURCE
#include "base/os/os_libc.h"

#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/base.h"

const char *rf__os_reason(int error) { return strerror(error); }

/* ---- files ------------------------------------------------------------------------------------------------- */

int rf__libc_flags(int how)
{
    static const struct { int how, flag; } flags[] = {
        {RF__OS_CREATE, O_CREAT}, {RF__OS_NEW, O_EXCL},     {RF__OS_NO_LINK, O_NOFOLLOW}, {RF__OS_NO_WAIT, O_NONBLOCK},
        {RF__OS_APPEND, O_APPEND},
    };
    int f = how & RF__OS_WRITE ? O_RDWR : how & RF__OS_WRITE_ONLY ? O_WRONLY : O_RDONLY;
#ifndef __wasi__                        /* which has neither terminals nor children */
    f |= O_CLOEXEC | O_NOCTTY;
#endif
    for (size_t i = 0; i < RF_COUNT(flags); i++)
        if (how & flags[i].how) f |= flags[i].flag;
    return f;
}

mode_t rf__libc_mode(int how) { return how & RF__OS_PRIVATE ? 0640 : 0666; }

int rf__os_open(const char *path, int how) { return open(path, rf__libc_flags(how), rf__libc_mode(how)); }
int rf__os_close(int fd) { return close(fd); }

/* macOS refuses more than INT_MAX bytes in one call. */
static size_t most(size_t size) { return size < (size_t)1 << 30 ? size : (size_t)1 << 30; }

int64_t rf__os_read(int fd, void *to, size_t size) { return read(fd, to, most(size)); }
int64_t rf__os_write(int fd, const void *from, size_t size) { return write(fd, from, most(size)); }
int64_t rf__os_read_at(int fd, void *to, size_t size, int64_t at) { return pread(fd, to, most(size), at); }
int64_t rf__os_write_at(int fd, const void *from, size_t size, int64_t at) { return pwrite(fd, from, most(size), at); }

/* lseek in parentheses: not the macro of WASI's library, which is no C11. */
int64_t rf__os_seek(int fd, int64_t at) { return (lseek)(fd, at, SEEK_SET); }
int64_t rf__os_position(int fd) { return (lseek)(fd, 0, SEEK_CUR); }
int rf__os_cut(int fd, int64_t size) { return ftruncate(fd, size); }

void rf__os_sequential(int fd)
{
#ifdef POSIX_FADV_SEQUENTIAL
    (void)posix_fadvise(fd, 0, 0, POSIX_FADV_SEQUENTIAL);
#else
    (void)fd;
#endif
}

static int64_t nanoseconds(struct timespec t) { return (int64_t)t.tv_sec * 1000000000 + t.tv_nsec; }

int rf__libc_state(int failed, const struct stat *st, rf__os_state *out)
{
    if (failed) return -1;
    *out = (rf__os_state){.kind = S_ISREG(st->st_mode)   ? RF__OS_FILE
                                  : S_ISDIR(st->st_mode) ? RF__OS_FOLDER
                                  : S_ISLNK(st->st_mode) ? RF__OS_LINK
                                                         : RF__OS_DEVICE,
                          .removed = !st->st_nlink,
#ifdef __wasi__                         /* which has no permissions */
                          .mode = S_ISDIR(st->st_mode) ? 0755 : 0644,
#else
                          .mode = (unsigned)st->st_mode & 07777,
#endif
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
    return rf__libc_state(stat(path, &st), &st, out);
}

int rf__os_look_link(const char *path, rf__os_state *out)
{
    struct stat st;
    return rf__libc_state(lstat(path, &st), &st, out);
}

int rf__os_look_file(int fd, rf__os_state *out)
{
    struct stat st;
    return rf__libc_state(fstat(fd, &st), &st, out);
}

bool rf__os_exists(const char *path) { return !access(path, F_OK); }
bool rf__os_readable(const char *path) { return !access(path, R_OK); }
int rf__os_remove(const char *path) { return unlink(path); }
int rf__os_make_folder(const char *path) { return mkdir(path, 0777); }
int rf__os_remove_folder(const char *path) { return rmdir(path); }
int rf__os_rename(const char *from, const char *to) { return rename(from, to); }

FILE *rf__os_stream(const char *path, const char *mode)
{
    FILE *f = fopen(path, mode);
#ifndef __wasi__
    if (f) (void)fcntl(fileno(f), F_SETFD, FD_CLOEXEC);      /* the mode "e" is not known everywhere */
#endif
    return f;
}

bool rf__os_terminal(int fd) { return isatty(fd) == 1; }

/* ---- time -------------------------------------------------------------------------------------------------- */

struct timespec rf__libc_time(double seconds)
{
    const double s = fmin(fmax(seconds, 0), 1e15), whole = floor(s);
    return (struct timespec){.tv_sec = (time_t)whole, .tv_nsec = (long)(1e9 * (s - whole))};
}

void rf__os_sleep(double seconds)
{
    const struct timespec t = rf__libc_time(seconds);
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
