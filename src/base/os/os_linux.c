/* os_linux.c — what Linux tells in /proc and /sys, and in the auxiliary vector: the processors of this process, their
 * features and caches, the holder of a lock, the file of the program. */
#define _GNU_SOURCE
#include <math.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/auxv.h>
#include <unistd.h>

#include "base/os/os.h"
#include "base/os/os_linux.h"
#include "base/system/processor.h"

/* ---- processors ---- */

/* The kernel refuses a set that is smaller than its own; Linux supports at most 8192 processors. */
enum { MOST = 1 << 16 };

int rf_processors(void)
{
    long n = 0;
    cpu_set_t set[MOST / CPU_SETSIZE];
    if (!sched_getaffinity(0, sizeof set, set)) n = CPU_COUNT_S(sizeof set, set);
    if (n < 1) n = sysconf(_SC_NPROCESSORS_ONLN);
    const double quota = ceil(rf__processor_quota(""));
    if (quota < (double)n) n = (long)quota;
    return n < 1 ? 1 : n > MOST ? MOST : (int)n;
}

#ifdef __aarch64__
/* Bits of the kernel's words for 64-bit Arm (asm/hwcap.h; older systems lack some of them). */
bool rf__processor_has(const char *feature)
{
    static const struct { const char *name; unsigned long word, bit; } features[] = {
        {"asimddp", AT_HWCAP, 1UL << 20},
        {"i8mm", AT_HWCAP2, 1UL << 13},
        {"bf16", AT_HWCAP2, 1UL << 14},
    };
    for (size_t i = 0; i < RF_COUNT(features); i++)
        if (!strcmp(features[i].name, feature)) return getauxval(features[i].word) & features[i].bit;
    return false;
}
#endif

/* ---- caches ---- */

/* The first line of folder/index<i>/name; false: there is none. */
static bool cache_line(const char *folder, int i, const char *name, char *line, int size)
{
    char path[512];
    if (snprintf(path, sizeof path, "%s/index%d/%s", folder, i, name) >= (int)sizeof path) return false;
    FILE *f = fopen(path, "re");
    const bool read = f && fgets(line, size, f);
    if (f) fclose(f);
    return read;
}

/* The number of processors in a list such as 0-3,8; 0: it is not a list. */
static long listed(const char *list)
{
    long n = 0;
    for (const char *at = list;; at++) {
        char *end;
        const long first = strtol(at, &end, 10);
        if (end == at || first < 0) return 0;
        long last = first;
        if (*end == '-') {
            at = end + 1;
            last = strtol(at, &end, 10);
            if (end == at || last < first || last > MOST) return 0;
        }
        n += last - first + 1;
        at = end;
        if (*at != ',') return n;
    }
}

size_t rf__cache_share_in(const char *folder)
{
    char level[16], type[32], size[32], list[4096];
    for (int i = 0; cache_line(folder, i, "level", level, sizeof level); i++) {
        if (strtol(level, NULL, 10) != 2 || !cache_line(folder, i, "type", type, sizeof type) || type[0] == 'I')
            continue;
        if (!cache_line(folder, i, "size", size, sizeof size) ||
            !cache_line(folder, i, "shared_cpu_list", list, sizeof list))
            return 0;
        char *unit;
        const long n = strtol(size, &unit, 10), by = listed(list);
        const size_t bytes = *unit == 'K' ? 1024 : *unit == 'M' ? 1024 * 1024 : 0;
        return n < 1 || n > 1 << 20 || by < 1 ? 0 : (size_t)n * bytes / (size_t)by;
    }
    return 0;
}

size_t rf__os_cache_share(void) { return rf__cache_share_in("/sys/devices/system/cpu/cpu0/cache"); }

/* ---- processes ---- */

bool rf__os_process_locks(long process)
{
    char line[256];
    bool held = false;
    FILE *f = fopen("/proc/locks", "re");
    while (f && !held && fgets(line, sizeof line, f)) {
        long who;
        held = strstr(line, "FLOCK") && sscanf(line, "%*s %*s %*s %*s %ld", &who) == 1 && who == process;
    }
    if (f) fclose(f);
    return held;
}

bool rf__os_self(char *path, size_t size)
{
    const ssize_t n = readlink("/proc/self/exe", path, size - 1);
    path[n > 0 ? n : 0] = 0;
    return n > 0 && (size_t)n < size - 1;
}

double rf__os_memory(void)
{
    long pages = 0, all;
    FILE *f = fopen("/proc/self/statm", "re");
    if (f && fscanf(f, "%ld %ld", &all, &pages) != 2) pages = 0;
    if (f) fclose(f);
    return (double)pages * (double)sysconf(_SC_PAGESIZE);
}
