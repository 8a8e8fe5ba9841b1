/* test_schedule.c — mirrors src/train/schedule.c. */
#include "t.h"
#include "train/schedule.h"

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
        o = with(RF_SCHEDULE_CONSTANT, w);
        t_near(rf__learning_rate(&o, t, T), t <= w ? up : 0.002, 1e-17);
    }
}

static void no_step_is_zero_and_the_peak_is_reached(void **state)
{
    (void)state;
    for (int kind = RF_SCHEDULE_LINEAR; kind <= RF_SCHEDULE_CONSTANT; kind++)
        for (int64_t w = 0; w <= 12; w += 3) {
            const rf_train_options o = with((rf_schedule)kind, w);
            double highest = 0;
            for (int64_t t = 1; t <= 10; t++) {
                const double rate = rf__learning_rate(&o, t, 10);
                assert_true(rate > 0 && rate <= 0.002);
                highest = rate > highest ? rate : highest;
            }
            if (w) t_near(highest, 0.002, 1e-17);
            t_near(rf__learning_rate(&o, 99, 10), rf__learning_rate(&o, 10, 10), 0);
        }
}

static void warmup_by_share(void **state)
{
    (void)state;
    rf_train_options o = with(RF_SCHEDULE_LINEAR, 0);
    o.warmup_ratio = 0.05;
    assert_int_equal(rf__warmup(&o, 1000), 50);
    assert_int_equal(rf__warmup(&o, 30), 2);
    o.warmup_steps = 7;
    assert_int_equal(rf__warmup(&o, 1000), 7);
    assert_int_equal(rf__warmup(&o, 5), 5);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(closed_forms),
        cmocka_unit_test(no_step_is_zero_and_the_peak_is_reached),
        cmocka_unit_test(warmup_by_share),
    };
    return cmocka_run_group_tests_name("train/schedule", tests, NULL, NULL);
}
