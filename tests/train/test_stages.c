/* test_stages.c — mirrors src/train/stages.c: stages of a run are read, follow one another, and leave the same bits
 * wherever the run was stopped. */
#define _GNU_SOURCE
#include <math.h>

#include "train/stages.h"
#include "whole_run.h"

static const char three[] =
    "{\"stages\": [{\"length\": 16, \"batch\": 16, \"steps\": 4, \"learning_rate\": 1e-3, \"warmup_steps\": 2},"
    "{\"length\": 48, \"batch\": 8, \"steps\": 3, \"precision\": \"bf16\"},"
    "{\"length\": 24, \"batch\": 32, \"steps\": 5, \"learning_rate\": 2e-3}]}";
enum { STEPS = 12 };

static run with_stages(const char *text)
{
    run r = with_options(1);
    t_write(r.model, "stages.json", text, strlen(text));
    r.o.stages = tiny_path(r.model, "stages.json");
    r.o.max_steps = 0;
    r.o.max_length = 128;
    r.o.gradient_accumulation_steps = 1;
    r.o.tokens_per_batch = 256;
    r.o.learning_rate = 5e-4;
    r.o.save_steps = 3;
    r.o.eval_steps = 5;
    r.o.logging_steps = 1;
    r.o.lr_scheduler_type = RF_SCHEDULE_CONSTANT_WITH_WARMUP;
    return r;
}

static void end_stages(run *r)
{
    free((char *)(uintptr_t)r->o.stages);
    end(r);
}

/* Stopped after each step, at the ends of stages too, and gone on from there or from the checkpoint before. */
static void the_same_bits(void **state)
{
    (void)state;
    run r = with_stages(three);
    must(&r, RF_OK);
    const result expected = result_of(r.out, STEPS);
    noted(&r, "stage 1 of 3: length 16, 4 updates of 16 x 16 tokens in 1 batch, peak rate 0.001, f32");
    noted(&r, "stage 2 of 3: length 48, 3 updates of 8 x 48 tokens in 2 batches, peak rate 0.0005, bf16; ");
    noted(&r, "stage 3 of 3 ends: length 24, batch 32, 5 updates: loss");
    end_stages(&r);
    for (int at = 1; at < STEPS; at++) {
        r = with_stages(three);
        r.o.stop_after = at;
        must(&r, RF_ESTOPPED);
        r.o.stop_after = 0;
        r.o.resume_from_checkpoint = "latest";
        const char *stages = r.o.stages;
        if (at % 2) r.o.stages = NULL;                                /* the checkpoint knows them */
        must(&r, RF_OK);
        r.o.stages = stages;
        same(result_of(r.out, STEPS), expected);
        end_stages(&r);
    }
}

/* An evaluation at the end of a stage that is given up is of that stage when the run goes on. */
static int stop_in_evaluation(void *user, const rf_train_progress *p)
{
    int *left = user;
    if (p->step == 4 && !strcmp(p->event, "batch") && --*left == 0) return RF_TRAIN_STOP;
    return RF_TRAIN_GO;
}

static void an_evaluation_that_is_owed(void **state)
{
    (void)state;
    run r = with_stages(three);
    must(&r, RF_OK);
    const result expected = result_of(r.out, STEPS);
    end_stages(&r);
    r = with_stages(three);
    int left = 1;
    r.text[0] = r.corpus;
    r.o.text = r.text;
    assert_int_equal(rf_pretrain(r.ctx, &r.o, stop_in_evaluation, &left, &r.why), RF_ESTOPPED);
    assert_int_equal(left, 0);
    r.o.resume_from_checkpoint = "latest";
    must(&r, RF_OK);
    same(result_of(r.out, STEPS), expected);
    end_stages(&r);
}

/* What each step was, by metrics.jsonl: the rate of its stage, and no more tokens than its batches hold. */
static void steps_are_of_their_stage(void **state)
{
    (void)state;
    static const double rate[STEPS] = {5e-4, 1e-3, 1e-3, 1e-3, 5e-4, 5e-4, 5e-4, 2e-3, 2e-3, 2e-3, 2e-3, 2e-3};
    static const int most[STEPS] = {256, 256, 256, 256, 384, 384, 384, 768, 768, 768, 768, 768};
    run r = with_stages(three);
    must(&r, RF_OK);
    char *path = tiny_path(r.out, "metrics.jsonl"), line[1024];
    FILE *f = fopen(path, "r");
    int64_t before = 0;
    int steps = 0;
    double loss[3] = {0};
    while (fgets(line, sizeof line, f)) {
        json_t *j = json_loads(line, 0, NULL);
        const int64_t step = json_integer_value(json_object_get(j, "step")),
                      tokens = json_integer_value(json_object_get(j, "tokens"));
        if (json_object_get(j, "eval_loss"))
            loss[step > 7 ? 2 : step > 4] = json_number_value(json_object_get(j, "eval_loss"));
        else {
            assert_int_equal(step, ++steps);
            assert_true(fabs(json_number_value(json_object_get(j, "learning_rate")) / rate[step - 1] - 1) < 1e-12);
            assert_true(tokens - before <= most[step - 1]);
            assert_true((double)(tokens - before) > 0.8 * most[step - 1]);
            before = tokens;
        }
        json_decref(j);
    }
    fclose(f);
    free(path);
    assert_int_equal(steps, STEPS);
    path = tiny_path(r.out, "all_results.json");
    json_t *all = json_load_file(path, 0, NULL), *rows = json_object_get(all, "stages");
    assert_int_equal(json_array_size(rows), 3);
    for (size_t i = 0; i < 3; i++) {
        const json_t *row = json_array_get(rows, i);
        /* the log has nine digits */
        const double said = json_number_value(json_object_get(row, "loss"));
        if (fabs(said - loss[i]) > 1e-7) fail_msg("stage %zu: %.12g, evaluated %.12g", i + 1, said, loss[i]);
        assert_true(json_number_value(json_object_get(row, "accuracy")) > 0);
    }
    json_decref(all);
    free(path);
    path = tiny_path(r.out, "README.md");
    char *card;
    size_t size;
    if (rf__read_file(r.ctx, path, 1 << 20, &card, &size, &r.why)) fail_msg("%s", r.why.text);
    assert_non_null(memmem(card, size, "| 2 | 48 | 8 | 3 | ", 19));
    rf__free(r.ctx, card);
    free(path);
    end_stages(&r);
}

/* One stage is the run that its options say. */
static void one_stage_is_a_run(void **state)
{
    (void)state;
    run r = with_stages("{\"stages\": [{\"length\": 32, \"batch\": 16, \"steps\": 6, \"learning_rate\": 1e-3}]}");
    must(&r, RF_OK);
    const result a = result_of(r.out, 6);
    end_stages(&r);
    r = with_stages("{}");
    free((char *)(uintptr_t)r.o.stages);
    r.o.stages = NULL;
    r.o.max_length = 32;
    r.o.gradient_accumulation_steps = 2;
    r.o.max_steps = 6;
    r.o.learning_rate = 1e-3;
    must(&r, RF_OK);
    const result b = result_of(r.out, 6);
    assert_int_equal(a.model, b.model);
    assert_int_equal(a.metrics, b.metrics);
    end(&r);
}

static void later_stages_may_change(void **state)
{
    (void)state;
    static const char longer[] = "{\"stages\": [{\"length\": 16, \"batch\": 16, \"steps\": 4, \"learning_rate\": 1e-3, "
                                 "\"warmup_steps\": 2}, {\"length\": 64, \"batch\": 4, \"steps\": 2}]}",
                      other[] = "{\"stages\": [{\"length\": 16, \"batch\": 16, \"steps\": 5, \"learning_rate\": 1e-3, "
                                "\"warmup_steps\": 2}]}";
    run r = with_stages(three);
    r.o.stop_after = 3;
    must(&r, RF_ESTOPPED);
    r.o.stop_after = 0;
    r.o.resume_from_checkpoint = "latest";
    t_write(r.model, "stages.json", other, sizeof other - 1);
    must(&r, RF_EARG);
    t_failed(&r.why, RF_EARG, "stage 1: expected that of");
    t_write(r.model, "stages.json", longer, sizeof longer - 1);
    must(&r, RF_OK);
    assert_int_equal(r.steps, 3);
    noted(&r, "stage 2 of 2: length 64");
    end_stages(&r);
    r = with_options(1);                                              /* a run without stages gets none */
    r.o.stop_after = 3;
    must(&r, RF_ESTOPPED);
    r.o.resume_from_checkpoint = "latest";
    r.o.max_steps = 0;
    r.o.max_length = 128;
    r.o.gradient_accumulation_steps = 1;
    r.o.stages = "x.json";
    must(&r, RF_EARG);
    end(&r);
}

static void what_is_refused(void **state)
{
    (void)state;
    static const struct { const char *text, *part; } bad[] = {
        {"[]", "stages.json"},
        {"{}", "\"stages\": expected a list of 1 to 64 stages, got none"},
        {"{\"stages\": []}", "a list of 1 to 64 stages"},
        {"{\"stages\": [1]}", "stage 1: expected an object ... got 1"},
        {"{\"stages\": [{\"batch\": 1, \"steps\": 1}]}", "stage 1: length: expected a whole number from 8 to 1048576"},
        {"{\"stages\": [{\"length\": 16, \"batch\": 1, \"steps\": 1}, {\"length\": 16, \"batch\": 0, \"steps\": 1}]}",
         "stage 2: batch: expected a whole number from 1 to"},
        {"{\"stages\": [{\"length\": 16, \"batch\": 1, \"steps\": 1.5}]}",
         "stage 1: steps: expected a whole number from 1 to 1000000000000, got 1.5"},
        {"{\"stages\": [{\"length\": 16, \"batch\": 1, \"steps\": 1, \"lr\": 1}]}",
         "stage 1: expected length, batch, steps, learning_rate, warmup_steps, precision, tokens_per_batch or "},
        {"{\"stages\": [{\"length\": 16, \"batch\": 1, \"steps\": 1, \"learning_rate\": 11}]}",
         "stage 1: learning_rate: expected a number from 0 to 10, got 11"},
        {"{\"stages\": [{\"length\": 16, \"batch\": 1, \"steps\": 1, \"precision\": \"fp16\"}]}",
         "\"f32\" or \"bf16\""},
        {"{\"stages\": [{\"length\": 512, \"batch\": 1, \"steps\": 1}]}",
         "stage 1: length: expected at most tokens_per_batch, 256, got 512"},
    };
    for (size_t i = 0; i < RF_COUNT(bad); i++) {
        run r = with_stages(bad[i].text);
        must(&r, RF_EDATA);
        t_failed(&r.why, RF_EDATA, bad[i].part);
        end_stages(&r);
    }
    run r = with_stages(three);
    r.o.max_steps = 3;
    must(&r, RF_EARG);
    t_failed(&r.why, RF_EARG, "max_steps: expected");
    end_stages(&r);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_same_bits),        cmocka_unit_test(an_evaluation_that_is_owed),
        cmocka_unit_test(steps_are_of_their_stage), cmocka_unit_test(one_stage_is_a_run),
        cmocka_unit_test(later_stages_may_change), cmocka_unit_test(what_is_refused),
    };
    return cmocka_run_group_tests_name("train/stages", tests, NULL, NULL);
}
