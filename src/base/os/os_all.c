/* os_all.c — what is made of the functions of each system. */
#include "base/os/os.h"

const char *rf__os_last_slash(const char *path)
{
    const char *slash = NULL;
    for (; *path; path++)
        if (rf__os_is_slash(*path)) slash = path;
    return slash;
}

/* Recursion ends: a path has at most 4,095 bytes. */
void rf__os_remove_tree(const char *path)
{
    rf__os_state st;
    if (rf__os_look_link(path, &st)) return;
    if (st.kind != RF__OS_FOLDER) {
        rf__os_remove(path);
        return;
    }
    rf__os_folder *f = rf__os_folder_open(path);
    for (const char *name; f && (name = rf__os_next(f, NULL));) {
        char below[4096];
        const int n = snprintf(below, sizeof below, "%s/%s", path, name);
        if (n > 0 && (size_t)n < sizeof below) rf__os_remove_tree(below);
    }
    rf__os_folder_close(f);
    rf__os_remove_folder(path);
}
