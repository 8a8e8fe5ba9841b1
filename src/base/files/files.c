/* files.c — maps, reads and replaces files; a reader sees the old file or the new one. */
#include <errno.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/files/held_folder.h"
#include "base/files/path.h"
#include "base/os/os.h"

static rf_status refused(rf_error *why, const char *path, const char *verb)
{
    const int e = errno;
    return rf_fail(why, e == ENOMEM ? RF_ENOMEM : RF_EIO, "%s: cannot %s: %s", path, verb, rf__os_reason(e));
}

static rf_status not_a_file(rf_error *why, const char *path)
{
    return rf_fail(why, RF_EIO, "%s: expected a file, got a pipe, a socket or a device", path);
}

static rf_status a_folder(rf_error *why, const char *path)
{
    return rf_fail(why, RF_EIO, "%s: expected a file, got a directory", path);
}

/* The size of a regular file; 0 for others. */
static rf_status check_file(int fd, const rf__held *h, bool pipes, size_t *size, rf_error *why)
{
    rf__os_state st;
    if (rf__os_look_file(fd, &st)) return refused(why, h->path, "stat");
    if (st.kind == RF__OS_FOLDER) return a_folder(why, h->path);
    if (st.kind != RF__OS_FILE && !pipes) return not_a_file(why, h->path);
    if (st.size < 0 || (uint64_t)st.size > SIZE_MAX / 2)
        return rf_fail(why, RF_EDATA, "%s: expected at most %zu bytes, got %lld", h->path, (size_t)SIZE_MAX / 2,
                       (long long)st.size);
    *size = st.kind == RF__OS_FILE ? (size_t)st.size : 0;
    return h->folder ? rf__held_opened(h, &st, why) : RF_OK;
}

static rf_status open_any(const rf__held *h, int how, bool pipes, int *fd, size_t *size, rf_error *why)
{
    const char *path = h->path;
    *fd = rf__os_open_in(h->at, h->below, how | (pipes ? 0 : RF__OS_NO_WAIT));
    const int e = errno;
    if (*fd < 0 && h->folder && e == ENOENT) rf__held_lacks(h);
    errno = e;
    /* a socket, or a device without a driver */
    if (*fd < 0 && errno == ENXIO) return not_a_file(why, path);
    if (*fd < 0) return errno == EISDIR ? a_folder(why, path) : refused(why, path, "open");
    const rf_status status = check_file(*fd, h, pipes, size, why);
    if (status) rf__os_close(*fd), *fd = -1;
    return status;
}

rf_status rf__open_file(const char *path, int how, int *fd, size_t *size, rf_error *why)
{
    const rf__held h = rf__held_none(path);
    return open_any(&h, how, false, fd, size, why);
}

rf_status rf__held_open(const rf__held *h, int *fd, size_t *size, rf_error *why)
{
    return open_any(h, RF__OS_READ, false, fd, size, why);
}

rf_status rf__must_be_file(const char *path, rf_error *why)
{
    int fd;
    size_t size;
    const rf_status status = rf__open_file(path, RF__OS_READ, &fd, &size, why);
    if (!status) rf__os_close(fd);
    return status;
}

rf_status rf__map_open(const rf_ctx *ctx, const char *path, rf_map *out, rf_error *why)
{
    rf_map own;
    int fd;
    size_t size;
    if (rf__find_in_memory(ctx, path, &own, why))
        return own.data ? (*out = own, rf__check_substitute(path, own.data, own.size, why)) : RF_EIO;
    const rf__held h = rf__held_of(ctx, path);
    rf_status status = rf__held_open(&h, &fd, &size, why);
    if (status) return status;
    if (!size) {
        rf__os_close(fd);
        *out = (rf_map){(const unsigned char *)"", 0, false};
        return RF_OK;
    }
    const void *p = rf__os_map(fd, size);
    const int e = errno;
    rf__os_close(fd);
    errno = e;
    if (!p) return refused(why, path, "map");
    *out = (rf_map){p, size, true};
    status = rf__check_substitute(path, p, size, why);
    if (status) rf__map_close(ctx, out);
    return status;
}

/* Reading a page also maps its neighbors, up to a huge page. Those that belong to neighboring tensors are mapped again
 * when these are read. */
enum { AROUND = 2 << 20 };

void rf__map_forget(const rf_map *map, size_t offset, size_t size)
{
    const size_t from = offset / AROUND * AROUND, end = (offset + size + AROUND - 1) / AROUND * AROUND;
    const size_t to = end < map->size ? end : map->size;
    if (map->mapped && to > from && offset + size <= map->size) rf__os_map_forget(map->data + from, to - from);
}

void rf__map_close(const rf_ctx *ctx, rf_map *map)
{
    (void)ctx;
    if (map->mapped) rf__os_unmap(map->data, map->size);
    *map = (rf_map){0};
}

static rf_status copy_of(const rf_ctx *ctx, const rf_map *map, const char *path, size_t limit, char **data,
                         size_t *size, rf_error *why)
{
    if (map->size > limit)
        return rf_fail(why, RF_EDATA, "%s: expected at most %zu bytes, got %zu", path, limit, map->size);
    const rf_status status = rf__check_substitute(path, map->data, map->size, why);
    if (status) return status;
    char *buffer = rf__alloc(ctx, map->size + 1);
    if (!buffer) return rf_fail(why, RF_ENOMEM, "%s: out of memory after 0 bytes", path);
    memcpy(buffer, map->data, map->size);
    buffer[map->size] = 0;
    *data = buffer;
    *size = map->size;
    return RF_OK;
}

static rf_status read_whole(const rf_ctx *ctx, const char *path, bool pipes, size_t limit, char **data, size_t *size,
                            rf_error *why)
{
    int fd;
    size_t expect, n = 0, capacity = 0;
    rf_map own;
    if (rf__find_in_memory(ctx, path, &own, why))
        return own.data ? copy_of(ctx, &own, path, limit, data, size, why) : RF_EIO;
    const rf__held h = rf__held_of(ctx, path);
    if (rf__held_kept(&h, &own)) return copy_of(ctx, &own, path, limit, data, size, why);
    rf_status status = open_any(&h, RF__OS_READ, pipes, &fd, &expect, why);
    if (status) return status;
    char *buffer = NULL;
    for (;;) {
        const size_t space = expect > n ? expect - n : 65536;
        if (n > limit || expect > limit) {
            status = rf_fail(why, RF_EDATA, "%s: expected at most %zu bytes, got %zu", path, limit,
                             expect > n ? expect : n);
            break;
        }
        if (!rf__grow(ctx, &buffer, &capacity, n + space + 1, 1)) {
            status = rf_fail(why, RF_ENOMEM, "%s: out of memory after %zu bytes", path, n);
            break;
        }
        const int64_t got = rf__os_read(fd, buffer + n, space);
        if (got < 0 && errno == EINTR) continue;
        if (got < 0) {
            status = refused(why, path, "read");
            break;
        }
        if (got == 0) {
            status = rf__check_substitute(path, buffer, n, why);
            if (!status && h.folder) status = rf__held_keep(&h, buffer, n, why);
            if (status) break;
            rf__os_close(fd);
            buffer[n] = 0;
            *data = buffer;
            *size = n;
            return RF_OK;
        }
        n += (size_t)got;
    }
    rf__os_close(fd);
    rf__free(ctx, buffer);
    return status;
}

rf_status rf__read_file(const rf_ctx *ctx, const char *path, size_t limit, char **data, size_t *size, rf_error *why)
{
    return read_whole(ctx, path, false, limit, data, size, why);
}

rf_status rf__read_named(const rf_ctx *ctx, const char *path, size_t limit, char **data, size_t *size, rf_error *why)
{
    return read_whole(ctx, path, true, limit, data, size, why);
}

rf_status rf__write_all(int fd, const void *data, size_t size, const char *path, rf_error *why)
{
    const char *p = data;
    while (size) {
        const int64_t n = rf__os_write(fd, p, size);
        if (n < 0 && errno == EINTR) continue;
        if (n < 0) return refused(why, path, "write");
        p += n;
        size -= (size_t)n;
    }
    return RF_OK;
}

rf_status rf__path(char *out, size_t size, const char *folder, const char *name, rf_error *why)
{
    const size_t n = strlen(folder);
    const int wrote = snprintf(out, size, "%s%s%s", folder, n && rf__os_is_slash(folder[n - 1]) ? "" : "/", name);
    if (wrote < 0 || (size_t)wrote >= size)
        return rf_fail(why, RF_ERANGE, "%.80s.../%.80s: expected a path of at most %zu bytes, got a longer one", folder,
                       name, size - 1);
    return RF_OK;
}

rf_status rf__sync_folder(const char *path, rf_error *why)
{
    return rf__os_sync_folder(path) ? refused(why, path, "sync") : RF_OK;
}

static rf_status sync_parent(const char *path, rf_error *why)
{
    char folder[4096];
    const rf_status status = rf__folder_of(path, folder, sizeof folder, why);
    return status ? status : rf__sync_folder(folder, why);
}

rf_status rf__temporary_open(const char *path, char *temporary, size_t size, int *fd, rf_error *why)
{
    enum { TRIES = 1000 };                         /* the name may be left from an ended process with the same number */
    static atomic_uint number;
    rf__os_state st;
    if (!rf__os_look(path, &st) && st.kind != RF__OS_FILE) return rf_fail(why, RF_EIO, "%s: not a file", path);
    for (int i = 0; i < TRIES; i++) {
        const unsigned n = atomic_fetch_add(&number, 1);
        const int wrote = snprintf(temporary, size, "%s.tmp-%ld-%u", path, rf__os_process(), n);
        if (wrote < 0 || (size_t)wrote >= size) return rf_fail(why, RF_ERANGE, "%.100s...: path too long", path);
        *fd = rf__os_open(temporary, RF__OS_WRITE | RF__OS_CREATE | RF__OS_NEW);
        if (*fd >= 0) return RF_OK;
        if (errno != EEXIST) break;
    }
    return refused(why, temporary, "create");
}

bool rf__two_numbers(const char *text, long *first)
{
    static const char digits[] = "0123456789";
    const size_t n = strspn(text, digits), m = text[n] == '-' ? strspn(text + n + 1, digits) : 0;
    *first = strtol(text, NULL, 10);
    return n && m && !text[n + 1 + m];
}

rf_status rf__replaceable(const char *path, const char *begins, const char *what, rf_error *why)
{
    char begin[16];
    rf__os_state st;
    const size_t size = strlen(begins);
    if (rf__os_look(path, &st)) return RF_OK;
    if (st.kind != RF__OS_FILE) return rf_fail(why, RF_EIO, "%s: not a file", path);
    if (!st.size) return RF_OK;
    const int fd = rf__os_open(path, RF__OS_READ);
    const int64_t n = fd < 0 ? -1 : rf__os_read_at(fd, begin, size, 0);
    if (fd >= 0) rf__os_close(fd);
    if (n == (int64_t)size && !memcmp(begin, begins, size)) return RF_OK;
    return rf_fail(why, RF_EARG, "%s: expected a %s to replace, got another file; choose another name", path, what);
}

/* Renames the temporary file to `path`, unless writing has failed. */
static rf_status replace(int fd, const char *temporary, const char *path, rf_status status, rf_error *why)
{
    if (!status && rf__os_sync(fd)) status = refused(why, temporary, "sync");
    if (rf__os_close(fd) && !status) status = refused(why, temporary, "close");
    if (!status && rf__os_rename(temporary, path)) status = refused(why, path, "replace");
    if (status) rf__os_remove(temporary);
    return status ? status : sync_parent(path, why);
}

rf_status rf__replace_file(const rf_ctx *ctx, const char *path, const void *data, size_t size, rf_error *why)
{
    (void)ctx;
    char temporary[4096];
    int fd;
    rf_status status = rf__temporary_open(path, temporary, sizeof temporary, &fd, why);
    if (status) return status;
    status = rf__write_all(fd, data, size, temporary, why);
    return replace(fd, temporary, path, status, why);
}

rf_status rf__copy_file(const rf_ctx *ctx, const char *from, const char *to, rf_error *why)
{
    enum { BUFFER = 1 << 18 };
    char temporary[4096], *buffer = rf__alloc(ctx, BUFFER);
    int in = -1, out = -1;
    size_t size;
    rf_status status = buffer ? rf__open_file(from, RF__OS_READ, &in, &size, why)
                              : rf_fail(why, RF_ENOMEM, "%s: out of memory", from);
    if (!status) status = rf__temporary_open(to, temporary, sizeof temporary, &out, why);
    for (int64_t n = 1; !status && n;) {
        n = rf__os_read(in, buffer, BUFFER);
        if (n < 0 && errno == EINTR) continue;
        status = n < 0 ? refused(why, from, "read") : rf__write_all(out, buffer, (size_t)n, temporary, why);
    }
    if (out >= 0) status = replace(out, temporary, to, status, why);
    if (in >= 0) rf__os_close(in);
    rf__free(ctx, buffer);
    return status;
}

/* ---- the contents of a folder ---- */

typedef struct few { char first[256], second[256], last[256]; size_t n; } few;    /* sorted by name, with 2 before 10 */

static void add_name(few *f, const char *name)
{
    f->n++;
    if (f->n == 1 || rf__compare_numbered(name, f->last) > 0) snprintf(f->last, sizeof f->last, "%s", name);
    if (f->n == 1 || rf__compare_numbered(name, f->first) < 0) {
        memcpy(f->second, f->first, sizeof f->second);
        snprintf(f->first, sizeof f->first, "%s", name);
    } else if (f->n == 2 || rf__compare_numbered(name, f->second) < 0) {
        snprintf(f->second, sizeof f->second, "%s", name);
    }
}

size_t rf__folders_holding(const char *folder, const char *file, char *out, size_t size)
{
    char path[4096], below[4096];
    few f = {.n = 0};
    rf__os_folder *d = folder && file && out && size ? rf__os_folder_open(folder) : NULL;
    if (out && size) *out = 0;
    for (const char *name; d && (name = rf__os_next(d, NULL));)
        if (*name != '.' && !rf__path(below, sizeof below, folder, name, NULL) &&
            !rf__path(path, sizeof path, below, file, NULL) && rf__os_exists(path))
            add_name(&f, name);
    rf__os_folder_close(d);
    const char *const shown[] = {f.first, f.second, f.n > 3 ? "..." : f.last, f.last};
    for (size_t i = 0; i < f.n && i < RF_COUNT(shown); i++) rf__list_add(out, size, shown[i]);
    return f.n;
}

rf_status rf__name_folders_below(const char *folder, const char *file, rf_error *why)
{
    char names[120], path[4096];
    if (!why || rf__path(path, sizeof path, folder, file, NULL) || rf__os_exists(path)) return why ? why->code : RF_OK;
    const size_t n = strlen(why->text);
    if (rf__folders_holding(folder, file, names, sizeof names))
        snprintf(why->text + n, sizeof why->text - n, "; folders in it have one: %s", names);
    return why->code;
}
