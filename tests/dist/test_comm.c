/* test_comm.c — mirrors src/dist/comm.c: small collectives, with threads as ranks. */
#include "ranks.h"
#include "dist/comm.h"

typedef struct block { int rank; char pad[9]; } block;

static rf_status talk(rf_comm *c, void *arg, rf_error *why)
{
    (void)arg;
    const int n = c->size;
    for (int round = 0; round < 20; round++) {
        const block mine = {c->rank * 1000 + round, "abcdefgh"};
        block all[RANKS_MOST];
        rf_status status = rf__gather_all(c, &mine, all, sizeof mine, why);
        for (int i = 0; i < n && !status; i++)
            if (all[i].rank != i * 1000 + round || strcmp(all[i].pad, "abcdefgh"))
                return rf_fail(why, RF_EDATA, "gather: rank %d of %d holds %d at %d", c->rank, n, all[i].rank, i);
        char text[32] = "";
        if (!c->rank) snprintf(text, sizeof text, "round %d", round);
        if (!status) status = rf__broadcast(c, text, sizeof text, why);
        char expected[32] = "";
        snprintf(expected, sizeof expected, "round %d", round);
        if (!status && strcmp(text, expected))
            return rf_fail(why, RF_EDATA, "broadcast: %s at rank %d of %d", text, c->rank, n);
        unsigned bits = 1u << c->rank;
        int64_t sum = (int64_t)(c->rank + 1) << 40;
        if (!status) status = rf__any(c, &bits, why);
        if (!status) status = rf__sum_whole(c, &sum, why);
        if (status) return status;
        if (bits != (1u << n) - 1 || sum != ((int64_t)n * (n + 1) / 2) << 40)
            return rf_fail(why, RF_EDATA, "any, sum: %u, %lld at rank %d of %d", bits, (long long)sum, c->rank, n);
    }
    return RF_OK;
}

static void everybody_hears(void **state)
{
    (void)state;
    for (int n = 1; n <= RANKS_MOST; n++) {
        ranks_one out[RANKS_MOST];
        if (ranks_run(n, talk, NULL, 0, out))
            for (int i = 0; i < n; i++)
                if (out[i].status) fail_msg("%s", out[i].why.text);
    }
}

/* The first rank that fails reports the error for all; without a failure nobody does. */
static rf_status disagree(rf_comm *c, void *arg, rf_error *why)
{
    const unsigned who = *(const unsigned *)arg;
    rf_status mine = RF_OK;
    if (who >> c->rank & 1) mine = rf_fail(why, c->rank == 1 ? RF_EDATA : RF_EIO, "rank %d fell", c->rank);
    return rf__agree(c, mine, why);
}

static void failures_are_shared(void **state)
{
    (void)state;
    for (unsigned who = 0; who < 32; who++) {
        ranks_one out[RANKS_MOST];
        ranks_run(5, disagree, &who, 0, out);
        for (int i = 0; i < 5; i++) {
            char expected[32] = "";
            const int first = who ? __builtin_ctz(who) : -1;
            if (who) snprintf(expected, sizeof expected, "rank %d fell", first);
            assert_string_equal(out[i].why.text, expected);
            assert_int_equal(out[i].status, !who ? RF_OK : first == 1 ? RF_EDATA : RF_EIO);
        }
    }
}

static rf_status compare(rf_comm *c, void *arg, rf_error *why)
{
    return rf__same(c, c->rank == 2 ? *(const uint64_t *)arg : 7, "other options", why);
}

static void differences_are_named(void **state)
{
    (void)state;
    ranks_one out[RANKS_MOST];
    uint64_t number = 7;
    assert_int_equal(ranks_run(4, compare, &number, 0, out), RF_OK);
    number = 8;
    ranks_run(4, compare, &number, 0, out);
    for (int i = 0; i < 4; i++) t_failed(&out[i].why, RF_EARG, "rank 2 has other options than rank 0");
}

static rf_status fall(rf_comm *c, void *arg, rf_error *why)
{
    (void)arg;
    int64_t sum = 1;
    if (c->rank == 1) return rf_fail(why, RF_ENOMEM, "fell");
    return rf__sum_whole(c, &sum, why);
}

static void who_waits_is_told(void **state)
{
    (void)state;
    ranks_one out[RANKS_MOST];
    ranks_run(3, fall, NULL, 0, out);
    t_failed(&out[0].why, RF_EIO, "gone");
    t_failed(&out[2].why, RF_EIO, "gone");
}

static void one_rank_says_nothing(void **state)
{
    (void)state;
    unsigned bits = 5;
    int64_t sum = 3;
    rf_error why = {0};
    char all[4] = "", text[4] = "abc";
    assert_int_equal(rf__any(NULL, &bits, &why), RF_OK);
    assert_int_equal(rf__sum_whole(NULL, &sum, &why), RF_OK);
    assert_int_equal(rf__gather_all(NULL, text, all, 4, &why), RF_OK);
    assert_int_equal(rf__broadcast(NULL, text, 4, &why), RF_OK);
    assert_int_equal(rf__agree(NULL, RF_EDATA, &why), RF_EDATA);
    assert_int_equal(rf__same(NULL, 1, "another number", &why), RF_OK);
    assert_int_equal(bits, 5);
    assert_int_equal(sum, 3);
    assert_string_equal(all, "abc");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(everybody_hears),       cmocka_unit_test(failures_are_shared),
        cmocka_unit_test(differences_are_named), cmocka_unit_test(who_waits_is_told),
        cmocka_unit_test(one_rank_says_nothing),
    };
    return cmocka_run_group_tests_name("train/comm", tests, NULL, NULL);
}
