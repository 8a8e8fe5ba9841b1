/* isa_neondot.c — kernels of the rung above neon: products in int8 by SDOT (FEAT_DotProd), with four times the
 * multiply-adds of f32.  All others are those of the rung below.                                                     */
#include <math.h>

#define HAS_DOT
#include "kernel/kernel.h"
#include "kernel/isa/vec_neon.h"

#pragma GCC diagnostic ignored "-Wunused-function"
#pragma GCC diagnostic ignored "-Wunused-variable"
#include "kernel/bodies/bodies.inc"

const rfk_table rfk_neondot = {
    .isa = "neondot",
    .codes_i8 = k_codes_i8,
    .gemm_panel_i8_shape = k_gemm_panel_i8_shape,
    .gemm_panel_i8 = k_gemm_panel_i8,
};
