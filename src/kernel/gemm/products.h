/* products.h — internal: the implementations of the matrix product that gemm.c selects from.
 *
 *   ref    the triple loop, summed in double                              gemm_ref.c
 *   f32    blocked and packed (gemm_blocked.c), on gemm_panel             gemm_f32.c
 *   bf16   the same in bf16 with f32 sums, on gemm_panel_bf16             gemm_bf16.c
 *   i8     weights in int8 with int32 sums, on gemm_panel_i8              gemm_i8.c
 *   i8w    weights in int8 that are widened for the products of f32 or bf16          gemm_i8w.c
 *
 * gemm.c has checked sizes and pointers: m, n and k are at least 1, except that `ref` accepts k = 0, too.            */
#ifndef RF_PRODUCTS_H
#define RF_PRODUCTS_H

#include "base/base.h"
#include "kernel/acts.h"
#include "roformer/kernel/gemm.h"

/* ---- packing beyond rf_pack (gemm.h) ---- */

/* Packs weights that are already int8: the weight is scale[j] w[j,p]. w is [n,k] and scale [n]; both are copied. type:
 * RF_I8 or RF_I8W (otherwise RF_EUNSUPPORTED). Scales from 2^-100 / 127 to 2^100 are accepted (otherwise RF_ENUMERIC).
 * Other arguments and errors as for rf_pack. */
rf_status rf__pack_int8(const rf_ctx *ctx, rf_type type, int64_t n, int64_t k, const int8_t *w, const float *scale,
                        rf_packed **out, rf_error *why);

/* The two matrices of a gated feed-forward layer, which rf_packed_product multiplies as one:
 *
 *     y[m,n] = act(x w_g^T + b_g) * (x w_u^T + b_u)          Shazeer 2020 (GLU variants), Eq. 5; * by element
 *
 *   n       rows of each of the two
 *   w       [2n,k]: w_g and w_u, one after the other; the bias of rf_packed_product is [2n] in the same order
 *   order   which of the two is the first half
 *   other arguments and errors as for rf_pack and rf__pack_int8 */
typedef enum rf_gate_order { RF_GATE_FIRST, RF_GATE_SECOND } rf_gate_order;
rf_status rf__pack_gated(const rf_ctx *ctx, rf_type type, int64_t n, int64_t k, const float *w, rf_gate_order order,
                         rf_packed **out, rf_error *why);
rf_status rf__pack_gated_int8(const rf_ctx *ctx, rf_type type, int64_t n, int64_t k, const int8_t *w,
                              const float *scale, rf_gate_order order, rf_packed **out, rf_error *why);

/* `parts` matrices of one shape, one after the other in w [parts n,k], each packed by itself.
 *
 *   across  the matrices are the transposes [k,n] of those in w
 *   out     holds all of them: rf__packed_part returns each. It is no operand of products itself
 *   other arguments and errors as for rf_pack; RF_ERANGE: there is no part */
rf_status rf__pack_parts(const rf_ctx *ctx, rf_type type, int64_t parts, int64_t n, int64_t k, const float *w,
                         bool across, rf_packed **out, rf_error *why);
const rf_packed *rf__packed_part(const rf_packed *w, int64_t i);

/* Computes the int8 numbers q [n,k] and scales [n] that rf_pack uses for w[n,k] with RF_I8. rf__pack_int8 of them gives
 * the same bits.
 *
 *     scale[j] = max_p |w[j,p]| / 127 (a row of zeros: 1),  q[j,p] = w[j,p] / scale[j], rounded to nearest even
 *
 *   q, scale      arrays of the caller
 *   RF_EARG       a pointer is NULL, or n or k is below 1
 *   RF_ENUMERIC   as for rf_pack */
rf_status rf__quantize_int8(const rf_ctx *ctx, int64_t n, int64_t k, const float *w, int8_t *q, float *scale,
                            rf_error *why);

/* ---- implementations ---- */

/* Two products, one after the other: y = act(x up^T + up_bias) down^T + down_bias. */
typedef struct rf__pair {
    const rf_packed *up, *down;
    int64_t m;
    const float *x;
    int64_t ldx;
    const float *up_bias;
    rf_act act;
    const float *down_bias;
    float *y;
    int64_t ldy;
} rf__pair;

typedef struct rf__products {
    const char *name;
    rf_status (*gemm)(const rf_ctx *, const rf_gemm_call *, rf_error *);                 /* NULL: only packed       */
    rf_status (*pack)(const rf_ctx *, rf_packed *, const float *w, rf_error *);          /* sets data, bytes, own   */
    void (*forget)(rf_packed *);                                                         /* NULL: only data is held */
    rf_status (*packed)(const rf_ctx *, const rf_packed *, int64_t m, const float *x, int64_t ldx, const float *bias,
                        rf_act act, float *y, int64_t ldy, rf_error *);
    int64_t (*pairs)(const rf_ctx *, const rf_packed *up, int64_t m);                    /* NULL: without `pair`    */
    rf_status (*pair)(const rf_ctx *, const rf__pair *, int64_t blocks, rf_error *);
    /* the same as `pack` for weights that are in int8 already; NULL: not of this type */
    rf_status (*pack_codes)(const rf_ctx *, rf_packed *, const int8_t *q, const float *scale, rf_error *);
} rf__products;

struct rf_packed {
    const rf_ctx *ctx;
    const rf__products *by;
    rf_type type;
    int64_t n, k;
    void *data;                         /* the weights in the layout of `by`, rf__alloc */
    void *own;
    struct rf_packed *up;               /* gated: this is the gate [n,k] and `that` the other factor; otherwise NULL */
    rf_gate_order order;                /* gated: which of the two comes first in a bias */
    struct rf_packed **part;            /* rf__pack_parts: all of them; otherwise NULL */
    int64_t parts;
};

/* The biases of the two halves of a gated product from `bias` [2n], which has both.  NULL: none. */
static inline const float *rf__gate_bias(const rf_packed *w, const float *bias)
{
    return bias && w->up && w->order == RF_GATE_SECOND ? bias + w->n : bias;
}
static inline const float *rf__up_bias(const rf_packed *w, const float *bias)
{
    return bias && w->order == RF_GATE_FIRST ? bias + w->n : bias;
}

extern const rf__products rf__products_ref, rf__products_f32, rf__products_bf16, rf__products_i8,
    rf__products_i8w;

/* The i-th implementation of this build that runs on this context, or NULL past the end.  rf_gemm uses number 0. */
const rf__products *rf__products_at(const rf_ctx *ctx, int i);

/* The implementation for products of this type on this context. */
const rf__products *rf__products_for(const rf_ctx *ctx, rf_type type);

/* rf__packed_pair computes both products for a block of rows before the next block, so that the result of the first
 * stays in the second-level cache.  The bits are those of rf_packed_product, called twice.  rf__packed_pairs: the
 * number of blocks of m rows; 0: these matrices are no pair, or it would not be faster. */
int64_t rf__packed_pairs(const rf_ctx *ctx, const rf_packed *up, const rf_packed *down, int64_t m);
rf_status rf__packed_pair(const rf_ctx *ctx, const rf__pair *x, int64_t blocks, rf_error *why);

rf_status rf__gemm_by(const rf__products *by, const rf_ctx *ctx, const rf_gemm_call *call, rf_error *why);
rf_status rf__pack_by(const rf__products *by, const rf_ctx *ctx, rf_type type, int64_t n, int64_t k, const float *w,
                      rf_packed **out, rf_error *why);

/* ---- what a context keeps between products: scratch that only grows --------------------------------------- */

struct rf__product_state;
rf_status rf__product_state_new(rf_ctx *ctx, rf_error *why);          /* called by rf_ctx_new                     */
void rf__product_state_free(rf_ctx *ctx);                             /* called by rf_ctx_free; valid if not made */

/* At least `size` bytes, 64-byte aligned, which are the caller's until it gives them back; NULL: out of memory. Any
 * thread may ask. The context keeps what is given back, so that it holds as many as there were products at once. */
void *rf__product_take(const rf_ctx *ctx, size_t size);
void rf__product_give(const rf_ctx *ctx, void *scratch);              /* NULL is allowed */

/* y = gate up for `rows` rows of n. */
void rf__multiply_rows(const rf_ctx *ctx, float *y, int64_t ldy, const float *gate, const float *up, int64_t ld,
                       int64_t rows, int64_t n);

/* y = act(y) for `rows` rows of n. */
void rf__act_rows(const rf_ctx *ctx, rf_act act, float *y, int64_t ldy, int64_t rows, int64_t n);

#endif
