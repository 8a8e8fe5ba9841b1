/* isa_avx512vnni.c — kernels of the rung above avx512: products in int8 by vpdpbusd (AVX512_VNNI), with four times the
 * multiply-adds of f32.  All others are those of the rung below.                                                     */
#include <math.h>

#define HAS_VNNI
#include "kernel/kernel.h"
#include "kernel/isa/vec_avx512.h"

#pragma GCC diagnostic ignored "-Wunused-function"
#pragma GCC diagnostic ignored "-Wunused-variable"
#include "kernel/bodies/bodies.inc"

const rfk_table rfk_avx512vnni = {
    .isa = "avx512vnni",
    .codes_i8 = k_codes_i8,
    .gemm_panel_i8_shape = k_gemm_panel_i8_shape,
    .gemm_panel_i8 = k_gemm_panel_i8,
};
