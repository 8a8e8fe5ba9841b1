/* test_processors.c — mirrors linux.c: machines of any size, played by a sched_getaffinity that refuses sets smaller
 * than its own as the kernel does. */
#define _GNU_SOURCE
#include <errno.h>
#include <sched.h>
#include <unistd.h>

#include "t.h"

static struct { int known, allowed; } machine;      /* processors that the kernel counts; those of this process */

int __wrap_sched_getaffinity(pid_t pid, size_t size, cpu_set_t *set);
int __wrap_sched_getaffinity(pid_t pid, size_t size, cpu_set_t *set)
{
    assert_int_equal(pid, 0);
    if (size * 8 < (size_t)machine.known) return errno = EINVAL, -1;
    CPU_ZERO_S(size, set);
    for (int i = 0; i < machine.allowed; i++) CPU_SET_S((size_t)(machine.known - 1 - i), size, set);
    return 0;
}

static void counts_what_the_process_may_use(void **state)
{
    (void)state;
    static const int known[] = {1, 2, 64, 1024, 1025, 4096, 8192};
    for (size_t i = 0; i < RF_COUNT(known); i++)
        for (int part = 1; part <= 2; part++) {
            machine.known = known[i];
            machine.allowed = (known[i] + part - 1) / part;
            assert_int_equal(rf_processors(), machine.allowed);
            rf_ctx *ctx = t_ctx(0, NULL);
            assert_int_equal(rf_ctx_threads(ctx), machine.allowed < 1024 ? machine.allowed : 1024);
            rf_ctx_free(ctx);
        }
}

static void asks_the_system_when_the_set_is_refused(void **state)
{
    (void)state;
    machine.known = 1 << 20;
    assert_int_equal(rf_processors(), sysconf(_SC_NPROCESSORS_ONLN));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(counts_what_the_process_may_use),
        cmocka_unit_test(asks_the_system_when_the_set_is_refused),
    };
    return cmocka_run_group_tests_name("base/processors", tests, NULL, NULL);
}
