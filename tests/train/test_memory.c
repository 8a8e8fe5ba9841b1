/* test_memory.c — the estimate compared with the memory of a step, for shapes in which each of its terms matters. */
#include "graph/graph.h"
#include "model/family.h"
#include "t.h"
#include "train/memory.h"
#include "task/objective.h"
#include "optim/optimizer.h"
#include "dist/tree.h"

typedef struct shape { int64_t V, E, C, L, H, F, B, T; int bf16, again; double dropped; } shape;

/* Texts or, with two sides, pairs of B pieces; row and labels: the predicted tokens. */
typedef struct packed { int64_t labels; int sides; rf_batch side[2]; int32_t *row; } packed;

static rf_batch side(int64_t B, int64_t T, int64_t V)
{
    int32_t *id = t_bytes((size_t)(B * T) * 4), *start = t_bytes((size_t)(B + 1) * 4);
    for (int64_t i = 0; i < B * T; i++) id[i] = (int32_t)(i * 7 % V);
    for (int64_t b = 0; b <= B; b++) start[b] = (int32_t)(b * T);
    return (rf_batch){.N = B * T, .B = B, .id = id, .start = start};
}

/* The arena of two whole steps. */
static double arena(const rf_ctx *ctx, const rf_params *p, const rf_train_options *o, const packed *x)
{
    float *value = t_floats((int64_t)p->total), *grad = t_floats((int64_t)p->total);
    rf_encoder *e = NULL;
    rf_graph *g = NULL;
    rf__params_init(p, value, 1);
    memset(grad, 0, p->total * sizeof *grad);
    assert_int_equal(rf__encoder_new(p, value, grad, &e, NULL), RF_OK);
    assert_int_equal(rf__graph_new(ctx, &g, NULL), RF_OK);
    rf__graph_products(g, o->bf16 ? RF_BF16 : RF_F32);
    rf__encoder_recompute(e, o->gradient_checkpointing != 0);
    for (uint64_t step = 0; step < 2; step++) {
        rf_error why = {0};
        rf__graph_reset(g);
        rf__graph_record(g, 1, 1, step);
        rf_tensor *h = x->sides == 2 ? rf__pair_forward(g, e, &x->side[0], &x->side[1])
                                     : rf__encoder_forward(g, e, &x->side[0]);
        rf_tensor *loss = rf__mlm_loss(g, e, h, x->row, x->side[x->sides - 1].id, x->labels, 1, NULL, NULL);
        if (rf__backward(g, loss, &why)) fail_msg("%s", why.text);
    }
    const double bytes = (double)rf__graph_memory(g);
    rf__graph_free(g);
    rf__encoder_free(e);
    t_free_all();
    return bytes;
}

/* With as many labels as the estimate assumes. */
static double held(const rf_ctx *ctx, const rf_params *p, const rf_train_options *o, const shape *s)
{
    const int64_t N = s->B * s->T, labels = (int64_t)ceil(o->mlm_probability * (double)N);
    packed x = {.labels = labels, .sides = 1, .side = {side(s->B, s->T, s->V)}, .row = t_bytes((size_t)N * 4)};
    for (int64_t i = 0; i < N; i++) x.row[i] = (int32_t)(i * N / labels % N);
    return arena(ctx, p, o, &x);
}

/* Pairs of `from` and `to` tokens, of which each is predicted. */
static double held_of_pairs(const rf_ctx *ctx, const rf_params *p, const rf_train_options *o, int64_t B, int64_t from,
                            int64_t to)
{
    const int64_t V = p->config.vocab_size;
    packed x = {.labels = B * to, .sides = 2, .side = {side(B, from, V), side(B, to, V)},
                .row = t_bytes((size_t)(B * to) * 4)};
    for (int64_t i = 0; i < B * to; i++) x.row[i] = (int32_t)i;
    return arena(ctx, p, o, &x);
}

static void the_estimate_is_what_a_step_holds(void **state)
{
    (void)state;
    static const shape shapes[] = {
        {500, 128, 128, 4, 4, 512, 8, 64, 0, 0, 0.1},   {500, 128, 128, 4, 4, 512, 8, 64, 1, 0, 0.1},
        {500, 128, 128, 6, 4, 512, 8, 64, 0, 1, 0.1},   {500, 128, 128, 6, 4, 512, 8, 64, 1, 1, 0.1},
        {30000, 64, 96, 2, 4, 384, 16, 48, 0, 0, 0.1},  {30000, 64, 96, 2, 4, 384, 16, 48, 1, 1, 0.1},
        {1000, 256, 256, 3, 4, 1024, 2, 256, 0, 0, 0},  {1000, 256, 256, 12, 4, 1024, 2, 256, 1, 1, 0},
        {8000, 192, 192, 1, 3, 768, 4, 128, 0, 0, 0.1}, {8000, 192, 192, 1, 3, 768, 4, 128, 0, 1, 0.1},
    };
    for (size_t i = 0; i < RF_COUNT(shapes); i++) {
        const shape *s = &shapes[i];
        rf_ctx *ctx = t_ctx(2, NULL);
        rf_config c;
        rf_params p;
        rf_train_options o;
        rf_train_defaults(&o);
        rf_config_defaults(&c);
        c.vocab_size = s->V, c.embedding_size = s->E, c.hidden_size = s->C, c.num_hidden_layers = s->L;
        c.num_attention_heads = s->H, c.intermediate_size = s->F;
        c.hidden_dropout_prob = c.attention_probs_dropout_prob = s->dropped;
        o.bf16 = s->bf16, o.gradient_checkpointing = s->again, o.max_length = s->T, o.tokens_per_batch = s->B * s->T;
        assert_int_equal(rf__params_new(ctx, &c, &p, NULL), RF_OK);
        const double expected = held(ctx, &p, &o, s), got = rf__memory_batch(&p, &o, o.tokens_per_batch, 0);
        print_message("           %.2f MB held, %.2f MB estimated: %+.1f %%\n", expected * 1e-6, got * 1e-6,
                      100 * (got / expected - 1));
        t_near(got, expected, 0);
        rf__params_free(&p);
        rf_ctx_free(ctx);
    }
}

/* Causal linear attention stores states: of all layers, of some, of a recomputed layer.  The additional memory compared
 * with softmax attention is tested, up to its scratch, which the estimate adds to temporary memory of another
 * moment. */
static void states_of_linear_layers_are_counted(void **state)
{
    static const unsigned char mixed[6] = {RF_ATTENTION_LINEAR, 0, RF_ATTENTION_LINEAR, 0, 0, RF_ATTENTION_LINEAR};
    (void)state;
    for (int which = 0; which < 3; which++) {
        const shape s = {.V = 500, .B = 4, .T = 640};
        double more[2] = {0};
        for (int linear = 0; linear < 2; linear++) {
            rf_ctx *ctx = t_ctx(1, NULL);
            rf_config c;
            rf_params p;
            rf_train_options o;
            rf_train_defaults(&o);
            rf_config_defaults(&c);
            c.vocab_size = s.V, c.embedding_size = c.hidden_size = 128, c.num_hidden_layers = 6;
            c.num_attention_heads = 4, c.intermediate_size = 512, c.is_decoder = 1, c.max_position_embeddings = 1024;
            c.num_random_features = 512, c.feature_seed = 1;
            if (linear) c.attention_type = RF_ATTENTION_LINEAR;
            if (linear && which == 1) c.attention_type_per_layer = mixed, c.attention_types = sizeof mixed;
            o.max_length = s.T, o.tokens_per_batch = s.B * s.T, o.gradient_checkpointing = which == 2;
            assert_int_equal(rf__params_new(ctx, &c, &p, NULL), RF_OK);
            const double expected = held(ctx, &p, &o, &s), got = rf__memory_batch(&p, &o, o.tokens_per_batch, 0);
            more[0] += linear ? expected : -expected;
            more[1] += linear ? got : -got;
            rf__params_free(&p);
            rf_ctx_free(ctx);
        }
        print_message("           %.2f MB more held, %.2f MB estimated: %+.1f %%\n", more[0] * 1e-6, more[1] * 1e-6,
                      100 * (more[1] / more[0] - 1));
        const double scratch = 4e6;
        if (!(more[1] > 0.95 * more[0] && more[1] < 1.05 * more[0] + scratch))
            fail_msg("case %d: %.2f MB more held, %.2f MB estimated", which, more[0] * 1e-6, more[1] * 1e-6);
    }
}

/* Every family, with masked tokens; labels or layers dominate the memory. */
static void families_are_counted(void **state)
{
    (void)state;
    for (const rf_family_config *const *f = rf__config_families; *f; f++)
        for (int many = 0; many < 2 && !(*f)->pairs; many++) {
            const shape s = {.V = 500, .B = 8, .T = 64};
            rf_ctx *ctx = t_ctx(2, NULL);
            rf_config c;
            rf_params p;
            rf_train_options o;
            rf_train_defaults(&o);
            assert_int_equal(rf_config_defaults_of((*f)->name, &c, NULL), RF_OK);
            c.vocab_size = s.V, c.embedding_size = c.hidden_size = 128, c.num_hidden_layers = many ? 1 : 4;
            c.num_attention_heads = 4, c.intermediate_size = 512;
            if (c.num_key_value_heads) c.num_key_value_heads = 2;
            if (c.head_dim) c.head_dim = 48;
            if (!strcmp((*f)->name, "nomic_bert_v2")) c.moe_every_n_layers = 2, c.num_experts = 8, c.moe_top_k = 2;
            o.max_length = s.T, o.tokens_per_batch = s.B * s.T, o.mlm_probability = many ? 0.9 : 0.15;
            if (c.is_decoder) o.mlm_probability = 1;                    /* every token is a label */
            assert_int_equal(rf__params_new(ctx, &c, &p, NULL), RF_OK);
            const double expected = held(ctx, &p, &o, &s), got = rf__memory_batch(&p, &o, o.tokens_per_batch, 0);
            print_message("           %s: %.2f MB held, %.2f MB estimated: %+.1f %%\n", (*f)->name, expected * 1e-6,
                          got * 1e-6, 100 * (got / expected - 1));
            t_near(got, expected, 0);
            rf__params_free(&p);
            rf_ctx_free(ctx);
        }
}

/* Translation models with sides of different depth and lengths, norms after and before; the vocabulary dominates, or
 * layers do. */
static void two_sides_are_counted(void **state)
{
    (void)state;
    static const struct { int64_t V, C, L[2], F, B, T[2]; int bf16, again, before; double dropped; } shapes[] = {
        {500, 128, {4, 4}, 512, 16, {32, 32}, 0, 0, 0, 0.1}, {500, 128, {4, 4}, 512, 16, {32, 32}, 1, 0, 0, 0.1},
        {500, 128, {6, 2}, 512, 16, {48, 16}, 0, 0, 0, 0.1}, {500, 128, {2, 6}, 512, 16, {16, 48}, 0, 0, 0, 0.1},
        {500, 128, {4, 4}, 512, 16, {32, 32}, 0, 1, 0, 0.1}, {500, 128, {2, 6}, 512, 16, {16, 48}, 1, 1, 0, 0.1},
        {500, 128, {6, 2}, 512, 16, {48, 16}, 0, 1, 0, 0.1}, {30000, 64, {2, 2}, 256, 16, {24, 24}, 0, 0, 0, 0.1},
        {8000, 256, {3, 3}, 1024, 32, {15, 16}, 1, 0, 0, 0}, {500, 128, {4, 4}, 512, 16, {32, 32}, 0, 0, 1, 0.1},
        {500, 128, {4, 4}, 512, 16, {32, 32}, 0, 1, 1, 0},
    };
    for (size_t i = 0; i < RF_COUNT(shapes); i++) {
        rf_ctx *ctx = t_ctx(2, NULL);
        rf_config c;
        rf_params p;
        rf_train_options o;
        rf_translation_defaults(&o);
        assert_int_equal(rf_config_defaults_of("transformer", &c, NULL), RF_OK);
        const int64_t B = shapes[i].B, S = shapes[i].T[0], T = shapes[i].T[1];
        c.vocab_size = shapes[i].V, c.embedding_size = c.hidden_size = shapes[i].C;
        c.num_hidden_layers = shapes[i].L[0], c.decoder_layers = shapes[i].L[1];
        c.num_attention_heads = c.decoder_attention_heads = 4;
        c.intermediate_size = c.decoder_ffn_dim = shapes[i].F;
        c.normalize_before = shapes[i].before;
        c.hidden_dropout_prob = c.attention_probs_dropout_prob = shapes[i].dropped;
        o.bf16 = shapes[i].bf16, o.gradient_checkpointing = shapes[i].again;
        o.max_length = S > T ? S : T;
        o.tokens_per_batch = B * (S + T);
        assert_int_equal(rf__params_new(ctx, &c, &p, NULL), RF_OK);
        const double expected = held_of_pairs(ctx, &p, &o, B, S, T),
                     got = rf__memory_batch(&p, &o, o.tokens_per_batch, B * S);
        print_message("           %.2f MB held, %.2f MB estimated: %+.1f %%\n", expected * 1e-6, got * 1e-6,
                      100 * (got / expected - 1));
        t_near(got, expected, 0);
        rf__params_free(&p);
        rf_ctx_free(ctx);
    }
}

/* The model and the options of an empty config.json and command line. */
static void usual_run(const rf_ctx *ctx, rf_config *c, rf_params *p, rf_train_options *o)
{
    rf_train_defaults(o);
    rf_config_defaults(c);
    assert_int_equal(rf__params_new(ctx, c, p, NULL), RF_OK);
}

/* The suggested size would fit if memory is short, and twice that would not. */
static void the_batch_that_would_fit_fits(void **state)
{
    (void)state;
    rf_ctx *ctx = t_ctx(1, NULL);
    rf_config c;
    rf_params p;
    rf_train_options o;
    char note[256];
    usual_run(ctx, &c, &p, &o);
    const double slabs = rf__memory_slabs(&p, &o);
    o.bf16 = o.bf16_stochastic_rounding = 1;
    t_near(rf__memory_slabs(&p, &o) - slabs, 2 * (double)p.total, 1);
    o.bf16 = o.bf16_stochastic_rounding = 0;
    for (int64_t capacity = 512; capacity <= 4096; capacity *= 2) {
        rf_error why = {0};
        const double left = slabs + 1.01 * rf__memory_batch(&p, &o, capacity, 0);
        const rf_status status = rf__memory_check(&p, &o, NULL, left, note, sizeof note, &why);
        char part[64];
        snprintf(part, sizeof part, "tokens_per_batch %lld would fit", (long long)capacity);
        assert_int_equal(status, RF_ENOMEM);                        /* the default is 8192 tokens */
        t_failed(&why, RF_ENOMEM, part);
        assert_non_null(strstr(why.text, "GB available"));
        why = (rf_error){0};
        /* of examples of up to 300 tokens */
        rf__memory_check(&p, &o, &(rf__memory_job){.example = 300}, left, note, sizeof note, &why);
        snprintf(part, sizeof part, "per_device_train_batch_size %lld would fit", (long long)capacity / 300);
        t_failed(&why, RF_ENOMEM, part);
        why = (rf_error){0};
        rf__memory_check(&p, &o, &(rf__memory_job){.example = capacity + 1}, left, note, sizeof note, &why);
        t_failed(&why, RF_ENOMEM, "no batch fits");
    }
    rf__params_free(&p);
    rf_ctx_free(ctx);
}

/* If cosines of 4,096 examples with each other take the memory, fewer of them fit, with as many encoded at a time; one
 * example has none to be compared with. */
static void fewer_examples_fit_as_well_as_fewer_tokens(void **state)
{
    (void)state;
    rf_ctx *ctx = t_ctx(1, NULL);
    rf_config c;
    rf_params p;
    rf_train_options o;
    char note[256];
    rf_error why = {0};
    usual_run(ctx, &c, &p, &o);
    o.tokens_per_batch = 300;
    const double slabs = rf__memory_slabs(&p, &o) + rf__memory_buffers(&p, &o, 300);
    const double encoded = rf__memory_batch(&p, &o, 300, 0);
    rf__memory_job job = {.example = 300, .examples = 4096, .at_once = 1, .square = encoded / 512 / 512};
    rf__memory_check(&p, &o, &job, slabs + 2.01 * encoded, note, sizeof note, &why);
    t_failed(&why, RF_ENOMEM, "per_device_train_batch_size 512 with mini_batch_size 1 would fit");
    why = (rf_error){0};
    job.square = 0;
    job.each = encoded / 256;
    rf__memory_check(&p, &o, &job, slabs + 2.01 * encoded, note, sizeof note, &why);
    t_failed(&why, RF_ENOMEM, "per_device_train_batch_size 256 with mini_batch_size 1 would fit");
    why = (rf_error){0};
    o.tokens_per_batch = 600;
    job = (rf__memory_job){.example = 300, .least = 600, .examples = 2, .at_once = 2, .square = 1};
    rf__memory_check(&p, &o, &job, slabs + 1.01 * encoded, note, sizeof note, &why);
    t_failed(&why, RF_ENOMEM, "no batch fits");
    why = (rf_error){0};
    job.square = 0;
    job.least = 300;
    rf__memory_check(&p, &o, &job, slabs + 1.01 * encoded, note, sizeof note, &why);
    t_failed(&why, RF_ENOMEM, "per_device_train_batch_size 1 would fit");
    why = (rf_error){0};
    o.tokens_per_batch = 1600;                              /* one of 300 tokens, others of 20: two of them have 320  */
    job = (rf__memory_job){.example = 300, .least = 320, .examples = 66, .at_once = 66, .square = 1};
    const double of_two = rf__memory_batch(&p, &o, 320, 0) + rf__memory_buffers(&p, &o, 320);
    rf__memory_check(&p, &o, &job, rf__memory_slabs(&p, &o) + 1.01 * of_two, note, sizeof note, &why);
    t_failed(&why, RF_ENOMEM, "per_device_train_batch_size 2 would fit");
    rf__params_free(&p);
    rf_ctx_free(ctx);
}

/* Bytes of the arena of two steps of fine-tuning: tags of every token, or a label for each text. */
static double held_of_task(const rf_ctx *ctx, const rf_params *p, int64_t B, int64_t T, const rf__task *task)
{
    const int64_t N = B * T, labels = task == &rf__task_tag ? N : B;
    float *value = t_floats((int64_t)p->total), *grad = t_floats((int64_t)p->total);
    int32_t *id = t_bytes((size_t)N * 4), *start = t_bytes((size_t)(B + 1) * 4), *label = t_bytes((size_t)N * 4);
    rf_encoder *e = NULL;
    rf_graph *g = NULL;
    for (int64_t i = 0; i < N; i++)
        id[i] = (int32_t)(i * 7 % p->config.vocab_size), label[i] = (int32_t)(i % p->config.num_labels);
    for (int64_t b = 0; b <= B; b++) start[b] = (int32_t)(b * T);
    rf__params_init(p, value, 1);
    memset(grad, 0, p->total * sizeof *grad);
    assert_int_equal(rf__encoder_new(p, value, grad, &e, NULL), RF_OK);
    assert_int_equal(rf__graph_new(ctx, &g, NULL), RF_OK);
    const rf_batch view = {.N = N, .B = B, .id = id, .start = start};
    const rf__item_batch batch = {.N = N,
                                  .B = B,
                                  .n = (size_t)B,
                                  .K = p->config.num_labels,
                                  .labels = labels,
                                  .id = id,
                                  .start = start,
                                  .label = label};
    double bytes[2];
    for (int dry = 0; dry < 2; dry++) {                 /* twice two steps; those that only count hold the same */
        if (dry) {
            rf__graph_free(g);
            assert_int_equal(rf__graph_new(ctx, &g, NULL), RF_OK);
            rf__graph_dry(g);
        }
        for (uint64_t step = 0; step < 2; step++) {
            rf_error why = {0};
            double sum = 0;
            rf__graph_reset(g);
            rf__graph_record(g, 1, 1, step);
            rf_tensor *z = rf__task_forward(g, e, &view);
            rf_tensor *loss =
                rf__task_objective_loss(g, z, &batch, &(rf__task_objective){.task = task}, 1 / (double)labels, &sum);
            if (rf__backward(g, loss, &why)) fail_msg("%s", why.text);
            assert_true((sum == 0) == (dry != 0));
        }
        bytes[dry] = (double)rf__graph_memory(g);
    }
    rf__graph_free(g);
    rf__encoder_free(e);
    t_free_all();
    t_near(bytes[1], bytes[0], 0);
    return bytes[0];
}

static double evaluated(const rf_ctx *ctx, const rf_params *p, int64_t B, int64_t T)
{
    const int64_t N = B * T;
    float *value = t_floats((int64_t)p->total);
    int32_t *id = t_bytes((size_t)N * 4), *start = t_bytes((size_t)(B + 1) * 4);
    rf_encoder *e = NULL;
    rf_graph *g = NULL;
    for (int64_t i = 0; i < N; i++) id[i] = (int32_t)(i * 7 % p->config.vocab_size);
    for (int64_t b = 0; b <= B; b++) start[b] = (int32_t)(b * T);
    rf__params_init(p, value, 1);
    assert_int_equal(rf__encoder_new(p, value, NULL, &e, NULL), RF_OK);
    assert_int_equal(rf__graph_new(ctx, &g, NULL), RF_OK);
    const rf_batch view = {.N = N, .B = B, .id = id, .start = start};
    for (int lap = 0; lap < 2; lap++) {
        rf__graph_reset(g);
        rf__graph_record(g, 0, 0, 0);
        rf__task_forward(g, e, &view);
        assert_int_equal(rf__graph_error(g)->code, RF_OK);
    }
    const double bytes = (double)rf__graph_memory(g);
    rf__graph_free(g);
    rf__encoder_free(e);
    t_free_all();
    return bytes;
}

/* Heads of fine-tuning: no logits of the vocabulary, however large it is; logits of every token for tags. */
static void heads_are_counted(void **state)
{
    (void)state;
    static const struct { rf_head head; const rf__task *task; int64_t V, K, B, T; } cases[] = {
        {RF_HEAD_SEQUENCE, &rf__task_cls, 60000, 3, 8, 64}, {RF_HEAD_POOLED, &rf__task_cls, 500, 3, 2, 256},
        {RF_HEAD_TOKEN, &rf__task_tag, 60000, 9, 8, 64}, {RF_HEAD_TOKEN, &rf__task_tag, 500, 600, 8, 64},
    };
    for (size_t i = 0; i < RF_COUNT(cases); i++) {
        rf_ctx *ctx = t_ctx(2, NULL);
        rf_config c;
        rf_params p;
        rf_train_options o;
        rf_train_defaults(&o);
        rf_config_defaults(&c);
        c.vocab_size = cases[i].V, c.embedding_size = c.hidden_size = 128, c.num_hidden_layers = 3,
        c.num_attention_heads = 4;
        c.intermediate_size = 512, c.hidden_dropout_prob = c.attention_probs_dropout_prob = 0.1,
        c.num_labels = cases[i].K;
        rf_config_set_head(&c, cases[i].head);
        o.max_length = cases[i].T, o.tokens_per_batch = cases[i].B * cases[i].T;
        assert_int_equal(rf__params_new_head(ctx, &c, cases[i].head, &p, NULL), RF_OK);
        const double expected = held_of_task(ctx, &p, cases[i].B, cases[i].T, cases[i].task),
                     got = rf__memory_batch(&p, &o, o.tokens_per_batch, 0);
        print_message("           %.2f MB held, %.2f MB estimated: %+.1f %%\n", expected * 1e-6, got * 1e-6,
                      100 * (got / expected - 1));
        if (!(got > 0.99 * expected && got < 1.01 * expected))
            fail_msg("case %zu: %.2f MB held, %.2f MB estimated", i, expected * 1e-6, got * 1e-6);
        rf__params_free(&p);
        rf_ctx_free(ctx);
    }
}

/* An evaluation records nothing: one layer at a time, and a task adds a handful of rows. */
static void evaluations_are_counted(void **state)
{
    (void)state;
    static const struct { int64_t V, E, C, L, H, F, B, T; } cases[] = {
        {500, 128, 128, 4, 4, 512, 8, 64}, {500, 64, 192, 2, 3, 384, 4, 128}, {500, 256, 256, 1, 4, 256, 16, 32},
    };
    for (size_t i = 0; i < RF_COUNT(cases); i++) {
        rf_ctx *ctx = t_ctx(1, NULL);
        rf_config c;
        rf_params p;
        rf_train_options o;
        rf_train_defaults(&o);
        o.max_length = cases[i].T;
        rf_config_defaults(&c);
        c.vocab_size = cases[i].V, c.embedding_size = cases[i].E, c.hidden_size = cases[i].C,
        c.num_hidden_layers = cases[i].L;
        c.num_attention_heads = cases[i].H, c.intermediate_size = cases[i].F, c.num_labels = 3;
        rf_config_set_head(&c, RF_HEAD_SEQUENCE);
        assert_int_equal(rf__params_new_head(ctx, &c, RF_HEAD_SEQUENCE, &p, NULL), RF_OK);
        const double expected = evaluated(ctx, &p, cases[i].B, cases[i].T),
                     got = rf__memory_forward(&p, &o, cases[i].B * cases[i].T);
        print_message("           %.2f MB held, %.2f MB estimated: %+.1f %%\n", expected * 1e-6, got * 1e-6,
                      100 * (got / expected - 1));
        t_near(got, expected, 0);
        rf__params_free(&p);
        rf_ctx_free(ctx);
    }
}

/* "needs X GB" of the note, in bytes; a digit is 10 MB, so models are large enough. */
static double needed(const rf_params *p, const rf_train_options *o, const rf__memory_job *job)
{
    char note[256];
    double gb = 0;
    assert_int_equal(rf__memory_check(p, o, job, 1e15, note, sizeof note, NULL), RF_OK);
    assert_int_equal(sscanf(strstr(note, "needs "), "needs %lf GB", &gb), 1);
    return gb * 1e9;
}

/* An option changes the printed estimate by this many bytes. P parameters, W of them word embeddings. */
static void options_move_the_estimate(void **state)
{
    (void)state;
    rf_ctx *ctx = t_ctx(1, NULL);
    rf_config c;
    rf_params p;
    rf_train_options o;
    rf_train_defaults(&o);
    rf_config_defaults(&c);
    assert_int_equal(rf__params_new(ctx, &c, &p, NULL), RF_OK);
    const double P = (double)p.total, W = (double)c.vocab_size * (double)c.embedding_size, digit = 1e7,
                 plain = needed(&p, &o, NULL);
    assert_int_equal(p.p[0].count, (size_t)W);
    t_near(needed(&p, &o, &(rf__memory_job){.copies = 4 * W}) - plain, 4 * W, digit);     /* FGM: the words once more */
    rf_train_options with = o;
    with.ema_decay = 0.999;
    t_near(needed(&p, &with, NULL) - plain, 4 * P, digit);                                       /* their moving mean */
    with = o, with.average_last = 5;
    t_near(needed(&p, &with, NULL) - plain, 0, digit);                             /* read into weights and gradients */
    with = o, with.gradient_accumulation_steps = 4;
    t_near(needed(&p, &with, NULL) - plain, 4 * P * (rf__tree_slabs(0, 4) - 1.0), digit);
    with = o, with.tokens_per_batch *= 2;                                              /* R-Drop: every example twice */
    t_near(needed(&p, &with, NULL) - plain,
           rf__memory_batch(&p, &with, 2 * o.tokens_per_batch, 0) - rf__memory_batch(&p, &o, o.tokens_per_batch, 0),
           digit);
    with = o, with.gradient_checkpointing = 1;
    t_near(plain - needed(&p, &with, NULL),
           rf__memory_batch(&p, &o, o.tokens_per_batch, 0) - rf__memory_batch(&p, &with, o.tokens_per_batch, 0), digit);
    const double batch = rf__memory_batch(&p, &o, o.tokens_per_batch, 0), large = rf__memory_forward(&p, &o, 1 << 20);
    assert_true(large > 2 * batch);
    /* the larger of both */
    t_near(needed(&p, &o, &(rf__memory_job){.evaluated = 1 << 20}) - plain, large - batch, digit);
    t_near(needed(&p, &o, &(rf__memory_job){.evaluated = 64}) - plain, 0, digit);
    rf__params_free(&p);
    rf_ctx_free(ctx);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(heads_are_counted), cmocka_unit_test(evaluations_are_counted),
                                       cmocka_unit_test(options_move_the_estimate),
                                       cmocka_unit_test(the_estimate_is_what_a_step_holds),
        cmocka_unit_test(states_of_linear_layers_are_counted),
        cmocka_unit_test(families_are_counted),
        cmocka_unit_test(two_sides_are_counted),
                                       cmocka_unit_test(the_batch_that_would_fit_fits),
        cmocka_unit_test(fewer_examples_fit_as_well_as_fewer_tokens)};
    return cmocka_run_group_tests_name("train/memory", tests, NULL, NULL);
}
