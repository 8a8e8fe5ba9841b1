/* test_text.c — mirrors text.c: random bytes, names and patterns, compared with the C library's functions where it has
 * them (glibc: memmem, memrchr, strverscmp, fnmatch). */
#define _GNU_SOURCE
#include <string.h>
#ifdef __GLIBC__
#include <fnmatch.h>
#endif

#include "t.h"

enum { ROUNDS = 200000 };

/* A text of at most 12 of these characters. */
static void draw(rf_rng *r, const char *from, char out[13])
{
    const uint32_t n = rf_rng_below(r, 13), kinds = (uint32_t)strlen(from);
    for (uint32_t i = 0; i < n; i++) out[i] = from[rf_rng_below(r, kinds)];
    out[n] = 0;
}

static int sign(int x) { return (x > 0) - (x < 0); }

static void test_rows(void **state)
{
    (void)state;
    static const struct { const char *a, *b; int order; } names[] = {
        {"part-2", "part-10", -1}, {"part-10", "part-10", 0}, {"a", "b", -1},     {"a1b2", "a1b10", -1},
        {"x", "x1", -1},           {"9", "10", -1},           {"v10", "v9", 1},   {"", "a", -1},
        {"part-18446744073709551617", "part-18446744073709551618", -1},
    };
    for (size_t i = 0; i < RF_COUNT(names); i++) {
        assert_int_equal(sign(rf__compare_numbered(names[i].a, names[i].b)), names[i].order);
        assert_int_equal(sign(rf__compare_numbered(names[i].b, names[i].a)), -names[i].order);
    }
    static const struct { const char *pattern, *name; bool matches; } patterns[] = {
        {"*.bin", "model.bin", true}, {"*.bin", "model.bin.old", false}, {"*", "a/b", false}, {"a/*", "a/b", true},
        {"a?c", "abc", true},         {"a?c", "a/c", false},             {"", "", true},      {"*", "", true},
        {"**x*", "aaxb", true},       {"model-*-of-*.bin", "model-1-of-2.bin", true},
    };
    for (size_t i = 0; i < RF_COUNT(patterns); i++)
        assert_int_equal(rf__matches(patterns[i].pattern, patterns[i].name), patterns[i].matches);
    static const char abc[] = "abc";
    assert_ptr_equal(rf__find(abc, 3, "", 0), abc);
    assert_ptr_equal(rf__find(abc, 3, "c", 1), abc + 2);
    assert_null(rf__find("ab", 2, "abc", 3));
    assert_null(rf__find_last("", 'a', 0));
}

static void test_as_the_c_library(void **state)
{
    (void)state;
#ifndef __GLIBC__
    print_message("skipped: it compares with glibc's functions\n");
#else
    char a[13], b[13];
    rf_rng r;
    rf_rng_init(&r, 1, 0);
    for (int i = 0; i < ROUNDS; i++) {
        draw(&r, "ab", a);
        draw(&r, "ab", b);
        b[rf_rng_below(&r, 4)] = 0;
        assert_ptr_equal(rf__find(a, strlen(a), b, strlen(b)), memmem(a, strlen(a), b, strlen(b)));
        assert_ptr_equal(rf__find_last(a, 'b', strlen(a)), memrchr(a, 'b', strlen(a)));
        draw(&r, "a/*?", a);
        draw(&r, "ab/", b);
        if (rf__matches(a, b) == fnmatch(a, b, FNM_PATHNAME)) fail_msg("\"%s\" and \"%s\"", a, b);
        draw(&r, "ab12", a);                    /* without leading zeros, which glibc reads as fractions */
        draw(&r, "ab12", b);
        if (sign(rf__compare_numbered(a, b)) != sign(strverscmp(a, b))) fail_msg("\"%s\" and \"%s\"", a, b);
    }
#endif
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_rows), cmocka_unit_test(test_as_the_c_library)};
    return cmocka_run_group_tests_name("base/text", tests, NULL, NULL);
}
