/* isa_avx512fp16.c — kernels for Intel's cores since Sapphire Rapids where tiles (AMX) are not granted.  Nothing is
 * computed in f16: the unit tells these cores from others.  Their vdpbf16ps does half as many multiply-adds in a cycle
 * as vfmadd in f32, so that products in bf16, and those of attention, are the ones of avx512, which widens them
 * (results/machines/emerald-rapids).  All others are those of the rungs below.                                       */
#include <math.h>

#include "kernel/kernel.h"
#include "kernel/isa/vec_avx512.h"

#pragma GCC diagnostic ignored "-Wunused-function"
#pragma GCC diagnostic ignored "-Wunused-variable"
#include "kernel/bodies/bodies.inc"

const rfk_table rfk_avx512fp16 = {
    .isa = "avx512fp16",
    .gemm_panel_bf16_shape = k_gemm_panel_bf16_shape,
    .gemm_panel_bf16 = k_gemm_panel_bf16,
    .attention_bf16 = k_attention_bf16,
    .attention_bf16_back = k_attention_bf16_back,
};
