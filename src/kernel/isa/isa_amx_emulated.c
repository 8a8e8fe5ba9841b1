/* isa_amx_emulated.c — the kernels of the rung amx with tiles in plain C.  Tests run them on processors without tiles,
 * and compare processors that have tiles with them. */
#include "kernel/kernel.h"
#include "kernel/isa/vec_amx_emulated.h"

#include "kernel/gemm/gemm_amx.inc"
#include "kernel/attention/attention_amx.inc"

/* All other kernels are those of the best rung of this processor. */
static void k_attention_bf16(const rfk_attention *a, int64_t first, int64_t last, void *scratch)
{
    rfk_table below = rfk_ref, next;
    if (rfk__in_tiles(a)) {
        amx_attention(a, first, last, scratch);
        return;
    }
    for (int i = 0; rfk_rung(i, &next) && !rfk_rung_emulated(next.isa); i++) below = next;
    below.attention_bf16(a, first, last, scratch);
}

const rfk_table rfk_amx_emulated = {
    .isa = "amx_emulated",
    .gemm_panel_bf16_shape = k_gemm_panel_bf16_shape,
    .gemm_panel_bf16 = k_gemm_panel_bf16,
    .attention_bf16 = k_attention_bf16,
    .codes_i8 = k_codes_i8,
    .gemm_panel_i8_shape = k_gemm_panel_i8_shape,
    .gemm_panel_i8 = k_gemm_panel_i8,
    .thread_start = k_thread_start,
    .thread_end = k_thread_end,
};

const rf__tile_products rf__amx_emulated_tiles = {amx_block_bf16, amx_block_i8};
