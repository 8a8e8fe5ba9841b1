/* test_amx.c — products in tiles, and when attention uses them.
 * mirrors src/kernel/isa/isa_amx.c, src/kernel/isa/isa_amx_emulated.c and src/kernel/isa/tiles.c.
 *
 * The emulated rung must have the bits of the manual's formula, which is implemented here with the C library's fused
 * multiply-add, without tolerance.  If the processor has tiles, their results may differ only by the order of a sum.
 * The test prints whether they add as the manual says, because Intel's manuals disagree.  For int8, test_gemm_i8.c
 * requires the same bits of every rung.                                                                              */
#include <errno.h>
#include <math.h>
#include <stdatomic.h>

#include "kernel/gemm/gemm_blocked.h"
#include "kernel/isa/tiles.h"
#include "roformer/kernel/kernels.h"
#include "rungs.h"

static const double U = 5.9604644775390625e-08;

static rfk_table emulated(void)
{
    rfk_table k, found = {0};
    for (EACH_RUNG(k))
        if (!strcmp(k.isa, "amx_emulated")) found = k;
    assert_non_null(found.isa);
    return found;
}

/* ---- the manual's formula ---------------------------------------------------------------------------------------- */

static float flushed(float x) { return fpclassify(x) == FP_SUBNORMAL ? copysignf(0, x) : x; }

static float number(uint16_t h) { return flushed(rf__from_bf16(h)); }

/* c + what TDPBF16PS adds to it for terms p0.. of a row and a column, at most 32 of them. */
static float one_step(float c, const uint16_t *a, const uint16_t *b, int64_t n, int64_t terms)
{
    float sum[2] = {0, 0};
    for (int64_t p = 0; p < terms; p++)
        sum[p % 2] = flushed(t_fmaf(number(a[p]), number(b[p * n]), sum[p % 2]));
    return flushed(flushed(c) + flushed(sum[0] + sum[1]));
}

/* a [rows,k] b [k,n], begun with `from` (rows of n, or one row for all, or NULL). */
static float *formula(const uint16_t *a, const uint16_t *b, int64_t rows, int64_t n, int64_t k, const float *from,
                      int64_t from_stride)
{
    float *c = t_floats(rows * n);
    for (int64_t i = 0; i < rows; i++)
        for (int64_t j = 0; j < n; j++) {
            float sum = from ? from[i * from_stride + j] : 0;
            for (int64_t p = 0; p < k; p += 32)
                sum = one_step(sum, a + i * k + p, b + p * n + j, n, k - p < 32 ? k - p : 32);
            c[i * n + j] = sum;
        }
    return c;
}

typedef struct operands { uint16_t *a, *b; } operands;

static const uint16_t *as_block(const rfk_panel_shape *s, const uint16_t *a, int64_t rows, int64_t k)
{
    uint16_t *block = t_bytes((size_t)(rf__rows_read(s, rows) * s->stride) * sizeof *block);
    for (int64_t i = 0; i < rows; i++)
        for (int64_t p = 0; p < k + k % 2; p++) block[i * s->stride + p] = p < k ? a[i * k + p] : 0;
    return block;
}

static const uint16_t *as_panel(const rfk_panel_shape *s, const uint16_t *b, int64_t k, int64_t n)
{
    const int64_t deep = k + k % 2;
    uint16_t *panel = t_bytes((size_t)(deep * s->columns) * sizeof *panel);
    for (int64_t p = 0; p < deep; p++)
        for (int64_t j = 0; j < s->columns; j++)
            panel[(p / 2 * s->columns + j) * 2 + p % 2] = j < n && p < k ? b[p * n + j] : 0;
    return panel;
}

static float *panel_of(const rfk_table *t, const operands *x, int64_t rows, int64_t n, int64_t k, const float *from,
                       int64_t from_stride)
{
    const rfk_panel_shape *s = t->gemm_panel_bf16_shape();
    float *c = t_floats(rows * n);
    t->gemm_panel_bf16(c, n, as_block(s, x->a, rows, k), as_panel(s, x->b, k, n), rows, n, (k + 1) / 2, from,
                       from_stride);
    return c;
}

/* Numbers around 1; with `wide`, of all sizes, so that products overflow, underflow and are subnormal. */
static operands numbers(int64_t rows, int64_t n, int64_t k, bool wide)
{
    const float *a = t_normal(rows * k), *b = t_normal(k * n);
    operands x = {t_bytes((size_t)(rows * k) * 2), t_bytes((size_t)(k * n) * 2)};
    for (int64_t i = 0; i < rows * k; i++) x.a[i] = rf__bf16(wide ? ldexpf(a[i], (int)(i * 37 % 277) - 150) : a[i]);
    for (int64_t i = 0; i < k * n; i++) x.b[i] = rf__bf16(wide ? ldexpf(b[i], (int)(i * 53 % 229) - 130) : b[i]);
    return x;
}

static void same_or_nan(const float *got, const float *expected, int64_t n, const char *what)
{
    for (int64_t i = 0; i < n; i++)
        if (memcmp(&got[i], &expected[i], sizeof *got) && !(isnan(got[i]) && isnan(expected[i])))
            fail_msg("%s: [%lld] = %a, expected %a", what, (long long)i, (double)got[i], (double)expected[i]);
}

static void emulated_tiles_have_the_bits_of_the_manual(void **state)
{
    (void)state;
    static const int64_t size[][3] = {{1, 1, 1},   {1, 32, 32},  {2, 31, 2},   {15, 32, 33},  {16, 32, 64},
                                      {17, 5, 31}, {31, 32, 63}, {32, 32, 96}, {33, 32, 100}, {48, 32, 384},
                                      {65, 17, 383}};
    const rfk_table t = emulated();
    for (size_t s = 0; s < RF_COUNT(size); s++)
        for (int how = 0; how < 6; how++) {
            const int64_t rows = size[s][0], n = size[s][1], k = size[s][2], stride = how % 3 == 1 ? 0 : n;
            const operands x = numbers(rows, n, k, how >= 3);
            const float *from = how % 3 ? t_normal(rows * n) : NULL;
            same_or_nan(panel_of(&t, &x, rows, n, k, from, stride), formula(x.a, x.b, rows, n, k, from, stride),
                        rows * n, "amx_emulated");
            t_check_fences();
            t_free_all();
        }
}

/* The order is visible: the same terms in one sum have other bits somewhere. */
static void two_sums_are_not_one(void **state)
{
    (void)state;
    enum { ROWS = 16, N = 32, K = 32 };
    const rfk_table t = emulated();
    const operands x = numbers(ROWS, N, K, false);
    const float *got = panel_of(&t, &x, ROWS, N, K, NULL, 0);
    int differ = 0;
    for (int i = 0; i < ROWS; i++)
        for (int j = 0; j < N; j++) {
            float sum = 0;
            for (int p = 0; p < K; p++) sum = t_fmaf(number(x.a[i * K + p]), number(x.b[p * N + j]), sum);
            differ += memcmp(&sum, &got[i * N + j], sizeof sum) != 0;
            t_near((double)got[i * N + j], (double)sum, 2 * K * K * U * 16);
        }
    assert_true(differ > 0);
    t_free_all();
}

/* The processor's tiles, if any, compared with the emulated ones. */
static void the_processor_agrees(void **state)
{
    (void)state;
    enum { ROWS = 77, N = 32, K = 384 };
    const rfk_table t = emulated();
    rfk_table k;
    bool there = false;
    for (EACH_RUNG(k)) {
        if (strcmp(k.isa, "amx")) continue;
        there = true;
        const operands x = numbers(ROWS, N, K, false);
        const float *expected = panel_of(&t, &x, ROWS, N, K, NULL, 0), *got = panel_of(&k, &x, ROWS, N, K, NULL, 0);
        t_close(got, expected, ROWS * N, (double)K * K * U * 16, 0);
        print_message("tiles of this processor %s as the manual says\n",
                      memcmp(got, expected, ROWS * N * sizeof *got) ? "do NOT add" : "add");
        t_free_all();
    }
    if (!there) print_message("this processor has no tiles that may be used: %s\n", rf__tiles_lack());
}

/* ---- threads ----------------------------------------------------------------------------------------------------- */

typedef struct meeting { _Atomic int here; int threads; rf_tile_counts count[8]; } meeting;

/* Bodies that wait for each other are run by as many threads. */
static void look(void *arg, int64_t i, int worker)
{
    (void)i;
    meeting *m = arg;
    rf_tiles_counted(&m->count[worker]);
    atomic_fetch_add(&m->here, 1);
    while (atomic_load(&m->here) < m->threads) continue;
}

static void everyone(const rf_ctx *ctx, meeting *m)
{
    *m = (meeting){.threads = rf_ctx_threads(ctx)};
    assert_int_equal(rf_ctx_run(ctx, m->threads, look, m, NULL), RF_OK);
}

/* A worker has its tiles configured from its start; the caller's thread has none after a product. */
static void tiles_are_configured_once_a_thread(void **state)
{
    (void)state;
    enum { M = 100, N = 200, K = 300, THREADS = 3, PRODUCTS = 5 };
    rf_ctx *ctx = t_ctx(THREADS, "amx_emulated");
    float *x = t_normal(M * K), *w = t_normal(N * K), *y = t_floats(M * N);
    const rf_gemm_call g = {.m = M, .n = N, .k = K, .a = x, .lda = K, .b = w, .ldb = K, .b_transposed = 1, .c = y,
                            .ldc = N, .type = RF_BF16};
    meeting before, after;
    everyone(ctx, &before);
    for (int i = 0; i < PRODUCTS; i++) assert_int_equal(rf_gemm(ctx, &g, NULL), RF_OK);
    everyone(ctx, &after);
    uint64_t dots = 0;
    for (int t = 0; t < THREADS; t++) {
        const rf_tile_counts a = before.count[t], b = after.count[t];
        dots += b.dots - a.dots;
        if (t) assert_true(a.configured == 1 && b.configured == 1 && b.released == 0);
        else assert_true(b.configured - a.configured <= PRODUCTS && b.configured == b.released);
    }
    assert_int_equal(dots, PRODUCTS * ((M + 15) / 16) * ((N + 31) / 32 * 2) * ((K + 31) / 32));
    rf_ctx_free(ctx);
    t_free_all();
}

/* Kernels need no preparation: a kernel configures tiles if there are none, also after other code released them. */
static void kernels_do_not_need_the_hook(void **state)
{
    (void)state;
    enum { ROWS = 20, N = 32, K = 40 };
    rfk_table k;
    for (EACH_RUNG(k)) {
        if (strncmp(k.isa, "amx", 3)) continue;
        const operands x = numbers(ROWS, N, K, false);
        k.thread_start();
        const float *expected = panel_of(&k, &x, ROWS, N, K, NULL, 0);
        k.thread_end();
        k.thread_end();
        same_bits(panel_of(&k, &x, ROWS, N, K, NULL, 0), expected, ROWS * N, "without thread_start");
        k.thread_end();
        t_free_all();
    }
}

/* The numbers that bench_amx predicts times from: a product of 64 x 64 x 96 is 4 x 4 x 3 products of tiles; each 32 x
 * 32 of the result loads 2 + 2 tiles per step and stores 4. */
static void tiles_are_counted(void **state)
{
    (void)state;
    enum { M = 64, N = 64, K = 96 };
    rf_ctx *ctx = t_ctx(1, "amx_emulated");
    float *x = t_normal(M * K), *w = t_normal(N * K), *y = t_floats(M * N);
    const rf_gemm_call g = {.m = M, .n = N, .k = K, .a = x, .lda = K, .b = w, .ldb = K, .b_transposed = 1, .c = y,
                            .ldc = N, .type = RF_BF16};
    rf_tile_counts before, after;
    rf_tiles_counted(&before);
    assert_int_equal(rf_gemm(ctx, &g, NULL), RF_OK);
    rf_tiles_counted(&after);
    rf_tiles_counted(NULL);
    assert_int_equal(after.dots - before.dots, 48);
    assert_int_equal(after.loaded - before.loaded, 4 * 4 * 3);
    assert_int_equal(after.stored - before.stored, 16);
    assert_int_equal(after.zeroed - before.zeroed, 16);
    assert_int_equal(after.configured - before.configured, 1);
    rf_ctx_free(ctx);
    t_free_all();
}

static rf_tile_counts attended(const rfk_attention *a)
{
    rf_tile_counts before, after;
    void *scratch = t_bytes(rfk_attention_scratch(a));
    rf_tiles_counted(&before);
    emulated().attention_bf16(a, 0, a->queries, scratch);
    rf_tiles_counted(&after);
    return (rf_tile_counts){.configured = after.configured - before.configured,
                            .released = after.released - before.released,
                            .loaded = after.loaded - before.loaded,
                            .stored = after.stored - before.stored,
                            .dots = after.dots - before.dots};
}

/* 70 queries are 32 + 32 + 6, 100 keys four panels of 32, 40 columns two; a step of 32 x 32 is four products and four
 * loads, one of 16 x 32 two and three.  test_attention_bf16.c tests the results on every rung. */
static void attention_is_in_tiles_where_it_pays(void **state)
{
    (void)state;
    enum { T = 70, S = 100, D = 40, STEPS = 4 * 2 + 2 * 4 };
    float *x = t_normal((T + 2 * S) * D);
    const rfk_attention plain = {.q = x, .k = x + T * D, .v = x + (T + S) * D, .q_stride = D, .k_stride = D,
                                 .v_stride = D, .queries = T, .keys = S, .width = D, .scale = 0.125F,
                                 .out = t_floats(T * D), .out_stride = D};
    const rf_tile_counts n = attended(&plain);
    assert_int_equal(n.dots, STEPS * (4 + 4 + 2));
    assert_int_equal(n.loaded, STEPS * (4 + 4 + 3));
    assert_int_equal(n.stored, (4 + 2) * (4 + 4 + 2));
    assert_int_equal(n.configured, 1);
    assert_int_equal(n.released, 1);                                   /* the thread is left as it was */
    const rfk_relative bias = {.clip = 1, .bias = x}, table = {.clip = 1, .query = x, .query_stride = D};
    rfk_attention biased = plain;
    biased.relative = &bias;
    assert_int_equal(attended(&biased).dots, n.dots);
    rfk_attention other[5] = {plain, plain, plain, plain, plain};
    other[0].causal = 1;
    other[1].drop = 0.1F;
    other[2].relative = &table;
    other[3].queries = 31;
    other[4].keys = 31;
    for (size_t i = 0; i < RF_COUNT(other); i++) assert_int_equal(attended(&other[i]).dots, 0);
    t_check_fences();
    t_free_all();
}

/* The processor's attention, if it has tiles, has the bits of the emulated one, also for numbers that are subnormal in
 * bf16 and for infinities, whose scores are NaN. */
static void attention_has_the_emulated_bits(void **state)
{
    (void)state;
    enum { T = 70, S = 600, D = 40, SIZE = (T + 2 * S) * D };
    const float odd[] = {1e-39F, -1e-40F, 0x1.fffp-127F, -0.0F, 3e38F, -INFINITY};
    float *x = t_normal(SIZE), *y = t_floats(T * D), *expected = t_floats(T * D);
    rfk_table k;
    for (size_t i = 0; i < 4 * RF_COUNT(odd); i++) x[(i * 7919) % SIZE] = odd[i % (i < 12 ? 4 : RF_COUNT(odd))];
    rfk_attention a = {.q = x, .k = x + T * D, .v = x + (T + S) * D, .q_stride = D, .k_stride = D, .v_stride = D,
                       .queries = T, .keys = S, .width = D, .scale = 0.125F, .out = expected, .out_stride = D};
    void *scratch = t_bytes(rfk_attention_scratch(&a));
    emulated().attention_bf16(&a, 0, T, scratch);
    for (EACH_RUNG(k)) {
        if (strcmp(k.isa, "amx")) continue;
        a.out = y;
        k.attention_bf16(&a, 0, T, scratch);
        for (int i = 0; i < T * D; i++)
            if (memcmp(y + i, expected + i, sizeof *y) && !(isnan(y[i]) && isnan(expected[i])))
                fail_msg("element %d: %a, emulated %a", i, (double)y[i], (double)expected[i]);
    }
    t_check_fences();
    t_free_all();
}

/* ---- who does not grant them ------------------------------------------------------------------------------------- */

static void what_is_lacking_is_named(void **state)
{
    (void)state;
    enum { INTEL = 0x756e6547, AMD = 0x68747541, SAPPHIRE_RAPIDS = 0x806f8, ICE_LAKE = 0x606a6 };
    enum { ALL = 1 << 22 | 1 << 24 | 1 << 25, SAVED = 0x600e7, UNSAVED = 0xe7 };
    static const struct { rf__tiles_seen seen; const char *lacks; } row[] = {
        {{INTEL, SAPPHIRE_RAPIDS, 0, ALL, SAVED, 0}, NULL},
        {{INTEL, ICE_LAKE, 0, 0, UNSAVED, 0}, "amx-tile"},
        {{AMD, 0xa10f11, 1U << 31, 0, UNSAVED, 0}, "amx-tile"},
        {{INTEL, SAPPHIRE_RAPIDS, 1U << 31, 0, UNSAVED, 0}, "its hypervisor does not grant"},
        {{INTEL, SAPPHIRE_RAPIDS, 0, 0, UNSAVED, 0}, "its firmware has switched off"},
        {{INTEL, SAPPHIRE_RAPIDS, 0, 1 << 24 | 1 << 25, SAVED, 0}, "amx-bf16"},
        {{INTEL, SAPPHIRE_RAPIDS, 0, 1 << 24 | 1 << 22, SAVED, 0}, "amx-int8"},
        {{INTEL, SAPPHIRE_RAPIDS, 1U << 31, ALL, UNSAVED, 0}, "the kernel does not grant: it does not"},
        {{INTEL, SAPPHIRE_RAPIDS, 0, ALL, SAVED, ENOSPC}, "alternate signal stack is too small"},
        {{INTEL, SAPPHIRE_RAPIDS, 0, ALL, SAVED, EPERM}, "the kernel does not grant to this process"},
    };
    for (size_t i = 0; i < RF_COUNT(row); i++) {
        const char *lacks = rf__tiles_lack_by(&row[i].seen);
        if (!row[i].lacks) assert_null(lacks);
        else if (!lacks || !strstr(lacks, row[i].lacks))
            fail_msg("row %d: %s, expected %s", (int)i, lacks, row[i].lacks);
    }
}

/* --isa amx where it is not available: the missing condition, and the rung that would be used instead. */
static void a_context_says_what_is_lacking(void **state)
{
    (void)state;
    const char *name, *lacks, *said = NULL;
    for (int i = 0; (name = rfk_rung_name(i, &lacks)); i++)
        if (!strcmp(name, "amx")) said = lacks;
    rf_ctx *ctx = NULL, *best = NULL;
    rf_error why = {0};
    rf_ctx_options o;
    rf_ctx_defaults(&o);                             /* not t_ctx: T_ISA does not count here */
    assert_int_equal(rf_ctx_new(&o, &best, &why), RF_OK);
    o.isa = "amx";
    const rf_status status = rf_ctx_new(&o, &ctx, &why);
    if (said) {
        char taken[128];
        snprintf(taken, sizeof taken, "the best instruction set here is \"%s\"", rf_ctx_isa(best));
        t_failed(&why, RF_EARG, said);
        t_failed(&why, RF_EARG, taken);
    } else {
        assert_int_equal(status, RF_OK);
    }
    rf_ctx_free(ctx);
    rf_ctx_free(best);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(emulated_tiles_have_the_bits_of_the_manual),
        cmocka_unit_test(two_sums_are_not_one),
        cmocka_unit_test(the_processor_agrees),
        cmocka_unit_test(tiles_are_configured_once_a_thread),
        cmocka_unit_test(kernels_do_not_need_the_hook),
        cmocka_unit_test(tiles_are_counted),
        cmocka_unit_test(attention_is_in_tiles_where_it_pays),
        cmocka_unit_test(attention_has_the_emulated_bits),
        cmocka_unit_test(what_is_lacking_is_named),
        cmocka_unit_test(a_context_says_what_is_lacking),
    };
    return cmocka_run_group_tests_name("kernel/amx", tests, NULL, NULL);
}
