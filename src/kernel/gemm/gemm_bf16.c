/* gemm_bf16.c — bf16 with sums in f32 for the blocked driver, on the kernels gemm_panel_bf16 and pairs_bf16.
 *
 *     panels of b     two steps of k side by side: [n/32][k/2][32][2], rounded while they are packed
 *     block of a      row by row, RFK_STRIDE_BF16 apart, rounded while it is copied together
 *
 * Blocks are deeper than those of f32 because a number takes half the memory.  What is stored as bf16 already is taken
 * as it is.  An odd k is filled up with a zero.                                                                      */
#include "kernel/gemm/gemm_blocked.h"

enum {
    PANEL = RFK_PANEL,
    ROWS = 84,                          /* a multiple of the tile height of the rung that has the instruction */
    DEEP = 64,                          /* steps of k that are transposed or packed together                  */
    HIGH = ROWS + RF__GEMM_WIDTH,
    WIDE = 512                          /* columns of b that are packed together                              */
};

/* What one worker writes: its block of a, and a piece of it on the way there. */
typedef struct desk {
    uint16_t block[HIGH * RFK_STRIDE_BF16];
    float piece[HIGH * DEEP], transposed[HIGH * DEEP];
} desk;

/* x[i.. , j..] as it lies in memory, n wide, as f32: where it is, or widened into `to`. */
static const float *widened(const rf_ctx *ctx, const rf__matrix *x, int64_t i, int64_t rows, int64_t j, int64_t n,
                            float *to, int64_t *ld)
{
    *ld = x->ld;
    if (!x->bf16) return x->f32 + i * x->ld + j;
    for (int64_t r = 0; r < rows; r++) ctx->k->from_bf16(to + r * n, x->bf16 + (i + r) * x->ld + j, n);
    *ld = n;
    return to;
}

/* ---- the block of a ---------------------------------------------------------------------------------------------- */

/* a is stored [k,m]: pieces of it are transposed in f32 and then rounded. */
static void copy_transposed(const rf_ctx *ctx, const rf__matrix *a, desk *r, int64_t i0, int64_t rows, int64_t p0,
                            int64_t depth)
{
    for (int64_t p = 0; p < depth; p += DEEP) {
        const int64_t deep = rf__min64(DEEP, depth - p);
        int64_t ld;
        const float *x = widened(ctx, a, p0 + p, deep, i0, rows, r->piece, &ld);
        ctx->k->transpose(r->transposed, DEEP, x, ld, deep, rows);
        for (int64_t i = 0; i < rows; i++)
            ctx->k->to_bf16(r->block + i * RFK_STRIDE_BF16 + p, r->transposed + i * DEEP, deep);
    }
}

static void copy(const rf_ctx *ctx, const rf__matrix *a, void *workspace, int64_t i0, int64_t rows, int64_t p0,
                 int64_t depth)
{
    desk *r = workspace;
    if (a->transposed) copy_transposed(ctx, a, r, i0, rows, p0, depth);
    for (int64_t i = 0; i < rows; i++) {
        uint16_t *to = r->block + i * RFK_STRIDE_BF16;
        const int64_t at = (i0 + i) * a->ld + p0;
        if (!a->transposed && a->bf16) memcpy(to, a->bf16 + at, (size_t)depth * sizeof *to);
        else if (!a->transposed) ctx->k->to_bf16(to, a->f32 + at, depth);
        if (depth % 2) to[depth] = 0;
    }
}

static void multiply(const rf_ctx *ctx, float *c, int64_t ldc, const void *block, const void *panel, int64_t rows,
                     int64_t n, int64_t depth, const float *from, int64_t from_stride)
{
    ctx->k->gemm_panel_bf16(c, ldc, block, panel, rows, n, (depth + 1) / 2, from, from_stride);
}

/* ---- panels of b ------------------------------------------------------------------------------------------------- */

/* b stored [n,k]: strips of a panel's rows are transposed in f32; rows of pairs follow from rows of numbers. */
static void pack_panel(const rf__packing *p, int64_t q)
{
    const int64_t j = q * PANEL, width = rf__min64(PANEL, p->n - j);
    uint16_t *out = (uint16_t *)p->out + j * p->deep;
    float piece[PANEL * DEEP], strip[(DEEP + 1) * PANEL] = {0};
    for (int64_t i = 0; i < p->k; i += DEEP) {
        const int64_t deep = rf__min64(DEEP, p->k - i);
        int64_t ld;
        const float *x = widened(p->ctx, &p->b, p->j0 + j, width, p->k0 + i, deep, piece, &ld);
        p->ctx->k->transpose(strip, PANEL, x, ld, width, deep);
        if (deep % 2) memset(strip + deep * PANEL, 0, PANEL * sizeof *strip);
        for (int64_t r = 0; r < deep; r += 2)
            p->ctx->k->pairs_bf16(out + (i + r) * PANEL, strip + r * PANEL, strip + (r + 1) * PANEL, PANEL);
    }
}

/* b stored [k,n]: DEEP of its rows, two by two, are dealt out to the panels. */
static void pack_rows(const rf__packing *p, int64_t s)
{
    const float zeros[WIDE] = {0};
    float piece[2 * WIDE];
    uint16_t pairs[2 * WIDE];
    const int64_t last = rf__min64((s + 1) * DEEP, p->k);
    for (int64_t i = s * DEEP; i < last; i += 2)
        for (int64_t j = 0; j < p->n; j += WIDE) {
            const int64_t width = rf__min64(WIDE, p->n - j), panels = (width + PANEL - 1) / PANEL;
            int64_t ld;
            const float *x = widened(p->ctx, &p->b, p->k0 + i, i + 1 < p->k ? 2 : 1, p->j0 + j, width, piece, &ld);
            p->ctx->k->pairs_bf16(pairs, x, i + 1 < p->k ? x + ld : zeros, width);
            memset(pairs + 2 * width, 0, (size_t)(2 * (panels * PANEL - width)) * sizeof *pairs);
            for (int64_t q = 0; q < panels; q++)
                memcpy((uint16_t *)p->out + (j + q * PANEL) * p->deep + i * PANEL, pairs + 2 * q * PANEL,
                       2 * PANEL * sizeof *pairs);
        }
}

static const rf__element bf16 = {
    .size = sizeof(uint16_t),
    .rows = ROWS,
    .columns = PANEL,
    .interleave = 2,
    .depth = RFK_DEPTH_BF16,
    .chunk = 1 << 21,
    .strip = DEEP,
    .workspace = sizeof(desk),
    .copy = copy,
    .multiply = multiply,
    .pack_panel = pack_panel,
    .pack_rows = pack_rows,
};

RF__BLOCKED_PRODUCTS(rf__products_bf16, "built-in, bf16", bf16);
