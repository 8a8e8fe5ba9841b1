/* isa_neondot.c — the rung above neon has kernels of its own where products are of int8: by the instruction for them
 * (FEAT_DotProd, SDOT), four times the multiply-adds of f32.  All others are those of the rung below.                */
#include <math.h>

#include "kernel/kernel.h"
#include "kernel/vec_neon.h"

#pragma GCC diagnostic ignored "-Wunused-function"
#pragma GCC diagnostic ignored "-Wunused-variable"
#include "kernel/bodies.inc"

const rfk_table rfk_neondot = {
    .isa = "neondot",
    .codes_i8 = k_codes_i8,
    .gemm_panel_i8_shape = k_gemm_panel_i8_shape,
    .gemm_panel_i8 = k_gemm_panel_i8,
};
