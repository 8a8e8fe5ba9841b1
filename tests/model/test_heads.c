/* test_heads.c — mirrors src/model/heads.c and src/store/config/task.c: fine-tuned heads compared with transformers
 * (tests/golden/heads), their labels, and saving and loading them.
 *
 * Logits agree to 1e-4: the script asserts that transformers' f32 results are within 3e-5 of its f64 results.        */
#include "families.h"
#include "gradient.h"

#include <unistd.h>

#include "model/encoder.h"
#include "model/model.h"
#include "store/task.h"

static const struct { const char *name; rf_head head;
} models[] = {
    {"sequence", RF_HEAD_SEQUENCE},   {"two_labels", RF_HEAD_SEQUENCE}, {"regression", RF_HEAD_SEQUENCE},
    {"token", RF_HEAD_TOKEN},         {"span", RF_HEAD_SPAN},           {"choice", RF_HEAD_CHOICE},
    {"choice_first", RF_HEAD_CHOICE}, {"detect", RF_HEAD_DETECT},
};

typedef struct golden { int64_t rows, K; double *logit; rf_batch batch; } golden;

static int number(FILE *f)
{
    int x;
    if (fscanf(f, "%d", &x) != 1) fail_msg("a golden file is cut short");
    return x;
}

static void word(FILE *f, const char *expected)
{
    char got[32];
    if (fscanf(f, "%31s", got) != 1 || strcmp(got, expected))
        fail_msg("golden file: %s where %s was expected", got, expected);
}

static golden read_golden(const char *folder)
{
    char path[512];
    golden g;
    snprintf(path, sizeof path, "%s/golden.txt", folder);
    FILE *f = fopen(path, "r");
    if (!f) fail_msg("cannot open %s", path);
    while (fgetc(f) != '\n') {}
    word(f, "lengths");
    const int B = number(f);
    int32_t *start = t_bytes((size_t)(B + 1) * sizeof *start);
    start[0] = 0;
    for (int b = 0; b < B; b++) start[b + 1] = start[b] + number(f);
    const int N = start[B];
    int32_t *id = t_bytes((size_t)N * sizeof *id), *type = t_bytes((size_t)N * sizeof *type);
    word(f, "ids");
    for (int i = 0; i < N; i++) id[i] = number(f);
    word(f, "types");
    for (int i = 0; i < N; i++) type[i] = number(f);
    word(f, "logits");
    g.rows = number(f);
    g.K = number(f);
    g.logit = t_bytes((size_t)(g.rows * g.K) * sizeof *g.logit);
    for (int64_t i = 0; i < g.rows * g.K; i++)
        if (fscanf(f, "%lf", &g.logit[i]) != 1) fail_msg("a golden file is cut short");
    fclose(f);
    g.batch = (rf_batch){.N = N, .B = B, .id = id, .type = type, .start = start};
    return g;
}

/* The largest difference of a logit, for a model whose matrices have this type. */
static double distance(const rf_ctx *ctx, const char *folder, rf_type type, rf_head head, const golden *g)
{
    double worst = 0;
    rf_model *m;
    rf_session *s;
    const float *z;
    int64_t rows;
    rf_error why = {0};
    if (rf_model_open_as(ctx, folder, type, &m, &why) || rf_session_open(m, &s, &why))
        fail_msg("%s: %s", folder, why.text);
    assert_int_equal(rf_model_task(m), head);
    assert_false(rf_model_has_head(m));
    assert_string_equal(rf__model_ignored(m), "");
    if (rf_session_logits(s, &g->batch, &z, &rows, &why)) fail_msg("%s: %s", folder, why.text);
    assert_int_equal(rows, g->rows);
    for (int64_t i = 0; i < g->rows * g->K; i++)
        if (!(fabs((double)z[i] - g->logit[i]) <= worst)) worst = fabs((double)z[i] - g->logit[i]);
    rf_session_close(s);
    rf_model_close(m);
    return worst;
}

static void compare(const rf_ctx *ctx, const char *folder, rf_head head, const golden *g)
{
    const double worst = distance(ctx, folder, RF_F32, head, g);
    if (!(worst <= 1e-4)) fail_msg("%s: a logit differs by %g", folder, worst);
}

static void agree_with_transformers(void **state)
{
    (void)state;
    static const char *const isa[] = {NULL, "ref"};
    for (size_t i = 0; i < RF_COUNT(models); i++)
        for (size_t j = 0; j < RF_COUNT(isa); j++) {
            char folder[256];
            rf_ctx *ctx = t_ctx(2, isa[j]);
            snprintf(folder, sizeof folder, "tests/golden/heads/%s", models[i].name);
            const golden g = read_golden(folder);
            compare(ctx, folder, models[i].head, &g);
            rf_ctx_free(ctx);
            t_free_all();
        }
}

/* Those of the other families; in bf16 and int8 with the tolerance of logits of words (test_golden.c). */
static void so_do_all_families(void **state)
{
    (void)state;
    static t_goldens all;
    all = t_family_goldens("lengths");
    for (int i = 0; i < all.n; i++) {
        rf_ctx *ctx = t_ctx(2, NULL);
        rf_config c;
        rf_error why = {0};
        if (rf_config_read(ctx, all.folder[i], &c, &why)) fail_msg("%s", why.text);
        const golden g = read_golden(all.folder[i]);
        compare(ctx, all.folder[i], rf_config_head(&c), &g);
        const double bf16 = distance(ctx, all.folder[i], RF_BF16, rf_config_head(&c), &g),
                     int8 = distance(ctx, all.folder[i], RF_I8, rf_config_head(&c), &g);
        if (!(bf16 <= 0.12) || !(int8 <= 0.6))
            fail_msg("%s: a logit differs by %g in bf16, %g in int8", all.folder[i], bf16, int8);
        rf_ctx_free(ctx);
        t_free_all();
    }
}

/* Read, written by this library, read again: the same logits; the encoder on a slab, as in training, gives them,
 * too. */
static void survive_our_own_folder(void **state)
{
    (void)state;
    for (size_t i = 0; i < RF_COUNT(models); i++) {
        char folder[256], path[512];
        rf_ctx *ctx = t_ctx(1, NULL);
        rf_config c;
        rf_params p;
        rf_weights *w;
        rf_labels labels;
        rf_error why = {0};
        bool has;
        snprintf(folder, sizeof folder, "tests/golden/heads/%s", models[i].name);
        const golden g = read_golden(folder);
        if (rf_config_read(ctx, folder, &c, &why) || rf__labels_read(ctx, folder, &labels, &why))
            fail_msg("%s", why.text);
        assert_int_equal(rf__params_new_head(ctx, &c, models[i].head, &p, &why), RF_OK);
        float *slab = t_floats((int64_t)p.total);
        snprintf(path, sizeof path, "%s/model.safetensors", folder);
        if (rf_weights_open(ctx, path, &w, &why) || rf__params_load(&p, w, slab, &has, NULL, &why))
            fail_msg("%s", why.text);
        assert_true(has);
        rf_weights_close(w);

        c.label = (const char *const *)labels.name;
        const char *ours = t_folder();
        snprintf(path, sizeof path, "%s/model.safetensors", ours);
        if (rf_config_write(ctx, ours, &c, &why) || rf__params_save(&p, slab, RF_F32, path, &why))
            fail_msg("%s", why.text);
        compare(ctx, ours, models[i].head, &g);
        rf_labels again;
        assert_int_equal(rf__labels_read(ctx, ours, &again, &why), RF_OK);
        assert_int_equal(again.n, labels.n);
        for (int64_t k = 0; k < again.n; k++) assert_string_equal(again.name[k], labels.name[k]);

        rf_encoder *e;
        rf_graph *graph;
        assert_int_equal(rf__encoder_new(&p, slab, NULL, &e, &why), RF_OK);
        assert_int_equal(rf__graph_new(ctx, &graph, &why), RF_OK);
        const rf_tensor *z = rf__task_logits(graph, e, rf__encoder_forward(graph, e, &g.batch), &g.batch);
        assert_int_equal(rf__graph_error(graph)->code, RF_OK);
        for (int64_t k = 0; k < g.rows * g.K; k++) assert_true(fabs((double)z->f32[k] - g.logit[k]) <= 1e-4);
        rf__graph_free(graph);
        rf__encoder_free(e);
        rf__labels_free(&labels);
        rf__labels_free(&again);
        rf__params_free(&p);
        rf_ctx_free(ctx);
        t_free_all();
    }
}

/* ---- the last layer for the tokens that a head looks at alone ---- */

/* Logits of two texts and, recorded, the gradient of their weighted sum; `whole`: all tokens through all layers. */
static void answer(const rf_ctx *ctx, const rf_params *p, float *slab, float *grad, bool whole, bool again,
                   float logit[64], int64_t *n)
{
    static const int32_t id[] = {2, 5, 7, 3, 2, 9, 3, 2, 1, 4, 6, 8, 3}, start[] = {0, 4, 7, 13};
    const rf_batch b = {.N = 13, .B = 3, .id = id, .start = start};
    static float weight[64];
    rf_encoder *e;
    rf_graph *g;
    rf_error why = {0};
    for (int i = 0; i < 64; i++) weight[i] = (float)((i * 7 + 3) % 11) / 11 - 0.5F;
    if (grad) memset(grad, 0, p->total * sizeof *grad);
    assert_int_equal(rf__encoder_new(p, slab, grad, &e, NULL), RF_OK);
    assert_int_equal(rf__graph_new(ctx, &g, NULL), RF_OK);
    rf__encoder_recompute(e, again);
    rf__graph_record(g, grad != NULL, 1, 1);
    rf_tensor *z = whole ? rf__task_logits(g, e, rf__encoder_forward(g, e, &b), &b) : rf__task_forward(g, e, &b);
    assert_int_equal(rf__graph_error(g)->code, RF_OK);
    *n = z->dim[0] * z->dim[1];
    assert_true(*n <= 64);
    memcpy(logit, z->f32, (size_t)*n * sizeof *logit);
    if (grad && rf__backward(g, t_weighted(g, z, weight), &why)) fail_msg("%s", why.text);
    rf__graph_free(g);
    rf__encoder_free(e);
}

/* The same bits forward; backward the same sums except for the order of terms that are zero: 1e-6 of the largest. */
static void work_is_done_where_the_answer_is(void **state)
{
    (void)state;
    static const struct { rf_head head; rf_summary summary; const char *positions; int causal;
    } cases[] = {
        {RF_HEAD_SEQUENCE, RF_SUMMARY_LAST, "rotary", 0}, {RF_HEAD_POOLED, RF_SUMMARY_LAST, "rotary", 0},
        {RF_HEAD_SEQUENCE, RF_SUMMARY_LAST, "t5", 0},     {RF_HEAD_SEQUENCE, RF_SUMMARY_LAST, "rotary_learned", 0},
        {RF_HEAD_CHOICE, RF_SUMMARY_FIRST, "rotary", 0},  {RF_HEAD_CHOICE, RF_SUMMARY_LAST, "alibi", 1},
        {RF_HEAD_CHOICE, RF_SUMMARY_MEAN, "rotary", 0},   {RF_HEAD_TOKEN, RF_SUMMARY_LAST, "rotary", 0},
        {RF_HEAD_SPAN, RF_SUMMARY_LAST, "deberta", 0},
    };
    for (size_t i = 0; i < RF_COUNT(cases); i++)
        for (int layers = 1; layers <= 3; layers += 2) {
            rf_ctx *ctx = t_ctx(2, NULL);
            rf_config c;
            rf_params p;
            float whole[64], rows[64];
            int64_t n, m;
            rf_config_defaults(&c);
            c.vocab_size = 11, c.hidden_size = 16, c.embedding_size = 12, c.num_hidden_layers = layers,
            c.num_attention_heads = 2, c.intermediate_size = 32;
            c.num_labels = cases[i].head == RF_HEAD_SPAN     ? 2
                           : cases[i].head == RF_HEAD_CHOICE ? 1
                                                             : 3,
            c.summary = cases[i].summary, c.is_decoder = cases[i].causal;
            c.hidden_dropout_prob = c.attention_probs_dropout_prob = 0;
            snprintf(c.position_embedding_type, sizeof c.position_embedding_type, "%s", cases[i].positions);
            assert_int_equal(rf__params_new_head(ctx, &c, cases[i].head, &p, NULL), RF_OK);
            float *slab = t_floats((int64_t)p.total), *expected = t_floats((int64_t)p.total),
                  *got = t_floats((int64_t)p.total);
            rf__params_init(&p, slab, 4);
            for (size_t k = 0; k < p.total; k++) slab[k] *= 5;
            answer(ctx, &p, slab, NULL, true, false, whole, &n);
            answer(ctx, &p, slab, NULL, false, false, rows, &m);
            assert_int_equal(n, m);
            assert_memory_equal(whole, rows, (size_t)n * sizeof *rows);
            answer(ctx, &p, slab, expected, true, false, whole, &n);
            double largest = 0;
            for (size_t k = 0; k < p.total; k++) largest = fmax(largest, fabs((double)expected[k]));
            for (int again = 0; again < 2; again++) {
                answer(ctx, &p, slab, got, false, again, rows, &m);
                assert_memory_equal(whole, rows, (size_t)n * sizeof *rows);
                t_close(got, expected, (int64_t)p.total, 1e-6 * largest, 0);
            }
            rf__params_free(&p);
            rf_ctx_free(ctx);
            t_free_all();
        }
}

static void labels_have_names(void **state)
{
    (void)state;
    static const char *const expected[] = {"no", "perhaps", "yes"};
    rf_ctx *ctx = t_ctx(1, NULL);
    rf_labels l;
    assert_int_equal(rf__labels_read(ctx, "tests/golden/heads/sequence", &l, NULL), RF_OK);
    assert_int_equal(l.n, 3);
    for (int i = 0; i < 3; i++) assert_string_equal(l.name[i], expected[i]);
    rf__labels_free(&l);
    assert_int_equal(rf__labels_read(ctx, "tests/golden/heads/two_labels", &l, NULL), RF_OK);
    assert_int_equal(l.n, 2);
    assert_string_equal(l.name[1], "LABEL_1");
    rf__labels_free(&l);
    rf_ctx_free(ctx);
}

/* BERT's pooler, as the formula says. */
static void pooled_head_is_berts(void **state)
{
    (void)state;
    rf_ctx *ctx = t_ctx(1, NULL);
    rf_config c;
    rf_params p;
    rf_encoder *e;
    rf_graph *g;
    static const int32_t id[] = {2, 5, 7, 3, 2, 9, 3}, start[] = {0, 4, 7};
    const rf_batch batch = {.N = 7, .B = 2, .id = id, .start = start};
    rf_config_defaults(&c);
    c.vocab_size = 11;
    c.hidden_size = c.embedding_size = 8;
    c.num_hidden_layers = 1;
    c.num_attention_heads = 2;
    c.intermediate_size = 8;
    c.num_labels = 3;
    assert_int_equal(rf__params_new_head(ctx, &c, RF_HEAD_POOLED, &p, NULL), RF_OK);
    float *slab = t_floats((int64_t)p.total);
    rf__params_init(&p, slab, 4);
    const rf_param *w = &p.p[p.n - 4];
    assert_string_equal(w[0].name, "roformer.pooler.dense.weight");
    for (size_t i = 0; i < w[0].count; i++) slab[w[0].offset + i] *= 20;
    assert_int_equal(rf__encoder_new(&p, slab, NULL, &e, NULL), RF_OK);
    assert_int_equal(rf__graph_new(ctx, &g, NULL), RF_OK);
    const rf_tensor *h = rf__encoder_forward(g, e, &batch);
    const rf_tensor *z = rf__task_logits(g, e, (rf_tensor *)(uintptr_t)h, &batch);
    for (int b = 0; b < 2; b++)
        for (int k = 0; k < 3; k++) {
            double expected = (double)slab[w[3].offset + (size_t)k];
            for (size_t i = 0; i < 8; i++) {
                double a = (double)slab[w[1].offset + i];
                for (size_t j = 0; j < 8; j++)
                    a += (double)slab[w[0].offset + i * 8 + j] * (double)h->f32[(size_t)start[b] * 8 + j];
                expected += tanh(a) * (double)slab[w[2].offset + (size_t)k * 8 + i];
            }
            assert_true(fabs(expected - (double)z->f32[b * 3 + k]) < 1e-5);   /* 8 + 8 products of numbers below 4 */
        }
    rf__graph_free(g);
    rf__encoder_free(e);
    rf__params_free(&p);
    rf_ctx_free(ctx);
    t_free_all();
}

static void refuses(const char *json, const char *part)
{
    rf_config c;
    rf_error why = {0};
    assert_int_not_equal(rf_config_parse(t_shared(), json, strlen(json), "config.json", &c, &why), RF_OK);
    if (!strstr(why.text, part)) fail_msg("no \"%s\" in: %s", part, why.text);
}

static void bad_labels_are_refused(void **state)
{
    (void)state;
    refuses("{\"id2label\": {\"0\": \"a\", \"2\": \"b\"}}",
            "id2label: expected a string for each of the 2 labels, got none for \"1\"");
    refuses("{\"id2label\": {}}", "id2label: expected 1 to 65536 labels, got 0");
    refuses("{\"id2label\": [\"a\"]}", "object, got a list of 1");
    refuses("{\"num_labels\": 0}", "num_labels");
    refuses("{\"num_labels\": \"3\"}", "num_labels");
    refuses("{\"problem_type\": 3}", "problem_type");
    refuses("{\"architectures\": [\"RoFormerForMultipleChoice\"], \"summary_type\": \"attn\"}", "summary_type");
    refuses("{\"architectures\": [\"RoFormerForMultipleChoice\"], \"summary_use_proj\": true}", "projection");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(so_do_all_families),
        cmocka_unit_test(agree_with_transformers),
        cmocka_unit_test(survive_our_own_folder),
        cmocka_unit_test(work_is_done_where_the_answer_is),
        cmocka_unit_test(labels_have_names),
        cmocka_unit_test(pooled_head_is_berts),
        cmocka_unit_test(bad_labels_are_refused),
    };
    return cmocka_run_group_tests_name("model/heads", tests, NULL, NULL);
}
