/* test_held_files.c — mirrors src/base/files/held_folder.c and json_file.c: files of a folder that change, come and go
 * while it is held. test_held_folder.c replaces whole models. */
#define _GNU_SOURCE
#include <pthread.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/files/held_folder.h"
#include "base/files/json_file.h"
#include "old_files.h"

static char *small_folder(const rf_ctx *ctx, rf_held_folder **held)
{
    char *folder = strdup(t_folder());
    write_old(folder, "a", "old", 3);
    write_old(folder, "b", "old", 3);
    assert_int_equal(rf_folder_hold(ctx, folder, held, NULL), RF_OK);
    assert_non_null(*held);
    return folder;
}

static void reads(const rf_ctx *ctx, const char *folder, const char *below, const char *expected)
{
    char path[512], *data;
    size_t size;
    path_of(path, folder, below);
    if (rf__read_file(ctx, path, 100, &data, &size, NULL)) fail_msg("%s", path);
    assert_string_equal(data, expected);
    rf__free(ctx, data);
}

static bool there(const rf_ctx *ctx, const char *folder, const char *below)
{
    char path[512];
    path_of(path, folder, below);
    return rf__is_there(ctx, path);
}

static void what_was_read_is_read_again(void **state)
{
    (void)state;
    const rf_ctx *ctx = t_shared();
    rf_held_folder *held, *again = NULL;
    rf_error why = {0};
    char *folder = small_folder(ctx, &held), path[512];
    reads(ctx, folder, "a", "old");
    assert_false(there(ctx, folder, "c"));
    t_write(folder, "a", "new", 3);
    t_write(folder, "c", "new", 3);
    reads(ctx, folder, "a", "old");
    reads(ctx, folder, "./a", "old");
    reads(ctx, folder, "/a", "old");
    assert_false(there(ctx, folder, "c"));
    path_of(path, folder, "..");
    assert_true(rf__is_there(ctx, path) && rf__holds_folder(ctx, folder));
    assert_int_equal(rf_folder_hold(ctx, folder, &again, NULL), RF_OK);
    assert_ptr_equal(again, held);
    assert_int_equal(rf_folder_release(&again, RF_OK, &why), RF_OK);
    assert_null(again);
    assert_int_equal(rf_folder_release(&held, RF_EDATA, &why), RF_EIO);
    t_failed(&why, RF_EIO, "/a: expected the same file while its folder is read, got another one");
    reads(ctx, folder, "a", "new");
    assert_true(there(ctx, folder, "c"));
    free(folder);
}

static json_t *parsed(const rf_ctx *ctx, const char *path, bool shared, size_t flags)
{
    json_t *out = NULL;
    rf_error why = {0};
    if ((shared ? rf__json_shared : rf__json_file)(ctx, path, 100, flags, &out, &why)) fail_msg("%s", why.text);
    json_decref(out);                                              /* the address is compared                         */
    return out;
}

static void a_document_is_parsed_once(void **state)
{
    (void)state;
    const rf_ctx *ctx = t_shared();
    rf_held_folder *held;
    rf_error why = {0};
    json_t *out = NULL;
    char *folder = small_folder(ctx, &held), path[512];
    path_of(path, folder, "c.json");
    t_write(folder, "c.json", "{\"a\": 1}", 8);
    json_t *first = parsed(ctx, path, true, 0), *real = parsed(ctx, path, true, JSON_DECODE_INT_AS_REAL);
    assert_true(json_is_integer(json_object_get(first, "a")) && json_is_real(json_object_get(real, "a")));
    assert_ptr_equal(parsed(ctx, path, true, 0), first);
    assert_ptr_equal(parsed(ctx, path, true, JSON_DECODE_INT_AS_REAL), real);
    assert_int_equal(rf__json_file(ctx, path, 100, 0, &out, &why), RF_OK);
    assert_ptr_not_equal(out, first);
    assert_true(json_equal(out, first));
    json_decref(out);
    assert_int_equal(rf_folder_release(&held, RF_OK, &why), RF_OK);
    assert_int_equal(rf__json_shared(ctx, path, 4, 0, &out, &why), RF_EDATA);
    path_of(path, folder, "a");
    assert_int_equal(rf__json_shared(ctx, path, 100, 0, &out, NULL), RF_EDATA);
    free(folder);
}

/* A file that nobody asked for may change; its error, and no other, is replaced. */
static void other_files_may_change(void **state)
{
    (void)state;
    const rf_ctx *ctx = t_shared();
    rf_held_folder *held;
    char *folder = small_folder(ctx, &held);
    reads(ctx, folder, "a", "old");
    t_write(folder, "b", "new", 3);
    t_write(folder, "c", "new", 3);
    assert_int_equal(rf_folder_release(&held, RF_EDATA, NULL), RF_EDATA);
    free(folder);
}

static void what_changes_is_named(void **state)
{
    (void)state;
    static const struct { const char *ask, *change; } rows[] = {{"a", "a"}, {"c", "c"}, {"below/a", "below/a"}};
    const rf_ctx *ctx = t_shared();
    for (size_t i = 0; i < RF_COUNT(rows); i++)
        for (int removed = 0; removed < 2; removed++) {
            rf_held_folder *held;
            rf_error why = {0};
            char *folder = small_folder(ctx, &held), path[512], part[64];
            path_of(path, folder, "below");
            (void)mkdir(path, 0777);
            const bool was = there(ctx, folder, rows[i].ask);
            path_of(path, folder, rows[i].change);
            if (removed) (void)unlink(path);
            else t_write(folder, rows[i].change, "other", 5);
            const rf_status status = rf_folder_release(&held, RF_OK, &why);
            snprintf(part, sizeof part, "/%s: expected the same", rows[i].change);
            if (was == removed) t_failed(&why, RF_EIO, part);
            else assert_int_equal(status, RF_OK);
            free(folder);
        }
}

static void *read_elsewhere(void *folder)
{
    reads(t_shared(), folder, "a", "new");
    return NULL;
}

static void other_threads_read_the_file_system(void **state)
{
    (void)state;
    const rf_ctx *ctx = t_shared();
    rf_held_folder *held;
    pthread_t other;
    char *folder = small_folder(ctx, &held);
    reads(ctx, folder, "a", "old");
    t_write(folder, "a", "new", 3);
    if (pthread_create(&other, NULL, read_elsewhere, folder) || pthread_join(other, NULL)) fail();
    reads(ctx, folder, "a", "old");
    assert_int_equal(rf_folder_release(&held, RF_OK, NULL), RF_EIO);
    free(folder);
}

static void *write_once(void *path)
{
    FILE *f = fopen(path, "w");
    if (f) fputs("text", f), fclose(f);
    return NULL;
}

/* A pipe in the folder, as a user may name one, is not a file that changes. */
static void a_pipe(void **state)
{
    (void)state;
    const rf_ctx *ctx = t_shared();
    rf_held_folder *held;
    rf_error why = {0};
    pthread_t writer;
    char *folder = small_folder(ctx, &held), path[512], *data;
    size_t size;
    path_of(path, folder, "pipe");
    if (mkfifo(path, 0666) || pthread_create(&writer, NULL, write_once, path)) fail();
    if (rf__read_named(ctx, path, 1 << 20, &data, &size, &why)) fail_msg("%s", why.text);
    assert_string_equal(data, "text");
    rf__free(ctx, data);
    pthread_join(writer, NULL);
    assert_int_equal(rf_folder_release(&held, RF_OK, &why), RF_OK);
    free(folder);
}

static void what_is_no_folder(void **state)
{
    (void)state;
    const rf_ctx *ctx = t_shared();
    static const char *const none[] = {"/", "", "/nowhere/at/all", "CMakeLists.txt"};
    rf_held_folder *held = NULL;
    rf_error why = {0};
    for (size_t i = 0; i < RF_COUNT(none); i++) {
        assert_int_equal(rf_folder_hold(ctx, none[i], &held, &why), RF_OK);
        assert_null(held);
        assert_int_equal(rf_folder_release(&held, RF_EDATA, &why), RF_EDATA);
    }
    assert_int_equal(rf_folder_hold(ctx, NULL, &held, &why), RF_EARG);
}

/* More names than are listed. */
static void a_large_folder(void **state)
{
    (void)state;
    const rf_ctx *ctx = t_shared();
    char *folder = strdup(t_folder()), below[256];
    rf_held_folder *held;
    rf_error why = {0};
    memset(below, 'x', 200);
    for (int i = 0; i < 1400; i++) {
        snprintf(below + 200, 50, "%d", i);
        t_write(folder, below, "", 0);
    }
    assert_int_equal(rf_folder_hold(ctx, folder, &held, NULL), RF_OK);
    assert_true(there(ctx, folder, below) && !there(ctx, folder, "a"));
    t_write(folder, "a", "new", 3);
    assert_false(there(ctx, folder, "a"));
    assert_int_equal(rf_folder_release(&held, RF_OK, &why), RF_EIO);
    free(folder);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_was_read_is_read_again),
        cmocka_unit_test(a_document_is_parsed_once),
        cmocka_unit_test(other_files_may_change),
        cmocka_unit_test(what_changes_is_named),
        cmocka_unit_test(other_threads_read_the_file_system),
        cmocka_unit_test(a_pipe),
        cmocka_unit_test(what_is_no_folder),
        cmocka_unit_test(a_large_folder),
    };
    return cmocka_run_group_tests_name("pipeline/held_files", tests, NULL, NULL);
}
