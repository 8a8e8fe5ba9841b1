/* test_finetune.c — mirrors src/task/finetune.c, finetune_checks.c, finetune_form.c, finetune_many.c,
 * finetune_step.c, items.c, objective.c, answers.c, answerer.c, predict.c and task_metrics.c: runs on examples whose
 * labels follow from one word, files of every task, and rejected input. */
#define _GNU_SOURCE
#include "random_weights.h"
#include "roformer/train.h"
#include "task/answerer.h"
#include "task/finetune.h"
#include "task/objective.h"
#include "task/task_metrics.h"

typedef struct setup {
    rf_ctx *ctx;
    char *model, *data, *out;
    char *train, *dev;
    char notes[4096];
    int evals;
    rf_error why;
} setup;

static int listen(void *user, const rf_train_progress *p)
{
    setup *s = user;
    const size_t n = strlen(s->notes);
    s->evals += !strcmp(p->event, "eval");
    if (!strcmp(p->event, "note")) snprintf(s->notes + n, sizeof s->notes - n, "%s\n", p->note);
    return 0;
}

/* The model of tiny.h with random weights, and examples: the label follows from the adjective. */
static setup begin(int threads)
{
    setup s = {
        .ctx = t_ctx(threads, NULL), .model = tiny_model(), .data = strdup(t_folder()), .out = strdup(t_folder())};
    char *text = malloc(1 << 20);
    random_weights(s.ctx, s.model, 3);
    for (int dev = 0; dev < 2; dev++) {
        size_t n = (size_t)sprintf(text, "text\tlabel\n");
        for (unsigned i = 0; i < (dev ? 40u : 100u); i++) {
            const unsigned noun = (i * 7 + (unsigned)dev * 3) % 12, adjective = (i + i / 12) % 4;
            n += (size_t)sprintf(text + n, "the %s %s is %sing the %s\t%s\n", tiny_adjectives[adjective],
                                 tiny_nouns[noun], tiny_verbs[i % 6], i % 2 ? "stone" : "ship",
                                 adjective < 2 ? "yes" : "no");
        }
        t_write(s.data, dev ? "dev.tsv" : "train.tsv", text, n);
    }
    s.train = tiny_path(s.data, "train.tsv");
    s.dev = tiny_path(s.data, "dev.tsv");
    free(text);
    return s;
}

static rf_finetune_options options_of(const setup *s)
{
    rf_finetune_options o;
    rf_finetune_defaults(&o);
    o.train = s->train;
    o.dev = s->dev;
    o.t.model = s->model;
    o.t.output_dir = s->out;
    o.t.num_train_epochs = 3;
    o.t.learning_rate = 3e-3;
    o.t.max_length = 16;
    o.t.save_total_limit = 0;
    o.per_device_train_batch_size = 8;
    o.save_strategy = RF_STRATEGY_STEPS;
    o.t.save_steps = 5;
    return o;
}

static void end(setup *s)
{
    rf_ctx_free(s->ctx);
    free(s->model);
    free(s->data);
    free(s->out);
    free(s->train);
    free(s->dev);
    t_free_all();
}

static double score_of(const rf_metric_values *s, const char *name)
{
    for (int i = 0; i < s->n; i++)
        if (!strcmp(s->metric[i].name, name)) return s->metric[i].value;
    fail_msg("no score %s", name);
    return 0;
}

static rf_metric_values must(setup *s, const rf_finetune_options *o, rf_status expected)
{
    rf_metric_values scores;
    s->why = (rf_error){0};
    s->notes[0] = 0;
    s->evals = 0;
    const rf_status got = rf_finetune(s->ctx, o, listen, s, &scores, &s->why);
    if (got != expected) fail_msg("%s: %s", rf_status_text(got), s->why.text);
    return scores;
}

typedef struct result { uint32_t model, optimizer; } result;

static result whole_run(int threads, void (*change)(rf_finetune_options *o), int64_t stop, double *accuracy)
{
    setup s = begin(threads);
    rf_finetune_options o = options_of(&s);
    if (change) change(&o);
    if (stop) {
        o.t.stop_after = stop;
        must(&s, &o, RF_ESTOPPED);
        o.t.stop_after = 0;
        o.t.resume_from_checkpoint = "latest";
    }
    const rf_metric_values scores = must(&s, &o, RF_OK);
    if (accuracy) *accuracy = score_of(&scores, "accuracy");
    const result r = {tiny_crc(s.out, "model.safetensors"), tiny_crc(s.out, "checkpoint-39/optimizer.safetensors")};
    end(&s);
    return r;
}

/* A batch of one short text has fewer tokens than a text may have: the checkpoint does not store that as a limit. */
static void few_tokens(rf_finetune_options *o)
{
    o->per_device_train_batch_size = 1;
    o->t.max_length = 64;
    o->t.max_steps = 39;
}

static void short_texts_go_on(void **state)
{
    (void)state;
    const result whole = whole_run(1, few_tokens, 0, NULL), resumed = whole_run(1, few_tokens, 17, NULL);
    assert_int_equal(whole.model, resumed.model);
    assert_int_equal(whole.optimizer, resumed.optimizer);
}

static void everything(rf_finetune_options *o)
{
    o->r_drop = 2;
    o->fgm = 0.1;
    o->layer_wise_lr_decay = 0.9;
    o->class_weights = "balanced";
    o->t.gradient_accumulation_steps = 1;
    o->pooled = 1;
}

static void longer(rf_finetune_options *o)
{
    o->t.num_train_epochs = 18;
    o->t.learning_rate = 5e-3;
    o->t.warmup_ratio = 0.1;
    o->t.save_steps = 39;
    o->dropout = 0;
}

static void everything_longer(rf_finetune_options *o)
{
    everything(o);
    longer(o);
}

/* ---- learning, bits ---- */

/* 234 updates separate two adjectives from two others; a constant prediction is right for half of the examples. */
static void it_learns(void **state)
{
    (void)state;
    double plain, all;
    whole_run(1, longer, 0, &plain);
    whole_run(2, everything_longer, 0, &all);
    print_message("           accuracy %.3f, with R-Drop, FGM, decay of rates and BERT's head %.3f\n", plain, all);
    assert_true(plain > 0.9);
    assert_true(all > 0.9);
}

static void same(result a, result b)
{
    assert_int_equal(a.model, b.model);
    assert_int_equal(a.optimizer, b.optimizer);
}

static void stopped_and_resumed(void **state)
{
    (void)state;
    const result plain = whole_run(1, NULL, 0, NULL), all = whole_run(1, everything, 0, NULL);
    same(whole_run(1, NULL, 7, NULL), plain);
    same(whole_run(3, NULL, 13, NULL), plain);
    same(whole_run(3, NULL, 0, NULL), plain);
    same(whole_run(2, everything, 26, NULL), all);
    assert_int_not_equal(plain.model, all.model);
}

/* ---- what stays, what moves ---- */

static void frozen_layers_stay(void **state)
{
    (void)state;
    setup s = begin(1);
    rf_finetune_options o = options_of(&s);
    rf_weights *a, *b;
    o.frozen_layers = 1;
    o.t.max_steps = 3;
    must(&s, &o, RF_OK);
    assert_int_equal(rf_weights_open(s.ctx, s.model, &a, NULL), RF_OK);
    assert_int_equal(rf_weights_open(s.ctx, s.out, &b, NULL), RF_OK);
    int moved = 0;
    for (size_t i = 0; i < rf_weights_count(b); i++) {
        const rf_weight *w = rf_weights_at(b, i), *v = rf__weights_find(a, w->name);
        const bool frozen = strstr(w->name, "embeddings") || strstr(w->name, "layer.0.");
        if (!v) continue;
        const bool equal = !memcmp(v->data, w->data, w->bytes);
        if (frozen) assert_true(equal);
        else moved += !equal;
    }
    assert_true(moved > 10);
    rf_weights_close(a);
    rf_weights_close(b);
    end(&s);
}

static void folds_hold_out_each_example_once(void **state)
{
    (void)state;
    setup s = begin(1);
    rf_finetune_options o = options_of(&s);
    o.dev = NULL;
    o.k_fold = 3;
    o.t.max_steps = 2;
    const rf_metric_values scores = must(&s, &o, RF_OK);
    assert_true(score_of(&scores, "accuracy_std") >= 0);
    int held = 0;
    for (const char *at = s.notes; (at = strstr(at, " to evaluate on")); at++) {
        const char *n = at;
        while (n[-1] >= '0' && n[-1] <= '9') n--;
        held += atoi(n);
    }
    assert_int_equal(held, 100);
    assert_true(tiny_has(s.out, "fold-3"));
    end(&s);
}

static void the_best_is_loaded(void **state)
{
    (void)state;
    setup s = begin(1);
    rf_finetune_options o = options_of(&s);
    o.save_strategy = RF_STRATEGY_EPOCH;
    o.t.load_best_model_at_end = 1;
    o.t.greater_is_better = RF_GREATER_FALSE;         /* the worst accuracy: that of the first epoch, or an equal one */
    o.t.early_stopping_patience = 1;
    must(&s, &o, RF_OK);
    assert_non_null(strstr(s.notes, "the model is that of checkpoint-13: eval_accuracy"));
    assert_int_equal(tiny_crc(s.out, "model.safetensors"), tiny_crc(s.out, "checkpoint-13/model.safetensors"));
    end(&s);
}

/* ---- every task ---- */

static const char reg[] = "sentence1,sentence2,score\nthe cat,the dog,0.5\n\"the king, old\",the queen,2\nthe "
                          "tree,\"the \"\"river\"\"\",-1\n";
static const char multi[] =
    "{\"text\": \"the red cat\", \"labels\": [\"animal\", \"red\"]}\n{\"text\": \"the big ship\", \"labels\": []}\n"
    "{\"text\": \"the old wolf\", \"labels\": [\"animal\"]}\n";
static const char conll[] = "the O\ncat B-A\nwatching I-A\nthe O\n\nold O\nking B-P\n\n";
static const char qa[] =
    "{\"question\": \"the king\", \"context\": \"the \\u00e9 cat is walking\", \"answers\": {\"text\": [\"cat is\"], "
    "\"answer_start\": [6]}}\n"
    "{\"question\": \"the dog\", \"context\": \"the dog\", \"answers\": {\"text\": [], \"answer_start\": []}}\n";
static const char mc[] = "{\"text\": \"the red\", \"choices\": [\"cat\", \"dog\", \"tree\"], \"label\": 2}\n{\"text\": "
                         "\"the old\", \"choices\": [\"ship\", \"wolf\"], \"label\": 0}\n";

static const struct { const char *task, *file, *text, *score; size_t size; rf_head head; } tasks[] = {
    {"reg", "a.csv", reg, "mse", sizeof reg - 1, RF_HEAD_SEQUENCE},
    {"multilabel", "a.jsonl", multi, "f1_micro", sizeof multi - 1, RF_HEAD_SEQUENCE},
    {"tag", "a.conll", conll, "f1", sizeof conll - 1, RF_HEAD_TOKEN},
    {"qa", "a.jsonl", qa, "exact_match", sizeof qa - 1, RF_HEAD_SPAN},
    {"mc", "a.jsonl", mc, "accuracy", sizeof mc - 1, RF_HEAD_CHOICE},
};

typedef struct lines { int n; char text[2048]; } lines;

static rf_status keep_line(void *user, const char *line, size_t size, rf_error *why)
{
    lines *l = user;
    (void)why;
    const size_t n = strlen(l->text);
    snprintf(l->text + n, sizeof l->text - n, "%.*s\n", (int)size, line);
    l->n++;
    return RF_OK;
}

/* A few examples are memorized: the folder's predictions are then the labels. */
static void every_task_learns_by_heart(void **state)
{
    (void)state;
    static const char *const said[] = {
        NULL, "{\"labels\": [\"animal\", \"red\"]}\n{\"labels\": []}\n{\"labels\": [\"animal\"]}\n",
        "{\"tags\": [\"O\", \"B-A\", \"I-A\", \"O\"]}\n{\"tags\": [\"O\", \"B-P\"]}\n", "{\"answer\": \"cat is\"",
        "{\"label\": 2}\n{\"label\": 0}\n"};
    for (size_t i = 0; i < RF_COUNT(tasks); i++) {
        setup s = begin(1);
        rf_finetune_options o = options_of(&s);
        rf_answerer *a;
        rf_metric_values on_file;
        lines l = {0};
        char *path = tiny_path(s.data, tasks[i].file);
        t_write(s.data, tasks[i].file, tasks[i].text, tasks[i].size);
        o.task = tasks[i].task;
        o.train = o.dev = path;
        o.dropout = 0;
        o.t.num_train_epochs = 150;
        o.t.learning_rate = 4e-3;
        o.eval_strategy = o.save_strategy = RF_STRATEGY_NO;
        const rf_metric_values scores = must(&s, &o, RF_OK);
        const double x = score_of(&scores, tasks[i].score);
        if (!(strcmp(tasks[i].score, "mse") ? x > 0.999 : x < 0.01)) fail_msg("%s: %s %g", o.task, tasks[i].score, x);

        rf_finetune_options none;
        rf_finetune_defaults(&none);
        if (rf_answerer_open(s.ctx, s.out, &a, &s.why)) fail_msg("%s", s.why.text);
        if (rf_answerer_evaluate(a, &none, path, &on_file, &s.why)) fail_msg("%s", s.why.text);
        assert_true(fabs(score_of(&on_file, tasks[i].score) - x) < 1e-5);    /* packed weights: another order of sums */
        if (rf_answerer_predict(a, &none, path, RF_PREDICTIONS_JSONL, keep_line, &l, &s.why))
            fail_msg("%s", s.why.text);
        assert_int_equal(l.n, i < 2 ? 3 : 2);
        if (said[i] && strncmp(l.text, said[i], strlen(said[i]))) fail_msg("%s says\n%s", o.task, l.text);
        l = (lines){0};
        assert_int_equal(rf_answerer_predict(a, &none, path, RF_PREDICTIONS_TSV, keep_line, &l, &s.why), RF_OK);
        assert_int_equal(l.n, i < 2 ? 4 : 3);
        rf_answerer_close(a);
        free(path);
        end(&s);
    }
}

/* ---- class weights, by hand ---- */

static void class_weights_balance(void **state)
{
    (void)state;
    int32_t label[] = {0, 0, 0, 1, -1, 2, 2, 0};
    const rf__items t = {.format = &rf__task_cls.examples, .K = 3, .n = 8, .label = label};
    float w[3];
    rf_error why = {0};
    assert_int_equal(rf__class_weights("balanced", &t, w, &why), RF_OK);
    assert_true(fabs((double)w[0] - 7.0 / 12) < 1e-6 && fabs((double)w[1] - 7.0 / 3) < 1e-6 &&
                fabs((double)w[2] - 7.0 / 6) < 1e-6);
    assert_int_equal(rf__class_weights("1,0.5,2", &t, w, &why), RF_OK);
    assert_true(w[1] < 0.6F && w[2] > 1.9F);
    assert_int_equal(rf__class_weights("1,0.5", &t, w, &why), RF_EARG);
    assert_int_equal(rf__class_weights("0,0,0", &t, w, &why), RF_EARG);
    assert_int_equal(rf__class_weights("0,0,1", &t, w, &why), RF_OK);
    assert_int_equal(rf__class_weights("1,2,3,4", &t, w, &why), RF_EARG);
    assert_int_equal(rf__class_weights("1,-2,3", &t, w, &why), RF_EARG);
}

/* ---- memory ---- */

/* Dev examples of 5, 9, 3 and 2 tokens: at most two at a time make batches of 14 and 5. */
static void what_a_run_needs_besides_is_counted(void **state)
{
    (void)state;
    size_t first[] = {0, 1, 2, 3, 4}, start[] = {0, 5, 14, 17, 19};
    rf_param word = {.count = 30522 * 768};
    rf__finetune_run f = {.task = &rf__task_cls,
                          .longest = 77,
                          .dev = {.format = &rf__task_cls.examples, .n = 4, .first = first, .start = start},
                          .o = {.per_device_eval_batch_size = 2}};
    rf__run r = {.task = &f, .params = {.p = &word, .n = 1}};
    rf__memory_job own;
    rf__finetune_memory(&r, &own);
    assert_true(own.copies <= 0);
    assert_int_equal(own.example, 77);
    assert_int_equal(own.evaluated, 14);
    f.o.fgm = 0.5;
    rf__finetune_memory(&r, &own);
    assert_true(fabs(own.copies - 4.0 * 30522 * 768) < 1);
    f.o.per_device_eval_batch_size = 32;
    rf__finetune_memory(&r, &own);
    assert_int_equal(own.evaluated, 19);
}

/* ---- refusals ---- */

static void refuses(const char *name, const char *text, const char *task, rf_status expected, const char *part)
{
    setup s = begin(1);
    rf_finetune_options o = options_of(&s);
    char *path = tiny_path(s.data, name), *out = tiny_path(s.out, "new");
    t_write(s.data, name, text, strlen(text));
    o.train = path;
    o.t.output_dir = out;
    o.task = task;
    o.dev = NULL;
    must(&s, &o, expected);
    if (!strstr(s.why.text, part)) fail_msg("no \"%s\" in: %s", part, s.why.text);
    assert_false(tiny_has(s.out, "new"));                    /* nothing was written, not even the folder */
    free(path);
    free(out);
    end(&s);
}

/* test_labeled.c tests errors in files. */
static void bad_files_are_refused(void **state)
{
    (void)state;
    refuses("e.tsv", "text\tlabel\nthe cat\tyes\nthe dog\n", "cls", RF_EDATA,
            "e.tsv:3: expected the 2 columns of the header, got 1");
    refuses("e.jsonl", "{\"text\": \"a\", \"choices\": [\"b\"], \"label\": 1}\n", "mc", RF_EDATA,
            "e.jsonl:1: label: expected the index of a choice");
    refuses("e.tsv", "text\tlabel\na\tb\n", "glue/none", RF_EARG, "task: expected one of cls");
}

/* A folder of files selects the training file and the evaluation file. */
static void a_folder_of_files(void **state)
{
    (void)state;
    setup s = begin(1);
    rf_finetune_options o = options_of(&s);
    o.train = s.data;
    o.dev = NULL;
    o.t.max_steps = 1;
    o.max_bad_lines = 1;
    t_write(s.data, "dev.tsv", "text\tlabel\nthe cat\tyes\nthe dog\tno\nthe ship\n", 43);
    const rf_metric_values scores = must(&s, &o, RF_OK);
    assert_true(score_of(&scores, "accuracy") >= 0);
    assert_non_null(strstr(s.notes, "2 to evaluate on"));
    assert_non_null(strstr(s.notes, "1 malformed line was skipped, the first: "));
    assert_non_null(strstr(s.notes, "dev.tsv:4: expected the 2 columns of the header, got 1"));
    end(&s);
}

/* Lines of metrics.jsonl with evaluations: one per epoch, also if the final model is a different one. */
static int evaluations(const char *folder)
{
    char *path = tiny_path(folder, "metrics.jsonl"), line[4096];
    int n = 0;
    FILE *f = fopen(path, "r");
    while (f && fgets(line, sizeof line, f)) n += strstr(line, "\"eval_loss\"") != NULL;
    if (f) fclose(f);
    free(path);
    return n;
}

static void the_same_model_is_not_evaluated_twice(void **state)
{
    (void)state;
    for (int other = 0; other < 3; other++) {
        setup s = begin(1);
        rf_finetune_options o = options_of(&s);
        rf_answerer *a;
        rf_metric_values again;
        o.save_strategy = RF_STRATEGY_EPOCH;
        if (other == 1) o.t.average_last = 2;
        if (other == 2) o.t.load_best_model_at_end = 1, o.t.greater_is_better = RF_GREATER_FALSE, o.metric = "f1_macro";
        const rf_metric_values scores = must(&s, &o, RF_OK);
        if (other == 2) assert_null(strstr(s.notes, "the model is that of checkpoint-39"));
        assert_int_equal(evaluations(s.out), 3);
        /* the scores are those of the folder in either case */
        if (rf_answerer_open(s.ctx, s.out, &a, &s.why) || rf_answerer_evaluate(a, NULL, s.dev, &again, &s.why))
            fail_msg("%s", s.why.text);
        assert_true(fabs(score_of(&again, "accuracy") - score_of(&scores, "accuracy")) < 1e-9);
        rf_answerer_close(a);
        end(&s);
    }
}

/* A run that was stopped, or had ended, and is resumed without naming its model, writes the card and the evaluations of
 * an uninterrupted one: with the model that it started from, and the scores of the final one. */
static void a_resumed_run_leaves_the_same_page(void **state)
{
    (void)state;
    for (int best = 0; best < 2; best++) {
        setup s = begin(1);
        rf_finetune_options o = options_of(&s), again;
        char *alone = tiny_path(s.out, "alone/run"), *parts = tiny_path(s.out, "parts/run");     /* the page names it */
        o.save_strategy = RF_STRATEGY_EPOCH;
        if (best) o.t.load_best_model_at_end = 1, o.t.greater_is_better = RF_GREATER_FALSE, o.metric = "f1_macro";
        o.t.output_dir = alone;
        const rf_metric_values expected = must(&s, &o, RF_OK);
        o.t.output_dir = parts;
        o.t.stop_after = 20;
        must(&s, &o, RF_ESTOPPED);
        again = o;
        again.t.stop_after = 0;
        again.t.model = NULL;
        again.t.resume_from_checkpoint = "latest";
        for (int ended = 0; ended < 2; ended++) {
            const rf_metric_values got = must(&s, &again, RF_OK);
            assert_true(score_of(&got, "accuracy") == score_of(&expected, "accuracy"));
            assert_int_equal(tiny_crc(parts, "model.safetensors"), tiny_crc(alone, "model.safetensors"));
            if (tiny_crc(parts, "README.md") != tiny_crc(alone, "README.md"))
                fail_msg("%s, %s: other pages", alone, parts);
            assert_int_equal(evaluations(parts), 3);
        }
        free(alone);
        free(parts);
        end(&s);
    }
}

static void a_label_that_training_has_not(void **state)
{
    (void)state;
    setup s = begin(1);
    rf_finetune_options o = options_of(&s);
    t_write(s.data, "dev.tsv", "text\tlabel\nthe cat\tyes\nthe dog\tperhaps\n", 39);
    must(&s, &o, RF_EDATA);
    t_failed(&s.why, RF_EDATA, "dev.tsv:3: label: expected one of the 2 known labels (no, yes), got 'perhaps'");
    end(&s);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(it_learns),
        cmocka_unit_test(stopped_and_resumed),
        cmocka_unit_test(short_texts_go_on),
        cmocka_unit_test(frozen_layers_stay),
        cmocka_unit_test(folds_hold_out_each_example_once),
        cmocka_unit_test(the_best_is_loaded),
        cmocka_unit_test(every_task_learns_by_heart),
        cmocka_unit_test(class_weights_balance),
        cmocka_unit_test(what_a_run_needs_besides_is_counted),
        cmocka_unit_test(bad_files_are_refused),
        cmocka_unit_test(a_folder_of_files),
        cmocka_unit_test(the_same_model_is_not_evaluated_twice),
        cmocka_unit_test(a_resumed_run_leaves_the_same_page),
        cmocka_unit_test(a_label_that_training_has_not),
    };
    return cmocka_run_group_tests_name("train/finetune", tests, NULL, NULL);
}
