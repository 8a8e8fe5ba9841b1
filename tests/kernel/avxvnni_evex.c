/* avxvnni_evex.c — the kernels of the rung avxvnni with the AVX-512 encoding of their instruction, for processors that
 * have this encoding but not the rung; used by test_gemm_i8.c. */
#define VNNI_OF_AVX512
#define rfk_avxvnni rfk_avxvnni_evex
#include "kernel/isa/isa_avxvnni.c"
