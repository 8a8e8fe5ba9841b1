/* avxvnni_evex.c — the kernels of the rung avxvnni with their instruction as AVX-512 encodes it, which processors have
 * that do not have the rung: for test_gemm_i8.c. */
#define rfk_avxvnni rfk_avxvnni_evex
#include "kernel/isa_avxvnni.c"
