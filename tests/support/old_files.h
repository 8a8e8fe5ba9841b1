/* old_files.h — files that were written long ago. */
#ifndef TESTS_SUPPORT_OLD_FILES_H
#define TESTS_SUPPORT_OLD_FILES_H

#include <fcntl.h>
#include <sys/stat.h>

#include "t.h"

static inline void path_of(char path[512], const char *folder, const char *below)
{
    snprintf(path, 512, "%s/%s", folder, below);
}

/* Times have a resolution of some milliseconds: what the test writes later is then newer. */
static inline void write_old(const char *folder, const char *name, const void *data, size_t size)
{
    const struct timespec then[2] = {{.tv_sec = 1000000000}, {.tv_sec = 1000000000}};
    char path[512];
    t_write(folder, name, data, size);
    path_of(path, folder, name);
    if (utimensat(AT_FDCWD, path, then, 0)) fail_msg("%s", path);
}

#endif
