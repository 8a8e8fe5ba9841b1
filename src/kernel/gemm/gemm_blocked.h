/* gemm_blocked.h — floor 1, internal: what the blocked driver must know of a type of element, and what it leaves to the
 * type (gemm_f32.c, gemm_bf16.c). */
#ifndef RF_GEMM_BLOCKED_H
#define RF_GEMM_BLOCKED_H

#include <stdatomic.h>

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
    const rfk_panel_shape *shape;
    rf__matrix b;
    int64_t k0, j0, n, k, deep;
    void *out;
    void *own;                          /* of the packed matrix: what the type keeps beside its panels                */
} rf__packing;

/* Rows i0.. and columns p0.. of a on their way into a worker's block. */
typedef struct rf__copying {
    const rf_ctx *ctx;
    const rfk_panel_shape *shape;
    const rf__matrix *a;
    void *workspace;
    int64_t at;                         /* the block's row where they begin                                           */
    int64_t i0, rows, p0, depth;
    int64_t k;                          /* columns of a in all                                                        */
    _Atomic int64_t *wrong;             /* the first row of a that the type cannot take, or INT64_MAX                 */
} rf__copying;

/* A block against a panel: c = c (or bias, or 0) + block panel, `rows` high and n wide.  `bias` is there in every cut
 * of k, and comes in once. */
typedef struct rf__multiplying {
    const rf_ctx *ctx;
    const rfk_panel_shape *shape;
    float *c;
    int64_t ldc;
    const void *workspace, *panel;
    int64_t at;                         /* the block's first row                                                      */
    int64_t rows, n, depth;
    bool add, last;                     /* to c, which holds earlier cuts of k or what is added to; the last cut      */
    const float *bias;
    const void *own;                    /* of the packed matrix                                                       */
    int64_t j;                          /* the panel's first column in it                                             */
} rf__multiplying;

/* What `multiply` begins with, as gemm_panel takes it. */
static inline const float *rf__from(const rf__multiplying *x) { return x->add ? x->c : x->bias; }
static inline int64_t rf__from_stride(const rf__multiplying *x) { return x->add ? x->ldc : 0; }

/* A block against panels `first`.. of b, of n columns in all, over all cuts of k from p on; what a rung of tiles has in
 * place of `multiply` (gemm_tiles.h). */
typedef struct rf__meeting {
    const rf_ctx *ctx;
    const rfk_panel_shape *shape;
    const void *workspace, *panel;
    float *c;
    int64_t ldc;
    int64_t rows, n, height;            /* height: of a cut in the block                                              */
    int64_t k, step, deep;              /* of these cuts together, of each, and of a whole panel                      */
    bool add, last;
    const float *bias;
    void (*act)(float *, const float *, int64_t);
    const void *own;
    int64_t j;
} rf__meeting;

/* What a type of element is to the driver.  Sizes of tiles and blocks are the rung's (rfk_panel_shape). */
typedef struct rf__element {
    size_t size;                        /* of an element in panels                                                    */
    int64_t chunk;                      /* elements of b packed at a time when it comes unpacked                      */
    int64_t strip;                      /* rows of b that pack_rows takes at a time                                   */
    const rfk_panel_shape *(*shape)(const rf_ctx *ctx);
    size_t (*workspace)(const rfk_panel_shape *shape);  /* bytes of a worker: its block of a, and what `copy` needs   */
    void (*copy)(const rf__copying *x);
    void (*multiply)(const rf__multiplying *x);
    bool (*meet)(const rf__meeting *x);                 /* false: the rung has no tiles; NULL: nor has the type       */
    /* b stored [n,k]: panel q.  b stored [k,n]: `strip` rows from number s * strip on, of all panels. */
    void (*pack_panel)(const rf__packing *p, int64_t q);
    void (*pack_rows)(const rf__packing *p, int64_t s);
} rf__element;

/* A rung's shape on a machine whose threads have `share` bytes of second-level cache each (0: not known), for rows of
 * `row` bytes. */
rfk_panel_shape rf__shape_for(const rfk_panel_shape *shape, size_t row, size_t share);

/* Rows of a that are transposed together: the widest rung's vector.  Columns of a panel, at most. */
enum { RF__GEMM_WIDTH = 16, RF__WIDEST_PANEL = 64 };

/* Rows of all cuts in a worker's block. */
static inline int64_t rf__rows_held(const rfk_panel_shape *s) { return s->held ? s->held : s->block; }

/* Rows of a block that are read: whole steps of the rung. */
static inline int64_t rf__rows_read(const rfk_panel_shape *s, int64_t rows)
{
    return s->row_step ? (rows + s->row_step - 1) / s->row_step * s->row_step : rows;
}

/* The panels of w that `e` makes are kept in w->data; w->own is there already. */
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
