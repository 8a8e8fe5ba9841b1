/* test_engine_labels.c — mirrors src/pipeline/engine/: labels, and scores of pairs, have the bits of the answerer. */
#define _GNU_SOURCE
#include "roformer/engine.h"
#include "small_pipeline.h"
#include "task/answerer.h"

/* A model that was fine-tuned for one step. */
static char *tune(rf_ctx *ctx, const char *task, const char *examples)
{
    rf_error why = {0};
    rf_finetune_options o;
    char *data = tiny_model(), *out = strdup(t_folder()), *train = tiny_path(data, "train.tsv");
    random_weights(ctx, data, 3);
    t_write(data, "train.tsv", examples, strlen(examples));
    rf_finetune_defaults(&o);
    o.task = task;
    o.train = train;
    o.t.model = data;
    o.t.output_dir = out;
    o.t.max_steps = 1;
    if (rf_finetune(ctx, &o, NULL, NULL, NULL, &why)) fail_msg("%s", why.text);
    free(train);
    free(data);
    return out;
}

static void labels_are_those_of_the_answerer(void **state)
{
    (void)state;
    enum { N = 20 };
    rf_ctx *ctx = t_ctx(2, NULL);
    rf_error why = {0};
    char *folder = tune(ctx, "cls", "text\tlabel\na house\tx\nthe river\ty\nis red\tz\n"), text[N][64];
    const char *list[N];
    const float *probability;
    rf_answerer *a;
    rf_engine *e;
    rf_engine_job *job[4];
    if (rf_answerer_open(ctx, folder, &a, &why) || rf_engine_open(ctx, folder, NULL, &e, &why))
        fail_msg("%s", why.text);
    assert_int_equal(rf_engine_labels(e)->n, 3);
    assert_string_equal(rf_engine_labels(e)->name[1], "y");
    for (int i = 0; i < N; i++) {
        tiny_sentence(text[i], sizeof text[i], (unsigned)i, 1);
        list[i] = text[i];
    }
    for (int i = 0; i < 4; i++)                                           /* computed together, including pairs */
        if (rf_engine_classify(e, list + i, NULL, i % 2 ? list : NULL, NULL, N - 4, NULL, &job[i], &why))
            fail_msg("%s", why.text);
    for (int i = 0; i < 4; i++) {
        int64_t n, K;
        if (rf_engine_wait(job[i], -1, &why)) fail_msg("%s", why.text);
        const float *score = rf_engine_result(job[i], &n, &K), *expect;
        assert_int_equal(n, N - 4);
        assert_int_equal(K, 3);
        for (int t = 0; t < N - 4; t++) {
            const char *pair = i % 2 ? list[t] : NULL;
            if (rf__answerer_classify(a, list[i + t], strlen(list[i + t]), pair, pair ? strlen(pair) : 0, &expect,
                                     &why))
                fail_msg("%s", why.text);
            assert_memory_equal(score + 3 * t, expect, 3 * sizeof *expect);
        }
        rf_engine_job_free(job[i]);
    }
    rf_engine_job_options o;
    rf_engine_job_defaults(&o);
    o.raw = 1;                                                            /* of whose softmax those are the values */
    if (rf_engine_classify(e, list, NULL, NULL, NULL, 1, &o, &job[0], &why) || rf_engine_wait(job[0], -1, &why) ||
        rf__answerer_classify(a, list[0], strlen(list[0]), NULL, 0, &probability, &why))
        fail_msg("%s", why.text);
    const float *z = rf_engine_result(job[0], NULL, NULL);
    for (int k = 1; k < 3; k++)
        assert_true(fabs(exp((double)z[k] - (double)z[0]) - (double)probability[k] / (double)probability[0]) < 1e-5);
    rf_engine_job_free(job[0]);
    o.cut_side = 1;
    assert_int_equal(rf_engine_classify(e, list, NULL, NULL, NULL, 1, &o, &job[0], &why), RF_EARG);
    t_failed(&why, RF_EARG, "cut_side: expected RF_ENCODE_CUT_BEGIN, RF_ENCODE_CUT_END or 0, got 1");
    why = (rf_error){0};
    assert_int_equal(rf_engine_cross(e, "a", 1, list, NULL, 2, 0, NULL, &job[0], &why), RF_EUNSUPPORTED);
    t_failed(&why, RF_EUNSUPPORTED, "expected a model with one output (a reranker), got one with 3");
    rf_engine_close(e);
    rf_answerer_close(a);
    rf_ctx_free(ctx);
    free(folder);
    t_free_all();
}

static void scores_of_pairs_are_those_of_the_answerer(void **state)
{
    (void)state;
    static const char *const text[] = {"the red house", "a river", "", "the film is dull", "x"};
    static const char *const bad[] = {"a", "\xff"};
    rf_ctx *ctx = t_ctx(2, NULL);
    rf_error why = {0};
    size_t size[RF_COUNT(text)];
    double expect[RF_COUNT(text)];
    char *folder = tune(ctx, "cross", "text\tpair\tlabel\na house\tthe river\t1\nthe river\tis\t0\n");
    rf_answerer *a;
    rf_engine *e;
    rf_engine_job *job;
    if (rf_answerer_open(ctx, folder, &a, &why) || rf_engine_open(ctx, folder, NULL, &e, &why))
        fail_msg("%s", why.text);
    for (size_t i = 0; i < RF_COUNT(text); i++) size[i] = strlen(text[i]);
    if (rf_answerer_cross(a, "the house", 9, text, size, RF_COUNT(text), -1, expect, &why) ||
        rf_engine_cross(e, "the house", RF_STRING, text, NULL, RF_COUNT(text), 0, NULL, &job, &why) ||
        rf_engine_wait(job, -1, &why))
        fail_msg("%s", why.text);
    int64_t n, K;
    const float *score = rf_engine_result(job, &n, &K);
    assert_int_equal(n, RF_COUNT(text));
    assert_int_equal(K, 1);
    for (size_t i = 0; i < RF_COUNT(text); i++) assert_true(score[i] == (float)expect[i]);
    assert_int_equal(rf_engine_report(job)->done, RF_COUNT(text));
    rf_engine_job_free(job);
    if (rf_engine_cross(e, "the house", RF_STRING, text, NULL, RF_COUNT(text), 1, NULL, &job, &why) ||
        rf_engine_wait(job, -1, &why))
        fail_msg("%s", why.text);
    score = rf_engine_result(job, NULL, NULL);                                  /* of which those are the sigmoids */
    for (size_t i = 0; i < RF_COUNT(text); i++) assert_true(fabs(1 / (1 + exp(-(double)score[i])) - expect[i]) < 1e-6);
    rf_engine_job_free(job);
    rf_engine_job_options o;
    rf_engine_job_defaults(&o);
    o.prompt = "the ";                                                     /* before the first text of each pair */
    if (rf_engine_cross(e, "house", RF_STRING, text, NULL, RF_COUNT(text), 0, &o, &job, &why) ||
        rf_engine_wait(job, -1, &why))
        fail_msg("%s", why.text);
    score = rf_engine_result(job, NULL, NULL);
    for (size_t i = 0; i < RF_COUNT(text); i++) assert_true(score[i] == (float)expect[i]);
    rf_engine_job_free(job);
    assert_int_equal(rf_engine_cross(e, "a", 1, bad, NULL, 2, 0, NULL, &job, &why), RF_EDATA);
    t_failed(&why, RF_EDATA, "text 1: ");
    why = (rf_error){0};
    assert_int_equal(rf_engine_classify(e, text, NULL, NULL, NULL, 1, NULL, &job, &why), RF_EARG);
    t_failed(&why, RF_EARG, "expected pairs of texts, on which this model was fine-tuned, got one text");
    rf_engine_close(e);
    rf_answerer_close(a);
    rf_ctx_free(ctx);
    free(folder);
    t_free_all();
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(labels_are_those_of_the_answerer),
        cmocka_unit_test(scores_of_pairs_are_those_of_the_answerer),
    };
    return cmocka_run_group_tests_name("pipeline/engine_labels", tests, NULL, NULL);
}
