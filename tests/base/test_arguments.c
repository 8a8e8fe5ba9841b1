/* test_arguments.c — mirrors src/base/arguments.c: options of programs that were compiled with an older or
 * a newer header. */
#include "t.h"

typedef struct first { size_t size; int a, b; } first;
typedef struct later { size_t size; int a, b; double c; } later;
enum { FIRST = sizeof(first), LATER = sizeof(later) };

static const later defaults = {.a = 1, .b = 2, .c = 0.5};

static void an_older_program_keeps_its_memory(void **state)
{
    (void)state;
    struct { first o; unsigned char fence[64]; } theirs;
    memset(&theirs, 0xA5, sizeof theirs);
    rf__options_init(&theirs.o, FIRST, &defaults, LATER);
    assert_int_equal(theirs.o.size, FIRST);
    assert_int_equal(theirs.o.a, 1);
    assert_int_equal(theirs.o.b, 2);
    for (size_t i = 0; i < sizeof theirs.fence; i++) assert_int_equal(theirs.fence[i], 0xA5);
}

static void members_that_are_missing_are_the_defaults(void **state)
{
    (void)state;
    const first theirs = {.size = FIRST, .a = 7, .b = 8};
    later own = defaults;
    rf_error why = {0};
    assert_int_equal(rf__options_read(&own, LATER, FIRST, &theirs, "later", &why), RF_OK);
    assert_int_equal(own.size, LATER);
    assert_int_equal(own.a, 7);
    assert_int_equal(own.b, 8);
    t_near(own.c, 0.5, 0);
    own = defaults;
    assert_int_equal(rf__options_read(&own, LATER, FIRST, NULL, "later", &why), RF_OK);
    assert_int_equal(own.a, 1);
}

static void sizes_that_are_none_are_refused(void **state)
{
    (void)state;
    static const size_t sizes[] = {0, FIRST - 1, LATER + 1, SIZE_MAX};
    for (size_t i = 0; i < RF_COUNT(sizes); i++) {
        const later theirs = {.size = sizes[i], .a = 7};
        later own = defaults;
        rf_error why = {0};
        assert_int_equal(rf__options_read(&own, LATER, FIRST, &theirs, "rf_later_options", &why), RF_EARG);
        t_failed(&why, RF_EARG, "rf_later_options: size: expected");
        assert_int_equal(own.a, 1);
    }
}

static void the_version_is_that_of_the_header(void **state)
{
    (void)state;
    char text[64];
    snprintf(text, sizeof text, "%d.%d.%d", ROFORMER_VERSION_MAJOR, ROFORMER_VERSION_MINOR, ROFORMER_VERSION_PATCH);
    assert_string_equal(rf_version(), text);
    assert_true(ROFORMER_VERSION_NUMBER < ROFORMER_VERSION_MAKE(ROFORMER_VERSION_MAJOR + 1, 0, 0));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(an_older_program_keeps_its_memory),
        cmocka_unit_test(members_that_are_missing_are_the_defaults),
        cmocka_unit_test(the_version_is_that_of_the_header),
        cmocka_unit_test(sizes_that_are_none_are_refused),
    };
    return cmocka_run_group_tests_name("base/arguments", tests, NULL, NULL);
}
