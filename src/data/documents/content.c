/* content.c — h_0 = 0, h_(i+1) = XXH3(block i, seed h_i), over blocks of 1 MiB. */
#include <errno.h>

#include "base/os/os.h"
#include "data/documents/content.h"

enum { BLOCK = 1 << 20, YOUNG = 2 };                    /* seconds: the coarsest clock of a file system has 2 (FAT) */

rf_status rf__content_read(const char *path, rf__content *out, rf_error *why)
{
    rf__os_state st;
    *out = (rf__content){-1, 0, 0};
    if (!strcmp(path, "-")) return RF_OK;
    if (rf__os_look(path, &st)) return rf_fail(why, RF_EIO, "%s: cannot open: %s", path, rf__os_reason(errno));
    if (st.kind == RF__OS_FOLDER) return rf_fail(why, RF_EIO, "%s: expected a file, got a directory", path);
    if (st.kind == RF__OS_FILE) *out = (rf__content){st.size, st.modified, st.changed};
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
static int64_t read_block(int fd, char *to)
{
    size_t n = 0;
    while (n < BLOCK) {
        const int64_t got = rf__os_read(fd, to + n, BLOCK - n);
        if (got < 0 && errno == EINTR) continue;
        if (got < 0) return -1;
        if (!got) break;
        n += (size_t)got;
    }
    return (int64_t)n;
}

rf_status rf__content_hash(const rf_ctx *ctx, const char *path, uint64_t *hash, rf_error *why)
{
    *hash = 0;
    char *block = rf__alloc(ctx, BLOCK);
    if (!block) return rf_fail(why, RF_ENOMEM, "%s: out of memory", path);
    const int fd = rf__os_open(path, RF__OS_READ);
    rf_status status = fd < 0 ? rf_fail(why, RF_EIO, "%s: cannot open: %s", path, rf__os_reason(errno)) : RF_OK;
    for (int64_t n = BLOCK; n == BLOCK && !status;) {
        n = read_block(fd, block);
        if (n < 0) status = rf_fail(why, RF_EIO, "%s: cannot read: %s", path, rf__os_reason(errno));
        else if (n) *hash = rf__hash64(block, (size_t)n, *hash);
    }
    if (fd >= 0) rf__os_close(fd);
    rf__free(ctx, block);
    return status;
}
