/* gemm_f32.c — f32 for the blocked driver, with the rung's kernels gemm_panel and transpose.
 *
 *     panels of b     [n/columns][k][columns]
 *     block of a      row by row, `stride` apart                                                                     */
#include "kernel/gemm/gemm_blocked.h"

enum { STRIP = 64 };

static const rfk_panel_shape *shape(const rf_ctx *ctx) { return ctx->k->gemm_panel_shape(); }

static size_t workspace(const rfk_panel_shape *s)
{
    return (size_t)((s->block + RF__GEMM_WIDTH) * s->stride) * sizeof(float);
}

static void copy(const rf__copying *x)
{
    const rf__matrix *a = x->a;
    const int64_t stride = x->shape->stride;
    float *to = (float *)x->workspace + x->at * stride;
    if (a->transposed) {
        x->ctx->k->transpose(to, stride, a->f32 + x->p0 * a->ld + x->i0, a->ld, x->depth, x->rows);
        return;
    }
    for (int64_t i = 0; i < x->rows; i++)
        memcpy(to + i * stride, a->f32 + (x->i0 + i) * a->ld + x->p0, (size_t)x->depth * sizeof *to);
}

static void multiply(const rf__multiplying *x)
{
    const float *block = (const float *)x->workspace + x->at * x->shape->stride + x->from;
    x->ctx->k->gemm_panel(x->c, x->ldc, block, x->panel, x->rows, x->n, x->depth, rf__from(x), rf__from_stride(x));
}

/* Each panel is a transposed strip of b. */
static void pack_panel(const rf__packing *p, int64_t q)
{
    const int64_t columns = p->shape->columns, j = q * columns, width = rf__min64(columns, p->n - j);
    float *out = (float *)p->out + j * p->k;
    if (width < columns) memset(out, 0, (size_t)(p->k * columns) * sizeof *out);
    p->ctx->k->transpose(out, columns, p->b.f32 + (p->j0 + j) * p->b.ld + p->k0, p->b.ld, width, p->k);
}

/* Rows are read once, from left to right, and distributed to the panels. */
static void pack_rows(const rf__packing *p, int64_t s)
{
    const int64_t columns = p->shape->columns, last = rf__min64((s + 1) * STRIP, p->k);
    const float *b = p->b.f32 + p->k0 * p->b.ld + p->j0;
    for (int64_t i = s * STRIP; i < last; i++)
        for (int64_t j = 0; j < p->n; j += columns) {
            const int64_t width = rf__min64(columns, p->n - j);
            float *out = (float *)p->out + j * p->k + i * columns;
            memcpy(out, b + i * p->b.ld + j, (size_t)width * sizeof *out);
            memset(out + width, 0, (size_t)(columns - width) * sizeof *out);
        }
}

const rf__element rf__element_f32 = {
    .size = sizeof(float),
    .chunk = 1 << 20,
    .strip = STRIP,
    .shape = shape,
    .workspace = workspace,
    .copy = copy,
    .multiply = multiply,
    .pack_panel = pack_panel,
    .pack_rows = pack_rows,
};

RF__BLOCKED_PRODUCTS(rf__products_f32, "built-in", rf__element_f32);
