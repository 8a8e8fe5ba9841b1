/* processor.h — layer 0, internal: what kernels need to know about the processor; implemented in processor.c (features
 * of x86) and in base/os. */
#ifndef RF_PROCESSOR_H
#define RF_PROCESSOR_H

#include <stdbool.h>
#include <stddef.h>

/* Whether the processor has a feature, and the system allows its use; only features that rungs.def names, "sse4.2" and
 * "avx512fp16". */
bool rf__processor_has(const char *feature);

/* Bytes of the second-level cache per hardware thread: the size of the cache divided by the threads that share it. 0:
 * unknown. The first processor is examined, once. */
size_t rf__cache_share(void);

#endif
