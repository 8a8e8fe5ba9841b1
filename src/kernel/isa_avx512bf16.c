/* isa_avx512bf16.c — the rung above avx512 has kernels of its own where products are of bf16: by the instruction for
 * them (AVX512_BF16, vdpbf16ps), twice the multiply-adds of f32, and by the one that rounds to bf16.  All others are
 * those of the rung below, whose bodies are here only for the parts that attention shares.                           */
#include <math.h>

#include "kernel/kernel.h"
#include "kernel/vec_avx512.h"

#pragma GCC diagnostic ignored "-Wunused-function"
#pragma GCC diagnostic ignored "-Wunused-variable"
#include "kernel/bodies.inc"

const rfk_table rfk_avx512bf16 = {
    .isa = "avx512bf16",
    .gemm_panel_bf16_shape = k_gemm_panel_bf16_shape,
    .gemm_panel_bf16 = k_gemm_panel_bf16,
    .to_bf16 = k_to_bf16,
    .pairs_bf16 = k_pairs_bf16,
    .attention_bf16 = k_attention_bf16,
    .attention_bf16_back = k_attention_bf16_back,
};
