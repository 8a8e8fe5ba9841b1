/* Lists of names in messages end at whole names, and say how many did not fit. */
#include "base/base.h"
#include "t.h"

static void lists_end_at_whole_names(void **state)
{
    (void)state;
    char list[64] = "";
    rf__list_add(list, sizeof list, "alpha");
    assert_string_equal(list, "alpha");
    rf__list_add(list, sizeof list, "salt and pepper");
    assert_string_equal(list, "alpha, salt and pepper");
    rf__list_add(list, sizeof list, "gamma-of-some-length");
    assert_string_equal(list, "alpha, salt and pepper and 1 more");
    for (int i = 0; i < 10; i++) rf__list_add(list, sizeof list, "d");
    assert_string_equal(list, "alpha, salt and pepper and 11 more");
    *list = 0;
    rf__list_add(list, sizeof list, "a-name-that-is-longer-than-the-whole-list-because-somebody-wrote-it");
    assert_string_equal(list, "a-name-that-is-longer-than-the-whole-list-be...");
    rf__list_add(list, sizeof list, "b");
    assert_string_equal(list, "a-name-that-is-longer-than-the-whole-list-be... and 1 more");
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(lists_end_at_whole_names)};
    return cmocka_run_group_tests_name("base/names", tests, NULL, NULL);
}
