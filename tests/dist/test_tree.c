/* test_tree.c — mirrors src/dist/tree.c: the same order of sums for every number of ranks. */
#include "t.h"
#include "dist/tree.h"

enum { N = 40000 };                     /* more than one piece of work */

static float term(int64_t micro, int64_t i)
{
    rf_rng r;
    rf_rng_init(&r, 11, (uint64_t)micro << 20 | (uint64_t)i);
    return rf_rng_normal(&r) * (1 + 100 * rf_rng_uniform(&r));
}

/* The sum by its definition: of [first, first + 2^level), halves first, without parts beyond M. */
static float defined(int64_t first, int level, int64_t M, int64_t i)
{
    if (!level) return term(first, i);
    const int64_t middle = first + ((int64_t)1 << (level - 1));
    const float left = defined(first, level - 1, M, i);
    return middle < M ? left + defined(middle, level - 1, M, i) : left;
}

static void share_sum(rf__tree *t, int64_t first, int64_t count, int64_t n)
{
    rf__tree_begin(t);
    for (int64_t m = first; m < first + count; m++) {
        float *leaf = rf__tree_leaf(t, m);
        for (int64_t i = 0; i < n; i++) {
            assert_true(!(leaf[i] < 0) && !(leaf[i] > 0));           /* zeros, whatever lay there */
            leaf[i] = term(m, i);
        }
        if (m % 2) rf__tree_join(t, 0, (size_t)n);
        else for (int64_t at = 0; at < n; at += 777) rf__tree_join(t, (size_t)at, (size_t)rf__min64(777, n - at));
    }
}

/* All micro-batches on one rank, and every equal division: the sum by its definition, bit by bit. */
static void every_split_has_the_same_bits(void **state)
{
    (void)state;
    rf_ctx *ctx = t_ctx(2, NULL);
    for (int64_t M = 1; M <= 13; M++) {
        const int64_t n = M == 4 ? N : 50;
        const rf_params params = {.ctx = ctx, .total = (size_t)n};
        int level = 0;
        while ((int64_t)1 << level < M) level++;
        for (int64_t ranks = 1; ranks <= M; ranks++) {
            if (M % ranks) continue;
            rf__tree tree[13];
            float *grad[13], *to = t_floats(n);
            rf__tree_node node[64];
            float *x[64];
            int count = 0;
            for (int64_t r = 0; r < ranks; r++) {
                const int64_t share = M / ranks;
                grad[r] = t_floats(n);
                assert_int_equal(rf__tree_new(&params, grad[r], r * share, share, &tree[r], NULL), RF_OK);
                share_sum(&tree[r], r * share, share, n);
                rf__tree_node list[RF__DEPTH];
                assert_int_equal(rf__tree_nodes(r * share, share, list), tree[r].nodes);
                for (int i = 0; i < tree[r].nodes; i++) {
                    assert_int_equal(list[i].first, tree[r].node[i].first);
                    node[count] = tree[r].node[i];
                    x[count++] = tree[r].slab[i];
                }
            }
            if (ranks == 1) rf__tree_total(&tree[0]), memcpy(to, grad[0], (size_t)n * sizeof *to);
            else rf__tree_fold(ctx, node, x, count, to, n);
            for (int64_t i = 0; i < n; i += n > 100 ? 97 : 1) {
                const float expected = defined(0, level, M, i);
                if (memcmp(&to[i], &expected, sizeof expected))
                    fail_msg("%d micro-batches on %d ranks: element %d is %.9g instead of %.9g", (int)M, (int)ranks,
                             (int)i, (double)to[i], (double)expected);
            }
            for (int64_t r = 0; r < ranks; r++) rf__tree_free(&tree[r]);
            t_check_fences();
            t_free_all();
        }
    }
    rf_ctx_free(ctx);
}

/* 1 slab for one micro-batch, and one more for each level. */
static void slabs_are_few(void **state)
{
    (void)state;
    assert_int_equal(rf__tree_slabs(0, 1), 1);
    assert_int_equal(rf__tree_slabs(5, 1), 1);
    assert_int_equal(rf__tree_slabs(0, 2), 2);
    assert_int_equal(rf__tree_slabs(0, 4), 3);
    assert_int_equal(rf__tree_slabs(4, 4), 3);
    assert_int_equal(rf__tree_slabs(0, 64), 7);
    assert_int_equal(rf__tree_slabs(3, 3), 3);                       /* 3, 4, and 5, which joins 4 */
}

static void no_memory_is_said(void **state)
{
    (void)state;
    t_memory memory = {.fail = 2};
    rf_ctx *ctx = t_counting_ctx(1, NULL, &memory);
    const rf_params params = {.ctx = ctx, .total = 64};
    rf__tree tree;
    rf_error why = {0};
    float grad[64];
    const long before = memory.live;
    assert_int_equal(rf__tree_new(&params, grad, 0, 4, &tree, &why), RF_ENOMEM);
    t_failed(&why, RF_ENOMEM, "3 slabs of gradients for 4 micro-batches");
    assert_int_equal(memory.live, before);
    rf_ctx_free(ctx);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_split_has_the_same_bits),
        cmocka_unit_test(slabs_are_few),
        cmocka_unit_test(no_memory_is_said),
    };
    return cmocka_run_group_tests_name("train/tree", tests, NULL, NULL);
}
