/* isa_avx512bf16.c — kernels of the rung above avx512: products in bf16 by vdpbf16ps (AVX512_BF16), with twice the
 * multiply-adds of f32, and rounding to bf16 by instruction.  All others are those of the rung below; its bodies are
 * included only for the parts that attention shares.                                                                 */
#include <math.h>

#define HAS_BF16
#include "kernel/kernel.h"
#include "kernel/isa/vec_avx512.h"

#pragma GCC diagnostic ignored "-Wunused-function"
#pragma GCC diagnostic ignored "-Wunused-variable"
#include "kernel/bodies/bodies.inc"

const rfk_table rfk_avx512bf16 = {
    .isa = "avx512bf16",
    .gemm_panel_bf16_shape = k_gemm_panel_bf16_shape,
    .gemm_panel_bf16 = k_gemm_panel_bf16,
    .to_bf16 = k_to_bf16,
    .pairs_bf16 = k_pairs_bf16,
    .attention_bf16 = k_attention_bf16,
    .attention_bf16_back = k_attention_bf16_back,
};
