/* kernels.h — the kernels as functions on raw pointers, with what programs need that use only the kernels: a context's
 * memory and threads, and measurements of the machine's limits.
 *
 * kernels.def lists all kernels, one per row, with their equations. A table (rfk_table) has one function for each
 * kernel. There is one table for each rung, that is, for each instruction set. A context selects the best table for the
 * processor (rf_ctx_kernels); rfk_rung returns any other.
 *
 *     const rfk_table *k = rf_ctx_kernels(ctx);
 *     k->rope_pairs(y, x, cos, sin, +1, heads, 64, 64);
 *
 * The static library libroformer-kernels (`pkg-config roformer-kernels`) contains only the functions of this header, of
 * attention.h (one head), gemm.h and rope.h in this folder, and of context.h. examples/rotate.c is a complete program.
 *
 * Kernels do not check their arguments, allocate nothing and cannot fail. attention.h, rope.h and gemm.h have functions
 * that check.
 *
 * threads   kernels keep no state: any number of threads may call them. The same holds for the functions that take a
 *           context, which may be shared; those that measure compete for the processors then */
#ifndef ROFORMER_KERNELS_H
#define ROFORMER_KERNELS_H

#include <stddef.h>
#include <stdint.h>

#include "roformer/context.h"

#ifdef __cplusplus
extern "C" {
#endif

/* ---- the kernels ------------------------------------------------------------------------------------------------- */

/* Which two columns of a head form a rotation plane. 0 is no layout: a struct in which it was left out is refused,
 * because a table rotates other columns in the other layout without any other sign. rf_rope_spec_of gives that of a
 * table. */
typedef enum rf_rope_layout {
    RF_ROPE_PAIRS = 1,  /* (x0,x1) (x2,x3) ...            the paper; RoFormer checkpoints */
    RF_ROPE_HALVES      /* (x0,x[r/2]) (x1,x[r/2+1]) ...  GPT-NeoX and LLaMA checkpoints */
} rf_rope_layout;

/* Terms of attention that depend on the offset of key and query, r = s - (t + keys - queries), in the scores and the
 * values:
 *
 *     score(t,s) = scale (<R q_t, R k_s> + <q2_t, k2_s> + <R q_t, query_r> + <R k_s, key_r>) + bias_r
 *     out_t      = sum_s P(t,s) (v_s + value_r)
 *
 * Row r + clip of a table belongs to offset r. Offsets below -clip or above clip use the first or last row. A NULL
 * table contributes nothing. Rows have `width` columns. */
typedef struct rfk_relative {
    int64_t clip;
    const float *query, *key, *value;
    int64_t query_stride, key_stride, value_stride;
    const float *bias;                  /* [2 clip + 1] */
} rfk_relative;

/* The gradients of the tables are added to these arrays; NULL: not computed. */
typedef struct rfk_relative_grad {
    float *query, *key, *value;
    int64_t query_stride, key_stride, value_stride;
    float *bias;
} rfk_relative_grad;

/* A paged KV cache with rotated keys: token s is row s % RFK_PAGE of page[s / RFK_PAGE]. Rows are `stride` elements
 * apart; elements are f32, or bf16 if `bf16` is 1. The columns of a head begin at `key`, `value` and (for k2)
 * `key2`. */
enum { RFK_PAGE = 64 };
typedef struct rfk_pages {
    const void *const *page;
    int64_t stride, key, value, key2;
    int bf16;
} rfk_pages;

/* Attention for one head of one sequence, softmax(scale R q (R k)^T) v. The matrix of scores is never stored.
 *
 *   q, k, v     row t is at q + t * q_stride; q has `queries` rows, k and v have `keys` rows, each of `width` columns
 *   cos, sin    [*, rotary / 2] tables of the rotation in `layout`, or NULL for none. Row q_row[t] rotates query t, row
 *               k_row[s] rotates key s. q and k are passed unrotated; the kernel rotates them while packing. k_row
 *               NULL: k and v are already rotated
 *   mask        query t attends to key s if and only if
 *                   (!causal || s <= t + offset || s < prefix)  and  (!window || |s - (t + offset)| <= window)
 *               with offset = keys - queries. A query without any key gives a row of zeros and lse = -inf. Values of
 *               masked keys must be finite, because some are multiplied by zero
 *   dropout     each probability is kept with probability 1 - drop and then divided by 1 - drop. The decision is a
 *               function of (key, stream, t, s): keep if word (s % 4) of philox(key, t * ceil(keys / 4) + s / 4,
 *               stream) >= floor(drop 2^32)
 *   q2, k2      width2 additional columns of queries and keys, not rotated, for the scores only; width2 0: none
 *   relative    terms that depend on offsets, or NULL
 *   pages       if pages.page is not NULL, keys and values are read from pages instead of k, v and k2, and k_row is
 *               NULL; forward pass only
 *   next        prefetch hint: q + next, k + next, v + next, out + next and d_out + next belong to the problem that the
 *               caller passes next, of the same shape; its rows are fetched into the cache between products. It does
 *               not affect results; 0: unknown
 *   out, lse    row t of the result is at out + t * out_stride; the log-sum-exp of its scores is lse[t] (lse may be
 *               NULL) */
typedef struct rfk_attention {
    const float *q, *k, *v;
    int64_t q_stride, k_stride, v_stride;
    int64_t queries, keys, width;
    float scale;
    const float *cos, *sin;
    const int32_t *q_row, *k_row;
    int64_t rotary;
    rf_rope_layout layout;
    int rotate_value;                   /* rotate v like k (rotary_value in transformers); the result is not rotated
                                           back */
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

/* Gradients of attention. The caller passes d_out, and in rfk_attention `out` and `lse` of the forward call. dq, dk,
 * dv, dq2 and dk2 (with rows like q, k, v, q2 and k2) are overwritten; the gradients of the tables in `relative` are
 * added.
 *
 * lse must be that of the keys of this call only; where |lse| > 32, the sum is recomputed from the keys. If the keys of
 * one softmax are split between several calls, pass to each backward call the lse of its own keys, the joint `out`, and
 * d_out multiplied by e^(own lse - joint lse). */
typedef struct rfk_attention_grad {
    const float *d_out;
    int64_t d_out_stride;
    float *dq, *dk, *dv;
    int64_t dq_stride, dk_stride, dv_stride;
    float *dq2, *dk2;
    int64_t dq2_stride, dk2_stride;
    const rfk_relative_grad *relative;
} rfk_attention_grad;

/* The operand layout of gemm_panel for one element type on one rung, chosen for its registers and caches. Counts are in
 * elements, not bytes. They differ between rungs and releases, but are constant within one. */
typedef struct rfk_panel_shape {
    int64_t rows;                       /* rows of c computed together */
    int64_t columns;                    /* columns of a panel of b */
    int64_t interleave;                 /* consecutive k of one column that are adjacent in a panel */
    int64_t depth;                      /* maximum k of one call; a multiple of 16 */
    int64_t stride;                     /* distance between rows of a */
    int64_t block;                      /* best number of rows of a to multiply with one panel after another */
    int64_t group;                      /* minimum columns of b for which packing a block of a pays off */
    int64_t code, zero;                 /* int8 only: bytes of an element of a, and the code for 0 */
    int64_t row_step;                   /* rows of a are read in multiples of this, even beyond the last; 0: 1 */
    int64_t cut_step;                   /* k is divided at multiples of this; 0: 16 */
    int64_t piece;                      /* maximum k summed before the sum is added to c; 0: depth */
    int64_t widened;                    /* bf16 only: 1: multiplied as f32, which is slower */
    int64_t held;                       /* rows of a kept packed, for all parts of k together; 0: block */
} rfk_panel_shape;

/* What converts the integer sums of gemm_panel_i8 to the product. */
typedef struct rfk_i8_store {
    const float *row;                   /* [rows] scale of each row of a */
    const float *column;                /* [columns] scale of each column of b */
    const int32_t *offset;              /* [columns] correction for `zero`: minus its contribution to the sum of a
                                           column */
    const float *bias;                  /* [n]; NULL: zeros */
} rfk_i8_store;

/* The functions of one rung. `isa` is its name, in static storage; the other members are the rows of kernels.def. */
typedef struct rfk_table {
    const char *isa;
#define RFK(name, result, parameters) result(*name) parameters;
#include "roformer/kernel/kernels.def"
#undef RFK
} rfk_table;

/* Bytes of scratch memory (64-byte aligned) that `attention` and `attention_back` of any rung need for this problem.
 * rf_attend (attention.h) allocates it automatically. */
size_t rfk_attention_scratch(const rfk_attention *a);
size_t rfk_attention_back_scratch(const rfk_attention *a);

/* The table that a context uses. It belongs to the context, which must not be NULL. */
const rfk_table *rf_ctx_kernels(const rf_ctx *ctx);

/* The table of rung number i: first the rungs that this processor supports, starting with the reference, then the
 * emulated ones. Kernels that a rung does not implement are taken from lower rungs. Copies the table to *out and
 * returns 1, or returns 0 past the last. `size` is the size of the caller's table, because new kernels are appended to
 * kernels.def; rfk_rung passes it. */
int rfk_rung_sized(int i, rfk_table *out, size_t size);
#define rfk_rung(i, out) rfk_rung_sized((i), (out), sizeof *(out))

/* The name of the i-th rung of all ("ref", then those of rungs.def), also of those that this processor lacks; NULL past
 * the last. *lacks (lacks may be NULL) receives the first processor feature that the rung needs and this processor
 * lacks, or NULL if the rung can be used. Both are in static storage. */
const char *rfk_rung_name(int i, const char **lacks);

/* 1 if the rung of this name emulates another processor in plain C, else 0 (also for an unknown name). Emulated rungs
 * are slow and used only on request. */
int rfk_rung_emulated(const char *name);

/* ---- memory ------------------------------------------------------------------------------------------------------ */

/* Allocates memory with the context's allocator, 64-byte aligned and not zeroed. The default allocator asks for huge
 * pages for large blocks. Returns NULL if there is no memory. Freed with rf_ctx_release of the same context (NULL is
 * allowed). Each block takes 64 bytes more than requested. */
void *rf_ctx_alloc(const rf_ctx *ctx, size_t bytes);
void rf_ctx_release(const rf_ctx *ctx, void *memory);

/* ---- threads ----------------------------------------------------------------------------------------------------- */

/* One of n independent units of work. It may write only data that belongs to i, and scratch memory that belongs to
 * `worker` (0 to rf_ctx_threads - 1), so that results do not depend on the number of workers. Worker numbers are unique
 * within one call of rf_ctx_run, not between calls: every call needs its own scratch memory. */
typedef void rf_work_body(void *arg, int64_t i, int worker);

/* Calls body(arg, i, worker) once for every i in [0, n) on the context's workers, in any order, and returns when all
 * are done. The calling thread is worker 0. While the workers are busy with another call, it computes all units itself;
 * so does a call from within a body. Allocates no memory.
 *
 *   RF_EARG   ctx or body is NULL, or n < 0 */
rf_status rf_ctx_run(const rf_ctx *ctx, int64_t n, rf_work_body *body, void *arg, rf_error *why);

/* ---- limits of the machine: all workers together, each measured for about `seconds` ------------------------------ */

/* `seconds` may be 0: one pass. ctx must not be NULL. Other load on the machine lowers these figures. Measure them
 * alternately with the figures that they are compared with. */

/* f32 operations per second (a fused multiply-add counts as two) of a loop in registers with the widest vectors of the
 * context's rung: on rung avx2, the peak of AVX2. */
double rf_peak_flops(const rf_ctx *ctx, double seconds);

/* The same for multiply-adds of another type: bf16 with f32 sums, or int8 with int32 sums. Matrix tiles are used if the
 * rung has them. int8 without an int8 instruction is multiplied as int16 on x86-64. 0: the rung has no instruction for
 * this type. */
double rf_peak_of(const rf_ctx *ctx, rf_type type, double seconds);

/* Bytes per second read from a buffer of `bytes`, or copied within it (read and written bytes counted). To measure main
 * memory, use a buffer larger than the caches. Negative: no memory for the buffer. */
double rf_peak_read(const rf_ctx *ctx, size_t bytes, double seconds);
double rf_peak_copy(const rf_ctx *ctx, size_t bytes, double seconds);

/* ---- emulated tiles ---------------------------------------------------------------------------------------------- */

/* Counts of the tile operations that the calling thread has executed on the rung amx_emulated, for predicting the speed
 * on a processor with AMX. Operations of a real AMX unit are not counted. */
typedef struct rf_tile_counts {
    uint64_t configured, released;
    uint64_t zeroed, loaded, stored;    /* tiles of 1 KB */
    uint64_t dots;                      /* products of two tiles */
} rf_tile_counts;

void rf_tiles_counted(rf_tile_counts *out);

#ifdef __cplusplus
}
#endif
#endif
