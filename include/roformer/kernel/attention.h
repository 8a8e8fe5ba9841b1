/* attention.h — attention without a graph: of one head of one sequence, and of packed sequences with several heads.
 *
 * One head   checks the arguments, allocates scratch memory and calls the kernel:
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
 * Packed sequences   linear attention with its gradient, and softmax attention of the same form to compare it with. A
 * model computes the same in its layers. These functions use the context's workers, and bits do not depend on how many
 * there are. They belong to libroformer; libroformer-kernels does not contain them:
 *
 *     rf_attention_work *w = NULL;
 *     const float *out;
 *     const rf_linear_attention_spec spec = {.heads = H, .B = B, .start = start, .feature_map = "elu", .epsilon = -1};
 *     status = rf_attention_work_new(ctx, &w, &why);
 *     if (!status) status = rf_attend_linear(w, &spec, qkv, N, C, &out, &why);                out [N, C]
 *     rf_attention_work_free(w);
 *
 * threads   a context may be shared: several threads may call these functions at the same time, each with its own
 *           results; a workspace (rf_attention_work) may be used by one thread at a time */
#ifndef ROFORMER_ATTENTION_H
#define ROFORMER_ATTENTION_H

#include "roformer/kernel/gemm.h"
#include "roformer/kernel/kernels.h"
#include "roformer/kernel/rope.h"

#ifdef __cplusplus
extern "C" {
#endif

/* ---- one head of one sequence ------------------------------------------------------------------------------------ */

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

/* ---- packed sequences, several heads ----------------------------------------------------------------------------- */

/* Memory for the results and the scratch of the calls below. From the second call of the same shape on, the allocator
 * is not called. */
typedef struct rf_attention_work rf_attention_work;

/*   out        freed with rf_attention_work_free, before the context; unchanged on error
 *   RF_EARG    ctx or out is NULL
 *   RF_ENOMEM  out of memory */
rf_status rf_attention_work_new(const rf_ctx *ctx, rf_attention_work **out, rf_error *why);
void rf_attention_work_free(rf_attention_work *w);          /* NULL is allowed */

/* Linear attention over packed sequences (Katharopoulos et al. 2020; Choromanski et al. 2021; RoFormer, Eqs. 17-19).
 *
 *   start      [B+1], sequence b is tokens start[b] to start[b+1]-1; start[0] is 0 and start[B] is N
 *   row        [N] rows of the rope table; NULL if rope is NULL
 *   feature_map      "favor", "elu", "shen", "relu", "exp", "squared_relu"
 *   random     [features, D] random features for "favor" and "relu"; else NULL
 *   rotate_features  1: rotate the features, in the numerator only (Eq. 19); the rope table has `features` columns, or
 *                    those of a head if the map has no random features. 0: rotate queries and keys before the map
 *   decay      [columns / 2], only causal and with rotate_features: in plane i of the numerator, a token at distance d
 *              is multiplied by decay[i]^d (xPos); NULL: no decay
 *   epsilon    added to the features of "favor", "relu", "squared_relu"; below 0: the default of the map (1e-4, 1e-3,
 *              0)
 *   past, next       [B] state of a causal sequence before this call and after it; the size depends on map and widths.
 *                    past[b] NULL: the sequence is new. Both or neither; not in rf_attend_linear_back.
 *                    The bits do not depend on how a sequence is divided into calls
 *   underflows NULL, or a counter of queries whose denominator cannot be divided by; their output is zero
 *
 * C = heads D columns. */
typedef struct rf_linear_attention_spec {
    int64_t heads, B;
    const int32_t *start;
    const rf_rope *rope;
    const int32_t *row;
    int rotate_features, causal;
    const char *feature_map;
    int64_t features;
    const float *random;
    double epsilon;
    const float *const *past;
    float *const *next;
    int64_t *underflows;
    const double *decay;
} rf_linear_attention_spec;

/* Computes it. The arrays are not changed.
 *
 *   qkv        [N, 3C]: query, key and value of each token next to each other
 *   out        [N, C], in the workspace, valid until its next call
 *   RF_EARG    a required pointer is NULL; an unknown feature map; members that exclude each other
 *   RF_ESHAPE  C is not a multiple of the heads; starts that decrease or do not end at N; a rope table of other columns
 *   RF_ERANGE  a row is outside the table; epsilon is not finite; more features than can be computed
 *   RF_ENOMEM  out of memory */
rf_status rf_attend_linear(rf_attention_work *w, const rf_linear_attention_spec *spec, const float *qkv, int64_t N,
                           int64_t C, const float **out, rf_error *why);

/* Computes the gradient of sum_i d_out[i] out[i] with respect to qkv and adds it to d_qkv [N, 3C]. The forward pass is
 * part of the call. Errors as above. */
rf_status rf_attend_linear_back(rf_attention_work *w, const rf_linear_attention_spec *spec, const float *qkv,
                                int64_t N, int64_t C, const float *d_out, float *d_qkv, rf_error *why);

/* Operations for one token of one head, a multiply-add counted as two, with f features, D columns and P = 1 if the map
 * has random features, else 0:
 *     forward    4 f D + P 4 f D + causal (c + 1)(f + D)      c = 128
 *     back       8 f D + P 4 f D + causal 2 (c + 1)(f + D)    c = 64
 * The terms are: sums over the keys and their use by the queries; random features of queries and keys; the pairs of
 * tokens within a chunk of c tokens. Recomputation, masks, rotation and exponentials are not counted. features 0 or
 * below: the default number of the map. back: 0 or 1. Returns 0 for an unknown map. */
double rf_linear_attention_flops(const char *feature_map, int64_t features, int64_t D, int causal, int back);

/* Softmax attention of packed sequences, as a layer of a model computes it:
 * softmax(R(m) q_m . R(n) k_n / sqrt(D)) v_n within each sequence.
 *
 *   type       RF_F32, or RF_BF16: the products are in bf16 (attention_bf16 in kernels.def)
 *   others     as above; errors as for rf_attend_linear */
typedef struct rf_softmax_attention_spec {
    rf_type type;
    int64_t heads, B;
    const int32_t *start;
    const rf_rope *rope;
    const int32_t *row;
    int causal;
} rf_softmax_attention_spec;
rf_status rf_attend_softmax(rf_attention_work *w, const rf_softmax_attention_spec *spec, const float *qkv, int64_t N,
                            int64_t C, const float **out, rf_error *why);

#ifdef __cplusplus
}
#endif
#endif
