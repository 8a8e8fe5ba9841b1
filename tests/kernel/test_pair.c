/* test_pair.c — two products that are computed for one block of rows after the other.
 * mirrors rf__packed_pair in src/kernel/gemm/gemm.c and gemm_blocked.c.
 *
 * The bits must be those of two calls of rf_packed_product, on every rung and for every type, for any number of blocks
 * and threads. */
#include <math.h>

#include "base/system/processor.h"
#include "kernel/gemm/gemm_blocked.h"
#include "roformer/kernel/kernels.h"
#include "rungs.h"

typedef struct extent { int64_t m, n, k, last; } extent;             /* up [n,k], down [last,n] */

typedef struct problem {
    extent s;
    float *x, *up, *down, *up_bias, *down_bias;
    bool gated;
} problem;

static problem problem_of(const extent *s, bool gated)
{
    const int64_t rows = gated ? 2 * s->n : s->n;
    return (problem){*s, t_normal(s->m * s->k), t_normal(rows * s->k), t_normal(s->last * s->n), t_normal(rows),
                     t_normal(s->last), gated};
}

typedef struct packs { rf_packed *up, *down; } packs;

static packs packs_of(const rf_ctx *ctx, const problem *p, rf_type type)
{
    packs w = {NULL, NULL};
    if (p->gated)
        assert_int_equal(rf__pack_gated(ctx, type, p->s.n, p->s.k, p->up, RF_GATE_SECOND, &w.up, NULL), RF_OK);
    else
        assert_int_equal(rf_pack(ctx, type, p->s.n, p->s.k, p->up, &w.up, NULL), RF_OK);
    assert_int_equal(rf_pack(ctx, type, p->s.last, p->s.n, p->down, &w.down, NULL), RF_OK);
    return w;
}

static void packs_free(packs w)
{
    rf_packed_free(w.up);
    rf_packed_free(w.down);
}

static rf_status two(const rf_ctx *ctx, const problem *p, packs w, float *y, rf_error *why)
{
    float *middle = t_floats(p->s.m * p->s.n);
    rf_status status = rf_packed_product(ctx, w.up, p->s.m, p->x, p->s.k, p->up_bias, RF_ACT_GELU, middle, p->s.n, why);
    if (!status)
        status = rf_packed_product(ctx, w.down, p->s.m, middle, p->s.n, p->down_bias, RF_ACT_NONE, y, p->s.last, why);
    return status;
}

static rf_status pair(const rf_ctx *ctx, const problem *p, packs w, float *y, int64_t blocks, rf_error *why)
{
    const rf__pair x = {w.up, w.down, p->s.m, p->x, p->s.k, p->up_bias, RF_ACT_GELU, p->down_bias, y, p->s.last};
    return rf__packed_pair(ctx, &x, blocks, why);
}

/* Rows of a block, of 16 to 32, so that they fit the blocks of all rungs; 0: too few. */
static int64_t rows_of(const problem *p, int64_t blocks)
{
    const int64_t rows = p->s.m / blocks;
    return rows >= 16 || p->s.m < 32 ? rows : 0;
}

static void everywhere(const problem *p)
{
    static const rf_type types[] = {RF_F32, RF_BF16, RF_I8};
    const int64_t size = p->s.m * p->s.last;
    float *expected = t_floats(size), *y = t_floats(size);
    rfk_table t;
    for (EACH_RUNG(t))
        for (size_t i = 0; strcmp(t.isa, "ref") && i < RF_COUNT(types); i++)           /* its blocks have few rows */
            for (int threads = 1; threads <= 3; threads++) {
                rf_ctx *ctx = t_ctx(threads, t.isa);
                const packs w = packs_of(ctx, p, types[i]);
                assert_int_equal(two(ctx, p, w, expected, NULL), RF_OK);
                for (int64_t blocks = (p->s.m + 31) / 32; w.up->by->pair && rows_of(p, blocks); blocks *= 2) {
                    memset(y, 0x7f, (size_t)size * sizeof *y);
                    assert_int_equal(pair(ctx, p, w, y, blocks, NULL), RF_OK);
                    assert_memory_equal(y, expected, (size_t)size * sizeof *y);
                }
                packs_free(w);
                rf_ctx_free(ctx);
            }
    t_check_fences();
    t_free_all();
}

static void pairs_have_the_bits_of_two_products(void **state)
{
    (void)state;
    static const extent all[] = {{70, 96, 64, 33}, {1, 40, 30, 20}, {150, 200, 130, 50}, {33, 1000, 40, 31}};
    for (size_t i = 0; i < RF_COUNT(all); i++)
        for (int gated = 0; gated < 2; gated++) {
            const problem p = problem_of(&all[i], gated);
            everywhere(&p);
        }
}

static void rows_that_are_not_finite_are_named(void **state)
{
    (void)state;
    const problem p = problem_of(&(extent){150, 64, 48, 20}, false);
    float *y = t_floats(p.s.m * p.s.last);
    rf_ctx *ctx = t_ctx(2, NULL);
    const packs w = packs_of(ctx, &p, RF_I8);
    rf_error why = {0};
    p.x[101 * p.s.k + 5] = NAN;
    assert_int_equal(pair(ctx, &p, w, y, 7, &why), RF_ENUMERIC);
    t_failed(&why, RF_ENUMERIC, "row 101 of x: expected finite values");
    p.x[101 * p.s.k + 5] = 0;
    p.up_bias[3] = INFINITY;                                        /* the middle is not finite, beginning with row 0 */
    why = (rf_error){0};
    assert_int_equal(pair(ctx, &p, w, y, 7, &why), RF_ENUMERIC);
    t_failed(&why, RF_ENUMERIC, "row 0 of x: expected finite values");
    packs_free(w);
    rf_ctx_free(ctx);
    t_check_fences();
    t_free_all();
}

/* Only matrices that belong together, and only if blocks are neither few nor low. */
static void pairs_are_refused_where_they_do_not_pay(void **state)
{
    (void)state;
    rfk_table t;
    for (EACH_RUNG(t)) {
        rf_ctx *ctx = t_ctx(2, t.isa);
        const problem p = problem_of(&(extent){1024, 256, 64, 32}, false);
        const packs half = packs_of(ctx, &p, RF_BF16), whole = packs_of(ctx, &p, RF_F32);
        const bool tiles = !strncmp(t.isa, "amx", 3) && rf__cache_share() >= 256 << 10;
        const int64_t blocks = rf__packed_pairs(ctx, half.up, half.down, 1024);
        assert_true(tiles ? blocks >= 8 && blocks % 2 == 0 && 1024 / blocks >= 64 : !blocks);
        assert_true(!rf__packed_pairs(ctx, half.up, half.down, 1));
        assert_true(!rf__packed_pairs(ctx, half.up, half.down, 100));
        assert_true(!rf__packed_pairs(ctx, half.up, half.down, 0));
        assert_true(!rf__packed_pairs(ctx, half.down, half.down, 1024));               /* 256 columns, 32 rows */
        assert_true(!rf__packed_pairs(ctx, whole.up, whole.down, 1024));
        if (half.up->by != whole.up->by) assert_true(!rf__packed_pairs(ctx, half.up, whole.down, 1024));
        packs_free(half);
        packs_free(whole);
        rf_ctx_free(ctx);
    }
    t_free_all();
}

typedef struct memory { problem p; packs w; float *y; } memory;

static rf_status pair_again(const rf_ctx *ctx, void *arg, rf_error *why)
{
    const memory *m = arg;
    packs w = {NULL, NULL};
    rf_status status = rf_pack(ctx, RF_BF16, m->p.s.n, m->p.s.k, m->p.up, &w.up, why);
    if (!status) status = rf_pack(ctx, RF_BF16, m->p.s.last, m->p.s.n, m->p.down, &w.down, why);
    if (!status) status = pair(ctx, &m->p, w, m->y, 2, why);
    packs_free(w);
    return status;
}

static void no_memory(void **state)
{
    (void)state;
    memory m = {.p = problem_of(&(extent){40, 50, 30, 20}, false), .y = t_floats(40 * 20)};
    t_fail_allocations(2, NULL, pair_again, &m);
    t_check_fences();
    t_free_all();
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(pairs_have_the_bits_of_two_products),
        cmocka_unit_test(rows_that_are_not_finite_are_named),
        cmocka_unit_test(pairs_are_refused_where_they_do_not_pay),
        cmocka_unit_test(no_memory),
    };
    return cmocka_run_group_tests_name("kernel/pair", tests, NULL, NULL);
}
