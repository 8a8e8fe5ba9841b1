/* isa_amx_emulated.c — the kernels of the rung amx, their tiles in plain C: what tests run where no processor has
 * tiles, and what a processor that has them is held against. */
#include "kernel/kernel.h"
#include "kernel/vec_amx_emulated.h"

#include "kernel/gemm/gemm_amx.inc"

const rfk_table rfk_amx_emulated = {
    .isa = "amx_emulated",
    .gemm_panel_bf16_shape = k_gemm_panel_bf16_shape,
    .gemm_panel_bf16 = k_gemm_panel_bf16,
    .codes_i8 = k_codes_i8,
    .gemm_panel_i8_shape = k_gemm_panel_i8_shape,
    .gemm_panel_i8 = k_gemm_panel_i8,
    .thread_start = k_thread_start,
    .thread_end = k_thread_end,
};
