/* os.h — layer 0, internal: what the library and the program ask of the operating system. Everything else is C11,
 * pthreads, clock_gettime and <strings.h>, which all systems have. One file per system:
 *
 *     os_libc.c       what is the same with every C library in the manner of POSIX: Linux, macOS, WASI
 *     os_posix.c      Linux, macOS and other POSIX systems; os_linux.c and os_macos.c have what differs between these
 *     os_windows.c    Windows 10 and later
 *     os_wasm.c       WASI, in a browser too
 *     os_all.c        what is made of the others' functions, on all systems
 *
 * tools/check/floors.sh refuses other systems' headers elsewhere.
 *
 * Paths     UTF-8. '/' separates folders on all systems; Windows takes '\' as well. There, EINVAL refuses what would be
 *           another file than its name says: a device (nul.txt, com1 in a folder), a part that ends with a dot or a
 *           space, a stream (a:b). What is only a device's name, as nul, is the device.
 * Errors    Functions that return int: 0, or -1; those that return a pointer: NULL. errno is then set as in POSIX, on
 *           all systems, so that strerror(errno) describes it.
 * Files     Descriptors of the C library. They hold bytes: no end of line is converted. No child process inherits them.
 *           Open files may be renamed, replaced and removed by any process, also on Windows. There, a folder with an
 *           open file cannot be renamed, and descriptors are for the functions below alone.
 * Threads   All functions are safe in any thread. */
#ifndef RF_OS_H
#define RF_OS_H

#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <time.h>

#include "roformer/context.h"

/* What an errno of these functions says, for messages: strerror's words; Windows: also those that its C library lacks,
 * and which names there are none of. */
const char *rf__os_reason(int error);

/* ---- files ------------------------------------------------------------------------------------------------- */

/* What a path or an open file is. */
typedef enum rf__os_kind {
    RF__OS_FILE, RF__OS_FOLDER, RF__OS_LINK, RF__OS_DEVICE,             /* a device: also a pipe or a socket */
    RF__OS_UNKNOWN                                                      /* rf__os_next only */
} rf__os_kind;

typedef struct rf__os_state {
    rf__os_kind kind;                   /* RF__OS_LINK: only from rf__os_look_link */
    bool removed;                       /* an open file that has no name any more */
    unsigned mode;                      /* permission bits of POSIX */
    int64_t size;                       /* bytes */
    int64_t modified, changed;          /* nanoseconds since 1970; Windows: changed is that of the metadata, too */
    uint64_t volume, number;            /* equal for two names of one file, and only then */
} rf__os_state;

/* Whether it stands between folders in a path. */
#ifdef _WIN32
static inline bool rf__os_is_slash(char c) { return c == '/' || c == '\\'; }
#else
static inline bool rf__os_is_slash(char c) { return c == '/'; }
#endif
const char *rf__os_last_slash(const char *path);                        /* NULL: there is none */

/* A volume of 0 is unknown: that of standard output under Wine. */
static inline bool rf__os_same(const rf__os_state *a, const rf__os_state *b)
{
    return a->number == b->number && (a->volume == b->volume || !a->volume || !b->volume);
}

/* How a file is opened: one of the first two, and any of the others. */
enum {
    RF__OS_READ = 0,
    RF__OS_WRITE = 1,                   /* for reading and writing */
    RF__OS_WRITE_ONLY = 2,
    RF__OS_CREATE = 4,                  /* if it does not exist */
    RF__OS_NEW = 8,                     /* with CREATE; EEXIST: it exists */
    RF__OS_NO_LINK = 16,                /* ELOOP: the last part of the path is a link */
    RF__OS_NO_WAIT = 32,                /* a pipe is opened without waiting for its other end */
    RF__OS_APPEND = 64,                 /* each write goes to the end */
    RF__OS_PRIVATE = 128                /* a new file is not for all users: 0640 (Windows: the folder's rules count) */
};

/* A descriptor. A folder: EISDIR (POSIX: only for writing). EBUSY: another program does not share it (Windows). */
int rf__os_open(const char *path, int how);
int rf__os_close(int fd);
int64_t rf__os_read(int fd, void *to, size_t size);                     /* bytes, 0 at the end; EINTR is not retried */
int64_t rf__os_write(int fd, const void *from, size_t size);            /* may write less */
int64_t rf__os_read_at(int fd, void *to, size_t size, int64_t at);      /* the position of the file does not matter */
int64_t rf__os_write_at(int fd, const void *from, size_t size, int64_t at);
int64_t rf__os_seek(int fd, int64_t at);                                /* from the beginning; the new position */
int64_t rf__os_position(int fd);                                        /* -1: it has none, as a pipe */
int rf__os_cut(int fd, int64_t size);
int rf__os_sync(int fd);                                                /* to the disk itself; macOS: F_FULLFSYNC */
void rf__os_sequential(int fd);                                         /* a hint: it will be read from end to end */

int rf__os_look(const char *path, rf__os_state *out);                  /* links are followed */
int rf__os_look_link(const char *path, rf__os_state *out);          /* of the link itself */
int rf__os_look_file(int fd, rf__os_state *out);
bool rf__os_exists(const char *path);
bool rf__os_readable(const char *path);                                 /* false: errno says why */
bool rf__os_writable(const char *path);                                 /* a folder: files may be created in it */

int rf__os_remove(const char *path);                                    /* a file or a link */
int rf__os_make_folder(const char *path);
int rf__os_remove_folder(const char *path);                             /* ENOTEMPTY or EEXIST: it is not empty */

/* Atomic: a reader sees the old file, or the new one, whole. An existing file `to` is replaced even if it is open or
 * mapped; a folder `to` is not (POSIX: unless it is empty). Windows: a file that another program holds without sharing
 * it, as a virus scanner does, is tried again for a second; atomic on NTFS, elsewhere an open file that is replaced
 * first becomes NAME.tmp-<process>-<n>, so that there is no file for a moment. */
int rf__os_rename(const char *from, const char *to);

/* After a rename: it survives a loss of power. Windows, which has no such call, syncs renames itself: 0. */
int rf__os_sync_folder(const char *path);

/* Locks an open file for this descriptor until it is closed; EWOULDBLOCK: another descriptor holds it. The lock only
 * excludes other locks: reading and writing go on. */
int rf__os_lock(int fd);

char *rf__os_whole_path(const char *path);                              /* absolute, without links, with '/'; free() */
double rf__os_free_space(const char *folder);                           /* bytes for this user; -1: an error */

/* A stream for a file, as fopen's, with a mode of C11 ("r", "w", "wx", ...), always of bytes. */
FILE *rf__os_stream(const char *path, const char *mode);

/* Removes a file, or a folder with everything in it; links are removed, not followed. What cannot be removed stays. */
void rf__os_remove_tree(const char *path);

/* A new file or folder; `pattern` ends with XXXXXX, which is replaced. A descriptor, or 0; -1. The file has `mode`. */
int rf__os_temporary_file(char *pattern, unsigned mode);
int rf__os_temporary_folder(char *pattern);
const char *rf__os_temporary_place(void);                               /* for such files: /tmp; no '/' at the end */
unsigned rf__os_new_mode(void);                                         /* permission bits of a new file */

/* ---- folders ------------------------------------------------------------------------------------------------ */

/* An open folder: the same one, even if it is renamed or another takes its place. Names below it contain no "..". A
 * folder NULL: `name` is a path. */
typedef struct rf__os_folder rf__os_folder;
rf__os_folder *rf__os_folder_open(const char *path);
void rf__os_folder_close(rf__os_folder *f);                             /* NULL is allowed */
const char *rf__os_next(rf__os_folder *f, rf__os_kind *kind);           /* never "." or ".."; NULL: no more */
void rf__os_again(rf__os_folder *f);                                    /* from the first name, as it is now */
int rf__os_open_in(const rf__os_folder *f, const char *name, int how);
int rf__os_look_in(const rf__os_folder *f, const char *name, rf__os_state *out);
bool rf__os_exists_in(const rf__os_folder *f, const char *name);

/* ---- memory ------------------------------------------------------------------------------------------------- */

/* A file as read-only memory, which stays valid when the file is closed. Other processes that shorten it: a read beyond
 * its end raises SIGBUS (Windows: it cannot be shortened while it is mapped). WASI: a copy. */
const void *rf__os_map(int fd, size_t size);
void rf__os_unmap(const void *data, size_t size);
void rf__os_map_forget(const void *data, size_t size);                  /* a hint: these whole pages are not needed */

/* Blocks of 64-byte aligned memory; large ones come from the system, in huge pages where it has them (alloc.c). */
void *rf__system_alloc(void *user, size_t size);
void rf__system_release(void *user, void *memory, size_t size);

/* rf__memory_left: base.h. rf__processor_has: system/processor.h. */

/* ---- the process, threads, time ----------------------------------------------------------------------------- */

/* As rf__cache_share (system/processor.h), which asks once. */
size_t rf__os_cache_share(void);

/* rf_processors: roformer/context.h. rf__thread_start: system/thread.h. */
long rf__os_process(void);                                              /* its number */
bool rf__os_process_ended(long process);                                /* false: it runs, or nobody can tell */
bool rf__os_process_locks(long process);                                /* it has an rf__os_lock; not Linux: it runs */
void rf__os_host(char *name, size_t size);                              /* of this machine; "" if it has none */
bool rf__os_self(char *path, size_t size);                              /* the file of the program */
double rf__os_memory(void);                                             /* bytes it has in memory now; 0: unknown */
int rf__os_open_files(void);                                            /* descriptors, sockets too; Windows: handles */

/* A condition that rf__os_wait_until waits for, at most until rf__seconds() is `until`; spurious ends are possible. */
int rf__os_condition(pthread_cond_t *out);
void rf__os_wait_until(pthread_cond_t *c, pthread_mutex_t *lock, double until);

void rf__os_sleep(double seconds);                                      /* a signal ends it early; not on Windows */
bool rf__os_utc(time_t t, struct tm *out);                              /* gmtime and localtime for any thread */
bool rf__os_local(time_t t, struct tm *out);

/* strftime for a format that a file names. 0: it does not fit, is empty, or has a conversion that C11 does not know
 * (Windows, whose C library would end the process; %z and %Z are none of UTF-8 there). */
size_t rf__os_date(char *out, size_t size, const char *format, const struct tm *t);

/* ---- text --------------------------------------------------------------------------------------------------- */

/* A stream into memory. rf__os_text_close returns whether everything was written; `text` then ends with a zero that
 * `size` does not count, and is freed by free(). On failure text is NULL. */
typedef struct rf__os_text { FILE *to; char *text; size_t size; } rf__os_text;
bool rf__os_text_open(rf__os_text *t);
bool rf__os_text_close(rf__os_text *t);

/* ---- the terminal ------------------------------------------------------------------------------------------- */

bool rf__os_terminal(int fd);
int rf__os_columns(int fd);                                             /* 0: unknown */

#endif
