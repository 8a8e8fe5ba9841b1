/* gemm_blocked.h — floor 1, internal: what the blocked driver must know of a type of element, and what it leaves to the
 * type (gemm_f32.c, gemm_bf16.c). */
#ifndef RF_GEMM_BLOCKED_H
#define RF_GEMM_BLOCKED_H

#include "kernel/gemm/products.h"
#include "kernel/kernel.h"

/* A matrix as it is stored: f32, or bf16 where that is not NULL. */
typedef struct rf__matrix {
    const float *f32;
    const uint16_t *bf16;
    int64_t ld;
    int transposed;
} rf__matrix;

/* A piece of b on its way into panels: from row k0 and column j0 on (of [k,n], or transposed [n,k]), k deep and n wide.
 * Panel q of it begins at out + q columns * deep, in elements; `deep` is k filled up to a multiple of interleave. */
typedef struct rf__packing {
    const rf_ctx *ctx;
    rf__matrix b;
    int64_t k0, j0, n, k, deep;
    void *out;
} rf__packing;

typedef struct rf__element {
    size_t size;                        /* of an element in blocks and panels                                         */
    int64_t rows;                       /* of a block of a, at most: a multiple of every tile's height                */
    int64_t columns;                    /* of a panel of b                                                            */
    int64_t interleave;                 /* steps of k that lie side by side in a panel                                */
    int64_t depth;                      /* of a block, at most; a multiple of 16                                      */
    int64_t chunk;                      /* elements of b packed at a time when it comes unpacked                      */
    int64_t strip;                      /* rows of b that pack_rows takes at a time                                   */
    size_t workspace;                   /* bytes of a worker: its block of a first, then whatever `copy` needs        */

    /* Rows i0.. and columns p0.. of a into the worker's block. */
    void (*copy)(const rf_ctx *ctx, const rf__matrix *a, void *workspace, int64_t i0, int64_t rows, int64_t p0,
                 int64_t depth);
    /* c = from + block panel; see gemm_panel in kernels.def. */
    void (*multiply)(const rf_ctx *ctx, float *c, int64_t ldc, const void *block, const void *panel, int64_t rows,
                     int64_t n, int64_t depth, const float *from, int64_t from_stride);
    /* b stored [n,k]: panel q.  b stored [k,n]: `strip` rows from number s * strip on, of all panels. */
    void (*pack_panel)(const rf__packing *p, int64_t q);
    void (*pack_rows)(const rf__packing *p, int64_t s);
} rf__element;

/* Rows of a that are transposed together: the widest rung's vector. */
enum { RF__GEMM_WIDTH = 16 };

rf_status rf__blocked_gemm(const rf__element *e, const rf_ctx *ctx, const rf_gemm_call *call, rf_error *why);
rf_status rf__blocked_pack(const rf__element *e, const rf_ctx *ctx, rf_packed *w, const float *from, rf_error *why);
rf_status rf__blocked_packed(const rf__element *e, const rf_ctx *ctx, const rf_packed *w, int64_t m, const float *x,
                             int64_t ldx, const float *bias, rf_act act, float *y, int64_t ldy, rf_error *why);

/* The products of a type: its calls are the driver's with its own element. */
#define RF__BLOCKED_PRODUCTS(products, name, element)                                                                  \
    static rf_status element##_gemm(const rf_ctx *ctx, const rf_gemm_call *call, rf_error *why)                        \
    {                                                                                                                  \
        return rf__blocked_gemm(&element, ctx, call, why);                                                             \
    }                                                                                                                  \
    static rf_status element##_pack(const rf_ctx *ctx, rf_packed *w, const float *from, rf_error *why)                 \
    {                                                                                                                  \
        return rf__blocked_pack(&element, ctx, w, from, why);                                                          \
    }                                                                                                                  \
    static rf_status element##_packed(const rf_ctx *ctx, const rf_packed *w, int64_t m, const float *x, int64_t ldx,   \
                                      const float *bias, rf_act act, float *y, int64_t ldy, rf_error *why)             \
    {                                                                                                                  \
        return rf__blocked_packed(&element, ctx, w, m, x, ldx, bias, act, y, ldy, why);                                \
    }                                                                                                                  \
    const rf__products products = {name, element##_gemm, element##_pack, NULL, element##_packed}
#endif
