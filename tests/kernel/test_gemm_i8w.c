/* test_gemm_i8w.c — mirrors src/kernel/gemm/gemm_i8w.c: products in f32 or bf16 with weights in int8, and the kernels
 * that widen them.
 *
 * Bound.  y = c S + b with S = sum_p x_p q_p, where x is rounded to bf16 on rungs that multiply in bf16, and q is exact
 * in both types.  With u = 2^-24, a term is rounded once (rungs without a multiply-add) or not at all, and added once:
 * at most k u sum |x q| in total, in any order, and u more for the terms.  A piece of k is added to the sum of those
 * before: one rounding for each, of which there is at most one for 128 terms and one for a cut.  BFMMLA rounds
 * k / 2 + 1 times by less than 2 u.  The scale and the bias take two roundings of the result.                        */
#include "rungs.h"

#include "kernel/gemm/products.h"
#include "roformer/kernel/gemm.h"

static const double U = 5.9604644775390625e-08;

/* q [n,k] and x [m,k]. */
typedef struct problem {
    int64_t m, n, k;
    const float *x, *scale, *bias;
    const int8_t *q;
} problem;

static int8_t *codes(int64_t n)
{
    int8_t *q = t_bytes((size_t)n);
    const float *x = t_uniform(n, -128, 128);
    for (int64_t i = 0; i < n; i++) q[i] = (int8_t)floorf(x[i]);
    return q;
}

static rf_packed *packed(const rf_ctx *ctx, const problem *p)
{
    rf_packed *w = NULL;
    rf_error why = {0};
    if (rf__pack_int8(ctx, RF_I8W, p->n, p->k, p->q, p->scale, &w, &why)) fail_msg("%s: %s", rf_ctx_isa(ctx), why.text);
    return w;
}

/* [m, n + 3]; nothing is written beyond n. */
static const float *product(const rf_ctx *ctx, const problem *p, rf_act act)
{
    const int64_t ldy = p->n + 3;
    rf_packed *w = packed(ctx, p);
    float *y = t_floats(p->m * ldy);
    rf_error why = {0};
    if (rf_packed_product(ctx, w, p->m, p->x, p->k, p->bias, act, y, ldy, &why))
        fail_msg("%s: %s", rf_ctx_isa(ctx), why.text);
    for (int64_t i = 0; i < p->m; i++)
        for (int64_t j = p->n; j < ldy; j++) assert_true(isnan(y[i * ldy + j]));
    rf_packed_free(w);
    return y;
}

/* Sizes below a tile, a panel and a piece; of more panels, pieces, cuts and blocks than one. */
static const int64_t shapes[][3] = {{1, 1, 1},    {1, 33, 2},   {2, 31, 3},     {3, 32, 127},  {5, 64, 128},
                                    {7, 65, 129}, {14, 40, 64}, {15, 7, 255},   {16, 96, 256}, {45, 33, 257},
                                    {90, 5, 67},  {4, 3, 1541}, {260, 70, 800}, {2, 2, 6500}};

typedef struct way { const rf_ctx *ctx; bool in_bf16; } way;

static void everywhere(void (*check)(const problem *, const way *), const problem *p)
{
    rfk_table t;
    for (int threads = 1; threads <= 2; threads++)
        for (EACH_RUNG(t)) {
            rf_ctx *ctx = t_ctx(threads, t.isa);
            check(p, &(way){ctx, !t.gemm_panel_bf16_shape()->widened});
            rf_ctx_free(ctx);
        }
    t_check_fences();
    t_free_all();
}

static void wrong(const problem *p, const way *by, int64_t i, int64_t j, double got, double expected)
{
    fail_msg("%s, %d threads: m %lld n %lld k %lld: y[%lld,%lld] = %.9g, expected %.9g", rf_ctx_isa(by->ctx),
             rf_ctx_threads(by->ctx), (long long)p->m, (long long)p->n, (long long)p->k, (long long)i, (long long)j,
             got, expected);
}

/* ---- exact sums -------------------------------------------------------------------------------------------------- */

static double sum_of(const problem *p, int64_t i, int64_t j, bool in_bf16, double *size)
{
    double sum = 0;
    *size = 0;
    for (int64_t q = 0; q < p->k; q++) {
        const float x = p->x[i * p->k + q];
        const double term = (double)(in_bf16 ? rf__from_bf16(rf__bf16(x)) : x) * p->q[j * p->k + q];
        sum += term;
        *size += fabs(term);
    }
    return sum;
}

static void is_exact(const problem *p, const way *by)
{
    const float *y = product(by->ctx, p, RF_ACT_NONE);
    for (int64_t i = 0; i < p->m; i++)
        for (int64_t j = 0; j < p->n; j++) {
            double size;
            const double expected = sum_of(p, i, j, false, &size) * (double)p->scale[j] +
                                    (double)(p->bias ? p->bias[j] : 0);
            const float got = y[i * (p->n + 3) + j];
            if (got != (float)expected) wrong(p, by, i, j, (double)got, expected);
        }
}

/* With whole numbers in x, scales that are powers of two and small sums, nothing is rounded in either type. */
static void small_whole_numbers_are_exact(void **state)
{
    (void)state;
    for (size_t s = 0; s < RF_COUNT(shapes); s++) {
        const int64_t m = shapes[s][0], n = shapes[s][1], k = shapes[s][2];
        float *x = t_uniform(m * k, -8, 8), *scale = t_uniform(n, -3, 3), *bias = t_uniform(n, -64, 64);
        for (int64_t i = 0; i < m * k; i++) x[i] = rintf(x[i]);
        for (int64_t j = 0; j < n; j++) scale[j] = ldexpf(1, (int)rintf(scale[j])), bias[j] = rintf(bias[j]);
        everywhere(is_exact, &(problem){m, n, k, x, scale, s % 3 ? bias : NULL, codes(n * k)});
    }
}

/* ---- rounding ---------------------------------------------------------------------------------------------------- */

static void is_near(const problem *p, const way *by)
{
    const float *y = product(by->ctx, p, RF_ACT_NONE);
    for (int64_t i = 0; i < p->m; i++)
        for (int64_t j = 0; j < p->n; j++) {
            double size;
            const double scale = (double)p->scale[j], bias = p->bias ? (double)p->bias[j] : 0;
            const double sum = scale * sum_of(p, i, j, by->in_bf16, &size), expected = sum + bias;
            const double steps = (double)(p->k + p->k / 128 + p->k / 384 + 4);
            const double allowed = U * (steps * scale * size + 2 * (fabs(sum) + fabs(bias))) * (1 + 1e-3);
            const double got = (double)y[i * (p->n + 3) + j];
            if (!(fabs(got - expected) <= allowed)) wrong(p, by, i, j, got, expected);
        }
}

static void results_are_as_near_as_f32_or_bf16(void **state)
{
    (void)state;
    for (size_t s = 0; s < RF_COUNT(shapes); s++) {
        const int64_t m = shapes[s][0], n = shapes[s][1], k = shapes[s][2];
        const float *scale = t_uniform(n, 0x1p-10F, 0.125F), *bias = s % 3 ? t_normal(n) : NULL;
        everywhere(is_near, &(problem){m, n, k, t_normal(m * k), scale, bias, codes(n * k)});
    }
}

/* A sum of one piece has the bits of the other type's product with the same numbers; without a bias, with which tiles
 * begin their sums. */
static void has_the_bits_of_the_other_type(const problem *p, const way *by)
{
    const float *y = product(by->ctx, p, RF_ACT_GELU);
    float *w = t_floats(p->n * p->k), *right = t_floats(p->m * (p->n + 3));
    rf_packed *other = NULL;
    rf_error why = {0};
    for (int64_t i = 0; i < p->n * p->k; i++) w[i] = p->q[i];
    if (rf_pack(by->ctx, by->in_bf16 ? RF_BF16 : RF_F32, p->n, p->k, w, &other, &why) ||
        rf_packed_product(by->ctx, other, p->m, p->x, p->k, p->bias, RF_ACT_GELU, right, p->n + 3, &why))
        fail_msg("%s", why.text);
    for (int64_t i = 0; i < p->m; i++) same_bits(y + i * (p->n + 3), right + i * (p->n + 3), p->n, rf_ctx_isa(by->ctx));
    rf_packed_free(other);
}

/* On every rung but the reference, whose sums in f32 are those of the triple loop. */
static void unless_reference(const problem *p, const way *by)
{
    if (strcmp(rf_ctx_isa(by->ctx), "ref")) has_the_bits_of_the_other_type(p, by);
}

static void one_piece_has_the_bits_of_the_other_type(void **state)
{
    (void)state;
    enum { M = 100, N = 70, K = 128 };
    float *one = t_floats(N);
    for (int j = 0; j < N; j++) one[j] = 1;
    everywhere(unless_reference, &(problem){M, N, K, t_normal(M * K), one, NULL, codes(N * K)});
}

/* ---- a row does not see the others ------------------------------------------------------------------------------- */

static void batches_and_threads_do_not_show(void **state)
{
    (void)state;
    enum { MOST = 200, N = 130, K = 900 };
    const problem p = {MOST, N, K, t_normal(MOST * K), t_uniform(N, 0x1p-10F, 0.125F), t_normal(N), codes(N * K)};
    float *all = t_floats(MOST * N), *y = t_floats(MOST * N);
    rfk_table t;
    for (EACH_RUNG(t))
        for (int threads = 1; threads <= 3; threads++) {
            rf_ctx *ctx = t_ctx(threads, t.isa);
            rf_packed *w = packed(ctx, &p);
            float *to = threads == 1 ? all : y;
            assert_int_equal(rf_packed_product(ctx, w, MOST, p.x, K, p.bias, RF_ACT_GELU, to, N, NULL), RF_OK);
            same_bits(to, all, MOST * N, "threads");
            for (int64_t m = 1; m <= 100; m += m < 17 ? 5 : 79) {
                const int64_t first = m * 37 % (MOST - m);
                assert_int_equal(rf_packed_product(ctx, w, m, p.x + first * K, K, p.bias, RF_ACT_GELU, y, N, NULL),
                                 RF_OK);
                same_bits(y, all + first * N, m * N, "rows beside others");
            }
            rf_packed_free(w);
            rf_ctx_free(ctx);
        }
    t_check_fences();
    t_free_all();
}

static void a_row_that_is_not_finite_spoils_no_other(void **state)
{
    (void)state;
    enum { M = 40, N = 33, K = 50 };
    float *x = t_normal(M * K), *y = t_floats(M * N), *clean = t_floats(M * N);
    const problem p = {M, N, K, x, t_uniform(N, 0x1p-10F, 0.125F), t_normal(N), codes(N * K)};
    rf_ctx *ctx = t_ctx(2, NULL);
    rf_packed *w = packed(ctx, &p);
    assert_int_equal(rf_packed_product(ctx, w, M, x, K, p.bias, RF_ACT_NONE, clean, N, NULL), RF_OK);
    x[7 * K + 3] = NAN;
    assert_int_equal(rf_packed_product(ctx, w, M, x, K, p.bias, RF_ACT_NONE, y, N, NULL), RF_OK);
    same_bits(y, clean, 7 * N, "rows before");
    same_bits(y + 8 * N, clean + 8 * N, (M - 8) * N, "rows after");
    for (int j = 0; j < N; j++) assert_true(isnan(y[7 * N + j]));
    rf_packed_free(w);
    rf_ctx_free(ctx);
    t_check_fences();
    t_free_all();
}

/* ---- packing ----------------------------------------------------------------------------------------------------- */

/* Weights in f32 are quantized as for products in int8. */
static void packs_the_codes_of_int8(void **state)
{
    (void)state;
    enum { M = 9, N = 40, K = 333 };
    float *w = t_normal(N * K), *x = t_normal(M * K), *scale = t_floats(N), *a = t_floats(M * N), *b = t_floats(M * N);
    int8_t *q = t_bytes(N * K);
    for (int p = 0; p < K; p++) w[3 * K + p] = 0;
    rf_ctx *ctx = t_ctx(2, NULL);
    rf_packed *from_f32 = NULL, *from_codes = NULL;
    rf_error why = {0};
    if (rf__quantize_int8(ctx, N, K, w, q, scale, &why) || rf_pack(ctx, RF_I8W, N, K, w, &from_f32, &why) ||
        rf__pack_int8(ctx, RF_I8W, N, K, q, scale, &from_codes, &why) ||
        rf_packed_product(ctx, from_f32, M, x, K, NULL, RF_ACT_NONE, a, N, &why) ||
        rf_packed_product(ctx, from_codes, M, x, K, NULL, RF_ACT_NONE, b, N, &why))
        fail_msg("%s", why.text);
    same_bits(a, b, M * N, "weights in f32 and in int8");
    for (int i = 0; i < M; i++) assert_true(a[i * N + 3] == 0);
    rf_packed_free(from_f32);
    rf_packed_free(from_codes);
    rf_ctx_free(ctx);
    t_check_fences();
    t_free_all();
}

static void weights_without_a_scale_are_refused(void **state)
{
    (void)state;
    rf_ctx *ctx = t_ctx(1, NULL);
    rf_packed *p = NULL;
    rf_error why = {0};
    assert_int_equal(rf_pack(ctx, RF_I8W, 2, 2, (float[]){1, 2, NAN, 4}, &p, &why), RF_ENUMERIC);
    t_failed(&why, RF_ENUMERIC, "row 1: expected finite values");
    why = (rf_error){0};
    assert_int_equal(rf__pack_int8(ctx, RF_I8W, 2, 1, (int8_t[]){1, 2}, (float[]){1, 0}, &p, &why), RF_ENUMERIC);
    t_failed(&why, RF_ENUMERIC, "scale of row 1: expected");
    why = (rf_error){0};
    assert_int_equal(rf__pack_int8(ctx, RF_BF16, 2, 1, (int8_t[]){1, 2}, (float[]){1, 1}, &p, &why), RF_EUNSUPPORTED);
    t_failed(&why, RF_EUNSUPPORTED, "expected int8 (3) or int8w (5), got 1");
    float a[4] = {1, 2, 3, 4}, c[4];
    const rf_gemm_call call = {
        .m = 2, .n = 2, .k = 2, .a = a, .lda = 2, .b = a, .ldb = 2, .c = c, .ldc = 2, .type = RF_I8W};
    assert_int_equal(rf_gemm(ctx, &call, NULL), RF_EUNSUPPORTED);
    assert_null(p);
    assert_int_equal(rf__pack_int8(ctx, RF_I8W, 2, 0, NULL, NULL, &p, NULL), RF_OK);        /* an empty sum: the bias */
    assert_int_equal(rf_packed_product(ctx, p, 2, NULL, 0, a, RF_ACT_NONE, c, 2, NULL), RF_OK);
    assert_true(c[0] == 1 && c[3] == 2);
    rf_packed_free(p);
    rf_ctx_free(ctx);
}

/* Products in int8 have at most 65,536 terms; these have no such limit. */
static void rows_may_be_longer_than_in_int8(void **state)
{
    (void)state;
    enum { K = 1 << 17 };
    int8_t *q = t_bytes(K);
    float *x = t_floats(K), y = 0;
    memset(q, 127, K);
    memset(x, 0, K * sizeof *x);
    x[0] = x[65537] = x[K - 1] = 1;
    rf_ctx *ctx = t_ctx(1, NULL);
    const problem p = {1, 1, K, x, (float[]){2}, NULL, q};
    rf_packed *w = packed(ctx, &p);
    assert_int_equal(rf_packed_product(ctx, w, 1, x, K, NULL, RF_ACT_NONE, &y, 1, NULL), RF_OK);
    assert_true(y == 3 * 2 * 127);
    rf_packed_free(w);
    rf_ctx_free(ctx);
    t_free_all();
}

static rf_status pack_and_multiply(const rf_ctx *ctx, const void *what, rf_error *why)
{
    const problem *m = what;
    rf_packed *p = NULL;
    float y[20 * 40];
    rf_status s = rf__pack_int8(ctx, RF_I8W, m->n, m->k, m->q, m->scale, &p, why);
    if (!s) s = rf_packed_product(ctx, p, m->m, m->x, m->k, NULL, RF_ACT_NONE, y, m->n, why);
    rf_packed_free(p);
    return s;
}

static void no_memory(void **state)
{
    (void)state;
    const problem p = {20, 40, 50, t_normal(20 * 50), t_uniform(40, 0.125F, 1), NULL, codes(40 * 50)};
    fail_every_allocation(NULL, pack_and_multiply, &p);
    t_free_all();
}

/* ---- the small kernels ------------------------------------------------------------------------------------------- */

static void numbers_are_widened_exactly(void **state)
{
    (void)state;
    rfk_table k;
    for (EACH_RUNG(k))
        for (size_t s = 0; s < RF_COUNT(sizes); s++) {
            const int64_t n = sizes[s];
            int8_t *q = t_bytes((size_t)n + 3);
            float *y = t_floats(n);
            uint16_t *h = t_bytes((size_t)n * sizeof *h + 2);
            for (int64_t i = 0; i < n; i++) q[3 + i] = (int8_t)(i * 37 - 128);
            k.from_i8(y, q + 3, n);
            k.bf16_from_i8(h, q + 3, n);
            for (int64_t i = 0; i < n; i++) {
                assert_true(y[i] == (float)q[3 + i]);
                assert_true(rf__from_bf16(h[i]) == (float)q[3 + i]);
            }
            t_check_fences();
            t_free_all();
        }
}

static void columns_are_scaled(void **state)
{
    (void)state;
    enum { ROWS = 3 };
    rfk_table ref, k;
    assert_true(rfk_rung(0, &ref));
    for (EACH_RUNG(k))
        for (size_t s = 0; s < RF_COUNT(sizes); s++)
            for (int biased = 0; biased < 2; biased++) {
                const int64_t n = sizes[s], ld = n + 2;
                float *y = t_normal(ROWS * ld), *right = copied(y, ROWS * ld, 0);
                const float *x = copied(y, ROWS * ld, 0), *scale = t_normal(n), *bias = biased ? t_normal(n) : NULL;
                k.scale_columns(y, ld, ROWS, n, scale, bias);
                ref.scale_columns(right, ld, ROWS, n, scale, bias);
                for (int64_t i = 0; i < ROWS; i++) {
                    for (int64_t j = 0; j < n; j++) {
                        const double sized = fabs((double)x[i * ld + j] * (double)scale[j]);
                        t_near((double)y[i * ld + j], (double)right[i * ld + j],
                               EPS * (sized + (biased ? fabs((double)bias[j]) : 0)));
                    }
                    same_bits(y + i * ld + n, x + i * ld + n, 2, "beyond the columns");
                }
                t_check_fences();
                t_free_all();
            }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(small_whole_numbers_are_exact),
        cmocka_unit_test(results_are_as_near_as_f32_or_bf16),
        cmocka_unit_test(one_piece_has_the_bits_of_the_other_type),
        cmocka_unit_test(batches_and_threads_do_not_show),
        cmocka_unit_test(a_row_that_is_not_finite_spoils_no_other),
        cmocka_unit_test(packs_the_codes_of_int8),
        cmocka_unit_test(weights_without_a_scale_are_refused),
        cmocka_unit_test(rows_may_be_longer_than_in_int8),
        cmocka_unit_test(no_memory),
        cmocka_unit_test(numbers_are_widened_exactly),
        cmocka_unit_test(columns_are_scaled),
    };
    return cmocka_run_group_tests_name("kernel/gemm_i8w", tests, NULL, NULL);
}
