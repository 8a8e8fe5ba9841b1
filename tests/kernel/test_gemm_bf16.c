/* test_gemm_bf16.c — products in bf16 against sums in double of the rounded numbers; packing and rounding kernels.
 *
 * Tolerance.  A product of two bf16 numbers has at most 16 digits: it is exact in f32.  The error is the rounding of k
 * additions, at most k u sum |a b| in total (u = 2^-24, any order), plus the loss if the instruction treats numbers
 * below 2^-126 as zero; the numbers here are larger.  We allow half of that as in test_gemm.c, and a few u for bias and
 * activation.  BFMMLA rounds k / 2 + 1 times, each time by less than 2 u: (k + 2) u, of which the half and those few
 * are the same bound.                                                                                                */
#include "rungs.h"

#include "kernel/gemm/gemm_blocked.h"
#include "kernel/gemm/products.h"
#include "roformer/kernel/gemm.h"

static const double U = 5.9604644775390625e-08;

static double as_bf16(float x) { return (double)rf__from_bf16(rf__bf16(x)); }

static uint16_t *halves(const float *x, int64_t n)
{
    uint16_t *h = t_bytes((size_t)n * sizeof *h);
    for (int64_t i = 0; i < n; i++) h[i] = rf__bf16(x[i]);
    return h;
}

/* ---- the kernels ------------------------------------------------------------------------------------------------- */

static int64_t filled(const rfk_panel_shape *s, int64_t k)
{
    return (k + s->interleave - 1) / s->interleave * s->interleave;
}

/* a [rows,k] and b [k,n] as gemm_panel_bf16 expects them: k is padded with zeros to whole words. */
static const uint16_t *as_block(const rfk_panel_shape *s, const uint16_t *a, int64_t rows, int64_t k)
{
    uint16_t *block = t_bytes((size_t)(rf__rows_read(s, rows) * s->stride) * sizeof *block);
    for (int64_t i = 0; i < rows; i++)
        for (int64_t p = 0; p < filled(s, k); p++) block[i * s->stride + p] = p < k ? a[i * k + p] : 0;
    return block;
}

static const uint16_t *as_panel(const rfk_panel_shape *s, const uint16_t *b, int64_t k, int64_t n)
{
    const int64_t deep = filled(s, k), group = s->interleave;
    uint16_t *panel = t_bytes((size_t)(deep * s->columns) * sizeof *panel);
    for (int64_t p = 0; p < deep; p++)
        for (int64_t j = 0; j < s->columns; j++)
            panel[(p / group * s->columns + j) * group + p % group] = j < n && p < k ? b[p * n + j] : 0;
    return panel;
}

/* Rungs whose sums add one term after the other, each rounded to nearest: all of them have the same bits.  The
 * reference sums in double, BFMMLA adds four terms at a time, tiles (those with a step of rows) are as in
 * test_amx.c. */
static bool adds_in_order(const char *isa, const rfk_panel_shape *s)
{
    return strcmp(isa, "ref") && strcmp(isa, "neonbf16") && !s->row_step;
}

/* The same product on every rung: close to the sum in double, and with the same bits if sums are in order. */
static void one_panel(int64_t rows, int64_t n, int64_t k, int what)
{
    const int64_t ldc = n + what % 5;
    const uint16_t *a = halves(t_uniform(rows * k, -1, 1), rows * k), *b = halves(t_uniform(k * n, -1, 1), k * n);
    const float *bias = t_normal(n), *start = t_normal(rows * ldc);
    float *got = t_floats(rows * ldc), *expected = t_floats(rows * ldc), *first = t_floats(rows * ldc);
    const int add = what % 2, biased = !add && what % 4;
    memcpy(expected, start, (size_t)(rows * ldc) * sizeof *start);
    for (int64_t i = 0; i < rows; i++)
        for (int64_t j = 0; j < n; j++) {
            double sum = add ? (double)start[i * ldc + j] : biased ? (double)bias[j] : 0;
            for (int64_t p = 0; p < k; p++)
                sum += (double)rf__from_bf16(a[i * k + p]) * (double)rf__from_bf16(b[p * n + j]);
            expected[i * ldc + j] = (float)sum;
        }
    rfk_table t;
    bool seen = false;
    for (int rung = 0; rfk_rung(rung, &t); rung++) {
        const rfk_panel_shape *s = t.gemm_panel_bf16_shape();
        assert_true(s->interleave % 2 == 0);
        memcpy(got, start, (size_t)(rows * ldc) * sizeof *got);
        t.gemm_panel_bf16(got, ldc, as_block(s, a, rows, k), as_panel(s, b, k, n), rows, n, filled(s, k) / 2,
                          add ? got : biased ? bias : NULL, add ? ldc : 0);
        t_close(got, expected, rows * ldc, ((double)k + 8) * (0.5 * (double)k + 4) * U, 0);      /* |a b| <= 1 */
        if (!adds_in_order(t.isa, s)) continue;
        if (seen) same_bits(got, first, rows * ldc, t.isa);
        memcpy(first, got, (size_t)(rows * ldc) * sizeof *got);
        seen = true;
    }
    t_check_fences();
    t_free_all();
}

/* The smallest number of steps that the rungs process at a time. */
static int64_t least_depth(void)
{
    rfk_table t;
    int64_t least = INT64_MAX;
    for (int rung = 0; rfk_rung(rung, &t); rung++) least = rf__min64(least, t.gemm_panel_bf16_shape()->depth);
    return least;
}

static void panels_of_every_height(void **state)
{
    (void)state;
    const int64_t depth[] = {1, 2, 3, 18, least_depth() - 1, least_depth()};
    for (int64_t rows = 1; rows <= 45; rows++)
        for (int what = 0; what < 12; what++) one_panel(rows, what % 3 ? 32 : 1 + rows % 32, depth[what / 2], what);
}

static void pairs_are_two_roundings(void **state)
{
    (void)state;
    rfk_table k;
    for (EACH_RUNG(k))
        for (size_t s = 0; s < RF_COUNT(sizes); s++) {
            const int64_t n = sizes[s];
            float *a = t_normal(n + 1), *b = t_normal(n + 1);
            if (n > 2) a[1] = NAN, b[2] = INFINITY, a[2] = 1e-40F;
            uint16_t *y = t_bytes((size_t)(2 * n + 1) * sizeof *y);
            k.pairs_bf16(y, a, b, n);
            for (int64_t i = 0; i < n; i++) {
                assert_int_equal(y[2 * i], rf__bf16(a[i]));
                assert_int_equal(y[2 * i + 1], rf__bf16(b[i]));
            }
            t_check_fences();
            t_free_all();
        }
}

/* ---- rounding at random ------------------------------------------------------------------------------------------ */

static void random_rounding_is_one_function_on_every_rung(void **state)
{
    (void)state;
    const uint32_t key[2] = {7, 9};
    rfk_table ref, k;
    assert_true(rfk_rung(0, &ref));
    for (EACH_RUNG(k))
        for (size_t s = 0; s < RF_COUNT(sizes); s++) {
            const int64_t n = sizes[s];
            float *x = t_normal(n + 1);
            if (n > 4) x[0] = NAN, x[1] = INFINITY, x[2] = -INFINITY, x[3] = -0.0F, x[4] = 1e-40F;
            uint16_t *got = t_bytes((size_t)(n + 1) * sizeof *got),
                     *expected = t_bytes((size_t)(n + 1) * sizeof *expected);
            k.to_bf16_random(got, x, n, key, 5, 48);
            ref.to_bf16_random(expected, x, n, key, 5, 48);
            for (int64_t i = 0; i < n; i++) assert_int_equal(got[i], expected[i]);
            for (int64_t i = 0; i < n; i++)
                if (!isnan(x[i]) && !isinf(x[i])) {               /* one of the two neighbors */
                    uint32_t u;
                    memcpy(&u, &x[i], sizeof u);
                    assert_true(got[i] == u >> 16 || (u & 0xffff && got[i] == (u >> 16) + 1));
                }
            if (n > 4)
                assert_true(isnan(rf__from_bf16(got[0])) && isinf(rf__from_bf16(got[1])) && rf__from_bf16(got[2]) < 0);
            t_check_fences();
            t_free_all();
        }
}

/* The mean of n roundings of x is x: each is Bernoulli between two neighbors `gap` apart, so five deviations are at
 * most 5 gap / (2 sqrt n); rounding to nearest would miss by 0.3 gap. */
static void random_rounding_has_no_bias(void **state)
{
    (void)state;
    enum { N = 1 << 16 };
    const uint32_t key[2] = {1, 2};
    const double gap = 0x1p-7;
    rfk_table k;
    for (EACH_RUNG(k)) {
        float *x = t_floats(N);
        uint16_t *y = t_bytes(N * sizeof *y);
        double sum = 0;
        for (int i = 0; i < N; i++) x[i] = 1 + 0.3F * 0x1p-7F;
        k.to_bf16_random(y, x, N, key, 3, 0);
        for (int i = 0; i < N; i++) sum += (double)rf__from_bf16(y[i]);
        t_near(sum / N, (double)x[0], 5 * gap / (2 * sqrt(N)));
        t_free_all();
    }
}

/* ---- products ---------------------------------------------------------------------------------------------------- */

static double activate(rf_act act, double x)
{
    return act == RF_ACT_GELU ? 0.5 * x * (1 + erf(x / sqrt(2))) : act == RF_ACT_TANH ? tanh(x) : x;
}

/* g->a and g->b have the numbers whether or not they are passed as bf16. */
static void check(const char *isa, const rf_gemm_call *g, const float *before)
{
    for (int64_t i = 0; i < g->m; i++) {
        for (int64_t j = 0; j < g->n; j++) {
            double sum = g->beta != 0 ? (double)before[i * g->ldc + j] : 0, size = fabs(sum);
            for (int64_t p = 0; p < g->k; p++) {
                const double t = as_bf16(g->a[g->a_transposed ? p * g->lda + i : i * g->lda + p]) *
                                 as_bf16(g->b[g->b_transposed ? j * g->ldb + p : p * g->ldb + j]);
                sum += t;
                size += fabs(t);
            }
            if (g->bias) sum += (double)g->bias[j], size += fabs((double)g->bias[j]);
            const double expected = activate(g->act, sum), got = (double)g->c[i * g->ldc + j];
            const double allowed = (0.5 * (double)g->k + 4) * U * size + 16 * U * fabs(expected);
            if (!(fabs(got - expected) <= allowed))
                fail_msg("%s m %lld n %lld k %lld transposed %d%d beta %g: c[%lld,%lld] = %.9g, not %.9g +- %.3g", isa,
                         (long long)g->m, (long long)g->n, (long long)g->k, g->a_transposed, g->b_transposed,
                         (double)g->beta, (long long)i, (long long)j, got, expected, allowed);
        }
        assert_memory_equal(&g->c[i * g->ldc + g->n], &before[i * g->ldc + g->n],
                            (size_t)(g->ldc - g->n) * sizeof(float));
    }
}

/* bits of `how`: 1 a transposed, 2 b transposed, 4 a stored as bf16, 8 b, 16 add, 32 bias and activation */
static void one(const rf_ctx *ctx, int64_t m, int64_t n, int64_t k, int how, int gap)
{
    const int at = how & 1, bt = how >> 1 & 1, add = how >> 4 & 1;
    rf_gemm_call g = {
        .m = m, .n = n, .k = k, .a_transposed = at, .b_transposed = bt, .beta = (float)add, .type = RF_BF16};
    g.lda = (at ? m : k) + gap;
    g.ldb = (bt ? k : n) + 2 * gap;
    g.ldc = n + gap;
    const int64_t as = (at ? k : m) * g.lda + 1, bs = (bt ? n : k) * g.ldb + 1;
    const float *a = t_normal(as), *b = t_normal(bs);
    if (!add && how & 32) g.bias = t_normal(n + 1), g.act = RF_ACT_GELU;
    g.a = how & 4 ? NULL : a, g.b = how & 8 ? NULL : b;
    g.a16 = how & 4 ? halves(a, as) : NULL, g.b16 = how & 8 ? halves(b, bs) : NULL;
    g.c = t_normal(m * g.ldc + 1);
    float *before = t_floats(m * g.ldc + 1);
    memcpy(before, g.c, (size_t)(m * g.ldc + 1) * sizeof *before);
    rf_error why = {0};
    if (rf_gemm(ctx, &g, &why)) fail_msg("%s", why.text);
    g.a = a, g.b = b;
    check(rf_ctx_isa(ctx), &g, before);
    t_check_fences();
    t_free_all();
}

static void every_size_transpose_and_storage(void **state)
{
    (void)state;
    static const int64_t size[][3] = {{1, 1, 1},    {1, 7, 1},    {5, 1, 9},    {1, 1, 300},   {2, 33, 17},
                                      {14, 32, 16}, {15, 31, 15}, {17, 65, 33}, {29, 100, 64}, {31, 96, 257},
                                      {3, 200, 1},  {200, 3, 2},  {7, 129, 385}};
    rfk_table table;
    for (int i = 0; rfk_rung(i, &table); i++) {
        rf_ctx *ctx = t_ctx(1, table.isa);
        for (size_t s = 0; s < RF_COUNT(size); s++)
            for (int how = 0; how < 64; how++) one(ctx, size[s][0], size[s][1], size[s][2], how, (int)s % 3);
        rf_ctx_free(ctx);
    }
}

/* The reference reads matrices that are stored as bf16, too. */
static void the_reference_agrees(void **state)
{
    (void)state;
    enum { M = 70, N = 50, K = 300 };
    rf_ctx *ctx = t_ctx(2, NULL);
    const rf__products *reference = rf__products_at(ctx, 1);
    for (int how = 0; reference && how < 8; how++) {
        const int at = how & 1, bt = how >> 1 & 1, add = how >> 2;
        const float *a = t_normal(M * K), *b = t_normal(N * K);
        rf_gemm_call g = {.m = M,
                          .n = N,
                          .k = K,
                          .lda = at ? M : K,
                          .a_transposed = at,
                          .ldb = bt ? K : N,
                          .b_transposed = bt,
                          .beta = (float)add,
                          .c = t_normal(M * N),
                          .ldc = N,
                          .type = RF_BF16,
                          .a16 = halves(a, M * K),
                          .b16 = halves(b, N * K)};
        float *before = t_floats(M * N);
        memcpy(before, g.c, M * N * sizeof *before);
        rf_error why = {0};
        if (rf__gemm_by(reference, ctx, &g, &why)) fail_msg("%s", why.text);
        g.a = a, g.b = b;
        check(reference->name, &g, before);
        t_free_all();
    }
    rf_ctx_free(ctx);
}

/* More than one cut of k, more than one chunk of b, more than one block of rows. */
static void training_shapes(void **state)
{
    (void)state;
    rfk_table table;
    for (int i = 0; rfk_rung(i, &table); i++) {
        rf_ctx *ctx = t_ctx(2, table.isa);
        one(ctx, 200, 136, 1700, 2 | 32, 0);
        one(ctx, 180, 100, 777, 8, 1);
        one(ctx, 130, 520, 531, 1 | 8 | 16, 0);
        if (i > 0) one(ctx, 100, 4200, 1000, 0, 0);
        rf_ctx_free(ctx);
    }
}

static void packed_weights(void **state)
{
    (void)state;
    static const int64_t size[][3] = {{1, 1, 1},     {1, 40, 3},    {3, 33, 70},
                                      {50, 31, 300}, {190, 70, 67}, {37, 130, 1701}};
    rfk_table table;
    for (int i = 0; rfk_rung(i, &table); i++)
        for (size_t s = 0; s < RF_COUNT(size); s++) {
            rf_ctx *ctx = t_ctx(2, table.isa);
            const int64_t m = size[s][0], n = size[s][1], k = size[s][2];
            rf_gemm_call g = {.m = m,
                              .n = n,
                              .k = k,
                              .a = t_normal(m * (k + 5)),
                              .lda = k + 5,
                              .b = t_normal(n * k),
                              .ldb = k,
                              .b_transposed = 1,
                              .c = t_normal(m * (n + 2)),
                              .ldc = n + 2,
                              .act = RF_ACT_TANH,
                              .type = RF_BF16};
            g.bias = t_normal(n);
            float *before = t_floats(m * g.ldc), *same = t_floats(m * g.ldc);
            memcpy(before, g.c, (size_t)(m * g.ldc) * sizeof *before);
            memcpy(same, g.c, (size_t)(m * g.ldc) * sizeof *before);
            rf_packed *w = NULL;
            assert_int_equal(rf_pack(ctx, RF_BF16, n, k, g.b, &w, NULL), RF_OK);
            assert_int_equal(rf_packed_product(ctx, w, m, g.a, g.lda, g.bias, g.act, g.c, g.ldc, NULL), RF_OK);
            check(table.isa, &g, before);
            g.c = same;                                           /* packed or not: the same bits */
            assert_int_equal(rf_gemm(ctx, &g, NULL), RF_OK);
            float *y = t_floats(g.ldc);
            assert_int_equal(rf_packed_product(ctx, w, 1, g.a + (m - 1) * g.lda, g.lda, g.bias, g.act, y, g.ldc, NULL),
                             RF_OK);
            same_bits(y, same + (m - 1) * g.ldc, n, "a row alone");
            rf_packed_free(w);
            rf_ctx_free(ctx);
            t_check_fences();
            t_free_all();
        }
}

/* Threads, neighbors (including NaN) and the number of rows do not change the bits of a row. */
static void one_row_sees_itself_alone(const char *isa, int most_threads)
{
    enum { M = 300, N = 257, K = 771 };
    float *x = t_normal(M * K), *b = t_normal(N * K), *expected = t_floats(M * N), *got = t_floats(M * N);
    for (int threads = 1; threads <= most_threads; threads *= 2)
        for (int64_t m = 1; m <= M; m += m < 20 ? 1 : 93)
            for (int bt = 0; bt < 2; bt++) {
                rf_ctx *ctx = t_ctx(threads, isa);
                rf_gemm_call g = {.m = M,
                                  .n = N,
                                  .k = K,
                                  .a = x,
                                  .lda = K,
                                  .b = b,
                                  .ldb = bt ? K : N,
                                  .b_transposed = bt,
                                  .c = expected,
                                  .ldc = N,
                                  .type = RF_BF16};
                if (m == 1 && threads == 1) assert_int_equal(rf_gemm(ctx, &g, NULL), RF_OK);
                g.m = m, g.a = x + (M - m) * K, g.c = got;
                if (m > 1) assert_int_equal(rf_gemm(ctx, &g, NULL), RF_OK);
                if (m > 1 && bt) same_bits(got, expected + (M - m) * N, m * N, "rows");
                rf_ctx_free(ctx);
            }
    rf_ctx *ctx = t_ctx(2, isa);
    rf_gemm_call g = {.m = M,
                      .n = N,
                      .k = K,
                      .a = x,
                      .lda = K,
                      .b = b,
                      .ldb = K,
                      .b_transposed = 1,
                      .c = expected,
                      .ldc = N,
                      .type = RF_BF16};
    assert_int_equal(rf_gemm(ctx, &g, NULL), RF_OK);
    for (int64_t i = 0; i < M * K; i++)
        if (i / K % 2) x[i] = NAN;
    g.c = got;
    assert_int_equal(rf_gemm(ctx, &g, NULL), RF_OK);
    for (int64_t i = 0; i < M; i += 2) same_bits(got + i * N, expected + i * N, N, "beside NaN");
    rf_ctx_free(ctx);
    t_check_fences();
    t_free_all();
}

/* On the best rung, and on emulated ones. */
static void a_row_sees_itself_alone(void **state)
{
    (void)state;
    rfk_table table;
    rf_ctx *ctx = t_ctx(1, NULL);
    one_row_sees_itself_alone(rf_ctx_isa(ctx), 4);
    rf_ctx_free(ctx);
    for (int i = 0; rfk_rung(i, &table); i++)
        if (rfk_rung_emulated(table.isa)) one_row_sees_itself_alone(table.isa, 2);
}

/* Blocks of few rows hold all cuts of k, others one at a time, and groups of rows are divided elsewhere: packed weights
 * of three cuts, every height from 1 to 33 compared with 90 rows, odd n and k, on every rung. */
static void few_rows_have_the_bits_of_many(void **state)
{
    (void)state;
    enum { M = 90, FEW = 33, N = 67, K = 3101 };
    const float *x = t_normal(M * K), *b = t_normal(N * K), *bias = t_normal(N);
    float *many = t_floats(M * N), *few = t_floats(FEW * N);
    rfk_table table;
    for (EACH_RUNG(table)) {
        rf_ctx *ctx = t_ctx(2, table.isa);
        rf_packed *w = NULL;
        assert_int_equal(rf_pack(ctx, RF_BF16, N, K, b, &w, NULL), RF_OK);
        assert_int_equal(rf_packed_product(ctx, w, M, x, K, bias, RF_ACT_GELU, many, N, NULL), RF_OK);
        for (int64_t m = 1; m <= FEW; m += rfk_rung_emulated(table.isa) || !strcmp(table.isa, "ref") ? 5 : 1) {
            assert_int_equal(rf_packed_product(ctx, w, m, x + m * K, K, bias, RF_ACT_GELU, few, N, NULL), RF_OK);
            same_bits(few, many + m * N, m * N, table.isa);
        }
        rf_packed_free(w);
        rf_ctx_free(ctx);
    }
    t_check_fences();
    t_free_all();
}

typedef struct matrices { const float *w, *x; float *y; } matrices;

static rf_status pack_and_multiply(const rf_ctx *ctx, void *arg, rf_error *why)
{
    const matrices *m = arg;
    rf_packed *p = NULL;
    const rf_gemm_call g = {.m = 20, .n = 40, .k = 50, .a = m->x, .lda = 50, .b = m->w, .ldb = 50, .b_transposed = 1,
                            .c = m->y, .ldc = 40, .type = RF_BF16};
    rf_status s = rf_gemm(ctx, &g, why);
    if (!s) s = rf_pack(ctx, RF_BF16, 40, 50, m->w, &p, why);
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

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(panels_of_every_height),
        cmocka_unit_test(pairs_are_two_roundings),
        cmocka_unit_test(random_rounding_is_one_function_on_every_rung),
        cmocka_unit_test(random_rounding_has_no_bias),
        cmocka_unit_test(every_size_transpose_and_storage),
        cmocka_unit_test(the_reference_agrees),
        cmocka_unit_test(training_shapes),
        cmocka_unit_test(packed_weights),
        cmocka_unit_test(a_row_sees_itself_alone),
        cmocka_unit_test(few_rows_have_the_bits_of_many),
        cmocka_unit_test(no_memory),
    };
    return cmocka_run_group_tests_name("kernel/gemm_bf16", tests, NULL, NULL);
}
