/* os_linux.h — what files of Linux tell about limits and caches. `root` is put before /proc and /sys, for tests. */
#ifndef RF_OS_LINUX_H
#define RF_OS_LINUX_H

#include "base/base.h"

/* Reads a file below `root`, at most RF__SYSTEM_TEXT - 1 bytes, and adds a terminating zero; false: it cannot be
 * read. */
enum { RF__SYSTEM_TEXT = 1 << 14 };
bool rf__system_text(const char *root, const char *folder, const char *name, char out[RF__SYSTEM_TEXT]);

/* The folder of a controller's groups ("": version 2). */
typedef struct rf__cgroup_tree { const char *mount, *controller; int version; } rf__cgroup_tree;

/* The smallest value of this process's group and its ancestors; INFINITY: no group has a limit. */
typedef double rf__cgroup_value(const char *root, const char *folder, int version);
double rf__cgroup_least(const char *root, const rf__cgroup_tree tree[], size_t trees, rf__cgroup_value *value);

/* Number of processors that the groups allow, for example in a container with --cpus; INFINITY: no limit. */
double rf__processor_quota(const char *root);

double rf__memory_left_in(const char *root);           /* as rf__memory_left */

/* As rf__cache_share, of a folder with the layout of /sys/devices/system/cpu/cpu0/cache. */
size_t rf__cache_share_in(const char *folder);

#endif
