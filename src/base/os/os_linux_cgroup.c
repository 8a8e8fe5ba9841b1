/* os_linux_cgroup.c — limits of this process's cgroup and of its ancestors. A container sees its own cgroup as the root
 * of the tree, so the files of the root count as well. */
#include "base/os/os_linux.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

bool rf__system_text(const char *root, const char *folder, const char *name, char out[RF__SYSTEM_TEXT])
{
    char path[8192];
    const int n = snprintf(path, sizeof path, "%s%s/%s", root, folder, name);
    FILE *f = n < 0 || (size_t)n >= sizeof path ? NULL : fopen(path, "re");
    out[f ? fread(out, 1, RF__SYSTEM_TEXT - 1, f) : 0] = 0;
    const bool good = f && !ferror(f);
    if (f) fclose(f);
    return good;
}

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

/* From lines "4:memory,cpu:/path" (version 1) and "0::/path" (version 2); false: this process is in no such tree. */
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

double rf__cgroup_least(const char *root, const rf__cgroup_tree tree[], size_t trees, rf__cgroup_value *value)
{
    double least = INFINITY;
    char group[4096], folder[8192], text[RF__SYSTEM_TEXT];
    const bool there = rf__system_text(root, "/proc/self", "cgroup", text);
    for (size_t i = 0; there && i < trees; i++) {
        if (!own_group(text, tree[i].controller, group)) continue;
        for (char *slash = group; slash;) {
            const int n = snprintf(folder, sizeof folder, "%s%s", tree[i].mount, group);
            if (n > 0 && (size_t)n < sizeof folder) least = fmin(least, value(root, folder, tree[i].version));
            slash = strrchr(group, '/');
            if (slash) *slash = 0;
        }
    }
    return least;
}

/* ---- processors ---- */

/* cpu.max has "200000 100000", or "max 100000" without a limit. Version 1 has two files, the first with -1 if there is
 * no limit. */
static double quota_of(const char *root, const char *folder, int version)
{
    char text[RF__SYSTEM_TEXT], second[RF__SYSTEM_TEXT] = "", *more = text;
    if (!rf__system_text(root, folder, version == 2 ? "cpu.max" : "cpu.cfs_quota_us", text)) return INFINITY;
    if (version == 1) rf__system_text(root, folder, "cpu.cfs_period_us", second);
    const double quota = strtod(text, &more), period = strtod(version == 1 ? second : more, NULL);
    return quota > 0 && period > 0 ? quota / period : INFINITY;
}

double rf__processor_quota(const char *root)
{
    static const rf__cgroup_tree trees[] = {
        {"/sys/fs/cgroup", "", 2},
        {"/sys/fs/cgroup/unified", "", 2},
        {"/sys/fs/cgroup/cpu", "cpu", 1},
        {"/sys/fs/cgroup/cpu,cpuacct", "cpu", 1},
    };
    return rf__cgroup_least(root, trees, RF_COUNT(trees), quota_of);
}
