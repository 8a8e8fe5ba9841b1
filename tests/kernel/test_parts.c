/* test_parts.c — mirrors rf__pack_parts of src/kernel/gemm/gemm.c: products with each part have the bits of products
 * with that matrix alone, or with its transpose. */
#include "kernel/gemm/products.h"
#include "rungs.h"

#include "roformer/kernel/gemm.h"

enum { ROWS = 7 };
typedef struct problem { int64_t parts, n, k; } problem;

static const float *swapped(const float *w, int64_t n, int64_t k)
{
    float *to = t_floats(n * k);
    for (int64_t i = 0; i < n * k; i++) to[i % k * n + i / k] = w[i];
    return to;
}

static void one(const rf_ctx *ctx, rf_type type, const problem *p, bool across)
{
    const int64_t n = across ? p->k : p->n, k = across ? p->n : p->k;
    const float *w = t_normal(p->parts * p->n * p->k), *x = t_normal(ROWS * k);
    rf_packed *all = NULL;
    rf_error why = {0};
    if (rf__pack_parts(ctx, type, p->parts, p->n, p->k, w, across, &all, &why)) fail_msg("%s", why.text);
    for (int64_t i = 0; i < p->parts; i++, w += p->n * p->k) {
        float *y = t_floats(ROWS * n), *expected = t_floats(ROWS * n);
        rf_packed *alone = NULL;
        if (rf_pack(ctx, type, n, k, across ? swapped(w, p->n, p->k) : w, &alone, &why)) fail_msg("%s", why.text);
        if (rf_packed_product(ctx, alone, ROWS, x, k, NULL, RF_ACT_GELU, expected, n, &why)) fail_msg("%s", why.text);
        if (rf_packed_product(ctx, rf__packed_part(all, i), ROWS, x, k, NULL, RF_ACT_GELU, y, n, &why))
            fail_msg("%s", why.text);
        assert_memory_equal(y, expected, (size_t)(ROWS * n) * sizeof *y);
        rf_packed_free(alone);
    }
    rf_packed_free(all);
}

static void each_part_is_that_matrix(void **state)
{
    (void)state;
    static const problem all[] = {{1, 3, 5}, {4, 40, 24}, {3, 17, 1}, {2, 65, 130}};
    static const rf_type types[] = {RF_F32, RF_BF16, RF_I8};
    rfk_table table;
    for (int r = 0; rfk_rung(r, &table); r++) {
        rf_ctx *ctx = t_ctx(2, table.isa);
        for (size_t i = 0; i < 2 * RF_COUNT(types) * RF_COUNT(all); i++)
            one(ctx, types[i % RF_COUNT(types)], &all[i / RF_COUNT(types) % RF_COUNT(all)], i % 2 != 0);
        rf_ctx_free(ctx);
        t_free_all();
    }
}

static rf_status pack_three(const rf_ctx *ctx, const void *w, rf_error *why)
{
    rf_packed *all = NULL;
    const rf_status s = rf__pack_parts(ctx, RF_BF16, 3, 4, 2, w, true, &all, why);
    rf_packed_free(all);
    return s;
}

static void nothing_leaks(void **state)
{
    (void)state;
    fail_every_allocation(NULL, pack_three, t_normal(24));
}

static void what_cannot_be_packed_is_refused(void **state)
{
    (void)state;
    static float w[24];
    rf_packed *out = NULL;
    rf_error why = {0};
    assert_int_equal(rf__pack_parts(t_shared(), RF_F32, 0, 2, 3, w, false, &out, &why), RF_ERANGE);
    assert_int_equal(rf__pack_parts(t_shared(), RF_F32, 4, 2, 3, NULL, false, &out, &why), RF_EARG);
    assert_int_equal(rf__pack_parts(t_shared(), RF_F32, 4, -2, 3, w, false, &out, &why), RF_ERANGE);
    w[20] = NAN;
    assert_int_equal(rf__pack_parts(t_shared(), RF_I8, 4, 2, 3, w, true, &out, &why), RF_ENUMERIC);
    assert_null(out);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_part_is_that_matrix),
        cmocka_unit_test(nothing_leaks),
        cmocka_unit_test(what_cannot_be_packed_is_refused),
    };
    return cmocka_run_group_tests_name("kernel/parts", tests, NULL, NULL);
}
