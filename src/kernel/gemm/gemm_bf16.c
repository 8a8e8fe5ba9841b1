/* gemm_bf16.c — bf16 with sums in f32 for the blocked driver, on the kernels gemm_panel_bf16 and pairs_bf16.
 *
 *     panels of b     `interleave` adjacent steps of k (two or four), rounded while they are packed two at a time:
 *                     [n/columns][k/interleave][columns][interleave]
 *     block of a      row by row, `stride` apart, rounded while it is copied
 *
 * Input in bf16 is not converted.  k is padded with zeros to whole steps.                                            */
#include "kernel/gemm/gemm_blocked.h"
#include "kernel/gemm/gemm_tiles.h"

enum {
    DEEP = 64,                          /* steps of k that are transposed or packed together                  */
    WIDE = 512                          /* columns of b that are packed together; whole panels                */
};

static const rfk_panel_shape *shape(const rf_ctx *ctx) { return ctx->k->gemm_panel_bf16_shape(); }

/* Memory of a worker: a piece of a before it is copied to the block, that piece transposed, and the block. */
static int64_t height(const rfk_panel_shape *s) { return rf__rows_held(s) + RF__GEMM_WIDTH; }

static size_t workspace(const rfk_panel_shape *s)
{
    return (size_t)height(s) * ((size_t)(2 * DEEP) * sizeof(float) + (size_t)s->stride * sizeof(uint16_t)) +
           rf__tile_space(s->block + RF__GEMM_WIDTH);
}

static uint16_t *block_of(const rfk_panel_shape *s, const void *workspace)
{
    return (uint16_t *)(void *)((float *)(uintptr_t)workspace + 2 * height(s) * DEEP);
}

/* x[i.. , j..] as stored, n wide, as f32: in place, or widened into `to`. */
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
static void copy_transposed(const rf__copying *x, uint16_t *block)
{
    float *piece = x->workspace, *transposed = piece + height(x->shape) * DEEP;
    for (int64_t p = 0; p < x->depth; p += DEEP) {
        const int64_t deep = rf__min64(DEEP, x->depth - p);
        int64_t ld;
        const float *from = widened(x->ctx, x->a, x->p0 + p, deep, x->i0, x->rows, piece, &ld);
        x->ctx->k->transpose(transposed, DEEP, from, ld, deep, x->rows);
        for (int64_t i = 0; i < x->rows; i++)
            x->ctx->k->to_bf16(block + i * x->shape->stride + p, transposed + i * DEEP, deep);
    }
}

static void copy(const rf__copying *x)
{
    const rf__matrix *a = x->a;
    uint16_t *block = block_of(x->shape, x->workspace) + x->at * x->shape->stride;
    if (a->transposed) copy_transposed(x, block);
    for (int64_t i = 0; i < x->rows; i++) {
        uint16_t *to = block + i * x->shape->stride;
        const int64_t at = (x->i0 + i) * a->ld + x->p0;
        if (!a->transposed && a->bf16) memcpy(to, a->bf16 + at, (size_t)x->depth * sizeof *to);
        else if (!a->transposed) x->ctx->k->to_bf16(to, a->f32 + at, x->depth);
        for (int64_t p = x->depth; p % x->shape->interleave; p++) to[p] = 0;
    }
    for (int64_t i = x->rows; i < rf__rows_read(x->shape, x->rows); i++)
        memset(block + i * x->shape->stride, 0, (size_t)(x->depth + x->depth % 2) * sizeof *block);
}

static void multiply(const rf__multiplying *x)
{
    const int64_t group = x->shape->interleave, words = (x->depth + group - 1) / group;
    const uint16_t *block = block_of(x->shape, x->workspace) + x->at * x->shape->stride + x->from;
    x->ctx->k->gemm_panel_bf16(x->c, x->ldc, block, x->panel, x->rows, x->n, words * group / 2, rf__from(x),
                               rf__from_stride(x));
}

static bool meet(const rf__meeting *x)
{
    const rf__tile_products *tiles = rf__tile_products_of(x->ctx);
    uint16_t *const block = block_of(x->shape, x->workspace);
    if (tiles)
        tiles->bf16(&(rf__tile_block){
            .a = (const char *)block,
            .cut = x->height * x->shape->stride * 2,
            .rows = x->rows,
            .k = (x->k + 1) / 2 * 4,
            .step = 2 * x->step,
            .panel = x->panel,
            .panel_size = x->deep * x->shape->columns * 2,
            .n = x->n,
            .c = x->c,
            .ldc = x->ldc,
            .add = x->add,
            .last = x->last,
            .bias = x->bias,
            .act = x->act,
            .space = block + height(x->shape) * x->shape->stride,
        });
    return tiles != NULL;
}

/* ---- panels of b ------------------------------------------------------------------------------------------------- */

/* Two steps of k, from step i on, of a panel's columns: pairs [columns][2] at the place where the product reads
 * them. */
static void lay_pairs(const rfk_panel_shape *s, uint16_t *panel, int64_t i, const uint16_t *pairs)
{
    const int64_t group = s->interleave, in = i % group;
    uint16_t *to = panel + (i - in) * s->columns + in;
    if (group == 2) memcpy(to, pairs, 2 * (size_t)s->columns * sizeof *to);
    else
        for (int64_t j = 0; j < s->columns; j++) memcpy(to + j * group, pairs + 2 * j, 2 * sizeof *to);
}

/* b stored [n,k]: strips of a panel's rows are transposed in f32, and rows of numbers are combined to rows of pairs. */
static void pack_panel(const rf__packing *p, int64_t q)
{
    const int64_t columns = p->shape->columns, j = q * columns, width = rf__min64(columns, p->n - j);
    uint16_t *out = (uint16_t *)p->out + j * p->deep;
    float piece[RF__WIDEST_PANEL * DEEP], strip[DEEP * RF__WIDEST_PANEL] = {0};
    uint16_t pairs[2 * RF__WIDEST_PANEL];
    for (int64_t i = 0; i < p->k; i += DEEP) {
        const int64_t deep = rf__min64(DEEP, p->k - i), whole = rf__min64(DEEP, p->deep - i);
        int64_t ld;
        const float *x = widened(p->ctx, &p->b, p->j0 + j, width, p->k0 + i, deep, piece, &ld);
        p->ctx->k->transpose(strip, columns, x, ld, width, deep);
        memset(strip + deep * columns, 0, (size_t)((whole - deep) * columns) * sizeof *strip);
        for (int64_t r = 0; r < whole; r += 2) {
            p->ctx->k->pairs_bf16(pairs, strip + r * columns, strip + (r + 1) * columns, columns);
            lay_pairs(p->shape, out, i + r, pairs);
        }
    }
}

/* b stored [k,n]: DEEP of its rows, two at a time, are distributed to the panels. */
static void pack_rows(const rf__packing *p, int64_t s)
{
    const int64_t columns = p->shape->columns;
    const float zeros[WIDE] = {0};
    float piece[2 * WIDE];
    uint16_t pairs[2 * WIDE];
    const int64_t last = rf__min64((s + 1) * DEEP, p->deep);
    for (int64_t i = s * DEEP; i < last; i += 2)
        for (int64_t j = 0; j < p->n; j += WIDE) {
            const int64_t width = rf__min64(WIDE, p->n - j), panels = (width + columns - 1) / columns;
            const int64_t rows = rf__max64(0, rf__min64(2, p->k - i));
            int64_t ld = 0;
            const float *x =
                rows ? widened(p->ctx, &p->b, p->k0 + i, rows, p->j0 + j, width, piece, &ld) : zeros;
            p->ctx->k->pairs_bf16(pairs, x, rows == 2 ? x + ld : zeros, width);
            memset(pairs + 2 * width, 0, (size_t)(2 * (panels * columns - width)) * sizeof *pairs);
            for (int64_t q = 0; q < panels; q++)
                lay_pairs(p->shape, (uint16_t *)p->out + (j + q * columns) * p->deep, i, pairs + 2 * q * columns);
        }
}

const rf__element rf__element_bf16 = {
    .size = sizeof(uint16_t),
    .chunk = 1 << 21,
    .strip = DEEP,
    .shape = shape,
    .workspace = workspace,
    .copy = copy,
    .multiply = multiply,
    .meet = meet,
    .pack_panel = pack_panel,
    .pack_rows = pack_rows,
};

RF__BLOCKED_PRODUCTS(rf__products_bf16, "built-in, bf16", rf__element_bf16);
