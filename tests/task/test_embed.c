/* test_embed.c — mirrors src/task/tasks/embed.c and src/task/vectors.c: losses, gradients and scores are those of
 * sentence-transformers (tools/golden/golden_embed.py); a batch in parts gives the result of the whole batch; a run
 * learns, resumes and predicts; invalid examples are rejected. */
#define _GNU_SOURCE
#include <math.h>

#include "gradient.h"
#include "small_task.h"
#include "task/answerer.h"
#include "task/objective.h"

enum { ROWS = 64, WIDTH = 16 };

/* ---- losses ---- */

typedef struct golden { char name[16], options[64], dims[32]; int n, texts, C, scored; } golden;

static void read_numbers(FILE *f, double *to, int n)
{
    for (int i = 0; i < n; i++) assert_int_equal(fscanf(f, "%lf", &to[i]), 1);
}

static void set_options(const golden *c, rf_finetune_options *o)
{
    static const char *const names[] = {"auto", "infonce", "cosent", "cosine", "triplet", "mse"};
    rf_finetune_defaults(o);
    for (size_t i = 0; i < RF_COUNT(names); i++)
        if (!strcmp(c->name, names[i])) o->loss = (rf_loss)i;
    sscanf(c->options, "similarity_scale=%lf", &o->similarity_scale);
    sscanf(c->options, "margin=%lf", &o->margin);
    o->matryoshka = strcmp(c->dims, "-") ? c->dims : NULL;
}

/* Floats of size 1 after some hundred roundings, times a scale of 20. */
static void check_loss(rf_ctx *ctx, const golden *c, const double *z, const double *score, double value,
                       const double *dz)
{
    const int B = c->n * c->texts, all = B * c->C;
    float x[ROWS * WIDTH], dx[ROWS * WIDTH] = {0}, target[ROWS];
    int32_t group[ROWS + 1], id[ROWS], start[ROWS + 1];
    rf_finetune_options o;
    double sum = 0;
    rf_error why = {0};
    rf_graph *g = t_graph(ctx);
    set_options(c, &o);
    for (int i = 0; i < all; i++) x[i] = (float)z[i];
    for (int i = 0; i < c->n; i++) target[i] = c->scored ? (float)score[i] : NAN;
    for (int i = 0; i <= c->n; i++) group[i] = i * c->texts;
    for (int i = 0; i < B; i++) id[i] = i, start[i] = i;
    start[B] = B;
    const rf__item_batch b = {.n = (size_t)c->n, .N = B, .B = B, .K = 1, .labels = c->n, .group = group,
                              .target = target, .id = id, .start = start};
    rf__graph_record(g, 1, 1, 1);
    rf_tensor *in = rf__parameter(g, x, dx, 2, (int64_t[]){B, c->C});
    rf_tensor *loss =
        rf__task_objective_loss(g, in, &b, &(rf__task_objective){.task = &rf__task_embed, .o = &o}, 1.0 / c->n, &sum);
    if (rf__backward(g, loss, &why)) fail_msg("%s: %s", c->name, why.text);
    const double near = 1e-5 * fmax(1, o.similarity_scale);
    t_near((double)loss->f32[0], value, near * fmax(1, fabs(value)));
    t_near(sum / c->n, value, near * fmax(1, fabs(value)));
    for (int i = 0; i < all; i++) t_near((double)dx[i], dz[i], near);
    rf__graph_free(g);
}

static void memory_of_the_cosines_is_said(void **state)
{
    (void)state;
    rf_ctx *ctx = t_ctx(1, NULL);
    rf_finetune_options o;
    float target[] = {NAN};
    const rf__items t = {.n = 1, .sequences = 2, .target = target};
    rf_finetune_defaults(&o);
    for (int widths = 1; widths <= 2; widths++) {
        o.matryoshka = widths == 2 ? "4,2" : NULL;
        check_cosines_held(ctx, &rf__task_embed, &o, &t);
    }
    o.loss = RF_LOSS_COSINE;
    assert_true(rf__task_embed.square(&t, &o) <= 0);
    rf_ctx_free(ctx);
    t_free_all();
}

/* Of vectors x [B,C] in groups of c->texts, and its gradient. */
static double teacher_loss(rf_ctx *ctx, const golden *c, const rf__teacher *teacher, float *x, float *dx, double *sum)
{
    const int B = c->n * c->texts;
    float target[ROWS];
    int32_t group[ROWS + 1], row[ROWS];
    rf_finetune_options o;
    rf_error why = {0};
    rf_graph *g = t_graph(ctx);
    set_options(c, &o);
    o.teacher = "given.npy";
    for (int i = 0; i < c->n; i++) target[i] = NAN, row[i] = c->n - 1 - i;          /* rows in another order */
    for (int i = 0; i <= c->n; i++) group[i] = i * c->texts;
    const rf__item_batch b = {.n = (size_t)c->n, .B = B, .K = 1, .labels = c->n, .group = group, .target = target,
                              .label = row, .teacher = teacher};
    rf__graph_record(g, 1, 1, 1);
    rf_tensor *in = rf__parameter(g, x, dx, 2, (int64_t[]){B, c->C});
    o.normalize = c->scored;
    rf_tensor *loss =
        rf__task_objective_loss(g, in, &b, &(rf__task_objective){.task = &rf__task_embed, .o = &o}, 1.0 / c->n, sum);
    if (rf__backward(g, loss, &why)) fail_msg("%s: %s", c->name, why.text);
    const double value = (double)loss->f32[0];
    rf__graph_free(g);
    return value;
}

/* Floats of size 1 and some ten roundings: 1e-6, of the reference's own digits 1e-8. */
static void a_teacher_is_learned_as_sentence_transformers_has_it(void **state)
{
    (void)state;
    rf_ctx *ctx = t_ctx(1, NULL);
    FILE *f = fopen("tests/golden/embed/teacher.txt", "r");
    golden c = {.options = "-", .dims = "-"};
    int cases = 0;
    assert_non_null(f);
    while (fscanf(f, "%15s %d %d %d %d", c.name, &c.n, &c.texts, &c.C, &c.scored) == 5) {
        double z[ROWS * WIDTH], y[ROWS * WIDTH], dz[ROWS * WIDTH], value, sum = 0;
        float x[ROWS * WIDTH], dx[ROWS * WIDTH] = {0}, rows[ROWS * WIDTH];
        const int all = c.n * c.texts * c.C;
        read_numbers(f, z, all);
        read_numbers(f, y, c.n * c.C);
        read_numbers(f, &value, 1);
        read_numbers(f, dz, all);
        for (int i = 0; i < all; i++) x[i] = (float)z[i];
        for (int i = 0; i < c.n; i++)
            for (int k = 0; k < c.C; k++) rows[(c.n - 1 - i) * c.C + k] = (float)y[i * c.C + k];
        const rf__teacher teacher = {.at = (const unsigned char *)rows, .width = sizeof *rows, .rows = c.n, .C = c.C};
        t_near(teacher_loss(ctx, &c, &teacher, x, dx, &sum), value, 1e-6 * fmax(1, value));
        t_near(sum / c.n, value, 1e-6 * fmax(1, value));
        for (int i = 0; i < all; i++) t_near((double)dx[i], dz[i], 1e-6);
        cases++;
    }
    fclose(f);
    assert_int_equal(cases, 5);
    rf_ctx_free(ctx);
}

static void losses_are_those_of_sentence_transformers(void **state)
{
    (void)state;
    rf_ctx *ctx = t_ctx(1, NULL);
    FILE *f = fopen("tests/golden/embed/losses.txt", "r");
    golden c;
    int cases = 0;
    assert_non_null(f);
    while (fscanf(f, "%15s %d %d %d %d %63s %31s", c.name, &c.n, &c.texts, &c.C, &c.scored, c.options, c.dims) == 7) {
        double z[ROWS * WIDTH], dz[ROWS * WIDTH], score[ROWS], value;
        assert_true(c.n * c.texts <= ROWS && c.C <= WIDTH);
        read_numbers(f, z, c.n * c.texts * c.C);
        if (c.scored) read_numbers(f, score, c.n);
        read_numbers(f, &value, 1);
        read_numbers(f, dz, c.n * c.texts * c.C);
        check_loss(ctx, &c, z, score, value, dz);
        cases++;
    }
    fclose(f);
    assert_int_equal(cases, 10);
    rf_ctx_free(ctx);
}

/* ---- scores ---- */

/* The file's numbers are floats; ranks are theirs, and there are no ties. */
static void scores_are_those_of_sentence_transformers(void **state)
{
    (void)state;
    static const char *const names[] = {"pearson", "spearmanr", "recall_at_1", "recall_at_10", "mrr_at_10",
                                        "ndcg_at_10", "average_precision", "accuracy", "accuracy_threshold",
                                        "precision", "recall", "f1", "f1_threshold"};
    rf_ctx *ctx = t_ctx(1, NULL);
    FILE *f = fopen("tests/golden/embed/scores.txt", "r");
    int n, C, cases = 0;
    assert_non_null(f);
    for (; fscanf(f, "%d %d", &n, &C) == 2; cases++) {
        double z[ROWS * 2 * WIDTH], score[ROWS], expected[RF_COUNT(names)];
        float logit[ROWS * 2 * WIDTH], target[ROWS];
        int32_t id[2 * ROWS];
        size_t first[ROWS + 1], start[2 * ROWS + 1];
        read_numbers(f, z, 2 * n * C);
        read_numbers(f, score, n);
        read_numbers(f, expected, (int)RF_COUNT(names));
        for (int i = 0; i < 2 * n * C; i++) logit[i] = (float)z[i];
        for (int i = 0; i <= n; i++) first[i] = 2 * (size_t)i;
        for (int i = 0; i <= 2 * n; i++) start[i] = (size_t)i;
        for (int i = 0; i < 2 * n; i++) id[i] = i;
        enum { SEARCH, GRADES, CLASSES };
        for (int how = SEARCH; how <= CLASSES; how++) {
            for (int i = 0; i < n; i++)
                target[i] = how == SEARCH ? NAN : how == GRADES ? (float)score[i] : score[i] > 0.5;
            const rf__items t = {.ctx = ctx, .format = &rf__task_embed.examples, .K = 1, .n = (size_t)n,
                                 .sequences = 2 * (size_t)n, .first = first, .target = target,
                                 .id = id, .start = start};
            const rf__answers a = {.K = C, .rows = 2 * (size_t)n, .logit = logit};
            rf_metric_values s = {.n = 0};
            assert_int_equal(rf__task_embed.evaluate(&a, &t, NULL, &s, NULL), RF_OK);
            assert_int_equal(s.n, how == SEARCH ? 4 : how == GRADES ? 2 : 9);
            for (int i = how == CLASSES ? 2 : 0; i < s.n; i++) {
                const int which = how == SEARCH ? 2 + i : how == GRADES ? i : 4 + i;
                assert_string_equal(s.metric[i].name, names[which]);
                t_near(s.metric[i].value, expected[which], 1e-6);
            }
        }
    }
    fclose(f);
    assert_int_equal(cases, 2);
    rf_ctx_free(ctx);
}

/* Questions 1, 2, 3, 1 with answers 7, 7, 8, 9, of one token each. Question 1 is nearest to 8, then 7, then 9, question
 * 2 to 7, and question 3 to 7 and 8 alike. InformationRetrievalEvaluator on the three distinct questions and answers
 * gives the same for questions 1 and 2; for question 3 it takes either order, and here the mean of both counts. */
static void equal_texts_are_one_question_and_one_answer(void **state)
{
    (void)state;
    static const float at[10][2] = {[1] = {0.8F, 0.6F}, [2] = {0, 1}, [3] = {0.70710678F, 0.70710678F},
                                    [7] = {0, 1},       [8] = {1, 0}, [9] = {0, -1}};
    int32_t id[] = {1, 7, 2, 7, 3, 8, 1, 9};
    size_t first[] = {0, 2, 4, 6, 8}, start[] = {0, 1, 2, 3, 4, 5, 6, 7, 8};
    float target[] = {NAN, NAN, NAN, NAN}, logit[16];
    const double ideal = 1 + 1 / log2(3),
                 expected[] = {(0 + 1 + 0.5) / 3, 1, (0.5 + 1 + 0.75) / 3,
                               ((1 / log2(3) + 1 / log2(4)) / ideal + 1 + ideal / 2) / 3};
    rf_ctx *ctx = t_ctx(1, NULL);
    for (int i = 0; i < 8; i++) memcpy(logit + 2 * i, at[id[i]], sizeof *at);
    const rf__items t = {.ctx = ctx, .format = &rf__task_embed.examples, .K = 1, .n = 4, .sequences = 8,
                         .first = first, .start = start, .id = id, .target = target};
    const rf__answers a = {.K = 2, .rows = 8, .logit = logit};
    rf_metric_values s = {.n = 0};
    assert_int_equal(rf__task_embed.evaluate(&a, &t, NULL, &s, NULL), RF_OK);
    assert_int_equal(s.n, 4);
    for (int i = 0; i < 4; i++) t_near(s.metric[i].value, expected[i], 1e-6);
    rf_ctx_free(ctx);
}

/* The loss of texts id [8], four pairs of one token each, whose vectors are functions of the token. */
static double pair_loss(rf_ctx *ctx, int32_t id[8], float dx[16])
{
    int32_t group[] = {0, 2, 4, 6, 8}, start[] = {0, 1, 2, 3, 4, 5, 6, 7, 8};
    float x[16], target[] = {NAN, NAN, NAN, NAN};
    rf_finetune_options o;
    rf_error why = {0};
    double sum = 0;
    rf_graph *g = t_graph(ctx);
    rf_finetune_defaults(&o);
    o.similarity_scale = 3;
    for (int i = 0; i < 8; i++) x[2 * i] = cosf((float)id[i]), x[2 * i + 1] = sinf((float)id[i]);
    const rf__item_batch b = {.n = 4, .N = 8, .B = 8, .K = 1, .labels = 4, .group = group, .target = target,
                              .id = id, .start = start};
    rf__graph_record(g, 1, 1, 1);
    rf_tensor *in = rf__parameter(g, x, dx, 2, (int64_t[]){8, 2});
    const rf__task_objective how = {.task = &rf__task_embed, .o = &o};
    if (rf__backward(g, rf__task_objective_loss(g, in, &b, &how, 1, &sum), &why)) fail_msg("%s", why.text);
    rf__graph_free(g);
    return sum;
}

/* Pairs (t, p); candidates of a row besides its own second text: those whose cosine is listed. */
static void equal_texts_are_not_negatives(void **state)
{
    (void)state;
    /* p1 = p0; t2 = t0; p3 = t0 */
    int32_t id[] = {0, 1, 2, 1, 0, 3, 4, 0};
    static const struct { int text, own, other[3]; } row[] = {
        {0, 1, {-1, -1, -1}},                /* p1 is p0, p2 belongs to an equal text, p3 is the text itself          */
        {2, 1, {3, 0, -1}},                  /* p0 is p1                                                              */
        {0, 3, {-1, -1, -1}},                /* p0 belongs to an equal text, p1 is p0 but belongs to another: 1 stays */
        {4, 0, {1, 1, 3}}};
    float dx[16] = {0};
    double expected = 0;
    rf_ctx *ctx = t_ctx(1, NULL);
    for (size_t i = 0; i < RF_COUNT(row); i++) {
        const double own = exp(3 * cos(row[i].text - row[i].own));
        double all = own;
        for (int k = 0; k < 3; k++)
            if (row[i].other[k] >= 0) all += exp(3 * cos(row[i].text - row[i].other[k]));
        if (i == 2) all += exp(3 * cos(0 - 1));
        expected += -log(own / all);
    }
    t_near(pair_loss(ctx, id, dx), expected, 1e-5 * expected);
    for (int i = 0; i < 2; i++) t_near((double)dx[i], 0, 1e-7);        /* t0 has no negatives */
    rf_ctx_free(ctx);
}

/* Cosines 0.8, 0.6 and 0 of pairs that are alike, are not, are. */
static void a_threshold_decides_which_pairs_are_alike(void **state)
{
    (void)state;
    static const struct { double threshold, accuracy, precision, recall, f1; } expected[] = {
        {0.5, 1 / 3.0, 0.5, 0.5, 0.5}, {0.7, 2 / 3.0, 1, 0.5, 2 / 3.0}, {0.9, 1 / 3.0, 0, 0, 0},
        {-1, 2 / 3.0, 2 / 3.0, 1, 0.8}};
    static const char *const names[] = {"average_precision", "accuracy", "precision", "recall", "f1"};
    float logit[] = {1, 0, 4, 3, 1, 0, 3, 4, 1, 0, 0, 1}, target[] = {1, 0, 1};
    size_t first[] = {0, 2, 4, 6};
    rf_ctx *ctx = t_ctx(1, NULL);
    const rf__items t = {.ctx = ctx, .format = &rf__task_embed.examples, .K = 1, .n = 3, .sequences = 6,
                         .first = first, .target = target};
    const rf__answers a = {.K = 2, .rows = 6, .logit = logit};
    for (size_t i = 0; i < RF_COUNT(expected); i++) {
        rf_finetune_options o;
        rf_finetune_defaults(&o);
        o.similarity_threshold = expected[i].threshold;
        const rf__labeled l = {.o = &o};
        const double values[] = {5 / 6.0, expected[i].accuracy, expected[i].precision, expected[i].recall,
                                 expected[i].f1};
        rf_metric_values s = {.n = 0};
        assert_int_equal(rf__task_embed.evaluate(&a, &t, &l, &s, NULL), RF_OK);
        assert_int_equal(s.n, 2 + (int)RF_COUNT(values));
        for (size_t k = 0; k < RF_COUNT(values); k++) {
            assert_string_equal(s.metric[2 + k].name, names[k]);
            t_near(s.metric[2 + k].value, values[k], 1e-12);
        }
    }
    rf_ctx_free(ctx);
}

/* One vector of the second example is zero. */
static void a_cosine_that_is_not_defined_is_refused(void **state)
{
    (void)state;
    float logit[] = {1, 2, 3, 4, 0, 0, 1, 1}, target[] = {0.5F, 1};
    size_t first[] = {0, 2, 4};
    rf_ctx *ctx = t_ctx(1, NULL);
    const rf__items t = {.ctx = ctx, .format = &rf__task_embed.examples, .K = 1, .n = 2, .sequences = 4,
                         .first = first, .target = target};
    const rf__answers a = {.K = 2, .rows = 4, .logit = logit};
    rf_metric_values s = {.n = 0};
    rf_error why = {0};
    assert_int_equal(rf__task_embed.evaluate(&a, &t, NULL, &s, &why), RF_ENUMERIC);
    t_failed(&why, RF_ENUMERIC, "example 2: vector is zero");
    rf_ctx_free(ctx);
}

static void examples_that_are_there_twice_are_counted(void **state)
{
    (void)state;
    int32_t id[] = {2, 5, 3, 2, 6, 3, 2, 5, 3, 2, 7, 3, 2, 5, 3, 2, 6, 3};
    size_t first[] = {0, 2, 4, 6}, start[] = {0, 3, 6, 9, 12, 15, 18}, again = 9;
    rf_ctx *ctx = t_ctx(1, NULL);
    rf__items t = {.ctx = ctx, .n = 3, .sequences = 6, .first = first, .start = start, .id = id};
    assert_int_equal(rf__items_repeated(&t, &again, NULL), RF_OK);
    assert_int_equal(again, 1);
    t.n = 2;
    assert_int_equal(rf__items_repeated(&t, &again, NULL), RF_OK);
    assert_int_equal(again, 0);
    rf_ctx_free(ctx);
}

/* ---- runs ---- */

/* Second texts that follow from the first: the noun's verb and the adjective. */
static char *write_pairs(const setup *s)
{
    char text[1 << 14];
    size_t n = (size_t)sprintf(text, "anchor\tpositive\n");
    for (unsigned i = 0; i < 48; i++)
        n += (size_t)sprintf(text + n, "the %s %s\tthe %s is %s the %s\n", tiny_adjectives[i / 12],
                             tiny_nouns[i % 12], tiny_adjectives[i / 12], tiny_verbs[i % 6], tiny_nouns[i % 12]);
    t_write(s->data, "train.tsv", text, n);
    return tiny_path(s->data, "train.tsv");
}

static rf_finetune_options options_of(const setup *s, const char *train, const char *out)
{
    rf_finetune_options o = task_options(s, "embed", train, out);
    o.t.num_train_epochs = 20;
    o.per_device_train_batch_size = 16;
    return o;
}

/* It learns and resumes with the same bits, and the folder has the settings for this library and for
 * sentence-transformers. */
static void a_run_learns_resumes_and_answers(void **state)
{
    (void)state;
    setup s = begin();
    char *train = write_pairs(&s), *again = strdup(t_folder());
    rf_finetune_options o = options_of(&s, train, s.out), none;
    rf_metric_values scores, on_file;
    rf_answerer *a;
    rf_sentence sentence;
    o.dev = train;
    o.normalize = 1;
    o.matryoshka = "32,8";
    if (rf_finetune(s.ctx, &o, NULL, NULL, &scores, &s.why)) fail_msg("%s", s.why.text);
    assert_string_equal(scores.metric[1].name, "recall_at_1");
    assert_string_equal(scores.metric[3].name, "mrr_at_10");
    if (!(scores.metric[1].value > 0.8)) fail_msg("recall at 1: %g", scores.metric[1].value);
    o.t.output_dir = again;
    o.t.stop_after = 17;
    assert_int_equal(rf_finetune(s.ctx, &o, NULL, NULL, NULL, &s.why), RF_ESTOPPED);
    o.t.stop_after = 0;
    o.t.resume_from_checkpoint = "latest";
    if (rf_finetune(s.ctx, &o, NULL, NULL, NULL, &s.why)) fail_msg("%s", s.why.text);
    assert_int_equal(tiny_crc(s.out, "model.safetensors"), tiny_crc(again, "model.safetensors"));

    if (rf_sentence_read(s.ctx, s.out, &sentence, &s.why)) fail_msg("%s", s.why.text);
    assert_string_equal(sentence.pooling, "mean");
    assert_int_equal(sentence.normalize, 1);
    assert_int_equal(sentence.max_length, 16);
    rf_sentence_free(&sentence);
    rf_finetune_defaults(&none);
    none.matryoshka = "32,8";
    if (rf_answerer_open(s.ctx, s.out, &a, &s.why)) fail_msg("%s", s.why.text);
    assert_string_equal(rf__answerer_task(a), "embed");
    if (rf_answerer_evaluate(a, &none, train, &on_file, &s.why)) fail_msg("%s", s.why.text);
    for (int i = 0; i < scores.n; i++) t_near(on_file.metric[i].value, scores.metric[i].value, 1e-5);
    rf_answerer_close(a);
    free(train);
    free(again);
    end(&s);
}

static int count_divergence(void *user, const rf_train_progress *p)
{
    int *n = user;
    if (p->note && strstr(p->note, "has diverged")) (*n)++;
    return RF_TRAIN_GO;
}

/* The last batch has two pairs, so its loss is near ln 2; that of a full one is near ln 46.  Every second logged loss
 * is far above the lowest. */
static void a_small_last_batch_is_no_divergence(void **state)
{
    (void)state;
    setup s = begin();
    char *train = write_pairs(&s);
    rf_finetune_options o = options_of(&s, train, s.out);
    int noted = 0;
    o.per_device_train_batch_size = 46;
    o.t.learning_rate = 1e-6;
    o.t.logging_steps = 1;
    o.t.max_steps = 80;
    o.save_strategy = RF_STRATEGY_NO;
    if (rf_finetune(s.ctx, &o, count_divergence, &noted, NULL, &s.why)) fail_msg("%s", s.why.text);
    assert_int_equal(noted, 0);
    free(train);
    end(&s);
}

/* Both texts of a pair learn one vector, so that each finds the other; a resumed run ends with the same bits, and a run
 * with other vectors is not resumed. */
static void a_teacher_is_learned_and_resumed(void **state)
{
    (void)state;
    setup s = begin();
    char *train = write_pairs(&s), *again = strdup(t_folder()), *teacher = write_teacher(&s, "teacher.npy", 48, 32);
    rf_finetune_options o = options_of(&s, train, s.out);
    rf_metric_values scores;
    o.dev = train;
    o.teacher = teacher;
    o.loss = RF_LOSS_COSINE;
    if (rf_finetune(s.ctx, &o, NULL, NULL, &scores, &s.why)) fail_msg("%s", s.why.text);
    assert_string_equal(scores.metric[1].name, "recall_at_1");
    if (!(scores.metric[1].value > 0.8)) fail_msg("recall at 1: %g", scores.metric[1].value);
    o.t.output_dir = again;
    o.t.stop_after = 17;
    assert_int_equal(rf_finetune(s.ctx, &o, NULL, NULL, NULL, &s.why), RF_ESTOPPED);
    o.t.stop_after = 0;
    o.t.resume_from_checkpoint = "latest";
    char *none = write_teacher(&s, "zero.npy", 48, 32), *other = write_teacher(&s, "other.npy", 48, 32);
    o.teacher = none;
    s.why = (rf_error){0};
    assert_int_equal(rf_finetune(s.ctx, &o, NULL, NULL, NULL, &s.why), RF_EDATA);
    t_failed(&s.why, RF_EDATA, "expected a vector of length above 0");
    o.teacher = other;
    s.why = (rf_error){0};
    assert_int_equal(rf_finetune(s.ctx, &o, NULL, NULL, NULL, &s.why), RF_EDATA);
    t_failed(&s.why, RF_EDATA, "train: expected the examples, teacher's vectors, vocabulary and max_length");
    o.teacher = teacher;
    if (rf_finetune(s.ctx, &o, NULL, NULL, NULL, &s.why)) fail_msg("%s", s.why.text);
    assert_int_equal(tiny_crc(s.out, "model.safetensors"), tiny_crc(again, "model.safetensors"));
    free(none);
    free(other);
    free(teacher);
    free(train);
    free(again);
    end(&s);
}

static float *weights_of(const setup *s, const char *folder, size_t *n)
{
    rf_weights *w;
    rf_error why = {0};
    *n = 0;
    if (rf_weights_open(s->ctx, folder, &w, &why)) fail_msg("%s", why.text);
    for (size_t i = 0; i < rf_weights_count(w); i++) *n += rf_weights_at(w, i)->count;
    float *all = t_bytes(*n * sizeof *all), *to = all;
    for (size_t i = 0; i < rf_weights_count(w); to += rf_weights_at(w, i++)->count)
        assert_int_equal(rf__weights_read(w, rf_weights_at(w, i), to, 1, &why), RF_OK);
    rf_weights_close(w);
    return all;
}

/* A batch of 40 in parts gives the bits of the plain batch, with dropout, too.  Parts of fewer than 16 examples have
 * other dropout masks and sums: without dropout, gradients differ by the rounding of sums over tokens, after 12 steps
 * of SGD of size 0.05 by at most 1e-4 of weights of size 0.1. */
static void a_batch_in_parts_is_the_whole_one(void **state)
{
    (void)state;
    setup s = begin();
    char *train = write_pairs(&s);
    static const struct { int64_t at_once; double dropout; bool same; } parts[] = {
        {0, 0.1, true}, {16, 0.1, true}, {32, 0.1, true}, {39, 0.1, true}, {64, 0.1, true},
        {0, 0, true},   {16, 0, true},   {20, 0, true},   {5, 0, false},   {1, 0, false}};
    float *whole = NULL;
    for (size_t i = 0; i < RF_COUNT(parts); i++) {
        size_t n;
        if (!parts[i].at_once) whole = NULL;
        char *out = strdup(t_folder());
        rf_finetune_options o = options_of(&s, train, out);
        o.t.optim = RF_OPTIM_SGD;
        o.t.learning_rate = 0.05;
        o.t.max_steps = 12;
        o.per_device_train_batch_size = 40;
        o.dropout = parts[i].dropout;
        o.mini_batch_size = parts[i].at_once;
        if (rf_finetune(s.ctx, &o, NULL, NULL, NULL, &s.why)) fail_msg("%s", s.why.text);
        float *now = weights_of(&s, out, &n);
        if (!whole) whole = now;
        else if (parts[i].same) assert_memory_equal(now, whole, n * sizeof *now);
        for (size_t k = 0; k < n; k++) t_near((double)now[k], (double)whole[k], 1e-4);
        free(out);
    }
    free(train);
    end(&s);
}

static void refused(setup *s, const char *name, const char *text, const rf_finetune_options *with, rf_status status,
                    const char *sentence)
{
    rf_finetune_options o = *with;
    char *path = tiny_path(s->data, name), *out = strdup(t_folder());
    t_write(s->data, name, text, strlen(text));
    o.train = path;
    o.t.output_dir = out;
    o.t.max_steps = 1;
    s->why = (rf_error){0};
    const rf_status got = rf_finetune(s->ctx, &o, NULL, NULL, NULL, &s->why);
    if (got != status) fail_msg("%s: status %d, expected %d: %s", sentence, got, status, s->why.text);
    t_failed(&s->why, status, sentence);
    free(path);
    free(out);
}

static void a_teacher_that_does_not_fit_is_refused(void **state)
{
    (void)state;
    setup s = begin();
    static const char pairs[] = "text\tpair\nthe cat\tthe dog\nthe king\tthe queen\n",
                      scored[] = "text\tpair\tscore\nthe cat\tthe dog\t0.5\nthe king\tthe tree\t1\n",
                      more[] = "{\"text\": \"a\", \"pair\": \"b\", \"negative\": \"x\"}\n{\"text\": \"a\"}\n";
    char *two = write_teacher(&s, "two.npy", 2, 32), *three = write_teacher(&s, "three.npy", 3, 32),
         *wide = write_teacher(&s, "wide.npy", 2, 48), *cut = write_teacher(&s, "short.npy", 2, 32);
    rf_finetune_options o = options_of(&s, NULL, NULL), p;
    o.teacher = three;
    refused(&s, "a.tsv", pairs, &o, RF_EDATA, "expected 2 vectors, one for each example of");
    o.teacher = cut;
    refused(&s, "a.tsv", pairs, &o, RF_EDATA, "after the header, got");
    o.teacher = wide;
    refused(&s, "a.tsv", pairs, &o, RF_EDATA,
            "teacher: expected vectors of the model's 32 numbers (hidden_size), got 48");
    o.teacher = "no-such.npy";
    refused(&s, "a.tsv", pairs, &o, RF_EIO, "no-such.npy");
    o.teacher = two;
    refused(&s, "a.tsv", scored, &o, RF_EDATA, "expected examples without scores with");
    refused(&s, "a.jsonl", more, &o, RF_EDATA, "expected no negatives with --teacher");
    p = o, p.loss = RF_LOSS_INFONCE;
    refused(&s, "a.tsv", pairs, &p, RF_EARG, "loss: expected mse or cosine with --teacher, got infonce");
    p = o, p.matryoshka = "8";
    refused(&s, "a.tsv", pairs, &p, RF_EARG, "learned whole");
    p = o, p.k_fold = 2;
    refused(&s, "a.tsv", pairs, &p, RF_EARG, "k_fold: expected no teacher");
    p = o, p.teacher = NULL, p.loss = RF_LOSS_MSE;
    refused(&s, "a.tsv", pairs, &p, RF_EARG, "loss mse: expected");
    p = o, p.dev = s.data;
    t_write(s.data, "dev.tsv", "text\nthe cat\n", 13);
    refused(&s, "a.tsv", "text\nthe cat\nthe dog\n", &p, RF_EDATA, "expected a second text");
    rf_finetune_options texts = options_of(&s, NULL, s.out);                    /* each would find itself */
    texts.dev = s.data;
    refused(&s, "a.tsv", "text\nthe cat\nthe dog\n", &texts, RF_EDATA, "expected a second text");
    texts.dev = NULL, texts.k_fold = 2;
    refused(&s, "a.tsv", "text\nthe cat\nthe dog\n", &texts, RF_EDATA, "expected a second text");
    free(two);
    free(three);
    free(wide);
    free(cut);
    end(&s);
}

static void what_cannot_be_learned_is_refused(void **state)
{
    (void)state;
    setup s = begin();
    static const char pairs[] = "text\tpair\nthe cat\tthe dog\nthe king\tthe queen\n",
                      scored[] = "text\tpair\tscore\nthe cat\tthe dog\t0.5\nthe king\tthe tree\t1\n",
                      single[] = "text\nthe cat\nthe dog\n",
                      three[] = "{\"text\": \"the cat\", \"pair\": \"the dog\", \"negative\": \"the tree\"}\n";
    rf_finetune_options o = options_of(&s, NULL, NULL), p;
    refused(&s, "a.tsv", "text\tpair\tscore\nthe cat\tthe dog\t1.5\n", &o, RF_EDATA, "expected -1 to 1, got 1.5");
    refused(&s, "a.tsv", "text\tpair\tscore\nthe cat\tthe dog\thigh\n", &o, RF_EDATA, "'high' is not a finite number");
    refused(&s, "a.tsv", single, &o, RF_EARG, "dropout: expected above 0");
    refused(&s, "a.jsonl", "{\"text\": \"the cat\", \"negative\": \"x\"}\n", &o, RF_EDATA, "expected a second text");
    refused(&s, "a.jsonl", "{\"text\": \"a\", \"pair\": \"b\", \"negatives\": \"x\"}\n", &o, RF_EDATA,
            "expected a list");
    refused(&s, "a.jsonl", "{\"text\": \"a\", \"pair\": \"b\", \"negative\": \"x\", \"score\": 1}\n", &o, RF_EDATA,
            "expected a score or negatives, got both");
    p = o, p.loss = RF_LOSS_COSENT;
    refused(&s, "a.tsv", pairs, &p, RF_EDATA, "loss cosent: expected examples with scores, got none");
    p = o, p.loss = RF_LOSS_INFONCE;
    refused(&s, "a.tsv", scored, &p, RF_EDATA, "loss infonce: expected examples without scores");
    p = o, p.loss = RF_LOSS_TRIPLET;
    refused(&s, "a.tsv", pairs, &p, RF_EDATA, "example 1: expected a negative");
    p = o, p.per_device_train_batch_size = 1;
    refused(&s, "a.tsv", pairs, &p, RF_EARG,
            "per_device_train_batch_size: expected at least 2, got 1, which leaves example 1");
    refused(&s, "a.tsv", "text\tpair\nthe cat\tthe dog\n", &o, RF_EDATA, "loss infonce: expected at least 2 examples");
    p = o, p.matryoshka = "8,64";
    refused(&s, "a.jsonl", three, &p, RF_EARG,
            "matryoshka: expected numbers from 1 to 32, separated by commas, got 8,64");
    p = o, p.r_drop = 1;
    refused(&s, "a.jsonl", three, &p, RF_EARG, "r_drop");
    p = o, p.metric = "spearmanr";
    refused(&s, "a.tsv", pairs, &p, RF_EARG, "got \"spearmanr\"; the examples have no scores");
    end(&s);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(memory_of_the_cosines_is_said),
        cmocka_unit_test(losses_are_those_of_sentence_transformers),
        cmocka_unit_test(a_teacher_is_learned_as_sentence_transformers_has_it),
        cmocka_unit_test(scores_are_those_of_sentence_transformers),
        cmocka_unit_test(equal_texts_are_one_question_and_one_answer),
        cmocka_unit_test(equal_texts_are_not_negatives),
        cmocka_unit_test(a_threshold_decides_which_pairs_are_alike),
        cmocka_unit_test(a_cosine_that_is_not_defined_is_refused),
        cmocka_unit_test(examples_that_are_there_twice_are_counted),
        cmocka_unit_test(a_run_learns_resumes_and_answers),
        cmocka_unit_test(a_small_last_batch_is_no_divergence),
        cmocka_unit_test(a_teacher_is_learned_and_resumed),
        cmocka_unit_test(a_batch_in_parts_is_the_whole_one),
        cmocka_unit_test(a_teacher_that_does_not_fit_is_refused),
        cmocka_unit_test(what_cannot_be_learned_is_refused),
    };
    return cmocka_run_group_tests_name("task/embed", tests, NULL, NULL);
}
