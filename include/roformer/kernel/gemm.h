/* gemm.h — matrix products, with bias and activation at the store.
 *
 * Blocked and packed products (docs/architecture.md); on the rung "ref" the triple loop.
 *
 * threads   any number of threads may share a context; its products take turns, one at a time on all its workers, but
 *           those with a packed matrix, which where another is at work are computed by the caller's thread           */
#ifndef ROFORMER_GEMM_H
#define ROFORMER_GEMM_H

#include <stdint.h>

#include "roformer/context.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef enum rf_type { RF_F32, RF_BF16, RF_F16, RF_I8, RF_I32 } rf_type;

typedef enum rf_act { RF_ACT_NONE, RF_ACT_GELU, RF_ACT_GELU_TANH, RF_ACT_RELU, RF_ACT_SILU, RF_ACT_TANH } rf_act;

/* c[m,n] = a[m,k] b[k,n] + beta c[m,n].
 * Row-major with leading dimensions in elements; a_transposed means that a is stored [k,m], b_transposed that b is
 * [n,k].
 *
 * type RF_F32   (0): everything in f32
 * type RF_BF16  a and b are rounded to bf16, to nearest even, on their way into the product; a16 or b16 gives a matrix
 *               that is stored as bf16 already, in place of a or b.  Products and sums are f32.  On processors with
 *               AVX512_BF16 this is twice as fast, elsewhere it is as slow as f32 or slower and gives the same bits,
 *               but that the instruction takes subnormal numbers for zeros.                                          */
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
    const uint16_t *a16, *b16;  /* only with RF_BF16; NULL: a and b */
} rf_gemm_call;

rf_status rf_gemm(const rf_ctx *ctx, const rf_gemm_call *call, rf_error *why);

/* A weight matrix w[n,k] in the layout that products read fastest.  Immutable once made. */
typedef struct rf_packed rf_packed;

/*   type       how the weights are kept and the product is computed: RF_F32, RF_BF16 (see rf_gemm_call; half the
 *              memory), or RF_I8: whole numbers of one scale for each row of w, met by those of one scale for each row
 *              of x, summed exactly; a quarter of the memory and, where the processor has AVX512_VNNI, up to four times
 *              as fast.  The same bits on every processor.  Others are refused with RF_EUNSUPPORTED
 *   w          [n,k] f32, row-major; not kept.  For RF_I8 k is at most 65536
 *   RF_ENUMERIC for RF_I8: a weight is not finite, a row is too large or too small for a scale, or all are zero      
 *   out        freed with rf_packed_free                                                                          */
rf_status rf_pack(const rf_ctx *ctx, rf_type type, int64_t n, int64_t k, const float *w, rf_packed **out,
                  rf_error *why);

/* The same of weights that are in int8 already: w[j,p] stands for scale[j] w[j,p].  Scales are positive. */
rf_status rf_pack_int8(const rf_ctx *ctx, int64_t n, int64_t k, const int8_t *w, const float *scale, rf_packed **out,
                       rf_error *why);
void rf_packed_free(rf_packed *packed);

/* The whole numbers and scales that rf_pack makes of w[n,k] for RF_I8, so that rf_pack_int8 of them gives the same
 * bits; q [n,k], scale [n].  A row of zeros has scale 1.  RF_ENUMERIC as rf_pack. */
rf_status rf_quantise_int8(const rf_ctx *ctx, int64_t n, int64_t k, const float *w, int8_t *q, float *scale,
                           rf_error *why);

/* y[m,n] = act(x[m,k] w^T + bias).  The same bits for row i whatever m is and whatever the other rows hold.
 * y rows are ldy apart, x rows ldx.  RF_ENUMERIC with weights in RF_I8: a row of x is not finite; the others are
 * computed. */
rf_status rf_packed_product(const rf_ctx *ctx, const rf_packed *w, int64_t m, const float *x, int64_t ldx,
                            const float *bias, rf_act act, float *y, int64_t ldy, rf_error *why);

/* What does the products of this context, for people: "built-in" or "ref". */
const char *rf_gemm_backend(const rf_ctx *ctx);

#ifdef __cplusplus
}
#endif
#endif
