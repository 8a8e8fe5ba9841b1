/* test_grouped.c — mirrors src/graph/ops/core/head_norm.c and src/graph/ops/core/attention.c: heads of keys and values
 * that several heads of queries share, and norms of the heads. */
#include <math.h>

#include "gradient.h"

/* ---- norms of heads ---------------------------------------------------------------------------------------------- */

struct head_norm { int64_t N, H, G, D; rf_norm_kind kind; bool biased; };

static rf_tensor *norm_run(rf_graph *g, rf_tensor *const in[], const void *what)
{
    const struct head_norm *s = what;
    return rf__head_norm(g, in[0], in[1], s->biased ? in[3] : NULL, in[2], s->biased ? in[4] : NULL, s->H,
                         s->G == s->H ? 0 : s->G, 1e-5, s->kind);
}

static void norm_formula(double *y, const double *const in[], const void *what)
{
    const struct head_norm *s = what;
    const int64_t heads = s->H + 2 * s->G, D = s->D;
    for (int64_t i = 0; i < s->N * heads; i++) {
        const int part = i % heads < s->H ? 0 : 1;
        const double *x = in[0] + i * D, *gamma = in[1 + part], *beta = s->biased ? in[3 + part] : NULL;
        double mean = 0, square = 0;
        for (int64_t d = 0; d < D && s->kind == RF_NORM_LAYER; d++) mean += x[d] / (double)D;
        for (int64_t d = 0; d < D; d++) square += (x[d] - mean) * (x[d] - mean) / (double)D;
        for (int64_t d = 0; d < D; d++)
            y[i * D + d] = i % heads >= s->H + s->G ? x[d]
                                                    : (x[d] - mean) / sqrt(square + (double)1e-5f) *
                                                              (gamma[d] + (s->kind == RF_NORM_RMS_ONE)) +
                                                          (beta ? beta[d] : 0);
    }
}

/* depth: sums over D, over rows and heads for the scales, and two dozen operations around them. */
static void head_norm(void **state)
{
    (void)state;
    static const struct head_norm cases[] = {
        {3, 4, 2, 6, RF_NORM_RMS, false},
        {20, 2, 2, 16, RF_NORM_RMS_ONE, false},
        {5, 3, 1, 19, RF_NORM_RMS_ONE, false},
        {1, 1, 1, 5, RF_NORM_RMS, false},
        {18, 1, 1, 24, RF_NORM_LAYER, true},                            /* of the whole width                         */
        {3, 1, 1, 37, RF_NORM_LAYER, false},
        {5, 4, 2, 6, RF_NORM_LAYER, true},
        {4, 2, 1, 7, RF_NORM_RMS, true},
    };
    for (size_t i = 0; i < RF_COUNT(cases); i++) {
        const struct head_norm *s = &cases[i];
        const int64_t width = (s->H + 2 * s->G) * s->D;
        t_gradient(&(t_gradient_case){.op = RF_OP_head_norm,
                                      .ys = s->N * width,
                                      .depth = (double)(24 + s->D + s->N * s->H),
                                      .run = norm_run,
                                      .formula = norm_formula,
                                      .what = s,
                                      .in = {{2, {s->N, width}}, {1, {s->D}}, {1, {s->D}},
                                             {s->biased, {s->D}}, {s->biased, {s->D}}}});
    }
}

static void head_norm_refuses(void **state)
{
    (void)state;
    static const char *const expected[] = {"of 3 heads of queries and 1 of keys and of values of 4 columns, got 18",
                                           "of 1 heads of queries and 2 of keys", "a known one, got 7",
                                           "0 <= eps < 1, got 1"};
    rf_ctx *ctx = t_ctx(1, NULL);
    for (size_t i = 0; i < RF_COUNT(expected); i++) {
        rf_graph *g;
        rf_error why = {0};
        if (rf__graph_new(ctx, &g, &why)) fail_msg("%s", why.text);
        rf_tensor *x = rf__constant(g, t_floats(2 * 20), 2, (const int64_t[]){2, i ? 20 : 18});
        rf_tensor *gamma = rf__constant(g, t_floats(4), 1, (const int64_t[]){4});
        rf__head_norm(g, x, gamma, NULL, gamma, NULL, i == 1 ? 1 : 3, i == 1 ? 2 : 1, i == 3,
                      i == 2 ? (rf_norm_kind)7 : RF_NORM_RMS);
        t_failed(rf__graph_error(g), rf__graph_error(g)->code, expected[i]);
        rf__graph_free(g);
    }
    rf_ctx_free(ctx);
    t_free_all();
}

/* ---- shared keys ------------------------------------------------------------------------------------------------- */

enum { H = 4, D = 8, N = 11, M = 13 };
static const int32_t starts[] = {0, 6, 11}, key_starts[] = {0, 4, 13};

struct result { float *y, *d_queries, *d_keys; };

/* Columns of `from` [rows, before + 2 G D], with every head of keys and of values `group` times. */
static void repeat(float *to, const float *from, int64_t rows, int64_t before, int64_t G, int64_t group)
{
    for (int64_t n = 0; n < rows; n++, from += before + 2 * G * D) {
        memcpy(to, from, (size_t)before * sizeof *to);
        to += before;
        for (int64_t h = 0; h < 2 * G * group; h++, to += D)
            memcpy(to, from + before + h / group * D, D * sizeof *to);
    }
}

/* Attention with G heads of keys; `apart`: those of other tokens. */
static struct result attend(const rf_ctx *ctx, const float *qkv, const float *kv, int64_t G, bool apart, rf_type type)
{
    const int64_t width = apart ? H * D : (H + 2 * G) * D;
    struct result r = {t_floats(N * H * D), t_floats(N * width), t_floats(M * 2 * G * D)};
    rf_graph *g;
    rf_error why = {0};
    if (rf__graph_new(ctx, &g, &why)) fail_msg("%s", why.text);
    rf__graph_record(g, true, 1, 1);
    rf__graph_products(g, type);
    memset(r.d_queries, 0, (size_t)(N * width) * sizeof(float));
    memset(r.d_keys, 0, (size_t)(M * 2 * G * D) * sizeof(float));
    rf_tensor *x = rf__input(g, (float *)(uintptr_t)qkv, r.d_queries, 2, (const int64_t[]){N, width});
    rf_tensor *k = rf__input(g, (float *)(uintptr_t)kv, r.d_keys, 2, (const int64_t[]){M, 2 * G * D});
    const rf_attention_spec spec = {.heads = H,
                                    .kv_heads = G == H ? 0 : G,
                                    .B = 2,
                                    .start = starts,
                                    .drop = 0.25,
                                    .causal = !apart,
                                    .key_value = apart ? k : NULL,
                                    .key_start = apart ? key_starts : NULL};
    rf_tensor *y = rf__attention(g, x, &spec);
    if (rf__graph_error(g)->code) fail_msg("%s", rf__graph_error(g)->text);
    memcpy(r.y, y->f32, (size_t)(N * H * D) * sizeof(float));
    float *weight = t_floats(N * H * D);
    for (int64_t i = 0; i < N * H * D; i++) weight[i] = (float)sin(0.7 * (double)i);
    if (rf__backward(g, rf__inner(g, y, weight), &why)) fail_msg("%s", why.text);
    rf__graph_free(g);
    return r;
}

/* Shared keys are keys that are written once for every head of queries: the same bits, and adjoints that are the sums
 * of theirs, in the order of heads. */
static void sharing_is_repeating(void **state)
{
    (void)state;
    rf_ctx *ctx = t_ctx(2, NULL);
    for (int i = 0; i < 8; i++) {
        const int64_t G = i & 1 ? 1 : 2, group = H / G;
        const bool apart = i & 2;
        const rf_type type = i & 4 ? RF_BF16 : RF_F32;
        const int64_t before = apart ? 0 : H * D, rows = apart ? M : N, width = before + 2 * G * D;
        float *some = t_floats(rows * width), *all = t_floats(rows * (before + 2 * H * D));
        float *queries = t_floats(N * H * D);
        for (int64_t j = 0; j < rows * width; j++) some[j] = (float)sin(1.3 * (double)j + i);
        for (int64_t j = 0; j < N * H * D; j++) queries[j] = (float)cos(0.9 * (double)j);
        repeat(all, some, rows, before, G, group);
        const struct result one = attend(ctx, apart ? queries : some, apart ? some : all, G, apart, type);
        const struct result many = attend(ctx, apart ? queries : all, all, H, apart, type);
        assert_memory_equal(one.y, many.y, (size_t)(N * H * D) * sizeof(float));
        const float *d = apart ? one.d_keys : one.d_queries, *each = apart ? many.d_keys : many.d_queries;
        for (int64_t n = 0; n < rows; n++, d += width, each += before + 2 * H * D) {
            assert_memory_equal(d, each, (size_t)before * sizeof(float));
            for (int64_t c = 0; c < 2 * G * D; c++) {
                const float *term = each + before + c / D * group * D + c % D;
                float sum = term[0];
                for (int64_t h = 1; h < group; h++) sum += term[h * D];
                assert_true(fabsf(sum - d[before + c]) <= 0);
            }
        }
        t_free_all();
    }
    rf_ctx_free(ctx);
}

static void heads_that_do_not_divide(void **state)
{
    (void)state;
    rf_ctx *ctx = t_ctx(1, NULL);
    rf_graph *g;
    rf_error why = {0};
    if (rf__graph_new(ctx, &g, &why)) fail_msg("%s", why.text);
    rf_tensor *x = rf__constant(g, t_floats(N * 10 * D), 2, (const int64_t[]){N, 10 * D});
    rf__attention(g, x, &(rf_attention_spec){.heads = 4, .kv_heads = 3, .B = 2, .start = starts});
    t_failed(rf__graph_error(g), RF_ESHAPE, "heads: expected 1 or ... 3 heads of keys, got 4");
    rf__graph_free(g);
    rf_ctx_free(ctx);
    t_free_all();
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(head_norm),
        cmocka_unit_test(head_norm_refuses),
        cmocka_unit_test(sharing_is_repeating),
        cmocka_unit_test(heads_that_do_not_divide),
    };
    return cmocka_run_group_tests_name("graph/grouped", tests, NULL, NULL);
}
