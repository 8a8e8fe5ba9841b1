/* isa_neonbf16.c — the rung above neon has kernels of its own where products are of bf16: by BFMMLA, whose squares are
 * two rows and two columns (gemm_squares.inc), four times the multiply-adds of f32, and in attention, whose operands
 * lie in pairs, by BFDOT, twice; rounding to bf16 is BFCVTN, to the same bits.  All others are those of the rungs
 * below.
 *
 * Bits.  Both instructions add two products first, p = o(a_2i b_2i + a_2i+1 b_2i+1), and the sum after that,
 * s = o(s + p); BFMMLA does so twice.  o rounds to odd: to the number itself or to that of its two neighbours whose
 * last digit is 1, and takes subnormal numbers for zeros (unless FPCR.EBF is set, which is the program's own doing, on
 * processors with FEAT_EBF16; nothing here sets it).  So bits are those of this rung, not of the others, whose sums
 * take one term after the other to nearest; an element's go by its row and its column alone, as everywhere.
 * o is off by less than 2 u of its result (u = 2^-24), k/2 sums and a pair's: (k + 2) u sum |a b| in all, where the
 * others have k u.                                                                                                   */
#include <math.h>

#include "kernel/kernel.h"
#include "kernel/vec_neon.h"

#pragma GCC diagnostic ignored "-Wunused-function"
#pragma GCC diagnostic ignored "-Wunused-variable"
#include "kernel/bodies.inc"

const rfk_table rfk_neonbf16 = {
    .isa = "neonbf16",
    .to_bf16 = k_to_bf16,
    .pairs_bf16 = k_pairs_bf16,
    .gemm_panel_bf16_shape = k_gemm_panel_bf16_shape,
    .gemm_panel_bf16 = k_gemm_panel_bf16,
    .attention_bf16 = k_attention_bf16,
    .attention_bf16_back = k_attention_bf16_back,
};
