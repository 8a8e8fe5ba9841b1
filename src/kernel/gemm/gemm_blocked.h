/* gemm_blocked.h — internal: what the blocked driver has to know about an element type, and the functions that the type
 * provides (gemm_f32.c, gemm_bf16.c, gemm_i8.c, gemm_i8w.c). */
#ifndef RF_GEMM_BLOCKED_H
#define RF_GEMM_BLOCKED_H

#include <stdatomic.h>

#include "kernel/gemm/products.h"
#include "kernel/kernel.h"

/* A matrix as it is stored: f32, or bf16 if that pointer is not NULL. */
typedef struct rf__matrix {
    const float *f32;
    const uint16_t *bf16;
    int64_t ld;
    int transposed;
} rf__matrix;

/* A piece of b to be packed into panels: it begins at row k0 and column j0 (of [k,n], or transposed [n,k]) and is k
 * deep and n wide.  Panel q of it begins at out + q columns * deep, in elements; `deep` is k padded to a multiple of
 * interleave. */
typedef struct rf__packing {
    const rf_ctx *ctx;
    const rfk_panel_shape *shape;
    rf__matrix b;
    int64_t k0, j0, n, k, deep;
    void *out;
    void *own;                          /* of the packed matrix: data that the type keeps besides its panels          */
} rf__packing;

/* Rows i0.. and columns p0.. of a to be copied into a worker's block. */
typedef struct rf__copying {
    const rf_ctx *ctx;
    const rfk_panel_shape *shape;
    const rf__matrix *a;
    void *workspace;
    int64_t at;                         /* the row of the block where they begin                                      */
    int64_t i0, rows, p0, depth;
    int64_t number;                     /* of row i0 among the caller's rows                                          */
    int64_t k;                          /* number of columns of a                                                     */
    _Atomic int64_t *wrong;             /* the first row of a that the type cannot convert, or INT64_MAX              */
} rf__copying;

/* A block times a panel: c = c (or bias, or 0) + block panel, `rows` high and n wide.  `bias` is passed with every cut
 * of k, and added once. */
typedef struct rf__multiplying {
    const rf_ctx *ctx;
    const rfk_panel_shape *shape;
    float *c;
    int64_t ldc;
    const void *workspace, *panel;
    int64_t at;                         /* the block's first row                                                      */
    int64_t from;                       /* its first column                                                           */
    int64_t rows, n, depth;
    bool add, last;                     /* add to c, which holds earlier cuts or the addend; this is the last cut */
    const float *bias;
    const void *own;                    /* of the packed matrix                                                       */
    void *spare;                        /* the worker's spare memory                                                  */
    int64_t j;                          /* index of the panel's first column in it                                    */
} rf__multiplying;

/* The initial value of the sums of `multiply`, as gemm_panel expects it. */
static inline const float *rf__from(const rf__multiplying *x) { return x->add ? x->c : x->bias; }
static inline int64_t rf__from_stride(const rf__multiplying *x) { return x->add ? x->ldc : 0; }

/* A block times panels `first`.. of b, n columns in total, over all cuts of k from p on.  A rung with tiles provides it
 * instead of `multiply` (gemm_tiles.h). */
typedef struct rf__meeting {
    const rf_ctx *ctx;
    const rfk_panel_shape *shape;
    const void *workspace, *panel;
    float *c;
    int64_t ldc;
    int64_t rows, n, height;            /* height of a cut in the block                                               */
    int64_t k, step, deep;              /* sizes of these cuts together, of each, and of a whole panel                */
    bool add, last;
    const float *bias;
    void (*act)(float *, const float *, int64_t);
    const void *own;
    int64_t j;
} rf__meeting;

/* What an element type provides to the driver.  Sizes of tiles and blocks belong to the rung (rfk_panel_shape). */
typedef struct rf__element {
    size_t size;                        /* of an element in panels                                                    */
    size_t copied;                      /* of an element in the block of a; 0: the shape's code, or `size`            */
    size_t spare;                       /* bytes of each worker for `multiply`                                        */
    int64_t chunk;                      /* elements of b that are packed at a time if b is not packed in advance      */
    int64_t strip;                      /* rows of b that pack_rows processes at a time                               */
    const rfk_panel_shape *(*shape)(const rf_ctx *ctx);
    size_t (*workspace)(const rfk_panel_shape *shape);  /* bytes of a worker: its block of a, and memory for `copy`   */
    void (*copy)(const rf__copying *x);
    void (*multiply)(const rf__multiplying *x);
    bool (*meet)(const rf__meeting *x);                 /* false: the rung has no tiles; NULL: nor has the type */
    /* b stored [n,k]: panel q.  b stored [k,n]: `strip` rows from row strip * index on, of all panels. */
    void (*pack_panel)(const rf__packing *p, int64_t q);
    void (*pack_rows)(const rf__packing *p, int64_t s);
} rf__element;

extern const rf__element rf__element_f32, rf__element_bf16;

/* A rung's shape on a machine with `share` bytes of second-level cache per thread (0: unknown), for rows of `row`
 * bytes. */
rfk_panel_shape rf__shape_for(const rfk_panel_shape *shape, size_t row, size_t share);

/* Rows of a that are transposed together: the vector width of the widest rung.  Maximum number of columns of a
 * panel. */
enum { RF__GEMM_WIDTH = 16, RF__WIDEST_PANEL = 64 };

/* Rows of all cuts in a worker's block. */
static inline int64_t rf__rows_held(const rfk_panel_shape *s) { return s->held ? s->held : s->block; }

/* Rows of a block that are read: whole steps of the rung. */
static inline int64_t rf__rows_read(const rfk_panel_shape *s, int64_t rows)
{
    return s->row_step ? (rows + s->row_step - 1) / s->row_step * s->row_step : rows;
}

/* Stores the panels of w made by `e` in w->data.  w->own is set already. */
rf_status rf__blocked_gemm(const rf__element *e, const rf_ctx *ctx, const rf_gemm_call *call, rf_error *why);
rf_status rf__blocked_pack(const rf__element *e, const rf_ctx *ctx, rf_packed *w, const float *from, rf_error *why);
rf_status rf__blocked_packed(const rf__element *e, const rf_ctx *ctx, const rf_packed *w, int64_t m, const float *x,
                             int64_t ldx, const float *bias, rf_act act, float *y, int64_t ldy, rf_error *why);

int64_t rf__blocked_pairs(const rf__element *e, const rf_ctx *ctx, const rf_packed *up, int64_t m);
rf_status rf__blocked_pair(const rf__element *e, const rf_ctx *ctx, const rf__pair *x, int64_t count, rf_error *why);

/* The products of a type: the driver's functions with its own element type. */
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
    static int64_t element##_pairs(const rf_ctx *ctx, const rf_packed *up, int64_t m)                                  \
    {                                                                                                                  \
        return rf__blocked_pairs(&element, ctx, up, m);                                                                \
    }                                                                                                                  \
    static rf_status element##_pair(const rf_ctx *ctx, const rf__pair *x, int64_t count, rf_error *why)                \
    {                                                                                                                  \
        return rf__blocked_pair(&element, ctx, x, count, why);                                                         \
    }                                                                                                                  \
    const rf__products products = {name, element##_gemm, element##_pack, NULL, element##_packed, element##_pairs,      \
                                   element##_pair, NULL}
#endif
