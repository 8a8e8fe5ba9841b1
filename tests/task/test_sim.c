/* test_sim.c — mirrors src/task/tasks/sim.c: the loss in double, from vectors and logits that the public interface
 * gives text by text and token by token; its gradient compared with finite differences; masks; memory. */
#define _GNU_SOURCE
#include <math.h>

#include "roformer/pipeline.h"
#include "roformer/model.h"
#include "small_task.h"
#include "task/objective.h"
#include "train/memory.h"

enum { V = 34, PAIRS = 3, TEXTS = 2 * PAIRS, CLS = 2, SEP = 3, MASK = 4, PLAIN = 5, TAUGHT = 5 };

/* ---- one batch ---- */

typedef struct bench {
    rf_ctx *ctx;
    char *folder;
    rf_params p;
    float *value, *grad;
    rf_encoder *e;
    rf_graph *g;
    rf_finetune_options o;
    rf__item_batch b;
    int32_t id[64], start[TEXTS + 1], group[PAIRS + 1];
    float target[PAIRS];
    rf__teacher teacher;
    float taught[TEXTS * TAUGHT];
    int32_t row[PAIRS];
} bench;

/* Texts of 1 to 6 words between [CLS] and [SEP]. */
static void fill_batch(bench *b)
{
    int32_t n = 0;
    for (int s = 0; s < TEXTS; s++) {
        b->start[s] = n;
        b->id[n++] = CLS;
        for (int i = 0; i <= (s * 5 + 2) % 6; i++) b->id[n++] = PLAIN + (s * 11 + i * 7) % (V - PLAIN);
        b->id[n++] = SEP;
    }
    b->start[TEXTS] = n;
    for (int i = 0; i < PAIRS; i++) b->group[i] = 2 * i, b->target[i] = NAN;
    b->group[PAIRS] = TEXTS;
    b->b = (rf__item_batch){.n = PAIRS, .N = n, .B = TEXTS, .K = 1, .labels = PAIRS, .id = b->id, .start = b->start,
                            .group = b->group, .target = b->target};
}

/* Vectors of another width, whose rows are in another order than the batch's examples. */
static void teach(bench *b)
{
    for (int i = 0; i < TEXTS * TAUGHT; i++) b->taught[i] = (float)sin(1.3 * i * i + 0.7 * i);
    for (int i = 0; i < PAIRS; i++) b->row[i] = 2 * (PAIRS - 1 - i);
    b->teacher = (rf__teacher){.at = (const unsigned char *)b->taught, .width = sizeof *b->taught, .rows = TEXTS,
                               .C = TAUGHT};
    b->b.teacher = &b->teacher;
    b->b.label = b->row;
}

/* A RoFormer-Sim of random weights, in a folder and on a tape. */
static bench *begin_bench(const char *isa, double deviation)
{
    bench *b = calloc(1, sizeof *b);
    rf_config c;
    rf_error why = {0};
    b->ctx = t_ctx(2, isa);
    b->folder = tiny_model();
    char *path = tiny_path(b->folder, "model.safetensors");
    assert_int_equal(rf_config_read(b->ctx, b->folder, &c, NULL), RF_OK);
    assert_int_equal(rf__task_sim.configure(&c, &why), RF_OK);
    rf_config_set_head(&c, RF_HEAD_MLM);
    c.hidden_dropout_prob = c.attention_probs_dropout_prob = 0;
    c.initializer_range = deviation;
    if (rf__params_new(b->ctx, &c, &b->p, &why) || rf_config_write(b->ctx, b->folder, &c, &why))
        fail_msg("%s", why.text);
    b->value = t_floats((int64_t)b->p.total), b->grad = t_floats((int64_t)b->p.total);
    rf__params_init(&b->p, b->value, 3);
    for (size_t i = 0; i < b->p.n; i++)                                  /* biases are none of zeros */
        for (size_t j = 0; b->p.p[i].init == RF_INIT_ZEROS && j < b->p.p[i].count; j++)
            b->value[b->p.p[i].offset + j] = 0.1F * (float)sin(1.7 * (double)j + (double)i);
    assert_int_equal(rf__params_save(&b->p, b->value, RF_F32, path, NULL), RF_OK);
    assert_int_equal(rf__encoder_new(&b->p, b->value, b->grad, &b->e, NULL), RF_OK);
    assert_int_equal(rf__graph_new(b->ctx, &b->g, NULL), RF_OK);
    rf_finetune_defaults(&b->o);
    fill_batch(b);
    free(path);
    return b;
}

static void end_bench(bench *b)
{
    rf__graph_free(b->g);
    rf__encoder_free(b->e);
    rf__params_free(&b->p);
    rf_ctx_free(b->ctx);
    free(b->folder);
    free(b);
    t_free_all();
}

/* The mean over the examples, as value and as sum; the gradient is added. */
static double loss_of(bench *b, const rf__masking *masking, uint64_t stream)
{
    double sum = 0;
    rf_error why = {0};
    const rf__task_objective o = {.task = &rf__task_sim, .o = &b->o, .masking = masking, .stream = stream};
    assert_int_equal(rf__graph_reset(b->g), RF_OK);
    rf__graph_record(b->g, 1, 1, 1);
    rf_tensor *y = rf__task_sim.train(b->g, b->e, &b->b, &o, 1.0 / PAIRS, &sum);
    if (rf__backward(b->g, y, &why)) fail_msg("%s", why.text);
    t_near((double)y->f32[0], sum / PAIRS, 1e-6 * sum);
    return sum / PAIRS;
}

/* ---- the formula ---- */

static double log_sum_exp(const double *z, size_t n)
{
    double top = z[0], sum = 0;
    for (size_t i = 1; i < n; i++) top = fmax(top, z[i]);
    for (size_t i = 0; i < n; i++) sum += exp(z[i] - top);
    return top + log(sum);
}

/* -log p of a token from a row of logits. */
static double surprise(const float *z, int32_t token)
{
    double x[V];
    for (int v = 0; v < V; v++) x[v] = (double)z[v];
    return log_sum_exp(x, V) - x[token];
}

/* The tokens of text `other`, one after the other, following text s, which has bidirectional attention. */
static double written(rf_session *session, const bench *b, int s, int other, int *tokens)
{
    const int32_t m = b->start[s + 1] - b->start[s], ends[] = {0, m}, one[] = {0, 1}, last = m - 1, zero = 0;
    const rf_batch prompt = {.N = m, .B = 1, .id = b->id + b->start[s], .start = ends};
    rf_sequence text;
    rf_error why = {0};
    const float *z;
    double sum = 0;
    assert_int_equal(rf_sequence_new(session, NULL, &text, &why), RF_OK);
    if (rf_session_continue(session, &text, &prompt, &last, 1, &z, &why)) fail_msg("%s", why.text);
    for (int32_t i = b->start[other] + 1; i < b->start[other + 1]; i++) {
        const rf_batch next = {.N = 1, .B = 1, .id = b->id + i, .start = one};
        sum += surprise(z, b->id[i]);
        ++*tokens;
        if (rf_session_continue(session, &text, &next, &zero, 1, &z, &why)) fail_msg("%s", why.text);
    }
    return sum;
}

/* The loss of the second stage: 100 mean((similarities - the teacher's)^2). */
static double as_taught(const bench *b, const float *v)
{
    const int64_t C = b->p.config.hidden_size;
    double sum = 0;
    for (int i = 0; i < TEXTS; i++)
        for (int j = 0; j < TEXTS; j++) {
            const float *x = b->taught + (b->row[i / 2] + i % 2) * TAUGHT,
                        *y = b->taught + (b->row[j / 2] + j % 2) * TAUGHT;
            sum += pow(cosine(v + i * C, v + j * C, C) - cosine(x, y, TAUGHT), 2);
        }
    return 100 * sum / (TEXTS * TEXTS);
}

/* Su's loss by its formula: similarities of all 2 n vectors, the diagonal at -1e12, the label of row i is i + 1 - 2 (i
 * mod 2). */
static double alike(rf_session *session, const bench *b, double scale)
{
    const float *v;
    rf_error why = {0};
    const int64_t C = b->p.config.hidden_size;
    const rf_batch all = {.N = b->b.N, .B = TEXTS, .id = b->id, .start = b->start};
    double sum = 0;
    if (rf_session_embed(session, &all, RF_POOL_CLS, &v, &why)) fail_msg("%s", why.text);
    if (b->b.teacher) return as_taught(b, v);
    for (int i = 0; i < TEXTS; i++) {
        double z[TEXTS];
        for (int j = 0; j < TEXTS; j++) z[j] = i == j ? -1e12 : scale * cosine(v + i * C, v + j * C, C);
        sum += log_sum_exp(z, TEXTS) - z[i + 1 - 2 * (i % 2)];
    }
    return sum / TEXTS;
}

/* Numbers of size 1 after two layers in f32, and a scale of 20: 1e-4. */
static void the_loss_is_the_formula(void **state)
{
    (void)state;
    static const char *const isa[] = {"ref", NULL, "ref", NULL};
    static const double scale[] = {20, 5, 20, 20};
    for (int k = 0; k < 4; k++) {
        bench *b = begin_bench(isa[k], 0.4);
        if (k > 1) teach(b);
        rf_model *m;
        rf_session *session;
        rf_error why = {0};
        double next = 0;
        int tokens = 0;
        b->o.similarity_scale = scale[k];
        if (rf_model_open(b->ctx, b->folder, &m, &why) || rf_session_open(m, &session, &why)) fail_msg("%s", why.text);
        for (int s = 0; s < TEXTS; s++) next += written(session, b, s, s ^ 1, &tokens);
        const double expected = next / tokens + alike(session, b, scale[k]);
        assert_true(next / tokens > 1 && alike(session, b, scale[k]) > 0.1);
        t_near(loss_of(b, NULL, 0), expected, 1e-4);

        double sum = 0;                                                  /* an evaluation has the vectors alone */
        const rf_batch all = {.N = b->b.N, .B = TEXTS, .id = b->id, .start = b->start};
        const float *v;
        int64_t rows;
        if (rf_session_logits(session, &all, &v, &rows, &why)) fail_msg("%s", why.text);
        assert_int_equal(rows, TEXTS);
        rf__graph_reset(b->g);
        rf__graph_record(b->g, 0, 0, 0);
        rf_tensor *x = rf__constant(b->g, v, 2, (int64_t[]){TEXTS, b->p.config.hidden_size});
        rf__task_objective_loss(b->g, x, &b->b, &(rf__task_objective){.task = &rf__task_sim, .o = &b->o}, 1, &sum);
        t_near(sum / PAIRS, alike(session, b, scale[k]), 1e-4);
        rf_session_close(session);
        rf_model_close(m);
        end_bench(b);
    }
}

/* For every parameter: along its gradient the loss rises by the gradient's square, with steps that change it by some
 * 1e-2; rounding (1e-6) and curvature cause up to 5 %. */
static void check_gradient(bench *b)
{
    for (size_t i = 0; i < b->p.n; i++) {
        const rf_param *p = &b->p.p[i];
        float *x = b->value + p->offset, *along = t_floats((int64_t)p->count), *was = t_floats((int64_t)p->count);
        double size = 0, loss[2];
        memset(b->grad, 0, b->p.total * sizeof *b->grad);
        loss_of(b, NULL, 0);
        memcpy(along, b->grad + p->offset, p->count * sizeof *along);
        memcpy(was, x, p->count * sizeof *was);
        for (size_t j = 0; j < p->count; j++) size += pow((double)along[j], 2);
        if (!(size > 1e-10)) fail_msg("%s has no gradient: %g", p->name, size);
        const double h = 0.01 / fmax(sqrt(size), size);
        for (int side = 0; side < 2; side++) {
            for (size_t j = 0; j < p->count; j++) x[j] = (float)((double)was[j] + (side ? -h : h) * (double)along[j]);
            loss[side] = loss_of(b, NULL, 0);
        }
        memcpy(x, was, p->count * sizeof *was);
        const double slope = (loss[0] - loss[1]) / (2 * h);
        if (!(fabs(slope - size) <= 0.05 * size + 2e-6 / h))
            fail_msg("%s: slope along the gradient %g, its square %g", p->name, slope, size);
    }
    end_bench(b);
}

static void the_gradient_is_the_loss_s(void **state)
{
    (void)state;
    check_gradient(begin_bench(NULL, 0.2));
    bench *b = begin_bench(NULL, 0.2);
    teach(b);
    check_gradient(b);
}

/* A batch of one pair, of m words each: with probability ((1 - p) + p (1 - 0.15 r)^m)^2 nothing of it is masked, where
 * r is the fraction of selected tokens that change, 0.8 + 0.1 (1 - 1 / 29).  300 batches: five deviations are 0.15. */
static void half_of_the_sources_are_masked(void **state)
{
    (void)state;
    enum { BATCHES = 300, WORDS = 4 };
    static const double p[] = {0, 0.5, 1};
    bench *b = begin_bench(NULL, 0.4);
    rf__token_kinds v;
    rf_tokenizer *t;
    rf_error why = {0};
    if (rf_tokenizer_open(b->ctx, b->folder, &t, &why) || rf__vocab_new(b->ctx, t, &v, &why)) fail_msg("%s", why.text);
    const rf__masking masking = {.key = rf__make_key(5, 6), .p = 0.15, .whole_words = 1, .vocab = &v};
    static const int32_t id[] = {CLS, 6, 9, 12, 20, SEP, CLS, 7, 10, 13, 22, SEP},
                         start[] = {0, WORDS + 2, 2 * WORDS + 4};
    memcpy(b->id, id, sizeof id);
    memcpy(b->start, start, sizeof start);
    b->b.n = 1, b->b.B = 2, b->b.N = start[2];
    const double plain = loss_of(b, NULL, 0), r = 0.8 + 0.1 * (1 - 1.0 / (V - PLAIN));
    for (size_t k = 0; k < RF_COUNT(p); k++) {
        int same = 0;
        b->o.source_mask_probability = p[k];
        for (uint64_t stream = 1; stream <= BATCHES; stream++) {
            const double loss = loss_of(b, &masking, stream << 20);
            same += fabs(loss - plain) < 1e-9;
            if (stream < 4) t_near(loss_of(b, &masking, stream << 20), loss, 0);
        }
        t_near(same / (double)BATCHES, pow(1 - p[k] + p[k] * pow(1 - 0.15 * r, WORDS), 2), p[k] > 0 ? 0.15 : 0);
    }
    rf__vocab_free(b->ctx, &v);
    rf_tokenizer_free(t);
    end_bench(b);
}

/* The estimate agrees with the memory of a step, within 5 % and a few kilobytes; also one layer at a time. */
static void memory_is_said_beforehand(void **state)
{
    (void)state;
    for (int k = 0; k < 4; k++) {
        enum { EACH = 40, TEXT = 16 };
        const int again = k % 2;
        static float taught[2 * EACH * TAUGHT];
        const rf__teacher teacher = {.at = (const unsigned char *)taught, .width = sizeof *taught, .rows = 2 * EACH,
                                     .C = TAUGHT};
        const rf__items items = {.teacher = k > 1 ? &teacher : NULL};
        int32_t row[EACH];
        for (int i = 0; i < EACH; i++) row[i] = 2 * i;
        for (int i = 0; i < 2 * EACH * TAUGHT; i++) taught[i] = (float)cos(i);
        rf_ctx *ctx = t_ctx(2, NULL);
        rf_config c;
        rf_params p;
        rf_encoder *e;
        rf_graph *g;
        rf_finetune_options o;
        rf_finetune_defaults(&o);
        rf_config_defaults(&c);
        c.vocab_size = 2000, c.embedding_size = c.hidden_size = 128, c.num_hidden_layers = 4, c.num_attention_heads = 4,
        c.intermediate_size = 512;
        assert_int_equal(rf__task_sim.configure(&c, NULL), RF_OK);
        assert_int_equal(rf__params_new(ctx, &c, &p, NULL), RF_OK);
        float *value = t_floats((int64_t)p.total), *grad = t_floats((int64_t)p.total), target[EACH];
        int32_t id[2 * EACH * TEXT], start[2 * EACH + 1], group[EACH + 1];
        for (int i = 0; i < 2 * EACH * TEXT; i++) id[i] = i * 7 % 2000;
        for (int i = 0; i <= 2 * EACH; i++) start[i] = i * TEXT;
        for (int i = 0; i <= EACH; i++) group[i] = 2 * i;
        for (int i = 0; i < EACH; i++) target[i] = NAN;
        const rf__item_batch b = {.n = EACH, .N = 2 * EACH * TEXT, .B = 2 * EACH, .K = 1, .labels = EACH, .id = id,
                                  .start = start, .group = group, .target = target, .label = row,
                                  .teacher = items.teacher};
        rf__params_init(&p, value, 1);
        assert_int_equal(rf__encoder_new(&p, value, grad, &e, NULL), RF_OK);
        assert_int_equal(rf__graph_new(ctx, &g, NULL), RF_OK);
        rf__encoder_recompute(e, again);
        for (uint64_t step = 0; step < 2; step++) {
            rf_error why = {0};
            rf__graph_reset(g);
            rf__graph_record(g, 1, 1, step);
            const rf__task_objective with = {.task = &rf__task_sim, .o = &o};
            if (rf__backward(g, rf__task_sim.train(g, e, &b, &with, 1, NULL), &why)) fail_msg("%s", why.text);
        }
        o.per_device_train_batch_size = EACH;
        o.t.max_length = TEXT, o.t.tokens_per_batch = 2 * EACH * (2 * TEXT - 1), o.t.gradient_checkpointing = again;
        const double held = (double)rf__graph_memory(g),
                     said = rf__memory_batch(&p, &o.t, o.t.tokens_per_batch, 0) +
                                EACH * EACH * rf__task_sim.square(&items, &o);
        print_message("           %.2f MB held, %.2f MB estimated\n", held * 1e-6, said * 1e-6);
        if (!(said > 0.95 * held && said < 1.05 * held + 2e5))
            fail_msg("%.2f MB held, %.2f MB estimated", held * 1e-6, said * 1e-6);
        rf__graph_free(g);
        rf__encoder_free(e);
        rf__params_free(&p);
        rf_ctx_free(ctx);
        t_free_all();
    }
}

static void memory_of_the_cosines_is_said(void **state)
{
    (void)state;
    rf_ctx *ctx = t_ctx(1, NULL);
    static const float taught[2 * TAUGHT] = {1, 2, 3, 4, 5, -1, 2, -3, 4, -5};
    const rf__teacher teacher = {.at = (const unsigned char *)taught, .width = sizeof *taught, .rows = 2, .C = TAUGHT};
    rf_finetune_options o;
    rf_finetune_defaults(&o);
    check_cosines_held(ctx, &rf__task_sim, &o, &(rf__items){0});
    check_cosines_held(ctx, &rf__task_sim, &o, &(rf__items){.teacher = &teacher});
    rf_ctx_free(ctx);
    t_free_all();
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_loss_is_the_formula),        cmocka_unit_test(the_gradient_is_the_loss_s),
        cmocka_unit_test(half_of_the_sources_are_masked), cmocka_unit_test(memory_is_said_beforehand),
        cmocka_unit_test(memory_of_the_cosines_is_said),
    };
    return cmocka_run_group_tests_name("task/sim", tests, NULL, NULL);
}
