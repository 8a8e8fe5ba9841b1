/* test_finetune_options.c — mirrors src/task/finetune.c: which options apply to a resumed run if a program has no
 * `given` to mark the options that it sets. */
#define _GNU_SOURCE
#include "random_weights.h"
#include "roformer/train.h"

typedef struct setup {
    rf_ctx *ctx;
    char *model, *data, *train, *dev, *out;
    char notes[4096];
} setup;

static int listen(void *user, const rf_train_progress *p)
{
    setup *s = user;
    const size_t n = strlen(s->notes);
    if (!strcmp(p->event, "note")) snprintf(s->notes + n, sizeof s->notes - n, "%s\n", p->note);
    return 0;
}

static void write_examples(const char *folder, const char *name, unsigned n)
{
    char text[8192];
    size_t size = (size_t)snprintf(text, sizeof text, "sentence\tlabel\n");
    for (unsigned i = 0; i < n; i++)
        size += (size_t)snprintf(text + size, sizeof text - size, "the %s %s\t%d\n", tiny_adjectives[i % 4],
                                 tiny_nouns[i * 7 % 12], i % 4 < 2);
    t_write(folder, name, text, size);
}

static setup begin(void)
{
    setup s = {.ctx = t_ctx(1, NULL), .model = tiny_model(), .data = strdup(t_folder()), .out = strdup(t_folder())};
    random_weights(s.ctx, s.model, 3);
    write_examples(s.data, "train.tsv", 64);
    write_examples(s.data, "dev.tsv", 24);
    s.train = tiny_path(s.data, "train.tsv");
    s.dev = tiny_path(s.data, "dev.tsv");
    return s;
}

static void end(setup *s)
{
    rf_ctx_free(s->ctx);
    free(s->model);
    free(s->data);
    free(s->train);
    free(s->dev);
    free(s->out);
    t_free_all();
}

static void must(setup *s, const rf_finetune_options *o, rf_status expected)
{
    rf_error why = {0};
    s->notes[0] = 0;
    const rf_status got = rf_finetune(s->ctx, o, listen, s, NULL, &why);
    if (got != expected) fail_msg("%s: %s", rf_status_text(got), why.text);
}

static rf_finetune_options options_of(const setup *s, const char *out)
{
    rf_finetune_options o;
    rf_finetune_defaults(&o);
    o.task = "glue/sst2";
    o.train = s->train;
    o.dev = s->dev;
    o.t.model = s->model;
    o.t.output_dir = out;
    o.t.max_length = 16;
    o.t.learning_rate = 3e-3;
    o.t.weight_decay = 0.1;
    o.t.logging_steps = 1;
    o.t.eval_steps = 4;
    o.t.save_steps = 4;
    o.t.num_train_epochs = 2;
    o.eval_strategy = RF_STRATEGY_STEPS;
    o.save_strategy = RF_STRATEGY_STEPS;
    o.per_device_train_batch_size = 8;
    o.metric = "f1_macro";
    return o;
}

static int checkpoints(const char *folder)
{
    int n = 0;
    for (int step = 1; step <= 16; step++) {
        char name[64];
        snprintf(name, sizeof name, "checkpoint-%d", step);
        n += tiny_has(folder, name);
    }
    return n;
}

/* Resumed with defaults only: everything comes from the checkpoint, and no difference is reported. */
static void defaults_are_not_chosen(void **state)
{
    (void)state;
    setup s = begin();
    char *alone = tiny_path(s.out, "alone"), *parts = tiny_path(s.out, "parts");
    rf_finetune_options o = options_of(&s, alone), again;
    o.t.save_total_limit = 0;
    must(&s, &o, RF_OK);
    o.t.output_dir = parts;
    o.t.stop_after = 6;
    must(&s, &o, RF_ESTOPPED);
    rf_finetune_defaults(&again);
    again.t.output_dir = parts;
    again.t.resume_from_checkpoint = "latest";
    must(&s, &again, RF_OK);
    if (strstr(s.notes, "differ")) fail_msg("%s", s.notes);
    assert_int_equal(tiny_crc(parts, "model.safetensors"), tiny_crc(alone, "model.safetensors"));
    assert_int_equal(checkpoints(alone), 4);                         /* 4, 8, 12, 16 */
    assert_int_equal(checkpoints(parts), 5);                         /* and where it stopped, 6 */
    free(alone);
    free(parts);
    end(&s);
}

/* Options that differ from the defaults are the caller's, including texts: they override the checkpoint and are
 * reported. */
static void what_is_chosen_counts(void **state)
{
    (void)state;
    setup s = begin();
    rf_finetune_options o = options_of(&s, s.out), again;
    o.t.stop_after = 6;
    must(&s, &o, RF_ESTOPPED);
    rf_finetune_defaults(&again);
    again.t.output_dir = s.out;
    again.t.resume_from_checkpoint = "latest";
    again.t.learning_rate = 1e-3;
    again.metric = "loss";
    again.save_strategy = RF_STRATEGY_NO;
    must(&s, &again, RF_OK);
    assert_non_null(strstr(s.notes, "differ from the checkpoint's: learning_rate, metric_for_best_model\n"));
    assert_non_null(strstr(s.notes, "differ from the checkpoint's: save_strategy, metric_for_best_model\n"));
    assert_false(tiny_has(s.out, "checkpoint-8"));
    assert_false(tiny_has(s.out, "checkpoint-12"));
    end(&s);
}

static int64_t length_of(setup *s, rf_finetune_options *o, const char *name)
{
    rf_config c;
    char *folder = tiny_path(s->out, name);
    o->t.output_dir = folder;
    o->t.max_steps = 1;
    must(s, o, RF_OK);
    assert_int_equal(rf_config_read(s->ctx, folder, &c, NULL), RF_OK);
    free(folder);
    return c.task_max_length;
}

/* 128 counts as chosen if it is set, although it is the default of other tasks. */
static void a_length_of_128_is_a_choice(void **state)
{
    (void)state;
    setup s = begin();
    rf_finetune_options o = options_of(&s, NULL);
    o.t.max_length = 128;
    assert_int_equal(length_of(&s, &o, "chosen"), 128);
    o.t.max_length = 0;
    assert_int_equal(length_of(&s, &o, "preset"), 512);
    o.task = "cls";
    o.text_column = "sentence";
    assert_int_equal(length_of(&s, &o, "usual"), 128);
    end(&s);
}

static void one_fold_is_none(void **state)
{
    (void)state;
    setup s = begin();
    rf_finetune_options o = options_of(&s, s.out);
    o.t.max_steps = 1;
    o.k_fold = 1;
    must(&s, &o, RF_OK);
    assert_non_null(strstr(s.notes, "options without effect: k_fold applies only to 2 parts and more"));
    end(&s);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(defaults_are_not_chosen),
        cmocka_unit_test(what_is_chosen_counts),
        cmocka_unit_test(a_length_of_128_is_a_choice),
        cmocka_unit_test(one_fold_is_none),
    };
    return cmocka_run_group_tests_name("task/finetune_options", tests, NULL, NULL);
}
