/* test_options.c — mirrors src/train/options.c and src/train/memory.c. */
#include "t.h"
#include "train/memory.h"
#include "optim/optimizer.h"
#include "train/options.h"

static rf_train_options defaults(void)
{
    rf_train_options o;
    rf_train_defaults(&o);
    return o;
}

static void defaults_are_within_limits(void **state)
{
    (void)state;
    const rf_train_options o = defaults();
    rf_error why = {0};
    assert_int_equal(rf__options_check(&o, &why), RF_OK);
    t_near(o.adam_beta1, 0.9, 0);
    t_near(o.adam_beta2, 0.999, 0);
    t_near(o.adam_epsilon, 1e-8, 0);
    t_near(o.mlm_probability, 0.15, 0);
    assert_int_equal(o.seed, 42);
}

static void limits_name_the_option(void **state)
{
    (void)state;
    rf_error why = {0};
    rf_train_options o = defaults();
#define REFUSED(assignment, part)                       \
    do {                                                \
        o = defaults();                                 \
        why = (rf_error){0};                            \
        assignment;                                     \
        rf__options_check(&o, &why);                    \
        t_failed(&why, RF_EARG, part);                  \
    } while (0)
    REFUSED(o.learning_rate = -1, "learning_rate: expected 0 to 10, got -1");
    REFUSED(o.learning_rate = NAN, "learning_rate");
    REFUSED(o.adam_beta2 = 1, "adam_beta2: expected 0 to 0.99999999, got 1");
    REFUSED(o.adam_epsilon = 0, "adam_epsilon");
    REFUSED(o.mlm_probability = 0, "mlm_probability");
    REFUSED(o.tokens_per_batch = 7, "tokens_per_batch: expected 8 to 16777216, got 7");
    REFUSED(o.max_length = 10000, "max_length: expected at most tokens_per_batch, 8192, got 10000");
    REFUSED(o.gradient_accumulation_steps = 0, "gradient_accumulation_steps");
    REFUSED(o.lr_scheduler_type = (rf_schedule)99, "lr_scheduler_type");
    REFUSED(o.optim = (rf_optim)(RF_OPTIM_MUON + 1), "optim");
    REFUSED(o.lr_scheduler_type = RF_SCHEDULE_PIECEWISE,
            "lr_schedule: expected update:fraction,update:fraction with ascending updates");
    REFUSED((o.lr_scheduler_type = RF_SCHEDULE_PIECEWISE, o.lr_schedule = "5:1,5:2"), "ascending");
    REFUSED((o.nesterov = 1, o.momentum = 0), "nesterov: expected momentum above 0, got 0");
    REFUSED(o.warmup_init = 1, "warmup_init: expected relative_step, got none");
    REFUSED(o.whole_word_share = 0.5, "whole_word_share: expected whole_word_mask, got none");
    REFUSED((o.average_last = 2, o.ema_decay = 0.9),
            "average_last: expected no ema_decay, got both");
    REFUSED((o.average_last = 3, o.save_total_limit = 2), "average_last: expected at most save_total_limit, 2, got 3");
    REFUSED((o.average_last = 2, o.load_best_model_at_end = 1), "average_last");
    REFUSED((o.average_last = 2, o.average_best = 2), "average_best: expected no average_last, got both");
    REFUSED((o.average_best = 2, o.ema_decay = 0.9),
            "average_best: expected no ema_decay, got both");
    REFUSED((o.average_best = 2, o.eval_steps = 0),
            "average_best: expected save_steps ... eval_steps above");
    REFUSED((o.average_best = 2, o.eval_steps = 300),
            "average_best: expected save_steps ... eval_steps above 0, got");
    REFUSED(o.save_type = RF_I8, "save_type");
    REFUSED(o.reader.max_document = SIZE_MAX, "max_document");
    REFUSED(o.num_train_epochs = 0, "max_steps, num_train_epochs: expected one above 0, got 0 for both");
    REFUSED(o.max_steps = -1, "max_steps");
    REFUSED((o.early_stopping_patience = 1, o.eval_steps = 0),
            "early_stopping_patience: expected evaluations, got eval_steps");
    REFUSED(o.validation_split = 0.9, "validation_split: expected 0 to 0.5, got 0.9");
#undef REFUSED
}

static int is_it(void *user, const char *option) { return !strcmp(*(const char **)user, option); }

/* Every option that belongs to more than one run is stored in a checkpoint and restored. */
static void checkpoint_keeps_them(void **state)
{
    (void)state;
    rf_ctx *ctx = t_ctx(1, NULL);
    rf_arena arena;
    char changed[256];
    const rf_train_options usual = defaults();
    const char *text[] = {"-"};
    rf_train_options o = defaults(), back = defaults();
    rf__arena_init(&arena, ctx);
    o.text = text;
    o.texts = 1;
    o.learning_rate = 1.0 / 3;
    o.max_steps = 123456789012;
    o.lr_scheduler_type = RF_SCHEDULE_COSINE;
    o.save_type = RF_BF16;
    o.whole_word_mask = 1;
    o.seed = 9007199254740993;
    o.stop_after = 5;
    o.reader.split = RF_SPLIT_HEADING;
    o.reader.field = "body";
    json_t *saved = rf__options_json(&o);
    assert_int_equal(rf__options_restore(&back, &usual, saved, &arena, "state", changed, sizeof changed, NULL), RF_OK);
    assert_string_equal(changed, "");
    assert_string_equal(back.text[0], "-");
    assert_string_equal(back.reader.field, "body");
    assert_int_equal(back.stop_after, 0);
    back.text = o.text;
    back.reader.field = o.reader.field;
    back.stop_after = o.stop_after;
    assert_memory_equal(&back, &o, sizeof o);

    back = defaults();                                               /* what the caller sets is the caller's */
    back.learning_rate = 0.01;
    back.max_steps = 10;
    back.seed = o.seed;
    assert_int_equal(rf__options_restore(&back, &usual, saved, &arena, "state", changed, sizeof changed, NULL), RF_OK);
    t_near(back.learning_rate, 0.01, 0);
    assert_int_equal(back.max_steps, 10);
    assert_string_equal(changed, "max_steps, learning_rate");

    const char *only = "learning_rate";
    back = defaults();                                               /* chosen, although it equals the default */
    back.given = is_it;
    back.given_user = &only;
    assert_int_equal(rf__options_restore(&back, &usual, saved, &arena, "state", changed, sizeof changed, NULL), RF_OK);
    t_near(back.learning_rate, defaults().learning_rate, 0);
    assert_int_equal(back.max_steps, o.max_steps);
    assert_string_equal(changed, "learning_rate");

    rf_error why = {0};
    json_object_set_new(saved, "save_type", json_string("f8"));
    back = defaults();
    rf__options_restore(&back, &usual, saved, &arena, "state", changed, sizeof changed, &why);
    t_failed(&why, RF_EDATA, "state: options: save_type: expected ... got another one");
    json_decref(saved);
    rf__arena_clear(&arena);
    rf_ctx_free(ctx);
}

static int among(void *user, const char *option)
{
    for (const char *const *name = user; *name; name++)
        if (!strcmp(*name, option)) return 1;
    return 0;
}

/* Of two options for the same thing the chosen one counts, at the start and over a checkpoint's. */
static void what_is_given_wins(void **state)
{
    (void)state;
    const rf_train_options usual = defaults();
    static const struct {
        const char *given[3];
        int64_t steps, max_steps;
        double ratio;
        int64_t expected_steps, expected_max;
        double expected_ratio;
    } cases[] = {
        {{NULL}, -1, 0, 0.05, -1, 0, 0.05},                          /* by default a share */
        {{"warmup_steps"}, 0, 0, 0.05, 0, 0, 0},                     /* none means none */
        {{"warmup_steps"}, 7, 0, 0.05, 7, 0, 0.05},
        {{"warmup_ratio"}, 100, 0, 0.1, -1, 0, 0.1},                 /* 100 is a checkpoint's */
        {{"warmup_steps", "warmup_ratio"}, 0, 0, 0.1, -1, 0, 0.1},   /* as in Trainer */
        {{"warmup_steps", "warmup_ratio"}, 7, 0, 0.1, 7, 0, 0.1},
        {{NULL}, 0, 0, 0.05, -1, 0, 0.05},                           /* a checkpoint of when 0 was "not given" */
        {{NULL}, 0, 0, 0, 0, 0, 0},                                  /* a checkpoint of a run without warm-up */
        {{"num_train_epochs"}, -1, 50, 0.05, -1, 0, 0.05},           /* 50 is a checkpoint's */
        {{"num_train_epochs", "max_steps"}, -1, 50, 0.05, -1, 50, 0.05},
    };
    for (size_t i = 0; i < RF_COUNT(cases); i++) {
        rf_train_options o = defaults();
        o.given = among;
        o.given_user = (void *)(uintptr_t)cases[i].given;
        o.warmup_steps = cases[i].steps, o.warmup_ratio = cases[i].ratio, o.max_steps = cases[i].max_steps;
        rf__options_resolve(&o, &usual);
        if (o.warmup_steps != cases[i].expected_steps || o.max_steps != cases[i].expected_max) fail_msg("case %zu", i);
        t_near(o.warmup_ratio, cases[i].expected_ratio, 0);
    }
    rf_train_options o = defaults();                                /* without `given`: what differs from the default */
    o.warmup_steps = 0;
    rf__options_resolve(&o, &usual);
    assert_true(o.warmup_steps == 0 && !(o.warmup_ratio > 0));
    static const char *const schedule[] = {"lr_schedule", NULL}, *const both[] = {"lr_schedule", "lr_scheduler_type",
                                                                                  NULL};
    o = defaults();
    o.lr_schedule = "5:1";
    o.given = among;
    o.given_user = (void *)(uintptr_t)schedule;
    rf__options_resolve(&o, &usual);
    assert_int_equal(o.lr_scheduler_type, RF_SCHEDULE_PIECEWISE);
    o.lr_scheduler_type = RF_SCHEDULE_LINEAR;
    o.given_user = (void *)(uintptr_t)both;
    rf__options_resolve(&o, &usual);
    assert_int_equal(o.lr_scheduler_type, RF_SCHEDULE_LINEAR);
    char note[256];
    assert_true(rf__options_ineffective(&o, &usual, note, sizeof note));
    assert_string_equal(note, "lr_schedule (lr_scheduler_type is linear)");
}

/* A chosen option without effect is reported with the option that it requires. */
static void what_has_no_effect_is_named(void **state)
{
    (void)state;
    char note[256];
    const rf_train_options usual = defaults();
    rf_train_options o = defaults();
    assert_false(rf__options_ineffective(&o, &usual, note, sizeof note));
    o.momentum = 0.5;
    o.num_cycles = 3;
    o.adam_beta2 = 0.9;
    assert_true(rf__options_ineffective(&o, &usual, note, sizeof note));
    assert_string_equal(note, "momentum (optim is adamw), num_cycles (lr_scheduler_type is linear)");
    o.optim = RF_OPTIM_SGD;
    o.lr_scheduler_type = RF_SCHEDULE_COSINE_WITH_RESTARTS;
    assert_true(rf__options_ineffective(&o, &usual, note, sizeof note));
    assert_string_equal(note, "adam_beta2 (optim is sgd)");
    char small[8];
    assert_true(rf__options_ineffective(&o, &usual, small, sizeof small));
    assert_string_equal(small, "adam_be");
}

static void memory_is_asked_first(void **state)
{
    (void)state;
    rf_ctx *ctx = t_ctx(1, NULL);
    rf_config c;
    rf_params p;
    char note[256];
    rf_error why = {0};
    const rf_train_options o = defaults();
    rf_config_defaults(&c);                                          /* the base shape, V = 50000: 124 million */
    assert_int_equal(rf__params_new(ctx, &c, &p, NULL), RF_OK);
    const rf__rule rule = rf__rule_of(&o);
    t_near(rf__optimizer_bytes(&p, &rule, 1), 16.0 * (double)rf_config_parameters(&c), 1e6);
    assert_int_equal(rf__memory_check(&p, &o, NULL, 64e9, note, sizeof note, &why), RF_OK);
    assert_non_null(strstr(note, "million parameters"));
    rf__memory_check(&p, &o, NULL, 4e9, note, sizeof note, &why);
    t_failed(&why, RF_ENOMEM, "would fit");
    why = (rf_error){0};
    rf__memory_check(&p, &o, NULL, 1e9, note, sizeof note, &why);
    t_failed(&why, RF_ENOMEM, "no batch fits");
    assert_true(rf__memory_left() > 1e6);
    rf__params_free(&p);
    rf_ctx_free(ctx);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(defaults_are_within_limits),
        cmocka_unit_test(limits_name_the_option),
        cmocka_unit_test(checkpoint_keeps_them),
        cmocka_unit_test(what_is_given_wins),
        cmocka_unit_test(what_has_no_effect_is_named),
        cmocka_unit_test(memory_is_asked_first),
    };
    return cmocka_run_group_tests_name("train/options", tests, NULL, NULL);
}
