/* content.c — h_0 = 0, h_(i+1) = XXH3(block i, seed h_i), over blocks of 1 MiB. */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "data/documents/content.h"

enum { BLOCK = 1 << 20, YOUNG = 2 };                    /* seconds: the coarsest clock of a file system has 2 (FAT) */

static int64_t nanoseconds(const struct timespec *t) { return (int64_t)t->tv_sec * 1000000000 + t->tv_nsec; }

rf_status rf__content_read(const char *path, rf__content *out, rf_error *why)
{
    struct stat st;
    *out = (rf__content){-1, 0, 0};
    if (!strcmp(path, "-")) return RF_OK;
    if (stat(path, &st)) return rf_fail(why, RF_EIO, "%s: cannot open: %s", path, strerror(errno));
    if (S_ISDIR(st.st_mode)) return rf_fail(why, RF_EIO, "%s: expected a file, got a directory", path);
    if (S_ISREG(st.st_mode)) *out = (rf__content){st.st_size, nanoseconds(&st.st_mtim), nanoseconds(&st.st_ctim)};
    return RF_OK;
}

uint64_t rf__content_stamp(const rf__content *c, double now)
{
    const double latest = 1e-9 * (double)rf__max64(c->modified, c->changed);
    if (c->size < 0 || now - latest < YOUNG) return 0;
    const uint64_t stamp = rf__hash64(c, sizeof *c, 0);
    return stamp ? stamp : 1;
}

bool rf__content_same(const char *path, const rf__content *then)
{
    rf__content now;
    if (then->size < 0) return true;
    return !rf__content_read(path, &now, NULL) && now.size == then->size && now.modified == then->modified;
}

/* Reads as many bytes as there are, up to a block. */
static ssize_t read_block(int fd, char *to)
{
    size_t n = 0;
    while (n < BLOCK) {
        const ssize_t got = read(fd, to + n, BLOCK - n);
        if (got < 0 && errno == EINTR) continue;
        if (got < 0) return -1;
        if (!got) break;
        n += (size_t)got;
    }
    return (ssize_t)n;
}

rf_status rf__content_hash(const rf_ctx *ctx, const char *path, uint64_t *hash, rf_error *why)
{
    *hash = 0;
    char *block = rf__alloc(ctx, BLOCK);
    if (!block) return rf_fail(why, RF_ENOMEM, "%s: out of memory", path);
    const int fd = open(path, O_RDONLY | O_CLOEXEC);
    rf_status status = fd < 0 ? rf_fail(why, RF_EIO, "%s: cannot open: %s", path, strerror(errno)) : RF_OK;
    for (ssize_t n = BLOCK; n == BLOCK && !status;) {
        n = read_block(fd, block);
        if (n < 0) status = rf_fail(why, RF_EIO, "%s: cannot read: %s", path, strerror(errno));
        else if (n) *hash = rf__hash64(block, (size_t)n, *hash);
    }
    if (fd >= 0) close(fd);
    rf__free(ctx, block);
    return status;
}
