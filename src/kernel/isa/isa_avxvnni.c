/* isa_avxvnni.c — kernels of the rung above avx2, for processors with AVX-VNNI but without AVX-512: products in int8 by
 * vpdpbusd on 256 bits.  All others are those of the rung below.                                                     */
#ifdef RF_NO_AVXVNNI                     /* the compiler does not know its instructions (CMakeLists.txt) */
#include "kernel/kernel.h"
const rfk_table rfk_avxvnni = {0};
#else
#include <math.h>

#define HAS_VNNI
#include "kernel/kernel.h"
#include "kernel/isa/vec_avx2.h"

#pragma GCC diagnostic ignored "-Wunused-function"
#pragma GCC diagnostic ignored "-Wunused-variable"
#include "kernel/bodies/convert.inc"
#include "kernel/gemm/gemm_i8.inc"

const rfk_table rfk_avxvnni = {
    .isa = "avxvnni",
    .codes_i8 = k_codes_i8,
    .gemm_panel_i8_shape = k_gemm_panel_i8_shape,
    .gemm_panel_i8 = k_gemm_panel_i8,
};
#endif
