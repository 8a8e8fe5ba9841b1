/* os_new.h — new files and folders with names of a pattern, for systems whose C library has no mkostemp. */
#ifndef RF_OS_NEW_H
#define RF_OS_NEW_H

#include <errno.h>
#include <string.h>

#include "base/os/os.h"

/* Creates what the pattern names, with other letters from `draw` (false: errno) until it is new. -1: errno. */
static inline int rf__os_make_new(char *pattern, bool folder, bool (*draw)(char *to, size_t n))
{
    enum { TRIES = 1000, LETTERS = 6 };
    const size_t n = strlen(pattern);
    if (n < LETTERS || strcmp(pattern + n - LETTERS, "XXXXXX")) return errno = EINVAL, -1;
    for (int i = 0; i < TRIES; i++) {
        if (!draw(pattern + n - LETTERS, LETTERS)) return -1;
        const int made = folder ? rf__os_make_folder(pattern)
                                : rf__os_open(pattern, RF__OS_WRITE | RF__OS_CREATE | RF__OS_NEW);
        if (made >= 0 || errno != EEXIST) return made;
    }
    return -1;
}

#endif
