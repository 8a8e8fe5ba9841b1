/* metrics.c — metrics.jsonl. */
#include <stdlib.h>

#include "roformer/inspect/files.h"
#include "train/log/metrics.h"

static const char name[] = RF_FILE_METRICS;

rf_status rf__metrics_open(const char *folder, int64_t bytes, rf__metrics *out, rf_error *why)
{
    return rf__journal_open(folder, name, bytes, out, why);
}

rf_status rf__metrics_known(const char *folder, int64_t bytes, int64_t crc, rf_error *why)
{
    return rf__journal_known(folder, name, bytes, (uint32_t)crc, true, why);
}

rf_status rf__metrics_add(rf__metrics *m, json_t *line, rf_error *why)
{
    char *text = line ? rf__json_dump(line, JSON_COMPACT | JSON_REAL_PRECISION(9)) : NULL;
    const size_t n = text ? strlen(text) : 0;
    json_decref(line);
    if (!text) return rf_fail(why, RF_ENOMEM, "out of memory: a line of %s", m->path);
    text[n] = '\n';                                                 /* replaces the 0 */
    const rf_status status = rf__journal_append(m, text, n + 1, why);
    free(text);
    return status;
}
