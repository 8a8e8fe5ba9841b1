/* test_gau.c — mirrors src/graph/ops/core/gau.c: the operations of a gated attention unit.  Values and gradients are
 * compared with the formulas in double (gradient.h), for U that is a multiple of S and for U that is not. */
#include "gradient.h"

enum { N = 5, S = 4, MOST = 10 };

static const float scale[N] = {0.5f, 1.25f, -2, 1, 0.75f};

static rf_tensor *pair_run(rf_graph *g, rf_tensor *const in[], const void *what)
{
    (void)what;
    return rf__gau_pair(g, in[0], in[1], in[2], scale);
}

static void pair_formula(double *y, const double *const in[], const void *what)
{
    const int U = *(const int *)what;
    for (int n = 0; n < N; n++)
        for (int s = 0; s < S; s++) {
            const double z = in[0][n * (2 * U + S) + 2 * U + s];
            y[n * 2 * S + s] = (double)scale[n] * z * in[1][s];
            y[n * 2 * S + S + s] = z * in[2][s];
        }
}

static rf_tensor *heads_run(rf_graph *g, rf_tensor *const in[], const void *what)
{
    (void)what;
    return rf__gau_heads(g, in[0], in[1]);
}

static void heads_formula(double *y, const double *const in[], const void *what)
{
    const int U = *(const int *)what, W = (U + S - 1) / S * S;
    for (int n = 0; n < N; n++)
        for (int i = 0; i < W; i++) {
            y[n * 3 * W + i] = in[0][n * 2 * S + i % S];
            y[n * 3 * W + W + i] = in[0][n * 2 * S + S + i % S];
            y[n * 3 * W + 2 * W + i] = i < U ? in[1][n * (2 * U + S) + U + i] : 0;
        }
}

static rf_tensor *gate_run(rf_graph *g, rf_tensor *const in[], const void *what)
{
    (void)what;
    return rf__gau_gate(g, in[0], in[1], S);
}

static void gate_formula(double *y, const double *const in[], const void *what)
{
    const int U = *(const int *)what, W = (U + S - 1) / S * S;
    for (int n = 0; n < N; n++)
        for (int i = 0; i < U; i++) y[n * U + i] = in[0][n * (2 * U + S) + i] * in[1][n * W + i];
}

static void each(void **state)
{
    (void)state;
    for (int U = 8; U <= MOST; U += 2) {                                 /* two heads, and two and a half */
        const int64_t X = 2 * U + S, W = (U + S - 1) / S * S;
        t_gradient(&(t_gradient_case){.op = RF_OP_gau_pair,
                                      .in = {{2, {N, X}}, {1, {S}}, {1, {S}}},
                                      .ys = N * 2 * S,
                                      .depth = N + 4,
                                      .run = pair_run,
                                      .formula = pair_formula,
                                      .what = &U});
        t_gradient(&(t_gradient_case){.op = RF_OP_gau_heads,
                                      .in = {{2, {N, 2 * S}}, {2, {N, X}}},
                                      .ys = N * 3 * W,
                                      .depth = 4,
                                      .run = heads_run,
                                      .formula = heads_formula,
                                      .what = &U});
        t_gradient(&(t_gradient_case){.op = RF_OP_gau_gate,
                                      .in = {{2, {N, X}}, {2, {N, W}}},
                                      .ys = N * U,
                                      .depth = 2,
                                      .run = gate_run,
                                      .formula = gate_formula,
                                      .what = &U});
    }
}

static void refusals(void **state)
{
    (void)state;
    rf_ctx *ctx = t_ctx(1, NULL);
    for (int i = 0; i < 4; i++) {
        static const char *const says[] = {"gau_pair: expected x [N,2U+S], a [S] and b [S], got [5,20], [3] and [4]",
                                           "gau_pair: scale: expected a number for each token, got NULL",
                                           "gau_heads: expected [q | k] [N,2S] and x [N,2U+S], got [5,6] and [5,20]",
                                           "gau_gate: expected x [N,2U+4] and w [N,U rounded up"};
        rf_graph *g = NULL;
        assert_int_equal(rf__graph_new(ctx, &g, NULL), RF_OK);
        rf_tensor *x = rf__input(g, t_normal(N * 20), NULL, 2, (int64_t[]){N, 20}),
                  *three = rf__input(g, t_normal(3), NULL, 1, (int64_t[]){3}),
                  *four = rf__input(g, t_normal(4), NULL, 1, (int64_t[]){4}),
                  *six = rf__input(g, t_normal(N * 6), NULL, 2, (int64_t[]){N, 6});
        if (i == 0) rf__gau_pair(g, x, three, four, scale);
        if (i == 1) rf__gau_pair(g, x, four, four, NULL);
        if (i == 2) rf__gau_heads(g, six, x);
        if (i == 3) rf__gau_gate(g, x, six, 4);
        t_failed(rf__graph_error(g), i == 1 ? RF_EARG : RF_ESHAPE, says[i]);
        rf__graph_free(g);
    }
    rf_ctx_free(ctx);
    t_free_all();
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(each), cmocka_unit_test(refusals)};
    return cmocka_run_group_tests_name("graph/gau", tests, NULL, NULL);
}
