/* processor.h — floor 0, internal: what rungs on Arm ask of the processor; done in linux.c. */
#ifndef RF_PROCESSOR_H
#define RF_PROCESSOR_H

#include <stdbool.h>

/* Whether the processor has what the kernel calls so in /proc/cpuinfo; of those that rungs.def asks for. */
bool rf__processor_has(const char *feature);

#endif
