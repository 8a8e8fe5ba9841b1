/* test_attention_relative.c — mirrors src/graph/ops/core/attention.c: tables of offsets and additional columns in
 * packed sequences.  Values and gradients are compared with the formula in double (gradient.h).
 * test_attention_relate.c tests the kernels. */
#include "gradient.h"

enum { HEADS = 2, B = 4 };
static const int32_t start[B + 1] = {0, 1, 8, 8, 19};        /* of one, seven, none and eleven tokens */

struct relative { int64_t D, E, clip; bool shared[3], given[4], causal; };

static int64_t rows_of(const struct relative *c) { return 2 * c->clip + 1; }

static rf_tensor *run(rf_graph *g, rf_tensor *const in[], const void *what)
{
    const struct relative *c = what;
    const rf_attention_spec spec = {.heads = HEADS,
                                    .B = B,
                                    .start = start,
                                    .causal = c->causal,
                                    .scale = 0.7,
                                    .clip = c->clip,
                                    .relative_query = in[1],
                                    .relative_key = in[2],
                                    .relative_value = in[3],
                                    .relative_bias = in[4],
                                    .more_query = in[5],
                                    .more_key = in[6]};
    return rf__attention(g, in[0], &spec);
}

static double inner(const double *x, const double *y, int64_t n)
{
    double s = 0;
    for (int64_t i = 0; i < n; i++) s += x[i] * y[i];
    return s;
}

/* Row r of a table for head h. */
static const double *row_at(const struct relative *c, const double *const in[], int table, int64_t h, int64_t r)
{
    const int64_t D = c->D, shared = c->shared[table - 1];
    return in[table] + r * (shared ? D : HEADS * D) + (shared ? 0 : h * D);
}

static void formula(double *y, const double *const in[], const void *what)
{
    const struct relative *c = what;
    const int64_t D = c->D, C = HEADS * D, E = c->E;
    double p[16];
    for (int b = 0; b < B; b++)
        for (int64_t h = 0; h < HEADS; h++)
            for (int64_t m = start[b]; m < start[b + 1]; m++) {
                const double *q = in[0] + m * 3 * C + h * D;
                double sum = 0;
                for (int64_t i = 0; i < D; i++) y[m * C + h * D + i] = 0;
                for (int pass = 0; pass < 2; pass++)
                    for (int64_t n = start[b]; n < (c->causal ? m + 1 : start[b + 1]); n++) {
                        const double *k = in[0] + n * 3 * C + C + h * D, *v = k + C;
                        const int64_t o = n - m, r = (o < -c->clip ? -c->clip : o > c->clip ? c->clip : o) + c->clip;
                        if (pass) {
                            for (int64_t i = 0; i < D; i++)
                                y[m * C + h * D + i] +=
                                    p[n - start[b]] / sum * (v[i] + (c->given[2] ? row_at(c, in, 3, h, r)[i] : 0));
                            continue;
                        }
                        double s = inner(q, k, D);
                        if (c->given[0]) s += inner(q, row_at(c, in, 1, h, r), D);
                        if (c->given[1]) s += inner(k, row_at(c, in, 2, h, r), D);
                        if (E) s += inner(in[5] + m * HEADS * E + h * E, in[6] + n * HEADS * E + h * E, E);
                        p[n - start[b]] = exp(0.7 * s + (c->given[3] ? in[4][r * HEADS + h] : 0));
                        sum += p[n - start[b]];
                    }
            }
}

static void values_and_gradients(void **state)
{
    (void)state;
    static const struct relative cases[] = {
        {4, 0, 10, {0}, {1, 0, 0, 0}, false},          {4, 0, 3, {1, 1, 1}, {1, 0, 1, 0}, false},
        {3, 0, 12, {0}, {0, 1, 0, 0}, false},          {3, 0, 2, {1, 1, 1}, {0, 1, 0, 1}, true},
        {5, 0, 0, {0}, {0, 0, 0, 1}, false},           {5, 2, 0, {0}, {0, 0, 0, 0}, false},
        {6, 3, 5, {0, 1, 0}, {1, 1, 1, 1}, false},     {6, 1, 15, {1, 0, 1}, {1, 1, 1, 1}, true},
    };
    for (size_t i = 0; i < RF_COUNT(cases); i++) {
        const struct relative *c = &cases[i];
        t_gradient_case t = {.op = RF_OP_attention,
                             .in = {{2, {start[B], 3 * HEADS * c->D}}},
                             .ys = start[B] * HEADS * c->D,
                             .depth = (double)(8 * c->D + 96),
                             .run = run,
                             .formula = formula,
                             .what = c};
        for (int j = 0; j < 3; j++)
            if (c->given[j]) t.in[1 + j] = (t_shape){2, {rows_of(c), (c->shared[j] ? 1 : HEADS) * c->D}};
        if (c->given[3]) t.in[4] = (t_shape){2, {rows_of(c), HEADS}};
        if (c->E) t.in[5] = t.in[6] = (t_shape){2, {start[B], HEADS * c->E}};
        t_gradient(&t);
    }
}

static void refusals(void **state)
{
    (void)state;
    static const char *const says[] = {"relative_query: expected ... 3",
                                       "clip: expected 0 or more, got -1",
                                       "relative_bias: expected ... 2", "both more_query and more_key"};
    static const int32_t one[] = {0, 2};
    rf_ctx *ctx = t_ctx(1, NULL);
    for (size_t i = 0; i < RF_COUNT(says); i++) {
        rf_graph *g = NULL;
        assert_int_equal(rf__graph_new(ctx, &g, NULL), RF_OK);
        rf_tensor *qkv = rf__input(g, t_normal(24), NULL, 2, (int64_t[]){2, 12});
        rf_tensor *table = rf__input(g, t_normal(20), NULL, 2, (int64_t[]){5, 4});
        rf_attention_spec spec = {.heads = 2, .B = 1, .start = one, .clip = 2, .relative_query = table};
        if (i == 0) spec.clip = 3;
        if (i == 1) spec.clip = -1;
        if (i == 2) spec.relative_query = NULL, spec.relative_bias = table;
        if (i == 3) spec.relative_query = NULL, spec.more_query = qkv;
        rf__attention(g, qkv, &spec);
        t_failed(rf__graph_error(g), i == 1 ? RF_ERANGE : i == 3 ? RF_EARG : RF_ESHAPE, says[i]);
        rf__graph_free(g);
    }
    rf_ctx_free(ctx);
    t_free_all();
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(values_and_gradients), cmocka_unit_test(refusals)};
    return cmocka_run_group_tests_name("graph/attention_relative", tests, NULL, NULL);
}
