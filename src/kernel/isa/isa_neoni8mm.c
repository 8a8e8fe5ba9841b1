/* isa_neoni8mm.c — kernels of the rung above neondot: products in int8 by SMMLA (FEAT_I8MM), which multiplies two rows
 * with two columns, with eight times the multiply-adds of f32.  All others are those of the rungs below.             */
#include <math.h>

#define HAS_I8MM
#include "kernel/kernel.h"
#include "kernel/isa/vec_neon.h"

#pragma GCC diagnostic ignored "-Wunused-function"
#pragma GCC diagnostic ignored "-Wunused-variable"
#include "kernel/bodies/bodies.inc"

const rfk_table rfk_neoni8mm = {
    .isa = "neoni8mm",
    .codes_i8 = k_codes_i8,
    .gemm_panel_i8_shape = k_gemm_panel_i8_shape,
    .gemm_panel_i8 = k_gemm_panel_i8,
};
