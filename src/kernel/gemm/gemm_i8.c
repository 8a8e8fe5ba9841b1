/* gemm_i8.c — int8 with sums in int32 for the blocked driver, with the kernels gemm_panel_i8 and codes_i8.  It is used
 * only for weights.
 *
 *     w[j,p] = column[j] q[j,p]          q in -127..127, column[j] = max_p |w[j,p]| / 127        when they are packed
 *     x[i,p] = row[i] c[i,p]             the same of each row of x                               when it is copied
 *     y[i,j] = f32(sum_p c[i,p] q[j,p]) row[i] column[j] + bias[j]                               exact but for the last
 *
 *     panels of b     `interleave` adjacent steps of k: [n/columns][k/interleave][columns][interleave]
 *     block of a      scales of the rows, then codes, row by row, `stride` apart
 *
 * Between cuts of k the sums are stored in the memory of the result.  Sums are integers, and scales are applied in
 * separate operations, so every rung gives the same bits.                                                            */
#include <math.h>

#include "kernel/gemm/gemm_blocked.h"
#include "kernel/gemm/gemm_i8.h"
#include "kernel/gemm/gemm_tiles.h"

/* 127 is divided by absolute values in SMALLEST..LARGEST, so that no scale is subnormal or infinite.  With codes in
 * 0..255 and -128..127, sums of k = LONGEST terms fit 32 bits. */
#define SMALLEST 0x1p-100F
#define LARGEST 0x1p100F
enum { LONGEST = 65536 };

static const rfk_panel_shape *shape(const rf_ctx *ctx) { return ctx->k->gemm_panel_i8_shape(); }

/* ---- the block of a ---------------------------------------------------------------------------------------------- */

static int64_t height(const rfk_panel_shape *s) { return rf__rows_held(s) + RF__GEMM_WIDTH; }

static size_t scales_size(const rfk_panel_shape *s) { return (size_t)(s->block + RF__GEMM_WIDTH) * sizeof(float); }

static size_t workspace(const rfk_panel_shape *s)
{
    return scales_size(s) + (size_t)(height(s) * s->stride * s->code) + rf__tile_space(s->block + RF__GEMM_WIDTH);
}

/* Numbers below SMALLEST count as zero. */
static float row_scale(const rf__copying *x, int64_t i)
{
    const float size = x->ctx->k->largest_size(x->a->f32 + (x->i0 + i) * x->a->ld, x->k);
    if (isfinite(size)) return size < SMALLEST ? 0 : size / 127;
    int64_t first = atomic_load(x->wrong);
    while (x->number + i < first && !atomic_compare_exchange_weak(x->wrong, &first, x->number + i)) continue;
    return 0;
}

/* Row `at` of the block. */
static char *block_of(const rfk_panel_shape *s, const void *workspace, int64_t at)
{
    return (char *)(uintptr_t)workspace + scales_size(s) + at * s->stride * s->code;
}

static void copy(const rf__copying *x)
{
    float *scale = x->workspace;
    char *block = block_of(x->shape, x->workspace, x->at);
    for (int64_t i = 0; i < x->rows; i++) {
        if (x->p0 == 0) scale[i] = row_scale(x, i);
        x->ctx->k->codes_i8(block + i * x->shape->stride * x->shape->code, x->a->f32 + (x->i0 + i) * x->a->ld + x->p0,
                            scale[i] > 0 ? 1 / scale[i] : 0, x->depth);
    }
    for (int64_t i = x->rows; i < rf__rows_read(x->shape, x->rows); i++)
        memset(block + i * x->shape->stride * x->shape->code, 0, (size_t)(x->shape->stride * x->shape->code));
}

static void multiply(const rf__multiplying *x)
{
    const rf__i8_weights *w = x->own;
    const rfk_i8_store store = {x->workspace, w->column + x->j, w->offset + x->j, x->bias};
    x->ctx->k->gemm_panel_i8((int32_t *)(void *)x->c, x->ldc, block_of(x->shape, x->workspace, x->at), x->panel,
                             x->rows, x->n, x->depth, x->add, x->last ? &store : NULL);
}

static bool meet(const rf__meeting *x)
{
    const rf__i8_weights *w = x->own;
    const rf__tile_products *tiles = rf__tile_products_of(x->ctx);
    const rfk_i8_store store = {x->workspace, w->column + x->j, w->offset + x->j, x->bias};
    if (tiles)
        tiles->i8(&(rf__tile_block){
            .a = block_of(x->shape, x->workspace, 0),
            .cut = x->height * x->shape->stride,
            .rows = x->rows,
            .k = x->k,
            .step = x->step,
            .panel = x->panel,
            .panel_size = x->deep * x->shape->columns,
            .n = x->n,
            .c = x->c,
            .ldc = x->ldc,
            .add = x->add,
            .last = x->last,
            .act = x->act,
            .store = &store,
            .space = block_of(x->shape, x->workspace, height(x->shape)),
        });
    return tiles != NULL;
}

/* ---- panels of b ------------------------------------------------------------------------------------------------- */

enum { DEEP = 512 };                    /* weights of a column that are processed together */

/* Column j in int8, from p on. */
static const int8_t *column(const rf__packing *p, int64_t j, int64_t from, int64_t deep, int8_t *to)
{
    const rf__i8_weights *w = p->own;
    const int64_t at = j * p->b.ld + from;
    if (w->given) return w->given + at;
    p->ctx->k->to_i8(to, p->b.f32 + at, w->column[j] > 0 ? 1 / w->column[j] : 0, deep);
    return to;
}

/* Writes n codes of a column, which begins at `to`, in groups that are `step` apart. */
static inline void place(int8_t *to, int64_t step, int64_t group, const int8_t *x, int64_t n)
{
    int64_t i = 0;
    for (; i + group <= n; i += group, to += step) memcpy(to, x + i, (size_t)group);
    for (int64_t k = 0; i < n; i++) to[k++] = x[i];
}

/* The same: one store for each group. */
static void place_groups(int8_t *to, int64_t step, int64_t group, const int8_t *x, int64_t n)
{
    if (group == 1) place(to, step, 1, x, n);
    else if (group == 2) place(to, step, 2, x, n);
    else if (group == 4) place(to, step, 4, x, n);
    else place(to, step, group, x, n);
}

void rf__i8_pack_panel(const rf__packing *p, int64_t q)
{
    rf__i8_weights *w = p->own;
    const int64_t columns = p->shape->columns, group = p->shape->interleave;
    const int64_t first = q * columns, width = rf__min64(columns, p->n - first);
    int8_t *out = (int8_t *)p->out + first * p->deep, piece[DEEP];
    int16_t one[DEEP];
    for (int i = 0; i < DEEP; i++) one[i] = 1;
    memset(out, 0, (size_t)(p->deep * columns));
    for (int64_t j = 0; j < width; j++) {
        int32_t sum = 0;
        if (!w->given) w->column[first + j] = p->ctx->k->largest_size(p->b.f32 + (first + j) * p->b.ld, p->k) / 127;
        for (int64_t from = 0; from < p->k; from += DEEP) {
            const int64_t deep = rf__min64(DEEP, p->k - from);
            const int8_t *x = column(p, first + j, from, deep, piece);
            int32_t part = 0;
            if (p->shape->zero) p->ctx->k->dots_i8(&part, x, one, 1, deep);
            sum += part;
            place_groups(out + (from / group * columns + j) * group, columns * group, group, x, deep);
        }
        w->offset[first + j] = -(int32_t)p->shape->zero * sum;
    }
}

static const rf__element i8 = {
    .size = 1,
    .shape = shape,
    .workspace = workspace,
    .copy = copy,
    .multiply = multiply,
    .meet = meet,
    .pack_panel = rf__i8_pack_panel,
};

/* ---- the calls --------------------------------------------------------------------------------------------------- */

/* A row of weights must have a scale, and at least one nonzero weight. */
static rf_status check_weights(const rf_ctx *ctx, int64_t n, int64_t k, const float *from, rf_error *why)
{
    float largest = 0;
    for (int64_t j = 0; j < n; j++) {
        const float size = ctx->k->largest_size(from + j * k, k);
        if (!isfinite(size))
            return rf_fail(why, RF_ENUMERIC, "int8 weights: row %lld: expected finite values, got NaN or infinity",
                           (long long)j);
        if (size > LARGEST || (size > 0 && size < SMALLEST))
            return rf_fail(why, RF_ENUMERIC,
                           "int8 weights: row %lld: expected a largest absolute value of %g..%g for the scale, got %g",
                           (long long)j, (double)SMALLEST, (double)LARGEST, (double)size);
        largest = fmaxf(largest, size);
    }
    if (largest == 0)
        return rf_fail(why, RF_ENUMERIC, "int8 weights: expected a value that is not 0 for the scale, got only zeros");
    return RF_OK;
}

static rf_status check_scales(const rf_packed *w, const float *scale, rf_error *why)
{
    for (int64_t j = 0; j < w->n; j++)
        if (!(scale[j] >= SMALLEST / 127 && scale[j] <= LARGEST))
            return rf_fail(why, RF_ENUMERIC, "int8 weights: scale of row %lld: expected %g..%g, got %g", (long long)j,
                           (double)(SMALLEST / 127), (double)LARGEST, (double)scale[j]);
    return RF_OK;
}

rf_status rf__i8_pack(const rf__element *e, const rf_ctx *ctx, rf_packed *w, const float *from, const int8_t *given,
                      const float *scale, rf_error *why)
{
    rf_status status = given ? check_scales(w, scale, why) : check_weights(ctx, w->n, w->k, from, why);
    if (status) return status;
    const int64_t columns = e->shape(ctx)->columns, n = (w->n + columns - 1) / columns * columns;
    rf__i8_weights *own = rf__calloc(ctx, 1, sizeof *own + (size_t)n * (sizeof *own->column + sizeof *own->offset));
    if (!own) return rf_fail(why, RF_ENOMEM, "out of memory: scales of %lld columns", (long long)n);
    *own = (rf__i8_weights){(float *)(void *)(own + 1), (int32_t *)(void *)((float *)(void *)(own + 1) + n), given};
    if (given) memcpy(own->column, scale, (size_t)w->n * sizeof *scale);
    w->own = own;
    status = rf__blocked_pack(e, ctx, w, from, why);
    own->given = NULL;
    return status;
}

void rf__i8_forget(rf_packed *w) { rf__free(w->ctx, w->own); }

static rf_status check_length(const rf_packed *w, rf_error *why)
{
    if (w->k <= LONGEST) return RF_OK;
    return rf_fail(why, RF_EUNSUPPORTED,
                   "int8 weights: expected rows of at most %d, whose sums are exact, got %lld", LONGEST,
                   (long long)w->k);
}

static rf_status pack(const rf_ctx *ctx, rf_packed *w, const float *from, rf_error *why)
{
    const rf_status status = check_length(w, why);
    return status ? status : rf__i8_pack(&i8, ctx, w, from, NULL, NULL, why);
}

static rf_status pack_codes(const rf_ctx *ctx, rf_packed *w, const int8_t *q, const float *scale, rf_error *why)
{
    const rf_status status = check_length(w, why);
    return status ? status : rf__i8_pack(&i8, ctx, w, NULL, q, scale, why);
}

rf_status rf__quantize_int8(const rf_ctx *ctx, int64_t n, int64_t k, const float *w, int8_t *q, float *scale,
                            rf_error *why)
{
    if (!(ctx && w && q && scale)) return rf__missing("rf__quantize_int8", "ctx, w, q, scale", why);
    if (n < 1 || k < 1)
        return rf_fail(why, RF_EARG, "int8 weights: expected sizes above 0, got [%lld,%lld]", (long long)n,
                       (long long)k);
    const rf_status status = check_weights(ctx, n, k, w, why);
    for (int64_t j = 0; j < n && !status; j++) {
        const float size = ctx->k->largest_size(w + j * k, k) / 127;
        ctx->k->to_i8(q + j * k, w + j * k, size > 0 ? 1 / size : 0, k);
        scale[j] = size > 0 ? size : 1;
    }
    return status;
}

static rf_status packed(const rf_ctx *ctx, const rf_packed *w, int64_t m, const float *x, int64_t ldx,
                        const float *bias, rf_act act, float *y, int64_t ldy, rf_error *why)
{
    return rf__blocked_packed(&i8, ctx, w, m, x, ldx, bias, act, y, ldy, why);
}

static int64_t pairs(const rf_ctx *ctx, const rf_packed *up, int64_t m) { return rf__blocked_pairs(&i8, ctx, up, m); }

static rf_status pair(const rf_ctx *ctx, const rf__pair *x, int64_t count, rf_error *why)
{
    return rf__blocked_pair(&i8, ctx, x, count, why);
}

const rf__products rf__products_i8 = {"built-in, int8", NULL, pack, rf__i8_forget, packed, pairs, pair, pack_codes};
