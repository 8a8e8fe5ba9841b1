/* test_memory_left.c — mirrors src/base/os/os_linux_memory.c on synthetic trees of /proc and /sys; and the estimated
 * memory of a run compared with its actual memory. */
#define _GNU_SOURCE
#include <sys/stat.h>

#include "base/os/os_linux.h"
#include "train/memory.h"
#include "whole_run.h"

static void put_file(const char *root, const char *folder, const char *name, const char *text)
{
    char path[4096];
    snprintf(path, sizeof path, "%s%s", root, folder);
    for (char *slash = path + strlen(root); (slash = strchr(slash + 1, '/'));) {
        *slash = 0;
        mkdir(path, 0777);
        *slash = '/';
    }
    mkdir(path, 0777);
    snprintf(path, sizeof path, "%s%s/%s", root, folder, name);
    FILE *f = fopen(path, "w");
    assert_non_null(f);
    fputs(text, f);
    fclose(f);
}

static void expect(const char *root, double expected)
{
    t_near(rf__memory_left_in(root), expected, 0.5);
}

/* Version 2: limits of the group, of its parents and of the root that a container sees; the smallest counts. */
static void nested_limits(void **state)
{
    (void)state;
    const char *root = t_folder();
    expect(root, 0);                                            /* nothing is known */
    put_file(root, "/proc", "meminfo", "MemTotal:       9000000 kB\nMemAvailable:    8000000 kB\n");
    expect(root, 8192e6);
    put_file(root, "/proc/self", "cgroup", "0::/work.slice/job/step\n");
    put_file(root, "/sys/fs/cgroup/work.slice/job/step", "memory.max", "max\n");
    put_file(root, "/sys/fs/cgroup/work.slice/job/step", "memory.current", "123456\n");
    expect(root, 8192e6);
    put_file(root, "/sys/fs/cgroup/work.slice", "memory.max", "4000000000\n");
    put_file(root, "/sys/fs/cgroup/work.slice", "memory.current", "1500000000\n");
    expect(root, 2.5e9);
    put_file(root, "/sys/fs/cgroup/work.slice", "memory.stat",
        "anon 700000000\nfile 800000000\ninactive_file 300000000\nactive_file 200000000\n");
    expect(root, 3e9);                                          /* file pages can be dropped */
    put_file(root, "/sys/fs/cgroup/work.slice/job", "memory.max", "400000000\n");
    put_file(root, "/sys/fs/cgroup/work.slice/job", "memory.current", "100000000\n");
    expect(root, 3e8);
    put_file(root, "/sys/fs/cgroup/work.slice/job/step", "memory.max", "150000000\n");
    expect(root, 150e6 - 123456);
    put_file(root, "/sys/fs/cgroup/work.slice/job/step", "memory.current", "160000000\n");
    expect(root, 1);                                            /* nothing is available, which is not "unknown" */
    put_file(root, "/proc/self", "cgroup", "0::/\n");
    expect(root, 8192e6);
    put_file(root, "/sys/fs/cgroup", "memory.max", "500000000\n");        /* what a container sees as the root */
    expect(root, 5e8);
}

/* Version 1 has a separate tree for memory; version 2 may have the rest in addition.  The path may be the host's, which
 * a container does not see. */
static void version_1(void **state)
{
    (void)state;
    const char *root = t_folder();
    put_file(root, "/proc", "meminfo", "MemAvailable:    8000000 kB\n");
    put_file(root, "/proc/self", "cgroup",
             "9:name=systemd:/x\n4:cpu,memory:/docker/abc\n3:memory_other:/wrong\n0::/\n");
    put_file(root, "/sys/fs/cgroup/memory/wrong", "memory.limit_in_bytes", "1\n");
    put_file(root, "/sys/fs/cgroup/memory", "memory.limit_in_bytes", "9223372036854771712\n");
    expect(root, 8192e6);
    put_file(root, "/sys/fs/cgroup/memory", "memory.limit_in_bytes", "600000000\n");
    put_file(root, "/sys/fs/cgroup/memory", "memory.usage_in_bytes", "250000000\n");
    put_file(root, "/sys/fs/cgroup/memory", "memory.stat",
        "active_file 1\ntotal_inactive_file 40000000\ntotal_active_file 10000000\n");
    expect(root, 4e8);
    put_file(root, "/sys/fs/cgroup/memory/docker/abc", "memory.limit_in_bytes", "90000000\n");
    expect(root, 9e7);
    put_file(root, "/sys/fs/cgroup/memory/docker/abc", "memory.limit_in_bytes", "rubbish\n");
    expect(root, 4e8);
}

/* ---- what a run takes ---- */

static double peak(void)
{
    char line[256];
    double kilobytes = 0;
    FILE *f = fopen("/proc/self/status", "r");
    while (f && fgets(line, sizeof line, f)) sscanf(line, "VmHWM: %lf", &kilobytes);
    if (f) fclose(f);
    return kilobytes * 1024;
}

static int first_batch(void *user, const rf_train_progress *p)
{
    double *need = user;
    const char *at = p->note ? strstr(p->note, "needs ") : NULL;
    if (at) {
        char unit[4];
        assert_int_equal(sscanf(at, "needs %lf %3s", need, unit), 2);
        *need *= strcmp(unit, "GB") ? 1e6 : 1e9;
    }
    return strcmp(p->event, "batch") ? RF_TRAIN_GO : RF_TRAIN_STOP;
}

/* Four thousand micro-batches are packed before the first is computed; the step is given up then.  In addition to the
 * estimate there are the text, the tokenizer and the program. */
static void micro_batches_are_counted(void **state)
{
    (void)state;
#if defined(__SANITIZE_ADDRESS__)
    skip();                                                          /* keeps what is freed, and pads the rest */
#endif
    for (int next = 0; next < 2; next++) {
        run r = with_options(1);
        double need = 0;
        r.text[0] = r.corpus;
        r.o.text = r.text;
        r.o.tokens_per_batch = 4096;
        r.o.gradient_accumulation_steps = 4000;
        r.o.objective = next ? RF_OBJECTIVE_CLM : RF_OBJECTIVE_AUTO;
        const double before = peak();
        assert_int_equal(rf_pretrain(r.ctx, &r.o, first_batch, &need, &r.why), RF_ESTOPPED);
        const double took = peak() - before;
        print_message("           %.1f MB said, %.1f MB taken\n", need * 1e-6, took * 1e-6);
        if (!next && !(took > 0.8 * need && took < 1.1 * need)) fail_msg("%.0f said, %.0f taken", need, took);
        if (next && !(before + took < 1.2 * need)) fail_msg("%.0f said, %.0f at most", need, before + took);
        end(&r);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(nested_limits), cmocka_unit_test(version_1),
                                       cmocka_unit_test(micro_batches_are_counted)};
    return cmocka_run_group_tests_name("train/memory_left", tests, NULL, NULL);
}
