/* gemm.h — matrix products with optional bias and activation.
 *
 * The products are blocked and packed (docs/architecture.md); the reference rung "ref" uses three nested loops.
 *
 * threads   a context may be shared. Its products run one after the other, each on all its workers. A product with a
 *           packed matrix does not wait: if the workers are busy, the calling thread computes it */
#ifndef ROFORMER_GEMM_H
#define ROFORMER_GEMM_H

#include <stdint.h>

#include "roformer/context.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef enum rf_type { RF_F32, RF_BF16, RF_F16, RF_I8, RF_I32 } rf_type;

typedef enum rf_act { RF_ACT_NONE, RF_ACT_GELU, RF_ACT_GELU_TANH, RF_ACT_RELU, RF_ACT_SILU, RF_ACT_TANH } rf_act;

/* c[m,n] = a[m,k] b[k,n] + beta c[m,n]. Matrices are row-major; lda, ldb and ldc are distances between rows in
 * elements. a_transposed: a is stored as [k,m]. b_transposed: b is stored as [n,k].
 *
 * type RF_F32   (0): everything in f32
 * type RF_BF16  a and b are rounded to bf16 (to nearest even) before they are multiplied; a16 or b16 passes a matrix
 *               that is already bf16 instead of a or b. Products are summed in f32. Twice as fast on processors with
 *               AVX512_BF16. Elsewhere it is as slow as f32 or slower, with the same bits, except that the AVX512_BF16
 *               instruction treats subnormal numbers as zero */
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

rf_status rf_gemm(const rf_ctx *ctx, const rf_gemm_call *call, rf_error *why);

/* A weight matrix w[n,k], stored in the order in which products read it. It never changes. */
typedef struct rf_packed rf_packed;

/*   type       type in which the weights are stored and multiplied. RF_F32; RF_BF16 (see rf_gemm_call): half the
 *              memory; RF_I8: int8 with one scale for each row of w. Rows of x are quantized in the same way, and sums
 *              are exact. int8 takes a quarter of the memory and is up to four times as fast with AVX512_VNNI; it gives
 *              the same bits on every processor. RF_EUNSUPPORTED: any other type
 *   w          [n,k] f32, row-major; copied. For RF_I8, k is at most 65536
 *   out        freed with rf_packed_free
 *   RF_ENUMERIC for RF_I8: a weight is not finite, a row is too large or too small for a scale, or all weights are
 *   zero */
rf_status rf_pack(const rf_ctx *ctx, rf_type type, int64_t n, int64_t k, const float *w, rf_packed **out,
                  rf_error *why);

/* Packs weights that are already int8: the weight is scale[j] w[j,p]. Scales must be positive. */
rf_status rf_pack_int8(const rf_ctx *ctx, int64_t n, int64_t k, const int8_t *w, const float *scale, rf_packed **out,
                       rf_error *why);
void rf_packed_free(rf_packed *packed);

/* The two matrices of a gated feed-forward layer, which rf_packed_product multiplies as one:
 *
 *     y[m,n] = act(x w_g^T + b_g) * (x w_u^T + b_u)          Shazeer 2020 (GLU variants), Eq. 5; * by element
 *
 *   n       rows of each of the two
 *   w       [2n,k]: w_g and w_u, one after the other; the bias of rf_packed_product is [2n] in the same order
 *   order   which of the two is the first half
 *   other arguments and errors as for rf_pack and rf_pack_int8 */
typedef enum rf_gate_order { RF_GATE_FIRST, RF_GATE_SECOND } rf_gate_order;
rf_status rf_pack_gated(const rf_ctx *ctx, rf_type type, int64_t n, int64_t k, const float *w, rf_gate_order order,
                        rf_packed **out, rf_error *why);
rf_status rf_pack_gated_int8(const rf_ctx *ctx, int64_t n, int64_t k, const int8_t *w, const float *scale,
                             rf_gate_order order, rf_packed **out, rf_error *why);

/* Computes the int8 numbers q [n,k] and scales [n] that rf_pack uses for w[n,k] with RF_I8. rf_pack_int8 of them gives
 * the same bits. A row of zeros has scale 1. RF_ENUMERIC as for rf_pack. */
rf_status rf_quantize_int8(const rf_ctx *ctx, int64_t n, int64_t k, const float *w, int8_t *q, float *scale,
                           rf_error *why);

/* y[m,n] = act(x[m,k] w^T + bias), or what rf_pack_gated says for its weights. ldx and ldy are the distances between
 * rows of x and y. The bits of a row do not depend on m or on the other rows. RF_ENUMERIC, with RF_I8 weights only: a
 * row of x is not finite; the other rows are computed. */
rf_status rf_packed_product(const rf_ctx *ctx, const rf_packed *w, int64_t m, const float *x, int64_t ldx,
                            const float *bias, rf_act act, float *y, int64_t ldy, rf_error *why);

/* The implementation of this context's products, for display: "built-in" or "ref". */
const char *rf_gemm_backend(const rf_ctx *ctx);

#ifdef __cplusplus
}
#endif
#endif
