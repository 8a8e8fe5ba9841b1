/* os_linux_memory.c — the memory that this process may still allocate. It is the smallest of
 *
 *     MemAvailable of /proc/meminfo
 *     what the limit on its address space leaves (ulimit -v)
 *     limit - (usage - file pages that can be dropped), of its cgroup and of each ancestor */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>

#include "base/os/os_linux.h"

/* The number after `key` at the beginning of a line; 0: there is none. */
static double value_of(const char *text, const char *key)
{
    const size_t n = strlen(key);
    for (const char *line = text; line && *line; line = strchr(line, '\n'), line += line != NULL)
        if (!strncmp(line, key, n) && (line[n] == ' ' || line[n] == ':' || line[n] == '\t'))
            return strtod(line + n + 1, NULL);
    return 0;
}

static double field_of(const char *root, const char *folder, const char *name, const char *key)
{
    char text[RF__SYSTEM_TEXT];
    return rf__system_text(root, folder, name, text) ? value_of(text, key) : 0;
}

/* A file that holds one number, or "max". */
static double number_in(const char *root, const char *folder, const char *name, double otherwise)
{
    char text[RF__SYSTEM_TEXT], *end = text;
    const double x = rf__system_text(root, folder, name, text) ? strtod(text, &end) : otherwise;
    return end != text ? x : otherwise;
}

/* ---- cgroups ---- */

typedef struct files { const char *limit, *usage, *active, *inactive; } files;

static double left_in_group(const char *root, const char *folder, int version)
{
    static const files first = {"memory.limit_in_bytes", "memory.usage_in_bytes", "total_active_file",
                                "total_inactive_file"},
                       second = {"memory.max", "memory.current", "active_file", "inactive_file"};
    const files *f = version == 1 ? &first : &second;
    const double limit = number_in(root, folder, f->limit, INFINITY);
    if (!isfinite(limit)) return limit;
    const double cached = field_of(root, folder, "memory.stat", f->active) +
                          field_of(root, folder, "memory.stat", f->inactive);
    return limit - fmax(0, number_in(root, folder, f->usage, 0) - cached);
}

static double left_in_groups(const char *root)
{
    static const rf__cgroup_tree trees[] = {
        {"/sys/fs/cgroup", "", 2},
        {"/sys/fs/cgroup/unified", "", 2},
        {"/sys/fs/cgroup/memory", "memory", 1},
    };
    return rf__cgroup_least(root, trees, RF_COUNT(trees), left_in_group);
}

/* ---- the result ---- */

double rf__memory_left_in(const char *root)
{
    struct rlimit limit;
    const double available = 1024 * field_of(root, "/proc", "meminfo", "MemAvailable");
    double left = fmin(available > 0 ? available : INFINITY, left_in_groups(root));
    if (!getrlimit(RLIMIT_AS, &limit) && limit.rlim_cur != RLIM_INFINITY)
        left = fmin(left, (double)limit.rlim_cur - 1024 * field_of(root, "/proc/self", "status", "VmSize"));
    return isfinite(left) ? fmax(1, left) : 0;
}

double rf__memory_left(void) { return rf__memory_left_in(""); }
