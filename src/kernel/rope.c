/* rope.c — tables of angles, and the rotation of many tokens.                              RoFormer, Secs. 3.2-3.4:
 *
 *     theta_i = base^(-2i/r),   row m of the tables:  cos(m theta_i), sin(m theta_i)  for i in [0, r/2)
 *
 * The angle is computed in double: at m = 65535 the error of m theta_i is 1e-3 in float and 1e-11 in double.         */
#include "roformer/kernel/rope.h"

#include <math.h>

#include "base/base.h"

struct rf_rope {
    const rf_ctx *ctx;
    rf_rope_spec spec;
    int64_t rows;
    float *cos, *sin;                   /* after this struct, in the same block as theta */
    double *theta;
};

/* ---- making a table ---------------------------------------------------------------------------------------------- */

enum { ROWS_AT_ONCE = 64 };

typedef struct filling {
    const rf_rope *rope;
    const int32_t *position;
    rf_rope_angle *angle;
    const void *what;
} filling;

static void fill(void *arg, int64_t block, int worker)
{
    (void)worker;
    const filling *f = arg;
    const rf_rope *rope = f->rope;
    const int64_t half = rope->spec.rotary / 2, first = block * ROWS_AT_ONCE;
    const int64_t last = rf__min64(first + ROWS_AT_ONCE, rope->rows);
    for (int64_t row = first; row < last && f->angle; row++)
        for (int64_t i = 0; i < half; i++) {
            double angle = 0, gain = 1;
            f->angle(f->what, row, i, &angle, &gain);
            rope->cos[row * half + i] = (float)(gain * cos(angle));
            rope->sin[row * half + i] = (float)(gain * sin(angle));
        }
    for (int64_t row = first; row < last && !f->angle; row++) {
        const double m = f->position ? (double)f->position[row] : (double)row;
        for (int64_t i = 0; i < half; i++) {
            rope->cos[row * half + i] = (float)cos(m * rope->theta[i]);
            rope->sin[row * half + i] = (float)sin(m * rope->theta[i]);
        }
    }
}

static size_t padded(size_t bytes) { return (bytes + 63) & ~(size_t)63; }

/* One block: [struct | theta | cos | sin], each part starting on a cache line. */
static rf_status make(const rf_ctx *ctx, const rf_rope_spec *spec, filling f, int64_t rows, rf_rope **out,
                      rf_error *why)
{
    if (spec->rotary < 2 || spec->rotary % 2)
        return rf_fail(why, RF_EARG, "rope: rotary: expected an even number of at least 2, got %lld",
                       (long long)spec->rotary);
    if (!(spec->base > 0) || !isfinite(spec->base))
        return rf_fail(why, RF_EARG, "rope: base: expected a finite number above 0, got %g", spec->base);
    if (spec->layout != RF_ROPE_PAIRS && spec->layout != RF_ROPE_HALVES)
        return rf_fail(why, RF_EARG, "rope: layout: expected RF_ROPE_PAIRS or RF_ROPE_HALVES, got %d",
                       (int)spec->layout);

    const size_t half = (size_t)spec->rotary / 2, head = padded(sizeof(rf_rope));
    size_t angles = 0, table = 0, total = 0;
    const bool fits = spec->rotary / 2 <= (int64_t)(SIZE_MAX / 64) && (uint64_t)rows < SIZE_MAX &&
                      rf__checked_mul((size_t)rows, half, &table) && table <= SIZE_MAX / 64;
    if (fits) {
        angles = padded(half * sizeof(double));
        table = padded(table * sizeof(float));
    }
    char *block = fits && rf__checked_add(2 * table, head + angles, &total) ? rf__alloc(ctx, total) : NULL;
    if (!block)
        return rf_fail(why, RF_ENOMEM, "out of memory: rope tables of %lld positions and rotary %lld", (long long)rows,
                       (long long)spec->rotary);

    rf_rope *rope = (rf_rope *)(void *)block;
    *rope = (rf_rope){
        .ctx = ctx,
        .spec = *spec,
        .rows = rows,
        .theta = (double *)(void *)(block + head),
        .cos = (float *)(void *)(block + head + angles),
        .sin = (float *)(void *)(block + head + angles + table),
    };
    for (size_t i = 0; i < half; i++) rope->theta[i] = pow(spec->base, -2.0 * (double)i / (double)spec->rotary);
    f.rope = rope;
    rf__parallel(ctx, rows / ROWS_AT_ONCE + (rows % ROWS_AT_ONCE != 0), fill, &f);
    *out = rope;
    return RF_OK;
}

rf_status rf_rope_new(const rf_ctx *ctx, const rf_rope_spec *spec, int64_t positions, rf_rope **out, rf_error *why)
{
    if (!(ctx && spec && out)) return rf__missing("rf_rope_new", "ctx, spec, out", why);
    if (positions < 1)
        return rf_fail(why, RF_EARG, "rope: positions: expected at least 1, got %lld", (long long)positions);
    return make(ctx, spec, (filling){0}, positions, out, why);
}

rf_status rf_rope_at(const rf_ctx *ctx, const rf_rope_spec *spec, const int32_t position[], int64_t n, rf_rope **out,
                     rf_error *why)
{
    if (!(ctx && spec && (position || n <= 0) && out))
        return rf__missing("rf_rope_at", "ctx, spec, positions, out", why);
    if (n < 1) return rf_fail(why, RF_EARG, "rope: positions: expected at least 1, got %lld", (long long)n);
    return make(ctx, spec, (filling){.position = position}, n, out, why);
}

rf_status rf_rope_make(const rf_ctx *ctx, int64_t rotary, rf_rope_layout layout, int64_t rows, rf_rope_angle *angle,
                       const void *what, rf_rope **out, rf_error *why)
{
    if (!(ctx && angle && out)) return rf__missing("rf_rope_make", "ctx, angle, out", why);
    if (rows < 1) return rf_fail(why, RF_EARG, "rope: rows: expected at least 1, got %lld", (long long)rows);
    const rf_rope_spec spec = {rotary, 1, layout};
    return make(ctx, &spec, (filling){.angle = angle, .what = what}, rows, out, why);
}

void rf_rope_free(rf_rope *rope)
{
    if (rope) rf__free(rope->ctx, rope);
}

int64_t rf_rope_rows(const rf_rope *rope) { return rope->rows; }
const rf_rope_spec *rf_rope_spec_of(const rf_rope *rope) { return &rope->spec; }
const float *rf_rope_cos(const rf_rope *rope) { return rope->cos; }
const float *rf_rope_sin(const rf_rope *rope) { return rope->sin; }

/* ---- rotation ---------------------------------------------------------------------------------------------------- */

typedef struct rotation {
    const rfk_table *k;
    const rf_rope *rope;
    float *y;
    const float *x;
    const int32_t *row;
    int64_t N, H, d, at_once;
    float dir;
} rotation;

static void rotate(void *arg, int64_t block, int worker)
{
    (void)worker;
    const rotation *t = arg;
    const int64_t r = t->rope->spec.rotary, width = t->H * t->d, last = rf__min64((block + 1) * t->at_once, t->N);
    const bool pairs = t->rope->spec.layout == RF_ROPE_PAIRS;
    for (int64_t n = block * t->at_once; n < last; n++) {
        const int64_t angles = (t->row ? t->row[n] : n) * (r / 2);
        (pairs ? t->k->rope_pairs : t->k->rope_halves)(t->y + n * width, t->x + n * width, t->rope->cos + angles,
                                                       t->rope->sin + angles, t->dir, t->H, t->d, r);
    }
}

rf_status rf_rope_rotate(const rf_ctx *ctx, const rf_rope *rope, float *y, const float *x, const int32_t row[],
                         int64_t N, int64_t H, int64_t d, int dir, rf_error *why)
{
    if (!(ctx && rope && ((y && x) || N <= 0 || H <= 0))) return rf__missing("rf_rope_rotate", "ctx, table, y, x", why);
    if (dir != 1 && dir != -1) return rf_fail(why, RF_EARG, "rope: direction: expected 1 or -1, got %d", dir);
    if (N < 0 || H < 0)
        return rf_fail(why, RF_ESHAPE, "rope: expected 0 or more tokens and heads, got %lld tokens of %lld heads",
                       (long long)N, (long long)H);
    if (d < rope->spec.rotary)
        return rf_fail(why, RF_ESHAPE, "rope: expected heads of at least the rotated %lld columns, got a width of %lld",
                       (long long)rope->spec.rotary, (long long)d);
    if (!row && N > rope->rows)
        return rf_fail(why, RF_ERANGE, "rope: expected at most as many tokens as the table has rows, %lld, got %lld",
                       (long long)rope->rows, (long long)N);
    for (int64_t n = 0; row && n < N; n++)
        if (row[n] < 0 || row[n] >= rope->rows)
            return rf_fail(why, RF_ERANGE, "rope: token %lld: expected a row from 0 to below the table's %lld, got %d",
                           (long long)n, (long long)rope->rows, (int)row[n]);
    if (!N || !H) return RF_OK;

    const int64_t at_once = rf__max64(1, 32768 / (H * d));      /* about 128 KiB of x for each block */
    rotation t = {ctx->k, rope, y, x, row, N, H, d, at_once, (float)dir};
    rf__parallel(ctx, N / at_once + (N % at_once != 0), rotate, &t);
    return RF_OK;
}
