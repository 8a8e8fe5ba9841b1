/* tensor.h — internal: tensors, the autograd tape, and all differentiable operations.
 *
 * A graph holds the operations of one step. Operations run immediately, so values can be inspected in a debugger. While
 * recording, each operation keeps what its backward pass needs; rf__backward then walks the tape once.
 *
 *     rf__graph_record(g, 1, seed, step);
 *     rf_tensor *w = rf__parameter(g, value, grad, 2, (int64_t[]){M, K});
 *     rf_tensor *x = rf__constant(g, input, 2, (int64_t[]){N, K});
 *     rf_tensor *z = rf__linear(g, x, w, NULL, RF_ACT_NONE);
 *     rf_tensor *loss = rf__row_loss(g, z, label, NULL, 1.0 / N, NULL, NULL);
 *     status = rf__backward(g, loss, &why);                             adds the gradient of w to `grad`
 *     rf__graph_reset(g);                                               before the next step
 *
 * Errors     A graph stores its first failure. After that, every operation does nothing and returns the graph's nil
 *            tensor (rank 0, dims 0), so that model code needs no checks between operations. rf__graph_error and
 *            rf__backward return the failure. Every operation fails with RF_EARG if a tensor or array that it requires
 *            is NULL, RF_ESHAPE if the shapes do not match its equation, RF_ERANGE if an id, row, label or probability
 *            is outside its limits, RF_ENOMEM, and RF_ECANCELED if the session that owns the graph is canceled. Other
 *            causes are stated at the operation. The graph `g` itself must not be NULL, except for rf__graph_free,
 *            rf__graph_reset and rf__backward.
 * Memory     All tensors of a step are in the graph's arena until rf__graph_reset, and belong to the graph. From the
 *            second step of the same shape on, the allocator is not called.
 * Symbols    N tokens of all sequences, B sequences, T length of a sequence, H heads, D head width, C model width, F
 *            feed-forward width, V vocabulary size. Prefix d: gradient (adjoint) of the loss.
 * Layout     contiguous, row-major, rank at most 4, f32, 64-byte aligned.
 *
 * Gradients  Backward passes accumulate: dw += ... for parameters. The equations of the gradients are in
 *            src/graph/ops/, one file for each operation.
 *
 * threads   a graph may be used by one thread at a time; operations use the context's workers, and bits do not depend
 *           on how many there are */
#ifndef RF_TENSOR_H
#define RF_TENSOR_H

#include <stddef.h>
#include <stdint.h>

#include "kernel/gemm/products.h"
#include "roformer/context.h"
#include "roformer/kernel/attention.h"
#include "roformer/kernel/gemm.h"
#include "roformer/kernel/rope.h"

/* The operations of one step, in order (the tape), and the memory of their results. */
typedef struct rf_graph rf_graph;

/* Rows of a table as a file has them: f32, bf16, f16, or int8 with one scale for each row. */
typedef struct rf_file_rows {
    rf_type type;
    const void *data;           /* NULL: there are none */
    const float *scale;         /* int8 only */
} rf_file_rows;

/* A tensor. Read the members; do not change them, except `packed`, `bf16` and `rows` of a parameter. */
typedef struct rf_tensor {
    int rank;
    int64_t dim[4];
    float *f32;                 /* values */
    float *grad;                /* parameters: the caller's array, to which gradients are added. Other tensors: NULL
                                   outside rf__backward */
    const rf_packed *packed;    /* weights packed for inference, or NULL */
    const uint16_t *bf16;       /* parameters: bf16 copy for bf16 products; NULL: f32 values are rounded to nearest */
    const rf_file_rows *rows;   /* a table without f32 values, which is not trained: its rows; or NULL */
    int tracked;                /* 1: depends on something that needs a gradient */
    int parameter;              /* 1: made by rf__parameter or rf__input */
} rf_tensor;

/* Creates an empty graph that does not record.
 *
 *   out        freed with rf__graph_free, before the context; unchanged on error
 *   RF_EARG    ctx or out is NULL
 *   RF_ENOMEM  out of memory */
rf_status rf__graph_new(const rf_ctx *ctx, rf_graph **out, rf_error *why);
void rf__graph_free(rf_graph *g);                           /* NULL is allowed; frees all tensors of the graph */

/* Frees all tensors and clears the failure. The settings below are kept. RF_EARG: g is NULL. RF_ENOMEM: the blocks of
 * the arena could not be merged; the graph stays usable. */
rf_status rf__graph_reset(rf_graph *g);

/* record 1 keeps what the backward pass needs (training); 0 does not (inference), and all dropout probabilities are 0.
 * `seed` and `step` select the random numbers of dropout: the mask of the i-th dropout operation in a step is a
 * function of (seed, step, i, element). */
void rf__graph_record(rf_graph *g, int record, uint64_t seed, uint64_t step);

/* From now on the graph only counts: tensors have shapes and sizes but no values, parameters and constants may be any
 * address, no operation computes, and losses are 0. rf__graph_memory is exactly that of the same calls of a graph that
 * computes, if none of them depends on values. For a new graph. */
void rf__graph_dry(rf_graph *g);

/* The type in which rf__linear, rf__attention and rf__vocab_loss multiply, forward and backward: RF_F32, or RF_BF16
 * with f32 sums (see gemm.h and attention_bf16 in kernels.def). With RF_BF16, activations kept for the backward pass
 * are also stored in bf16. The setting applies until it is changed. */
void rf__graph_products(rf_graph *g, rf_type type);

/* Label smoothing: the fraction e of each label that rf__vocab_loss and rf__row_loss distribute over all classes;
 * initially 0. A value below 0 counts as 0, one above 1 as 1. It applies only while recording, and until it is changed.
 *
 *     loss = (1 - e) c[y] (-log p[y]) + e mean_k c[k] (-log p[k])      Szegedy et al. 2016; c: class weights */
void rf__graph_smoothing(rf_graph *g, double share);

const rf_error *rf__graph_error(const rf_graph *g);         /* code RF_OK if nothing has failed; belongs to the graph */
size_t rf__graph_memory(const rf_graph *g);                 /* peak size of the arena in bytes */

/* Arithmetic of products and attention since rf__graph_new, a multiply-add as two; of a dry graph, what it would be. */
double rf__graph_flops(const rf_graph *g);

/* Tensors for memory of the caller, which must remain valid until rf__graph_reset: `value` and `grad` are f32 and have
 * as many elements as the product of the dimensions. The tensor itself belongs to the graph; dim is copied. A parameter
 * without grad is frozen. Its value may be NULL if `packed` is set and only rf__linear reads it, without recording.
 *
 *   RF_ESHAPE  rank is not 1 to 4, or a dimension is negative or too large */
rf_tensor *rf__parameter(rf_graph *g, float *value, float *grad, int rank, const int64_t dim[]);
rf_tensor *rf__constant(rf_graph *g, const float *value, int rank, const int64_t dim[]);      /* not copied */
rf_tensor *rf__input(rf_graph *g, float *value, float *grad, int rank, const int64_t dim[]); /* parameter, for tests */

/* Computes the gradients of a loss with one element with respect to everything tracked and adds them to the gradients
 * of the parameters. Discard these if the call fails, or if an operation after rf__vocab_loss failed. May be called
 * once between resets.
 *
 *   cost       about twice the operations of the forward pass
 *   RF_EARG    g is NULL; a second call; the loss was not recorded or depends on no parameter that has a gradient; see
 *              rf__vocab_loss
 *   RF_ESHAPE  the loss does not have one element
 *   otherwise  the failure that the graph has stored */
rf_status rf__backward(rf_graph *g, rf_tensor *loss, rf_error *why);

/* Inference only: frees all tensors that were made since the mark, except x, so that memory holds one layer at a time.
 * Returns x at its new place; the old pointer is invalid. While recording, x is returned unchanged and nothing is
 * freed. */
typedef struct rf_graph_mark { void *block; size_t used, total; } rf_graph_mark;
rf_graph_mark rf__graph_here(rf_graph *g);
rf_tensor *rf__keep(rf_graph *g, rf_graph_mark mark, rf_tensor *x);

/* While recording: states that the next operation is the last that reads x's values. It may overwrite or free their
 * memory; x->f32 is then NULL. No effect if the backward pass of an earlier operation needs the values, or if the
 * caller owns them.
 *     h = rf__norm(g, rf__spend(x), h, ...)       the sum x + h, which the norm keeps, overwrites x
 *     y = rf__linear(g, rf__spend(x), w, ...)     where x = act(z) of a linear layer: x is recomputed from z when
 *     needed */
rf_tensor *rf__spend(rf_tensor *x);

/* Activation recomputation: y = f(x), of which only x and y are kept. The backward pass runs f again while recording.
 * The bits are the same as without recomputation, including dropout. `arg` points to `size` bytes for f, which are
 * copied. Everything else that f reads must stay valid and unchanged until rf__backward has returned. */
typedef rf_tensor *rf_recompute_body(rf_graph *g, rf_tensor *x, const void *arg);
rf_tensor *rf__recompute(rf_graph *g, rf_tensor *x, rf_recompute_body *f, const void *arg, size_t size);

/* ---- operations -------------------------------------------------------------------------------------------------- */

/* y[n,:] = table[id[n],:]        table [V,C], y [N,C]. RF_ERANGE names the id and the size of the table.
 *
 * Here and below, arrays of ids, rows, labels and starts are not needed after the call. start [B+1] divides N tokens
 * into B sequences: sequence b has the tokens start[b] to start[b+1]-1, start[0] is 0 and start[B] is N. */
rf_tensor *rf__embed(rf_graph *g, rf_tensor *table, const int32_t id[], int64_t N);

/* y = act(x w^T + b)        x [N,K], w [M,K], b [M] or NULL, y [N,M]. 2 N K M operations */
rf_tensor *rf__linear(rf_graph *g, rf_tensor *x, rf_tensor *w, rf_tensor *b, rf_act act);

/* rf__linear with only the rows first to first + count - 1 of w and b; y [N,count]. The other rows receive no
 * gradient. */
rf_tensor *rf__linear_part(rf_graph *g, rf_tensor *x, rf_tensor *w, rf_tensor *b, int64_t first, int64_t count,
                           rf_act act);

/* A gated linear unit: y[n,:] = act(a[n,:]) * b[n,:], where a is the first half of x's columns and b the second, or the
 * other way round (rf_gate_order). x [N,2M] -> [N,M].
 * rf__gated_linear is rf__gate of x w^T + b, with w [2M,K] and b [2M]. If w->packed is set it must come from
 * rf__pack_gated with the same order; then both are one product. */
rf_tensor *rf__gate(rf_graph *g, rf_tensor *x, rf_act act, rf_gate_order order);
rf_tensor *rf__gated_linear(rf_graph *g, rf_tensor *x, rf_tensor *w, rf_tensor *b, rf_act act, rf_gate_order order);

/* A mixture of experts: y[n,:] = bias + sum_e softmax(z[n,:])_e act(x[n,:] u_e^T) d_e over the `top` experts e with the
 * largest z[n,e]. x, y [N,C]; z [N,E]; up [E F,C] is u_0 [F,C], u_1, ..., down [E F,C] is d_0 [F,C], d_1, ...; bias [C]
 * or NULL. Packed weights must come from rf__pack_parts, those of `down` across. 4 N top F C operations */
rf_tensor *rf__experts(rf_graph *g, rf_tensor *x, rf_tensor *z, int64_t top, rf_tensor *up, rf_act act,
                       rf_tensor *down, rf_tensor *bias);

/* By element, any rank: a + b, a b (both of one shape, no broadcasting), act(x). */
rf_tensor *rf__add(rf_graph *g, rf_tensor *a, rf_tensor *b);
rf_tensor *rf__mul(rf_graph *g, rf_tensor *a, rf_tensor *b);
rf_tensor *rf__activate(rf_graph *g, rf_tensor *x, rf_act act);

/* y[i] = x[i] keep_i / (1 - p), where keep_i is 0 with probability p, else 1; 0 <= p < 1. Returns x if the graph does
 * not record or if p is 0. No mask is stored: the backward pass draws the numbers again (rf__graph_record). */
rf_tensor *rf__dropout(rf_graph *g, rf_tensor *x, double p);

/* y[n,h,:] = R(row[n]) x[n,h,:]          x [N,H,D], or [N, H*D] with `heads`; row: rows of the table; Eqs. 14-15, 34 */
rf_tensor *rf__rotate(rf_graph *g, const rf_rope *rope, rf_tensor *x, int64_t heads, const int32_t row[]);

/* rf__rotate with a separate table for each part of a row (query, key, value). Only the first `rotated` heads are
 * rotated. rope[p] NULL: part p is not rotated. x [N, parts heads D]. back 1: rotate by R^T instead of R. Rows are
 * copied. */
enum { RF_ROTATE_PARTS = 3 };
typedef struct rf_rotate_parts_spec {
    int64_t parts, heads, rotated;
    const rf_rope *rope[RF_ROTATE_PARTS];
    const int32_t *row[RF_ROTATE_PARTS];
    int back;
    int64_t kv_heads;                   /* heads of the parts after the first, all of them rotated; 0: `heads` */
} rf_rotate_parts_spec;
rf_tensor *rf__rotate_parts(rf_graph *g, rf_tensor *x, const rf_rotate_parts_spec *spec);

/* Rotates by the angles m_n theta_i (1 + w_i) in the first `rotated` of `parts` parts. w [r/2] for all tokens, or [N,
 * r/2] with a row for each. theta [r/2] and position [N] are copied. Planes are the pairs (2i, 2i+1). */
typedef struct rf_rotate_learned_spec {
    int64_t parts, rotated, heads;
    const double *theta;
    const int32_t *position;
} rf_rotate_learned_spec;
rf_tensor *rf__rotate_learned(rf_graph *g, rf_tensor *x, rf_tensor *w, const rf_rotate_learned_spec *spec);

/* y[n,:] = sum_k c[k] table[id[k][n],:] with at most RF_MIX_TERMS terms */
enum { RF_MIX_TERMS = 4 };
rf_tensor *rf__mix(rf_graph *g, rf_tensor *table, int terms, const float c[], const int32_t *const id[], int64_t N);

/* y[n,h] = c <x[n,h,:], w[h,:]>                         x [N,HD], w of HD elements, y [N,H] */
rf_tensor *rf__dots(rf_graph *g, rf_tensor *x, rf_tensor *w, int64_t heads, double c);

/* Scores of XLNet's segments: y[n,h,t] = <q[n,h,:] + b[h,:], e_j[h,:]> for t < types, with j = 0 if t = type[n], else j
 * = 1. q: the first HD columns of x [N,W]; b has HD elements; e [2,HD]; y [N, H types]. type is copied. */
rf_tensor *rf__segment(rf_graph *g, rf_tensor *x, rf_tensor *b, rf_tensor *e, int64_t heads, const int32_t type[],
                       int64_t types);

/* Concatenates for each head: y[n,h,:] = x[n,h,:], a[n,h], b[n,h].     x [N,HD], a and b [N,H], y [N,H(D+2)] */
rf_tensor *rf__beside(rf_graph *g, rf_tensor *x, rf_tensor *a, rf_tensor *b);

/* [a, 0, b]: C numbers each around C zeros, such as the biases of queries and values of a layer whose keys have none. a
 * of any rank; b NULL: zeros. */
rf_tensor *rf__apart(rf_graph *g, rf_tensor *a, rf_tensor *b);
/* Bias of KERPLE: y[r+R,h] = -e^a_h log(1 + e^b_h |r|), or with `power` -e^a_h |r|^(e^b_h), for r = -R to R. a, b [H],
 * y [2R+1,H] */
rf_tensor *rf__kernel_bias(rf_graph *g, rf_tensor *a, rf_tensor *b, int64_t R, int power);

/* Concatenates each token with the `before` tokens in front of it and the `after` tokens after it, with zeros outside
 * its sequence. [N,W] -> [N, (before + 1 + after) W] */
rf_tensor *rf__unfold(rf_graph *g, rf_tensor *x, int64_t before, int64_t after, const int32_t start[], int64_t B);

/* Recurrence within each sequence: y_n = tanh(z_n + u y_{n-1}).     z [N,W], u [W,W] */
rf_tensor *rf__recur(rf_graph *g, rf_tensor *z, rf_tensor *u, const int32_t start[], int64_t B);

/* Position vectors p_0 to p_{T-1}, each computed from the one before: [T,W] from p_0 [W]. RF_FLOW_RECURSION: p_{t+1} =
 * tanh(a [p_t; 1]), a [W,W+1], b NULL. Otherwise the solution of dp/dt = b [tanh(a [p; t; 1]); 1] with steps of length
 * `step`, a [F,W+2], b [W,F+1]. */
typedef enum rf_flow_kind { RF_FLOW_RECURSION, RF_FLOW_EULER, RF_FLOW_RUNGE_KUTTA } rf_flow_kind;
rf_tensor *rf__flow(rf_graph *g, rf_flow_kind how, double step, rf_tensor *p0, rf_tensor *a, rf_tensor *b, int64_t T);

/* Norms of the C columns of a row s:
 *
 *     RF_NORM_LAYER     gamma (s - mean s) / sqrt(variance s + eps) + beta         Ba et al. 2016
 *     RF_NORM_RMS       gamma s / sqrt(mean s^2 + eps) + beta                      Zhang and Sennrich 2019
 *     RF_NORM_RMS_ONE   the same with 1 + gamma instead of gamma (Gemma) */
typedef enum rf_norm_kind { RF_NORM_LAYER, RF_NORM_RMS, RF_NORM_RMS_ONE } rf_norm_kind;

/* y[n,:] = norm(dropout_p(x[n,:]) + residual[n,:])      x, residual and y [N,C]; gamma and beta [C]
 *
 * NULL is allowed for residual (zeros), beta (zeros), and gamma and beta together (ones and zeros). RF_ERANGE: p or eps
 * is not at least 0 and below 1. */
rf_tensor *rf__norm(rf_graph *g, rf_tensor *x, rf_tensor *residual, double p, rf_tensor *gamma, rf_tensor *beta,
                    double eps, rf_norm_kind kind);

/* Norms each head of the queries and keys in a row, with gamma and beta [D] of its part; the values stay as they are.
 * x [N, (heads + 2 kv_heads) D]; query, key [D], query_bias, key_bias [D] or NULL; kv_heads 0: `heads`. With heads 1
 * and D = C, the norms are over the whole width of the queries and of the keys. */
rf_tensor *rf__head_norm(rf_graph *g, rf_tensor *x, rf_tensor *query, rf_tensor *query_bias, rf_tensor *key,
                         rf_tensor *key_bias, int64_t heads, int64_t kv_heads, double eps, rf_norm_kind kind);

/* Attention over packed sequences, without the projections.
 *
 *   qkv        [N, 3C]: query, key and value of each token next to each other, C = H D, unrotated. [N, C], queries
 *              only, with key_value or with past.apart
 *   returns    [N, C]
 *   start      [B+1], sequence b is tokens start[b] to start[b+1]-1
 *   row        [N] rows of the rope table; NULL if rope is NULL
 *
 * score(m,n) = scale <R(m) q_m, R(n) k_n>; scale 0 means 1/sqrt(D). causal, prefix and window are defined in
 * rfk_attention. prefixes [B] gives each sequence its own prefix (UniLM, Dong et al. 2019); NULL: `prefix` applies to
 * all. All arrays are copied.
 *
 * Terms that depend on the offset r = n - m use row clamp(r, -clip, clip) + clip of a table (rfk_relative); NULL tables
 * contribute nothing. Memory stays linear in the number of tokens.
 *   relative_query, relative_key, relative_value    [2 clip + 1, D] for all heads, or [2 clip + 1, C]
 *   relative_bias                                   [2 clip + 1, H], added to the scores after scaling
 *   more_query, more_key                            [N, H E], both or neither: additional columns of each head, not
 *   rotated
 *
 * key_value: keys and values [M, 2C] of other tokens than the queries (cross-attention). Those of sequence b are
 * key_start[b] to key_start[b+1]-1. For causal, prefix, window and offsets, query t of T has the position of key t +
 * keys - T. key_row [M]: rows of the rope table for the keys; more_key is [M, H E]. A query whose sequence has no key
 * gives zeros.
 *
 * kv_heads: heads of keys and values, a divisor of `heads`; 0: `heads`. Heads of queries that are next to each other
 * share one (grouped queries, Ainslie et al. 2023). With G of them, qkv is [N, (H + 2 G) D], key_value [M, 2 G D], and
 * the rows of a cache have G D columns of keys and of values.
 *
 * seen [B]: only the first seen[b] tokens of sequence b are keys; the others attend to them, and nothing attends to the
 * others. Query and key keep their positions, also for `window`. Not with causal, tables of offsets, key_value or past,
 * and not while recording. NULL: all are.
 *
 * past: keys (already rotated) and values come from a cache; the tokens of qkv are the last ones of each sequence. Not
 * while recording. The cache consists of pages of RFK_PAGE rows; a row holds the rotated key [C], the value [C] and,
 * instead of more_key, [H E] more columns. With `apart`, the cache belongs to other tokens, as with key_value, and qkv
 * holds queries only. */
typedef struct rf_past {
    const int64_t *count;               /* [B] keys of each sequence, including those of this call's tokens */
    const void *const *const *page;     /* [B][count[b] / RFK_PAGE, rounded up] */
    const rf_type *type;                /* [B] type of the rows: RF_F32 or RF_BF16 */
    int apart;                          /* 1: the keys belong to other tokens than the queries */
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
    const int32_t *prefixes, *seen;
    int64_t kv_heads;
} rf_attention_spec;
rf_tensor *rf__attention(rf_graph *g, rf_tensor *qkv, const rf_attention_spec *spec);

/* The parts of a gated attention unit (Hua et al. 2022) around its attention. x [N,2U+S] = [u | v | z].
 * rf__gau_pair    [scale_n z_n a | z_n b], queries and keys [N,2S]; a, b [S]; scale [N] is copied
 * rf__gau_heads   of rotated queries and keys [q | k] [N,2S], what rf__attention takes: [q .. q | k .. k | v | 0]
 *                [N,3HS], H = U / S (rounded up) heads of S columns with the same scores
 * rf__gau_gate    u * w [N,U], with w [N,HS] of rf__attention, whose columns beyond U do not count */
rf_tensor *rf__gau_pair(rf_graph *g, rf_tensor *x, rf_tensor *a, rf_tensor *b, const float scale[]);
rf_tensor *rf__gau_heads(rf_graph *g, rf_tensor *pair, rf_tensor *x);
rf_tensor *rf__gau_gate(rf_graph *g, rf_tensor *x, rf_tensor *w, int64_t S);

/* Linear attention over packed sequences (roformer/kernel/attention.h). qkv [N,3C] as in rf__attention; returns [N,C].
 * All arrays are copied. */
rf_tensor *rf__linear_attention(rf_graph *g, rf_tensor *qkv, const rf_linear_attention_spec *spec);

/* Attention with the scores of `near` for positions less than `window` apart, and those of `past` or `future`
 * otherwise. All three are [N, 3C] as in rf__attention and already rotated; the values are those of `near`. causal 1:
 * only keys up to the query's position. No dropout. All arrays are copied. */
typedef struct rf_near_far_spec {
    int64_t heads, B, window;
    const int32_t *start, *position;                     /* [B+1], [N] */
    int causal;
} rf_near_far_spec;
rf_tensor *rf__near_far(rf_graph *g, rf_tensor *near, rf_tensor *past, rf_tensor *future, const rf_near_far_spec *spec);

/* y[i,:] = x[row[i],:]            x [N,C], y [n,C]; rows in any order, with repetitions */
rf_tensor *rf__rows(rf_graph *g, rf_tensor *x, const int32_t row[], int64_t n);

/* Pools each sequence to one vector. [N,C] -> [B,C]; every sequence needs at least one token. RF_EARG: several
 * poolings, or RF_POOL_AUTO. */
rf_tensor *rf__pool(rf_graph *g, rf_tensor *x, const int32_t start[], int64_t B, rf_pooling how);

/* Normalizes the first `width` columns (0: all): y[n,:] = x[n,:width] / |x[n,:width]|, the Euclidean length.
 * x [N,C] -> [N,width]. RF_ENUMERIC names a row whose length is 0 or not finite. */
rf_tensor *rf__unit(rf_graph *g, rf_tensor *x, int64_t width);

/* y[i,j] = scale <a[i,:], b[j,:]>                       a [n,C], b [m,C], y [n,m]. Always in f32, also if
 * rf__graph_products is RF_BF16 */
rf_tensor *rf__cross(rf_graph *g, rf_tensor *a, rf_tensor *b, double scale);

/* y = sum_i weight[i] x[i], one element; weight is copied */
rf_tensor *rf__inner(rf_graph *g, rf_tensor *x, const float weight[]);

/* Cross-entropy over the vocabulary: weight * sum_i -log softmax(x_i table^T + bias)[label_i], computed in chunks of
 * rows, so that the [n,V] logits are never stored. The unweighted sum of losses and the number of correct predictions
 * (argmax = label) are added to *loss_sum and *hits if these are not NULL. While recording, the gradients are computed
 * in the same pass. The result must therefore be the loss given to rf__backward, or a term of an rf__add that is
 * (otherwise RF_EARG). */
rf_tensor *rf__vocab_loss(rf_graph *g, rf_tensor *x, rf_tensor *table, rf_tensor *bias, const int32_t label[],
                          int64_t n, double weight, double *loss_sum, int64_t *hits);

/* Losses on the logits of a head, each one element: `weight` times the sum, which is also added to *sum (NULL: not
 * needed). Labels and targets are not needed after the call; a negative label excludes its row.
 * row_loss     z [n,K]: cross-entropy of row i and label[i]; class_weight [K] or NULL; *hits counts argmax = label
 * span_loss    z [N,K] in B sequences: softmax over the rows of each sequence, separately for each column; label[b*K+k]
 *              is counted from the sequence's first row
 * binary_loss  z [n,K]: binary cross-entropy of each logit and target [n,K] in 0 to 1
 * square_loss  z [n,K]: (z - target)^2
 * divergence   z [2n,K]: KL(p|q) + KL(q|p) of rows i and n+i (R-Drop); label [n] excludes rows, or NULL
 * cosent_loss  z [n,1]: log(1 + sum of exp(scale (z_i - z_j)) over target_i < target_j), one number for all rows
 *              (CoSENT)
 * triplet_loss x [3n,C], anchors, positives, negatives: max(0, |a_i - p_i| - |a_i - q_i| + margin)
 * list_loss    z [N,1] in B lists of at least one row: one loss for each list and the labels [N] of its rows; the
 *              equations are in src/graph/ops/loss/list_loss.c. RF_EDATA: a label that the loss does not accept. Time
 *              grows with the square of the longest list */
rf_tensor *rf__row_loss(rf_graph *g, rf_tensor *z, const int32_t label[], const float class_weight[], double weight,
                        double *sum, int64_t *hits);
rf_tensor *rf__span_loss(rf_graph *g, rf_tensor *z, const int32_t start[], int64_t B, const int32_t label[],
                         double weight, double *sum, int64_t *hits);
rf_tensor *rf__binary_loss(rf_graph *g, rf_tensor *z, const float target[], double weight, double *sum);
rf_tensor *rf__square_loss(rf_graph *g, rf_tensor *z, const float target[], double weight, double *sum);
rf_tensor *rf__divergence(rf_graph *g, rf_tensor *z, const int32_t label[], double weight, double *sum);
rf_tensor *rf__cosent_loss(rf_graph *g, rf_tensor *z, const float target[], double scale, double weight, double *sum);
rf_tensor *rf__triplet_loss(rf_graph *g, rf_tensor *x, double margin, double weight, double *sum);

typedef enum rf_list_loss_kind {
    RF_LIST_BCE,
    RF_LIST_MSE,
    RF_LIST_MARGIN_MSE,
    RF_LIST_INFONCE,
    RF_LIST_LISTNET,
    RF_LIST_LISTMLE,
    RF_LIST_RANKNET,
    RF_LIST_LAMBDA
} rf_list_loss_kind;
rf_tensor *rf__list_loss(rf_graph *g, rf_tensor *z, const int32_t start[], int64_t B, const float label[],
                         rf_list_loss_kind what, double weight, double *sum);

#endif
