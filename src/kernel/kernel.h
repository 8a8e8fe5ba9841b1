/* kernel.h — internal: the rungs of the ladder. */
#ifndef RF_KERNEL_H
#define RF_KERNEL_H

#include "base/base.h"
#include "roformer/kernel/kernels.h"

/* Each isa_<name>.c exports exactly one symbol, its table. */
extern const rfk_table rfk_ref;
#define RFR(name, machine, needs, flags) extern const rfk_table rfk_##name;
#include "roformer/kernel/rungs.def"
#undef RFR

#endif
