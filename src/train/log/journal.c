/* journal.c — appends whole records; cuts the file to the length that a checkpoint records. */
#include <errno.h>

#include "base/os/os.h"
#include "train/log/journal.h"

static rf_status refused(const rf__journal *j, const char *verb, rf_error *why)
{
    return rf_fail(why, RF_EIO, "%s: cannot %s: %s", j->path, verb, rf__os_reason(errno));
}

/* CRC-32C of the first `bytes` bytes, and the last of them. */
static rf_status read_start(const rf__journal *j, int64_t bytes, uint32_t *crc, char *last, rf_error *why)
{
    char buffer[1 << 14];
    *crc = 0;
    for (int64_t at = 0; at < bytes;) {
        const int64_t n = rf__os_read_at(j->fd, buffer, (size_t)rf__min64(bytes - at, (int64_t)sizeof buffer), at);
        if (n < 0 && errno == EINTR) continue;
        if (n <= 0) return refused(j, "read", why);
        *crc = rf__crc32c(*crc, buffer, (size_t)n);
        *last = buffer[n - 1];
        at += n;
    }
    return RF_OK;
}

rf_status rf__journal_known(const char *folder, const char *name, int64_t bytes, uint32_t crc, bool lines,
                            rf_error *why)
{
    rf__journal j = {.fd = -1};
    size_t size;
    uint32_t found;
    char last = 0;
    if (rf__path(j.path, sizeof j.path, folder, name, why)) return RF_ERANGE;
    if (!bytes || !rf__os_exists(j.path)) return RF_OK;
    rf_status status = rf__open_file(j.path, RF__OS_READ, &j.fd, &size, why);
    if (status) return status;
    const bool shorter = (int64_t)size < bytes;
    if (size && !shorter) status = read_start(&j, bytes, &found, &last, why);
    const bool same = !size || (shorter ? !crc : crc ? found == crc : !lines || last == '\n');
    rf__journal_close(&j);
    if (status || same) return status;
    return rf_fail(why, RF_EARG,
                   "%s: expected the log of the resumed run, got a file whose first %lld bytes differ; choose "
                   "another folder, -o DIR (output_dir), or move the file away", j.path, (long long)bytes);
}

rf_status rf__journal_open(const char *folder, const char *name, int64_t bytes, rf__journal *out, rf_error *why)
{
    size_t size;
    char last;
    *out = (rf__journal){.fd = -1};
    if (rf__path(out->path, sizeof out->path, folder, name, why)) return RF_ERANGE;
    const rf_status status = rf__open_file(out->path, RF__OS_WRITE | RF__OS_CREATE, &out->fd, &size, why);
    if (status) return status;
    out->bytes = rf__min64(bytes, (int64_t)size);
    if (rf__os_cut(out->fd, out->bytes) || rf__os_seek(out->fd, out->bytes) < 0) return refused(out, "cut", why);
    return read_start(out, out->bytes, &out->crc, &last, why);
}

void rf__journal_close(rf__journal *j)
{
    if (j->fd >= 0) rf__os_close(j->fd);
    j->fd = -1;
}

rf_status rf__journal_append(rf__journal *j, const void *data, size_t size, rf_error *why)
{
    const rf_status status = rf__write_all(j->fd, data, size, j->path, why);
    if (status) {
        const bool back = !rf__os_cut(j->fd, j->bytes) && rf__os_seek(j->fd, j->bytes) >= 0;
        return back ? status : refused(j, "take back a record", why);
    }
    j->crc = rf__crc32c(j->crc, data, size);
    j->bytes += (int64_t)size;
    return RF_OK;
}

rf_status rf__journal_sync(rf__journal *j, rf_error *why)
{
    if (j->lost) return rf_fail(why, RF_EIO, "%s: cannot sync: an earlier sync failed", j->path);
    j->lost = j->fd >= 0 && rf__os_sync(j->fd);
    return j->lost ? refused(j, "sync", why) : RF_OK;
}
