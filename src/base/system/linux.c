/* linux.c — functions that only Linux has, with alternatives for other systems: processors of this process, the holder
 * of a lock, memory in huge pages. */
#define _GNU_SOURCE
#ifdef __linux__
#include <sched.h>
#include <sys/auxv.h>
#endif
#include <math.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/system/cgroup.h"
#include "base/context.h"
#include "base/system/processor.h"

/* ---- processors ---- */

/* The kernel refuses a set that is smaller than its own; Linux supports at most 8192 processors. */
enum { MOST = 1 << 16 };

int rf_processors(void)
{
    long n = 0;
#ifdef __linux__
    cpu_set_t set[MOST / CPU_SETSIZE];
    if (!sched_getaffinity(0, sizeof set, set)) n = CPU_COUNT_S(sizeof set, set);
#endif
    if (n < 1) n = sysconf(_SC_NPROCESSORS_ONLN);
    const double quota = ceil(rf__processor_quota(""));
    if (quota < (double)n) n = (long)quota;
    return n < 1 ? 1 : n > MOST ? MOST : (int)n;
}

/* Bits of the kernel's words for 64-bit Arm (asm/hwcap.h; older systems lack some of them). */
bool rf__processor_has(const char *feature)
{
#if defined(__linux__) && defined(__aarch64__)
    static const struct { const char *name; unsigned long word, bit; } features[] = {
        {"asimddp", AT_HWCAP, 1UL << 20},
        {"i8mm", AT_HWCAP2, 1UL << 13},
        {"bf16", AT_HWCAP2, 1UL << 14},
    };
    for (size_t i = 0; i < RF_COUNT(features); i++)
        if (!strcmp(features[i].name, feature)) return getauxval(features[i].word) & features[i].bit;
#else
    (void)feature;
#endif
    return false;
}

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

static pthread_once_t caches = PTHREAD_ONCE_INIT;
static size_t share;

static void ask_for_caches(void) { share = rf__cache_share_in("/sys/devices/system/cpu/cpu0/cache"); }

size_t rf__cache_share(void)
{
    pthread_once(&caches, ask_for_caches);
    return share;
}

/* ---- locks ---- */

bool rf__holds_lock(long pid)
{
    bool held = false;
#ifdef __linux__
    char line[256];
    FILE *f = fopen("/proc/locks", "re");
    while (f && !held && fgets(line, sizeof line, f)) {
        long who;
        held = strstr(line, "FLOCK") && sscanf(line, "%*s %*s %*s %*s %ld", &who) == 1 && who == pid;
    }
    if (f) fclose(f);
#else
    (void)pid;
#endif
    return held;
}

/* ---- memory ---- */

enum { LINE = 64 };                     /* bytes of a cache line, the alignment of every block */

/* Large blocks come from the system, at addresses and in sizes that suit huge pages, and are returned to it. Weights
 * and the memory of a step are read from end to end again and again, and the C library would keep freed memory. A last
 * page that is at least half used is a huge page as well: every generated token reads all weights once, and this makes
 * it up to a tenth faster (results/generate.txt). */
enum { HUGE_PAGE = 2 << 20 };
#ifdef __SANITIZE_ADDRESS__
#define LARGE SIZE_MAX                  /* AddressSanitizer watches only the C library's blocks */
#else
#define LARGE ((size_t)1 << 20)
#endif

static size_t size_of_pages(size_t size)
{
    const size_t small = (size_t)sysconf(_SC_PAGESIZE), page = size % HUGE_PAGE < HUGE_PAGE / 2 ? small : HUGE_PAGE;
    return (size + page - 1) / page * page;
}

void *rf__system_alloc(void *user, size_t size)
{
    (void)user;
    void *p = NULL;
    if (size < LARGE) return posix_memalign(&p, LINE, size) ? NULL : p;

    size_t whole;
    if (!rf__checked_add(size, 2 * HUGE_PAGE, &whole)) return NULL;
    char *map = mmap(NULL, whole, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (map == MAP_FAILED) return NULL;
    const size_t before = (HUGE_PAGE - (uintptr_t)map % HUGE_PAGE) % HUGE_PAGE;
    if (before) munmap(map, before);
    munmap(map + before + size_of_pages(size), whole - before - size_of_pages(size));
#ifdef MADV_HUGEPAGE
    (void)madvise(map + before, size_of_pages(size), MADV_HUGEPAGE);        /* only a hint: a failure has no effect */
#endif
    return map + before;
}

void rf__system_release(void *user, void *memory, size_t size)
{
    (void)user;
    if (size < LARGE) free(memory);
    else munmap(memory, size_of_pages(size));
}
