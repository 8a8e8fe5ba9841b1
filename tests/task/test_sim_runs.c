/* test_sim_runs.c — mirrors src/task/tasks/sim.c: a run that learns to generate and to find each text's partner,
 * resumes and continues; a teacher; other options; invalid examples are rejected. */
#define _GNU_SOURCE
#include <math.h>

#include "roformer/pipeline.h"
#include "roformer/model.h"
#include "small_task.h"
#include "task/answerer.h"

/* 24 texts and similar ones: the words in another order, another form of the verb. */
static void a_pair(unsigned i, char first[64], char second[64])
{
    const char *adjective = tiny_adjectives[i / 12], *noun = tiny_nouns[i % 12],
               *verb = tiny_verbs[(i % 12 + i / 12) % 6];
    snprintf(first, 64, "the %s %s %ss", adjective, noun, verb);
    snprintf(second, 64, "%s is the %s %sing", noun, adjective, verb);
}

enum { LINES = 24 };

static char *write_lines(const setup *s, const char *name, const char *header, const char *more)
{
    char text[1 << 13], first[64], second[64];
    size_t n = (size_t)sprintf(text, "%s\n", header);
    for (unsigned i = 0; i < LINES; i++) {
        a_pair(i, first, second);
        n += (size_t)sprintf(text + n, "%s\t%s%s\n", first, second, more);
    }
    t_write(s->data, name, text, n);
    return tiny_path(s->data, name);
}

static rf_finetune_options options_of(const setup *s, const char *train, const char *out)
{
    rf_finetune_options o = task_options(s, "sim", train, out);
    o.per_device_train_batch_size = 8;
    o.t.learning_rate = 4e-3;
    o.t.max_steps = 1500;
    o.t.save_steps = 400;
    return o;
}

typedef struct told { char notes[4096]; double first; } told;

static int listen(void *user, const rf_train_progress *p)
{
    told *t = user;
    if (p->note) snprintf(t->notes + strlen(t->notes), sizeof t->notes - strlen(t->notes), "%s\n", p->note);
    if (!strcmp(p->event, "step") && !(t->first > 0)) t->first = p->loss;
    return RF_TRAIN_GO;
}

/* From each text its partner is generated, and it is the nearest of all 48 vectors; by chance this would hold for none,
 * and for one. */
static void check_partners(const setup *s, const char *folder)
{
    enum { ALL = 2 * LINES, C = 32 };
    static char text[ALL][64];
    const char *line[ALL];
    rf_pipeline *p;
    rf_generate_options g;
    rf_embed_options how;
    rf_error why = {0};
    const float *v;
    int right = 0, nearest = 0;
    for (unsigned i = 0; i < LINES; i++) a_pair(i, text[2 * i], text[2 * i + 1]);
    for (int i = 0; i < ALL; i++) line[i] = text[i];
    if (rf_pipeline_open(s->ctx, folder, RF_F32, &p, &why)) fail_msg("%s", why.text);
    rf_generate_defaults(&g);
    g.max_new_tokens = 12;
    for (int i = 0; i < ALL; i++) {
        const rf_generation *out;
        if (rf_generate(p, text[i], strlen(text[i]), &g, NULL, NULL, &out, &why)) fail_msg("%s", why.text);
        const char *is = out->text + strspn(out->text, " ");
        right += !strcmp(is, text[i ^ 1]);
        if (strcmp(is, text[i ^ 1])) print_message("           %s: %s\n", text[i], is);
    }
    rf_embed_defaults(&how);
    how.pooling = RF_POOL_CLS;
    how.normalize = 1;
    if (rf_embed_texts(p, line, NULL, ALL, &how, &v, NULL, &why)) fail_msg("%s", why.text);
    for (int i = 0; i < ALL; i++) {
        int best = -1;
        double most = -2;
        for (int j = 0; j < ALL; j++) {
            double cos = 0;
            for (int c = 0; c < C; c++) cos += (double)v[i * C + c] * (double)v[j * C + c];
            if (j != i && cos > most) most = cos, best = j;
        }
        nearest += best == (i ^ 1);
    }
    rf_pipeline_close(p);
    print_message("           %d of %d partners are written, %d are nearest\n", right, ALL, nearest);
    if (right < ALL - 8 || nearest < ALL - 2) fail_msg("%d of %d written, %d nearest", right, ALL, nearest);
}

static void a_run_learns_to_write_and_to_find(void **state)
{
    (void)state;
    setup s = begin();
    char *train = write_lines(&s, "train.tsv", "text\tpair", ""), *again = strdup(t_folder());
    rf_finetune_options o = options_of(&s, train, s.out), none;
    rf_metric_values scores, on_file;
    rf_answerer *a;
    rf_config c;
    told of = {.first = 0};
    o.dev = train;
    if (rf_finetune(s.ctx, &o, listen, &of, &scores, &s.why)) fail_msg("%s", s.why.text);
    assert_non_null(strstr(of.notes, "its head, and a new pooler"));
    assert_string_equal(scores.metric[3].name, "mrr_at_10");
    if (!(scores.metric[3].value > 0.95)) fail_msg("mrr at 10: %g", scores.metric[3].value);
    check_partners(&s, s.out);
    assert_int_equal(rf_config_read(s.ctx, s.out, &c, &s.why), RF_OK);
    assert_true(c.is_decoder && c.linear_pooler);
    assert_string_equal(c.architecture, "RoFormerForCausalLM");

    rf_ctx *three = t_ctx(3, NULL);                         /* stopped, resumed, on other threads: the same bits */
    o.t.output_dir = again;
    o.t.stop_after = 430;
    assert_int_equal(rf_finetune(three, &o, NULL, NULL, NULL, &s.why), RF_ESTOPPED);
    o.t.stop_after = 0;
    o.t.resume_from_checkpoint = "latest";
    if (rf_finetune(three, &o, NULL, NULL, NULL, &s.why)) fail_msg("%s", s.why.text);
    assert_int_equal(tiny_crc(s.out, "model.safetensors"), tiny_crc(again, "model.safetensors"));
    rf_ctx_free(three);

    rf_finetune_defaults(&none);                            /* the folder knows its task, and has the run's scores */
    if (rf_answerer_open(s.ctx, s.out, &a, &s.why)) fail_msg("%s", s.why.text);
    assert_string_equal(rf__answerer_task(a), "sim");
    if (rf_answerer_evaluate(a, &none, train, &on_file, &s.why)) fail_msg("%s", s.why.text);
    assert_int_equal(on_file.n, scores.n);
    for (int i = 0; i < scores.n; i++) t_near(on_file.metric[i].value, scores.metric[i].value, 1e-5);
    rf_answerer_close(a);

    told on = {.first = 0};                                 /* it continues from there, with its pooler */
    rf_finetune_options more = options_of(&s, train, t_folder());
    more.t.model = s.out;
    more.t.max_steps = 2;
    more.save_strategy = RF_STRATEGY_NO;
    if (rf_finetune(s.ctx, &more, listen, &on, NULL, &s.why)) fail_msg("%s", s.why.text);
    assert_null(strstr(on.notes, "new pooler"));
    if (!(on.first < of.first / 4)) fail_msg("the first loss is %g, without a beginning it was %g", on.first, of.first);
    free(train);
    free(again);
    end(&s);
}

static void refuse(setup *s, rf_finetune_options *o, rf_status code, const char *says)
{
    o->t.output_dir = t_folder();
    s->why = (rf_error){0};
    assert_int_equal(rf_finetune(s->ctx, o, NULL, NULL, NULL, &s->why), code);
    t_failed(&s->why, code, says);
}

/* The mean squared distance of the 48 texts' cosines to the teacher's. */
static double from_teacher(const setup *s, const char *folder, const char *teacher, int C)
{
    enum { ALL = 2 * LINES, OWN = 32 };
    char text[ALL][64];
    const char *line[ALL];
    float row[2][8];
    rf__teacher t;
    rf_pipeline *p;
    rf_embed_options how;
    rf_error why = {0};
    const float *v;
    double sum = 0;
    for (unsigned i = 0; i < LINES; i++) a_pair(i, text[2 * i], text[2 * i + 1]);
    for (int i = 0; i < ALL; i++) line[i] = text[i];
    rf_embed_defaults(&how);
    how.pooling = RF_POOL_CLS;
    if (rf__teacher_open(s->ctx, teacher, &t, &why) || rf_pipeline_open(s->ctx, folder, RF_F32, &p, &why) ||
        rf_embed_texts(p, line, NULL, ALL, &how, &v, NULL, &why))
        fail_msg("%s", why.text);
    for (int i = 0; i < ALL; i++)
        for (int j = 0; j < ALL; j++) {
            rf__teacher_row(&t, i, row[0]);
            rf__teacher_row(&t, j, row[1]);
            sum += pow(cosine(v + i * OWN, v + j * OWN, OWN) - cosine(row[0], row[1], C), 2);
        }
    rf_pipeline_close(p);
    rf__teacher_close(s->ctx, &t);
    return sum / (ALL * ALL);
}

/* The second stage: cosines of vectors of another width, two rows per example. */
static void a_teacher_says_what_is_alike(void **state)
{
    (void)state;
    enum { C = 6 };
    setup s = begin();
    char *train = write_lines(&s, "train.tsv", "text\tpair", ""), *short_of = write_teacher(&s, "less.npy", LINES, C),
         *teacher = write_teacher(&s, "teacher.npy", 2 * LINES, C), *none = write_teacher(&s, "zero.npy", 2 * LINES, C);
    rf_finetune_options o = options_of(&s, train, s.out);
    o.t.max_steps = 1;
    if (rf_finetune(s.ctx, &o, NULL, NULL, NULL, &s.why)) fail_msg("%s", s.why.text);
    const double before = from_teacher(&s, s.out, teacher, C);
    o.t.model = s.out;
    o.t.output_dir = t_folder();
    o.t.max_steps = 1500;
    o.teacher = teacher;
    if (rf_finetune(s.ctx, &o, NULL, NULL, NULL, &s.why)) fail_msg("%s", s.why.text);
    const double after = from_teacher(&s, o.t.output_dir, teacher, C);
    print_message("           %.4f from the teacher's cosines, before %.4f\n", after, before);
    if (!(before > 0.1 && after < 0.02)) fail_msg("%g from the teacher's cosines, before %g", after, before);
    o.teacher = short_of;
    refuse(&s, &o, RF_EDATA, "got 24");
    t_failed(&s.why, RF_EDATA, "expected 48 vectors, two (one for each text) for each example of");
    o.teacher = none;
    refuse(&s, &o, RF_EDATA, "expected a vector of length above 0");
    free(train), free(teacher), free(short_of), free(none);
    end(&s);
}

/* Recomputed layers: the same bits.  bf16, accumulated gradients, a step on the words: still a valid model. */
static void it_goes_with_other_options(void **state)
{
    (void)state;
    setup s = begin();
    char *train = write_lines(&s, "train.tsv", "text\tpair", ""),
         *dev = write_lines(&s, "dev.tsv", "text\tpair\tscore", "\t0.5");
    rf_finetune_options o = options_of(&s, train, s.out);
    uint32_t crc[2];
    o.t.max_steps = 6;
    o.dropout = 0.1;
    o.save_strategy = RF_STRATEGY_NO;
    for (int k = 0; k < 2; k++) {
        o.t.output_dir = t_folder();
        o.t.gradient_checkpointing = k;
        if (rf_finetune(s.ctx, &o, NULL, NULL, NULL, &s.why)) fail_msg("%s", s.why.text);
        crc[k] = tiny_crc(o.t.output_dir, "model.safetensors");
    }
    assert_int_equal(crc[0], crc[1]);
    rf_metric_values scores;
    o.t.output_dir = t_folder();
    o.t.bf16 = 1;
    o.t.gradient_accumulation_steps = 3;
    o.fgm = 0.1;
    o.layer_wise_lr_decay = 0.9;
    o.dev = dev;
    if (rf_finetune(s.ctx, &o, NULL, NULL, &scores, &s.why)) fail_msg("%s", s.why.text);
    assert_string_equal(scores.metric[1].name, "pearson");
    assert_true(isfinite(scores.metric[0].value));

    o.fgm = 0, o.dev = NULL, o.layer_wise_lr_decay = 1;     /* frozen layers: the pooler is above them */
    o.frozen_layers = 2;
    o.t.output_dir = t_folder();
    if (rf_finetune(s.ctx, &o, NULL, NULL, NULL, &s.why)) fail_msg("%s", s.why.text);
    char *was = tiny_path(s.data, "model.safetensors"), *is = tiny_path(o.t.output_dir, "model.safetensors");
    rf_weights *x, *y;
    assert_int_equal(rf_weights_open(s.ctx, was, &x, NULL), RF_OK);
    assert_int_equal(rf_weights_open(s.ctx, is, &y, NULL), RF_OK);
    static const char frozen[] = "roformer.encoder.layer.1.output.dense.weight", top[] = "roformer.pooler.dense.bias";
    float one[32 * 64], two[32 * 64];
    assert_int_equal(rf__weights_read(x, rf__weights_find(x, frozen), one, 1, NULL), RF_OK);
    assert_int_equal(rf__weights_read(y, rf__weights_find(y, frozen), two, 1, NULL), RF_OK);
    assert_memory_equal(one, two, sizeof one);
    assert_int_equal(rf__weights_read(y, rf__weights_find(y, top), two, 1, NULL), RF_OK);
    assert_true(fabsf(two[0]) > 0);
    rf_weights_close(x);
    rf_weights_close(y);
    free(was), free(is), free(train), free(dev);
    end(&s);
}

static void what_cannot_be_learned_is_refused(void **state)
{
    (void)state;
    setup s = begin();
    char *train = write_lines(&s, "train.tsv", "text\tpair", ""),
         *scored = write_lines(&s, "scored.tsv", "text\tpair\tscore", "\t1"), text[256];
    const rf_finetune_options usual = options_of(&s, train, NULL);
    rf_finetune_options o = usual;
    o.per_device_train_batch_size = 1;
    refuse(&s, &o, RF_EARG, "batch: expected at least 2 pairs");
    o = usual, o.mini_batch_size = 4;
    refuse(&s, &o, RF_EARG, "mini_batch_size: expected");
    o = usual, o.r_drop = 1;
    refuse(&s, &o, RF_EARG, "r_drop: expected");
    o = usual, o.train = scored;
    refuse(&s, &o, RF_EDATA, "train: expected pairs of similar texts without scores");

    static const struct { const char *line, *says; } lines[] = {
        {"{\"text\": \"the cat\", \"pair\": \"a cat\", \"negative\": \"a dog\"}\n", "expected no negatives"},
        {"{\"text\": \"the cat\"}\n", "expected a second text"},
    };
    for (size_t i = 0; i < RF_COUNT(lines); i++) {
        t_write(s.data, "lines.jsonl", lines[i].line, strlen(lines[i].line));
        char *file = tiny_path(s.data, "lines.jsonl");
        o = usual, o.train = file;
        refuse(&s, &o, RF_EDATA, lines[i].says);
        free(file);
    }

    static const struct { const char *more, *says; } configs[] = {
        {"\"attention_type\": \"linear\"", "attention_type: expected softmax attention, got linear"},
        {"\"position_embedding_type\": \"alibi\"", "got \"alibi\" in a causal model"},
        {"\"position_embedding_type\": \"rerope\", \"rerope_window\": 8", "keys can be cached"},
        {"\"type_vocab_size\": 1", "type_vocab_size: expected at least 2"},
        {"\"norm_type\": \"rms_norm\", \"use_bias\": false", "model_type: expected ... RoFormer-Sim"},
    };
    for (size_t i = 0; i < RF_COUNT(configs); i++) {
        const int n = snprintf(text, sizeof text,
                               "{\"model_type\": \"roformer\", \"vocab_size\": 34, \"hidden_size\": 32, "
                               "\"num_hidden_layers\": 1, \"num_attention_heads\": 2, %s}",
                               configs[i].more);
        t_write(s.data, "config.json", text, (size_t)n);
        o = usual;
        refuse(&s, &o, RF_EUNSUPPORTED, configs[i].says);
    }
    free(train), free(scored);
    end(&s);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_run_learns_to_write_and_to_find), cmocka_unit_test(a_teacher_says_what_is_alike),
        cmocka_unit_test(it_goes_with_other_options),        cmocka_unit_test(what_cannot_be_learned_is_refused),
    };
    return cmocka_run_group_tests_name("task/sim_runs", tests, NULL, NULL);
}
