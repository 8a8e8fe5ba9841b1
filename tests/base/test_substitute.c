/* test_substitute.c — mirrors src/base/files/substitute.c: what stands in place of a file that was not downloaded. */
#include "one_context.h"

static const char pointer[] = "version https://git-lfs.github.com/spec/v1\n"
                              "oid sha256:0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef\n"
                              "size 90868376\n";

static void each_is_named(void **state)
{
    (void)state;
    static const struct { const char *text, *message; } all[] = {
        {pointer, "got a pointer of Git LFS to it; fetch the file: git lfs pull"},
        {"\n<!DOCTYPE html>\n<html class=\"\">", "got a web page (HTML)"},
        {"<HTML><head>", "got a web page (HTML)"},
        {"Entry not found", "got the answer to a failed download"},
        {"Invalid username or password.\n", "got the answer to a failed download"},
        {"Entry not found\nBut a text\n", NULL},
        {"<htmlx>\n", NULL},
        {"version\n", NULL},
        {"", NULL},
    };
    for (size_t i = 0; i < RF_COUNT(all); i++) {
        char path[4096], *text;
        size_t size;
        rf_map map;
        rf_error why = {0}, mapped = {0};
        const char *folder = t_folder();
        t_write(folder, "file", all[i].text, strlen(all[i].text));
        snprintf(path, sizeof path, "%s/file", folder);
        const rf_status status = rf__read_file(ctx, path, 4096, &text, &size, &why);
        assert_int_equal(status, all[i].message ? RF_EDATA : RF_OK);
        assert_int_equal(rf__map_open(ctx, path, &map, &mapped), status);
        if (status) {
            t_failed(&why, RF_EDATA, all[i].message);
            assert_string_equal(mapped.text, why.text);
            continue;
        }
        assert_string_equal(text, all[i].text);
        rf__free(ctx, text);
        rf__map_close(ctx, &map);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(each_is_named)};
    return cmocka_run_group_tests_name("base/substitute", tests, setup, teardown);
}
