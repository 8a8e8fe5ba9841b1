/* test_os_names.c — mirrors src/base/os/os_all.c and what the other files of src/base/os do with names: paths, errors,
 * renames, links, temporary names, folders, locks, with real effects, on all systems.
 *
 * What only some systems can show is printed: links that may not be made, the state of an open file that was removed or
 * replaced. */
#define _GNU_SOURCE
#include "os_root.h"

#ifdef _WIN32                           /* indented: CMakeLists.txt leaves out tests that include headers of POSIX */
#  include <windows.h>
#else
#  include <unistd.h>
#endif

#define UMLAUTS "gr\xC3\xBC\xC3\x9F" "e"
#define CJK "\xE6\xA8\xA1\xE5\x9E\x8B"
#define EMOJI "\xF0\x9F\x98\x80"

/* ---- names ---- */

static bool lists(rf__os_folder *f, const char *name, rf__os_kind kind)
{
    rf__os_kind k;
    int n = 0;
    rf__os_again(f);
    for (const char *got; (got = rf__os_next(f, &k));)
        if (!strcmp(got, name) && (k == kind || k == RF__OS_UNKNOWN)) n++;
    return n == 1;
}

static void names_are_utf_8(void **state)
{
    (void)state;
    static const char *const names[] = {UMLAUTS, CJK, EMOJI, UMLAUTS " " CJK " " EMOJI ".bin", "a-b_c.d e", "x'&%$#!"};
    for (size_t i = 0; i < RF_COUNT(names); i++) {
        char name[128];
        assert_int_equal(rf__os_make_folder(in_root(names[i])), 0);
        snprintf(name, sizeof name, "%s/%s", names[i], names[i]);
        const char *path = in_root(name);
        write_file(path, names[i]);
        assert_file(path, names[i]);
        rf__os_folder *f = rf__os_folder_open(in_root(names[i]));
        assert_true(lists(f, names[i], RF__OS_FILE));
        assert_true(rf__os_exists_in(f, names[i]));
        rf__os_folder_close(f);
        f = rf__os_folder_open(os_root);
        assert_true(lists(f, names[i], RF__OS_FOLDER));
        rf__os_folder_close(f);
        char *whole = rf__os_whole_path(path);
        assert_non_null(whole);
        assert_string_equal(whole + strlen(whole) - strlen(name), name);
        assert_file(whole, names[i]);
        free(whole);
        snprintf(name, sizeof name, "%s/%s 2", names[i], names[i]);
        assert_int_equal(rf__os_rename(path, in_root(name)), 0);
        assert_false(rf__os_exists(path));
        assert_int_equal(rf__os_remove(in_root(name)), 0);
        assert_int_equal(rf__os_remove_folder(in_root(names[i])), 0);
    }
#ifdef _WIN32
    assert_error(rf__os_open(in_root("\xFF"), RF__OS_WRITE | RF__OS_CREATE), EILSEQ);
    write_file(in_root("a\\..\\b"), "b");
    assert_file(in_root("B"), "b");
#endif
}

static void paths_may_be_long(void **state)
{
    (void)state;
    enum { PARTS = 9, PART = 60 };
    char part[PART + 1], path[2048], other[2048];
    size_t n = (size_t)snprintf(path, sizeof path, "%s", os_root);
    memset(part, 'p', PART);
    part[PART] = 0;
    for (int i = 0; i < PARTS; i++) {
        n += (size_t)snprintf(path + n, sizeof path - n, "/%s", part);
        assert_int_equal(rf__os_make_folder(path), 0);
        assert_error(rf__os_make_folder(path), EEXIST);
    }
    assert_true(n > 500);
    snprintf(path + n, sizeof path - n, "/%s", UMLAUTS);
    snprintf(other, sizeof other, "%.*s/./b", (int)n, path);
    write_file(path, "long");
    assert_file(path, "long");
    FILE *f = rf__os_stream(path, "r");
    assert_int_equal(fgetc(f), 'l');
    fclose(f);
    assert_int_equal(rf__os_rename(path, other), 0);
    assert_error(rf__os_open(path, RF__OS_READ), ENOENT);
    assert_true(rf__os_readable(other) && rf__os_writable(other));
    char *whole = rf__os_whole_path(other);
    assert_non_null(whole);
    assert_string_equal(whole + strlen(whole) - 4, "pp/b");
    free(whole);
    path[n] = 0;
#ifndef __wasi__
    assert_true(rf__os_free_space(path) > 0);
#endif
    assert_error(rf__os_remove_folder(path), ENOTEMPTY);
    rf__os_folder *d = rf__os_folder_open(path);
    assert_true(lists(d, "b", RF__OS_FILE));
    rf__os_folder_close(d);
    assert_int_equal(rf__os_sync_folder(path), 0);
    memset(part, 'q', PART);
    snprintf(other, sizeof other, "%s/%s%s%s%s%s", os_root, part, part, part, part, part);
    assert_error(rf__os_open(other, RF__OS_WRITE | RF__OS_CREATE), ENAMETOOLONG);
}

static void errors_are_those_of_posix(void **state)
{
    (void)state;
    rf__os_state st;
    write_file(in_root("file"), "file");
    assert_int_equal(rf__os_make_folder(in_root("folder")), 0);
    write_file(in_root("folder/file"), "x");
    assert_error(rf__os_open("", RF__OS_READ), ENOENT);
    assert_error(rf__os_open(in_root("none/file"), RF__OS_READ), ENOENT);
    assert_error(rf__os_open(in_root("none/file"), RF__OS_WRITE | RF__OS_CREATE), ENOENT);
    assert_error(rf__os_open(in_root("file/file"), RF__OS_READ), ENOTDIR);
    assert_error(rf__os_open(in_root("file/a/b"), RF__OS_WRITE | RF__OS_CREATE), ENOTDIR);
    assert_error(rf__os_open(in_root("folder"), RF__OS_WRITE), EISDIR);
    assert_error(rf__os_look(in_root("none"), &st), ENOENT);
    assert_error(rf__os_look(in_root("file/"), &st), ENOTDIR);
    assert_int_equal(rf__os_look(in_root("folder/"), &st), 0);
    assert_int_equal(st.kind, RF__OS_FOLDER);
    assert_error(rf__os_make_folder(in_root("folder")), EEXIST);
    assert_error(rf__os_make_folder(in_root("file")), EEXIST);
#ifndef __wasi__
    assert_error(rf__os_make_folder("/"), EEXIST);
#endif
    assert_error(rf__os_make_folder(in_root("none/folder")), ENOENT);
    assert_int_equal(rf__os_make_folder(in_root("folder/below/")), 0);
    assert_error(rf__os_remove_folder(in_root("folder")), ENOTEMPTY);
    assert_error(rf__os_remove_folder(in_root("file")), ENOTDIR);
    assert_error(rf__os_remove_folder(in_root("none")), ENOENT);
    assert_error(rf__os_remove(in_root("none")), ENOENT);
    assert_true(rf__os_remove(in_root("folder")) < 0 && (errno == EISDIR || errno == EPERM));
    assert_null(rf__os_folder_open(in_root("file")));
    assert_int_equal(errno, ENOTDIR);
    assert_null(rf__os_folder_open(in_root("none")));
    assert_int_equal(errno, ENOENT);
    assert_null(rf__os_whole_path(in_root("none")));
    assert_int_equal(errno, ENOENT);
    assert_error(rf__os_sync_folder(in_root("none")), ENOENT);
    assert_true(rf__os_free_space(in_root("none")) < 0);
    assert_false(rf__os_writable(in_root("none")));
    errno = 0;
    assert_false(rf__os_readable(in_root("none")));
    assert_int_equal(errno, ENOENT);
    assert_true(rf__os_readable(in_root("folder")) && rf__os_writable(in_root("folder")));
    assert_error(rf__os_rename(in_root("none"), in_root("b")), ENOENT);
    assert_error(rf__os_rename(in_root("file"), in_root("none/b")), ENOENT);
    assert_error(rf__os_rename(in_root("file"), in_root("folder")), EISDIR);
    assert_error(rf__os_rename(in_root("folder/below"), in_root("file")), ENOTDIR);
    assert_true(rf__os_rename(in_root("folder/below"), in_root("folder")) < 0);
    assert_true(errno == EEXIST || errno == ENOTEMPTY);
    assert_file(in_root("file"), "file");
}

static void a_rename_replaces_open_files(void **state)
{
    (void)state;
    const char *path = in_root("a"), *other = in_root("b");
    rf__os_state old, is;
    write_file(path, "old");
    write_file(other, "new");
    const int fd = rf__os_open(path, RF__OS_READ), mapped = rf__os_open(path, RF__OS_READ);
    const char *map = rf__os_map(mapped, 3);
    assert_non_null(map);
    rf__os_close(mapped);
    assert_int_equal(rf__os_look_file(fd, &old), 0);
    assert_int_equal(rf__os_look(path, &is), 0);
    assert_true(rf__os_same(&old, &is));
    assert_false(old.removed);
    assert_int_equal(rf__os_rename(other, path), 0);
    assert_false(rf__os_exists(other));
    assert_file(path, "new");
    assert_text_at(fd, "old");
    assert_memory_equal(map, "old", 3);
    assert_int_equal(rf__os_look(path, &is), 0);
    assert_false(rf__os_same(&old, &is));
    assert_int_equal(rf__os_look_file(fd, &is), 0);
    assert_true(rf__os_same(&old, &is));
    if (!is.removed) print_message("the system does not say that a replaced file is gone\n");
#ifndef _WIN32
    assert_true(is.removed);
#endif
    rf__os_unmap(map, 3);
    rf__os_close(fd);
    const int open = rf__os_open(path, RF__OS_READ);                        /* of a file that is renamed itself */
    assert_int_equal(rf__os_rename(path, path), 0);
    assert_int_equal(rf__os_rename(path, other), 0);
    assert_text_at(open, "new");
    rf__os_close(open);
    assert_file(other, "new");
    rf__os_folder *f = rf__os_folder_open(os_root);
    for (const char *name; (name = rf__os_next(f, NULL));) {
        if (!strcmp(name, "b")) continue;
        print_message("left, because it was mapped: %s\n", name);
#ifndef _WIN32
        fail();
#endif
    }
    rf__os_folder_close(f);
}

static void open_files_can_be_removed(void **state)
{
    (void)state;
    const char *path = in_root("a");
    rf__os_state is;
    write_file(path, "old");
    const int fd = rf__os_open(path, RF__OS_WRITE), other = rf__os_open(path, RF__OS_READ);
    assert_int_equal(rf__os_remove(path), 0);
    assert_false(rf__os_exists(path));
    assert_error(rf__os_open(path, RF__OS_READ), ENOENT);
    assert_text_at(fd, "old");
    assert_int_equal(rf__os_write_at(fd, "O", 1, 0), 1);
    assert_text_at(other, "Old");
    assert_int_equal(rf__os_look_file(fd, &is), 0);
    if (!is.removed) print_message("the system does not say that a removed file is gone\n");
#ifndef _WIN32
    assert_true(is.removed);
#endif
    write_file(path, "new");
    assert_file(path, "new");
    assert_text_at(other, "Old");
    rf__os_close(fd);
    rf__os_close(other);
    assert_int_equal(rf__os_remove(path), 0);
    assert_int_equal(rf__os_remove_folder(os_root), 0);
    assert_int_equal(rf__os_make_folder(os_root), 0);
}

static void a_state_tells_files_apart(void **state)
{
    (void)state;
    rf__os_state a, b, c;
    write_file(in_root("a"), "12345");
    write_file(in_root("b"), "");
    const int64_t now = (int64_t)(1e9 * rf__wall_seconds());
    const int fd = rf__os_open(in_root("a"), RF__OS_WRITE);
    assert_int_equal(rf__os_look(in_root("a"), &a), 0);
    assert_int_equal(rf__os_look_file(fd, &b), 0);
    assert_int_equal(rf__os_look(in_root("./b"), &c), 0);
    assert_true(rf__os_same(&a, &b));
    assert_false(rf__os_same(&a, &c));
    assert_true(a.volume == c.volume);
    assert_int_equal(a.kind, RF__OS_FILE);
    assert_int_equal(a.size, 5);
    assert_int_equal(c.size, 0);
    assert_int_equal(a.mode & 0400, 0400);
    const int64_t hour = 3600000000000;
    assert_true(a.modified > now - hour && a.modified < now + hour);
    assert_true(a.changed > now - hour && a.changed < now + hour);
    rf__os_sleep(0.05);
    assert_int_equal(rf__os_write(fd, "x", 1), 1);
    rf__os_sync(fd);
    assert_int_equal(rf__os_look_file(fd, &b), 0);
    assert_true(b.modified > a.modified);
    rf__os_close(fd);
    assert_int_equal(rf__os_look_link(in_root("a"), &c), 0);
    assert_true(rf__os_same(&a, &c) && c.kind == RF__OS_FILE);
    assert_int_equal(rf__os_look(os_root, &c), 0);
    assert_int_equal(c.kind, RF__OS_FOLDER);
}

static bool make_link(const char *to, const char *path)
{
#ifdef _WIN32
    wchar_t a[512], b[512];
    MultiByteToWideChar(CP_UTF8, 0, to, -1, a, 512);
    MultiByteToWideChar(CP_UTF8, 0, path, -1, b, 512);
    rf__os_state st;
    const bool folder = !rf__os_look(to, &st) && st.kind == RF__OS_FOLDER;
    const bool made = CreateSymbolicLinkW(b, a, (folder ? 1 : 0) | 2) && rf__os_exists(path);
#else
    const bool made = !symlink(to, path);
#endif
    if (!made) print_message("skipped: links cannot be made here\n");
    return made;
}

static void links_are_known(void **state)
{
    (void)state;
    rf__os_state st, of;
    write_file(in_root("file"), "file");
    assert_int_equal(rf__os_make_folder(in_root("folder")), 0);
    write_file(in_root("folder/kept"), "kept");
    if (!make_link(in_root("file"), in_root("link")) || !make_link(in_root("folder"), in_root("way"))) return;
    assert_int_equal(rf__os_look_link(in_root("link"), &st), 0);
    assert_int_equal(st.kind, RF__OS_LINK);
    assert_int_equal(rf__os_look_link(in_root("way"), &st), 0);
    assert_int_equal(st.kind, RF__OS_LINK);
    assert_int_equal(rf__os_look(in_root("link"), &st), 0);
    assert_int_equal(rf__os_look(in_root("file"), &of), 0);
    assert_true(st.kind == RF__OS_FILE && rf__os_same(&st, &of));
    assert_error(rf__os_open(in_root("link"), RF__OS_READ | RF__OS_NO_LINK), ELOOP);
    assert_error(rf__os_open(in_root("link"), RF__OS_WRITE | RF__OS_CREATE | RF__OS_NO_LINK), ELOOP);
    assert_file(in_root("link"), "file");
    assert_file(in_root("way/kept"), "kept");
    char *whole = rf__os_whole_path(in_root("way/kept"));
    assert_string_equal(whole + strlen(whole) - 12, "/folder/kept");
    free(whole);
    assert_int_equal(rf__os_remove(in_root("link")), 0);
    assert_file(in_root("file"), "file");
    assert_int_equal(rf__os_make_folder(in_root("tree")), 0);
    assert_true(make_link(in_root("folder"), in_root("tree/way")));
    rf__os_remove_tree(in_root("tree"));
    assert_false(rf__os_exists(in_root("tree")));
    assert_file(in_root("folder/kept"), "kept");
}

static void a_tree_is_removed(void **state)
{
    (void)state;
    char path[512] = "tree";
    for (int i = 0; i < 12; i++) {
        assert_int_equal(rf__os_make_folder(in_root(path)), 0);
        for (int k = 0; k < 20; k++) {
            char file[600];
            snprintf(file, sizeof file, "%s/%s-%d", path, EMOJI, k);
            write_file(in_root(file), "x");
        }
        strcat(path, "/" CJK);
    }
    rf__os_remove_tree(in_root("tree"));
    assert_false(rf__os_exists(in_root("tree")));
    rf__os_remove_tree(in_root("tree"));
    write_file(in_root("file"), "x");
    rf__os_remove_tree(in_root("file"));
    assert_false(rf__os_exists(in_root("file")));
}

static void temporary_names_are_new(void **state)
{
    (void)state;
    char a[1024], b[1024];
    rf__os_state st;
    snprintf(a, sizeof a, "%s", in_root(UMLAUTS "-XXXXXX"));
    memcpy(b, a, sizeof b);
    const int fd = rf__os_temporary_file(a, 0644), other = rf__os_temporary_file(b, 0600);
    assert_true(fd >= 0 && other >= 0);
    assert_string_not_equal(a, b);
    assert_null(strstr(a, "XXXXXX"));
    assert_int_equal(rf__os_write(fd, "abc", 3), 3);
    assert_file(a, "abc");
    assert_int_equal(rf__os_look_file(fd, &st), 0);
    assert_int_equal(st.mode, 0644);
    rf__os_close(fd);
    rf__os_close(other);
    snprintf(a, sizeof a, "%s", in_root("none/XXXXXX"));
    assert_error(rf__os_temporary_file(a, 0600), ENOENT);
    snprintf(a, sizeof a, "%s", in_root("XXXXX"));
    assert_error(rf__os_temporary_file(a, 0600), EINVAL);
    snprintf(a, sizeof a, "%s", in_root("f-XXXXXX"));
    assert_int_equal(rf__os_temporary_folder(a), 0);
    assert_int_equal(rf__os_look(a, &st), 0);
    assert_int_equal(st.kind, RF__OS_FOLDER);
    assert_int_equal(rf__os_look(rf__os_temporary_place(), &st), 0);
    assert_int_equal(st.kind, RF__OS_FOLDER);
    assert_true(rf__os_writable(rf__os_temporary_place()));
    assert_null(strchr(rf__os_temporary_place(), '\\'));
    assert_int_equal(rf__os_new_mode() & ~0666U, 0);
    assert_true(rf__os_new_mode() & 0400);
}

/* ---- folders ---- */

#ifndef __wasi__                        /* node finds the files of an open folder by its first path */
static void a_folder_stays_the_same(void **state)
{
    (void)state;
    rf__os_state st;
    assert_int_equal(rf__os_make_folder(in_root("a")), 0);
    assert_int_equal(rf__os_make_folder(in_root("a/" CJK)), 0);
    write_file(in_root("a/one"), "first");
    write_file(in_root("a/" CJK "/two"), "second");
    rf__os_folder *f = rf__os_folder_open(in_root("a"));
    assert_non_null(f);
    assert_int_equal(rf__os_rename(in_root("a"), in_root("b")), 0);
    assert_int_equal(rf__os_make_folder(in_root("a")), 0);
    write_file(in_root("a/one"), "another");
    write_file(in_root("a/three"), "another");
    assert_true(lists(f, "one", RF__OS_FILE) && lists(f, CJK, RF__OS_FOLDER));
    assert_false(lists(f, "three", RF__OS_FILE));
    assert_true(rf__os_exists_in(f, "one") && rf__os_exists_in(f, CJK "/two") && rf__os_exists_in(f, CJK "/./two"));
    assert_false(rf__os_exists_in(f, "three"));
    int fd = rf__os_open_in(f, "one", RF__OS_READ);
    assert_true(fd >= 0);
    assert_text_at(fd, "first");
    rf__os_close(fd);
    fd = rf__os_open_in(f, "./" CJK "//two", RF__OS_READ);
    assert_true(fd >= 0);
    assert_text_at(fd, "second");
    rf__os_close(fd);
    assert_int_equal(rf__os_look_in(f, CJK, &st), 0);
    assert_int_equal(st.kind, RF__OS_FOLDER);
    assert_int_equal(rf__os_look_in(f, "one", &st), 0);
    assert_int_equal(st.size, 5);
    assert_error(rf__os_look_in(f, "three", &st), ENOENT);
    assert_error(rf__os_open_in(f, "none/three", RF__OS_READ), ENOENT);
    assert_error(rf__os_open_in(f, "one/three", RF__OS_READ), ENOTDIR);
    fd = rf__os_open_in(f, "new", RF__OS_WRITE | RF__OS_CREATE);
    assert_true(fd >= 0);
    rf__os_close(fd);
    assert_true(lists(f, "new", RF__OS_FILE) && rf__os_exists(in_root("b/new")));
    assert_int_equal(rf__os_remove(in_root("b/one")), 0);
    assert_false(lists(f, "one", RF__OS_FILE));
    rf__os_folder_close(f);
    rf__os_folder_close(NULL);
    assert_true(rf__os_exists_in(NULL, in_root("a/one")));
    assert_int_equal(rf__os_look_in(NULL, in_root("a/one"), &st), 0);
    fd = rf__os_open_in(NULL, in_root("a/one"), RF__OS_READ);
    assert_text_at(fd, "another");
    rf__os_close(fd);
}

#endif

/* More names than one list of the system has. */
static void a_folder_lists_many_names(void **state)
{
    enum { MANY = 1500 };
    (void)state;
    static bool seen[MANY];
    rf__os_kind kind;
    for (int i = 0; i < MANY; i++) {
        char name[128];
        snprintf(name, sizeof name, "%d-%s-%060d", i, CJK, i);
        write_file(in_root(name), "");
    }
    rf__os_folder *f = rf__os_folder_open(os_root);
    for (int lap = 0; lap < 2; lap++) {
        int n = 0;
        memset(seen, 0, sizeof seen);
        for (const char *name; (name = rf__os_next(f, &kind)); n++) {
            const long i = strtol(name, NULL, 10);
            assert_true(i >= 0 && i < MANY && !seen[i]);
            assert_true(kind == RF__OS_FILE || kind == RF__OS_UNKNOWN);
            seen[i] = true;
        }
        assert_int_equal(n, MANY);
        assert_null(rf__os_next(f, NULL));
        rf__os_again(f);
    }
    rf__os_folder_close(f);
}

#ifndef __wasi__                        /* WASI has no locks */
static void a_lock_excludes_locks_alone(void **state)
{
    (void)state;
    const char *path = in_root("lock");
    write_file(path, "held");
    const int a = rf__os_open(path, RF__OS_WRITE), b = rf__os_open(path, RF__OS_WRITE);
    assert_int_equal(rf__os_lock(a), 0);
    assert_int_equal(rf__os_lock(a), 0);
    assert_error(rf__os_lock(b), EWOULDBLOCK);
    assert_text_at(b, "held");
    assert_int_equal(rf__os_cut(b, 0), 0);
    assert_int_equal(rf__os_write_at(b, "by b", 4, 0), 4);
    assert_text_at(a, "by b");
    assert_true(rf__os_process_locks(rf__os_process()));
    rf__os_close(a);
    assert_int_equal(rf__os_lock(b), 0);
    assert_int_equal(rf__os_remove(path), 0);
    rf__os_close(b);
    assert_false(rf__os_process_locks(0x7FFFFFF0));
}

/* This program again, as another process: 7 if somebody holds the lock, 8 if not. */
static int locks_by_another(const char *path)
{
    char self[4096], line[8192];
    assert_true(rf__os_self(self, sizeof self));
#ifdef _WIN32
    snprintf(line, sizeof line, "\"\"%s\" lock \"%s\"\"", self, path);
    return system(line);
#else
    snprintf(line, sizeof line, "'%s' lock '%s'", self, path);
    return system(line) / 256;
#endif
}

static void a_lock_excludes_other_processes(void **state)
{
    (void)state;
    const char *path = in_root("lock");
    write_file(path, "");
    const int free = locks_by_another(path), fd = rf__os_open(path, RF__OS_WRITE);
    if (free != 8) {
        print_message("skipped: this program cannot run itself\n");
    } else {
        assert_int_equal(rf__os_lock(fd), 0);
        assert_int_equal(locks_by_another(path), 7);
    }
    rf__os_close(fd);
    if (free == 8) assert_int_equal(locks_by_another(path), 8);
}
#endif

int main(int argc, char **argv)
{
    if (argc == 3 && !strcmp(argv[1], "lock"))
        return rf__os_lock(rf__os_open(argv[2], RF__OS_WRITE)) && errno == EWOULDBLOCK ? 7 : 8;
    const struct CMUnitTest tests[] = {
        OS_TEST(names_are_utf_8),
        OS_TEST(paths_may_be_long),
        OS_TEST(errors_are_those_of_posix),
        OS_TEST(a_rename_replaces_open_files),
        OS_TEST(open_files_can_be_removed),
        OS_TEST(a_state_tells_files_apart),
        OS_TEST(links_are_known),
        OS_TEST(a_tree_is_removed),
        OS_TEST(temporary_names_are_new),
        OS_TEST(a_folder_lists_many_names),
#ifndef __wasi__
        OS_TEST(a_folder_stays_the_same),
        OS_TEST(a_lock_excludes_locks_alone),
        OS_TEST(a_lock_excludes_other_processes),
#endif
    };
    return cmocka_run_group_tests_name("base/os_names", tests, NULL, NULL);
}
