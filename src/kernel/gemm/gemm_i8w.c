/* gemm_i8w.c — weights in int8 that are multiplied in f32 or bf16, for the blocked driver.
 *
 *     w[j,p] = column[j] q[j,p]          q in -128..127, as gemm_i8.c packs them
 *     y[i,j] = column[j] sum_p x[i,p] q[j,p] + bias[j]
 *
 *     panels of b     q in the order of the panels of f32 or bf16
 *     block of a      that of f32 or bf16
 *
 * A piece of a panel is widened into a worker's memory, where it stays in the first-level cache, and multiplied by the
 * kernel of the other type.  Every q is exact in both types, so the only roundings are those of the other type's sums,
 * of x to bf16, and one for the scale.  bf16 is used where the rung multiplies it faster than f32.                   */
#include "kernel/gemm/gemm_blocked.h"
#include "kernel/gemm/gemm_i8.h"

enum { PIECE = 16 << 10 };              /* bytes of a widened piece: a third or half of the first-level cache         */

static bool in_bf16(const rf_ctx *ctx) { return !ctx->k->gemm_panel_bf16_shape()->widened; }

/* The type of the products. */
static const rf__element *base_of(const rf_ctx *ctx)
{
    return in_bf16(ctx) ? &rf__element_bf16 : &rf__element_f32;
}

static void widen(const rf_ctx *ctx, void *to, const int8_t *q, int64_t n)
{
    if (in_bf16(ctx)) ctx->k->bf16_from_i8(to, q, n);
    else ctx->k->from_i8(to, q, n);
}

/* Pieces depend only on k.  Sums of the pieces before are in c. */
static void multiply(const rf__multiplying *x)
{
    const rf__element *base = base_of(x->ctx);
    const rf__i8_weights *w = x->own;
    const int8_t *q = x->panel;
    const int64_t columns = x->shape->columns, group = x->shape->interleave;
    const int64_t piece = PIECE / (columns * (int64_t)base->size);
    rf__multiplying part = *x;
    part.panel = x->spare;
    part.bias = NULL;
    for (int64_t p = 0; p < x->depth; p += piece, part.add = true) {
        part.from = p;
        part.depth = rf__min64(piece, x->depth - p);
        widen(x->ctx, x->spare, q + p * columns, (part.depth + group - 1) / group * group * columns);
        base->multiply(&part);
    }
    if (x->last) x->ctx->k->scale_columns(x->c, x->ldc, x->rows, x->n, w->column + x->j, x->bias);
}

static rf__element element_on(const rf_ctx *ctx)
{
    rf__element e = *base_of(ctx);
    e.copied = e.size;
    e.size = 1;
    e.spare = PIECE;
    e.multiply = multiply;
    e.meet = NULL;
    e.pack_panel = rf__i8_pack_panel;
    e.pack_rows = NULL;
    return e;
}

/* ---- the calls --------------------------------------------------------------------------------------------------- */

static rf_status pack(const rf_ctx *ctx, rf_packed *w, const float *from, rf_error *why)
{
    const rf__element e = element_on(ctx);
    return rf__i8_pack(&e, ctx, w, from, NULL, NULL, why);
}

static rf_status pack_codes(const rf_ctx *ctx, rf_packed *w, const int8_t *q, const float *scale, rf_error *why)
{
    const rf__element e = element_on(ctx);
    return rf__i8_pack(&e, ctx, w, NULL, q, scale, why);
}

static rf_status packed(const rf_ctx *ctx, const rf_packed *w, int64_t m, const float *x, int64_t ldx,
                        const float *bias, rf_act act, float *y, int64_t ldy, rf_error *why)
{
    const rf__element e = element_on(ctx);
    return rf__blocked_packed(&e, ctx, w, m, x, ldx, bias, act, y, ldy, why);
}

static int64_t pairs(const rf_ctx *ctx, const rf_packed *up, int64_t m)
{
    const rf__element e = element_on(ctx);
    return rf__blocked_pairs(&e, ctx, up, m);
}

static rf_status pair(const rf_ctx *ctx, const rf__pair *x, int64_t count, rf_error *why)
{
    const rf__element e = element_on(ctx);
    return rf__blocked_pair(&e, ctx, x, count, why);
}

const rf__products rf__products_i8w = {"built-in, int8 weights", NULL, pack, rf__i8_forget, packed, pairs, pair,
                                       pack_codes};
