/* test_gated.c — mirrors the gated products of src/kernel/gemm/gemm.c, gemm_ref.c and gemm_blocked.c.
 *
 * A gated product has the bits of its three steps: the product with the gate and its activation, the product with the
 * other matrix, and one multiplication in f32 for each element.  The first two are tested against the formula in
 * test_gemm.c, test_gemm_bf16.c, test_gemm_i8.c and test_gemm_i8w.c.                                             */
#include "kernel/gemm/products.h"
#include "rungs.h"

#include "roformer/kernel/gemm.h"

typedef struct problem { int64_t m, n, k; bool bias; rf_act act; } problem;

static void product(const rf_ctx *ctx, const rf_packed *w, const problem *p, const float *x, const float *bias,
                    rf_act act, float *y, int64_t ldy)
{
    rf_error why = {0};
    if (rf_packed_product(ctx, w, p->m, x, p->k, bias, act, y, ldy, &why)) fail_msg("%s", why.text);
}

/* act(x a^T + b) * (x c^T + d), by two products */
static float *in_steps(const rf_ctx *ctx, rf_type type, const problem *p, const float *x, const float *gate,
                       const float *up, const float *gate_bias, const float *up_bias)
{
    rf_packed *a = NULL, *c = NULL;
    rf_error why = {0};
    float *y = t_floats(p->m * p->n), *z = t_floats(p->m * p->n);
    if (rf_pack(ctx, type, p->n, p->k, gate, &a, &why) || rf_pack(ctx, type, p->n, p->k, up, &c, &why))
        fail_msg("%s", why.text);
    product(ctx, a, p, x, gate_bias, p->act, y, p->n);
    product(ctx, c, p, x, up_bias, RF_ACT_NONE, z, p->n);
    for (int64_t i = 0; i < p->m * p->n; i++) y[i] *= z[i];
    rf_packed_free(a);
    rf_packed_free(c);
    return y;
}

static void compare(const rf_ctx *ctx, rf_type type, const problem *p, const char *way, const float *y, int64_t ldy,
                    const float *expected)
{
    for (int64_t i = 0; i < p->m; i++) {
        for (int64_t j = 0; j < p->n; j++)
            if (memcmp(&y[i * ldy + j], &expected[i * p->n + j], sizeof *y))
                fail_msg("%s, type %d, %s: m %lld n %lld k %lld: y[%lld,%lld] = %.9g, expected %.9g", rf_ctx_isa(ctx),
                         (int)type, way, (long long)p->m, (long long)p->n, (long long)p->k, (long long)i, (long long)j,
                         (double)y[i * ldy + j], (double)expected[i * p->n + j]);
        for (int64_t j = p->n; j < ldy; j++) assert_true(isnan(y[i * ldy + j]));
    }
}

static void one(const rf_ctx *ctx, rf_type type, const problem *p, rf_gate_order order)
{
    const int64_t half = p->n * p->k, ldy = p->n + 3;
    const float *x = t_normal(p->m * p->k), *w = t_normal(2 * half), *bias = p->bias ? t_normal(2 * p->n) : NULL;
    const int64_t gate = order == RF_GATE_FIRST ? 0 : 1;
    const float *gate_bias = bias ? bias + gate * p->n : NULL, *up_bias = bias ? bias + (1 - gate) * p->n : NULL;
    const float *expected = in_steps(ctx, type, p, x, w + gate * half, w + (1 - gate) * half, gate_bias, up_bias);
    rf_packed *packed = NULL;
    rf_error why = {0};
    float *y = t_floats(p->m * ldy);
    if (rf__pack_gated(ctx, type, p->n, p->k, w, order, &packed, &why)) fail_msg("%s", why.text);
    product(ctx, packed, p, x, bias, p->act, y, ldy);
    compare(ctx, type, p, "packed together", y, ldy, expected);
    rf_packed_free(packed);
    if (type != RF_I8 && type != RF_I8W) return;

    int8_t *q = (int8_t *)(void *)t_floats((2 * half + 3) / 4);
    float *scale = t_floats(2 * p->n);
    if (rf__quantize_int8(ctx, 2 * p->n, p->k, w, q, scale, &why)) fail_msg("%s", why.text);
    if (rf__pack_gated_int8(ctx, type, p->n, p->k, q, scale, order, &packed, &why)) fail_msg("%s", why.text);
    product(ctx, packed, p, x, bias, p->act, y, ldy);
    compare(ctx, type, p, "from int8", y, ldy, expected);
    rf_packed_free(packed);
}

/* Sizes below a tile and a panel; of more panels, blocks of rows and cuts of k than one task has. */
static void every_rung_and_type(void **state)
{
    (void)state;
    static const problem problems[] = {
        {1, 1, 1, true, RF_ACT_SILU},       {3, 33, 70, false, RF_ACT_GELU},     {16, 96, 64, true, RF_ACT_NONE},
        {5, 17, 40, true, RF_ACT_GELU},     {65, 200, 100, false, RF_ACT_SILU},  {40, 900, 70, true, RF_ACT_RELU},
        {1, 800, 1600, true, RF_ACT_SILU},  {400, 70, 900, false, RF_ACT_TANH},
    };
    static const rf_type types[] = {RF_F32, RF_BF16, RF_I8, RF_I8W};
    rfk_table table;
    for (int r = 0; rfk_rung(r, &table); r++)
        for (int threads = 1; threads <= 3; threads += 2) {
            rf_ctx *ctx = t_ctx(threads, table.isa);
            const size_t most = strcmp(table.isa, "ref") && !rfk_rung_emulated(table.isa) ? RF_COUNT(problems) : 5;
            for (size_t i = 0; i < most; i++) {
                for (size_t t = 0; t < RF_COUNT(types); t++) one(ctx, types[t], &problems[i], (rf_gate_order)(i % 2));
                t_check_fences();
                t_free_all();
            }
            rf_ctx_free(ctx);
        }
}

/* The bits of a row are the same alone and among others. */
static void a_row_alone(void **state)
{
    (void)state;
    enum { M = 130, N = 100, K = 50 };
    static const rf_type types[] = {RF_F32, RF_BF16, RF_I8, RF_I8W};
    const problem all = {M, N, K, false, RF_ACT_SILU}, alone = {1, N, K, false, RF_ACT_SILU};
    const float *x = t_normal(M * K), *w = t_normal(2 * N * K);
    rf_ctx *ctx = t_ctx(2, NULL);
    for (size_t t = 0; t < RF_COUNT(types); t++) {
        rf_packed *packed = NULL;
        float *y = t_floats(M * N), *last = t_floats(N);
        rf_error why = {0};
        if (rf__pack_gated(ctx, types[t], N, K, w, RF_GATE_FIRST, &packed, &why)) fail_msg("%s", why.text);
        product(ctx, packed, &all, x, NULL, RF_ACT_SILU, y, N);
        product(ctx, packed, &alone, x + (M - 1) * K, NULL, RF_ACT_SILU, last, N);
        same_bits(last, y + (M - 1) * N, N, "the last row alone");
        rf_packed_free(packed);
    }
    rf_ctx_free(ctx);
}

static void refusals(void **state)
{
    (void)state;
    rf_ctx *ctx = t_ctx(1, NULL);
    const float w[8] = {1, 2, 3, 4, 5, 6, 7, 8}, x[2] = {1, NAN};
    const int8_t q[8] = {1};
    const float scale[4] = {1, 1, 1, 0};
    float y[2];
    rf_packed *p = NULL;
    rf_error why = {0};
    assert_int_equal(rf__pack_gated(ctx, RF_F32, 2, 2, w, (rf_gate_order)7, &p, &why), RF_EARG);
    assert_non_null(strstr(why.text, "order"));
    assert_int_equal(rf__pack_gated(ctx, RF_F32, 2, 2, NULL, RF_GATE_FIRST, &p, &why), RF_EARG);
    assert_int_equal(rf__pack_gated(ctx, RF_F32, -1, 2, w, RF_GATE_FIRST, &p, &why), RF_ERANGE);
    assert_int_equal(rf__pack_gated_int8(ctx, RF_I8, 2, 2, q, NULL, RF_GATE_FIRST, &p, &why), RF_EARG);
    assert_int_equal(rf__pack_gated_int8(ctx, RF_I8, 2, 2, q, scale, RF_GATE_FIRST, &p, &why), RF_ENUMERIC);
    assert_null(p);
    assert_int_equal(rf__pack_gated(ctx, RF_I8, 2, 2, w, RF_GATE_SECOND, &p, &why), RF_OK);
    assert_int_equal(rf_packed_product(ctx, p, 1, x, 2, NULL, RF_ACT_SILU, y, 2, &why), RF_ENUMERIC);
    rf_packed_free(p);
    rf_ctx_free(ctx);
}

enum { M = 20, N = 40, K = 50 };
struct ways { rf_type type; const float *w, *x; float *y; };

static rf_status pack_and_multiply(const rf_ctx *ctx, const void *what, rf_error *why)
{
    const struct ways *a = what;
    rf_packed *p = NULL;
    rf_status s = rf__pack_gated(ctx, a->type, N, K, a->w, RF_GATE_FIRST, &p, why);
    if (!s) s = rf_packed_product(ctx, p, M, a->x, K, NULL, RF_ACT_SILU, a->y, N, why);
    rf_packed_free(p);
    return s;
}

static void no_memory(void **state)
{
    (void)state;
    struct ways a = {.w = t_normal(2 * N * K), .x = t_normal(M * K), .y = t_floats(M * N)};
    fail_every_allocation(NULL, pack_and_multiply, &a);
    fail_every_allocation("ref", pack_and_multiply, &a);
    a.type = RF_I8;
    fail_every_allocation(NULL, pack_and_multiply, &a);
    t_check_fences();
    t_free_all();
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(every_rung_and_type), cmocka_unit_test(a_row_alone),
                                       cmocka_unit_test(refusals), cmocka_unit_test(no_memory)};
    return cmocka_run_group_tests_name("kernel/gated", tests, NULL, NULL);
}
