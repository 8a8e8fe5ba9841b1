/* cmocka.h — the part of cmocka that the kernel tests use, for machines without it (tools/check/neon.sh).
 *
 * The first failure prints its location and ends the program with 1.  CMOCKA_SKIP names tests to leave out. */
#ifndef CMOCKA_H
#define CMOCKA_H

#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct CMUnitTest { const char *name; void (*run)(void **state); };

#define cmocka_unit_test(function) {#function, function}
#define print_message(...) printf(__VA_ARGS__)
#define fail_msg(...) (fflush(stdout), fprintf(stderr, "%s:%d: ", __FILE__, __LINE__), fprintf(stderr, __VA_ARGS__), \
                       fputc('\n', stderr), exit(1))
#define assert_true(condition) ((condition) ? (void)0 : fail_msg("not true: %s", #condition))
#define assert_false(condition) assert_true(!(condition))
#define assert_null(pointer) assert_true((pointer) == NULL)
#define assert_non_null(pointer) assert_true((pointer) != NULL)
#define assert_int_equal(a, b) ((intmax_t)(a) == (intmax_t)(b) ? (void)0 \
    : fail_msg("%s is %lld, %s is %lld", #a, (long long)(a), #b, (long long)(b)))
#define assert_string_equal(a, b) (!strcmp(a, b) ? (void)0 : fail_msg("%s is \"%s\", not \"%s\"", #a, a, b))
#define assert_memory_equal(a, b, size) assert_true(!memcmp(a, b, size))
#define assert_memory_not_equal(a, b, size) assert_true(memcmp(a, b, size))

#define cmocka_run_group_tests_name(group, tests, setup, teardown) \
    run_tests(group, tests, sizeof (tests) / sizeof *(tests), (setup) == NULL && (teardown) == NULL)

static inline int run_tests(const char *group, const struct CMUnitTest *tests, size_t n, int plain)
{
    const char *skip = getenv("CMOCKA_SKIP");
    if (!plain) return 2;
    size_t passed = 0;
    for (size_t i = 0; i < n; i++) {
        if (skip && strstr(skip, tests[i].name)) continue;
        printf("%s: %s\n", group, tests[i].name);
        fflush(stdout);
        void *state = NULL;
        tests[i].run(&state);
        passed++;
    }
    printf("%s: %zu of %zu tests passed\n", group, passed, n);
    return 0;
}

#endif
