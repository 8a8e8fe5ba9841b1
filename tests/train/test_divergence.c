/* test_divergence.c - mirrors src/train/divergence.c: runs with noisy losses are not reported, diverged ones are
 * reported once. */
#include <math.h>

#include "t.h"
#include "train/divergence.h"

/* ---- chance ---- */

static uint64_t chance;

static double uniform(void)
{
    chance = chance * 6364136223846793005u + 1442695040888963407u;
    return ((double)(chance >> 11) + 0.5) * 0x1p-53;
}

static double normal(void)
{
    const double r = sqrt(-2 * log(uniform()));
    return r * cos(6.283185307179586 * uniform());
}

/* ---- series: the loss of update i of n ---- */

typedef double series(int i, int n);

/* Falls from 7 to 2. */
static double falls(int i, int n) { return 2 + 5 * exp(-10.0 * i / n); }

static double batches(int i, int n) { return falls(i, n) + 0.3 * normal(); }
static double small_batches(int i, int n) { return fabs(falls(i, n) + 1.5 * normal()); }
/* The last batch of an epoch of 13 updates has one pair and nothing to compare it with: its loss is 0, or it is
 * hard. */
static double one_pair(int i, int n) { return i % 13 == 12 ? 0 : falls(i, n) + 0.3 * normal(); }
static double one_hard_pair(int i, int n) { return i % 13 == 12 ? 30 * uniform() : 0.1 * falls(i, n) * uniform(); }
/* Examples of which one in five has a wrong label, one at a time. */
static double right_or_wrong(int i, int n) { return (void)i, (void)n, uniform() < 0.2 ? 6 : 0.02 * uniform(); }
static double heavy_tails(int i, int n) { return exp(log(falls(i, n)) + normal() - 1); }
static double restarts(int i, int n) { return falls(i % (n / 4), n / 4) * 0.2 + 1 + 0.2 * normal(); }

static const struct { const char *name; series *loss; } healthy[] = {
    {"batches", batches},
    {"small batches", small_batches},
    {"one pair", one_pair},
    {"one hard pair", one_hard_pair},
    {"right or wrong", right_or_wrong},
    {"heavy tails", heavy_tails},
    {"restarts", restarts},
};

enum { SEEDS = 20, LONG = 3000 };

static void healthy_runs_are_left_alone(void **state)
{
    (void)state;
    for (size_t k = 0; k < RF_COUNT(healthy); k++)
        for (uint64_t seed = 1; seed <= SEEDS; seed++) {
            rf__losses l = {.n = 0};
            chance = seed;
            for (int i = 0; i < LONG; i++)
                if (rf__losses_diverged(&l, i + 1, healthy[k].loss(i, LONG)))
                    fail_msg("%s, seed %d: step %d: %g after %g", healthy[k].name, (int)seed, i + 1, l.last.mean,
                             l.lowest.mean);
        }
}

/* A single number, however large, is not a diverged run; ten in a row are not either. */
static void spikes_are_left_alone(void **state)
{
    (void)state;
    for (int wide = 1; wide <= 10; wide += 9)
        for (int at = 100; at < 132; at++) {
            rf__losses l = {.n = 0};
            for (int i = 0; i < 400; i++)
                assert_false(rf__losses_diverged(&l, i + 1, i >= at && i < at + wide ? 1e6 : 2));
        }
}

/* From step 300 on the loss is that of predicting by frequency, with the noise of the earlier batches.  Two blocks of
 * 16 after the first complete one are enough: it is reported within 48 updates, and never again, whatever follows. */
static void diverged_runs_are_found_once(void **state)
{
    (void)state;
    static const double noise[] = {0, 0.3, 1};
    for (size_t k = 0; k < RF_COUNT(noise); k++)
        for (int from = 300; from < 300 + RF_LOSS_BLOCK; from++) {
            rf__losses l = {.n = 0};
            int found = 0, at = 0;
            chance = (uint64_t)from;
            for (int i = 1; i <= 1500; i++) {
                const bool high = i > from && (i / 200) % 2;
                const double mean = i <= from + 100 && i > from ? 7 : high ? 9 : 1.5 + 5 * exp(-i / 40.0);
                if (rf__losses_diverged(&l, i, mean + noise[k] * normal())) found++, at = i;
                if (found && at == i) assert_true(l.lowest.step <= from && l.lowest.mean < 3 && l.last.mean > 6);
            }
            if (found != 1 || at > from + 48)
                fail_msg("noise %g: found %d times, at step %d of %d", noise[k], found, at, from);
        }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(healthy_runs_are_left_alone),
        cmocka_unit_test(spikes_are_left_alone),
        cmocka_unit_test(diverged_runs_are_found_once),
    };
    return cmocka_run_group_tests_name("train/divergence", tests, NULL, NULL);
}
