/* test_os_refused.c — mirrors src/base/os/os_windows_files.c: names and files that Windows refuses, or would take for
 * others. On other systems the names are names like others. */
#define _GNU_SOURCE
#include "os_root.h"

#include "base/system/thread.h"

#ifdef _WIN32                           /* indented: CMakeLists.txt leaves out tests that include headers of POSIX */
#  include <windows.h>
#endif

/* They would be a device, another file, or a stream of one. */
static void names_mean_what_they_say(void **state)
{
    (void)state;
    static const char *const name[] = {"nul",     "nul.txt", "NUL .x", "con.tar.gz", "com1", "Lpt9.npy", "aux",
                                       "conout$", "a.",      "a ",     "a:b",        "a:",   "...",
                                       "com¹",    "lpt³.x"};
    assert_int_equal(rf__os_make_folder(in_root("a")), 0);
    for (size_t i = 0; i < RF_COUNT(name); i++) {
#ifdef _WIN32
        if (rf__os_open(in_root(name[i]), RF__OS_WRITE | RF__OS_CREATE) >= 0 || errno != EINVAL)
            fail_msg("\"%s\" is opened", name[i]);
        assert_true(rf__os_make_folder(in_root(name[i])) && errno == EINVAL);
        rf__os_folder *f = rf__os_folder_open(os_root);
        assert_error(rf__os_open_in(f, name[i], RF__OS_READ), EINVAL);
        rf__os_folder_close(f);
#else
        write_file(in_root(name[i]), "x");
        assert_file(in_root(name[i]), "x");
#endif
    }
    static const char *const good[] = {"null", "nul_", "com", "com10", "console", ".a", "..b", "a b", "a. b"};
    for (size_t i = 0; i < RF_COUNT(good); i++) write_file(in_root(good[i]), good[i]);
    for (size_t i = 0; i < RF_COUNT(good); i++) assert_file(in_root(good[i]), good[i]);
    write_file(in_root("./a/.././a/c"), "c");
    assert_file(in_root("a/c"), "c");
}

#ifdef _WIN32
static void reasons_say_what_to_do(void **state)
{
    (void)state;
    rf__os_state st;
    const int fd = rf__os_open("NUL", RF__OS_WRITE);                    /* a device that was meant */
    assert_int_equal(rf__os_write(fd, "x", 1), 1);
    assert_int_equal(rf__os_look_file(fd, &st), 0);
    assert_int_equal(st.kind, RF__OS_DEVICE);
    rf__os_close(fd);
    assert_error(rf__os_open(in_root("*.txt"), RF__OS_READ), EINVAL);
    assert_error(rf__os_open(in_root("what?"), RF__OS_WRITE | RF__OS_CREATE), EINVAL);
    assert_non_null(strstr(rf__os_reason(EINVAL), "no names with * ?"));
    assert_non_null(strstr(rf__os_reason(EBUSY), "another program has it open"));
    assert_string_equal(rf__os_reason(ENOENT), "No such file or directory");
    assert_string_equal(rf__os_reason(ELOOP), "Too many levels of symbolic links");
}

static void *close_soon(void *handle)
{
    Sleep(300);
    CloseHandle(handle);
    return NULL;
}

enum { OPENS, REPLACES, RENAMES, REMOVES, CALLS };

static int call_of(int call)
{
    switch (call) {
    case OPENS: return rf__os_open(in_root("old"), RF__OS_WRITE);
    case REMOVES: return rf__os_remove(in_root("old"));
    default: return rf__os_rename(in_root("new"), in_root("old"));
    }
}

/* As a virus scanner opens files: what it holds for a moment is awaited, and what it keeps is an error after about a
 * second. */
static void files_that_are_not_shared(void **state)
{
    (void)state;
    pthread_t scanner;
    for (int i = 0; i < 2 * CALLS; i++) {
        const int call = i / 2;
        const bool kept = i % 2;
        write_file(in_root("old"), "old");
        write_file(in_root("new"), "new");
        HANDLE h = CreateFileA(in_root(call == RENAMES ? "new" : "old"), GENERIC_READ, 0, NULL, OPEN_EXISTING, 0, NULL);
        assert_ptr_not_equal(h, INVALID_HANDLE_VALUE);
        if (!kept) assert_int_equal(rf__thread_start(&scanner, close_soon, h), 0);
        const double begin = rf__seconds();
        const int got = call_of(call), e = errno;
        const double seconds = rf__seconds() - begin;
        if (kept ? got >= 0 || e != EBUSY || seconds < 0.5 : got < 0)
            fail_msg("call %d, kept %d: %d, errno %d, %.2f s", call, kept, got, e, seconds);
        if (kept) CloseHandle(h);
        else pthread_join(scanner, NULL);
        if (call == OPENS && got >= 0) rf__os_close(got);
        if (kept) assert_file(in_root("old"), "old");
        if (kept) assert_file(in_root("new"), "new");
        rf__os_remove(in_root("old"));
        rf__os_remove(in_root("new"));
    }
}
#endif

int main(void)
{
    const struct CMUnitTest tests[] = {
        OS_TEST(names_mean_what_they_say),
#ifdef _WIN32
        OS_TEST(reasons_say_what_to_do),
        OS_TEST(files_that_are_not_shared),
#endif
    };
    return cmocka_run_group_tests_name("base/os_refused", tests, NULL, NULL);
}
