/* kernels.h — the kernels as raw pointers, for those who embed them in programs of their own.
 *
 * The list is kernels.def: one row per kernel, with its equation.  A table holds one function per kernel; contexts
 * choose the best table for the machine (rf_ctx_kernels), and every rung of the ladder can be had by name.
 *
 *     const rfk_table *k = rf_ctx_kernels(ctx);
 *     k->rope_pairs(y, x, cos, sin, +1, heads, 64, 64);
 *
 * threads   kernels keep no state: any number of threads may call them                                           */
#ifndef ROFORMER_KERNELS_H
#define ROFORMER_KERNELS_H

#include <stdint.h>

#include "roformer/context.h"

#ifdef __cplusplus
extern "C" {
#endif

/* How the coordinates of a head pair into planes that are rotated. */
typedef enum rf_rope_layout {
    RF_ROPE_PAIRS,      /* (x0,x1) (x2,x3) ...            the paper; RoFormer checkpoints       */
    RF_ROPE_HALVES      /* (x0,x[r/2]) (x1,x[r/2+1]) ...  GPT-NeoX and LLaMA checkpoints        */
} rf_rope_layout;

/* What depends on the offset of key and query, r = s - (t + keys - queries), in attention's scores and values:
 *
 *     score(t,s) = scale (<R q_t, R k_s> + <q2_t, k2_s> + <R q_t, query_r> + <R k_s, key_r>) + bias_r
 *     out_t      = sum_s P(t,s) (v_s + value_r)
 *
 * Row r + clip of a table holds offset r; offsets beyond -clip or clip take the row at that end.  A table that is NULL
 * is not there.  Rows have `width` columns.                                                    */
typedef struct rfk_relative {
    int64_t clip;
    const float *query, *key, *value;
    int64_t query_stride, key_stride, value_stride;
    const float *bias;                  /* [2 clip + 1] */
} rfk_relative;

/* The adjoints of the tables, added to what is there; NULL: not needed. */
typedef struct rfk_relative_grad {
    float *query, *key, *value;
    int64_t query_stride, key_stride, value_stride;
    float *bias;
} rfk_relative_grad;

/* Keys and values that lie in pages, rotated already: token s is row s % RFK_PAGE of page[s / RFK_PAGE].  Rows are
 * `stride` elements apart, of f32 or, with bf16, of bf16; a head's columns begin at `key`, `value` and (k2) `key2`. */
enum { RFK_PAGE = 64 };
typedef struct rfk_pages {
    const void *const *page;
    int64_t stride, key, value, key2;
    int bf16;
} rfk_pages;

/* Attention of one sequence and one head, softmax(scale R q (R k)^T) v, with the scores never stored.
 *
 *   q, k, v     row t at q + t * q_stride; `queries` rows of q, `keys` rows of k and v, `width` columns each
 *   cos, sin    [*, rotary / 2] tables of the rotation, or NULL for none; row q_row[t] rotates query t, k_row[s] key s.
 *               q and k are given unrotated; the kernel rotates them while it packs them.  k_row NULL: k and v are
 *               rotated already.
 *   mask        as a description: query t sees key s iff
 *                   (!causal || s <= t + offset || s < prefix)  and  (!window || |s - (t + offset)| <= window)
 *               with offset = keys - queries.  A query that sees no key gives a row of zeros and lse = -inf.
 *               Values of keys that are not seen may be anything finite: some are multiplied by zero.
 *   dropout     each probability is kept with 1 - drop and then divided by it; keep is a pure function of
 *               (key, stream, t, s): word (s % 4) of philox(key, t * ceil(keys / 4) + s / 4, stream) >= floor(drop
 *               2^32)
 *   q2, k2      width2 more columns of queries and keys that are not rotated and have no values; width2 0: none
 *   relative    what depends on offsets, or NULL
 *   pages       with pages.page, keys and values lie there instead of at k, v and k2, and k_row is NULL; forward only
 *   next        q + next, k + next, v + next, out + next and d_out + next are those of the problem that the caller
 *               comes with next, the rest alike: its rows are fetched into the cache between products.  Nothing else
 *               depends on it; 0: none is known
 *   out, lse    row t of the result at out + t * out_stride; log-sum-exp of its scores at lse[t] (lse may be NULL)   */
typedef struct rfk_attention {
    const float *q, *k, *v;
    int64_t q_stride, k_stride, v_stride;
    int64_t queries, keys, width;
    float scale;
    const float *cos, *sin;
    const int32_t *q_row, *k_row;
    int64_t rotary;
    rf_rope_layout layout;
    int rotate_value;                   /* v is rotated like k (HF rotary_value); the result is not rotated back   */
    int causal;
    int64_t prefix, window;
    float drop;
    uint32_t key[2];
    uint64_t stream;
    float *out;
    int64_t out_stride;
    float *lse;
    const float *q2, *k2;
    int64_t q2_stride, k2_stride, width2;
    const rfk_relative *relative;
    int64_t next;
    rfk_pages pages;
} rfk_attention;

/* Adjoints: d_out is given with out and lse of the forward call; dq, dk, dv, dq2, dk2 (rows like q, k, v, q2, k2) are
 * written, those of relative's tables are added.
 *
 * lse is that of this call's keys and no others: where |lse| > 32, the sum is made again from them.  Where the keys of
 * one softmax are split between calls, each backward is given the lse of its own keys, the joint out, and
 * e^(own lse - joint lse) d_out. */
typedef struct rfk_attention_grad {
    const float *d_out;
    int64_t d_out_stride;
    float *dq, *dk, *dv;
    int64_t dq_stride, dk_stride, dv_stride;
    float *dq2, *dk2;
    int64_t dq2_stride, dk2_stride;
    const rfk_relative_grad *relative;
} rfk_attention_grad;

/* How a rung's gemm_panel of one type of element takes its operands: what suits its registers and caches.  Numbers of
 * elements, not bytes; they differ between rungs and releases and never change within one. */
typedef struct rfk_panel_shape {
    int64_t rows;                       /* of c that are computed together                                            */
    int64_t columns;                    /* of a panel of b                                                            */
    int64_t interleave;                 /* consecutive k of one column that lie side by side in a panel               */
    int64_t depth;                      /* k of one call, at most; a multiple of 16                                   */
    int64_t stride;                     /* from a row of a to the next                                                */
    int64_t block;                      /* rows of a that are best multiplied with one panel after the other          */
    int64_t group;                      /* columns of b that make a packed block of a worth its packing               */
    int64_t code, zero;                 /* int8 alone: bytes of a number of a, and what stands for 0                  */
    int64_t row_step;                   /* rows of a are read in multiples of it, whatever those beyond hold; 0: 1    */
    int64_t cut_step;                   /* cuts of k are multiples of it; 0: 16                                       */
    int64_t piece;                      /* k that is summed before c is added to, at most; 0: depth                   */
    int64_t widened;                    /* bf16 alone: 1 where no instruction multiplies it, which is slower          */
    int64_t held;                       /* rows that are kept of a, those of all its cuts of k together; 0: block     */
} rfk_panel_shape;

/* What makes sums of gemm_panel_i8 the product's result. */
typedef struct rfk_i8_store {
    const float *row;                   /* [rows] what 1 is worth in a row of a                                       */
    const float *column;                /* [columns] and in a column of b                                             */
    const int32_t *offset;              /* [columns] minus what `zero` adds to the sums of a column                   */
    const float *bias;                  /* [n], or NULL for zeros                                                     */
} rfk_i8_store;

typedef struct rfk_table {
    const char *isa;
#define RFK(name, result, parameters) result(*name) parameters;
#include "roformer/kernel/kernels.def"
#undef RFK
} rfk_table;

/* Bytes of scratch that `attention` and `attention_back` of any rung need for this problem (64-byte aligned).
 * rf_attend (attention.h) takes care of it. */
size_t rfk_attention_scratch(const rfk_attention *a);
size_t rfk_attention_back_scratch(const rfk_attention *a);

/* The table a context uses. */
const rfk_table *rf_ctx_kernels(const rf_ctx *ctx);

/* The rungs that this processor has, from the reference upwards, and behind them those that are emulated: the table of
 * the i-th, completed by those below; false past the end.  `size` is that of the caller's table: kernels are added at
 * the end of kernels.def. */
int rfk_rung_sized(int i, rfk_table *out, size_t size);
#define rfk_rung(i, out) rfk_rung_sized((i), (out), sizeof *(out))

/* All rungs that there are ("ref", then those of rungs.def): the name of the i-th, NULL past the end.  *lacks (lacks
 * may be NULL): the first thing that this processor does not have and the rung needs, or NULL when it can be used. */
const char *rfk_rung_name(int i, const char **lacks);

/* Whether the rung of this name is another machine's in plain C: slow, and no context's unless it is asked for. */
int rfk_rung_emulated(const char *name);

#ifdef __cplusplus
}
#endif
#endif
