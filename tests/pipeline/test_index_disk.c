/* test_index_disk.c — mirrors src/pipeline/index.c: the disk is full at any byte, and any call that writes fails
 * (faulty_disk.h): then there is no index, or all of it, and nothing else; with space again, the same bytes. */
#define _GNU_SOURCE
#include "faulty_disk.h"
#include "roformer/index.h"
#include "roformer/inspect/folder.h"

enum { N = 40, D = 8, PIECE = 13 };

static char index_folder[DISK_PATH];

static rf_status write_index(rf_error *why)
{
    static const char *text[N];
    static float v[N * D];
    rf_index_options o;
    rf_index_writer *w;
    for (int i = 0; i < N * D; i++) v[i] = i % D == i / D % D ? 1 : 0;
    for (int i = 0; i < N; i++) text[i] = "a line";
    rf_index_defaults(&o);
    o.dimensions = D;
    rf_status status = rf_index_create(t_shared(), index_folder, &o, &w, why);
    if (status) return status;
    for (int64_t at = 0; at < N && !status; at += PIECE)
        status = rf_index_add(w, v + at * D, text + at, NULL, rf__min64(PIECE, N - at), NULL, why);
    if (!status) return rf_index_finish(w, why);
    rf_index_discard(w);
    return status;
}

static void is_whole(void)
{
    rf_error why = {0};
    rf_index *x;
    if (rf_index_open(t_shared(), index_folder, &x, &why)) fail_msg("%s", why.text);
    assert_int_equal(rf_index_count(x), N);
    rf_index_close(x);
}

static void left(void)
{
    const int entries = disk_entries(disk.root, "");
    assert_int_equal(entries, rf__os_exists(index_folder));
    if (entries) is_whole();                                            /* the sync of its name failed */
    rf__os_remove_tree(index_folder);
}

static void made(void)
{
    is_whole();
    disk_same(index_folder);
    assert_int_equal(disk_entries(disk.root, ""), 1);
    rf__os_remove_tree(index_folder);
}

static void a_disk_that_fails(void **state)
{
    (void)state;
    snprintf(disk.root, sizeof disk.root, "%s", t_folder());
    snprintf(index_folder, sizeof index_folder, "%.400s/index", disk.root);
    disk_sweep(&(disk_work){write_index, left, made}, disk_stride(5));
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(a_disk_that_fails)};
    return cmocka_run_group_tests_name("pipeline/index_disk", tests, NULL, NULL);
}
