/* memory_left.c — how much memory this process may still take: the least of
 *
 *     MemAvailable of /proc/meminfo
 *     what the limit on its address space leaves (ulimit -v)
 *     limit - (usage - file pages that can be dropped), of its cgroup and of each of that one's parents
 *
 * A container sees its own cgroup as the root of the tree, so the root's files count as well. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>

#include "base/base.h"

/* The number behind `key` at the beginning of a line; 0 when there is none. */
static double value_of(const char *text, const char *key)
{
    const size_t n = strlen(key);
    for (const char *line = text; line && *line; line = strchr(line, '\n'), line += line != NULL)
        if (!strncmp(line, key, n) && (line[n] == ' ' || line[n] == ':' || line[n] == '\t'))
            return strtod(line + n + 1, NULL);
    return 0;
}

/* A file of at most a megabyte below `root`, for rf__free; NULL: it cannot be read. */
static char *text_of(const rf_ctx *ctx, const char *root, const char *folder, const char *name)
{
    char path[8192], *text = NULL;
    size_t size;
    const int n = snprintf(path, sizeof path, "%s%s/%s", root, folder, name);
    if (n < 0 || (size_t)n >= sizeof path || rf__read_file(ctx, path, 1 << 20, &text, &size, NULL)) return NULL;
    return text;
}

static double field_of(const rf_ctx *ctx, const char *root, const char *folder, const char *name, const char *key)
{
    char *text = text_of(ctx, root, folder, name);
    const double x = text ? value_of(text, key) : 0;
    rf__free(ctx, text);
    return x;
}

/* A file that holds one number, or "max". */
static double number_in(const rf_ctx *ctx, const char *root, const char *folder, const char *name, double otherwise)
{
    char *text = text_of(ctx, root, folder, name), *end = text;
    const double x = text ? strtod(text, &end) : otherwise;
    const bool there = text && end != text;
    rf__free(ctx, text);
    return there ? x : otherwise;
}

/* ---- cgroups ---- */

typedef struct version { const char *mount, *controller, *limit, *usage, *active, *inactive; } version;
static const version versions[] = {
    {"/sys/fs/cgroup", "", "memory.max", "memory.current", "active_file", "inactive_file"},
    {"/sys/fs/cgroup/unified", "", "memory.max", "memory.current", "active_file", "inactive_file"},
    {"/sys/fs/cgroup/memory", "memory", "memory.limit_in_bytes", "memory.usage_in_bytes",
     "total_active_file", "total_inactive_file"},
};

static bool in_list(const char *list, size_t size, const char *word)
{
    const size_t n = strlen(word);
    if (!n || !size) return n == size;
    for (const char *end = list + size, *at = list; at < end;) {
        const char *comma = memchr(at, ',', (size_t)(end - at)), *stop = comma ? comma : end;
        if ((size_t)(stop - at) == n && !memcmp(at, word, n)) return true;
        at = stop + 1;
    }
    return false;
}

/* From lines "4:memory,cpu:/path", and "0::/path" of version 2; false: this process is in no such tree. */
static bool own_group(const char *text, const char *controller, char out[4096])
{
    for (const char *line = text; line && *line; line = strchr(line, '\n'), line += line != NULL) {
        const char *list = strchr(line, ':'), *path = list ? strchr(list + 1, ':') : NULL;
        if (!path || !in_list(list + 1, (size_t)(path - list - 1), controller)) continue;
        snprintf(out, 4096, "%.*s", (int)strcspn(path + 1, "\n"), path + 1);
        return true;
    }
    return false;
}

static double left_in_group(const rf_ctx *ctx, const char *root, const version *v, const char *group)
{
    char folder[8192];
    const int n = snprintf(folder, sizeof folder, "%s%s", v->mount, group);
    if (n < 0 || (size_t)n >= sizeof folder) return INFINITY;
    const double limit = number_in(ctx, root, folder, v->limit, INFINITY);
    if (!isfinite(limit)) return limit;
    const double files = field_of(ctx, root, folder, "memory.stat", v->active) +
                         field_of(ctx, root, folder, "memory.stat", v->inactive);
    return limit - fmax(0, number_in(ctx, root, folder, v->usage, 0) - files);
}

static double left_in_groups(const rf_ctx *ctx, const char *root)
{
    double left = INFINITY;
    char group[4096], *text = text_of(ctx, root, "/proc/self", "cgroup");
    for (size_t i = 0; text && i < RF_COUNT(versions); i++) {
        if (!own_group(text, versions[i].controller, group)) continue;
        for (char *slash = group; slash;) {
            left = fmin(left, left_in_group(ctx, root, &versions[i], group));
            slash = strrchr(group, '/');
            if (slash) *slash = 0;
        }
    }
    rf__free(ctx, text);
    return left;
}

/* ---- all of it ---- */

double rf__memory_left_in(const rf_ctx *ctx, const char *root)
{
    struct rlimit limit;
    const double available = 1024 * field_of(ctx, root, "/proc", "meminfo", "MemAvailable");
    double left = fmin(available > 0 ? available : INFINITY, left_in_groups(ctx, root));
    if (!getrlimit(RLIMIT_AS, &limit) && limit.rlim_cur != RLIM_INFINITY)
        left = fmin(left, (double)limit.rlim_cur - 1024 * field_of(ctx, root, "/proc/self", "status", "VmSize"));
    return isfinite(left) ? fmax(1, left) : 0;
}

double rf__memory_left(const rf_ctx *ctx) { return rf__memory_left_in(ctx, ""); }
