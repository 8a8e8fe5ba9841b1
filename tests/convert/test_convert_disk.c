/* test_convert_disk.c — mirrors src/convert/convert.c, other_files.c: the disk is full at any byte, and any call that
 * writes fails (faulty_disk.h): then the new folder has no checksums.json, and no temporary file; converted again with
 * --overwrite, it has the same bytes. */
#define _GNU_SOURCE
#include "faulty_disk.h"
#include "roformer/inspect/folder.h"
#include "small_folders.h"

static char *source;
static bool again;

static rf_status convert(rf_error *why)
{
    rf_convert_options o;
    rf_convert_defaults(&o);
    o.keep_type = 0;
    o.type = RF_I8;
    o.overwrite = again;
    return rf_convert(t_shared(), source, disk.root, &o, why);
}

static bool has(const char *name)
{
    char path[2 * DISK_PATH];
    snprintf(path, sizeof path, "%s/%s", disk.root, name);
    return rf__os_exists(path);
}

static void left(void)
{
    assert_int_equal(disk_entries(disk.root, ".tmp-"), 0);
    if (has("checksums.json")) disk_same(disk.root);                    /* the sync of its name failed */
    again = true;
}

static void made(void)
{
    disk_same(disk.root);
    assert_int_equal(disk_entries(disk.root, ".tmp-"), 0);
    assert_true(has("more.txt") && has("vocab.txt"));
    assert_int_equal(disk_entries(source, ""), 4);
    rf__os_remove_tree(disk.root);
    again = false;
}

static void a_disk_that_fails(void **state)
{
    (void)state;
    source = translator();
    t_write(source, "more.txt", "more", 4);
    snprintf(disk.root, sizeof disk.root, "%s/new", t_folder());
    disk_sweep(&(disk_work){convert, left, made}, disk_stride(11));
    free(source);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(a_disk_that_fails)};
    return cmocka_run_group_tests_name("convert/convert_disk", tests, NULL, NULL);
}
