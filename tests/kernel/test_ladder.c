/* test_ladder.c — mirrors src/kernel/select.c, context.c, src/kernel/isa/isa_avx2.c, src/kernel/isa/isa_avx512.c,
 * mirrors src/kernel/isa/isa_avx512bf16.c, src/kernel/isa/isa_avx512fp16.c, src/kernel/isa/isa_neon.c,
 * mirrors src/kernel/isa/isa_neonbf16.c, peak.c and src/kernel/ref/ref.c, src/kernel/isa/isa_sse4.c,
 * mirrors src/kernel/isa/isa_wasm.c. */
#include <math.h>

#include "kernel/gemm/gemm_blocked.h"
#include "roformer/kernel/gemm.h"
#include "roformer/kernel/kernels.h"
#include "rungs.h"

/* A missing entry of a table would crash the caller. */
static void every_rung_has_every_kernel(void **state)
{
    (void)state;
    rfk_table k;
    int rungs = 0;
    for (EACH_RUNG(k)) {
        rungs++;
        assert_non_null(k.isa);
#define RFK(name, result, parameters) \
    if (!k.name) fail_msg("rung %s has no %s", k.isa, #name);
#include "roformer/kernel/kernels.def"
#undef RFK
    }
    assert_true(rungs >= 1);
    assert_false(rfk_rung(-1, &k));
    assert_false(rfk_rung(rungs, &k));
}

/* What the blocked driver assumes of every rung's geometry. */
static void panels_have_a_shape_that_blocks_can_have(void **state)
{
    (void)state;
    rfk_table k;
    for (EACH_RUNG(k)) {
        const rfk_panel_shape *shapes[] = {k.gemm_panel_shape(), k.gemm_panel_bf16_shape(),
                                           k.gemm_panel_i8_shape()};
        for (size_t i = 0; i < RF_COUNT(shapes); i++) {
            const rfk_panel_shape *s = shapes[i];
            assert_true(s->rows > 0 && s->block >= s->rows);
            assert_true(s->columns > 0 && s->columns <= RF__WIDEST_PANEL && RF__WIDEST_PANEL % s->columns == 0);
            assert_true(s->group >= s->columns && s->interleave > 0);
            assert_true(s->depth > 0 && s->depth % 16 == 0 && s->depth % s->interleave == 0 && s->stride >= s->depth);
        }
    }
}

static void the_lowest_rung_is_the_reference(void **state)
{
    (void)state;
    rfk_table k;
    assert_true(rfk_rung(0, &k));
    assert_string_equal(k.isa, "ref");
}

/* The list names each rung once, and exactly those without missing features have tables. */
static void the_list_is_the_ladder(void **state)
{
    (void)state;
    int here = 0;
    const char *name, *lacks;
    for (int i = 0; (name = rfk_rung_name(i, &lacks)); i++) {
        for (int j = 0; j < i; j++) assert_true(strcmp(name, rfk_rung_name(j, NULL)) != 0);
        rfk_table k;
        if (lacks) continue;
        assert_true(rfk_rung(here++, &k));
        assert_string_equal(k.isa, name);
    }
    rfk_table past;
    assert_false(rfk_rung(here, &past));
    assert_false(rfk_rung(-1, &past));
    assert_null(rfk_rung_name(-1, NULL));
}

static void a_context_takes_the_best_rung_or_the_one_named(void **state)
{
    (void)state;
    rfk_table k;
    const char *best = NULL;
    for (EACH_RUNG(k)) {
        if (!rfk_rung_emulated(k.isa)) best = k.isa;
        rf_ctx *ctx = t_ctx(1, k.isa);
        assert_string_equal(rf_ctx_isa(ctx), k.isa);
        assert_true(rf_ctx_kernels(ctx)->gelu == k.gelu);
        rf_ctx_free(ctx);
    }
    rf_ctx *ctx = NULL;                              /* not t_ctx: T_ISA does not count here */
    rf_ctx_options o;
    rf_ctx_defaults(&o);
    assert_int_equal(rf_ctx_new(&o, &ctx, NULL), RF_OK);
    assert_string_equal(rf_ctx_isa(ctx), best);
    rf_ctx_free(ctx);
}

/* The rung of another machine is available on request, after all others. */
static void emulated_rungs_are_the_last(void **state)
{
    (void)state;
    rfk_table k;
    int emulated = 0;
    for (EACH_RUNG(k)) {
        assert_true(rfk_rung_emulated(k.isa) >= (emulated > 0));
        emulated += rfk_rung_emulated(k.isa);
    }
    assert_true(emulated > 0);
    assert_false(rfk_rung_emulated("abacus") || rfk_rung_emulated(NULL));
}

static void an_unknown_rung_is_refused_by_name(void **state)
{
    (void)state;
    rf_ctx *ctx = NULL;
    rf_error why = {0};
    rf_ctx_options o;
    rf_ctx_defaults(&o);
    o.isa = "abacus";
    assert_int_equal(rf_ctx_new(&o, &ctx, &why), RF_EARG);
    t_failed(&why, RF_EARG, "\"abacus\"");
    const char *name, *lacks;
    /* a rung of this architecture that the processor lacks: the missing feature is reported */
    for (int i = 0; (name = rfk_rung_name(i, &lacks)); i++) {
        if (!lacks) continue;
        why = (rf_error){0};
        o.isa = name;
        assert_int_equal(rf_ctx_new(&o, &ctx, &why), RF_EARG);
        t_failed(&why, RF_EARG, lacks);
    }
    assert_null(ctx);
}

/* The limit that everything is compared with: a finite rate on any machine. */
static void the_peak_is_a_rate(void **state)
{
    (void)state;
    rf_ctx *ctx = t_ctx(1, NULL);
    const double flops = rf_peak_flops(ctx, 0.01), copied = rf_peak_copy(ctx, 1 << 20, 0.01);
    assert_true(isfinite(flops) && flops > 1e6);
    assert_true(isfinite(copied) && copied > 1e6);
    assert_true(rf_peak_of(ctx, RF_BF16, 0.01) >= 0 && rf_peak_of(ctx, RF_I8, 0.01) >= 0);
#if defined(__x86_64__) || defined(__wasm32__)
    assert_true(rf_peak_of(ctx, RF_I8, 0.01) > 0);
#endif
    assert_true(rf_peak_read(ctx, 1 << 20, 0.01) > 1e6);
    rf_ctx_free(ctx);
}

/* The peak is that of the context's rung, not of the processor: below AVX512_BF16 no instruction multiplies bf16. */
static void the_peak_is_of_the_rung(void **state)
{
    (void)state;
    static const char *const without[] = {"ref", "sse4", "avx2", "avxvnni", "avx512", "avx512vnni", "wasm"};
    rfk_table k;
    for (EACH_RUNG(k))
        for (size_t i = 0; i < RF_COUNT(without); i++) {
            if (strcmp(k.isa, without[i]) != 0) continue;
            rf_ctx *ctx = t_ctx(1, k.isa);
            assert_true(rf_peak_of(ctx, RF_BF16, 0.001) <= 0);
            assert_true(rf_peak_of(ctx, RF_F32, 0.001) > 0);
            rf_ctx_free(ctx);
        }
}

static void count(void *arg, int64_t i, int worker)
{
    int *seen = arg;
    seen[i] += 1 + (worker < 0 || worker > 1);
}

/* Memory and threads of a context, and every implementation of products, for callers that use only the kernels. */
static void work_for_others(void **state)
{
    (void)state;
    enum { N = 1000, M = 3 };
    rf_ctx *ctx = t_ctx(2, NULL);
    static int seen[N];
    rf_error why = {0};
    float *x = rf_ctx_alloc(ctx, 64);
    assert_non_null(x);
    assert_int_equal((uintptr_t)x % 64, 0);
    assert_int_equal(rf_ctx_run(ctx, N, count, seen, NULL), RF_OK);
    for (int i = 0; i < N; i++) assert_int_equal(seen[i], 1);
    assert_int_equal(rf_ctx_run(ctx, N, NULL, seen, NULL), RF_EARG);
    assert_int_equal(rf_ctx_run(ctx, -1, count, seen, NULL), RF_EARG);
    assert_null(rf_ctx_alloc(NULL, 1));
    rf_ctx_release(ctx, x);
    rf_ctx_release(ctx, NULL);

    static const float a[M * M] = {1, 2, 3, 4, 5, 6, 7, 8, 9}, one[M * M] = {1, 0, 0, 0, 1, 0, 0, 0, 1};
    static const rf_type types[] = {RF_F32, RF_BF16, RF_I8};
    for (size_t t = 0; t < RF_COUNT(types); t++) {
        const rf_type type = types[t];
        float c[M * M], y[M * M];
        rf_packed *w;
        const rf_gemm_call g = {.m = M, .n = M, .k = M, .a = a, .lda = M, .b = one, .ldb = M, .c = c, .ldc = M,
                                .type = type == RF_I8 ? RF_F32 : type};
        if (type != RF_I8) assert_int_equal(rf_gemm(ctx, &g, NULL), RF_OK);
        if (rf_pack(ctx, type, M, M, one, &w, &why)) fail_msg("%s", why.text);
        assert_int_equal(rf_packed_product(ctx, w, M, a, M, NULL, RF_ACT_NONE, y, M, NULL), RF_OK);
        for (int i = 0; i < M * M; i++) t_near((double)y[i], (double)a[i], type == RF_I8 ? 0.05 : 0);
        for (int i = 0; i < M * M && type != RF_I8; i++) t_near((double)c[i], (double)a[i], 0);
        rf_packed_free(w);
    }
    rf_ctx_free(ctx);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_rung_has_every_kernel),
        cmocka_unit_test(panels_have_a_shape_that_blocks_can_have),
        cmocka_unit_test(the_lowest_rung_is_the_reference),
        cmocka_unit_test(the_list_is_the_ladder),
        cmocka_unit_test(a_context_takes_the_best_rung_or_the_one_named),
        cmocka_unit_test(emulated_rungs_are_the_last),
        cmocka_unit_test(an_unknown_rung_is_refused_by_name),
        cmocka_unit_test(the_peak_is_a_rate),
        cmocka_unit_test(the_peak_is_of_the_rung),
        cmocka_unit_test(work_for_others),
    };
    return cmocka_run_group_tests_name("kernel/ladder", tests, NULL, NULL);
}
