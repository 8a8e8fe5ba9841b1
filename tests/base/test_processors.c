/* test_processors.c — mirrors os_linux.c, os_linux_cgroup.c: simulates machines of any size by a sched_getaffinity that
 * rejects sets smaller than its own, as the kernel does, and machines with any caches and quotas by folders. */
#define _GNU_SOURCE
#include <errno.h>
#include <math.h>
#include <sched.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/os/os_linux.h"
#include "base/system/processor.h"
#include "t.h"

static struct {
    int known, allowed;
} machine; /* processors that the kernel counts; those of this process */

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

/* Groups of version 1 and 2, where a parent allows less than the group, or nothing is limited. */
static void the_quota_of_a_container_counts(void **state)
{
    static const struct {
        const char *groups, *folder, *name, *text, *second;
        double quota;
    } row[] = {
        {"0::/a/b\n", "sys/fs/cgroup/a", "cpu.max", "150000 100000\n", NULL, 1.5},
        {"0::/a/b\n", "sys/fs/cgroup", "cpu.max", "400000 100000\n", NULL, 4},
        {"0::/a/b\n", "sys/fs/cgroup/a/b", "cpu.max", "max 100000\n", NULL, INFINITY},
        {"0::/a/b\n", "sys/fs/cgroup/a/b", "cpu.max", "garbage\n", NULL, INFINITY},
        {"0::/a/b\n", "sys/fs/cgroup/a/b/c", "cpu.max", "100000 100000\n", NULL, INFINITY},
        {"4:cpu,cpuacct:/a\n0::/\n", "sys/fs/cgroup/cpu/a", "cpu.cfs_quota_us", "50000\n", "100000\n", 0.5},
        {"4:cpu,cpuacct:/a\n", "sys/fs/cgroup/cpu/a", "cpu.cfs_quota_us", "-1\n", "100000\n", INFINITY},
        {"4:memory:/a\n", "sys/fs/cgroup/cpu/a", "cpu.cfs_quota_us", "50000\n", "100000\n", INFINITY},
    };
    (void)state;
    for (size_t i = 0; i < RF_COUNT(row); i++) {
        char path[2048], root[512];
        snprintf(root, sizeof root, "%s", t_folder());
        snprintf(path, sizeof path, "mkdir -p %s/proc/self %s/%s", root, root, row[i].folder);
        assert_int_equal(system(path), 0);
        snprintf(path, sizeof path, "%s/proc/self", root);
        t_write(path, "cgroup", row[i].groups, strlen(row[i].groups));
        snprintf(path, sizeof path, "%s/%s", root, row[i].folder);
        t_write(path, row[i].name, row[i].text, strlen(row[i].text));
        if (row[i].second) t_write(path, "cpu.cfs_period_us", row[i].second, strlen(row[i].second));
        const double quota = rf__processor_quota(root);
        if (!(quota >= row[i].quota && quota <= row[i].quota)) fail_msg("row %zu: %g", i, quota);
    }
}

static void cache(const char *folder, int i, const char *level, const char *type, const char *size, const char *list)
{
    char path[1024];
    snprintf(path, sizeof path, "%s/index%d", folder, i);
    mkdir(path, 0700);
    t_write(path, "level", level, strlen(level));
    t_write(path, "type", type, strlen(type));
    t_write(path, "size", size, strlen(size));
    t_write(path, "shared_cpu_list", list, strlen(list));
}

static void a_thread_has_its_share_of_the_second_level(void **state)
{
    (void)state;
    static const struct {
        const char *size, *list;
        size_t share;
    } row[] = {
        {"1024K\n", "0\n", 1 << 20},
        {"2048K\n", "0-1\n", 1 << 20},
        {"2048K\n", "0,64\n", 1 << 20},
        {"2M\n", "0\n", 2 << 20},
        {"4096K\n", "0-3\n", 1 << 20},
        {"2048K\n", "0-1,8-9\n", 512 << 10},
        {"512K\n", "0\n", 512 << 10},
        {"\n", "0\n", 0},
        {"-1K\n", "0\n", 0},
        {"99999999999M\n", "0\n", 0},
        {"512\n", "0\n", 0},
        {"512K\n", "\n", 0},
        {"512K\n", "3-1\n", 0},
        {"512K\n", "1-\n", 0},
    };
    const char *folder = t_folder();
    assert_int_equal(rf__cache_share_in(folder), 0);
    cache(folder, 0, "1\n", "Data\n", "32K\n", "0\n");
    assert_int_equal(rf__cache_share_in(folder), 0);
    cache(folder, 1, "2\n", "Instruction\n", "64K\n", "0\n");
    for (size_t i = 0; i < RF_COUNT(row); i++) {
        cache(folder, 2, "2\n", "Unified\n", row[i].size, row[i].list);
        if (rf__cache_share_in(folder) != row[i].share)
            fail_msg("row %d: %zu bytes, expected %zu", (int)i, rf__cache_share_in(folder), row[i].share);
    }
    assert_true(rf__cache_share() < 1 << 30); /* this machine's, or 0 */
}

/* As gcc's library says, which asks in its own way. */
static void features_are_those_of_the_compiler(void **state)
{
    (void)state;
#if defined(__x86_64__) && !defined(__clang__)
    __builtin_cpu_init();
#define SAME(feature) assert_int_equal(rf__processor_has(#feature), !!__builtin_cpu_supports(#feature))
    SAME(sse4.1);
    SAME(sse4.2);
    SAME(fma);
    SAME(avx2);
    SAME(avx512f);
    SAME(avx512dq);
    SAME(avx512bw);
    SAME(avx512vl);
    SAME(avx512vnni);
    SAME(avx512bf16);
    assert_int_equal(rf__processor_has("f16c"), !!__builtin_cpu_supports("f16c"));
#endif
    assert_false(rf__processor_has("no such feature"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(counts_what_the_process_may_use),
        cmocka_unit_test(the_quota_of_a_container_counts),
        cmocka_unit_test(asks_the_system_when_the_set_is_refused),
        cmocka_unit_test(a_thread_has_its_share_of_the_second_level),
        cmocka_unit_test(features_are_those_of_the_compiler),
    };
    return cmocka_run_group_tests_name("base/processors", tests, NULL, NULL);
}
