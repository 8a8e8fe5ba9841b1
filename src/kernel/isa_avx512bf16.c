/* isa_avx512bf16.c — the rung above avx512 has one kernel of its own: products of bf16 by the instruction for them
 * (AVX512_BF16, vdpbf16ps), twice the multiply-adds of f32.  All others are those of the rung below.               */
#include "kernel/kernel.h"
#include "kernel/vec_avx512.h"

#include "kernel/gemm_bf16.inc"

const rfk_table rfk_avx512bf16 = {.isa = "avx512bf16", .gemm_panel_bf16 = k_gemm_panel_bf16};
