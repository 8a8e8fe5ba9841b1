/* processor.h — floor 0, internal: what kernels ask of the processor; done in linux.c. */
#ifndef RF_PROCESSOR_H
#define RF_PROCESSOR_H

#include <stdbool.h>
#include <stddef.h>

/* Whether the processor has what the kernel calls so in /proc/cpuinfo; of those that rungs.def asks for. */
bool rf__processor_has(const char *feature);

/* Bytes of the second-level cache that a hardware thread has for itself: the cache's size by the threads that share it.
 * 0: the system does not say.  The first processor is asked, once. */
size_t rf__cache_share(void);

/* The same of a folder that is laid out as /sys/devices/system/cpu/cpu0/cache. */
size_t rf__cache_share_in(const char *folder);

#endif
