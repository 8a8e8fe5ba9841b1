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

/* Which instructions beyond its dialect a rung has is said by its own file, before this one, and not by the compiler's
 * macros, which also follow CFLAGS: with -march=native every rung would be compiled as the best one.
 *
 *     HAS_VNNI     vpdpbusd: four products of bytes
 *     HAS_BF16     vdpbf16ps; on Arm BFDOT, BFMMLA and BFCVTN
 *     HAS_DOT      SDOT
 *     HAS_I8MM     SMMLA: two rows by two columns                                                                    */

#endif
