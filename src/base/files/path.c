/* path.c — see path.h. */
#include "base/files/path.h"

#include <stdio.h>
#include <string.h>

#include "base/os/os.h"

bool rf__climbs(const char *path)
{
    for (const char *at = path; (at = strstr(at, "..")); at += 2)
        if ((at == path || rf__os_is_slash(at[-1])) && (!at[2] || rf__os_is_slash(at[2]))) return true;
    return false;
}

bool rf__stays_below(const char *path)
{
#ifdef _WIN32
    if (strpbrk(path, "\\:")) return false;
#endif
    return *path && *path != '/' && !rf__climbs(path);
}

const char *rf__file_name(const char *path)
{
    const char *slash = rf__os_last_slash(path);
    return slash ? slash + 1 : path;
}

void rf__last_part(const char *path, char *out, size_t size)
{
    size_t end = strlen(path);
    while (end > 1 && rf__os_is_slash(path[end - 1])) end--;
    size_t from = end;
    while (from && !rf__os_is_slash(path[from - 1])) from--;
    const size_t n = end - from < size ? end - from : size - 1;
    memcpy(out, path + from, n);
    out[n] = 0;
}

rf_status rf__folder_of(const char *path, char *out, size_t size, rf_error *why)
{
    const char *slash = rf__os_last_slash(path);
    const size_t n = !slash || slash == path ? 1 : (size_t)(slash - path);
    if (n >= size)
        return rf_fail(why, RF_ERANGE, "%.60s...: expected a path of at most %zu bytes, got a longer one", path,
                       size - 1);
    memcpy(out, slash ? path : ".", n);
    out[n] = 0;
    return RF_OK;
}
