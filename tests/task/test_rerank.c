/* test_rerank.c — mirrors src/task/rerank.c: scores of pairs equal those of single pairs, after the activation in the
 * folder's settings; other models are rejected.  tests/cli/use/cross.sh compares with sentence-transformers. */
#define _GNU_SOURCE
#include <math.h>

#include "random_weights.h"
#include "roformer/train.h"
#include "task/answerer.h"

enum { N = 40 };
static const char query[] = "the red house";

static rf_answerer *learned(rf_ctx *ctx, const char *task, const char *text)
{
    rf_error why = {0};
    rf_finetune_options o;
    rf_answerer *a;
    char *data = tiny_model(), *out = strdup(t_folder()), *train = tiny_path(data, "train.tsv");
    random_weights(ctx, data, 3);
    t_write(data, "train.tsv", text, strlen(text));
    rf_finetune_defaults(&o);
    o.task = task;
    o.train = train;
    o.t.model = data;
    o.t.output_dir = out;
    o.t.max_steps = 1;
    if (rf_finetune(ctx, &o, NULL, NULL, NULL, &why) || rf_answerer_open(ctx, out, &a, &why)) fail_msg("%s", why.text);
    free(train);
    free(out);
    free(data);
    return a;
}

/* Texts of 1 to 30 words, so that there are several batches. */
static void texts_of(char *text[N], size_t size[N])
{
    for (int i = 0; i < N; i++) {
        text[i] = t_bytes(30 * 6 + 1);
        *text[i] = 0;
        for (int k = 0; k <= i * 7 % 30; k++) strcat(text[i], k % 3 ? "river " : "house ");
        size[i] = strlen(text[i]);
    }
}

static void scores_are_those_of_single_pairs(void **state)
{
    (void)state;
    static const struct { const char *name; double (*of)(double); } function[] = {{"", NULL}, {"Identity", NULL},
                                                                                  {"Tanh", tanh}};
    char *text[N];
    size_t size[N];
    double score[N], one;
    rf_error why = {0};
    rf_ctx *ctx = t_ctx(2, NULL);
    rf_answerer *a = learned(ctx, "reg", "text\tlabel\na house\t0.5\nthe river\t-1\n");
    texts_of(text, size);
    for (size_t f = 0; f < RF_COUNT(function); f++) {
        snprintf(a->cross_encoder, sizeof a->cross_encoder, "%s", function[f].name);
        if (rf_answerer_cross(a, query, strlen(query), (const char *const *)text, size, N, -1, score, &why))
            fail_msg("%s", why.text);
        for (int i = 0; i < N; i++) {
            const float *z;
            if (rf__answerer_classify(a, query, strlen(query), text[i], size[i], &z, &why)) fail_msg("%s", why.text);
            const double plain = (double)z[0], expected = f == 0 ? 1 / (1 + exp(-plain)) : f == 1 ? plain : tanh(plain);
            assert_memory_equal(&score[i], &expected, sizeof expected);
            const char *const alone[] = {text[i]};
            if (rf_answerer_cross(a, query, strlen(query), alone, &size[i], 1, -1, &one, &why))
                fail_msg("%s", why.text);
            assert_memory_equal(&score[i], &one, sizeof one);
        }
    }
    /* truncated pairs are counted, and 5 tokens give other scores than all */
    const char *const longest[] = {text[4]};
    if (rf_answerer_cross(a, query, strlen(query), longest, &size[4], 1, 8, &one, &why)) fail_msg("%s", why.text);
    assert_true(rf_answerer_reading(a)->cut == 1 && rf_answerer_reading(a)->max_length == 8);
    assert_true(fabs(one - score[4]) > 0);
    assert_int_equal(rf_answerer_cross(a, query, strlen(query), longest, &size[4], 1, -2, &one, &why), RF_EARG);
    assert_int_equal(rf_answerer_cross(a, query, strlen(query), NULL, NULL, 0, -1, NULL, NULL), RF_OK);
    assert_int_equal(rf_answerer_cross(NULL, query, 1, NULL, NULL, 0, -1, NULL, NULL), RF_EARG);
    rf_error other = {0};
    snprintf(a->cross_encoder, sizeof a->cross_encoder, "ELU");
    assert_int_equal(rf_answerer_cross(a, query, strlen(query), longest, &size[4], 1, -1, &one, &other),
                     RF_EUNSUPPORTED);
    t_failed(&other, RF_EUNSUPPORTED, "activation_fn: expected torch's Sigmoid, Identity or Tanh, got ELU");
    rf_answerer_close(a);
    rf_ctx_free(ctx);
    t_free_all();
}

static void other_models_are_refused(void **state)
{
    (void)state;
    rf_ctx *ctx = t_ctx(1, NULL);
    rf_answerer *a = learned(ctx, "cls", "text\tlabel\na house\tx\nthe river\ty\n");
    rf_error why = {0};
    assert_int_equal(rf_answerer_cross(a, query, strlen(query), NULL, NULL, 0, -1, NULL, &why), RF_EUNSUPPORTED);
    t_failed(&why, RF_EUNSUPPORTED,
             "expected a model with one output (a reranker), got one with 2; use classify or predict");
    rf_answerer_close(a);
    rf_ctx_free(ctx);
    t_free_all();
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(scores_are_those_of_single_pairs),
        cmocka_unit_test(other_models_are_refused),
    };
    return cmocka_run_group_tests_name("task/rerank", tests, NULL, NULL);
}
