/* gemm.h — matrix products with optional bias and activation.
 *
 * Elements are RF_F32, RF_BF16 and, for packed weights, RF_I8 and RF_I8W (rf_type in context.h). The products are
 * blocked and packed (docs/architecture.md); the reference rung "ref" uses three nested loops.
 *
 * threads   a context may be shared. A product with a packed matrix runs at any time, on all workers, or on the calling
 *           thread alone if another call has the workers. Other products (rf_gemm) run one after the other */
#ifndef ROFORMER_GEMM_H
#define ROFORMER_GEMM_H

#include <stdint.h>

#include "roformer/context.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Activations, by element: RF_ACT_NONE, RF_ACT_GELU, ...; acts.def has their equations. */
typedef enum rf_act {
    RF_ACT_NONE,
#define RFA(constant, kernel, torch, y, ...) RF_ACT_##constant,
#include "roformer/kernel/acts.def"
#undef RFA
} rf_act;

/* A matrix product. Matrices are row-major; lda, ldb and ldc are distances between rows in elements. a_transposed: a is
 * stored as [k,m]. b_transposed: b is stored as [n,k].
 *
 *     c[m,n] = act(a[m,k] b[k,n] + bias[n])      beta = 0; c is not read
 *     c[m,n] = a[m,k] b[k,n] + c[m,n]            beta = 1
 *
 * type RF_F32   (0): everything in f32
 * type RF_BF16  a and b are rounded to bf16 (to nearest even) before they are multiplied; a16 or b16 passes a matrix
 *               that is already bf16 instead of a or b. Products are summed in f32. This is faster than f32 only on
 *               processors with a fast bf16 instruction (rungs avx512bf16, amx and neonbf16). All rungs except ref,
 *               amx, amx_emulated and neonbf16 give the same bits, apart from subnormal numbers, which the instruction
 *               of avx512bf16 treats as zero. docs/numerics.md has the details */
typedef struct rf_gemm_call {
    int64_t m, n, k;
    const float *a;
    int64_t lda;
    int a_transposed;
    const float *b;
    int64_t ldb;
    int b_transposed;
    float beta;                 /* 0 or 1 */
    float *c;
    int64_t ldc;
    const float *bias;          /* [n] or NULL; only with beta = 0 */
    rf_act act;                 /* only with beta = 0 */
    rf_type type;
    const uint16_t *a16, *b16;  /* only with RF_BF16; NULL: use a and b */
} rf_gemm_call;

/* Computes the product. c must not overlap a or b. For a weight matrix that is multiplied many times, rf_packed_product
 * is faster, because it packs the weights once.
 *
 *   cost            2 m n k operations. The context keeps the scratch memory until it is freed
 *   RF_EARG         a required pointer is NULL; beta is neither 0 nor 1; beta = 1 with a bias or an activation; act is
 *                   not a value of rf_act; a16 or b16 with RF_F32
 *   RF_ESHAPE       a distance between rows is smaller than a row or above 2^28
 *   RF_ERANGE       m, n or k is negative or above 2^28
 *   RF_EUNSUPPORTED another type
 *   RF_ENOMEM       out of memory */
rf_status rf_gemm(const rf_ctx *ctx, const rf_gemm_call *call, rf_error *why);

/* A weight matrix w[n,k], stored in the order in which products read it. It never changes and may be shared by threads.
 * The order depends on the rung: use a packed matrix with a context of the same rung, while the context that packed it
 * exists. */
typedef struct rf_packed rf_packed;

/* Packs a weight matrix.
 *
 *   type       type in which the weights are stored and multiplied:
 *              RF_F32    4 bytes for each weight
 *              RF_BF16   2 bytes; see rf_gemm_call
 *              RF_I8     1 byte, and a scale for each row of w: int8 in -127 to 127. Rows of x are quantized in the
 *                        same way, and sums are exact, so that products without an activation have the same bits on
 *                        every processor
 *              RF_I8W    the same weights. Sums are those of RF_F32, or of RF_BF16 if the rung multiplies bf16 faster;
 *                        the scale is applied to them at the end. x is not quantized, but rounded to bf16 with RF_BF16
 *   w          [n,k] f32, row-major; copied. For RF_I8, k is at most 65536 (otherwise RF_EUNSUPPORTED)
 *   out        freed with rf_packed_free; unchanged on error
 *   RF_EARG    ctx, w or out is NULL
 *   RF_ERANGE  n or k is negative or too large
 *   RF_EUNSUPPORTED another type
 *   RF_ENUMERIC for RF_I8 and RF_I8W: a weight is not finite, a row is too large or too small for a scale, or all
 *              weights are zero
 *   RF_ENOMEM  out of memory */
rf_status rf_pack(const rf_ctx *ctx, rf_type type, int64_t n, int64_t k, const float *w, rf_packed **out,
                  rf_error *why);

void rf_packed_free(rf_packed *packed);                /* NULL is allowed; before its context is freed */

/* Multiplies by packed weights: y[m,n] = act(x[m,k] w^T + bias).
 *
 *   ctx        the context that packed w, or one with the same rung (otherwise RF_EARG)
 *   x, y       row-major; ldx and ldy are the distances between rows in elements. They must not overlap
 *   bias       [n], or NULL
 *   RF_EARG, RF_ESHAPE, RF_ERANGE, RF_ENOMEM   as for rf_gemm
 *   RF_ENUMERIC   with RF_I8 weights only: a row of x is not finite; the message names the first. The other rows are
 *                 computed
 *
 * The bits of a row do not depend on m, on the other rows or on the number of workers. */
rf_status rf_packed_product(const rf_ctx *ctx, const rf_packed *w, int64_t m, const float *x, int64_t ldx,
                            const float *bias, rf_act act, float *y, int64_t ldy, rf_error *why);

/* The implementation of this context's products, for display: "built-in" or "ref". Static storage. */
const char *rf_gemm_backend(const rf_ctx *ctx);

#ifdef __cplusplus
}
#endif
#endif
