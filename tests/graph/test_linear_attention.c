/* test_linear_attention.c — mirrors src/graph/ops/core/linear_attention.c: packed sequences and heads.  Values and
 * gradients are compared with the formula with all its weights (gradient.h).  test_linear.c tests the kernel. */
#include "../kernel/linear_problem.h"
#include "gradient.h"
#include "kernel/attention/linear/feature_maps.h"

enum { HEADS = 2, B = 4, D = 6, F = 10, N = 19 };
static const int32_t start[B + 1] = {0, 1, 8, 8, N};         /* of one, seven, none and eleven tokens */
static const int32_t row[N] = {0, 0, 1, 2, 3, 4, 5, 6, 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10};

struct linear {
    const char *map;
    bool causal;
    enum linear_order order;
    float random[F * D];
    rf_rope *rope;
    double decay[F / 2];
};

static rf_linear_attention_spec spec_of(const struct linear *c)
{
    return (rf_linear_attention_spec){.heads = HEADS,
                                      .B = B,
                                      .start = start,
                                      .rope = c->rope,
                                      .row = c->rope ? row : NULL,
                                      .rotate_features = linear_after(c->order),
                                      .decay = c->order == LINEAR_XPOS ? c->decay : NULL,
                                      .causal = c->causal,
                                      .feature_map = c->map,
                                      .features = F,
                                      .random = c->random};
}

static rf_tensor *run(rf_graph *g, rf_tensor *const in[], const void *what)
{
    const rf_linear_attention_spec spec = spec_of(what);
    return rf__linear_attention(g, in[0], &spec);
}

static void formula(double *y, const double *const in[], const void *what)
{
    const struct linear *c = what;
    double w[F * D], q[N * D], k[N * D], v[N * D], out[N * D];
    for (int i = 0; i < F * D; i++) w[i] = (double)c->random[i];
    for (int b = 0; b < B; b++)
        for (int h = 0; h < HEADS; h++) {
            const int T = start[b + 1] - start[b];
            const linear_printed p = {.map = c->map, .causal = c->causal, .order = c->order, .T = T, .D = D,
                                      .f = rfk__feature_map_named(c->map)->projects ? F : D, .w = w, .base = 10000};
            for (int t = 0; t < T; t++)
                for (int j = 0; j < D; j++) {
                    const double *at = in[0] + (start[b] + t) * 3 * HEADS * D + h * D + j;
                    q[t * D + j] = at[0], k[t * D + j] = at[HEADS * D], v[t * D + j] = at[2 * HEADS * D];
                }
            if (T) linear_formula(&p, out, NULL, q, k, v, NULL, NULL);
            for (int t = 0; t < T; t++)
                for (int j = 0; j < D; j++) {
                    double *to = y + (start[b] + t) * HEADS * D + h * D + j;
                    *to = isnan(out[t * D + j]) ? 0 : out[t * D + j];
                }
        }
}

/* depth: D products in an exponent, F in a weight, eleven tokens, the quotient. */
static void values_and_gradients(void **state)
{
    (void)state;
    rf_ctx *ctx = t_ctx(1, NULL);
    for (const rfk__feature_map *const *m = rfk__feature_map_list; *m; m++)
        for (int i = 0; i < 7; i++) {
            struct linear c = {.map = (*m)->name, .causal = i == 6 || i % 2, .order = (enum linear_order)(i / 2)};
            const int64_t f = (*m)->projects ? F : D;
            double work[D * D];
            for (int64_t j = 0; j < f / 2; j++) c.decay[j] = linear_zeta(j, f);
            rfk__random_features(4, 1, F, D, c.random, work);
            if (c.order != LINEAR_NONE)
                c.rope = t_angles(ctx, linear_after(c.order) ? f : D, 16);
            t_gradient(&(t_gradient_case){.op = RF_OP_linear_attention,
                                          .in = {{2, {N, 3 * HEADS * D}}},
                                          .ys = N * HEADS * D,
                                          .depth = 400,
                                          .run = run,
                                          .formula = formula,
                                          .what = &c});
            rf_rope_free(c.rope);
        }
    rf_ctx_free(ctx);
}

static void refusals(void **state)
{
    (void)state;
    static const char *const says[] = {"map, got \"gelu\"", "\"favor\": expected random features",
                                       "more features than can be", "rope and row",
                                       "features, got 6", "past, next: expected both", "got 16",
                                       "decay: expected causal attention with rotated features"};
    static const rf_status codes[] = {RF_EARG, RF_EARG, RF_ERANGE, RF_EARG, RF_ESHAPE, RF_EARG, RF_ERANGE, RF_EARG};
    static const int32_t far[N] = {16};
    rf_ctx *ctx = t_ctx(1, NULL);
    rf_rope *rope = t_angles(ctx, D, 16);
    struct linear c = {.map = "favor", .order = LINEAR_EQ19, .rope = rope};
    for (size_t i = 0; i < RF_COUNT(says); i++) {
        rf_graph *g = t_graph(ctx);
        rf_tensor *qkv = rf__input(g, t_normal(N * 3 * HEADS * D), NULL, 2, (int64_t[]){N, 3 * HEADS * D});
        rf_linear_attention_spec spec = spec_of(&c);
        if (i == 0) spec.feature_map = "gelu";
        if (i == 1) spec.features = 0;
        if (i == 2) spec.features = (int64_t)1 << 40;
        if (i == 3) spec.row = NULL;
        if (i == 5) spec.past = (const float *const[]){NULL}, spec.rope = NULL, spec.row = NULL;
        if (i == 6) spec.rotate_features = 0, spec.row = far;
        if (i == 7) spec.decay = c.decay;
        rf__linear_attention(g, qkv, &spec);
        t_failed(rf__graph_error(g), codes[i], says[i]);
        rf__graph_free(g);
    }
    rf_rope_free(rope);
    rf_ctx_free(ctx);
    t_free_all();
}

/* Queries without visible keys are counted, one for each head. */
static void denominators_are_counted(void **state)
{
    (void)state;
    rf_ctx *ctx = t_ctx(3, NULL);
    rf_graph *g = t_graph(ctx);
    float *x = t_floats(N * 3 * HEADS * D);
    for (int i = 0; i < N * 3 * HEADS * D; i++) x[i] = -1;
    int64_t underflows = 5;
    struct linear c = {.map = "squared_relu"};
    rf_linear_attention_spec spec = spec_of(&c);
    spec.underflows = &underflows;
    const rf_tensor *y =
        rf__linear_attention(g, rf__input(g, x, NULL, 2, (int64_t[]){N, 3 * HEADS * D}), &spec);
    assert_int_equal(rf__graph_error(g)->code, RF_OK);
    assert_int_equal(underflows, 5 + N * HEADS);
    for (int i = 0; i < N * HEADS * D; i++) assert_true(y->f32[i] == 0);
    rf__graph_free(g);
    rf_ctx_free(ctx);
    t_free_all();
}

/* 256 features of heads of 64, by hand: 4 f D = 65,536; 129 x 320 = 41,280; 2 x 65 x 320 = 41,600. */
static void operations_are_counted(void **state)
{
    (void)state;
    assert_true(rf_linear_attention_flops("favor", 256, 64, 0, 0) == 131072);
    assert_true(rf_linear_attention_flops("favor", 256, 64, 1, 0) == 131072 + 41280);
    assert_true(rf_linear_attention_flops("favor", 256, 64, 0, 1) == 196608);
    assert_true(rf_linear_attention_flops("favor", 256, 64, 1, 1) == 196608 + 41600);
    assert_true(rf_linear_attention_flops("elu", 0, 64, 0, 0) == 4 * 64 * 64);
    assert_true(rf_linear_attention_flops("no such", 8, 64, 0, 0) == 0);
    assert_true(rf_linear_attention_flops(NULL, 8, 64, 0, 0) == 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(values_and_gradients),
        cmocka_unit_test(refusals),
        cmocka_unit_test(denominators_are_counted),
        cmocka_unit_test(operations_are_counted),
    };
    return cmocka_run_group_tests_name("graph/linear_attention", tests, NULL, NULL);
}
