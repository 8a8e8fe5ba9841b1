/* test_geometry.c — mirrors src/kernel/gemm/gemm_blocked.c: block sizes of products depend on the machine's caches, and
 * bits do not. */
#include "rungs.h"

#include "base/system/processor.h"
#include "kernel/gemm/prefetch.h"
#include "kernel/gemm/gemm_blocked.h"
#include "roformer/kernel/gemm.h"

enum { MB = 1 << 20 };

/* Bytes of a row of a block. */
static size_t row_of(const rfk_panel_shape *s, rf_type type)
{
    return (size_t)s->stride * (type == RF_I8 ? (size_t)s->code : type == RF_BF16 ? 2 : 4);
}

/* A quarter of the cache, whole rows of tiles; the rung's own size if there is 1 MB per thread, or if nothing is
 * known. */
/* If all cuts of k are kept together, they take 5/8 of the cache. */
static void held_rows_fit_the_cache(const rfk_panel_shape *s, size_t row)
{
    static const size_t enough[] = {0, 4 * MB, 64 * MB};
    for (size_t e = 0; e < RF_COUNT(enough); e++) {
        const rfk_panel_shape same = rf__shape_for(s, row, enough[e]);
        assert_memory_equal(&same, s, sizeof same);
    }
    for (size_t share = 1; share < 4 * MB; share = share * 2 + 1) {
        const rfk_panel_shape less = rf__shape_for(s, row, share);
        assert_true(less.held >= s->rows && less.held <= s->held && less.held % s->rows == 0);
        assert_true(less.held == s->rows || (size_t)less.held * row <= share / 8 * 5);
        assert_true(less.held == s->held || (size_t)(less.held + s->rows) * row > share / 8 * 5);
        assert_true(less.block == (less.held < s->block ? less.held : s->block));
        assert_true(less.depth == s->depth && less.stride == s->stride && less.columns == s->columns);
    }
}

static void blocks_fit_the_cache(void **state)
{
    (void)state;
    rfk_table k;
    for (EACH_RUNG(k)) {
        const struct { const rfk_panel_shape *shape; rf_type type; } own[] = {
            {k.gemm_panel_shape(), RF_F32}, {k.gemm_panel_bf16_shape(), RF_BF16}, {k.gemm_panel_i8_shape(), RF_I8}};
        for (size_t i = 0; i < RF_COUNT(own); i++) {
            const rfk_panel_shape *s = own[i].shape;
            const size_t row = row_of(s, own[i].type);
            static const size_t enough[] = {0, MB, 2 * MB, 64 * MB};
            if (s->held) {
                held_rows_fit_the_cache(s, row);
                continue;
            }
            for (size_t e = 0; e < RF_COUNT(enough); e++) {
                const rfk_panel_shape same = rf__shape_for(s, row, enough[e]);
                assert_memory_equal(&same, s, sizeof same);
            }
            for (size_t share = 1; share < MB; share = share * 2 + 1) {
                const rfk_panel_shape less = rf__shape_for(s, row, share);
                assert_true(less.block >= s->rows && less.block <= s->block);
                assert_true(less.block == s->block || less.block % s->rows == 0);
                assert_true(less.block == s->block || (size_t)(less.block + 1) * row > share / 4);
                assert_true(less.block <= s->rows || (size_t)(less.block - s->rows) * row < share / 4);
                assert_true(less.depth == s->depth && less.stride == s->stride && less.columns == s->columns);
            }
        }
    }
}

/* Two groups of rows or more fetch every line of the next panel, each a part of it. */
static void groups_fetch_the_next_panel(void **state)
{
    (void)state;
    enum { STEP = 128, STEPS = 768 };
    static char panels[3 * STEP * STEPS];
    for (int64_t steps = 16; steps <= STEPS; steps *= 2)
        for (int64_t groups = 1, lines = 2 * steps; groups <= 32; groups++) {
            char asked[4 * STEPS] = {0};
            for (int64_t g = 0; g < groups; g++) {
                behind b = behind_panel(panels, STEP * steps, steps, groups, g);
                assert_int_equal(b.two, groups == 2);
                for (int64_t p = 0, next; p < steps; p = next) {
                    const int64_t line = (b.line - panels - STEP * steps) / 64;
                    assert_true(line >= 0 && line < 2 * lines);
                    asked[line] = 1;
                    next = fetch_behind(&b, p, steps, b.two);
                    assert_true(next > p && next <= steps);
                }
            }
            int64_t found = 0;
            for (int64_t line = 0; line < lines / groups * groups; line++) found += asked[line];
            assert_int_equal(found, groups == 1 ? 1 : lines / groups * groups);
        }
}

/* ---- the same bits ----------------------------------------------------------------------------------------------- */

static rfk_panel_shape low[3];                          /* what these say in place of the rung's */
static const rfk_panel_shape *low_f32(void) { return &low[0]; }
static const rfk_panel_shape *low_bf16(void) { return &low[1]; }
static const rfk_panel_shape *low_i8(void) { return &low[2]; }

enum { M = 201, N = 70, K = 900 };

/* x W^T packed, and, except for int8, x W and x^T W from unpacked matrices. */
static void products_of(const rf_ctx *ctx, rf_type type, const float *x, const float *w, float *y)
{
    rf_packed *p = NULL;
    assert_int_equal(rf_pack(ctx, type, N, K, w, &p, NULL), RF_OK);
    assert_int_equal(rf_packed_product(ctx, p, M, x, K, NULL, RF_ACT_NONE, y, N, NULL), RF_OK);
    rf_packed_free(p);
    for (int transposed = 0; type != RF_I8 && transposed < 2; transposed++) {
        const rf_gemm_call g = {.m = M, .n = N, .k = K, .a = x, .lda = transposed ? M : K, .a_transposed = transposed,
                                .b = w, .ldb = N, .c = y + (1 + transposed) * M * N, .ldc = N, .type = type};
        assert_int_equal(rf_gemm(ctx, &g, NULL), RF_OK);
    }
}

/* Products in blocks of 1 to 3 tiles, by `threads` threads, have the bits of products in blocks that fit the caches.
 * Each has a new context with scratch of exactly the requested size, so that a sanitizer detects writes beyond it. */
static void low_blocks(const rfk_table *k, int threads, rf_type type, int t)
{
    rf_ctx *ctx = t_ctx(threads, k->isa);
    const int64_t parts = type == RF_I8 ? 1 : 3;
    const float *x = t_normal(M * K), *w = t_normal(N * K);
    float *expected = t_floats(parts * M * N), *got = t_floats(parts * M * N);
    rfk_table other = *ctx->k;
    other.gemm_panel_shape = low_f32, other.gemm_panel_bf16_shape = low_bf16, other.gemm_panel_i8_shape = low_i8;
    products_of(ctx, type, x, w, expected);
    for (int64_t most = 1; most < 4; most++) {
        rf_ctx *fresh = t_ctx(threads, k->isa);
        low[0] = *ctx->k->gemm_panel_shape(), low[1] = *ctx->k->gemm_panel_bf16_shape();
        low[2] = *ctx->k->gemm_panel_i8_shape();
        low[t].block = most * low[t].rows;
        const rfk_table *const own = fresh->k;
        fresh->k = &other;
        products_of(fresh, type, x, w, got);
        fresh->k = own;
        rf_ctx_free(fresh);
        same_bits(got, expected, parts * M * N, k->isa);
    }
    t_check_fences();
    t_free_all();
    rf_ctx_free(ctx);
}

static void bits_do_not_follow_them(void **state)
{
    (void)state;
    static const rf_type type[] = {RF_F32, RF_BF16, RF_I8};
    rfk_table k;
    for (EACH_RUNG(k))
        for (int t = 0; strcmp(k.isa, "ref") != 0 && t < (int)RF_COUNT(type); t++)
            for (int threads = 1; threads < 3; threads++) low_blocks(&k, threads, type[t], t);
}

/* k is summed in nearly equal pieces, each added to c in order: two products over the halves give the same bits. */
static void pieces_are_added_in_order(void **state)
{
    (void)state;
    rfk_table k;
    for (EACH_RUNG(k)) {
        const rfk_panel_shape *s = k.gemm_panel_shape();
        if (!s->piece) continue;
        const int64_t depth = 2 * s->piece - 32, half = depth / 2, rows = s->rows + 1;
        assert_true(depth <= s->depth);
        const float *a = t_normal(rows * s->stride), *panel = t_normal(depth * s->columns);
        for (int64_t n = s->columns; n >= s->columns - 3; n -= 3) {
            float *expected = t_floats(rows * s->columns), *got = t_floats(rows * s->columns);
            k.gemm_panel(got, s->columns, a, panel, rows, n, depth, NULL, 0);
            k.gemm_panel(expected, s->columns, a, panel, rows, n, half, NULL, 0);
            k.gemm_panel(expected, s->columns, a + half, panel + half * s->columns, rows, n, depth - half, expected,
                         s->columns);
            for (int64_t i = 0; i < rows; i++) same_bits(got + i * s->columns, expected + i * s->columns, n, k.isa);
        }
        t_check_fences();
        t_free_all();
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(blocks_fit_the_cache),
        cmocka_unit_test(groups_fetch_the_next_panel),
        cmocka_unit_test(bits_do_not_follow_them),
        cmocka_unit_test(pieces_are_added_in_order),
    };
    return cmocka_run_group_tests_name("kernel/geometry", tests, NULL, NULL);
}
