/* test_gemm_i8.c — mirrors src/kernel/gemm/gemm_i8.c, gemm_i8.inc, gemm_squares.inc, isa_avx512vnni.c,
 * src/kernel/isa/isa_avxvnni.c, src/kernel/isa/isa_neondot.c and src/kernel/isa/isa_neoni8mm.c: products with weights
 * in int8.
 *
 * Sums are integers, followed by separate operations in f32.  So there is no tolerance between rungs, batches and
 * threads: every bit is that of the formula in `expected`.
 *
 * Difference from the product of the inputs (a bound, not a tolerance).  x and w are replaced by the nearest multiples
 * of their row's scales r and c, at most half a scale away: |dx| <= r / 2, |dw| <= c / 2.  Then
 *     |sum_p (x + dx)(w + dw) - x w| <= sum_p (|x| c / 2 + |w| r / 2 + r c / 4),
 * and four roundings of the result and of the scales follow, each at most 2^-24 of it.                               */
#include "rungs.h"

#include "kernel/gemm/products.h"
#include "roformer/kernel/gemm.h"

/* ---- the printed formula ----------------------------------------------------------------------------------------- */

typedef struct problem {
    int64_t m, n, k;
    const float *x, *w, *bias;
    const int8_t *given;                /* weights in int8 with `scale`, instead of w */
    const float *scale;
} problem;

static float scale_of(const float *x, int64_t n)
{
    float size = 0;
    for (int64_t i = 0; i < n; i++) size = fmaxf(size, fabsf(x[i]));
    return size < 0x1p-100F ? 0 : size / 127;
}

static int8_t code(float x, float scale) { return scale > 0 ? (int8_t)rintf(x * (1 / scale)) : 0; }

static float expected(const problem *p, int64_t i, int64_t j)
{
    const float *x = p->x + i * p->k, *w = p->given ? NULL : p->w + j * p->k;
    const float row = scale_of(x, p->k), column = p->given ? p->scale[j] : scale_of(w, p->k);
    int64_t sum = 0;
    for (int64_t q = 0; q < p->k; q++)
        sum += (int64_t)code(x[q], row) * (p->given ? p->given[j * p->k + q] : code(w[q], column));
    return t_fmaf((float)sum * row, column, p->bias ? p->bias[j] : 0);
}

static float *formula(const problem *p)
{
    float *y = t_floats(p->m * p->n);
    for (int64_t i = 0; i < p->m; i++)
        for (int64_t j = 0; j < p->n; j++) y[i * p->n + j] = expected(p, i, j);
    return y;
}

static rf_packed *packed(const rf_ctx *ctx, const problem *p)
{
    rf_packed *w = NULL;
    rf_error why = {0};
    const rf_status s = p->given ? rf__pack_int8(ctx, RF_I8, p->n, p->k, p->given, p->scale, &w, &why)
                                 : rf_pack(ctx, RF_I8, p->n, p->k, p->w, &w, &why);
    if (s) fail_msg("%s: %s", rf_ctx_isa(ctx), why.text);
    return w;
}

/* The product has the bits of the formula, and writes nothing outside of it. */
static void as_printed(const problem *p, const float *right, const rf_ctx *ctx, const char *rung)
{
    const int64_t ldy = p->n + 3;
    rf_packed *w = packed(ctx, p);
    float *y = t_floats(p->m * ldy);
    rf_error why = {0};
    if (rf_packed_product(ctx, w, p->m, p->x, p->k, p->bias, RF_ACT_NONE, y, ldy, &why))
        fail_msg("%s: %s", rung, why.text);
    for (int64_t i = 0; i < p->m; i++) {
        for (int64_t j = 0; j < p->n; j++)
            if (memcmp(&y[i * ldy + j], &right[i * p->n + j], sizeof *y))
                fail_msg("%s, %d threads: m %lld n %lld k %lld: y[%lld,%lld] = %.9g, expected %.9g", rung,
                         rf_ctx_threads(ctx), (long long)p->m, (long long)p->n, (long long)p->k, (long long)i,
                         (long long)j, (double)y[i * ldy + j], (double)right[i * p->n + j]);
        for (int64_t j = p->n; j < ldy; j++) assert_true(isnan(y[i * ldy + j]));
    }
    rf_packed_free(w);
}

/* The kernels of avxvnni, on processors that have their instruction only in AVX-512's encoding. */
#ifdef T_AVXVNNI
extern const rfk_table rfk_avxvnni_evex;

static void avxvnni_elsewhere(const problem *p, const float *right, int threads)
{
    const char *name, *lacks;
    for (int i = 0; (name = rfk_rung_name(i, &lacks)); i++) {
        if (lacks || strcmp(name, "avx512vnni")) continue;
        rf_ctx *ctx = t_ctx(threads, "avx2");
        rfk_table table = *ctx->k;
        const rfk_table *const own = ctx->k;
        table.codes_i8 = rfk_avxvnni_evex.codes_i8;
        table.gemm_panel_i8_shape = rfk_avxvnni_evex.gemm_panel_i8_shape;
        table.gemm_panel_i8 = rfk_avxvnni_evex.gemm_panel_i8;
        ctx->k = &table;
        as_printed(p, right, ctx, "avxvnni in AVX-512's encoding");
        ctx->k = own;
        rf_ctx_free(ctx);
    }
}
#else
static void avxvnni_elsewhere(const problem *p, const float *right, int threads)
{
    (void)p, (void)right, (void)threads;
}
#endif

/* On every rung with one and with two threads. */
static void everywhere(const problem *p)
{
    const float *right = formula(p);
    rfk_table t;
    for (int threads = 1; threads <= 2; threads++) {
        for (EACH_RUNG(t)) {
            rf_ctx *ctx = t_ctx(threads, t.isa);
            as_printed(p, right, ctx, t.isa);
            rf_ctx_free(ctx);
        }
        avxvnni_elsewhere(p, right, threads);
    }
    t_check_fences();
    t_free_all();
}

static void rungs_have_the_bits_of_the_formula(void **state)
{
    (void)state;
    static const int64_t size[][3] = {{1, 1, 1},   {1, 33, 2},   {2, 31, 3},   {3, 32, 4},    {5, 64, 5},
                                      {7, 65, 63}, {14, 40, 64}, {15, 7, 65},  {16, 96, 255}, {45, 33, 100},
                                      {90, 5, 67}, {4, 3, 1541}, {3, 34, 3100}, {2, 2, 6500}};
    for (size_t s = 0; s < RF_COUNT(size); s++) {
        const int64_t m = size[s][0], n = size[s][1], k = size[s][2];
        everywhere(&(problem){m, n, k, t_normal(m * k), t_normal(n * k), s % 3 ? t_normal(n) : NULL, NULL, NULL});
    }
    for (int64_t m = 1; m <= 16; m++)
        everywhere(&(problem){m, 48, 96, t_normal(m * 96), t_normal(48 * 96), t_normal(48), NULL, NULL});
    for (int64_t m = 1; m <= 16; m += 3)                                        /* all cuts of k are held together */
        everywhere(&(problem){m, 35, 3101, t_normal(m * 3101), t_normal(35 * 3101), t_normal(35), NULL, NULL});
}

/* Compared with sums in double of the inputs. */
static void results_are_as_near_as_the_scales_allow(void **state)
{
    (void)state;
    enum { M = 9, N = 40, K = 333 };
    rf_ctx *ctx = t_ctx(2, NULL);
    const problem p = {M, N, K, t_normal(M * K), t_normal(N * K), t_normal(N), NULL, NULL};
    float *y = t_floats(M * N);
    rf_packed *w = packed(ctx, &p);
    assert_int_equal(rf_packed_product(ctx, w, M, p.x, K, p.bias, RF_ACT_NONE, y, N, NULL), RF_OK);
    for (int64_t i = 0; i < M; i++)
        for (int64_t j = 0; j < N; j++) {
            const double r = (double)scale_of(p.x + i * K, K), c = (double)scale_of(p.w + j * K, K);
            double sum = (double)p.bias[j], allowed = 0, size = fabs(sum);
            for (int64_t q = 0; q < K; q++) {
                const double a = (double)p.x[i * K + q], b = (double)p.w[j * K + q];
                sum += a * b;
                size += fabs(a * b);
                allowed += fabs(a) * c / 2 + fabs(b) * r / 2 + r * c / 4;
            }
            t_near((double)y[i * N + j], sum, allowed * (1 + 8 * EPS) + 4 * EPS * size);
        }
    rf_packed_free(w);
    rf_ctx_free(ctx);
    t_check_fences();
    t_free_all();
}

/* ---- ends of the range ------------------------------------------------------------------------------------------- */

static void the_longest_sums_are_exact(void **state)
{
    (void)state;
    enum { K = 65536, N = 3 };
    float *x = t_floats(2 * K), *scale = t_floats(N);
    int8_t *w = t_bytes(N * K);
    for (int64_t q = 0; q < K; q++) {
        x[q] = 2;
        x[K + q] = -2;
        w[q] = -128, w[K + q] = 127, w[2 * K + q] = q % 2 ? 127 : -128;
    }
    for (int j = 0; j < N; j++) scale[j] = 0.5F;
    everywhere(&(problem){2, N, K, x, NULL, NULL, w, scale});
    rf_ctx *ctx = t_ctx(1, NULL);
    rf_packed *p = NULL;
    rf_error why = {0};
    float one = 1;
    assert_int_equal(rf_pack(ctx, RF_I8, 1, K + 1, &one, &p, &why), RF_EUNSUPPORTED);
    t_failed(&why, RF_EUNSUPPORTED, "got 65537");
    rf_ctx_free(ctx);
}

static void rows_of_zeros_and_of_nearly_nothing_give_the_bias(void **state)
{
    (void)state;
    enum { M = 4, N = 5, K = 70 };
    float *x = t_normal(M * K), *w = t_normal(N * K), *bias = t_normal(N);
    memset(x + K, 0, K * sizeof *x);
    for (int q = 0; q < K; q++) x[2 * K + q] = q % 2 ? 1e-38F : -0x1p-140F, w[3 * K + q] = 0;
    const problem p = {M, N, K, x, w, bias, NULL, NULL};
    for (int j = 0; j < N; j++)
        assert_true(expected(&p, 1, j) == bias[j] && expected(&p, 2, j) == bias[j] && expected(&p, 0, 3) == bias[3]);
    everywhere(&p);
}

static void large_and_small_numbers(void **state)
{
    (void)state;
    enum { M = 3, N = 4, K = 33 };
    float *x = t_normal(M * K), *w = t_normal(N * K);
    for (int q = 0; q < K; q++) {
        x[q] *= 0x1p120F, x[K + q] *= 0x1p-95F, x[2 * K + q] = q == 7 ? FLT_MAX / 2 : 1;
        w[q] *= 0x1p90F, w[K + q] *= 0x1p-90F, w[2 * K + q] = 0x1p100F;
    }
    everywhere(&(problem){M, N, K, x, w, NULL, NULL, NULL});       /* an infinite result is the formula's, too */
}

/* ---- a row does not see the others ------------------------------------------------------------------------------- */

static void batches_and_threads_do_not_show(void **state)
{
    (void)state;
    enum { MOST = 400, N = 130, K = 300 };
    float *x = t_normal(MOST * K), *all = t_floats(MOST * N), *y = t_floats(MOST * N);
    const problem p = {MOST, N, K, x, t_normal(N * K), t_normal(N), NULL, NULL};
    for (int threads = 1; threads <= 4; threads++) {
        rf_ctx *ctx = t_ctx(threads, NULL);
        rf_packed *w = packed(ctx, &p);
        float *to = threads == 1 ? all : y;
        assert_int_equal(rf_packed_product(ctx, w, MOST, x, K, p.bias, RF_ACT_GELU, to, N, NULL), RF_OK);
        same_bits(to, all, MOST * N, "threads");
        for (int64_t m = 1; m <= 333; m += m < 17 ? 1 : 79) {
            const int64_t first = m * 37 % (MOST - m);
            assert_int_equal(rf_packed_product(ctx, w, m, x + first * K, K, p.bias, RF_ACT_GELU, y, N, NULL), RF_OK);
            same_bits(y, all + first * N, m * N, "rows beside others");
        }
        rf_packed_free(w);
        rf_ctx_free(ctx);
    }
    t_check_fences();
    t_free_all();
}

/* ---- refusals ---------------------------------------------------------------------------------------------------- */

static void rows_that_are_not_finite_are_named(void **state)
{
    (void)state;
    enum { M = 200, N = 40, K = 50 };
    static const float bad[] = {NAN, INFINITY, -INFINITY};
    float *x = t_normal(M * K), *clean = t_floats(M * N), *y = t_floats(M * N);
    const problem p = {M, N, K, x, t_normal(N * K), t_normal(N), NULL, NULL};
    rfk_table t;
    for (EACH_RUNG(t))
        for (size_t b = 0; b < RF_COUNT(bad); b++) {
            rf_ctx *ctx = t_ctx(2, t.isa);
            rf_packed *w = packed(ctx, &p);
            rf_error why = {0};
            assert_int_equal(rf_packed_product(ctx, w, M, x, K, p.bias, RF_ACT_NONE, clean, N, NULL), RF_OK);
            const float was = x[150 * K + 3], last = x[170 * K + K - 1];
            x[150 * K + 3] = x[170 * K + K - 1] = bad[b];
            assert_int_equal(rf_packed_product(ctx, w, M, x, K, p.bias, RF_ACT_NONE, y, N, &why), RF_ENUMERIC);
            t_failed(&why, RF_ENUMERIC, "row 150 of x: expected finite values");
            same_bits(y, clean, 150 * N, "rows before");
            same_bits(y + 151 * N, clean + 151 * N, 19 * N, "rows between");
            x[150 * K + 3] = was, x[170 * K + K - 1] = last;
            rf_packed_free(w);
            rf_ctx_free(ctx);
        }
    t_check_fences();
    t_free_all();
}

static void refuse(const rf_ctx *ctx, const float *w, const char *part)
{
    rf_packed *p = NULL;
    rf_error why = {0};
    assert_int_equal(rf_pack(ctx, RF_I8, 2, 3, w, &p, &why), RF_ENUMERIC);
    t_failed(&why, RF_ENUMERIC, part);
    assert_null(p);
}

static void weights_without_a_scale_are_refused(void **state)
{
    (void)state;
    rf_ctx *ctx = t_ctx(1, NULL);
    refuse(ctx, (float[]){1, 2, 3, 4, NAN, 6}, "row 1: expected finite values");
    refuse(ctx, (float[]){1, 2, 3, 4, 5, INFINITY}, "row 1: expected finite values");
    refuse(ctx, (float[]){1, 2, 0x1p101F, 4, 5, 6}, "row 0: expected a largest absolute value");
    refuse(ctx, (float[]){1, 2, 3, 0, 1e-38F, 0}, "row 1: expected a largest absolute value");
    refuse(ctx, (float[]){0, 0, 0, 0, 0, 0}, "expected a value that is not 0");
    rf_packed *p = NULL;
    static const float wrong[] = {0, -1, NAN, INFINITY};
    for (size_t i = 0; i < RF_COUNT(wrong); i++) {
        const float scale[] = {1, wrong[i]};
        rf_error why = {0};
        assert_int_equal(rf__pack_int8(ctx, RF_I8, 2, 1, (int8_t[]){1, 2}, scale, &p, &why), RF_ENUMERIC);
        t_failed(&why, RF_ENUMERIC, "scale of row 1: expected");
    }
    rf_error why = {0};
    assert_int_equal(rf__pack_int8(ctx, RF_I8, 2, 1, (int8_t[]){1, 2}, NULL, &p, &why), RF_EARG);
    t_failed(&why, RF_EARG, "scales");
    float a[4] = {1, 2, 3, 4}, c[4];
    const rf_gemm_call call = {
        .m = 2, .n = 2, .k = 2, .a = a, .lda = 2, .b = a, .ldb = 2, .c = c, .ldc = 2, .type = RF_I8};
    assert_int_equal(rf_gemm(ctx, &call, NULL), RF_EUNSUPPORTED);
    assert_int_equal(rf__pack_int8(ctx, RF_I8, 2, 0, NULL, NULL, &p, NULL), RF_OK);        /* an empty sum: the bias */
    assert_int_equal(rf_packed_product(ctx, p, 2, NULL, 0, a, RF_ACT_NONE, c, 2, NULL), RF_OK);
    assert_true(c[0] == 1 && c[3] == 2);
    rf_packed_free(p);
    rf_ctx_free(ctx);
}

typedef struct matrices { const float *w, *x; float *y; } matrices;

static rf_status pack_and_multiply(const rf_ctx *ctx, void *arg, rf_error *why)
{
    const matrices *m = arg;
    rf_packed *p = NULL;
    rf_status s = rf_pack(ctx, RF_I8, 40, 50, m->w, &p, why);
    if (!s) s = rf_packed_product(ctx, p, 20, m->x, 50, NULL, RF_ACT_NONE, m->y, 40, why);
    rf_packed_free(p);
    return s;
}

static void no_memory(void **state)
{
    (void)state;
    matrices m = {t_normal(40 * 50), t_normal(20 * 50), t_floats(20 * 40)};
    t_fail_allocations(2, NULL, pack_and_multiply, &m);
    t_check_fences();
    t_free_all();
}

/* ---- the small kernels ------------------------------------------------------------------------------------------- */

static void sizes_and_roundings(void **state)
{
    (void)state;
    rfk_table ref, k;
    assert_true(rfk_rung(0, &ref));
    for (EACH_RUNG(k))
        for (size_t s = 0; s < RF_COUNT(sizes); s++) {
            const int64_t n = sizes[s];
            float *x = copied(t_normal(n), n, (int64_t)s % 3);
            int8_t *got = t_bytes((size_t)n + 1), *right = t_bytes((size_t)n + 1);
            assert_true(k.largest_size(x, n) == ref.largest_size(x, n));
            for (int64_t i = 0; i < n; i++) x[i] *= 60;
            for (int64_t i = 0; i < n; i += 3) x[i] = rintf(x[i]) + 0.5F;            /* halves go to what is even */
            k.to_i8(got, x, 1, n);
            ref.to_i8(right, x, 1, n);
            if (n) assert_memory_equal(got, right, (size_t)n);
            for (int64_t i = 0; i < n; i += 1 + n / 5) {
                const float was = x[i];
                x[i] = i % 2 ? NAN : -INFINITY;
                assert_true(!isfinite(k.largest_size(x, n)));
                x[i] = was;
            }
            t_check_fences();
            t_free_all();
        }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(rungs_have_the_bits_of_the_formula),
        cmocka_unit_test(results_are_as_near_as_the_scales_allow),
        cmocka_unit_test(the_longest_sums_are_exact),
        cmocka_unit_test(rows_of_zeros_and_of_nearly_nothing_give_the_bias),
        cmocka_unit_test(large_and_small_numbers),
        cmocka_unit_test(batches_and_threads_do_not_show),
        cmocka_unit_test(rows_that_are_not_finite_are_named),
        cmocka_unit_test(weights_without_a_scale_are_refused),
        cmocka_unit_test(no_memory),
        cmocka_unit_test(sizes_and_roundings),
    };
    return cmocka_run_group_tests_name("kernel/gemm_i8", tests, NULL, NULL);
}
