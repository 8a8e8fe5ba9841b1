/* test_run.c — mirrors src/train/start.c, start_checkpoint.c, start_model.c, start_text.c, text_job.c, loop.c and
 * evaluate.c: complete runs in this process that succeed or are stopped. */
#define _GNU_SOURCE
#include "train/checkpoint/checksums.h"
#include "train/evaluate.h"
#include "train/checkpoint/folder.h"
#include "whole_run.h"

/* ---- learning ---- */

static double unigram_entropy(const char *corpus)
{
    double count[64] = {0}, sum = 0, entropy = 0;
    char word[32];
    FILE *f = fopen(corpus, "r");
    while (fscanf(f, "%31s", word) == 1) {                           /* verbs are two tokens: one is always ##ing */
        count[rf__hash64(word, strlen(word), 0) % 64]++;
        sum++;
        const size_t n = strlen(word);
        if (n > 4 && !strcmp(word + n - 3, "ing")) count[63]++, sum++;
    }
    fclose(f);
    for (int i = 0; i < 64; i++)
        if (count[i] > 0) entropy -= count[i] / sum * log(count[i] / sum);
    return entropy;
}

/* The sentences follow from two words each, so a model that sees both sides must do far better than word counts, whose
 * entropy is a lower bound for anything that ignores the context. */
static void it_learns(void **state)
{
    (void)state;
    static const char config[] =
        "{\"model_type\": \"roformer\", \"vocab_size\": 34, \"embedding_size\": 32, \"hidden_size\": 32, "
        "\"num_hidden_layers\": 2, \"num_attention_heads\": 2, \"intermediate_size\": 64, \"hidden_dropout_prob\": 0, "
        "\"attention_probs_dropout_prob\": 0}";
    run r = with_options(1);
    t_write(r.model, "config.json", config, sizeof config - 1);
    r.o.max_steps = 400;
    r.o.save_steps = r.o.eval_steps = 200;
    r.o.gradient_accumulation_steps = 1;
    r.o.tokens_per_batch = 512;
    must(&r, RF_OK);
    rf_train_options o;
    rf_train_defaults(&o);
    o.text = r.text;
    o.texts = 1;
    o.model = r.out;
    o.tokens_per_batch = 512;
    o.max_length = 32;
    o.seed = 3;
    rf_mlm_metrics s;
    if (rf_evaluate_mlm(r.ctx, &o, &s, &r.why)) fail_msg("%s", r.why.text);
    const double unigram = unigram_entropy(r.corpus);
    print_message("           loss %.3f, accuracy %.1f %%; word counts alone %.3f\n", s.loss, 100 * s.accuracy,
                  unigram);
    assert_true(s.loss < 0.6 * unigram);
    assert_true(s.accuracy > 0.6);
    end(&r);
}

/* The predicted tokens, and their losses, do not depend on how the text is packed: sums of floats in another order. */
static void evaluation_does_not_see_the_packing(void **state)
{
    (void)state;
    run r = with_options(1);
    r.o.max_steps = 4;
    must(&r, RF_OK);
    rf_mlm_metrics a, b;
    r.o.model = r.out;
    if (rf_evaluate_mlm(r.ctx, &r.o, &a, &r.why)) fail_msg("%s", r.why.text);
    r.o.tokens_per_batch = 77;
    if (rf_evaluate_mlm(r.ctx, &r.o, &b, &r.why)) fail_msg("%s", r.why.text);
    assert_int_equal(a.labels, b.labels);
    assert_int_equal(a.tokens, b.tokens);
    assert_int_equal(a.documents, 300);
    t_near(a.loss, b.loss, 1e-5 * a.loss);
    t_near(a.accuracy, b.accuracy, 2.0 / (double)a.labels);
    r.o.eval_documents = 10;
    if (rf_evaluate_mlm(r.ctx, &r.o, &b, &r.why)) fail_msg("%s", r.why.text);
    assert_int_equal(b.documents, 10);
    end(&r);
}

/* ---- the same bits ---- */

static void stopped_and_resumed(void **state)
{
    (void)state;
    const result expected = straight();
    run r = with_options(1);
    r.o.stop_after = 8;
    must(&r, RF_ESTOPPED);
    assert_int_equal(r.steps, 8);
    assert_false(tiny_has(r.out, "model.safetensors"));
    r.o.resume_from_checkpoint = "latest";
    r.o.stop_after = 3;                                           /* 11: between two saves, two logs, two evaluations */
    must(&r, RF_ESTOPPED);
    r.o.stop_after = 0;
    r.stop_at = 17;
    must(&r, RF_ESTOPPED);
    assert_int_equal(r.steps, 6);
    r.stop_at = 0;
    must(&r, RF_OK);
    same(result_of(r.out, 20), expected);
    r.o.resume_from_checkpoint = r.out;                              /* the folder of the run does as well */
    r.o.output_dir = NULL;
    must(&r, RF_OK);                                                 /* a run that is done stays so */
    assert_int_equal(r.steps, 0);
    same(result_of(r.out, 20), expected);
    end(&r);
}

/* A checkpoint is complete: no option, no model folder. */
static void resumed_with_nothing_but_the_checkpoint(void **state)
{
    (void)state;
    const result expected = straight();
    run r = with_options(1);
    r.o.stop_after = 8;
    must(&r, RF_ESTOPPED);
    char *checkpoint = tiny_path(r.out, "checkpoint-4");
    rf_train_options o;
    rf_train_defaults(&o);
    o.resume_from_checkpoint = checkpoint;
    if (rf_pretrain(r.ctx, &o, NULL, NULL, &r.why)) fail_msg("%s", r.why.text);
    same(result_of(r.out, 20), expected);
    free(checkpoint);
    end(&r);
}

static void threads_do_not_show(void **state)
{
    (void)state;
    const result expected = straight();
    run r = with_options(2);
    r.o.stop_after = 9;
    must(&r, RF_ESTOPPED);
    r.o.resume_from_checkpoint = "latest";
    r.o.stop_after = 0;
    must(&r, RF_OK);
    same(result_of(r.out, 20), expected);
    end(&r);
}

static void seeds_show(void **state)
{
    (void)state;
    run r = with_options(1);
    r.o.seed = 8;
    must(&r, RF_OK);
    assert_int_not_equal(result_of(r.out, 20).model, straight().model);
    end(&r);
}

/* ---- stopping ---- */

static void stopped_before_the_first_step(void **state)
{
    (void)state;
    run r = with_options(1);
    r.stop_at = -1;
    must(&r, RF_ESTOPPED);
    assert_int_equal(tiny_count(r.out, "checkpoint-"), 0);
    assert_int_equal(tiny_count(r.out, ".tmp"), 0);
    end(&r);
}

/* Requests a stop between the micro-batches of the step after `at`. */
struct between { int64_t at; int batches, steps; };
static int stop_between(void *user, const rf_train_progress *p)
{
    struct between *b = user;
    b->steps += !strcmp(p->event, "step");
    const bool now = !strcmp(p->event, "batch") && p->step == b->at;
    b->batches += now;
    return now ? RF_TRAIN_STOP : RF_TRAIN_GO;
}

/* A step of four micro-batches ends after the first; when resumed, the run ends with the bits of an uninterrupted
 * one. */
static void a_step_is_given_up(void **state)
{
    (void)state;
    for (int adafactor = 0; adafactor < 2; adafactor++) {
        run a = with_options(1), b = with_options(1);
        a.o.gradient_accumulation_steps = b.o.gradient_accumulation_steps = 4;
        a.o.optim = b.o.optim = adafactor ? RF_OPTIM_ADAFACTOR : RF_OPTIM_ADAMW;
        must(&a, RF_OK);
        b.text[0] = b.corpus;
        b.o.text = b.text;
        static const int64_t at[] = {0, 6, 8, 19};    /* before the first, between two saves, after one, in the last */
        for (size_t i = 0; i < RF_COUNT(at); i++) {
            struct between stop = {.at = at[i]};
            assert_int_equal(rf_pretrain(b.ctx, &b.o, stop_between, &stop, &b.why), RF_ESTOPPED);
            assert_int_equal(stop.batches, 1);                       /* of three */
            assert_int_equal(stop.steps, at[i] - (i ? at[i - 1] : 0));
            if (at[i]) b.o.resume_from_checkpoint = "latest";
        }
        must(&b, RF_OK);
        same(result_of(b.out, 20), result_of(a.out, 20));
        end(&a);
        end(&b);
    }
}

/* Two evaluations end after their first batch, and one of them again when it is resumed: at the end the log, the
 * selection of the best and the bits are those of an uninterrupted run. */
static void an_evaluation_is_given_up(void **state)
{
    (void)state;
    run a = with_options(1), b = with_options(1);
    run *const both[] = {&a, &b};
    for (int i = 0; i < 2; i++) {
        rf_train_options *o = &both[i]->o;
        both[i]->text[0] = both[i]->corpus;
        o->text = both[i]->text;
        o->validation_split = 0.3;
        o->save_steps = 10;
        o->load_best_model_at_end = 1;
        o->metric_for_best_model = RF_METRIC_LOSS;
        o->early_stopping_patience = 2;
    }
    must(&a, RF_OK);
    static const int64_t at[] = {10, 10, 20};
    for (size_t i = 0; i < RF_COUNT(at); i++) {
        struct between stop = {.at = at[i]};
        assert_int_equal(rf_pretrain(b.ctx, &b.o, stop_between, &stop, &b.why), RF_ESTOPPED);
        assert_int_equal(stop.batches, 1);
        b.o.resume_from_checkpoint = "latest";
    }
    must(&b, RF_OK);
    assert_int_equal(b.steps, 0);
    assert_int_equal(b.evals, 1);
    noted(&b, "the model is that of checkpoint-20");
    same(result_of(b.out, 20), result_of(a.out, 20));
    end(&a);
    end(&b);
}

/* Options that select by evaluations need some: reported before the first step, and no files remain. */
static void no_held_out_text(void **state)
{
    (void)state;
    for (int which = 0; which < 4; which++) {
        run r = with_options(1);
        free(r.out);
        r.out = tiny_path(r.model, "new");
        r.o.output_dir = r.out;
        r.o.save_steps = 10;
        r.o.validation_split = which & 1 ? 1e-9 : 0;                 /* of so few documents none */
        if (which & 2) r.o.load_best_model_at_end = 1;
        else r.o.early_stopping_patience = 2;
        must(&r, RF_EARG);
        t_failed(&r.why, RF_EARG,
                 which & 2 ? "load_best_model_at_end: expected ... got"
                           : "early_stopping_patience: expected held-out text to select the best model, got");
        assert_int_equal(r.steps, 0);
        assert_int_not_equal(access(r.out, F_OK), 0);
        end(&r);
    }
}

static void stops_when_time_is_up(void **state)
{
    (void)state;
    run r = with_options(1);
    r.o.max_time = 1e-9;
    must(&r, RF_ESTOPPED);
    assert_int_equal(r.steps, 1);
    assert_true(tiny_has(r.out, "checkpoint-1"));
    end(&r);
}

static void epochs_become_steps(void **state)
{
    (void)state;
    run r = with_options(1);
    r.o.max_steps = 0;
    r.o.num_train_epochs = 0.05;
    r.o.eval_steps = 0;
    must(&r, RF_OK);
    assert_true(r.steps > 1 && r.steps < 10);
    end(&r);
}

static void keeps_so_many(void **state)
{
    (void)state;
    run r = with_options(1);
    r.o.eval_steps = 4;
    r.o.save_total_limit = 2;
    must(&r, RF_OK);
    assert_true(tiny_has(r.out, "checkpoint-16"));
    assert_true(tiny_has(r.out, "checkpoint-20"));
    assert_in_range(tiny_count(r.out, "checkpoint-"), 2, 3);         /* the best may be an older one */
    end(&r);
}

/* The checkpoint whose evaluation, as metrics.jsonl has it, is the largest (sign 1) or smallest (-1). */
static int64_t best_of(const char *folder, const char *key, double sign)
{
    char *path = tiny_path(folder, "metrics.jsonl"), line[1024];
    FILE *f = fopen(path, "r");
    double best = -INFINITY;
    int64_t step = 0;
    assert_non_null(f);
    while (fgets(line, sizeof line, f)) {
        json_t *j = json_loads(line, 0, NULL);
        const json_t *value = json_object_get(j, key);
        if (value && sign * json_number_value(value) > best) {
            best = sign * json_number_value(value);
            step = json_integer_value(json_object_get(j, "step"));
        }
        json_decref(j);
    }
    fclose(f);
    free(path);
    return step;
}

/* The best checkpoint is determined from the log: of equal numbers the first counts, in both. */
/* all_results.json has the evaluation of that step's weights. */
static void results_are_those_of(const char *folder, int64_t step)
{
    char *path = tiny_path(folder, "metrics.jsonl"), *results = tiny_path(folder, "all_results.json"), line[1024];
    json_t *all = json_load_file(results, 0, NULL);
    FILE *f = fopen(path, "r");
    int found = 0;
    assert_true(all && f);
    while (fgets(line, sizeof line, f)) {
        json_t *one = json_loads(line, 0, NULL);
        const bool it = json_object_get(one, "eval_loss") && json_integer_value(json_object_get(one, "step")) == step;
        static const char *const key[] = {"eval_loss", "eval_accuracy"};
        for (size_t i = 0; i < RF_COUNT(key) && it; i++, found++)
            t_near(json_number_value(json_object_get(all, key[i])), json_number_value(json_object_get(one, key[i])),
                   5.001e-9);                                        /* the log has 9 digits, of numbers below 10 */
        json_decref(one);
    }
    assert_int_equal(found, 2);
    fclose(f);
    json_decref(all);
    free(path);
    free(results);
}

static void ends_with_the_best(void **state)
{
    (void)state;
    static const struct { rf_metric metric; rf_greater greater; const char *key; double sign; } c[] = {
        {RF_METRIC_LOSS, RF_GREATER_AUTO, "eval_loss", -1},
        {RF_METRIC_LOSS, RF_GREATER_TRUE, "eval_loss", 1},           /* the least trained one: not the last */
        {RF_METRIC_ACCURACY, RF_GREATER_AUTO, "eval_accuracy", 1},
        {RF_METRIC_ACCURACY, RF_GREATER_FALSE, "eval_accuracy", -1},
    };
    for (size_t i = 0; i < RF_COUNT(c); i++) {
        char name[64], file[128];
        run r = with_options(1);
        r.o.eval_steps = 4;
        r.o.save_total_limit = 1;
        r.o.load_best_model_at_end = 1;
        r.o.metric_for_best_model = c[i].metric;
        r.o.greater_is_better = c[i].greater;
        r.o.stop_after = 9;                                          /* what the best is survives a stop */
        must(&r, RF_ESTOPPED);
        r.o.stop_after = 0;
        r.o.resume_from_checkpoint = "latest";
        must(&r, RF_OK);
        const int64_t best = best_of(r.out, c[i].key, c[i].sign);
        snprintf(name, sizeof name, "checkpoint-%d", (int)best);
        snprintf(file, sizeof file, "%s/model.safetensors", name);
        noted(&r, "the model is that of ");
        noted(&r, name);
        assert_int_equal(tiny_crc(r.out, "model.safetensors"), tiny_crc(r.out, file));
        results_are_those_of(r.out, best);
        assert_true(tiny_has(r.out, "checkpoint-20"));
        assert_int_equal(tiny_count(r.out, "checkpoint-"), best == 20 ? 1 : 2);
        if (i == 1) assert_int_not_equal(best, 20);
        end(&r);
    }
}

/* The loss falls, and larger is declared better: the first evaluation stays the best.  Patience survives a stop. */
static void patience_ends_a_run(void **state)
{
    (void)state;
    run r = with_options(1);
    r.o.eval_steps = 4;
    r.o.greater_is_better = RF_GREATER_TRUE;
    r.o.early_stopping_patience = 2;
    r.o.stop_after = 9;
    must(&r, RF_ESTOPPED);
    r.o.stop_after = 0;
    r.o.resume_from_checkpoint = "latest";
    must(&r, RF_OK);
    noted(&r, "step 12: 2 evaluations in a row");
    assert_true(tiny_has(r.out, "checkpoint-12"));
    assert_false(tiny_has(r.out, "checkpoint-16"));
    assert_int_equal(tiny_crc(r.out, "model.safetensors"), tiny_crc(r.out, "checkpoint-12/model.safetensors"));
    end(&r);
}

static void a_damaged_best_is_not_taken(void **state)
{
    (void)state;
    run r = with_options(1);
    r.o.eval_steps = 4;
    r.o.load_best_model_at_end = 1;
    r.o.greater_is_better = RF_GREATER_TRUE;
    must(&r, RF_OK);
    char name[128], *path;
    snprintf(name, sizeof name, "checkpoint-%d/model.safetensors", (int)best_of(r.out, "eval_loss", 1));
    path = tiny_path(r.out, name);
    assert_int_equal(truncate(path, 100), 0);
    r.o.resume_from_checkpoint = "latest";
    must(&r, RF_OK);
    noted(&r, "is damaged (model.safetensors: 100 bytes instead of ");
    assert_int_equal(tiny_crc(r.out, "model.safetensors"), tiny_crc(r.out, "checkpoint-20/model.safetensors"));
    free(path);
    r.o.resume_from_checkpoint = NULL;
    r.o.eval_steps = 3;
    must(&r, RF_EARG);
    t_failed(&r.why, RF_EARG, "load_best_model_at_end: expected save_steps ... eval_steps above");
    end(&r);
}

/* If a checkpoint is requested in between, the run saves it and continues to the same end. */
static void saves_when_asked(void **state)
{
    (void)state;
    const result expected = straight();
    run r = with_options(1);
    r.save_at = 6;
    must(&r, RF_OK);
    assert_int_equal(r.saves, 7);
    assert_true(tiny_has(r.out, "checkpoint-6"));
    same(result_of(r.out, 20), expected);
    end(&r);
}

/* The list saved with the model shows whether it is unchanged. */
static void the_model_has_checksums(void **state)
{
    (void)state;
    run r = with_options(1);
    r.o.max_steps = 2;
    must(&r, RF_OK);
    if (rf_checksums_verify(r.ctx, r.out, "checksums.json", NULL, NULL, &r.why)) fail_msg("%s", r.why.text);
    t_write(r.out, "vocab.txt", "the\n", 4);
    rf_checksums_verify(r.ctx, r.out, "checksums.json", NULL, NULL, &r.why);
    t_failed(&r.why, RF_EDATA, "vocab.txt: 4 bytes instead of ");
    end(&r);
}

static void half_types_and_whole_words(void **state)
{
    (void)state;
    run r = with_options(1);
    r.o.max_steps = 3;
    r.o.save_type = RF_BF16;
    r.o.whole_word_mask = 1;
    r.o.lr_scheduler_type = RF_SCHEDULE_COSINE;
    must(&r, RF_OK);
    rf_model *m;
    if (rf_model_open(r.ctx, r.out, &m, &r.why)) fail_msg("%s", r.why.text);
    rf_model_close(m);
    end(&r);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(it_learns),
        cmocka_unit_test(evaluation_does_not_see_the_packing),
        cmocka_unit_test(stopped_and_resumed),
        cmocka_unit_test(resumed_with_nothing_but_the_checkpoint),
        cmocka_unit_test(threads_do_not_show),
        cmocka_unit_test(seeds_show),
        cmocka_unit_test(stopped_before_the_first_step),
        cmocka_unit_test(a_step_is_given_up),
        cmocka_unit_test(an_evaluation_is_given_up),
        cmocka_unit_test(no_held_out_text),
        cmocka_unit_test(stops_when_time_is_up),
        cmocka_unit_test(epochs_become_steps),
        cmocka_unit_test(keeps_so_many),
        cmocka_unit_test(patience_ends_a_run),
        cmocka_unit_test(ends_with_the_best),
        cmocka_unit_test(a_damaged_best_is_not_taken),
        cmocka_unit_test(saves_when_asked),
        cmocka_unit_test(the_model_has_checksums),
        cmocka_unit_test(half_types_and_whole_words),
    };
    return cmocka_run_group_tests_name("train/run", tests, NULL, NULL);
}
