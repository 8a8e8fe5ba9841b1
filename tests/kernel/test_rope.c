/* test_rope.c — mirrors src/kernel/rope.c, src/kernel/bodies/rope.inc and src/kernel/ref/rope.c. */
#include "roformer/kernel/rope.h"
#include "rungs.h"

typedef void rope_kernel(float *, const float *, const float *, const float *, float, int64_t, int64_t, int64_t);

static rope_kernel *kernel_of(const rfk_table *k, rf_rope_layout layout)
{
    return layout == RF_ROPE_PAIRS ? k->rope_pairs : k->rope_halves;
}

static rf_rope *angles(const rf_ctx *ctx, int64_t r, rf_rope_layout layout, int64_t positions)
{
    rf_rope *rope = NULL;
    rf_error why = {0};
    const rf_rope_spec spec = {r, 10000, layout};
    if (rf_rope_new(ctx, &spec, positions, &rope, &why)) fail_msg("%s", why.text);
    return rope;
}

/* Eqs. 14-15 in double: each plane is multiplied with its 2 x 2 matrix. */
static void printed(double *y, const float *x, const float *c, const float *s, double dir, int64_t heads, int64_t d,
                    int64_t r, rf_rope_layout layout)
{
    for (int64_t j = 0; j < heads * d; j++) y[j] = x[j];
    for (int64_t h = 0; h < heads; h++)
        for (int64_t i = 0; i < r / 2; i++) {
            const int64_t p = h * d + (layout == RF_ROPE_PAIRS ? 2 * i : i);
            const int64_t q = layout == RF_ROPE_PAIRS ? p + 1 : p + r / 2;
            y[p] = (double)x[p] * c[i] - dir * x[q] * s[i];
            y[q] = dir * x[p] * s[i] + (double)x[q] * c[i];
        }
}

/* Two products and a sum of numbers below 1: each product and the sum round once, 2 ulp are plenty. */
static void every_rung_rotates_as_printed(void **state)
{
    (void)state;
    static const int64_t widths[][2] = {{2, 2},   {6, 6},   {14, 14}, {16, 16},  {30, 30},  {32, 32},  {62, 62},
                                        {64, 64}, {64, 32}, {64, 20}, {66, 66},  {80, 64},  {100, 98}, {128, 128},
                                        {130, 2}, {65, 64}, {17, 6},  {256, 256}, {192, 162}, {7, 4}};
    for (size_t w = 0; w < RF_COUNT(widths); w++)
        for (int64_t heads = 0; heads <= 12; heads += 3)
            for (int layout = RF_ROPE_PAIRS; layout <= RF_ROPE_HALVES; layout++) {
                const int64_t d = widths[w][0], r = widths[w][1], n = heads * d;
                const float *x = t_uniform(n, -1, 1), *angle = t_uniform(r / 2, -100, 100);
                float *c = t_floats(r / 2), *s = t_floats(r / 2);
                double *expected = t_bytes((size_t)n * sizeof *expected);
                for (int64_t i = 0; i < r / 2; i++) {
                    c[i] = cosf(angle[i]);
                    s[i] = sinf(angle[i]);
                }
                for (float dir = -1; dir <= 1; dir += 2) {
                    printed(expected, x, c, s, dir, heads, d, r, (rf_rope_layout)layout);
                    rfk_table k;
                    for (EACH_RUNG(k)) {
                        rope_kernel *rotate = kernel_of(&k, (rf_rope_layout)layout);
                        float *y = t_floats(n), *in_place = copied(x, n, 0), *odd = t_floats(n + 1);
                        rotate(y, x, c, s, dir, heads, d, r);
                        t_close_to(y, expected, n, 2 * EPS, 0);
                        rotate(in_place, in_place, c, s, dir, heads, d, r);
                        same_bits(in_place, y, n, "in place");
                        rotate(odd + 1, copied(x, n, 3), c, s, dir, heads, d, r);
                        same_bits(odd + 1, y, n, "at an odd address");
                    }
                }
                t_free_all();
            }
}

static double inner(const float *a, const float *b, int64_t n)
{
    double sum = 0;
    for (int64_t i = 0; i < n; i++) sum += (double)a[i] * b[i];
    return sum;
}

/* Rotation preserves lengths, and rotating back inverts it: both to a few roundings of numbers of size 1. */
static void length_is_kept_and_back_is_back(void **state)
{
    (void)state;
    const int64_t H = 12, d = 64, n = H * d;
    for (int layout = RF_ROPE_PAIRS; layout <= RF_ROPE_HALVES; layout++) {
        rf_ctx *ctx = t_ctx(1, NULL);
        rf_rope *rope = angles(ctx, d, (rf_rope_layout)layout, 2000);
        const float *x = t_normal(n);
        rfk_table k;
        for (EACH_RUNG(k))
            for (int64_t m = 0; m < 2000; m += 397) {
                const float *c = rf_rope_cos(rope) + m * d / 2, *s = rf_rope_sin(rope) + m * d / 2;
                float *y = t_floats(n), *z = t_floats(n);
                kernel_of(&k, (rf_rope_layout)layout)(y, x, c, s, 1, H, d, d);
                t_near(inner(y, y, n), inner(x, x, n), 4 * EPS * inner(x, x, n));
                kernel_of(&k, (rf_rope_layout)layout)(z, y, c, s, -1, H, d, d);
                t_close(z, x, n, 16 * EPS, 0);
            }
        rf_rope_free(rope);
        rf_ctx_free(ctx);
        t_free_all();
    }
}

/* R_a R_b = R_{a+b}: the tables are rounded once, two rotations add two such errors to numbers up to 5. */
static void rotations_add_up(void **state)
{
    (void)state;
    const int64_t d = 64;
    rf_ctx *ctx = t_ctx(1, NULL);
    rf_rope *rope = angles(ctx, d, RF_ROPE_PAIRS, 1000);
    const float *x = t_normal(d);
    static const int32_t pair[][2] = {{0, 0}, {1, 1}, {3, 8}, {100, 500}, {499, 500}};
    for (size_t i = 0; i < RF_COUNT(pair); i++) {
        float *ab = t_floats(d), *sum = t_floats(d);
        const int32_t a = pair[i][0], b = pair[i][1], c = a + b;
        assert_int_equal(rf_rope_rotate(ctx, rope, ab, x, &a, 1, 1, d, 1, NULL), RF_OK);
        assert_int_equal(rf_rope_rotate(ctx, rope, ab, ab, &b, 1, 1, d, 1, NULL), RF_OK);
        assert_int_equal(rf_rope_rotate(ctx, rope, sum, x, &c, 1, 1, d, 1, NULL), RF_OK);
        t_close(ab, sum, d, 20 * EPS, 0);
    }
    rf_rope_free(rope);
    rf_ctx_free(ctx);
    t_free_all();
}

/* Eq. 16: <R(m) q, R(n) k> depends only on n - m, also 1000 positions later.  64 products of numbers of size 1, each
 * with three roundings of half an ulp. */
static void scores_see_only_distance(void **state)
{
    (void)state;
    const int64_t d = 64;
    rf_ctx *ctx = t_ctx(1, NULL);
    rf_rope *rope = angles(ctx, d, RF_ROPE_PAIRS, 3000);
    const float *q = t_normal(d), *k = t_normal(d);
    for (int32_t distance = 0; distance < 900; distance += 113) {
        double first = 0;
        for (int32_t m = 0; m < 2000; m += m ? 500 : 1) {
            const int32_t n = m + distance;
            float *qm = t_floats(d), *kn = t_floats(d);
            assert_int_equal(rf_rope_rotate(ctx, rope, qm, q, &m, 1, 1, d, 1, NULL), RF_OK);
            assert_int_equal(rf_rope_rotate(ctx, rope, kn, k, &n, 1, 1, d, 1, NULL), RF_OK);
            const double score = inner(qm, kn, d);
            if (m == 0) first = score;
            t_near(score, first, 3 * (double)d * EPS);
        }
    }
    rf_rope_free(rope);
    rf_ctx_free(ctx);
    t_free_all();
}

/* The two layouts are one rotation of permuted coordinates: bit for bit. */
static void layouts_differ_by_a_permutation(void **state)
{
    (void)state;
    const int64_t d = 64;
    const float *x = t_normal(d), *c = t_uniform(d / 2, -1, 1), *s = t_uniform(d / 2, -1, 1);
    float *split = t_floats(d), *pairs = t_floats(d), *halves = t_floats(d);
    for (int64_t i = 0; i < d / 2; i++) {
        split[i] = x[2 * i];
        split[d / 2 + i] = x[2 * i + 1];
    }
    rfk_table k;
    for (EACH_RUNG(k)) {
        k.rope_pairs(pairs, x, c, s, 1, 1, d, d);
        k.rope_halves(halves, split, c, s, 1, 1, d, d);
        for (int64_t i = 0; i < d / 2; i++) {
            t_near(halves[i], pairs[2 * i], 2 * EPS);
            t_near(halves[d / 2 + i], pairs[2 * i + 1], 2 * EPS);
        }
    }
    t_free_all();
}

/* ---- numbers of others ------------------------------------------------------------------------------------------- */

/* Hugging Face, tests/models/roformer/test_modeling_roformer.py, to the 1e-4 that it prints. */
static void golden_sinusoids(void **state)
{
    (void)state;
    static const double row1[] = {.8415, .8219, .8020, .7819, .7617}, row2[] = {.9093, .9364, .9581, .9749, .9870};
    rf_ctx *ctx = t_ctx(1, NULL);
    rf_rope *rope = angles(ctx, 512, RF_ROPE_PAIRS, 3), *six = angles(ctx, 6, RF_ROPE_PAIRS, 2);
    for (int i = 0; i < 5; i++) {
        t_near(rf_rope_sin(rope)[i], 0, 0);
        t_near(rf_rope_sin(rope)[256 + i], row1[i], 1e-4);
        t_near(rf_rope_sin(rope)[512 + i], row2[i], 1e-4);
    }
    static const double sin6[] = {.8415, .0464, .0022}, cos6[] = {.5403, .9989, 1.0000};
    t_close_to(rf_rope_sin(six) + 3, sin6, 3, 1e-4, 0);
    t_close_to(rf_rope_cos(six) + 3, cos6, 3, 1e-4, 0);
    rf_rope_free(six);
    rf_rope_free(rope);
    rf_ctx_free(ctx);
}

static void golden_rotation(void **state)
{
    (void)state;
    static const double expected[6][8] = {
        {0, .01, .02, .03, .04, .05, .06, .07},
        {-.2012, .8897, .0263, .9401, .2074, .9463, .3481, .9343},
        {-1.7057, .6271, -1.2145, 1.3897, -.6303, 1.7647, -.1173, 1.8985},
        {-2.1731, -1.6397, -2.7358, .2854, -2.1840, 1.7183, -1.3018, 2.4871},
        {.2717, -3.6173, -2.9206, -2.1988, -3.6638, .3858, -2.9155, 2.2980},
        {3.9859, -2.1580, -.7984, -4.4904, -4.1181, -2.0252, -4.4782, 1.1253},
    };
    rfk_table k;
    for (EACH_RUNG(k)) {
        rf_ctx *ctx = t_ctx(1, k.isa);
        rf_rope *rope = angles(ctx, 64, RF_ROPE_PAIRS, 6);
        float *x = t_floats(6 * 64), *y = t_floats(6 * 64);
        for (int i = 0; i < 6 * 64; i++) x[i] = (float)i / 100;
        assert_int_equal(rf_rope_rotate(ctx, rope, y, x, NULL, 6, 1, 64, 1, NULL), RF_OK);
        for (int m = 0; m < 6; m++) t_close_to(y + 64 * m, expected[m], 8, 1e-4, 0);
        rf_rope_free(rope);
        rf_ctx_free(ctx);
        t_free_all();
    }
}

/* Eq. 37: (2/d) sum_j |S_j| with S_j = sum_{i<j} e^(i m theta_i), the curve of Fig. 2; at distance 0 it is (d/2 + 1)/2,
 * and theta counted from 1 instead of 0 would give 16.185404 at distance 1 for d = 64. */
static void golden_decay(void **state)
{
    (void)state;
    static const struct { int64_t d; int32_t m; double expected; } row[] = {
        {64, 0, 16.5},       {64, 1, 15.947764},  {64, 2, 14.484515},   {64, 5, 10.427632},  {64, 10, 8.814334},
        {64, 20, 8.010578},  {64, 50, 5.733077},  {64, 100, 7.465277},  {64, 150, 4.224175}, {64, 200, 3.860478},
        {64, 250, 3.6687},   {64, 1000, 4.089691}, {128, 0, 32.5},      {128, 1, 31.538166}, {128, 10, 17.954137},
        {128, 100, 10.22733}, {128, 1000, 4.470761}, {256, 1, 62.711337}, {256, 50, 22.632196}, {256, 250, 12.788443},
    };
    rf_ctx *ctx = t_ctx(1, NULL);
    for (size_t i = 0; i < RF_COUNT(row); i++) {
        rf_rope *rope = NULL;
        const rf_rope_spec spec = {row[i].d, 10000, RF_ROPE_PAIRS};
        assert_int_equal(rf_rope_at(ctx, &spec, &row[i].m, 1, &rope, NULL), RF_OK);
        double re = 0, im = 0, sum = 0;
        for (int64_t j = 0; j < row[i].d / 2; j++) {
            re += rf_rope_cos(rope)[j];
            im += rf_rope_sin(rope)[j];
            sum += hypot(re, im);
        }
        t_near(sum / (double)(row[i].d / 2), row[i].expected, 2e-6);
        rf_rope_free(rope);
    }
    rf_ctx_free(ctx);
}

/* ---- tables ------------------------------------------------------------------------------------------------------ */

/* Against long double: the angle in double is off by |m theta| 2^-53, the table by half an ulp of 1. */
static void tables_are_exact(void **state)
{
    (void)state;
    static const int32_t position[] = {0, 1, -1, 2, 255, 256, 257, 65535, 1 << 20, -(1 << 24), INT32_MAX, INT32_MIN};
    const int64_t n = RF_COUNT(position), r = 64;
    rf_ctx *ctx = t_ctx(2, NULL);
    rf_rope *rope = NULL;
    const rf_rope_spec spec = {r, 10000, RF_ROPE_HALVES};
    assert_int_equal(rf_rope_at(ctx, &spec, position, n, &rope, NULL), RF_OK);
    assert_int_equal(rf_rope_rows(rope), n);
    assert_int_equal(rf_rope_spec_of(rope)->rotary, r);
    assert_int_equal(rf_rope_spec_of(rope)->layout, RF_ROPE_HALVES);
    assert_int_equal((uintptr_t)rf_rope_cos(rope) % 64, 0);
    assert_int_equal((uintptr_t)rf_rope_sin(rope) % 64, 0);
    for (int64_t m = 0; m < n; m++)
        for (int64_t i = 0; i < r / 2; i++) {
            const long double angle = position[m] * powl(10000, -2.0L * i / r);
            const double slack = 0.5 * EPS + fabs((double)angle) * 0x1p-51;
            t_near(rf_rope_cos(rope)[m * r / 2 + i], (double)cosl(angle), slack);
            t_near(rf_rope_sin(rope)[m * r / 2 + i], (double)sinl(angle), slack);
        }
    rf_rope_free(rope);

    rf_rope *all = angles(ctx, r, RF_ROPE_PAIRS, 300);
    for (int32_t m = 0; m < 300; m += 37) {
        assert_int_equal(rf_rope_at(ctx, &spec, &m, 1, &rope, NULL), RF_OK);
        same_bits(rf_rope_cos(rope), rf_rope_cos(all) + m * r / 2, r / 2, "cos by position and by table");
        same_bits(rf_rope_sin(rope), rf_rope_sin(all) + m * r / 2, r / 2, "sin by position and by table");
        rf_rope_free(rope);
    }
    rf_rope_free(all);
    rf_ctx_free(ctx);
}

/* Enough tokens for several blocks: any number of workers, any order of rows, in place, part of each head. */
static void many_tokens_rotate_like_one(void **state)
{
    (void)state;
    const int64_t N = 333, H = 3, d = 96, r = 64, width = H * d;
    rf_ctx *one = t_ctx(1, NULL), *two = t_ctx(2, NULL);
    rf_rope *rope = angles(one, r, RF_ROPE_PAIRS, N);
    const float *x = t_normal(N * width);
    float *y = t_floats(N * width), *z = copied(x, N * width, 0), *token = t_floats(width);
    int32_t *row = t_bytes((size_t)N * sizeof *row);
    for (int32_t n = 0; n < N; n++) row[n] = (int32_t)((n * 7) % N);
    assert_int_equal(rf_rope_rotate(one, rope, y, x, row, N, H, d, -1, NULL), RF_OK);
    assert_int_equal(rf_rope_rotate(two, rope, z, z, row, N, H, d, -1, NULL), RF_OK);
    same_bits(y, z, N * width, "one worker and two");
    for (int64_t n = 0; n < N; n++) {
        const int64_t at = row[n] * r / 2;
        rf_ctx_kernels(one)->rope_pairs(token, x + n * width, rf_rope_cos(rope) + at, rf_rope_sin(rope) + at, -1, H, d,
                                        r);
        same_bits(token, y + n * width, width, "one token and many");
    }
    assert_int_equal(rf_rope_rotate(one, rope, NULL, NULL, NULL, 0, H, d, 1, NULL), RF_OK);
    rf_rope_free(rope);
    rf_ctx_free(one);
    rf_ctx_free(two);
    t_free_all();
}

static void errors_name_their_cause(void **state)
{
    (void)state;
    rf_ctx *ctx = t_ctx(1, NULL);
    rf_rope *none = NULL;
#define REFUSED(code, part, call)            \
    do {                                     \
        rf_error why = {0};                  \
        assert_int_equal(call, code);        \
        t_failed(&why, code, part);          \
        assert_null(none);                   \
    } while (0)
    REFUSED(RF_EARG, "rotary: expected an even number of at least 2, got 3",
            rf_rope_new(ctx, &(rf_rope_spec){3, 1e4, 0}, 8, &none, &why));
    REFUSED(RF_EARG, "rotary: expected", rf_rope_new(ctx, &(rf_rope_spec){0, 1e4, 0}, 8, &none, &why));
    REFUSED(RF_EARG, "got -2", rf_rope_new(ctx, &(rf_rope_spec){-2, 1e4, 0}, 8, &none, &why));
    REFUSED(RF_EARG, "positions: expected at least 1", rf_rope_new(ctx, &(rf_rope_spec){4, 1e4, 0}, 0, &none, &why));
    REFUSED(RF_EARG, "base: expected", rf_rope_new(ctx, &(rf_rope_spec){4, 0, 0}, 8, &none, &why));
    REFUSED(RF_EARG, "number above 0, got -1", rf_rope_new(ctx, &(rf_rope_spec){4, -1, 0}, 8, &none, &why));
    REFUSED(RF_EARG, "above 0, got inf", rf_rope_new(ctx, &(rf_rope_spec){4, (double)INFINITY, 0}, 8, &none, &why));
    REFUSED(RF_EARG, "base: expected", rf_rope_new(ctx, &(rf_rope_spec){4, (double)NAN, 0}, 8, &none, &why));
    REFUSED(RF_EARG, "layout", rf_rope_new(ctx, &(rf_rope_spec){4, 1e4, (rf_rope_layout)7}, 8, &none, &why));
    REFUSED(RF_EARG, "layout: expected RF_ROPE_PAIRS or RF_ROPE_HALVES, got 0",
            rf_rope_new(ctx, &(rf_rope_spec){.rotary = 4, .base = 1e4}, 8, &none, &why));
    REFUSED(RF_ENOMEM, "rope tables",
            rf_rope_new(ctx, &(rf_rope_spec){64, 1e4, RF_ROPE_PAIRS}, INT64_MAX, &none, &why));
    REFUSED(RF_ENOMEM, "rope tables",
            rf_rope_new(ctx, &(rf_rope_spec){INT64_MAX - 1, 1e4, RF_ROPE_PAIRS}, 3, &none, &why));

    rf_rope *rope = angles(ctx, 64, RF_ROPE_PAIRS, 8);
    float *x = t_uniform(9 * 64, -1, 1);
    REFUSED(RF_ERANGE, "token 1: expected ... 0 ... 8, got 8",
            rf_rope_rotate(ctx, rope, x, x, (int32_t[]){7, 8}, 2, 1, 64, 1, &why));
    REFUSED(RF_ERANGE, "token 0: expected ... 0 ... 8, got -1",
            rf_rope_rotate(ctx, rope, x, x, (int32_t[]){-1}, 1, 1, 64, 1, &why));
    REFUSED(RF_ERANGE, "rope: expected ... 8, got 9",
            rf_rope_rotate(ctx, rope, x, x, NULL, 9, 1, 64, 1, &why));
    REFUSED(RF_ESHAPE, "got a width of 62", rf_rope_rotate(ctx, rope, x, x, NULL, 1, 1, 62, 1, &why));
    REFUSED(RF_ESHAPE, "got -1 tokens", rf_rope_rotate(ctx, rope, x, x, NULL, -1, 1, 64, 1, &why));
    REFUSED(RF_EARG, "direction: expected 1 or -1", rf_rope_rotate(ctx, rope, x, x, NULL, 1, 1, 64, 0, &why));
    rf_rope_free(rope);
    rf_rope_free(NULL);
    rf_ctx_free(ctx);
    t_free_all();
}

static void memory_may_run_out(void **state)
{
    (void)state;
    t_memory memory = {0};
    rf_ctx *ctx = t_counting_ctx(1, NULL, &memory);
    rf_rope *rope = NULL;
    rf_error why = {0};
    const long live = memory.live;
    memory.fail = memory.calls + 1;
    assert_int_equal(rf_rope_new(ctx, &(rf_rope_spec){64, 1e4, RF_ROPE_PAIRS}, 8, &rope, &why), RF_ENOMEM);
    assert_null(rope);
    memory.fail = 0;
    assert_int_equal(rf_rope_new(ctx, &(rf_rope_spec){64, 1e4, RF_ROPE_PAIRS}, 8, &rope, &why), RF_OK);
    rf_rope_free(rope);
    assert_int_equal(memory.live, live);
    rf_ctx_free(ctx);
    assert_int_equal(memory.live, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_rung_rotates_as_printed),
        cmocka_unit_test(length_is_kept_and_back_is_back),
        cmocka_unit_test(rotations_add_up),
        cmocka_unit_test(scores_see_only_distance),
        cmocka_unit_test(layouts_differ_by_a_permutation),
        cmocka_unit_test(golden_sinusoids),
        cmocka_unit_test(golden_rotation),
        cmocka_unit_test(golden_decay),
        cmocka_unit_test(tables_are_exact),
        cmocka_unit_test(many_tokens_rotate_like_one),
        cmocka_unit_test(errors_name_their_cause),
        cmocka_unit_test(memory_may_run_out),
    };
    return cmocka_run_group_tests_name("kernel/rope", tests, NULL, NULL);
}
