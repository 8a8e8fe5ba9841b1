/* test_roformer_v2.c — RoFormerV2 (src/model/families/roformer_v2.c) compared with its equations in double. */
#include "t.h"

#include "model/encoder.h"
#include "model/family.h"

enum { V = 11, C = 8, H = 2, D = C / H, F = 12, L = 2, N = 6 };

static const float *weight(const rf_params *p, const float *slab, const char *name)
{
    for (size_t i = 0; i < p->n; i++)
        if (!strcmp(p->p[i].name, name)) return slab + p->p[i].offset;
    fail_msg("no tensor %s", name);
    return NULL;
}

static const float *of_layer(const rf_params *p, const float *slab, int l, const char *name)
{
    char full[128];
    snprintf(full, sizeof full, "roformer.encoder.layer.%d.%s.weight", l, name);
    return weight(p, slab, full);
}

/* y [N,m] = x [N,k] w^T */
static void product(double *y, const double *x, const float *w, int m, int k)
{
    for (int n = 0; n < N; n++)
        for (int i = 0; i < m; i++) {
            y[n * m + i] = 0;
            for (int j = 0; j < k; j++) y[n * m + i] += x[n * k + j] * (double)w[i * k + j];
        }
}

/* h = norm(h + x),  norm(x) = x / sqrt(mean x^2 + eps) */
static void add_and_norm(double *h, const double *x, double eps)
{
    for (int n = 0; n < N; n++) {
        double square = 0;
        for (int i = 0; i < C; i++) {
            h[n * C + i] += x ? x[n * C + i] : 0;
            square += h[n * C + i] * h[n * C + i];
        }
        for (int i = 0; i < C; i++) h[n * C + i] /= sqrt(square / C + eps);
    }
}

/* Plane i of every head rotated by m 10000^(-2i/D). */
static void rotate(double *x)
{
    for (int m = 0; m < N; m++)
        for (int at = 0; at < C; at += 2) {
            const double angle = m * pow(10000, -(double)(at % D) / D), a = x[m * C + at], b = x[m * C + at + 1];
            x[m * C + at] = a * cos(angle) - b * sin(angle);
            x[m * C + at + 1] = a * sin(angle) + b * cos(angle);
        }
}

/* a = softmax(q k^T / sqrt D) v of each head, over all tokens. */
static void attend(double *a, const double *q, const double *k, const double *v)
{
    for (int m = 0; m < N; m++)
        for (int h = 0; h < C; h += D) {
            double p[N], sum = 0;
            for (int n = 0; n < N; n++) {
                double score = 0;
                for (int i = h; i < h + D; i++) score += q[m * C + i] * k[n * C + i];
                sum += p[n] = exp(score / sqrt(D));
            }
            for (int i = h; i < h + D; i++) {
                a[m * C + i] = 0;
                for (int n = 0; n < N; n++) a[m * C + i] += p[n] / sum * v[n * C + i];
            }
        }
}

static void logits(double *z, const rf_params *p, const float *slab, const int32_t id[], const int32_t type[])
{
    const double eps = p->config.layer_norm_eps;
    const float *words = weight(p, slab, "roformer.embeddings.word_embeddings.weight");
    const float *types = weight(p, slab, "roformer.embeddings.token_type_embeddings.weight");
    double h[N * C], q[N * C], k[N * C], v[N * C], a[N * C], f[N * F];
    for (int i = 0; i < N * C; i++)
        h[i] = (double)words[id[i / C] * C + i % C] + (double)types[type[i / C] * C + i % C];
    add_and_norm(h, NULL, eps);
    for (int l = 0; l < L; l++) {
        product(q, h, of_layer(p, slab, l, "attention.self.query"), C, C);
        product(k, h, of_layer(p, slab, l, "attention.self.key"), C, C);
        product(v, h, of_layer(p, slab, l, "attention.self.value"), C, C);
        rotate(q);
        rotate(k);
        attend(a, q, k, v);
        product(q, a, of_layer(p, slab, l, "attention.output.dense"), C, C);
        add_and_norm(h, q, eps);
        product(f, h, of_layer(p, slab, l, "intermediate.dense"), F, C);
        for (int i = 0; i < N * F; i++) f[i] = fmax(f[i], 0);
        product(q, f, of_layer(p, slab, l, "output.dense"), C, F);
        add_and_norm(h, q, eps);
    }
    product(z, h, words, V, C);
}

/* f32 against double: 2 layers of 6 products each of at most 12 terms of size 1, below 1e-5. */
static void is_as_printed(void **state)
{
    (void)state;
    static const int32_t id[N] = {2, 9, 4, 4, 10, 3}, type[N] = {0, 0, 0, 1, 1, 1}, start[] = {0, N};
    static const int32_t row[N] = {0, 1, 2, 3, 4, 5};
    const rf_batch batch = {.N = N, .B = 1, .id = id, .type = type, .start = start};
    rf_ctx *ctx = t_ctx(1, NULL);
    rf_config c;
    rf_params p;
    rf_encoder *e;
    rf_graph *g;
    rf_error why = {0};
    double expected[N * V];
    assert_int_equal(rf_config_defaults_of("roformer_v2", &c, &why), RF_OK);
    c.vocab_size = V, c.hidden_size = c.embedding_size = C, c.num_attention_heads = H, c.intermediate_size = F;
    c.num_hidden_layers = L, c.hidden_act = RF_ACT_RELU, c.layer_norm_eps = 1e-7;
    if (rf__params_new(ctx, &c, &p, &why)) fail_msg("%s", why.text);
    assert_int_equal(p.n, 2 + 6 * L);                                   /* no bias, no scale, a tied head */
    float *slab = t_floats((int64_t)p.total);
    rf__params_init(&p, slab, 8);
    for (size_t i = 0; i < p.total; i++) slab[i] *= 25;
    if (rf__encoder_new(&p, slab, NULL, &e, &why) || rf__graph_new(ctx, &g, &why)) fail_msg("%s", why.text);
    const rf_tensor *z = rf__mlm_logits(g, e, rf__encoder_forward(g, e, &batch), row, N);
    assert_int_equal(rf__graph_error(g)->code, RF_OK);
    logits(expected, &p, slab, id, type);
    for (int i = 0; i < N * V; i++)
        if (!(fabs((double)z->f32[i] - expected[i]) < 1e-5))
            fail_msg("logit %d is %g, not %g", i, (double)z->f32[i], expected[i]);
    rf__graph_free(g);
    rf__encoder_free(e);
    rf__params_free(&p);
    rf_ctx_free(ctx);
    t_free_all();
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(is_as_printed)};
    return cmocka_run_group_tests_name("model/roformer_v2", tests, NULL, NULL);
}
