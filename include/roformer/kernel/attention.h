/* attention.h — attention of one sequence and one head, without a graph: the kernels, their arguments looked at, their
 * scratch taken care of.
 *
 *     float out[T * 64];
 *     const rfk_attention a = {.q = q, .k = k, .v = v, .q_stride = 64, .k_stride = 64, .v_stride = 64, .queries = T,
 *                              .keys = T, .width = 64, .scale = 0.125f, .out = out, .out_stride = 64};
 *     if (rf_attend(ctx, RF_F32, &a, NULL, &why)) ...
 *
 * What it computes, and what members that are 0 mean, is in kernels.h (rfk_attention).  The calling thread computes;
 * any number of threads may, each with results of its own.
 *
 * threads   a context may be shared                                                                                */
#ifndef ROFORMER_ATTENTION_H
#define ROFORMER_ATTENTION_H

#include "roformer/kernel/gemm.h"
#include "roformer/kernel/kernels.h"

#ifdef __cplusplus
extern "C" {
#endif

/* out and, where it is given, lse of all queries.
 *
 *   type       RF_F32; RF_BF16: products of what was rounded to bf16 (attention_bf16 in kernels.def)
 *   scratch    NULL: the context's allocator gives it for this call.  Else rfk_attention_scratch(a) bytes, aligned to
 *              64, of the caller, whose next call finds them allocated
 *   cost       scratch grows with the keys, never with queries x keys
 *   RF_EARG    something that is needed is NULL; drop outside [0,1); another type; a clip below 0
 *   RF_ESHAPE  a negative number of rows, width below 1, a stride below the columns of its rows, a rotary that is odd,
 *              below 2 or wider than a row
 *   RF_ENOMEM  the allocator gave nothing                                                                            */
rf_status rf_attend(const rf_ctx *ctx, rf_type type, const rfk_attention *a, void *scratch, rf_error *why);

/* The adjoints, from d_out and from out and lse of the forward call; rfk_attention_back_scratch(a) bytes.  RF_EARG also
 * with pages. */
rf_status rf_attend_back(const rf_ctx *ctx, rf_type type, const rfk_attention *a, const rfk_attention_grad *g,
                         void *scratch, rf_error *why);

#ifdef __cplusplus
}
#endif
#endif
