/* test_seq2seq.c — mirrors src/model/layers/seq2seq.c, and the parts of src/model/encoder.c and bert_layer.c that
 * concern two sides: compared with the equations in double, and properties of every encoding. */
#include "families.h"

#include "model/encoder.h"
#include "model/family.h"
#include "model/model.h"
#include "model/positions.h"
#include "roformer/model.h"

/* ---- the equations in double ---- */

enum { V = 11, C = 8, F = 12, PAD = 10, MOST = 8 };

typedef struct shape {
    const char *encoder, *decoder;      /* encodings                                                                  */
    int64_t layers[2], heads[2];
    int before, rotates, shared, tied, scaled;
    rf_act act;
} shape;

static const shape shapes[] = {
    {"rotary", "", {2, 2}, {2, 2}, 0, 0, 1, 1, 1, RF_ACT_RELU},
    {"rotary", "", {2, 1}, {2, 4}, 1, 0, 1, 1, 1, RF_ACT_SILU},
    {"rotary", "", {1, 2}, {4, 2}, 0, 1, 0, 1, 0, RF_ACT_GELU},
    {"rotary", "", {1, 2}, {2, 2}, 1, 1, 1, 0, 0, RF_ACT_RELU},
    {"none", "alibi", {1, 2}, {2, 4}, 0, 0, 0, 0, 1, RF_ACT_RELU},
    {"alibi", "sinusoidal_halves", {2, 1}, {2, 2}, 1, 0, 1, 1, 1, RF_ACT_RELU},
    {"sinusoidal", "none", {2, 2}, {4, 2}, 0, 0, 1, 1, 1, RF_ACT_RELU},
    {"sinusoidal_halves", "rotary", {1, 1}, {2, 2}, 0, 0, 1, 1, 1, RF_ACT_RELU},
};

static rf_config config_of(const shape *s)
{
    rf_config c;
    rf_error why = {0};
    if (rf_config_defaults_of("transformer", &c, &why)) fail_msg("%s", why.text);
    c.vocab_size = V, c.hidden_size = c.embedding_size = C;
    c.num_hidden_layers = s->layers[0], c.decoder_layers = s->layers[1];
    c.num_attention_heads = s->heads[0], c.decoder_attention_heads = s->heads[1];
    c.intermediate_size = c.decoder_ffn_dim = F;
    c.pad_token_id = c.decoder_start_token_id = PAD;
    c.max_position_embeddings = 16;
    c.hidden_dropout_prob = c.attention_probs_dropout_prob = 0;
    c.normalize_before = s->before, c.rotary_cross_attention = s->rotates, c.scale_embedding = s->scaled;
    c.share_encoder_decoder_embeddings = s->shared, c.tie_word_embeddings = s->tied, c.hidden_act = s->act;
    c.layer_norm_eps = 1e-3;
    snprintf(c.position_embedding_type, sizeof c.position_embedding_type, "%s", s->encoder);
    snprintf(c.decoder_position_embedding_type, sizeof c.decoder_position_embedding_type, "%s", s->decoder);
    return c;
}

typedef struct model { const shape *s; rf_params p; float *slab; } model;

static const float *weight(const model *m, const char *name)
{
    for (size_t i = 0; i < m->p.n; i++)
        if (!strcmp(m->p.p[i].name, name)) return m->slab + m->p.p[i].offset;
    fail_msg("no tensor %s", name);
    return NULL;
}

static const float *of_layer(const model *m, int side, int l, const char *name)
{
    char full[128];
    snprintf(full, sizeof full, "model.%s.layers.%d.%s", side ? "decoder" : "encoder", l, name);
    return weight(m, full);
}

/* y [T,n] = x [T,k] w^T + b of the tensors `name`.weight and .bias. */
static void product(const model *m, int side, int l, const char *name, double *y, const double *x, int T, int n, int k)
{
    char matrix[64], vector[64];
    snprintf(matrix, sizeof matrix, "%s.weight", name);
    snprintf(vector, sizeof vector, "%s.bias", name);
    const float *w = of_layer(m, side, l, matrix), *b = of_layer(m, side, l, vector);
    for (int t = 0; t < T; t++)
        for (int i = 0; i < n; i++) {
            y[t * n + i] = (double)b[i];
            for (int j = 0; j < k; j++) y[t * n + i] += x[t * k + j] * (double)w[i * k + j];
        }
}

static void norm(double *y, const double *x, const float *gamma, const float *beta, int T)
{
    for (int t = 0; t < T; t++) {
        double mean = 0, square = 0;
        for (int i = 0; i < C; i++) mean += x[t * C + i] / C;
        for (int i = 0; i < C; i++) square += (x[t * C + i] - mean) * (x[t * C + i] - mean) / C;
        for (int i = 0; i < C; i++)
            y[t * C + i] = (double)gamma[i] * (x[t * C + i] - mean) / sqrt(square + 1e-3) + (double)beta[i];
    }
}

static const char *encoding(const model *m, int side)
{
    return side && *m->s->decoder ? m->s->decoder : m->s->encoder;
}

/* Pairs (2i, 2i+1) of every head rotated by t 10000^(-2i/D). */
static void rotate(double *x, int T, int D)
{
    for (int t = 0; t < T; t++)
        for (int at = 0; at < C; at += 2) {
            const double angle = t * pow(10000, -(double)(at % D) / D), a = x[t * C + at], b = x[t * C + at + 1];
            x[t * C + at] = a * cos(angle) - b * sin(angle);
            x[t * C + at + 1] = a * sin(angle) + b * cos(angle);
        }
}

/* T x S scores of each head; k and v of S tokens. */
static void attend(const model *m, int side, const char *how, bool causal, double *a, const double *q, const double *k,
                   const double *v, int T, int S)
{
    const int H = (int)m->s->heads[side], D = C / H;
    for (int t = 0; t < T; t++)
        for (int h = 0; h < H; h++) {
            double p[MOST], sum = 0;
            for (int s = 0; s < S; s++) {
                double score = 0;
                for (int i = h * D; i < (h + 1) * D; i++) score += q[t * C + i] * k[s * C + i] / sqrt(D);
                if (!strcmp(how, "alibi")) score -= exp2(-8.0 * (h + 1) / H) * abs(s - t);
                sum += p[s] = causal && s > t ? 0 : exp(score);
            }
            for (int i = h * D; i < (h + 1) * D; i++) {
                a[t * C + i] = 0;
                for (int s = 0; s < S; s++) a[t * C + i] += p[s] / sum * v[s * C + i];
            }
        }
}

/* Attention and its projection; `to` NULL: to x itself. */
static void attention(const model *m, int side, int l, const char *name, double *y, const double *x, int T,
                      const double *to, int S)
{
    static const char *const parts[] = {"q_proj", "k_proj", "v_proj"};
    double all[3][MOST * C], a[MOST * C];
    char full[64];
    for (int i = 0; i < 3; i++) {
        snprintf(full, sizeof full, "%s.%s", name, parts[i]);
        product(m, side, l, full, all[i], i && to ? to : x, i && to ? S : T, C, C);
    }
    const int D = C / (int)m->s->heads[side];
    if (!strcmp(encoding(m, side), "rotary") && (!to || m->s->rotates)) {
        rotate(all[0], T, D);
        rotate(all[1], to ? S : T, D);
    }
    attend(m, side, to ? "" : encoding(m, side), side && !to, a, all[0], all[1], all[2], T, to ? S : T);
    snprintf(full, sizeof full, "%s.out_proj", name);
    product(m, side, l, full, y, a, T, C, C);
}

static double act(rf_act how, double x)
{
    return how == RF_ACT_RELU ? fmax(x, 0) : how == RF_ACT_SILU ? x / (1 + exp(-x)) : x / 2 * (1 + erf(x / sqrt(2)));
}

enum { SELF, CROSS, FEED };
static const char *const norms[] = {"self_attn_layer_norm", "encoder_attn_layer_norm", "final_layer_norm"};

/* A sub-layer with its norm: h = norm(h + f(h)), or h + f(norm(h)). */
static void step(const model *m, int side, int l, int what, double *h, int T, const double *source, int S)
{
    double x[MOST * C], y[MOST * C], f[MOST * F];
    char name[64];
    snprintf(name, sizeof name, "%s.weight", norms[what]);
    const float *gamma = of_layer(m, side, l, name);
    snprintf(name, sizeof name, "%s.bias", norms[what]);
    const float *beta = of_layer(m, side, l, name);
    memcpy(x, h, (size_t)(T * C) * sizeof *x);
    if (m->s->before) norm(x, h, gamma, beta, T);
    if (what == FEED) {
        product(m, side, l, "fc1", f, x, T, F, C);
        for (int i = 0; i < T * F; i++) f[i] = act(m->s->act, f[i]);
        product(m, side, l, "fc2", y, f, T, C, F);
    } else {
        attention(m, side, l, what == SELF ? "self_attn" : "encoder_attn", y, x, T, what == SELF ? NULL : source, S);
    }
    for (int i = 0; i < T * C; i++) y[i] += h[i];
    if (m->s->before) memcpy(h, y, (size_t)(T * C) * sizeof *h);
    else norm(h, y, gamma, beta, T);
}

static const float *words_of(const model *m, int side)
{
    if (m->s->shared) return weight(m, "model.shared.weight");
    return weight(m, side ? "model.decoder.embed_tokens.weight" : "model.encoder.embed_tokens.weight");
}

static void stack(const model *m, int side, double *h, const int32_t id[], int T, const double *source, int S)
{
    const float *words = words_of(m, side);
    const char *how = encoding(m, side);
    for (int i = 0; i < T * C; i++) {
        const int t = i / C, j = i % C;
        const bool halves = !strcmp(how, "sinusoidal_halves"), cosine = halves ? j >= C / 2 : j % 2;
        const double angle = t * pow(10000, -2.0 * (halves ? j % (C / 2) : j / 2) / C);
        h[i] = (double)words[id[t] * C + j] * (m->s->scaled ? sqrt(C) : 1);
        if (strstr(how, "sinusoidal")) h[i] += cosine ? cos(angle) : sin(angle);
    }
    for (int l = 0; l < (int)m->s->layers[side]; l++) {
        step(m, side, l, SELF, h, T, NULL, 0);
        if (side) step(m, side, l, CROSS, h, T, source, S);
        step(m, side, l, FEED, h, T, NULL, 0);
    }
    if (!m->s->before) return;
    const char *side_name = side ? "decoder" : "encoder";
    char gamma[64], beta[64];
    double y[MOST * C];
    snprintf(gamma, sizeof gamma, "model.%s.layer_norm.weight", side_name);
    snprintf(beta, sizeof beta, "model.%s.layer_norm.bias", side_name);
    norm(y, h, weight(m, gamma), weight(m, beta), T);
    memcpy(h, y, (size_t)(T * C) * sizeof *h);
}

/* Logits [T,V] of one pair. */
static void formula(const model *m, double *z, const int32_t source[], int S, const int32_t target[], int T)
{
    double s[MOST * C], h[MOST * C];
    stack(m, 0, s, source, S, NULL, 0);
    stack(m, 1, h, target, T, s, S);
    const float *out = m->s->tied ? words_of(m, 1) : weight(m, "lm_head.weight");
    for (int t = 0; t < T; t++)
        for (int v = 0; v < V; v++) {
            z[t * V + v] = 0;
            for (int i = 0; i < C; i++) z[t * V + v] += h[t * C + i] * (double)out[v * C + i];
        }
}

/* ---- the model ---- */

static const int32_t source_id[] = {3, 1, 4, 1, 5, 9, 2, 6, 5, 3, 5}, source_start[] = {0, 6, 7, 11};
static const int32_t target_id[] = {PAD, 7, 1, PAD, 8, 2, 8, 1, 8, PAD, 2}, target_start[] = {0, 3, 9, 11};
static const int32_t rows[] = {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10};
static const int32_t label[] = {7, 1, 0, 8, 2, 8, 1, 8, 0, 2, 0};
enum { PAIRS = 3, N = 11, M = 11 };
static const rf_batch SOURCE = {.N = M, .B = PAIRS, .id = source_id, .start = source_start},
                      TARGET = {.N = N, .B = PAIRS, .id = target_id, .start = target_start};

static void make(const rf_ctx *ctx, const shape *s, model *m)
{
    const rf_config c = config_of(s);
    rf_error why = {0};
    m->s = s;
    if (rf__params_new(ctx, &c, &m->p, &why)) fail_msg("%s, %s: %s", s->encoder, s->decoder, why.text);
    m->slab = t_floats((int64_t)m->p.total);
    rf__params_init(&m->p, m->slab, 5);
    for (size_t i = 0; i < m->p.n; i++)
        for (size_t j = m->p.p[i].offset; j < m->p.p[i].offset + m->p.p[i].count; j++)
            m->slab[j] += 0.1f * (float)sin(1.7 * (double)j);
}

static rf_tensor *scores(rf_graph *g, rf_encoder *e, const rf_batch *source, const rf_batch *target)
{
    rf_tensor *z = rf__mlm_logits(g, e, rf__pair_forward(g, e, source, target), rows, target->N);
    if (rf__graph_error(g)->code) fail_msg("%s", rf__graph_error(g)->text);
    return z;
}

/* f32 against double: at most 4 layers of 10 products each of terms of size 1. */
static void it_is_as_printed(void **state)
{
    (void)state;
    for (size_t i = 0; i < RF_COUNT(shapes); i++)
        for (int ref = 0; ref < 2; ref++) {
            rf_ctx *ctx = t_ctx(2, ref ? "ref" : NULL);
            model m;
            rf_encoder *e;
            rf_graph *g;
            rf_error why = {0};
            make(ctx, &shapes[i], &m);
            if (rf__encoder_new(&m.p, m.slab, NULL, &e, &why) || rf__graph_new(ctx, &g, &why)) fail_msg("%s", why.text);
            const rf_tensor *z = scores(g, e, &SOURCE, &TARGET);
            for (int b = 0; b < PAIRS; b++) {
                double expected[MOST * V];
                const int32_t from = source_start[b], to = target_start[b];
                formula(&m, expected, source_id + from, source_start[b + 1] - from, target_id + to,
                        target_start[b + 1] - to);
                t_close_to(z->f32 + to * V, expected, (target_start[b + 1] - to) * V, 2e-5, 0);
            }
            rf__graph_free(g);
            rf__encoder_free(e);
            rf__params_free(&m.p);
            rf_ctx_free(ctx);
            t_free_all();
        }
}

/* ---- what holds for every encoding, on either side ---- */

typedef void each(const rf_ctx *ctx, const shape *s);

static void for_all(each *what)
{
    for (const rf_position *const *p = rf__position_list; *p; p++)
        for (int side = 0; side < 2; side++) {
            const shape s = {side ? "none" : (*p)->name, side ? (*p)->name : "none", {1, 2}, {2, 2}, side, 0, 1, 1, 1,
                             RF_ACT_GELU};
            if (!side && (*p)->flags & RF_POSITION_CAUSAL) continue;
            rf_ctx *ctx = t_ctx(2, NULL);
            what(ctx, &s);
            rf_ctx_free(ctx);
            t_free_all();
        }
}

/* A pair alone has the bits that it has among others, and so do the first words of a target. */
static void alone_and_cut(const rf_ctx *ctx, const shape *s)
{
    model m;
    rf_encoder *e;
    rf_graph *g;
    rf_error why = {0};
    make(ctx, s, &m);
    if (rf__encoder_new(&m.p, m.slab, NULL, &e, &why) || rf__graph_new(ctx, &g, &why)) fail_msg("%s", why.text);
    float all[N * V];
    memcpy(all, scores(g, e, &SOURCE, &TARGET)->f32, sizeof all);
    for (int b = 0; b < PAIRS; b++) {
        const int32_t S = source_start[b + 1] - source_start[b], T = target_start[b + 1] - target_start[b];
        /* if positions are fractions of the whole text, a target that ends earlier is a different one */
        const bool whole = m.p.stack[1].position->flags & RF_POSITION_LENGTH;
        for (int32_t cut = whole ? T : 1; cut <= T; cut++) {
            const int32_t from[] = {0, S}, to[] = {0, cut};
            const rf_batch source = {.N = S, .B = 1, .id = source_id + source_start[b], .start = from},
                           target = {.N = cut, .B = 1, .id = target_id + target_start[b], .start = to};
            rf__graph_reset(g);
            const rf_tensor *z = scores(g, e, &source, &target);
            /* an encoding that depends on a text's length, or kernels with blocks that do, may round differently */
            t_close(z->f32, all + target_start[b] * V, cut * V, 1e-5, 0);
        }
    }
    rf__graph_free(g);
    rf__encoder_free(e);
    rf__params_free(&m.p);
}

static void packed_is_alone_and_nothing_looks_ahead(void **state)
{
    (void)state;
    for_all(alone_and_cut);
}

/* ---- gradients ---- */

static double loss_of(const rf_params *p, float *slab, float *grad, bool again)
{
    rf_encoder *e;
    rf_graph *g;
    rf_error why = {0};
    double sum = 0;
    if (rf__encoder_new(p, slab, grad, &e, &why) || rf__graph_new(p->ctx, &g, &why)) fail_msg("%s", why.text);
    rf__encoder_recompute(e, again);
    rf__graph_record(g, 1, 1, 1);                   /* also with grad NULL: an encoding may shift texts in training */
    rf_tensor *loss = rf__mlm_loss(g, e, rf__pair_forward(g, e, &SOURCE, &TARGET), rows, label, N, 1, &sum, NULL);
    if (rf__graph_error(g)->code) fail_msg("%s", rf__graph_error(g)->text);
    if (grad && rf__backward(g, loss, &why)) fail_msg("%s", why.text);
    rf__graph_free(g);
    rf__encoder_free(e);
    return sum;
}

/* As in test_family.c: every tensor changes the loss by its gradient, along which a step's curvature causes up to 5 %,
 * and rounding of a loss of size 30 1e-4. */
static const double STEP = 0.002;
static void has_gradients(const rf_ctx *ctx, const shape *s)
{
    model m;
    make(ctx, s, &m);
    const rf_params *p = &m.p;
    float *grad = t_floats((int64_t)p->total), *same = t_floats((int64_t)p->total), *at = t_floats((int64_t)p->total);
    memset(grad, 0, p->total * sizeof *grad);
    memset(same, 0, p->total * sizeof *same);
    const double once = loss_of(p, m.slab, grad, false), twice = loss_of(p, m.slab, same, true);
    assert_memory_equal(&once, &twice, sizeof once);
    t_close(same, grad, (int64_t)p->total, 1e-4, 1e-4);             /* shared tensors are summed in another order */
    for (size_t i = 0; i < p->n; i++) {
        const rf_param *q = &p->p[i];
        double square = 0, two[2];
        for (size_t j = 0; j < q->count; j++) square += (double)grad[q->offset + j] * (double)grad[q->offset + j];
        if (strstr(q->name, "k_proj.bias") || q->position) continue;       /* no softmax sees it; others' tests */
        if (!(square > 0)) fail_msg("%s, %s: %s has no gradient", s->encoder, s->decoder, q->name);
        for (int k = 0; k < 2; k++) {
            memcpy(at, m.slab, p->total * sizeof *at);
            for (size_t j = 0; j < q->count; j++)
                at[q->offset + j] += (float)((k ? STEP : -STEP) / sqrt(square) * (double)grad[q->offset + j]);
            two[k] = loss_of(p, at, NULL, false);
        }
        const double expected = 2 * STEP * sqrt(square), got = two[1] - two[0];
        if (!(fabs(got - expected) < 0.05 * expected + 1e-4))
            fail_msg("%s, %s: %s moves the loss by %g, not by %g", s->encoder, s->decoder, q->name, got, expected);
    }
    rf__params_free(&m.p);
}

static void every_tensor_has_its_gradient(void **state)
{
    (void)state;
    for (size_t i = 0; i < RF_COUNT(shapes); i++) {
        rf_ctx *ctx = t_ctx(2, NULL);
        shape smooth = shapes[i];                                                  /* a relu has steps in its slope */
        smooth.act = smooth.act == RF_ACT_RELU ? RF_ACT_GELU : smooth.act;
        has_gradients(ctx, &smooth);
        rf_ctx_free(ctx);
        t_free_all();
    }
    for_all(has_gradients);
}

/* ---- what is refused ---- */

static void refused(const rf_ctx *ctx, const char *json, rf_status code, const char *part)
{
    rf_config c;
    rf_error why = {0};
    rf_params p;
    rf_status status = rf_config_parse(ctx, json, strlen(json), "config.json", &c, &why);
    if (!status) status = rf__params_new(ctx, &c, &p, &why);
    assert_int_equal(status, code);
    t_failed(&why, code, part);
}

static void what_is_refused(void **state)
{
    (void)state;
    rf_ctx *ctx = t_ctx(1, NULL);
#define MARIAN "{\"model_type\":\"marian\","
    refused(ctx, MARIAN "\"is_encoder_decoder\":false}", RF_EDATA, "is_encoder_decoder: expected true, got false");
    refused(ctx, MARIAN "\"is_decoder\":true}", RF_EUNSUPPORTED, "is_decoder: expected false, got true");
    refused(ctx, MARIAN "\"normalize_before\":true}", RF_EUNSUPPORTED,
            "normalize_before: expected ... got true");
    refused(ctx, MARIAN "\"decoder_vocab_size\":7}", RF_EUNSUPPORTED,
            "decoder_vocab_size: expected vocab_size, 58101, got 7");
    refused(ctx, MARIAN "\"decoder_attention_heads\":3}", RF_EDATA,
            "decoder_attention_heads: expected ... hidden_size, 1024, got 3");
    refused(ctx, MARIAN "\"decoder_start_token_id\":58101}", RF_EDATA,
            "decoder_start_token_id: expected ... vocab_size, 58101, got 58101");
    refused(ctx, MARIAN "\"decoder_layers\":0}", RF_EDATA, "decoder_layers: expected [1, 1024], got 0");
    refused(ctx, MARIAN "\"position_embedding_type\":\"rotary\"}", RF_EUNSUPPORTED,
            "expected \"sinusoidal_halves\" for a Marian, got \"rotary\"");
    refused(ctx, MARIAN "\"activation_function\":\"laplace\"}", RF_EUNSUPPORTED,
            "activation_function: expected one of \"gelu\"");
    refused(ctx, "{\"model_type\":\"transformer\",\"attention_type\":\"linear\"}", RF_EUNSUPPORTED,
            "attention_type: expected \"softmax\"");
    refused(ctx, "{\"model_type\":\"transformer\",\"position_embedding_type\":\"xpos\"}", RF_EUNSUPPORTED,
            "expected causal attention");
    refused(ctx, "{\"model_type\":\"roformer\",\"is_encoder_decoder\":true}", RF_EUNSUPPORTED, "is_encoder_decoder");
    rf_ctx_free(ctx);
}

/* Calls for single texts on a model of pairs, and vice versa. */
static void the_other_kind_of_question(void **state)
{
    (void)state;
    rf_ctx *ctx = t_ctx(1, NULL);
    rf_config c = config_of(&shapes[0]);
    rf_model *m;
    rf_session *s;
    rf_error why = {0};
    const float *z;
    int64_t n;
    rf_sequence none;
    if (rf_model_random(ctx, &c, 1, &m, &why) || rf_session_open(m, &s, &why)) fail_msg("%s", why.text);
    assert_int_equal(rf_model_task(m), RF_HEAD_SEQ2SEQ);
    assert_int_equal(rf_session_mlm_logits(s, &SOURCE, rows, 1, &z, &why), RF_EUNSUPPORTED);
    assert_int_equal(rf_session_logits(s, &SOURCE, &z, &n, &why), RF_EUNSUPPORTED);
    assert_int_equal(rf_sequence_new(s, NULL, &none, &why), RF_EUNSUPPORTED);
    assert_int_equal(rf_session_hidden(s, &SOURCE, &z, &why), RF_OK);             /* of the encoder */
    assert_int_equal(rf_session_pair_logits(s, &SOURCE, &TARGET, rows, N, &z, &why), RF_OK);
    const int32_t start[] = {0, N};
    const rf_batch one = {.N = N, .B = 1, .id = target_id, .start = start};
    why = (rf_error){0};
    assert_int_equal(rf_session_pair_logits(s, &SOURCE, &one, rows, N, &z, &why), RF_EARG);
    t_failed(&why, RF_EARG, "expected as many targets as the 3 sources, got 1");
    rf_session_close(s);
    rf_model_close(m);
    rf_config_defaults(&c);
    c.vocab_size = V, c.hidden_size = c.embedding_size = C, c.num_attention_heads = 2, c.num_hidden_layers = 1;
    why = (rf_error){0};
    if (rf_model_random(ctx, &c, 1, &m, &why) || rf_session_open(m, &s, &why)) fail_msg("%s", why.text);
    assert_int_equal(rf_session_pair_logits(s, &SOURCE, &TARGET, rows, N, &z, &why), RF_EUNSUPPORTED);
    t_failed(&why, RF_EUNSUPPORTED, "without a decoder");
    rf_session_close(s);
    rf_model_close(m);
    /* an encoding whose rotation depends on more than the position cannot rotate attention to the source */
    shape far = shapes[0];
    far.rotates = 1, far.decoder = "alibi";
    rf_graph *g;
    rf_encoder *e;
    model made;
    make(ctx, &far, &made);
    if (rf__encoder_new(&made.p, made.slab, NULL, &e, &why) || rf__graph_new(ctx, &g, &why)) fail_msg("%s", why.text);
    rf__pair_forward(g, e, &SOURCE, &TARGET);
    t_failed(rf__graph_error(g), RF_EUNSUPPORTED, "rotary_cross_attention");
    rf__graph_free(g);
    rf__encoder_free(e);
    rf__params_free(&made.p);
    rf_ctx_free(ctx);
    t_free_all();
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(it_is_as_printed),
        cmocka_unit_test(packed_is_alone_and_nothing_looks_ahead),
        cmocka_unit_test(every_tensor_has_its_gradient),
        cmocka_unit_test(what_is_refused),
        cmocka_unit_test(the_other_kind_of_question),
    };
    return cmocka_run_group_tests_name("model/seq2seq", tests, NULL, NULL);
}
