/* Base 64: the examples of RFC 4648, section 10.  mirrors base64.c */
#include "t.h"

#include "base/base64.h"

static void examples_of_the_standard(void **state)
{
    static const struct { const char *text, *expected; } row[] = {
        {"", ""}, {"f", "Zg=="}, {"fo", "Zm8="}, {"foo", "Zm9v"}, {"foob", "Zm9vYg=="}, {"fooba", "Zm9vYmE="},
        {"foobar", "Zm9vYmFy"}, {"\xFF\xFE\xFB\xF0", "//778A=="}};
    (void)state;
    for (size_t i = 0; i < sizeof row / sizeof *row; i++) {
        char out[16] = "";
        rf__base64(row[i].text, strlen(row[i].text), out);
        assert_string_equal(out, row[i].expected);
        assert_int_equal(rf__base64_size(strlen(row[i].text)), strlen(out));
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(examples_of_the_standard)};
    return cmocka_run_group_tests_name("base/base64", tests, NULL, NULL);
}
