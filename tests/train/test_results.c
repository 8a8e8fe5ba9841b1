/* test_results.c — mirrors src/train/log/results.c: the keys of Trainer's all_results.json, and the values of a
 * complete run. */
#define _GNU_SOURCE
#include "whole_run.h"

#include "train/log/results.h"

static json_t *results_in(const char *folder)
{
    char *path = tiny_path(folder, "all_results.json");
    json_error_t error;
    json_t *all = json_load_file(path, 0, &error);
    if (!all) fail_msg("%s: %s", path, error.text);
    free(path);
    return all;
}

static double number_of(const json_t *all, const char *name)
{
    const json_t *x = json_object_get(all, name);
    if (!json_is_number(x)) fail_msg("no number %s", name);
    return json_number_value(x);
}

static void keys_are_trainers(void **state)
{
    (void)state;
    rf_ctx *ctx = t_ctx(1, NULL);
    const char *folder = t_folder();
    rf__state s;
    rf__state_init(&s);
    s.step = 10, s.seconds = 4, s.tokens = 700, s.total.steps = 8, s.total.loss = 12;
    rf__results r = {.ctx = ctx, .folder = folder, .state = &s, .epoch = 2, .train_samples = 30,
                     .eval_samples = 6, .eval_seconds = 3,
                     .metrics = {.n = 3, .metric = {{"loss", 0.5}, {"f1", 0.75}, {"pearson", NAN}}}};
    assert_int_equal(rf__results_write(&r, NULL), RF_OK);
    json_t *all = results_in(folder);
    static const struct { const char *name; double value;
    } expected[] = {{"epoch", 2},
                    {"train_loss", 1.5},
                    {"train_runtime", 4},
                    {"train_samples", 30},
                    {"train_samples_per_second", 15},
                    {"train_steps_per_second", 2.5},
                    {"num_input_tokens_seen", 700},
                    {"eval_loss", 0.5},
                    {"eval_f1", 0.75},
                    {"eval_runtime", 3},
                    {"eval_samples", 6},
                    {"eval_samples_per_second", 2}};
    for (size_t i = 0; i < RF_COUNT(expected); i++) t_near(number_of(all, expected[i].name), expected[i].value, 1e-12);
    assert_int_equal(json_object_size(all), RF_COUNT(expected));    /* what is not finite is left out */
    json_decref(all);
    r.tokens = true;
    r.metrics = (rf_metric_values){.n = 1, .metric = {{"loss", 2}}};
    assert_int_equal(rf__results_write(&r, NULL), RF_OK);
    all = results_in(folder);
    t_near(number_of(all, "perplexity"), exp(2), 1e-9);
    json_decref(all);
    rf_ctx_free(ctx);
}

/* The mean over the steps is that of a log of every step, whether the run was stopped or not. */
static void of_a_whole_run(void **state)
{
    (void)state;
    run r = with_options(1);
    char *path = tiny_path(r.out, "metrics.jsonl"), line[1024];
    double sum = 0, eval = 0;
    int lines = 0;
    r.o.logging_steps = 1;
    r.o.stop_after = 9;
    must(&r, RF_ESTOPPED);
    assert_false(tiny_has(r.out, "all_results.json"));
    r.o.stop_after = 0;
    r.o.resume_from_checkpoint = "latest";
    must(&r, RF_OK);
    FILE *f = fopen(path, "r");
    assert_non_null(f);
    while (fgets(line, sizeof line, f)) {
        json_t *one = json_loads(line, 0, NULL);
        const json_t *loss = json_object_get(one, "loss"), *held = json_object_get(one, "eval_loss");
        if (loss) sum += json_number_value(loss), lines++;
        if (held) eval = json_number_value(held);
        json_decref(one);
    }
    fclose(f);
    assert_int_equal(lines, 20);
    json_t *all = results_in(r.out);
    t_near(number_of(all, "train_loss"), sum / lines, 1e-6);        /* nine digits in the log */
    t_near(number_of(all, "eval_loss"), eval, 1e-6);
    t_near(number_of(all, "perplexity"), exp(eval), 1e-4);
    assert_true(number_of(all, "train_samples") > 0 && number_of(all, "eval_samples") > 0);
    json_decref(all);
    free(path);
    end(&r);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(keys_are_trainers), cmocka_unit_test(of_a_whole_run)};
    return cmocka_run_group_tests_name("train/results", tests, NULL, NULL);
}
