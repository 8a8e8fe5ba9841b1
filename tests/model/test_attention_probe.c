/* test_attention_probe.c — mirrors src/model/attention_probe.c: probabilities are those of attention, and sums of
 * queries and keys give mean scores. */
#include "t.h"

#include "decode/session.h"
#include "model/attention_probe.h"
#include "model/positions.h"
#include "roformer/model.h"

enum { T = 37, H = 4, D = 8, C = H * D };

static rf_config small(const char *keys)
{
    char text[1024];
    rf_config c;
    rf_error why = {0};
    snprintf(text, sizeof text,
             "{\"vocab_size\":97,\"embedding_size\":24,\"hidden_size\":32,\"num_hidden_layers\":2,\"num_attention_"
             "heads\":4,\"intermediate_size\":64,\"initializer_range\":0.2,\"attention_probs_dropout_prob\":0,\"max_"
             "position_embeddings\":144,%s}",
             keys);
    if (rf_config_parse(t_shared(), text, strlen(text), "config.json", &c, &why)) fail_msg("%s: %s", keys, why.text);
    return c;
}

/* Runs a random model with these keys on T words and shows its layers; returns a copy of the hidden states. */
static float *watch(const char *keys, rf__observer *observer, void *user)
{
    const rf_config c = small(keys);
    rf_ctx *ctx = t_ctx(2, NULL);
    rf_model *model;
    rf_session *session;
    rf_error why = {0};
    int32_t id[T];
    const float *y;
    rf_rng random;
    rf_rng_init(&random, 5, 0);
    for (int i = 0; i < T; i++) id[i] = (int32_t)rf_rng_below(&random, 97);
    if (rf_model_random(ctx, &c, 7, &model, &why) || rf_session_open(model, &session, &why))
        fail_msg("%s: %s", keys, why.text);
    rf__session_observe(session, observer, user);
    const rf_batch b = {.N = T, .B = 1, .id = id, .start = (const int32_t[]){0, T}};
    if (rf_session_hidden(session, &b, &y, &why)) fail_msg("%s: %s", keys, why.text);
    float *copy = t_floats(T * C);
    memcpy(copy, y, T * C * sizeof *y);
    rf_session_close(session);
    rf_model_close(model);
    rf_ctx_free(ctx);
    return copy;
}

/* ---- P V is what attention gives ---- */

/* The term that attention adds to the value of a key at offset r. */
static double offset_value(const rf_attention_spec *s, int64_t r, int64_t h, int64_t i)
{
    if (!s->relative_value) return 0;
    const int64_t row = rf__min64(rf__max64(r, -s->clip), s->clip) + s->clip, width = s->relative_value->dim[1];
    return (double)s->relative_value->f32[row * width + (width == C ? h * D : 0) + i];
}

struct seen { const char *keys; int layers; bool causal; };

static void check_product(void *user, rf_graph *g, const rf__view *v)
{
    struct seen *s = user;
    float *p = t_floats(H * T * T), *value = t_floats(T * C);
    rf_error why = {0};
    rf__attention_probabilities(g, v, p);
    for (int64_t n = 0; n < T; n++) memcpy(value + n * C, v->rotated->f32 + n * 3 * C + 2 * C, C * sizeof *value);
    if (v->spec->rotate_value && rf_rope_rotate(g->ctx, v->spec->rope, value, value, v->spec->row, T, H, D, 1, &why))
        fail_msg("%s", why.text);
    rf_tensor *rotated = rf__constant(g, v->rotated->f32, 2, (int64_t[]){T, 3 * C});
    const rf_tensor *y = v->is->attend ? v->is->attend(g, v->at, rotated, v->spec) : rf__attention(g, rotated, v->spec);
    if (g->error.code) fail_msg("%s: %s", s->keys, g->error.text);
    for (int64_t h = 0; h < H; h++)
        for (int64_t m = 0; m < T; m++) {
            const float *row = p + (h * T + m) * T;
            double sum = 0;
            for (int64_t n = 0; n < T; n++) {
                assert_true(row[n] >= 0 && row[n] <= 1.000001f && !(s->causal && n > m && row[n] != 0));
                sum += (double)row[n];
            }
            /* T divisions by one rounded sum, each within a few units of the last place */
            t_near(sum, 1, 4e-6);
            for (int64_t i = 0; i < D; i++) {
                double expected = 0;
                for (int64_t n = 0; n < T; n++)
                    expected +=
                        (double)row[n] * ((double)value[n * C + h * D + i] + offset_value(v->spec, n - m, h, i));
                /* |v| < 8, and 2^-24 times a few for each of T products and for P itself */
                t_near((double)y->f32[m * C + h * D + i], expected, 8 * T * 3e-7);
            }
        }
    s->layers++;
}

static void probabilities_reproduce_attention(void **state)
{
    (void)state;
    static const char *const variant[] = {
        "\"rope_interleave\":false",
        "\"partial_rotary_factor\":0.5",
        "\"rotary_heads\":2",
        "\"rotary_value\":true",
        "\"use_logn_attn\":true",
        "\"rotary_value\":true,\"rotary_value_inverse\":true",
        "\"position_embedding_type\":\"rerope\",\"rerope_window\":5",
        "\"rope_scaling\":{\"rope_type\":\"dynamic\",\"factor\":4}",
    };
    for (const rf_position *const *p = rf__position_list; *p; p++)
        for (int causal = ((*p)->flags & RF_POSITION_CAUSAL) != 0; causal < 2; causal++) {
            char keys[128];
            snprintf(keys, sizeof keys, "\"position_embedding_type\":\"%s\",\"is_decoder\":%s", (*p)->name,
                     causal ? "true" : "false");
            struct seen s = {.keys = keys, .causal = causal};
            watch(keys, check_product, &s);
            assert_int_equal(s.layers, 2);
        }
    for (size_t i = 0; i < RF_COUNT(variant); i++) watch(variant[i], check_product, &(struct seen){.keys = variant[i]});
    t_free_all();
}

/* With tables of offsets and additional columns: out_m = sum_n P(m,n) (v_n + W[clamp(n - m)]). */
static void offsets_are_seen(void **state)
{
    (void)state;
    enum { CLIP = 5, E = 4 };
    rf_ctx *ctx = t_ctx(2, NULL);
    rf_graph *g;
    rf_error why = {0};
    if (rf__graph_new(ctx, &g, &why)) fail_msg("%s", why.text);
    rf_tensor *qkv = rf__constant(g, t_normal(T * 3 * C), 2, (int64_t[]){T, 3 * C});
    const int64_t rows = 2 * CLIP + 1;
    const rf_attention_spec spec = {
        .heads = H, .B = 1, .start = (const int32_t[]){0, T}, .clip = CLIP,
        .relative_query = rf__constant(g, t_normal(rows * C), 2, (int64_t[]){rows, C}),
        .relative_key = rf__constant(g, t_normal(rows * D), 2, (int64_t[]){rows, D}),
        .relative_value = rf__constant(g, t_normal(rows * D), 2, (int64_t[]){rows, D}),
        .relative_bias = rf__constant(g, t_normal(rows * H), 2, (int64_t[]){rows, H}),
        .more_query = rf__constant(g, t_normal(T * H * E), 2, (int64_t[]){T, H * E}),
        .more_key = rf__constant(g, t_normal(T * H * E), 2, (int64_t[]){T, H * E}),
    };
    const rf__view view = {.is = &rf__position_none, .qkv = qkv, .rotated = qkv, .spec = &spec};
    float *p = t_floats(H * T * T);
    const rf_tensor *y = rf__attention(g, qkv, &spec);
    rf__attention_probabilities(g, &view, p);
    if (rf__graph_error(g)->code) fail_msg("%s", rf__graph_error(g)->text);
    for (int64_t h = 0; h < H; h++)
        for (int64_t m = 0; m < T; m++)
            for (int64_t i = 0; i < D; i++) {
                double expected = 0, sum = 0;
                for (int64_t n = 0; n < T; n++) {
                    const int64_t r = rf__min64(rf__max64(n - m, -CLIP), CLIP) + CLIP;
                    sum += (double)p[(h * T + m) * T + n];
                    expected += (double)p[(h * T + m) * T + n] * ((double)qkv->f32[n * 3 * C + 2 * C + h * D + i] +
                                                                  (double)spec.relative_value->f32[r * D + i]);
                }
                t_near(sum, 1, 4e-6);
                t_near((double)y->f32[m * C + h * D + i], expected, 8 * T * 3e-7);  /* as above, |v + W| < 8 */
            }
    rf__graph_free(g);
    rf_ctx_free(ctx);
    t_free_all();
}

/* ---- against the printed formula ---- */

struct formula { int64_t r; bool halves; };

static void check_formula(void *user, rf_graph *g, const rf__view *v)
{
    const struct formula *f = user;
    float *p = t_floats(H * T * T);
    double expected[T];
    rf__attention_probabilities(g, v, p);
    for (int64_t h = 0; h < H; h++)
        for (int64_t m = 0; m < T; m++) {
            double sum = 0;
            for (int64_t n = 0; n < T; n++) {
                const float *q = v->qkv->f32 + m * 3 * C + h * D, *k = v->qkv->f32 + n * 3 * C + C + h * D;
                double score = 0;
                for (int64_t i = 0; i < f->r / 2; i++) {                /* Re(q conj(k) e^(i (m-n) theta)) of plane i */
                    const int64_t a = f->halves ? i : 2 * i, b = f->halves ? i + f->r / 2 : 2 * i + 1;
                    const double t = (double)(m - n) * pow(10000, -2.0 * (double)i / (double)f->r);
                    const double re = (double)q[a] * (double)k[a] + (double)q[b] * (double)k[b];
                    const double im = (double)q[b] * (double)k[a] - (double)q[a] * (double)k[b];
                    score += re * cos(t) - im * sin(t);
                }
                for (int64_t i = f->r; i < D; i++) score += (double)q[i] * (double)k[i];
                sum += expected[n] = exp(score / sqrt(D));
            }
            for (int64_t n = 0; n < T; n++)
                /* the error of a score below 30 in f32 is below 30 * 2^-22, and the relative error of a probability
                 * twice that */
                t_near((double)p[(h * T + m) * T + n], expected[n] / sum, 2e-5);
        }
}

static void probabilities_are_the_printed_ones(void **state)
{
    (void)state;
    watch("\"rope_theta\":10000", check_formula, &(struct formula){D, false});
    watch("\"rope_interleave\":false", check_formula, &(struct formula){D, true});
    watch("\"partial_rotary_factor\":0.5", check_formula, &(struct formula){D / 2, false});
    watch("\"position_embedding_type\":\"sinusoidal\"", check_formula, &(struct formula){0, false});
    t_free_all();
}

/* ---- sums ---- */

struct shift { double delta, scale; };                  /* scale: of scores; 0: 1 / sqrt(D) */

static void check_sums(void *user, rf_graph *g, const rf__view *v)
{
    const rf_config *c = v->at->config;
    const struct shift *by = user;
    const double delta = by->delta, scale = by->scale > 0 ? by->scale : 1 / sqrt(D);
    const double gain = rf__rope_gain(c) * rf__rope_gain(c);
    double workspace[D * D];
    rf_head_sums s;
    rf_error why = {0};
    rf_attention_spec spec = *v->spec;
    rf__view scaled = *v;
    spec.scale = by->scale;
    scaled.spec = &spec;
    if (rf__head_sums_new(g->ctx, c, &s, &why)) fail_msg("%s", why.text);
    rf__head_sums_add(&s, &scaled);
    assert_true(s.rotates);
    for (int64_t h = 0; h < H; h++) {
        double mean = 0, square = 0, got, variance, norm = 0;
        for (int64_t m = 0; m < T; m++)
            for (int64_t n = 0; n < T; n++) {
                const float *q = v->qkv->f32 + m * 3 * C + h * D, *k = v->qkv->f32 + n * 3 * C + C + h * D;
                double score = 0;
                for (int64_t i = 0; i < D / 2; i++) {
                    const int64_t a = c->rope_interleave ? 2 * i : i, b = c->rope_interleave ? 2 * i + 1 : i + D / 2;
                    const double theta = (h < s.rotated ? 1 : 0) * rf__rope_theta(c, 10000, D, 0, i);
                    const double r = h < s.rotated ? gain : 1, x = r * cos(delta * theta),
                                 y = r * sin(delta * theta);
                    score += (double)q[a] * (x * (double)k[a] - y * (double)k[b]) +
                             (double)q[b] * (y * (double)k[a] + x * (double)k[b]);
                }
                mean += scale * score / (T * T);
                square += scale * scale * score * score / (T * T);
            }
        rf_head_score(&s, h, delta, workspace, &got, &variance);
        t_near(got, mean, 1e-12 * (1 + fabs(mean)) * T);                             /* sums of doubles */
        t_near(variance, square - mean * mean, 1e-12 * (1 + square) * T);
        for (int64_t n = 0; n < T; n++) {
            const float *k = v->qkv->f32 + n * 3 * C + C + h * D;
            const double a = (double)k[c->rope_interleave ? 2 : 1], b = (double)k[c->rope_interleave ? 3 : 1 + D / 2];
            norm += sqrt(a * a + b * b);
        }
        t_near(s.key_plane[h * (D / 2) + 1], norm, 1e-12 * T * norm);
    }
    assert_int_equal(s.tokens, T);
    rf__head_sums_free(g->ctx, &s);
}

static void sums_give_mean_scores(void **state)
{
    (void)state;
    for (struct shift by = {.delta = -300}; by.delta <= 300; by.delta += 150) {
        by.scale = by.delta == 150 ? 0.1 : 0;
        watch("\"rope_theta\":10000", check_sums, &by);
        watch("\"rope_interleave\":false", check_sums, &by);
        watch("\"rotary_heads\":2", check_sums, &by);
        watch("\"rope_scaling\":{\"rope_type\":\"yarn\",\"factor\":4,\"original_max_position_embeddings\":36}",
              check_sums, &by);
    }
    t_free_all();
}

static void watching_changes_nothing(void **state)
{
    (void)state;
    struct seen s = {.keys = "rotary"};
    const float *alone = watch("\"rope_theta\":10000", NULL, NULL),
                *watched = watch("\"rope_theta\":10000", check_product, &s);
    assert_memory_equal(alone, watched, T * C * sizeof *alone);
    assert_int_equal(s.layers, 2);
    t_free_all();
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(probabilities_reproduce_attention), cmocka_unit_test(offsets_are_seen),
        cmocka_unit_test(probabilities_are_the_printed_ones),
        cmocka_unit_test(sums_give_mean_scores), cmocka_unit_test(watching_changes_nothing),
    };
    return cmocka_run_group_tests_name("model/look", tests, NULL, NULL);
}
