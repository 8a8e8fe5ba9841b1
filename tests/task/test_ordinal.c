/* test_ordinal.c — mirrors src/task/tasks/ordinal.c: the loss and its gradient compared with the formula, predictions
 * and scores computed by hand, labels without a known order, and a run whose folder predicts as it was trained. */
#define _GNU_SOURCE
#include <jansson.h>

#include "gradient.h"
#include "small_task.h"
#include "store/task.h"
#include "task/answerer.h"
#include "task/objective.h"

enum { N = 5, K = 4 };
static const int32_t label[N] = {0, 4, 2, 1, 3};

static void targets(float *t)
{
    for (int i = 0; i < N; i++)
        for (int k = 0; k < K; k++) t[i * K + k] = label[i] > k;
}

static rf_tensor *run(rf_graph *g, rf_tensor *const in[], const void *what)
{
    (void)what;
    float t[N * K];
    targets(t);
    const rf__item_batch b = {.n = N, .K = K, .labels = N * K, .target = t};
    return rf__task_objective_loss(g, in[0], &b, &(rf__task_objective){.task = &rf__task_ordinal}, 1.0 / (N * K), NULL);
}

/* For each example: above as many labels as are below it, and not above the others.  Mean over all of these. */
static void formula(double *y, const double *const in[], const void *what)
{
    (void)what;
    *y = 0;
    for (int i = 0; i < N; i++)
        for (int k = 0; k < K; k++) {
            const double p = 1 / (1 + exp(-in[0][i * K + k]));
            *y -= log(label[i] > k ? p : 1 - p) / (N * K);
        }
}

static void the_loss_is_its_formula(void **state)
{
    (void)state;
    t_gradient(&(t_gradient_case){.op = RF_OP_binary_loss, .ys = 1, .depth = 12, .run = run, .formula = formula,
                                  .in = {{2, {N, K}}}});
}

/* Probabilities of "label > k" .9 .6 .2: at most k with 1, .1, .4, .8 -> .1, .4, .6 and .2 of four labels. */
static void the_answer_lies_deepest(void **state)
{
    (void)state;
    static const double p[][3] = {{.9, .6, .2}, {.6, .9, .2}, {.1, .05, .01}, {.9, .8, .7}};
    static const double depth[][4] = {{.1, .4, .6, .2}, {.1, .4, .6, .2}, {.9, .1, .05, .01}, {.1, .2, .3, .7}};
    static const int best[] = {2, 2, 0, 3};
    for (size_t i = 0; i < RF_COUNT(p); i++) {
        float z[3], got[4];
        for (int k = 0; k < 3; k++) z[k] = (float)log(p[i][k] / (1 - p[i][k]));
        rf__task_ordinal.probabilities(z, 3, got);
        for (int k = 0; k < 4; k++) t_near((double)got[k], depth[i][k], 1e-6);
        assert_int_equal(rf__largest(got, 4), best[i]);
    }
}

static void scores_are_those_of_labels(void **state)
{
    (void)state;
    rf_ctx *ctx = t_ctx(1, NULL);
    float target[] = {0, 0, 1, 0, 1, 1}, logit[] = {-1, -2, 3, 1, 2, -1};        /* 0 1 2, answers 0 2 1 */
    const rf__items t = {.ctx = ctx, .format = &rf__task_ordinal.examples, .K = 2, .n = 3, .target = target};
    const rf__answers a = {.K = 2, .rows = 3, .logit = logit};
    const double expected[] = {1 / 3.0, 2 / 3.0, 0.5, 0.5};                      /* kappa: 1 - 3 2 / (3 10 - 2 9) */
    rf_metric_values s = {.n = 0};
    assert_int_equal(rf__task_ordinal.evaluate(&a, &t, NULL, &s, NULL), RF_OK);
    assert_int_equal(s.n, 4);
    for (int i = 0; i < 4; i++) t_near(s.metric[i].value, expected[i], 1e-12);
    rf_ctx_free(ctx);
}

/* ---- runs ---- */

/* Four labels that follow from the adjective. */
static char *write_examples(const setup *s, const char *const name[4])
{
    char text[1 << 14];
    size_t n = (size_t)sprintf(text, "text\tlabel\n");
    for (unsigned i = 0; i < 96; i++)
        n += (size_t)sprintf(text + n, "the %s %s is %sing\t%s\n", tiny_adjectives[i % 4], tiny_nouns[i * 7 % 12],
                             tiny_verbs[i / 4 % 6], name[i % 4]);
    t_write(s->data, "train.tsv", text, n);
    return tiny_path(s->data, "train.tsv");
}

static rf_finetune_options options_of(const setup *s, const char *train, const char *out)
{
    rf_finetune_options o = task_options(s, "ordinal", train, out);
    o.dev = train;
    o.t.num_train_epochs = 30;
    o.per_device_train_batch_size = 8;
    return o;
}

static json_t *config_of(const char *folder)
{
    char *path = tiny_path(folder, "config.json");
    json_t *all = json_load_file(path, 0, NULL);
    free(path);
    assert_non_null(all);
    return all;
}

static rf_status count_right(void *user, const char *line, size_t size, rf_error *why)
{
    static const char *const name[] = {"1", "2", "5", "10"};
    int *n = user;
    (void)why, (void)size;
    json_t *j = json_loads(line, 0, NULL);
    n[1] += !strcmp(json_string_value(json_object_get(j, "label")), name[n[0]++ % 4]);
    assert_true(json_number_value(json_object_get(j, "score")) >= 0.5);
    json_decref(j);
    return RF_OK;
}

/* It learns and resumes with the same bits, and the folder identifies its task, to this library and to transformers. */
static void a_run_learns_resumes_and_answers(void **state)
{
    (void)state;
    static const char *const name[] = {"1", "2", "5", "10"};               /* by their value, not by their letters */
    setup s = begin();
    char *train = write_examples(&s, name), *again = strdup(t_folder());
    rf_finetune_options o = options_of(&s, train, s.out);
    rf_metric_values scores, on_file;
    rf_answerer *a;
    if (rf_finetune(s.ctx, &o, NULL, NULL, &scores, &s.why)) fail_msg("%s", s.why.text);
    assert_string_equal(scores.metric[3].name, "quadratic_kappa");
    if (!(scores.metric[3].value > 0.9)) fail_msg("quadratic kappa %g", scores.metric[3].value);
    o.t.output_dir = again;
    o.t.stop_after = 37;
    assert_int_equal(rf_finetune(s.ctx, &o, NULL, NULL, NULL, &s.why), RF_ESTOPPED);
    o.t.stop_after = 0;
    o.t.resume_from_checkpoint = "latest";
    if (rf_finetune(s.ctx, &o, NULL, NULL, NULL, &s.why)) fail_msg("%s", s.why.text);
    assert_int_equal(tiny_crc(s.out, "model.safetensors"), tiny_crc(again, "model.safetensors"));

    json_t *c = config_of(s.out);
    assert_string_equal(json_string_value(json_array_get(json_object_get(c, "architectures"), 0)),
                        "RoFormerForSequenceClassification");
    assert_string_equal(json_string_value(json_object_get(c, "problem_type")), "multi_label_classification");
    assert_string_equal(json_string_value(json_object_get(c, "finetuning_task")), "ordinal");
    assert_string_equal(json_string_value(json_object_get(json_object_get(c, "id2label"), "2")), "> 5");
    assert_int_equal(json_array_size(json_object_get(c, "task_labels")), 4);
    json_decref(c);

    rf_finetune_options none;
    rf_finetune_defaults(&none);
    int n[2] = {0, 0};
    if (rf_answerer_open(s.ctx, s.out, &a, &s.why)) fail_msg("%s", s.why.text);
    assert_string_equal(rf__answerer_task(a), "ordinal");
    assert_int_equal(rf__answerer_labels(a)->n, 4);
    if (rf_answerer_evaluate(a, &none, train, &on_file, &s.why)) fail_msg("%s", s.why.text);
    for (int i = 0; i < scores.n; i++) t_near(on_file.metric[i].value, scores.metric[i].value, 1e-5);
    if (rf_answerer_predict(a, &none, train, RF_PREDICTIONS_JSONL, count_right, n, &s.why)) fail_msg("%s", s.why.text);
    assert_int_equal(n[0], 96);
    t_near(n[1] / 96.0, scores.metric[1].value, 1e-9);
    rf_answerer_close(a);
    free(train);
    free(again);
    end(&s);
}

/* Names have the order of --labels; without it there is none. */
static void names_need_their_order(void **state)
{
    (void)state;
    static const char *const name[] = {"poor", "fair", "good", "excellent"};
    setup s = begin();
    char *train = write_examples(&s, name);
    rf_finetune_options o = options_of(&s, train, s.out);
    rf_labels l;
    o.t.max_steps = 1;
    assert_int_equal(rf_finetune(s.ctx, &o, NULL, NULL, NULL, &s.why), RF_EDATA);
    t_failed(&s.why, RF_EDATA, "expected whole numbers as ordered labels, got 'poor'");
    o.labels = "poor,fair,good,excellent";
    s.why = (rf_error){0};
    if (rf_finetune(s.ctx, &o, NULL, NULL, NULL, &s.why)) fail_msg("%s", s.why.text);
    assert_int_equal(rf__labels_read(s.ctx, s.out, &l, NULL), RF_OK);
    assert_int_equal(l.n, 4);
    assert_string_equal(l.name[3], "excellent");
    rf__labels_free(&l);
    free(train);
    end(&s);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_loss_is_its_formula),          cmocka_unit_test(the_answer_lies_deepest),
        cmocka_unit_test(scores_are_those_of_labels),       cmocka_unit_test(a_run_learns_resumes_and_answers),
        cmocka_unit_test(names_need_their_order),
    };
    return cmocka_run_group_tests_name("task/ordinal", tests, NULL, NULL);
}
