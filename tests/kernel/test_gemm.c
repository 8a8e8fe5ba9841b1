/* test_gemm.c — mirrors src/kernel/gemm: products compared with the triple loop in double, and the guarantee "same row,
 * same bits".
 *
 * Tolerance.  A sum of k products in f32, in any order and with FMA or not, differs from the exact one by at most (k +
 * 1) u sum |a b|, u = 2^-24 (Higham 2002, 3.1).  We allow half of it plus a few u of the result for bias and activation
 * (|f'| <= 1.13 for GELU, SiLU and their like, and the vector functions are good to a few u).                        */
#include "rungs.h"

#include "kernel/gemm/products.h"
#include "roformer/kernel/gemm.h"

static const double U = 5.9604644775390625e-08;

static double activate(rf_act act, double x)
{
    switch (act) {
    case RF_ACT_GELU: return 0.5 * x * (1 + erf(x / sqrt(2)));
    case RF_ACT_GELU_TANH: return 0.5 * x * (1 + tanh(sqrt(2 / acos(-1)) * (x + 0.044715 * x * x * x)));
    case RF_ACT_RELU: return x > 0 ? x : 0;
    case RF_ACT_SILU: return x / (1 + exp(-x));
    case RF_ACT_TANH: return tanh(x);
    case RF_ACT_QUICK_GELU: return x / (1 + exp(-1.702 * x));
    case RF_ACT_MISH: return x * tanh(log(1 + exp(x)));
    default: return x;
    }
}

static double at(const float *x, int64_t ld, int transposed, int64_t i, int64_t j)
{
    return (double)(transposed ? x[j * ld + i] : x[i * ld + j]);
}

/* Compares g->c, computed from `before`, with the sums in double; and the memory between its rows with `before`. */
static void check(const char *way, const rf_gemm_call *g, const float *before)
{
    for (int64_t i = 0; i < g->m; i++) {
        for (int64_t j = 0; j < g->n; j++) {
            double sum = g->beta != 0 ? (double)before[i * g->ldc + j] : 0, size = fabs(sum);
            for (int64_t p = 0; p < g->k; p++) {
                const double t = at(g->a, g->lda, g->a_transposed, i, p) * at(g->b, g->ldb, g->b_transposed, p, j);
                sum += t;
                size += fabs(t);
            }
            if (g->bias) sum += (double)g->bias[j], size += fabs((double)g->bias[j]);
            const double expected = activate(g->act, sum), got = (double)g->c[i * g->ldc + j];
            const double allowed = (0.5 * (double)g->k + 4) * U * size + 16 * U * fabs(expected) + 1e-30;
            if (!(fabs(got - expected) <= allowed))
                fail_msg(
                    "%s m %lld n %lld k %lld transposed %d%d beta %g act %d: c[%lld,%lld] = %.9g, not %.9g +- %.3g",
                    way, (long long)g->m, (long long)g->n, (long long)g->k, g->a_transposed, g->b_transposed,
                    (double)g->beta, (int)g->act, (long long)i, (long long)j, got, expected, allowed);
        }
        for (int64_t j = g->n; j < g->ldc; j++)
            assert_memory_equal(&g->c[i * g->ldc + j], &before[i * g->ldc + j], sizeof(float));
    }
}

typedef struct extra { int transposed, gap; float beta; int bias; rf_act act; } extra;

static void one(const rf_ctx *ctx, const rf__products *by, int64_t m, int64_t n, int64_t k, extra e)
{
    const int at_ = e.transposed & 1, bt = e.transposed >> 1;
    rf_gemm_call g = {.m = m, .n = n, .k = k, .a_transposed = at_, .b_transposed = bt, .beta = e.beta, .act = e.act};
    g.lda = (at_ ? m : k) + e.gap;
    g.ldb = (bt ? k : n) + 2 * e.gap;
    g.ldc = n + 3 * e.gap;
    g.a = t_normal((at_ ? k : m) * g.lda + 1);
    g.b = t_normal((bt ? n : k) * g.ldb + 1);
    if (e.bias) g.bias = t_normal(n + 1);
    g.c = t_normal(m * g.ldc + 1);
    float *before = t_floats(m * g.ldc + 1);
    memcpy(before, g.c, (size_t)(m * g.ldc + 1) * sizeof *before);
    rf_error why = {0};
    if (rf__gemm_by(by, ctx, &g, &why)) fail_msg("%s: %s", by->name, why.text);
    check(by->name, &g, before);
    t_check_fences();
    t_free_all();
}

typedef void body(const rf_ctx *, const rf__products *);

/* The built-in product differs from rung to rung; the reference does not, and is tested on one. */
static bool worth_trying(const rf_ctx *ctx, const rf__products *by)
{
    rfk_table table;
    const char *best = NULL;
    for (int i = 0; rfk_rung(i, &table); i++)
        if (!rfk_rung_emulated(table.isa)) best = table.isa;
    if (by == &rf__products_f32) return true;
    return !strcmp(ctx->isa, by == &rf__products_ref ? "ref" : best);
}

/* Runs `f` for every rung of this machine and every implementation of the product on it. */
static void everywhere(body *f, int threads)
{
    rfk_table table;
    for (int i = 0; rfk_rung(i, &table); i++) {
        rf_ctx *ctx = t_ctx(threads, table.isa);
        const rf__products *by;
        for (int j = 0; (by = rf__products_at(ctx, j)); j++)
            if (worth_trying(ctx, by)) f(ctx, by);
        rf_ctx_free(ctx);
    }
}

/* ---- the two kernels, against the reference rung ----------------------------------------------------------------- */

/* a [rows,k] and b [k,n] as gemm_panel takes them. */
static float *as_block(const rfk_panel_shape *s, const float *a, int64_t rows, int64_t k)
{
    float *block = t_floats(rows * s->stride);
    for (int64_t i = 0; i < rows; i++) memcpy(block + i * s->stride, a + i * k, (size_t)k * sizeof *a);
    return block;
}

static float *as_panel(const rfk_panel_shape *s, const float *b, int64_t k, int64_t n)
{
    float *panel = t_floats(k * s->columns);
    for (int64_t p = 0; p < k; p++)
        for (int64_t j = 0; j < s->columns; j++) panel[p * s->columns + j] = j < n ? b[p * n + j] : 0;
    return panel;
}

/* One rung at rows x n x k: initial sums from c, bias or zero. */
static void one_panel(const rfk_table *t, int64_t rows, int64_t n, int64_t k, int what)
{
    const rfk_panel_shape *s = t->gemm_panel_shape();
    const int64_t ldc = n + what % 5;
    const float *a = t_uniform(rows * k, -1, 1), *b = t_uniform(k * n, -1, 1), *bias = t_normal(n);
    float *c = t_normal(rows * ldc), *before = t_floats(rows * ldc);
    memcpy(before, c, (size_t)(rows * ldc) * sizeof *c);
    const int add = what % 2, biased = !add && what % 4;
    t->gemm_panel(c, ldc, as_block(s, a, rows, k), as_panel(s, b, k, n), rows, n, k, add ? c : biased ? bias : NULL,
                  add ? ldc : 0);
    check(t->isa, &(rf_gemm_call){.m = rows, .n = n, .k = k, .a = a, .lda = k, .b = b, .ldb = n, .c = c, .ldc = ldc,
                                  .beta = (float)add, .bias = biased ? bias : NULL}, before);
    t_check_fences();
    t_free_all();
}

static void panels_of_every_height(void **state)
{
    (void)state;
    rfk_table t;
    for (int rung = 0; rfk_rung(rung, &t); rung++) {
        const rfk_panel_shape *s = t.gemm_panel_shape();
        const int64_t depth[] = {1, 2, 17, s->depth};
        for (int64_t rows = 1; rows <= 45; rows++)
            for (int what = 0; what < 12; what++)
                one_panel(&t, rows, what % 3 ? s->columns : 1 + rows % s->columns, depth[what % 4], what);
    }
}

static void transposed_matrices(void **state)
{
    (void)state;
    rfk_table k;
    for (int rung = 0; rfk_rung(rung, &k); rung++)
        for (int64_t rows = 0; rows <= 40; rows++)
            for (int64_t columns = 0; columns <= 40; columns += 1 + columns / 8) {
                const int64_t ldx = columns + rows % 3, ldy = rows + columns % 4;
                const float *x = t_normal(rows * ldx + 1);
                float *y = t_floats(columns * ldy + 1);
                k.transpose(y, ldy, x, ldx, rows, columns);
                for (int64_t j = 0; j < columns; j++) {
                    for (int64_t i = 0; i < rows; i++)
                        assert_memory_equal(&y[j * ldy + i], &x[i * ldx + j], sizeof(float));
                    for (int64_t i = rows; i < ldy; i++) assert_true(isnan(y[j * ldy + i]));
                }
                t_check_fences();
                t_free_all();
            }
}

/* ---- against the formula ----------------------------------------------------------------------------------------- */

static void sizes_body(const rf_ctx *ctx, const rf__products *by)
{
    static const int64_t size[][3] = {{1, 1, 1},     {1, 7, 1},      {5, 1, 9},    {1, 1, 300},   {2, 33, 17},
                                      {14, 32, 16},  {15, 31, 15},   {17, 65, 33}, {29, 100, 64}, {64, 64, 64},
                                      {31, 96, 257}, {100, 40, 520}, {3, 200, 1},  {200, 3, 2},   {7, 129, 385}};
    for (size_t s = 0; s < RF_COUNT(size); s++)
        for (int transposed = 0; transposed < 4; transposed++)
            for (int add = 0; add < 2; add++)
                one(ctx, by, size[s][0], size[s][1], size[s][2],
                    (extra){.transposed = transposed, .gap = (int)s % 3, .beta = (float)add});
}
static void every_size_and_transpose(void **state) { (void)state; everywhere(sizes_body, 1); }

static void acts_body(const rf_ctx *ctx, const rf__products *by)
{
    for (int act = RF_ACT_NONE; act < RF__ACTS; act++)
        for (int bias = 0; bias < 2; bias++)
            one(ctx, by, 19, 70, 40, (extra){.transposed = 2, .gap = 1, .bias = bias, .act = (rf_act)act});
}
static void every_activation(void **state) { (void)state; everywhere(acts_body, 2); }

static void large_body(const rf_ctx *ctx, const rf__products *by)
{
    one(ctx, by, 333, 136, 800, (extra){.transposed = 2, .bias = 1, .act = RF_ACT_GELU}); /* x W^T         */
    one(ctx, by, 300, 100, 777, (extra){.transposed = 0});                                /* dy W          */
    one(ctx, by, 130, 520, 530, (extra){.transposed = 1, .beta = 1});                     /* dW += dy^T x  */
}
static void training_shapes(void **state) { (void)state; everywhere(large_body, 2); }

static void empty_body(const rf_ctx *ctx, const rf__products *by)
{
    float bias[2] = {1, -2}, c[4] = {3, 4, 5, 6};
    rf_gemm_call g = {.m = 2, .n = 2, .k = 0, .lda = 0, .ldb = 2, .c = c, .ldc = 2, .beta = 1};
    assert_int_equal(rf__gemm_by(by, ctx, &g, NULL), RF_OK);
    assert_true(c[0] == 3 && c[3] == 6);
    g.beta = 0, g.bias = bias, g.act = RF_ACT_RELU;
    assert_int_equal(rf__gemm_by(by, ctx, &g, NULL), RF_OK);
    assert_true(c[0] == 1 && c[1] == 0 && c[2] == 1 && c[3] == 0);
    g = (rf_gemm_call){.m = 0, .n = 5, .k = 3, .lda = 3, .ldb = 5, .ldc = 5};
    assert_int_equal(rf__gemm_by(by, ctx, &g, NULL), RF_OK);
    rf_packed *w;
    assert_int_equal(rf__pack_by(by, ctx, RF_F32, 2, 0, NULL, &w, NULL), RF_OK);
    assert_int_equal(rf_packed_product(ctx, w, 2, NULL, 0, bias, RF_ACT_NONE, c, 2, NULL), RF_OK);
    assert_true(c[2] == 1 && c[3] == -2);
    assert_int_equal(rf_packed_product(ctx, w, 0, NULL, 0, bias, RF_ACT_NONE, c, 2, NULL), RF_OK);
    rf_packed_free(w);
}
static void nothing_to_sum(void **state) { (void)state; everywhere(empty_body, 2); }

/* ---- packed weights ---------------------------------------------------------------------------------------------- */

static void packed_body(const rf_ctx *ctx, const rf__products *by)
{
    static const int64_t size[][3] = {{1, 1, 1},     {1, 40, 3},    {3, 33, 70},   {16, 96, 64},
                                      {50, 31, 300}, {530, 70, 66}, {37, 130, 801}};
    for (size_t s = 0; s < RF_COUNT(size); s++)
        for (int act = RF_ACT_NONE; act < RF__ACTS; act++) {
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
                              .act = (rf_act)act};
            if (act % 2) g.bias = t_normal(n);
            float *before = t_floats(m * g.ldc);
            memcpy(before, g.c, (size_t)(m * g.ldc) * sizeof *before);
            rf_packed *w = NULL;
            rf_error why = {0};
            if (rf__pack_by(by, ctx, RF_F32, n, k, g.b, &w, &why)) fail_msg("%s", why.text);
            if (rf_packed_product(ctx, w, m, g.a, g.lda, g.bias, g.act, g.c, g.ldc, &why)) fail_msg("%s", why.text);
            check(by->name, &g, before);
            rf_packed_free(w);
            t_check_fences();
            t_free_all();
        }
}
static void packed_weights(void **state) { (void)state; everywhere(packed_body, 1); }

/* ---- same row, same bits ----------------------------------------------------------------------------------------- */

static void same_rows(const char *way, const float *got, const float *expected, int64_t m, int64_t n, const char *what,
                      int64_t value)
{
    for (int64_t i = 0; i < m; i++)
        if (memcmp(got + i * n, expected + i * n, (size_t)n * sizeof *got))
            fail_msg("%s: row %lld of n %lld differs for %s %lld", way, (long long)i, (long long)n, what,
                     (long long)value);
}

static void product(const rf_ctx *ctx, const rf_packed *w, int64_t m, const float *x, int64_t k, const float *bias,
                    float *y, int64_t n)
{
    rf_error why = {0};
    if (rf_packed_product(ctx, w, m, x, k, bias, RF_ACT_NONE, y, n, &why)) fail_msg("%s", why.text);
}

enum { MOST = 1000 };

/* y of the first m rows, of rows at other addresses, and with other neighbors, compared with y of all rows together. */
static void lengths(const rf_ctx *ctx, const rf__products *by, int64_t n, int64_t k)
{
    const float *w = t_normal(n * k), *bias = t_normal(n);
    float *x = t_normal(MOST * k), *all = t_floats(MOST * n), *y = t_floats(MOST * n);
    rf_packed *p = NULL;
    assert_int_equal(rf__pack_by(by, ctx, RF_F32, n, k, w, &p, NULL), RF_OK);
    product(ctx, p, MOST, x, k, bias, all, n);
    for (int64_t m = 1; m <= 512; m += m < 64 ? 1 : m == 64 ? 36 : m == 100 ? 233 : 179) {
        const int64_t first = (m * 37) % (MOST - m);
        product(ctx, p, m, x, k, bias, y, n);
        same_rows(by->name, y, all, m, n, "m", m);
        product(ctx, p, m, x + first * k, k, bias, y, n);
        same_rows(by->name, y, all + first * n, m, n, "first row", first);
    }
    for (int64_t i = 0; i < 333 * k; i++)                        /* other neighbors for the odd rows, including NaN */
        if (i / k % 2 == 0) x[i] = i % 5 ? 3 : NAN;
    product(ctx, p, 333, x, k, bias, y, n);
    for (int64_t i = 1; i < 333; i += 2) same_rows(by->name, y + i * n, all + i * n, 1, n, "neighbors of row", i);
    rf_packed_free(p);
    t_check_fences();
    t_free_all();
}

static void rows_body(const rf_ctx *ctx, const rf__products *by)
{
    lengths(ctx, by, 50, 33);
    if (!strcmp(ctx->isa, "ref")) return;
    lengths(ctx, by, 96, 768);
    lengths(ctx, by, 257, 256);
    lengths(ctx, by, 64, 3072);
}
static void a_row_does_not_see_the_others(void **state) { (void)state; everywhere(rows_body, 1); }

static void compare_threads(const char *isa, int way, const rf_gemm_call *shape)
{
    rf_gemm_call g = *shape;
    g.lda = g.a_transposed ? g.m : g.k, g.ldb = g.b_transposed ? g.k : g.n, g.ldc = g.n;
    g.a = t_normal(g.m * g.k), g.b = t_normal(g.k * g.n);
    float *start = t_normal(g.m * g.n), *expected = t_floats(g.m * g.n), *packed = t_floats(g.m * g.n);
    g.c = t_floats(g.m * g.n);
    for (int threads = 1; threads <= 4; threads *= 2) {
        rf_ctx *ctx = t_ctx(threads, isa);
        const rf__products *by = rf__products_at(ctx, way);
        memcpy(g.c, start, (size_t)(g.m * g.n) * sizeof *start);
        assert_int_equal(rf__gemm_by(by, ctx, &g, NULL), RF_OK);
        if (threads == 1) memcpy(expected, g.c, (size_t)(g.m * g.n) * sizeof *expected);
        same_rows(by->name, g.c, expected, g.m, g.n, "threads", threads);
        if (g.b_transposed) {                                   /* the same as packed weights */
            rf_packed *p = NULL;
            assert_int_equal(rf__pack_by(by, ctx, RF_F32, g.n, g.k, g.b, &p, NULL), RF_OK);
            float *y = t_floats(g.m * g.n), *y1 = t_floats(g.n);
            product(ctx, p, g.m, g.a, g.k, NULL, y, g.n);
            if (threads == 1) memcpy(packed, y, (size_t)(g.m * g.n) * sizeof *y);
            same_rows(by->name, y, packed, g.m, g.n, "packed, threads", threads);
            product(ctx, p, 1, g.a + (g.m - 1) * g.k, g.k, NULL, y1, g.n);
            same_rows(by->name, y1, y + (g.m - 1) * g.n, 1, g.n, "one packed row, threads", threads);
            rf_packed_free(p);
        }
        rf_ctx_free(ctx);
    }
    t_check_fences();
    t_free_all();
}

static void threads_do_not_show(void **state)
{
    (void)state;
    static const rf_gemm_call shape[] = {
        {.m = 128, .n = 768, .k = 768, .b_transposed = 1},      /* x W^T              */
        {.m = 65, .n = 3072, .k = 256, .b_transposed = 1},
        {.m = 1, .n = 500, .k = 300, .b_transposed = 1},
        {.m = 128, .n = 256, .k = 1024},                        /* dy W               */
        {.m = 256, .n = 256, .k = 900, .a_transposed = 1, .beta = 1}, /* dW += dy^T x */
        {.m = 768, .n = 192, .k = 333, .a_transposed = 1, .beta = 1},
    };
    rfk_table table;
    for (int i = 0; rfk_rung(i, &table); i++) {
        rf_ctx *ctx = t_ctx(1, table.isa);
        int ways = 0;
        while (rf__products_at(ctx, ways)) ways++;
        rf_ctx_free(ctx);
        for (int way = 0; way < ways; way++)
            for (size_t s = 0; s < RF_COUNT(shape); s++)
                if (i > 0 || shape[s].m * shape[s].n < 100000) compare_threads(table.isa, way, &shape[s]);
    }
}

/* ---- refusals ---------------------------------------------------------------------------------------------------- */

static void refuse(const rf_ctx *ctx, rf_gemm_call g, rf_status code, const char *part)
{
    rf_error why = {0};
    assert_int_equal(rf_gemm(ctx, &g, &why), code);
    t_failed(&why, code, part);
}

static void refusals(void **state)
{
    (void)state;
    rf_ctx *ctx = t_ctx(1, NULL);
    float a[6] = {0}, b[6] = {0}, c[4] = {0};
    const rf_gemm_call ok = {.m = 2, .n = 2, .k = 3, .a = a, .lda = 3, .b = b, .ldb = 2, .c = c, .ldc = 2};
    assert_int_equal(rf_gemm(ctx, &ok, NULL), RF_OK);
    rf_gemm_call g;
    refuse(ctx, (g = ok, g.m = -1, g), RF_ERANGE, "got -1, 2 and 3");
    refuse(ctx, (g = ok, g.k = INT64_MAX, g), RF_ERANGE, "2 and 9223372036854775807");
    refuse(ctx, (g = ok, g.lda = 2, g), RF_ESHAPE, "a: expected ... 3");
    refuse(ctx, (g = ok, g.b_transposed = 1, g), RF_ESHAPE, "b: expected ... 3");
    refuse(ctx, (g = ok, g.ldc = 1, g), RF_ESHAPE, "c: expected a stride");
    refuse(ctx, (g = ok, g.ldc = INT64_MAX, g), RF_ESHAPE, "c: expected a stride");
    refuse(ctx, (g = ok, g.beta = 0.5F, g), RF_EARG, "beta: expected 0 or 1, got 0.5");
    refuse(ctx, (g = ok, g.beta = 1, g.bias = b, g), RF_EARG, "beta: expected 0 with a bias");
    refuse(ctx, (g = ok, g.beta = 1, g.act = RF_ACT_GELU, g), RF_EARG, "beta: expected 0 with a bias");
    refuse(ctx, (g = ok, g.act = (rf_act)99, g), RF_EARG, "activation: expected ... rf_act, got 99");
    refuse(ctx, (g = ok, g.b = NULL, g), RF_EARG, "NULL");
    refuse(ctx, (g = ok, g.type = RF_I8, g), RF_EUNSUPPORTED, "expected f32 (0) or bf16 (1)");
    refuse(ctx, (g = ok, g.a16 = (const uint16_t *)(const void *)a, g), RF_EARG, "type: expected bf16");

    rf_error why = {0};
    rf_packed *p = NULL;
    assert_int_equal(rf_pack(ctx, RF_F16, 2, 3, a, &p, &why), RF_EUNSUPPORTED);
    t_failed(&why, RF_EUNSUPPORTED, "expected f32");
    why = (rf_error){0};
    assert_int_equal(rf_pack(ctx, RF_F32, 2, 3, NULL, &p, &why), RF_EARG);
    t_failed(&why, RF_EARG, "NULL");
    assert_null(p);
    assert_int_equal(rf_pack(ctx, RF_F32, 2, 3, a, &p, NULL), RF_OK);
    why = (rf_error){0};
    assert_int_equal(rf_packed_product(ctx, p, 1, a, 2, NULL, RF_ACT_NONE, c, 2, &why), RF_ESHAPE);
    t_failed(&why, RF_ESHAPE, "x: expected ... 3");
    rf_ctx *ref = t_ctx(1, "ref");
    why = (rf_error){0};
    assert_int_equal(rf_packed_product(ref, p, 1, a, 3, NULL, RF_ACT_NONE, c, 2, &why),
                     strcmp(rf_ctx_isa(ctx), "ref") ? RF_EARG : RF_OK);
    if (strcmp(rf_ctx_isa(ctx), "ref")) t_failed(&why, RF_EARG, "packed, got one with \"ref\"");
    rf_ctx_free(ref);
    rf_packed_free(p);
    rf_packed_free(NULL);
    rf_ctx_free(ctx);
}

struct ways { int way; const float *w, *x; float *y; };

static rf_status product_and_packed(const rf_ctx *ctx, const void *what, rf_error *why)
{
    const struct ways *a = what;
    const rf__products *by = rf__products_at(ctx, a->way);
    const rf_gemm_call g = {.m = 20, .n = 40, .k = 50, .a = a->x, .lda = 50, .b = a->w, .ldb = 50, .b_transposed = 1,
                            .c = a->y, .ldc = 40};
    rf_packed *p = NULL;
    rf_status s = rf__gemm_by(by, ctx, &g, why);
    if (!s) s = rf__pack_by(by, ctx, RF_F32, 40, 50, a->w, &p, why);
    if (!s) s = rf_packed_product(ctx, p, 20, a->x, 50, NULL, RF_ACT_NONE, a->y, 40, why);
    rf_packed_free(p);
    return s;
}

/* Every allocation through the context fails once: RF_ENOMEM, and nothing leaks. */
static void no_memory(void **state)
{
    (void)state;
    struct ways a = {.w = t_normal(40 * 50), .x = t_normal(20 * 50), .y = t_floats(20 * 40)};
    rf_ctx *ctx = t_ctx(2, NULL);
    for (; rf__products_at(ctx, a.way); a.way++) fail_every_allocation(NULL, product_and_packed, &a);
    rf_ctx_free(ctx);
    t_check_fences();
    t_free_all();
}

/* Two products at once have two pieces of scratch; later ones use them again. */
static void scratch_is_kept(void **state)
{
    (void)state;
    t_memory memory = {0};
    rf_ctx *ctx = t_counting_ctx(1, NULL, &memory);
    char *first = rf__product_take(ctx, 1000), *second = rf__product_take(ctx, 1000);
    assert_true(first && second && first != second && (uintptr_t)first % 64 == 0);
    memset(first, 1, 1000);
    memset(second, 2, 1000);
    rf__product_give(ctx, first);
    rf__product_give(ctx, second);
    for (int i = 0; i < 3; i++) {
        assert_true(rf__product_take(ctx, 900) == second);
        assert_true(rf__product_take(ctx, 1000) == first);
        rf__product_give(ctx, first);
        rf__product_give(ctx, second);
    }
    assert_int_equal(memory.calls, 2);
    rf__product_give(ctx, rf__product_take(ctx, 2000));
    rf__product_give(ctx, rf__product_take(ctx, 2000));
    assert_int_equal(memory.calls, 3);
    rf__product_give(ctx, NULL);
    memory.fail = memory.calls + 1;
    assert_null(rf__product_take(ctx, 3000));
    rf_ctx_free(ctx);
    assert_int_equal(memory.live, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(panels_of_every_height),
        cmocka_unit_test(transposed_matrices),
        cmocka_unit_test(every_size_and_transpose),
        cmocka_unit_test(every_activation),
        cmocka_unit_test(training_shapes),
        cmocka_unit_test(nothing_to_sum),
        cmocka_unit_test(packed_weights),
        cmocka_unit_test(a_row_does_not_see_the_others),
        cmocka_unit_test(threads_do_not_show),
        cmocka_unit_test(refusals),
        cmocka_unit_test(no_memory),
        cmocka_unit_test(scratch_is_kept),
    };
    return cmocka_run_group_tests_name("kernel/gemm", tests, NULL, NULL);
}
