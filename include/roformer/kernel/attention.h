/* attention.h — attention for one head of one sequence, without a graph. Checks the arguments, allocates scratch memory
 * and calls the kernel.
 *
 *     softmax(scale R q (R k)^T) v          Vaswani et al. 2017, Eq. 1, with the rotation R of rope.h
 *
 *     float out[T * 64];                    one head of width 64; q, k and v are [T,64]
 *     const rfk_attention a = {.q = q, .k = k, .v = v, .q_stride = 64, .k_stride = 64, .v_stride = 64, .queries = T,
 *                              .keys = T, .width = 64, .scale = 0.125f, .out = out, .out_stride = 64};
 *     if (rf_attend(ctx, RF_F32, &a, NULL, &why)) ...
 *
 * kernels.h (rfk_attention) has the complete equation and the meaning of each member. The members that this example
 * leaves out are 0: no rotation, no mask, no dropout. The calling thread computes; the context's workers are not used.
 *
 * threads   a context may be shared: several threads may call these functions at the same time, each with its own
 *           results */
#ifndef ROFORMER_ATTENTION_H
#define ROFORMER_ATTENTION_H

#include "roformer/kernel/gemm.h"
#include "roformer/kernel/kernels.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Computes `out` and, if its pointer is not NULL, `lse` for all queries. Both are arrays of the caller.
 *
 *   type       RF_F32, or RF_BF16: operands are rounded to bf16 (attention_bf16 in kernels.def)
 *   scratch    NULL: allocated for this call. Otherwise rfk_attention_scratch(a) bytes, 64-byte aligned, which the
 *              caller can reuse for further calls
 *   cost       4 queries keys width operations, without masks. Scratch memory is proportional to the keys, not to
 *              queries x keys
 *   RF_EARG    a required pointer is NULL; drop is outside [0,1); another type; clip is negative; a rotation without a
 *              layout
 *   RF_ESHAPE  a negative number of rows; width below 1; a stride smaller than its row; rotary is odd, below 2 or wider
 *              than a row
 *   RF_ENOMEM  out of memory
 *
 * Elements of q_row and k_row are not checked: they must be rows of cos and sin. */
rf_status rf_attend(const rf_ctx *ctx, rf_type type, const rfk_attention *a, void *scratch, rf_error *why);

/* Computes the gradients of q, k, v, q2, k2 and the tables of `relative`, from d_out and from `out` and `lse` of the
 * forward call with the same type. Scratch memory: rfk_attention_back_scratch(a) bytes. Errors as for rf_attend;
 * RF_EARG also if lse is NULL, or if keys and values are in pages. */
rf_status rf_attend_back(const rf_ctx *ctx, rf_type type, const rfk_attention *a, const rfk_attention_grad *g,
                         void *scratch, rf_error *why);

#ifdef __cplusplus
}
#endif
#endif
