/* isa_neonbf16.c — kernels of the rung above neon: products in bf16.  Matrix products use BFMMLA, which multiplies
 * blocks of two rows and two columns (gemm_squares.inc), with four times the multiply-adds of f32.  Attention, whose
 * operands are in pairs, uses BFDOT, with twice as many.  BFCVTN rounds to bf16, to the same bits.  All others are
 * those of the rungs below.
 *
 * Bits.  Both instructions add two products first, p = o(a_2i b_2i + a_2i+1 b_2i+1), and the sum after that, s = o(s +
 * p); BFMMLA does so twice.  o rounds to odd: to the number itself, or to the one of its two neighbors whose last digit
 * is 1.  It treats subnormal numbers as zero, unless a program sets FPCR.EBF on a processor with FEAT_EBF16; nothing
 * here sets it.  So the bits of this rung differ from those of other rungs, which add one term after the other and
 * round to nearest.  As everywhere, the bits of an element depend only on its row and its column.  The relative error
 * of o is below 2 u (u = 2^-24).  With k/2 sums and one pair, the total is (k + 2) u sum |a b|, where other rungs have
 * k u.                                                                                                               */
#include <math.h>

#define HAS_BF16
#include "kernel/kernel.h"
#include "kernel/isa/vec_neon.h"

#pragma GCC diagnostic ignored "-Wunused-function"
#pragma GCC diagnostic ignored "-Wunused-variable"
#include "kernel/bodies/bodies.inc"

const rfk_table rfk_neonbf16 = {
    .isa = "neonbf16",
    .to_bf16 = k_to_bf16,
    .pairs_bf16 = k_pairs_bf16,
    .gemm_panel_bf16_shape = k_gemm_panel_bf16_shape,
    .gemm_panel_bf16 = k_gemm_panel_bf16,
    .attention_bf16 = k_attention_bf16,
    .attention_bf16_back = k_attention_bf16_back,
};
