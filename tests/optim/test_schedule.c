/* test_schedule.c — mirrors src/optim/schedule.c. */
#include "t.h"
#include "optim/schedule.h"

static rf_train_options with(rf_schedule kind, int64_t warmup)
{
    rf_train_options o;
    rf_train_defaults(&o);
    o.lr_scheduler_type = kind;
    o.learning_rate = 0.002;
    o.warmup_steps = warmup;
    o.warmup_ratio = 0;
    return o;
}

/* The same closed forms, from the table in schedule.c; a few roundings in double. */
static void closed_forms(void **state)
{
    (void)state;
    const int64_t T = 1000, w = 100;
    for (int64_t t = 1; t <= T; t++) {
        const double up = 0.002 * (double)t / 100, share = (double)(t - w) / (double)(T + 1 - w);
        rf_train_options o = with(RF_SCHEDULE_LINEAR, w);
        t_near(rf__learning_rate(&o, t, T), t <= w ? up : 0.002 * (1 - share), 1e-17);
        o = with(RF_SCHEDULE_COSINE, w);
        t_near(rf__learning_rate(&o, t, T), t <= w ? up : 0.001 * (1 + cos(3.141592653589793 * share)), 1e-17);
        o = with(RF_SCHEDULE_CONSTANT_WITH_WARMUP, w);
        t_near(rf__learning_rate(&o, t, T), t <= w ? up : 0.002, 1e-17);
        o = with(RF_SCHEDULE_CONSTANT, w);
        t_near(rf__learning_rate(&o, t, T), 0.002, 0);
    }
}

static void no_step_is_zero_and_the_peak_is_reached(void **state)
{
    (void)state;
    for (int kind = RF_SCHEDULE_LINEAR; kind < RF_SCHEDULE_PIECEWISE; kind++)
        for (int64_t w = 0; w <= 12; w += 3) {
            const rf_train_options o = with((rf_schedule)kind, w);
            double highest = 0;
            for (int64_t t = 1; t <= 10; t++) {
                const double rate = rf__learning_rate(&o, t, 10);
                assert_true(rate > 0 && rate <= 0.002);
                highest = rate > highest ? rate : highest;
            }
            if (w && w <= 10) t_near(highest, 0.002, 1e-17);
            t_near(rf__learning_rate(&o, 99, 10), rf__learning_rate(&o, 10, 10), 0);
        }
}

static void warmup_by_share(void **state)
{
    (void)state;
    rf_train_options o = with(RF_SCHEDULE_LINEAR, -1);
    o.warmup_ratio = 0.05;
    assert_int_equal(rf__warmup(&o, 1000), 50);
    assert_int_equal(rf__warmup(&o, 30), 2);
    o.warmup_steps = 7;
    assert_int_equal(rf__warmup(&o, 1000), 7);
    assert_int_equal(rf__warmup(&o, 5), 5);
    o.warmup_steps = 0;
    assert_int_equal(rf__warmup(&o, 1000), 0);
    t_near(rf__learning_rate(&o, 1, 1000), 0.002 * 1000 / 1001, 1e-17);         /* already falling */
}

/* ---- what transformers and torch compute (tools/golden/golden_optimizers.py); a few roundings in double ---- */

static rf_schedule kind_of(const char *name)
{
    const rf_option *row;
    for (size_t i = 0; (row = rf_train_option(i)) && strcmp(row->name, "lr_scheduler_type"); i++) {}
    const char *word = row ? row->choices : "";
    for (int i = 0; *word; i++) {
        const size_t n = strcspn(word, "|");
        if (n == strlen(name) && !memcmp(word, name, n)) return (rf_schedule)i;
        word += n + (word[n] == '|');
    }
    fail_msg("%s is no schedule", name);
    return RF_SCHEDULE_LINEAR;
}

static void as_others_compute(void **state)
{
    (void)state;
    char line[512], word[64], name[64];
    int cases = 0;
    FILE *f = fopen("tests/golden/train/schedules.txt", "r");
    assert_non_null(f);
    for (int i = 0; i < 2; i++) assert_non_null(fgets(line, sizeof line, f));
    while (fscanf(f, "%63s", word) == 1 && !strcmp(word, "case")) {
        long T, w;
        double cycles, end, power, expected;
        assert_int_equal(fscanf(f, "%63s %ld %ld %lf %lf %lf", name, &T, &w, &cycles, &end, &power), 6);
        rf_train_options o = with(kind_of(name), w);
        o.num_cycles = cycles;
        o.lr_end = end;
        o.lr_power = power;
        for (int64_t t = 1; t <= T; t++) {
            assert_int_equal(fscanf(f, "%lf", &expected), 1);
            const double got = rf__learning_rate(&o, t, T);
            if (!(fabs(got - expected) <= 1e-15))
                fail_msg("%s, update %d of %ld: %.17g, expected %.17g", name, (int)t, T, got, expected);
        }
        cases++;
    }
    assert_string_equal(word, "end");
    assert_int_equal(cases, 5 * 8 + 2);
    fclose(f);
}

/* RoFormerV2's schedule scaled down: up to 1 at 32, down to .5 at 320, .1 at 1280, .01 at 2560, and constant from
 * there. */
static void straight_lines(void **state)
{
    (void)state;
    rf_train_options o = with(RF_SCHEDULE_PIECEWISE, 0);
    o.lr_schedule = "32:1,320:.5,1280:.1,2560:.01";
    const struct {
        int64_t t;
        double share;
    } expected[] = {{1, 1.0 / 32}, {16, 0.5},   {32, 1},       {176, 0.75},  {320, 0.5},
                    {800, 0.3},    {1280, 0.1}, {1920, 0.055}, {2560, 0.01}, {9999, 0.01}};
    for (size_t i = 0; i < RF_COUNT(expected); i++)
        t_near(rf__learning_rate(&o, expected[i].t, 100000), 0.002 * expected[i].share, 1e-17);
    o.lr_schedule = "0:1,10:0";
    t_near(rf__learning_rate(&o, 5, 100), 0.001, 1e-17);
    const char *const good[] = {"5:1", "1:0,2:1", "0:.5,1e6:1e-3"};
    const char *const bad[] = {"",        "5",   "5:",  ":1",   "5:1,", "5:1,4:1", "5:1,5:1",
                               "5:1;6:1", "a:1", "5:b", "-1:1", "5:-1", "nan:1",   "5:nan"};
    for (size_t i = 0; i < RF_COUNT(good); i++) assert_true(rf__schedule_valid(good[i]));
    for (size_t i = 0; i < RF_COUNT(bad); i++)
        if (rf__schedule_valid(bad[i])) fail_msg("\"%s\" passes", bad[i]);
    assert_false(rf__schedule_valid(NULL));
}

/* Down to its fraction of the peak and no further; a fraction of 1 is constant, one of 0 is the plain cosine. */
static void a_cosine_above_a_floor(void **state)
{
    (void)state;
    rf_train_options o = with(RF_SCHEDULE_COSINE_WITH_MIN_LR, 100);
    const rf_train_options cosine = with(RF_SCHEDULE_COSINE, 100), flat = with(RF_SCHEDULE_CONSTANT_WITH_WARMUP, 100);
    for (int64_t t = 1; t <= 1000; t++) {
        o.min_lr_rate = 0.25;
        const double rate = rf__learning_rate(&o, t, 1000);
        assert_true(t < 100 || (rate > 0.0005 && rate <= 0.002));
        o.min_lr_rate = 0;
        t_near(rf__learning_rate(&o, t, 1000), rf__learning_rate(&cosine, t, 1000), 1e-17);
        o.min_lr_rate = 1;
        t_near(rf__learning_rate(&o, t, 1000), rf__learning_rate(&flat, t, 1000), 1e-17);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(closed_forms),
        cmocka_unit_test(no_step_is_zero_and_the_peak_is_reached),
        cmocka_unit_test(warmup_by_share),
        cmocka_unit_test(as_others_compute),
        cmocka_unit_test(straight_lines),
        cmocka_unit_test(a_cosine_above_a_floor),
    };
    return cmocka_run_group_tests_name("train/schedule", tests, NULL, NULL);
}
