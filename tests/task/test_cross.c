/* test_cross.c — mirrors src/task/tasks/cross.c and src/task/metrics_pairs.c: losses and rankings are those of
 * sentence-transformers (tools/golden/golden_lists.py), all file formats are read, runs learn, resume and predict, and
 * invalid examples are rejected. */
#define _GNU_SOURCE
#include <jansson.h>

#include "gradient.h"
#include "small_task.h"
#include "task/answerer.h"
#include "task/metrics.h"
#include "task/task.h"

enum { MOST = 32 };

static void read_numbers(FILE *f, double *x, int n)
{
    for (int i = 0; i < n; i++) assert_int_equal(fscanf(f, "%lf", &x[i]), 1);
}

static rf_list_loss_kind kind_of(const char *name)
{
    static const char *const names[] = {"bce",     "mse",     "margin_mse", "infonce",
                                        "listnet", "listmle", "ranknet",    "lambda"};
    for (int i = 0; i < (int)RF_COUNT(names); i++)
        if (!strcmp(names[i], name)) return (rf_list_loss_kind)i;
    fail_msg("no loss %s", name);
    return RF_LIST_BCE;
}

/* Outputs are multiples of 1/128, so they are exact floats; the file has doubles, of which gradients are rounded to
 * float. */
static void losses_are_those_of_sentence_transformers(void **state)
{
    (void)state;
    rf_ctx *ctx = t_ctx(1, NULL);
    FILE *f = fopen("tests/golden/cross/losses.txt", "r");
    char name[16];
    int n, cases = 0;
    double value, z[MOST], y[MOST], slope[MOST], sum;
    assert_non_null(f);
    for (; fscanf(f, "%15s %d %lf", name, &n, &value) == 3; cases++) {
        float x[MOST], dx[MOST] = {0}, label[MOST];
        assert_true(n <= MOST);
        read_numbers(f, z, n);
        read_numbers(f, y, n);
        read_numbers(f, slope, n);
        for (int i = 0; i < n; i++) x[i] = (float)z[i], label[i] = (float)y[i];
        rf_graph *g = t_graph(ctx);
        rf__graph_record(g, 1, 0, 0);
        sum = 0;
        rf_tensor *in = rf__parameter(g, x, dx, 2, (int64_t[]){n, 1});
        rf_tensor *loss = rf__list_loss(g, in, (int32_t[]){0, n}, 1, label, kind_of(name), 1, &sum);
        rf_error why = {0};
        if (rf__backward(g, loss, &why)) fail_msg("%s", why.text);
        if (fabs(sum - value) > 1e-12 * fmax(1, value))
            fail_msg("case %d, %s: %.17g, not %.17g", cases, name, sum, value);
        for (int i = 0; i < n; i++) t_near((double)dx[i], slope[i], 1e-7 * fmax(1, fabs(slope[i])));
        rf__graph_free(g);
    }
    fclose(f);
    assert_int_equal(cases, 128);
    rf_ctx_free(ctx);
}

static void rankings_are_those_of_sentence_transformers(void **state)
{
    (void)state;
    rf_ctx *ctx = t_ctx(1, NULL);
    FILE *f = fopen("tests/golden/cross/ranking.txt", "r");
    int n, cases = 0;
    double expected[3], z[MOST], y[MOST];
    assert_non_null(f);
    for (; fscanf(f, "%d", &n) == 1; cases++) {
        float label[MOST];
        rf_metric_values s = {.n = 0};
        assert_true(n <= MOST);
        read_numbers(f, expected, 3);
        read_numbers(f, z, n);
        read_numbers(f, y, n);
        for (int i = 0; i < n; i++) label[i] = (float)y[i];
        assert_int_equal(rf__list_metrics(ctx, (size_t[]){0, (size_t)n}, 1, label, z, &s, NULL), RF_OK);
        assert_string_equal(s.metric[0].name, "map");
        assert_string_equal(s.metric[2].name, "ndcg_at_10");
        for (int i = 0; i < 3; i++)                                   /* -1: equal outputs, in arbitrary order */
            if (expected[i] >= 0) t_near(s.metric[i].value, expected[i], 1e-12);
    }
    fclose(f);
    assert_int_equal(cases, 24);
    rf_ctx_free(ctx);
}

/* By hand: graded labels; a query without a relevant document is left out; without any other query there is no
 * score. */
static void rankings_by_hand(void **state)
{
    (void)state;
    rf_ctx *ctx = t_ctx(1, NULL);
    static const float label[] = {0, 2, 1, 0, 0};
    static const double value[] = {3, 1, 2, 5, 4};
    const double gain = (1 / log2(3) + 2 / log2(4)) / (2 + 1 / log2(3));
    const double expected[] = {(1 / 2.0 + 2 / 3.0) / 2, 1 / 2.0, gain};
    rf_metric_values s = {.n = 0}, none = {.n = 0};
    assert_int_equal(rf__list_metrics(ctx, (size_t[]){0, 3, 5}, 2, label, value, &s, NULL), RF_OK);
    for (int i = 0; i < 3; i++) t_near(s.metric[i].value, expected[i], 1e-12);
    assert_int_equal(rf__list_metrics(ctx, (size_t[]){0, 2}, 1, label + 3, value + 3, &none, NULL), RF_OK);
    for (int i = 0; i < 3; i++) assert_true(isnan(none.metric[i].value));
    rf_ctx_free(ctx);
}

enum { MOST_TIED = 12 };

/* Sets the places of all orders of descending value, from `place` on, and adds the reciprocal rank of each. */
static void visit_orders(const float label[], const double value[], int n, bool used[], int place, double *sum,
                         double *orders)
{
    double best = -INFINITY;
    for (int i = 0; i < n; i++)
        if (!used[i]) best = fmax(best, value[i]);
    if (place == n) *orders += 1;
    for (int i = 0; i < n && place < n; i++) {
        if (used[i] || value[i] < best) continue;
        used[i] = true;
        if (label[i] > 0) {                                    /* the first one; all orders of the rest count alike */
            double rest = 1;
            int left[3] = {0};
            for (int j = 0; j < n; j++)
                if (!used[j]) left[(int)value[j]]++;
            for (int v = 0; v < 3; v++)
                for (int k = 2; k <= left[v]; k++) rest *= k;
            *sum += place < 10 ? rest / (place + 1) : 0;
            *orders += rest;
        } else visit_orders(label, value, n, used, place + 1, sum, orders);
        used[i] = false;
    }
}

/* MRR is its mean over all orders of equal scores, so the order in which documents are given is of no effect. */
static void equal_scores_have_no_order(void **state)
{
    (void)state;
    static const struct { int n; double value[MOST_TIED]; float label[MOST_TIED]; } list[] = {
        {8, {0}, {1}}, {8, {0}, {[7] = 1}}, {5, {1, 1, 2, 0, 1}, {0, 1, 0, 1, 1}}, {4, {1, 1, 1, 1}, {1, 1, 1, 1}},
        {12, {2, 2, 1, 1, 1, 1, 1, 1, 1}, {[5] = 1, [11] = 2}}};
    rf_ctx *ctx = t_ctx(1, NULL);
    for (size_t c = 0; c < RF_COUNT(list); c++) {
        bool used[MOST_TIED] = {false};
        double sum = 0, orders = 0;
        rf_metric_values s = {.n = 0};
        const size_t first[] = {0, (size_t)list[c].n};
        visit_orders(list[c].label, list[c].value, list[c].n, used, 0, &sum, &orders);
        assert_int_equal(rf__list_metrics(ctx, first, 1, list[c].label, list[c].value, &s, NULL), RF_OK);
        t_near(s.metric[1].value, sum / orders, 1e-12);
    }
    rf_ctx_free(ctx);
}

/* ---- runs ---- */

/* Pairs with the label 1 if both texts have the same noun. */
static char *write_pairs(const setup *s)
{
    char text[1 << 14];
    size_t n = (size_t)sprintf(text, "text\tpair\tlabel\n");
    for (unsigned i = 0; i < 96; i++) {
        const unsigned a = i * 5 % 12, b = i % 2 ? a : (a + 3) % 12;
        n += (size_t)sprintf(text + n, "the %s\tthe %s %s\t%d\n", tiny_nouns[a], tiny_adjectives[i % 4], tiny_nouns[b],
                             i % 2);
    }
    t_write(s->data, "pairs.tsv", text, n);
    return tiny_path(s->data, "pairs.tsv");
}

/* Lists of three documents; the one with the first adjective is relevant. `form`: the file format. */
enum form { DOCUMENTS, NEGATIVES, POSITIVES };

static char *write_lists(const setup *s, enum form form, const char *name)
{
    char text[1 << 15];
    size_t n = 0;
    for (unsigned i = 0; i < 48; i++) {
        const char *a = tiny_nouns[i * 5 % 12], *b = tiny_nouns[(i * 5 + 3) % 12], *c = tiny_nouns[(i * 5 + 7) % 12],
                   *const *how = tiny_adjectives;
        n += (size_t)sprintf(
            text + n,
            form == DOCUMENTS   ? "{\"query\": \"the %s\", \"documents\": [\"the %s %s\", \"the %s %s\", "
                                  "\"the %s %s\"], \"labels\": [1, 0, 0.0]}\n"
            : form == NEGATIVES ? "{\"text\": \"the %s\", \"positive\": \"the %s %s\", \"negatives\": [\"the %s %s\", "
                                  "\"the %s %s\"]}\n"
                                : "{\"query\": \"the %s\", \"pos\": [\"the %s %s\"], \"neg\": [\"the %s %s\", "
                                  "\"the %s %s\"]}\n",
            a, how[0], b, how[1], c, how[2], b);
    }
    t_write(s->data, name, text, n);
    return tiny_path(s->data, name);
}

static rf_finetune_options options_of(const setup *s, const char *train, const char *out)
{
    rf_finetune_options o = task_options(s, "cross", train, out);
    o.dev = train;
    o.t.num_train_epochs = 30;
    o.per_device_train_batch_size = 8;
    return o;
}

static double score_of(const rf_metric_values *s, const char *name)
{
    for (int i = 0; i < s->n; i++)
        if (!strcmp(s->metric[i].name, name)) return s->metric[i].value;
    fail_msg("no score %s", name);
    return NAN;
}

typedef struct counted { int lines, right; } counted;

static rf_status count_right(void *user, const char *line, size_t size, rf_error *why)
{
    counted *c = user;
    (void)why, (void)size;
    json_t *j = json_loads(line, 0, NULL);
    const double x = json_number_value(json_object_get(j, "score"));
    c->right += (x > 0.5) == c->lines++ % 2;
    assert_true(x >= 0 && x <= 1);
    json_decref(j);
    return RF_OK;
}

static rf_status count_lists(void *user, const char *line, size_t size, rf_error *why)
{
    (void)why, (void)size;
    *(int *)user += strstr(line, "\"scores\"") != NULL;
    return RF_OK;
}

static json_t *function_of(const char *folder)
{
    char *path = tiny_path(folder, "config.json");
    json_t *all = json_load_file(path, 0, NULL);
    free(path);
    assert_non_null(all);
    return all;
}

/* It learns and resumes with the same bits; the folder predicts like CrossEncoder, and is one. */
static void pairs_are_learned(void **state)
{
    (void)state;
    setup s = begin();
    char *train = write_pairs(&s), *again = strdup(t_folder());
    rf_finetune_options o = options_of(&s, train, s.out);
    rf_metric_values scores, on_file;
    rf_answerer *a;
    counted c = {0, 0};
    if (rf_finetune(s.ctx, &o, NULL, NULL, &scores, &s.why)) fail_msg("%s", s.why.text);
    if (!(score_of(&scores, "accuracy") > 0.9)) fail_msg("accuracy %g", score_of(&scores, "accuracy"));
    o.t.output_dir = again;
    o.t.stop_after = 37;
    assert_int_equal(rf_finetune(s.ctx, &o, NULL, NULL, NULL, &s.why), RF_ESTOPPED);
    o.t.stop_after = 0;
    o.t.resume_from_checkpoint = "latest";
    if (rf_finetune(s.ctx, &o, NULL, NULL, NULL, &s.why)) fail_msg("%s", s.why.text);
    assert_int_equal(tiny_crc(s.out, "model.safetensors"), tiny_crc(again, "model.safetensors"));

    if (rf_answerer_open(s.ctx, s.out, &a, &s.why)) fail_msg("%s", s.why.text);
    assert_string_equal(rf__answerer_task(a), "cross");
    if (rf_answerer_evaluate(a, NULL, train, &on_file, &s.why)) fail_msg("%s", s.why.text);
    assert_int_equal(on_file.n, scores.n);
    for (int i = 0; i < scores.n; i++) t_near(on_file.metric[i].value, scores.metric[i].value, 1e-5);
    if (rf_answerer_predict(a, NULL, train, RF_PREDICTIONS_JSONL, count_right, &c, &s.why)) fail_msg("%s", s.why.text);
    assert_string_equal(rf_answerer_reading(a)->remark, "");
    assert_int_equal(c.lines, 96);
    assert_true(c.right > 86);
    const float *p;
    double one;
    const char *text = "the red house";
    const size_t size = strlen(text);
    if (rf__answerer_classify(a, "the river", 9, text, size, &p, &s.why)) fail_msg("%s", s.why.text);
    if (rf_answerer_cross(a, "the river", 9, &text, &size, 1, -1, &one, &s.why)) fail_msg("%s", s.why.text);
    t_near((double)p[0], one, 1e-6);
    rf_answerer_close(a);
    json_t *config = function_of(s.out);
    assert_string_equal(json_string_value(json_object_get(json_object_get(config, "sentence_transformers"),
                                                          "activation_fn")), "torch.nn.modules.activation.Sigmoid");
    json_decref(config);
    free(train);
    free(again);
    end(&s);
}

/* The folder reads the lists of all forms, whichever it was trained on, and has the metrics of its training. */
static void evaluate_lists(setup *s, const char *folder, char *const file[3], const rf_metric_values *scores)
{
    rf_answerer *a;
    if (rf_answerer_open(s->ctx, folder, &a, &s->why)) fail_msg("%s", s->why.text);
    for (int k = 0; k < 3; k++) {
        rf_metric_values own;
        int lines = 0;
        if (rf_answerer_evaluate(a, NULL, file[k], &own, &s->why)) fail_msg("%s", s->why.text);
        t_near(score_of(&own, "mrr_at_10"), score_of(scores, "mrr_at_10"), 1e-6);
        if (rf_answerer_predict(a, NULL, file[k], RF_PREDICTIONS_JSONL, count_lists, &lines, &s->why))
            fail_msg("%s", s->why.text);
        assert_int_equal(lines, 48);
    }
    rf_answerer_close(a);
}

/* Three forms of the same lists give the same bits; every loss learns them. */
static void lists_are_learned(void **state)
{
    (void)state;
    static const rf_loss losses[] = {RF_LOSS_AUTO,    RF_LOSS_BCE,     RF_LOSS_MSE,     RF_LOSS_MARGIN_MSE,
                                     RF_LOSS_INFONCE, RF_LOSS_LISTNET, RF_LOSS_LISTMLE, RF_LOSS_RANKNET};
    setup s = begin();
    char *file[] = {write_lists(&s, DOCUMENTS, "d.jsonl"), write_lists(&s, NEGATIVES, "n.jsonl"),
                    write_lists(&s, POSITIVES, "p.jsonl")};
    uint32_t crc[RF_COUNT(file)];
    rf_metric_values scores;
    for (size_t i = 0; i < RF_COUNT(file); i++) {
        char *out = strdup(t_folder());
        rf_finetune_options o = options_of(&s, file[i], out);
        o.t.max_steps = 3;
        if (rf_finetune(s.ctx, &o, NULL, NULL, &scores, &s.why)) fail_msg("%s", s.why.text);
        crc[i] = tiny_crc(out, "model.safetensors");
        assert_int_equal(crc[i], crc[0]);
        evaluate_lists(&s, out, file, &scores);
        free(out);
    }
    for (size_t i = 0; i < RF_COUNT(losses); i++) {
        char *out = strdup(t_folder());
        rf_finetune_options o = options_of(&s, file[0], out);
        o.loss = losses[i];
        o.t.num_train_epochs = 10;
        if (rf_finetune(s.ctx, &o, NULL, NULL, &scores, &s.why)) fail_msg("%s", s.why.text);
if (!(score_of(&scores, "ndcg_at_10") > 0.9))
            fail_msg("%s: ndcg_at_10 %g", rf__loss_names[losses[i]], score_of(&scores, "ndcg_at_10"));
        json_t *config = function_of(out);
        const bool raw = losses[i] == RF_LOSS_MSE || losses[i] == RF_LOSS_MARGIN_MSE;
        assert_string_equal(json_string_value(json_object_get(json_object_get(config, "sentence_transformers"),
                                                              "activation_fn")),
                            raw ? "torch.nn.modules.linear.Identity" : "torch.nn.modules.activation.Sigmoid");
        json_decref(config);
        free(out);
    }
    for (size_t i = 0; i < RF_COUNT(file); i++) free(file[i]);
    end(&s);
}

/* ---- what is refused ---- */

static void refused(setup *s, const char *text, rf_loss loss, rf_status code, const char *message)
{
    char *out = strdup(t_folder());
    t_write(s->data, "bad.jsonl", text, strlen(text));
    char *train = tiny_path(s->data, "bad.jsonl");
    rf_finetune_options o = task_options(s, "cross", train, out);
    o.loss = loss;
    s->why = (rf_error){0};
    const rf_status got = rf_finetune(s->ctx, &o, NULL, NULL, NULL, &s->why);
    if (got != code) fail_msg("%s: %d, not %d: %s", text, got, code, s->why.text);
    t_failed(&s->why, code, message);
    free(train);
    free(out);
}

static void what_cannot_be_learned_is_refused(void **state)
{
    (void)state;
    static const struct { const char *text; rf_loss loss; const char *message; } all[] = {
        {"{\"query\": \"a\", \"documents\": [\"b\", \"c\"]}", 0,
         "expected a list of labels, one for each of 2 documents"},
        {"{\"query\": \"a\", \"documents\": [\"b\", \"c\"], \"labels\": [1]}", 0,
         "labels: expected a list of 2 numbers, ... got 1"},
        {"{\"query\": \"a\", \"documents\": [\"b\", \"c\"], \"label\": 1}", 0,
         "labels: expected a list of 2 numbers, one for each document, got one number"},
        {"{\"query\": \"a\", \"documents\": [\"b\", \"c\"], \"labels\": [1, \"x\"]}", 0,
         "label 2: expected a finite number"},
        {"{\"query\": \"a\", \"documents\": [\"b\", 7], \"labels\": [1, 0]}", 0,
         "expected strings, got 7 at place 2"},
        {"{\"query\": \"a\", \"documents\": [\"b\"], \"labels\": [1]}", 0,
         "expected at least 2 documents in a list, got 1"},
        {"{\"query\": \"a\", \"pos\": [\"b\"], \"neg\": \"c\"}", 0, "neg: expected a list of strings"},
        {"{\"query\": \"a\", \"pos\": [\"b\"], \"neg\": [\"c\"], \"pos_scores\": [1]}", 0,
         "expected both pos_scores and neg_scores, or neither, got one of them"},
        {"{\"query\": \"a\"}", 0,
         "expected a second text, a list \"documents\", or lists \"pos\" and \"neg\", got none"},
        {"{\"query\": \"a\", \"pair\": \"b\", \"docs\": [\"c\"]}", 0, "got several"},
        {"{\"query\": \"a\", \"pair\": \"b\", \"negative\": \"c\", \"negatives\": []}", 0,
         "expected \"negative\" or \"negatives\", got both"},
        {"{\"query\": \"a\", \"pair\": \"b\"}", 0,
         "expected a label, or documents to compare (negatives), got neither"},
        {"{\"query\": \"a\", \"pair\": \"b\", \"label\": 1}\n"
         "{\"query\": \"a\", \"pair\": \"b\", \"negative\": \"c\"}", 0,
         "expected one second text, as in the first example"},
        {"{\"query\": \"a\", \"pair\": \"b\", \"label\": 4}", 0,
         "train: example 1: loss bce: document 1: expected ... 0 to 1, got 4; --score_max divides labels"},
        {"{\"query\": \"a\", \"pair\": \"b\", \"negative\": \"c\", \"labels\": [0, 0]}", RF_LOSS_INFONCE,
         "train: example 1: loss infonce: expected ... 0, got none of 2"},
        {"{\"query\": \"a\", \"pair\": \"b\", \"label\": 1}", RF_LOSS_LISTNET,
         "loss: expected examples with several documents each, which it compares, got pairs of texts"},
    };
    setup s = begin();
    for (size_t i = 0; i < RF_COUNT(all); i++) refused(&s, all[i].text, all[i].loss, RF_EDATA, all[i].message);
    refused(&s, all[0].text, RF_LOSS_TRIPLET, RF_EARG,
            "loss: expected one of auto, bce, mse, margin_mse, infonce, listnet, listmle, ranknet, lambda for task "
            "cross, got triplet");
    end(&s);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(losses_are_those_of_sentence_transformers),
        cmocka_unit_test(rankings_are_those_of_sentence_transformers),
        cmocka_unit_test(rankings_by_hand),
        cmocka_unit_test(equal_scores_have_no_order),
        cmocka_unit_test(pairs_are_learned),
        cmocka_unit_test(lists_are_learned),
        cmocka_unit_test(what_cannot_be_learned_is_refused),
    };
    return cmocka_run_group_tests_name("task/cross", tests, NULL, NULL);
}
