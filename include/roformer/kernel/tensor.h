/* tensor.h — tensors, the tape, and every differentiable operation.
 *
 * A graph records the operations of one step.  Operations run at once; values can be looked at in a debugger.  While
 * recording, each leaves what its backward needs; rf_backward walks the tape once.
 *
 * Errors     A graph remembers its first failure.  From then on every operation returns the graph's nil tensor (rank 0,
 *            dims 0) and does nothing, so that a model reads as its equations; rf_graph_error, rf_backward tell.
 * Memory     All tensors of a step live in the graph's arena until rf_graph_reset.  From the second step of equal shape
 *            on there is no call to the allocator.
 * Symbols    N tokens of all sequences end to end, B sequences, T one sequence's length, H heads, D head width,
 *            C model width, F feed-forward width, V vocabulary.  d prefix: an adjoint.
 * Layout     contiguous, row-major, rank <= 4, f32, 64-byte aligned.
 *
 * threads   one graph, one thread at a time; operations use the context's workers inside; bits do not depend on them */
#ifndef ROFORMER_TENSOR_H
#define ROFORMER_TENSOR_H

#include <stddef.h>
#include <stdint.h>

#include "roformer/kernel/gemm.h"
#include "roformer/kernel/rope.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct rf_graph rf_graph;

typedef struct rf_tensor {
    int rank;
    int64_t dim[4];
    float *f32;                 /* values                                                                             */
    float *grad;                /* parameters: the caller's gradient, added to.  Others: NULL outside rf_backward     */
    const rf_packed *packed;    /* weights made ready for inference, or NULL                                          */
    const uint16_t *bf16;       /* parameters: the values as products in bf16 are to see them; NULL: f32, to nearest  */
    int tracked;                /* 1: something below it needs a gradient                                             */
    int parameter;
} rf_tensor;

rf_status rf_graph_new(const rf_ctx *ctx, rf_graph **out, rf_error *why);
void rf_graph_free(rf_graph *g);

/* Forgets all tensors and any failure.  RF_ENOMEM when the arena cannot be merged (the graph stays usable). */
rf_status rf_graph_reset(rf_graph *g);

/* record != 0: keep what backward needs (training).  seed and step choose the random stream of dropout: the mask of the
 * i-th dropout of a step is a function of (seed, step, i, element), and p = 0 everywhere when record is 0.           */
void rf_graph_record(rf_graph *g, int record, uint64_t seed, uint64_t step);

/* The type that products of rf_linear, rf_attention and rf_vocab_loss are computed in, forward and backward: RF_F32, or
 * RF_BF16 with f32 sums (see gemm.h and attention_bf16 in kernels.def).  Then what an activation is kept by is bf16,
 * too. Holds until it is changed.                                                                                    */
void rf_graph_products(rf_graph *g, rf_type type);

/* The share e of each label that rf_vocab_loss and rf_row_loss spread over all classes while recording; at first 0, and
 * 0 everywhere when record is 0.  Holds until it is changed; e is in 0..1.
 *
 *     loss = (1 - e) c[y] (-log p[y]) + e mean_k c[k] (-log p[k])      Szegedy et al. 2016; c: class weights */
void rf_graph_smoothing(rf_graph *g, double share);

const rf_error *rf_graph_error(const rf_graph *g);          /* code RF_OK while nothing has failed                    */
size_t rf_graph_memory(const rf_graph *g);                  /* bytes of the arena at its peak                         */

/* Tensors around memory that the caller owns and keeps until reset.  A parameter with grad == NULL is frozen; its value
 * may be NULL when `packed` is set and rf_linear is all that reads it, without recording.                            */
rf_tensor *rf_parameter(rf_graph *g, float *value, float *grad, int rank, const int64_t dim[]);
rf_tensor *rf_constant(rf_graph *g, const float *value, int rank, const int64_t dim[]);       /* not copied           */
rf_tensor *rf_input(rf_graph *g, float *value, float *grad, int rank, const int64_t dim[]); /* = parameter, for tests */

/* dLoss/d(everything tracked), from a loss of one element.  Adds into the parameters' gradients, which are to be thrown
 * away when it fails (or when vocab_loss was recorded and a later operation failed).  Once for each reset.           */
rf_status rf_backward(rf_graph *g, rf_tensor *loss, rf_error *why);

/* Inference only: slides x down to the mark, so that memory is one layer deep.  While recording returns x unchanged. */
typedef struct rf_graph_mark { void *block; size_t used, total; } rf_graph_mark;
rf_graph_mark rf_graph_here(rf_graph *g);
rf_tensor *rf_keep(rf_graph *g, rf_graph_mark mark, rf_tensor *x);

/* While recording: the next operation is the last that looks at x's values, and may take or free their memory; x->f32
 * is NULL when it did.  Has no effect when the backward of an earlier operation reads them, or on what the caller owns.
 *     h = rf_norm(g, rf_spend(x), h, ...)       the sum x + h, which the norm keeps, takes the place of x
 *     y = rf_linear(g, rf_spend(x), w, ...)     with x = act(z) of a linear: x is computed again from z when needed  */
rf_tensor *rf_spend(rf_tensor *x);

/* y = f(x), of which nothing is kept but y: the backward runs f once more, recorded, and walks what it left.  The bits
 * are those of f(x) without it, dropout included.  `arg` is `size` bytes for f, copied; what it points at, and all that
 * f reads, must be there unchanged until rf_backward has returned.                                                   */
typedef rf_tensor *rf_recompute_body(rf_graph *g, rf_tensor *x, const void *arg);
rf_tensor *rf_recompute(rf_graph *g, rf_tensor *x, rf_recompute_body *f, const void *arg, size_t size);

/* ---- operations -------------------------------------------------------------------------------------------------- */

/* y[n,:] = table[id[n],:].  RF_ERANGE names the id and the table's size.  Here and below, ids, rows and starts are the
 * caller's again when the call returns.                                                                              */
rf_tensor *rf_embed(rf_graph *g, rf_tensor *table, const int32_t id[], int64_t N);

/* y = act(x w^T + b)        x [N,K], w [M,K], b [M] or NULL                                                          */
rf_tensor *rf_linear(rf_graph *g, rf_tensor *x, rf_tensor *w, rf_tensor *b, rf_act act);

/* The same by rows first .. first + count - 1 of w and of b alone: y [N,count].  The other rows' gradients get
 * nothing. */
rf_tensor *rf_linear_part(rf_graph *g, rf_tensor *x, rf_tensor *w, rf_tensor *b, int64_t first, int64_t count,
                          rf_act act);

rf_tensor *rf_add(rf_graph *g, rf_tensor *a, rf_tensor *b);
rf_tensor *rf_mul(rf_graph *g, rf_tensor *a, rf_tensor *b);
rf_tensor *rf_activate(rf_graph *g, rf_tensor *x, rf_act act);
rf_tensor *rf_dropout(rf_graph *g, rf_tensor *x, double p);

/* y[n,h,:] = R(row[n]) x[n,h,:]          x [N,H,D] (or [N, H*D] with `heads`), rows of the table; Eqs. 14-15, 34     */
rf_tensor *rf_rotate(rf_graph *g, const rf_rope *rope, rf_tensor *x, int64_t heads, const int32_t row[]);

/* The same with tables of their own for the parts of a row (query, key, value), of which only the first `rotated` heads
 * are rotated.  rope[p] NULL: that part stays as it is; x [N, parts heads D]; back: R^T in place of R.  Rows are
 * copied. */
enum { RF_ROTATE_PARTS = 3 };
typedef struct rf_rotate_parts_spec {
    int64_t parts, heads, rotated;
    const rf_rope *rope[RF_ROTATE_PARTS];
    const int32_t *row[RF_ROTATE_PARTS];
    int back;
} rf_rotate_parts_spec;
rf_tensor *rf_rotate_parts(rf_graph *g, rf_tensor *x, const rf_rotate_parts_spec *spec);

/* Rotation by m_n theta_i (1 + w_i) in the first `rotated` of `parts` parts; w [r/2] for all tokens or [N, r/2] for
 * each. theta [r/2] and position [N] are copied.  Pairs (2i, 2i+1).                                                  */
typedef struct rf_rotate_learned_spec {
    int64_t parts, rotated, heads;
    const double *theta;
    const int32_t *position;
} rf_rotate_learned_spec;
rf_tensor *rf_rotate_learned(rf_graph *g, rf_tensor *x, rf_tensor *w, const rf_rotate_learned_spec *spec);

/* y[n,:] = sum_k c[k] table[id[k][n],:], up to RF_MIX_TERMS terms */
enum { RF_MIX_TERMS = 4 };
rf_tensor *rf_mix(rf_graph *g, rf_tensor *table, int terms, const float c[], const int32_t *const id[], int64_t N);

/* y[n,h] = c <x[n,h,:], w[h,:]>                         x [N,HD], w of HD elements, y [N,H]                          */
rf_tensor *rf_dots(rf_graph *g, rf_tensor *x, rf_tensor *w, int64_t heads, double c);

/* y[n,h,t] = <q[n,h,:] + b[h,:], e_j[h,:]>, j = 0 where t = type[n] and 1 elsewhere, t < types; q: the first columns
 * of x [N,W], b of HD elements, e [2,HD], y [N, H types].  type is copied.                     XLNet's segments      */
rf_tensor *rf_segment(rf_graph *g, rf_tensor *x, rf_tensor *b, rf_tensor *e, int64_t heads, const int32_t type[],
                      int64_t types);

/* y[n,h,:] = x[n,h,:], a[n,h], b[n,h]                   x [N,HD], a and b [N,H], y [N,H(D+2)]                        */
rf_tensor *rf_beside(rf_graph *g, rf_tensor *x, rf_tensor *a, rf_tensor *b);

/* y[r+R,h] = -e^a_h log(1 + e^b_h |r|), or -e^a_h |r|^(e^b_h) with power, r = -R .. R.    a, b [H], y [2R+1,H]       */
rf_tensor *rf_kernel_bias(rf_graph *g, rf_tensor *a, rf_tensor *b, int64_t R, int power);

/* Each token with those before and behind it side by side, zeros outside its sequence. [N,W] -> [N, (before + 1 +
 * after) W] */
rf_tensor *rf_unfold(rf_graph *g, rf_tensor *x, int64_t before, int64_t after, const int32_t start[], int64_t B);

/* y_n = tanh(z_n + u y_{n-1}) within each sequence.     z [N,W], u [W,W]                                             */
rf_tensor *rf_recur(rf_graph *g, rf_tensor *z, rf_tensor *u, const int32_t start[], int64_t B);

/* Rows p_0 .. p_{T-1}, each from the one before: [T,W] from p_0 [W].  RF_FLOW_RECURSION: tanh(a [p; 1]), a [W,W+1], b
 * NULL. Else dp/dt = b [tanh(a [p; t; 1]); 1] with steps of `step`, a [F,W+2], b [W,F+1].                            */
typedef enum rf_flow { RF_FLOW_RECURSION, RF_FLOW_EULER, RF_FLOW_RUNGE_KUTTA } rf_flow_kind;
rf_tensor *rf_flow(rf_graph *g, rf_flow_kind how, double step, rf_tensor *p0, rf_tensor *a, rf_tensor *b, int64_t T);

typedef enum rf_norm_kind { RF_NORM_LAYER, RF_NORM_RMS } rf_norm_kind;

/* y = norm(dropout_p(x) + residual)      residual may be NULL, gamma and beta [C] (beta or both NULL)                */
rf_tensor *rf_norm(rf_graph *g, rf_tensor *x, rf_tensor *residual, double p, rf_tensor *gamma, rf_tensor *beta,
                   double eps, rf_norm_kind kind);

/* Attention over packed sequences; one call projects nothing, it only attends.
 *
 *   qkv        [N, 3C]: query, key and value of each token side by side, C = H D; unrotated.  With key_value, or a past
 *              that is apart: [N, C], queries alone
 *   returns    [N, C]
 *   start      [B+1], sequence b is tokens start[b] .. start[b+1]-1; copied
 *   row        [N] rows of the rope table, or NULL with rope NULL; copied
 * score(m,n) = scale <R(m) q_m, R(n) k_n>;  scale 0 means 1/sqrt(D).  causal, prefix, window: as in rfk_attention.
 * prefixes [B]: each sequence's own in prefix's place (UniLM, Dong et al. 2019); NULL: prefix is that of all; copied.
 *
 * What depends on the offset of two tokens in their sequence, r = n - m, in row clamp(r, -clip, clip) + clip of a table
 * (rfk_relative); NULL: not there.  Memory stays linear in the tokens.
 *   relative_query, relative_key, relative_value    [2 clip + 1, D] for all heads, or [2 clip + 1, C]
 *   relative_bias                                   [2 clip + 1, H], added to scores after the scale
 *   more_query, more_key                            [N, H E], both or none: columns after each head's own, not rotated
 *
 * key_value: keys and values [M, 2C] of other tokens than the queries (cross-attention).  Those of sequence b are
 * key_start[b] .. key_start[b+1]-1, as many as there are: query t of T stands beside key t + keys - T, by which causal,
 * prefix, window and offsets go.  key_row [M]: their rows of the rope table; more_key is [M, H E].  A query whose
 * sequence has no key gives zeros.  Lists are copied.
 *
 * past: keys and values are there, rotated already, instead of in qkv, whose tokens are the last ones of each sequence;
 * not while recording.  They lie in pages of RFK_PAGE rows: the rotated key [C], the value [C], and [H E] in more_key's
 * place where there is one.  With `apart` they are those of other tokens, as with key_value: qkv is queries alone.   */
typedef struct rf_past {
    const int64_t *count;               /* [B] keys, those of this call's tokens included                             */
    const void *const *const *page;     /* [B][count[b] / RFK_PAGE, rounded up]                                       */
    const rf_type *type;                /* [B] of the rows: RF_F32 or RF_BF16                                         */
    int apart;                          /* keys of other tokens than the queries                                      */
} rf_past;
typedef struct rf_attention_spec {
    int64_t heads;
    int64_t B;
    const int32_t *start;
    const rf_rope *rope;
    const int32_t *row;
    int rotate_value, causal;
    int64_t prefix, window;
    double scale, drop;
    int64_t clip;
    rf_tensor *relative_query, *relative_key, *relative_value, *relative_bias;
    rf_tensor *more_query, *more_key;
    rf_tensor *key_value;
    const int32_t *key_start, *key_row;
    const rf_past *past;
    const int32_t *prefixes;
} rf_attention_spec;
rf_tensor *rf_attention(rf_graph *g, rf_tensor *qkv, const rf_attention_spec *spec);

/* Linear attention (Katharopoulos et al. 2020; Choromanski et al. 2021; RoFormer, Eqs. 17-19) over packed sequences.
 *
 *   qkv        [N, 3C] as in rf_attention; returns [N, C]; start, B, rope, row as there
 *   feature_map      "favor", "elu", "shen", "relu", "exp", "squared_relu"
 *   random     [features, D], rows of random features for "favor" and "relu"; else NULL
 *   rotate_features  1: features are rotated, in the numerator alone (Eq. 19; the table is for `features` columns,
 *              those of a head where the map takes none at random); 0: queries and keys are, before the map
 *   decay      [columns / 2] in a causal pass with rotate_features: what lies d tokens back counts decay[i]^d in plane
 *              i of the numerator (xPos, whose factors they are); NULL: none
 *   epsilon    added to the features of "favor", "relu", "squared_relu"; below 0: the map's own (1e-4, 1e-3, 0)
 *   past, next       [B] what a causal sequence's earlier tokens left, and what it leaves now, of a size that map and
 *              widths decide; past[b] NULL: nothing yet.  Both or neither, not while recording.  Token by token, in
 *              calls of any size and as a whole give the same bits
 *   underflows NULL, or added to: queries whose denominator is no number that can be divided by; they give zeros
 * Lists are copied. */
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
rf_tensor *rf_linear_attention(rf_graph *g, rf_tensor *qkv, const rf_linear_attention_spec *spec);

/* Operations of one head's token, a multiply-add as two, with f features, D columns and P = 1 where the map projects:
 *
 *     forward    4 f D + P 4 f D + causal (c + 1)(f + D)      sums over keys and what queries read of them, projections
 *                                                             of q and k, the pairs within a chunk of c = 128
 *     back       8 f D + P 4 f D + causal 2 (c + 1)(f + D)    c = 64
 *
 * and not what is computed again, masked, rotated or raised to a power.  features 0 or below: the map's own number.
 * back: 0 or 1.  0 for no such map. */
double rf_linear_attention_flops(const char *feature_map, int64_t features, int64_t D, int causal, int back);

/* Attention whose score is that of `near` for positions less than `window` apart, else that of `past` or `future`.
 * All three [N, 3C] as in rf_attention, rotated already; values are near's.  Lists are copied.  No dropout.
 * causal: only the keys up to the query's own place.                                                                 */
typedef struct rf_near_far_spec {
    int64_t heads, B, window;
    const int32_t *start, *position;                     /* [B+1], [N]                                                */
    int causal;
} rf_near_far_spec;
rf_tensor *rf_near_far(rf_graph *g, rf_tensor *near, rf_tensor *past, rf_tensor *future, const rf_near_far_spec *spec);

/* y[i,:] = x[row[i],:] */
rf_tensor *rf_rows(rf_graph *g, rf_tensor *x, const int32_t row[], int64_t n);

/* One vector for each sequence: its first token, the mean, or the largest of each column.     [N,C] -> [B,C]         */
typedef enum rf_pooling {
    RF_POOL_AUTO = -1,                  /* rf_embed_options alone: what the model's folder says                       */
    RF_POOL_CLS,
    RF_POOL_MEAN,
    RF_POOL_MAX
} rf_pooling;
rf_tensor *rf_pool(rf_graph *g, rf_tensor *x, const int32_t start[], int64_t B, rf_pooling how);

/* y[n,:] = x[n,:width] / |x[n,:width]|, width 0: all columns.  RF_ENUMERIC names a row without a direction.          */
rf_tensor *rf_unit(rf_graph *g, rf_tensor *x, int64_t width);

/* y[i,j] = scale <a[i,:], b[j,:]>                       a [n,C], b [m,C], y [n,m]                                    */
rf_tensor *rf_cross(rf_graph *g, rf_tensor *a, rf_tensor *b, double scale);

/* y = sum_i weight[i] x[i], of one element; weight is copied                                                         */
rf_tensor *rf_inner(rf_graph *g, rf_tensor *x, const float weight[]);

/* weight * sum_i -log softmax(x_i table^T + bias)[label_i], in chunks of rows: [n,V] never exists.
 * The sums of losses (unweighted) and of hits (argmax = label) are added to *loss_sum and *hits when not NULL.
 * While recording the gradients are formed in the same pass, so the result must be the loss that rf_backward starts
 * from, or a term of rf_add whose result is (RF_EARG otherwise).                                                     */
rf_tensor *rf_vocab_loss(rf_graph *g, rf_tensor *x, rf_tensor *table, rf_tensor *bias, const int32_t label[], int64_t n,
                         double weight, double *loss_sum, int64_t *hits);

/* Losses over a head's logits, each of one element: `weight` times the sum that is also added to *sum (NULL: not
 * needed). Labels and targets are the caller's again when the call returns; a label below 0 leaves its row out.
 *
 * row_loss     z [n,K]: cross-entropy of row i against label[i]; class_weight [K] or NULL; *hits counts argmax = label
 * span_loss    z [N,K] in B sequences: softmax down the rows of each, label[b*K+k] counted from the first of them
 * binary_loss  z [n,K]: each logit against target [n,K] in 0..1
 * square_loss  z [n,K]: (z - target)^2
 * divergence   z [2n,K]: KL(p|q) + KL(q|p) of rows i and n+i; label [n] or NULL says which rows are left out
 * cosent_loss  z [n,1]: log(1 + sum of exp(scale (z_i - z_j)) over target_i < target_j), one number for all of them
 * triplet_loss x [3n,C], anchors, positives, negatives: max(0, |a_i - p_i| - |a_i - q_i| + margin)                   */
rf_tensor *rf_row_loss(rf_graph *g, rf_tensor *z, const int32_t label[], const float class_weight[], double weight,
                       double *sum, int64_t *hits);
rf_tensor *rf_span_loss(rf_graph *g, rf_tensor *z, const int32_t start[], int64_t B, const int32_t label[],
                        double weight, double *sum, int64_t *hits);
rf_tensor *rf_binary_loss(rf_graph *g, rf_tensor *z, const float target[], double weight, double *sum);
rf_tensor *rf_square_loss(rf_graph *g, rf_tensor *z, const float target[], double weight, double *sum);
rf_tensor *rf_divergence(rf_graph *g, rf_tensor *z, const int32_t label[], double weight, double *sum);
rf_tensor *rf_cosent_loss(rf_graph *g, rf_tensor *z, const float target[], double scale, double weight, double *sum);
rf_tensor *rf_triplet_loss(rf_graph *g, rf_tensor *x, double margin, double weight, double *sum);

#ifdef __cplusplus
}
#endif
#endif
