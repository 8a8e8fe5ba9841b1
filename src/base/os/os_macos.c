/* os_macos.c — what macOS says about the processors, their features and caches, the memory, and the program's file. */
#define _DARWIN_C_SOURCE
#include <mach-o/dyld.h>
#include <mach/mach.h>
#include <math.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/sysctl.h>
#include <unistd.h>

#include "base/base.h"
#include "base/os/os.h"
#include "base/system/processor.h"

/* ---- processors and caches ---- */

/* A number of 4 or 8 bytes; 0: there is no such value. */
static int64_t value_of(const char *name)
{
    int64_t wide = 0;
    size_t size = sizeof wide;
    if (sysctlbyname(name, &wide, &size, NULL, 0)) return 0;
    if (size == sizeof wide) return wide;
    int32_t narrow;
    memcpy(&narrow, &wide, sizeof narrow);
    return narrow;
}

int rf_processors(void)
{
    enum { MOST = 1 << 16 };
    int64_t n = value_of("hw.logicalcpu");
    if (n < 1) n = sysconf(_SC_NPROCESSORS_ONLN);
    return n < 1 ? 1 : n > MOST ? MOST : (int)n;
}

#ifdef __aarch64__
bool rf__processor_has(const char *feature)
{
    static const struct { const char *name, *value; } features[] = {
        {"asimddp", "hw.optional.arm.FEAT_DotProd"},
        {"i8mm", "hw.optional.arm.FEAT_I8MM"},
        {"bf16", "hw.optional.arm.FEAT_BF16"},
    };
    for (size_t i = 0; i < RF_COUNT(features); i++)
        if (!strcmp(features[i].name, feature)) return value_of(features[i].value) == 1;
    return false;
}
#endif

/* Of the fast processors. Those of Intel share the second level between the two threads of a core. */
size_t rf__os_cache_share(void)
{
    const int64_t fast = value_of("hw.perflevel0.l2cachesize"), by = value_of("hw.perflevel0.cpusperl2");
    const int64_t size = value_of("hw.l2cachesize"), cores = value_of("hw.physicalcpu");
    if (fast > 0 && by > 0) return (size_t)(fast / by);
    return size > 0 && cores > 0 ? (size_t)(size * cores / rf__max64(cores, value_of("hw.logicalcpu"))) : 0;
}

/* ---- memory: free pages, and those that the system takes back when it needs them ---- */

double rf__memory_left(void)
{
    vm_statistics64_data_t is;
    struct rlimit limit;
    mach_msg_type_number_t n = HOST_VM_INFO64_COUNT;
    const mach_port_t host = mach_host_self();
    const bool known = host_statistics64(host, HOST_VM_INFO64, (host_info64_t)&is, &n) == KERN_SUCCESS;
    mach_port_deallocate(mach_task_self(), host);
    double left = INFINITY;
    if (known) left = ((double)is.free_count + is.inactive_count + is.purgeable_count) * (double)sysconf(_SC_PAGESIZE);
    if (!getrlimit(RLIMIT_AS, &limit) && limit.rlim_cur != RLIM_INFINITY) left = fmin(left, (double)limit.rlim_cur);
    return isfinite(left) ? fmax(1, left) : 0;
}

/* ---- processes ---- */

/* macOS does not list locks: a process that runs may have one. */
bool rf__os_process_locks(long process) { return process > 0 && !rf__os_process_ended(process); }

bool rf__os_self(char *path, size_t size)
{
    char own[4096];
    uint32_t n = sizeof own;
    char *whole = _NSGetExecutablePath(own, &n) ? NULL : realpath(own, NULL);
    const size_t length = whole ? strlen(whole) : size;
    if (length < size) memcpy(path, whole, length + 1);
    else if (size) *path = 0;
    free(whole);
    return length < size;
}

double rf__os_memory(void)
{
    mach_task_basic_info_data_t is;
    mach_msg_type_number_t n = MACH_TASK_BASIC_INFO_COUNT;
    const kern_return_t failed = task_info(mach_task_self(), MACH_TASK_BASIC_INFO, (task_info_t)&is, &n);
    return failed ? 0 : (double)is.resident_size;
}
