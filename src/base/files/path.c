/* path.c — see path.h. */
#include "base/files/path.h"

#include <stdio.h>
#include <string.h>

const char *rf__file_name(const char *path)
{
    const char *slash = strrchr(path, '/');
    return slash ? slash + 1 : path;
}

void rf__last_part(const char *path, char *out, size_t size)
{
    size_t end = strlen(path);
    while (end > 1 && path[end - 1] == '/') end--;
    size_t from = end;
    while (from && path[from - 1] != '/') from--;
    const size_t n = end - from < size ? end - from : size - 1;
    memcpy(out, path + from, n);
    out[n] = 0;
}

rf_status rf__folder_of(const char *path, char *out, size_t size, rf_error *why)
{
    const char *slash = strrchr(path, '/');
    const size_t n = !slash || slash == path ? 1 : (size_t)(slash - path);
    if (n >= size)
        return rf_fail(why, RF_ERANGE, "%.60s...: expected a path of at most %zu bytes, got a longer one", path,
                       size - 1);
    memcpy(out, slash ? path : ".", n);
    out[n] = 0;
    return RF_OK;
}
