/* gemm_f32.c — f32 for the blocked driver, on the kernels gemm_panel and transpose of the rung.
 *
 *     panels of b     [n/32][k][32]
 *     block of a      row by row, RFK_STRIDE apart                                                                   */
#include "kernel/gemm/gemm_blocked.h"

enum {
    PANEL = RFK_PANEL,
    ROWS = 84,                          /* a multiple of every rung's tile height */
    STRIP = 64
};

static void copy(const rf_ctx *ctx, const rf__matrix *a, void *workspace, int64_t i0, int64_t rows, int64_t p0,
                 int64_t depth)
{
    float *to = workspace;
    if (a->transposed) {
        ctx->k->transpose(to, RFK_STRIDE, a->f32 + p0 * a->ld + i0, a->ld, depth, rows);
        return;
    }
    for (int64_t i = 0; i < rows; i++)
        memcpy(to + i * RFK_STRIDE, a->f32 + (i0 + i) * a->ld + p0, (size_t)depth * sizeof *to);
}

static void multiply(const rf_ctx *ctx, float *c, int64_t ldc, const void *block, const void *panel, int64_t rows,
                     int64_t n, int64_t depth, const float *from, int64_t from_stride)
{
    ctx->k->gemm_panel(c, ldc, block, panel, rows, n, depth, from, from_stride);
}

/* Each panel is a transposed strip of b. */
static void pack_panel(const rf__packing *p, int64_t q)
{
    const int64_t j = q * PANEL, width = rf__min64(PANEL, p->n - j);
    float *out = (float *)p->out + j * p->k;
    if (width < PANEL) memset(out, 0, (size_t)(p->k * PANEL) * sizeof *out);
    p->ctx->k->transpose(out, PANEL, p->b.f32 + (p->j0 + j) * p->b.ld + p->k0, p->b.ld, width, p->k);
}

/* Rows are read from left to right, once, and dealt out to the panels. */
static void pack_rows(const rf__packing *p, int64_t s)
{
    const float *b = p->b.f32 + p->k0 * p->b.ld + p->j0;
    const int64_t last = rf__min64((s + 1) * STRIP, p->k);
    for (int64_t i = s * STRIP; i < last; i++)
        for (int64_t j = 0; j < p->n; j += PANEL) {
            const int64_t width = rf__min64(PANEL, p->n - j);
            float *out = (float *)p->out + j * p->k + i * PANEL;
            if (width == PANEL) {
                memcpy(out, b + i * p->b.ld + j, PANEL * sizeof *out);
            } else {
                memset(out, 0, PANEL * sizeof *out);
                memcpy(out, b + i * p->b.ld + j, (size_t)width * sizeof *out);
            }
        }
}

static const rf__element f32 = {
    .size = sizeof(float),
    .rows = ROWS,
    .columns = PANEL,
    .interleave = 1,
    .depth = RFK_DEPTH,
    .chunk = 1 << 20,
    .strip = STRIP,
    .workspace = (ROWS + RF__GEMM_WIDTH) * RFK_STRIDE * sizeof(float),
    .copy = copy,
    .multiply = multiply,
    .pack_panel = pack_panel,
    .pack_rows = pack_rows,
};

RF__BLOCKED_PRODUCTS(rf__products_f32, "built-in", f32);
