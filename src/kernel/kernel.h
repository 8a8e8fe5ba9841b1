/* kernel.h — floor 1, internal: the rungs of the ladder. */
#ifndef RF_KERNEL_H
#define RF_KERNEL_H

#include "base/base.h"
#include "roformer/kernels.h"

/* Each isa_<name>.c exports exactly one symbol, its table. */
extern const rfk_table rfk_ref;
#if defined(__x86_64__)
extern const rfk_table rfk_avx2, rfk_avx512, rfk_avx512bf16;
#elif defined(__aarch64__)
extern const rfk_table rfk_neon;
#endif

#endif
