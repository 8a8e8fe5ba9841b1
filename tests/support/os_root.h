/* os_root.h — a new folder for each test of base/os, and files in it, made by the functions of os.h alone. */
#ifndef T_OS_ROOT_H
#define T_OS_ROOT_H

#include <errno.h>

#include "base/os/os.h"
#include "t.h"

static char os_root[512];               /* a new folder for each test */

static inline int make_root(void **state)
{
    (void)state;
    const char *where = getenv("TMPDIR");
    snprintf(os_root, sizeof os_root, "%s/roformer-os-XXXXXX", where ? where : rf__os_temporary_place());
    return rf__os_temporary_folder(os_root);
}

static inline int remove_root(void **state)
{
    (void)state;
    rf__os_remove_tree(os_root);
    return rf__os_exists(os_root);
}

/* os_root/name, in one of a few buffers. */
static inline const char *in_root(const char *name)
{
    static char path[8][1536];
    static int next;
    char *p = path[next++ % 8];
    snprintf(p, sizeof path[0], "%s/%s", os_root, name);
    return p;
}

static inline void write_file(const char *path, const char *text)
{
    const int fd = rf__os_open(path, RF__OS_WRITE_ONLY | RF__OS_CREATE);
    if (fd < 0) fail_msg("%s: %s", path, strerror(errno));
    assert_int_equal(rf__os_cut(fd, 0), 0);
    assert_int_equal(rf__os_write(fd, text, strlen(text)), strlen(text));
    assert_int_equal(rf__os_close(fd), 0);
}

static inline void assert_text_at(int fd, const char *text)
{
    char got[256] = "";
    assert_int_equal(rf__os_read_at(fd, got, sizeof got - 1, 0), strlen(text));
    assert_string_equal(got, text);
}

static inline void assert_file(const char *path, const char *text)
{
    const int fd = rf__os_open(path, RF__OS_READ);
    if (fd < 0) fail_msg("%s: %s", path, strerror(errno));
    assert_text_at(fd, text);
    rf__os_close(fd);
}

/* The call fails with this error. */
#define assert_error(call, expected)                                                     \
    do {                                                                                 \
        errno = 0;                                                                       \
        assert_true((call) < 0);                                                         \
        if (errno != (expected)) fail_msg("%s: %s, errno %d", #call, strerror(errno), errno); \
    } while (0)

#define OS_TEST(f) cmocka_unit_test_setup_teardown(f, make_root, remove_root)

#endif
