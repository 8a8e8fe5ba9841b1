/* metrics.c — metrics.jsonl. */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <unistd.h>

#include "train/log/metrics.h"

static rf_status refused(const rf__metrics *m, const char *verb, rf_error *why)
{
    return rf_fail(why, RF_EIO, "%s: cannot %s: %s", m->path, verb, strerror(errno));
}

rf_status rf__metrics_open(const char *folder, int64_t bytes, rf__metrics *out, rf_error *why)
{
    size_t size;
    *out = (rf__metrics){.fd = -1};
    if (rf__path(out->path, sizeof out->path, folder, "metrics.jsonl", why)) return RF_ERANGE;
    const rf_status status = rf__open_file(out->path, O_RDWR | O_CREAT, &out->fd, &size, why);
    if (status) return status;
    out->bytes = rf__min64(bytes, (int64_t)size);
    if (ftruncate(out->fd, out->bytes) || lseek(out->fd, out->bytes, SEEK_SET) < 0) return refused(out, "cut", why);
    return RF_OK;
}

void rf__metrics_close(rf__metrics *m)
{
    if (m->fd >= 0) close(m->fd);
    m->fd = -1;
}

rf_status rf__metrics_add(rf__metrics *m, json_t *line, rf_error *why)
{
    char *text = line ? json_dumps(line, JSON_COMPACT | JSON_REAL_PRECISION(9)) : NULL;
    const size_t n = text ? strlen(text) : 0;
    json_decref(line);
    if (!text) return rf_fail(why, RF_ENOMEM, "out of memory: a line of %s", m->path);
    text[n] = '\n';                                                 /* in place of the 0 */
    const rf_status status = rf__write_all(m->fd, text, n + 1, m->path, why);
    free(text);
    if (!status) m->bytes += (int64_t)n + 1;
    else if (ftruncate(m->fd, m->bytes) || lseek(m->fd, m->bytes, SEEK_SET) < 0) return refused(m, "take back a line", why);
    return status;
}

rf_status rf__metrics_sync(rf__metrics *m, rf_error *why)
{
    if (m->lost) return rf_fail(why, RF_EIO, "%s: an earlier sync failed, and none can be trusted since", m->path);
    m->lost = fsync(m->fd) != 0;
    return m->lost ? refused(m, "sync", why) : RF_OK;
}
