/* faulty_disk.h — a disk that fails as planned, on all systems: the linker redirects the functions of base/os/os.h that
 * change a disk to those below (--wrap, CMakeLists.txt), also in other threads. Only files below disk.root
 * take part. One source of a program includes it.
 *
 *     DISK_COUNTS        sizes of writes are kept
 *     DISK_FULL          after `space` bytes
 *     DISK_NTH_FAILS     the n-th call fails with EIO: a write, a sync, a close, a rename, a new file or folder
 *     DISK_SHORT         every write is short
 *     DISK_INTERRUPTED   every second write is interrupted
 *     DISK_LOSES         the first sync of a file whose path contains `part` fails
 *
 * DISK_COUNTS and DISK_FULL are for the files whose paths contain `part`; NULL: for all. */
#ifndef FAULTY_DISK_H
#define FAULTY_DISK_H

#include <errno.h>

#include "base/os/os.h"
#include "t.h"

int __real_rf__os_open_in(const rf__os_folder *f, const char *name, int how);
int __real_rf__os_close(int fd);
int64_t __real_rf__os_write(int fd, const void *data, size_t size);
int64_t __real_rf__os_write_at(int fd, const void *data, size_t size, int64_t at);
int __real_rf__os_sync(int fd);
int __real_rf__os_sync_folder(const char *path);
int __real_rf__os_rename(const char *from, const char *to);
int __real_rf__os_make_folder(const char *path);
int __wrap_rf__os_open(const char *path, int how);
int __wrap_rf__os_open_in(const rf__os_folder *f, const char *name, int how);
int __wrap_rf__os_close(int fd);
int64_t __wrap_rf__os_write(int fd, const void *data, size_t size);
int64_t __wrap_rf__os_write_at(int fd, const void *data, size_t size, int64_t at);
int __wrap_rf__os_sync(int fd);
int __wrap_rf__os_sync_folder(const char *path);
int __wrap_rf__os_rename(const char *from, const char *to);
int __wrap_rf__os_make_folder(const char *path);

enum disk_plan { DISK_WORKS, DISK_COUNTS, DISK_FULL, DISK_NTH_FAILS, DISK_SHORT, DISK_INTERRUPTED, DISK_LOSES };

enum { DISK_WRITES = 4096, DISK_FAILED = 64, DISK_FILES = 1024, DISK_PATH = 512 };

static struct {
    _Atomic int plan;
    char root[DISK_PATH];
    const char *part;
    _Atomic long space;                 /* DISK_FULL: bytes that still fit                                            */
    _Atomic long n, seen;               /* DISK_NTH_FAILS: the n-th call fails; calls so far                          */
    _Atomic int hits;                   /* number of calls that failed                                                */
    long size[DISK_WRITES];             /* DISK_COUNTS                                                                */
    _Atomic int writes;
    char unsynced[DISK_FAILED][DISK_PATH];              /* files whose sync failed                                    */
    _Atomic int failed;
    _Atomic int again;                  /* syncs of a file whose sync had failed                                      */
    char name[DISK_FILES][DISK_PATH];   /* of an open file below the root, by its descriptor; "" for others           */
} disk;

/* The next plan, with what it counts from the beginning. */
static inline void disk_begin(enum disk_plan plan)
{
    disk.seen = 0;
    disk.hits = disk.failed = disk.again = 0;
    if (plan == DISK_COUNTS) disk.writes = 0;
    disk.plan = plan;
}

static inline bool disk_below(const char *path)
{
    const size_t n = strlen(disk.root);
    return n && !strncmp(path, disk.root, n);
}

static inline const char *disk_name(int fd)
{
    return fd >= 0 && fd < DISK_FILES && *disk.name[fd] ? disk.name[fd] : NULL;
}

static inline bool disk_nth(void)
{
    if (disk.plan != DISK_NTH_FAILS || ++disk.seen != disk.n) return false;
    disk.hits++;
    errno = EIO;
    return true;
}

/* Files are written by their paths, not by names in a folder. */
int __wrap_rf__os_open_in(const rf__os_folder *f, const char *name, int how)
{
    const bool ours = !f && disk_below(name) && how & (RF__OS_WRITE | RF__OS_WRITE_ONLY);
    if (ours && how & RF__OS_CREATE && disk_nth()) return -1;
    const int fd = __real_rf__os_open_in(f, name, how);
    if (fd >= 0 && fd < DISK_FILES) snprintf(disk.name[fd], DISK_PATH, "%s", ours ? name : "");
    return fd;
}

int __wrap_rf__os_open(const char *path, int how) { return __wrap_rf__os_open_in(NULL, path, how); }

int __wrap_rf__os_close(int fd)
{
    const bool fails = disk_name(fd) && disk_nth();
    if (disk_name(fd)) *disk.name[fd] = 0;
    const int failed = __real_rf__os_close(fd);
    if (fails) errno = EIO;
    return fails ? -1 : failed;
}

/* Whether the write goes on, with *size bytes; *result is that of one that does not. */
static inline bool disk_writes(int fd, size_t *size, int64_t *result)
{
    const char *name = disk_name(fd);
    const int now = disk.plan;
    *result = -1;
    if (!name || now == DISK_WORKS) return true;
    const bool part = !disk.part || strstr(name, disk.part);
    if (now == DISK_COUNTS && part && disk.writes < DISK_WRITES) disk.size[disk.writes++] = (long)*size;
    if (now == DISK_NTH_FAILS && disk_nth()) return false;
    if (now == DISK_INTERRUPTED && ++disk.seen % 2) return errno = EINTR, false;
    if (now == DISK_SHORT && *size > 1) *size = 1 + *size / 2;
    if (now != DISK_FULL || !part) return true;
    const long space = disk.space, all = (long)*size;
    if (all <= space) {
        disk.space -= all;
        return true;
    }
    disk.hits++;
    disk.space = 0;
    *size = (size_t)space;
    errno = ENOSPC;
    return space > 0;
}

int64_t __wrap_rf__os_write(int fd, const void *data, size_t size)
{
    int64_t result;
    return disk_writes(fd, &size, &result) ? __real_rf__os_write(fd, data, size) : result;
}

int64_t __wrap_rf__os_write_at(int fd, const void *data, size_t size, int64_t at)
{
    int64_t result;
    return disk_writes(fd, &size, &result) ? __real_rf__os_write_at(fd, data, size, at) : result;
}

/* A file whose sync failed may have lost pages that now count as written: syncing it again proves nothing. */
int __wrap_rf__os_sync(int fd)
{
    const char *name = disk_name(fd);
    if (!name) return __real_rf__os_sync(fd);
    if (disk.plan == DISK_LOSES && strstr(name, disk.part)) {
        errno = EIO;
        if (disk.hits) disk.again++;
        return disk.hits++ ? 0 : -1;
    }
    if (disk.plan != DISK_NTH_FAILS) return __real_rf__os_sync(fd);
    for (int i = 0; i < disk.failed; i++)
        if (!strcmp(disk.unsynced[i], name)) disk.again++;
    if (!disk_nth()) return __real_rf__os_sync(fd);
    memcpy(disk.unsynced[disk.failed++], name, DISK_PATH);
    return -1;
}

int __wrap_rf__os_sync_folder(const char *path)
{
    return disk_below(path) && disk_nth() ? -1 : __real_rf__os_sync_folder(path);
}

int __wrap_rf__os_rename(const char *from, const char *to)
{
    return disk_below(from) && disk_nth() ? -1 : __real_rf__os_rename(from, to);
}

int __wrap_rf__os_make_folder(const char *path)
{
    return disk_below(path) && disk_nth() ? -1 : __real_rf__os_make_folder(path);
}

/* What a sweep tests: every n-th point, all with ROFORMER_SWEEP=1. */
static inline long disk_stride(long usual)
{
    const char *text = getenv("ROFORMER_SWEEP");
    return text ? rf__max64(1, atol(text)) : usual;
}

/* The entries of a folder, as many as have this in their names. */
static inline int disk_entries(const char *folder, const char *part)
{
    int n = 0;
    rf__os_folder *f = rf__os_folder_open(folder);
    for (const char *name; f && (name = rf__os_next(f, NULL));) n += strstr(name, part) != NULL;
    rf__os_folder_close(f);
    return n;
}

/* The folder's checksums are those of the first call: so all its files are. */
static inline void disk_same(const char *folder)
{
    static char first[4096];
    char now[sizeof first] = "", path[2 * DISK_PATH];
    snprintf(path, sizeof path, "%s/checksums.json", folder);
    FILE *f = rf__os_stream(path, "r");
    const size_t n = f ? fread(now, 1, sizeof now - 1, f) : 0;
    if (!n || n == sizeof now - 1) fail_msg("%s: %zu bytes", path, n);
    fclose(f);
    if (!*first) memcpy(first, now, sizeof now);
    assert_string_equal(now, first);
}

/* What is written to disk.root, at every point of a sweep:
 *
 *     make     writes it, from nothing or from what a failure has left
 *     left     after a failure: examines what is there
 *     made     after success: compares it with the first result, and removes it                                      */
typedef struct disk_work {
    rf_status (*make)(rf_error *why);
    void (*left)(void);
    void (*made)(void);
} disk_work;

static inline void disk_make(const disk_work *w)
{
    rf_error why = {0};
    disk.plan = DISK_WORKS;
    if (w->make(&why)) fail_msg("%s", why.text);
    w->made();
}

/* The disk is full after 0, 1 and all but one bytes of each write; each call fails. */
static inline void disk_sweep(const disk_work *w, long stride)
{
    rf_error why = {0};
    long points = 0, before = 0, ended = 0, n = 1;
    disk_make(w);
    disk_begin(DISK_COUNTS);
    if (w->make(&why)) fail_msg("%s", why.text);
    const int writes = disk.writes;
    w->made();
    for (int i = 0; i < writes; before += disk.size[i++])
        for (int part = 0; part < 3; part++) {
            if ((i * 3 + part) % stride) continue;
            disk.space = before + (part == 0 ? 0 : part == 1 ? rf__min64(1, disk.size[i] - 1) : disk.size[i] - 1);
            disk_begin(DISK_FULL);
            const rf_status status = w->make(&why);
            if (!disk.hits || status != RF_EIO) fail_msg("full in write %d of %d: %s", i, writes, why.text);
            t_failed(&why, RF_EIO, "No space left on device");
            t_failed(&why, RF_EIO, disk.root);
            disk.plan = DISK_WORKS;
            w->left();
            disk_make(w);
            points++;
        }
    print_message("           %ld of %d points in %ld bytes\n", points, 3 * writes, before);
    for (bool reached = true; reached; n += stride) {
        disk.n = n;
        disk_begin(DISK_NTH_FAILS);
        const rf_status status = w->make(&why);
        reached = disk.hits > 0;
        disk.plan = DISK_WORKS;
        if (status && status != RF_EIO) fail_msg("call %ld: status %d, %s", n, status, why.text);
        if (disk.again) fail_msg("call %ld: %s was synced again", n, disk.unsynced[0]);
        ended += status != RF_OK;
        if (status) w->left(), disk_make(w);
        else w->made();
    }
    print_message("           %ld calls, %ld ended the work\n", n / stride, ended);
    assert_true(points > 2 && ended > 2);
}

#endif
