/* isa_amx.c — kernels of the rung above avx512bf16 and avx512vnni: products in bf16 and int8, and attention in bf16 for
 * suitable problems, in tiles (AMX), with at most 16 and 32 times the multiply-adds of f32.  Products in f32 are those
 * of avx512 with other prefetches.  All others, including the backward pass, are those of the rungs below.           */
#include "kernel/kernel.h"
#ifdef RF_NO_AMX                         /* the assembler does not know its instructions (CMakeLists.txt) */
#include "kernel/gemm/gemm_tiles.h"
const rfk_table rfk_amx = {0};
const rf__tile_products rf__amx_tiles = {0};
#else

/* Processors with tiles read a panel of f32 faster from the second-level cache if the program prefetches it
 * (results/machines/sapphire-rapids/f32.txt). */
#define PANEL_AHEAD 24
#include "kernel/isa/vec_avx512.h"

#pragma GCC diagnostic ignored "-Wunused-function"
#include "kernel/gemm/gemm.inc"
#include "kernel/isa/vec_amx.h"

#include "kernel/gemm/gemm_amx.inc"
#include "kernel/attention/attention_amx.inc"

static void k_attention_bf16(const rfk_attention *a, int64_t first, int64_t last, void *scratch)
{
    if (rfk__in_tiles(a)) amx_attention(a, first, last, scratch);
    else rfk_avx512bf16.attention_bf16(a, first, last, scratch);
}

const rfk_table rfk_amx = {
    .isa = "amx",
    .gemm_panel = k_gemm_panel,
    .gemm_panel_bf16_shape = k_gemm_panel_bf16_shape,
    .gemm_panel_bf16 = k_gemm_panel_bf16,
    .attention_bf16 = k_attention_bf16,
    .codes_i8 = k_codes_i8,
    .gemm_panel_i8_shape = k_gemm_panel_i8_shape,
    .gemm_panel_i8 = k_gemm_panel_i8,
    .thread_start = k_thread_start,
    .thread_end = k_thread_end,
};

const rf__tile_products rf__amx_tiles = {amx_block_bf16, amx_block_i8};
#endif
