/* test_relative_ops.c — mirrors src/graph/ops: the operations for relative positions.  Values and gradients are
 * compared with the formulas in double (gradient.h). */
#include "gradient.h"

enum { N = 5, H = 3, D = 4, C = H * D, TYPES = 3, R = 6 };

static rf_tensor *dots_run(rf_graph *g, rf_tensor *const in[], const void *what)
{
    (void)what;
    return rf__dots(g, in[0], in[1], H, 0.5);
}

static void dots_formula(double *y, const double *const in[], const void *what)
{
    (void)what;
    for (int i = 0; i < N * H; i++) {
        y[i] = 0;
        for (int d = 0; d < D; d++) y[i] += 0.5 * in[0][i * D + d] * in[1][i % H * D + d];
    }
}

static void dots(void **state)
{
    (void)state;
    t_gradient(&(t_gradient_case){.op = RF_OP_dots,
                                  .in = {{2, {N, C}}, {1, {C}}},
                                  .ys = N * H,
                                  .depth = D + 8,
                                  .run = dots_run,
                                  .formula = dots_formula});
}

static const int32_t types[N] = {0, 2, 1, 1, 0};

static rf_tensor *segment_run(rf_graph *g, rf_tensor *const in[], const void *what)
{
    (void)what;
    return rf__segment(g, in[0], in[1], in[2], H, types, TYPES);
}

static void segment_formula(double *y, const double *const in[], const void *what)
{
    const int64_t W = *(const int64_t *)what;
    for (int n = 0; n < N; n++)
        for (int h = 0; h < H; h++)
            for (int t = 0; t < TYPES; t++) {
                double s = 0;
                for (int d = 0; d < D; d++)
                    s += (in[0][n * W + h * D + d] + in[1][h * D + d]) * in[2][(t == types[n] ? 0 : C) + h * D + d];
                y[(n * H + h) * TYPES + t] = s;
            }
}

static void segment(void **state)
{
    (void)state;
    for (int64_t W = C; W <= 3 * C; W += C)
        t_gradient(&(t_gradient_case){.op = RF_OP_segment,
                                      .in = {{2, {N, W}}, {1, {C}}, {2, {2, C}}},
                                      .ys = N * H * TYPES,
                                      .depth = 4 * D + 8 * N,
                                      .run = segment_run,
                                      .formula = segment_formula,
                                      .what = &W});
}

static rf_tensor *beside_run(rf_graph *g, rf_tensor *const in[], const void *what)
{
    (void)what;
    return rf__beside(g, in[0], in[1], in[2]);
}

static void beside_formula(double *y, const double *const in[], const void *what)
{
    (void)what;
    for (int i = 0; i < N * H; i++)
        for (int d = 0; d < D + 2; d++) y[i * (D + 2) + d] = d < D ? in[0][i * D + d] : in[d - D + 1][i];
}

static void with_the_bias(void **state)
{
    (void)state;
    t_gradient(&(t_gradient_case){.op = RF_OP_beside,
                                  .in = {{2, {N, C}}, {2, {N, H}}, {2, {N, H}}},
                                  .ys = N * H * (D + 2),
                                  .depth = 1,
                                  .run = beside_run,
                                  .formula = beside_formula});
}

static rf_tensor *around_run(rf_graph *g, rf_tensor *const in[], const void *what)
{
    const int one = *(const int *)what;             /* [a, 0, 0] + [b, 0, 0]                                          */
    return one ? rf__add(g, rf__apart(g, in[0], NULL), rf__apart(g, in[1], NULL)) : rf__apart(g, in[0], in[1]);
}

static void around_formula(double *y, const double *const in[], const void *what)
{
    const int one = *(const int *)what;
    for (int i = 0; i < 3 * C; i++)
        y[i] = i < C ? in[0][i] + (one ? in[1][i] : 0) : i < 2 * C || one ? 0 : in[1][i - 2 * C];
}

static void around_zeros(void **state)
{
    (void)state;
    for (int one = 0; one < 2; one++)
        t_gradient(&(t_gradient_case){.op = RF_OP_apart,
                                      .in = {{1, {C}}, {1, {C}}},
                                      .ys = 3 * C,
                                      .depth = 1,
                                      .run = around_run,
                                      .formula = around_formula,
                                      .what = &one});
}

static rf_tensor *bias_run(rf_graph *g, rf_tensor *const in[], const void *what)
{
    return rf__kernel_bias(g, in[0], in[1], R, *(const int *)what);
}

static void bias_formula(double *y, const double *const in[], const void *what)
{
    for (int i = 0; i <= 2 * R; i++)
        for (int h = 0; h < H; h++) {
            const double p = exp(in[0][h]), q = exp(in[1][h]), r = abs(i - R);
            y[i * H + h] = *(const int *)what ? (i == R ? 0 : -p * pow(r, q)) : -p * log(1 + q * r);
        }
}

static void kernel_bias(void **state)
{
    (void)state;
    for (int power = 0; power < 2; power++)
        t_gradient(&(t_gradient_case){.op = RF_OP_kernel_bias,
                                      .in = {{1, {H}}, {1, {H}}},
                                      .ys = (2 * R + 1) * H,
                                      .depth = 8,
                                      .run = bias_run,
                                      .formula = bias_formula,
                                      .what = &power});
}

static void refusals(void **state)
{
    (void)state;
    rf_ctx *ctx = t_ctx(1, NULL);
    for (int i = 0; i < 5; i++) {
        static const char *const says[] = {"dots: expected as many weights as columns",
                                           "tables for the heads, got rows of 12",
                                           "and b [N,H], got [5,12], [5,5] and", "offsets of 0 or more, got [5], [12]",
                                           "apart: b: expected 12 ... got 5"};
        rf_graph *g = NULL;
        assert_int_equal(rf__graph_new(ctx, &g, NULL), RF_OK);
        rf_tensor *x = rf__input(g, t_normal(N * C), NULL, 2, (int64_t[]){N, C}),
                  *w = rf__input(g, t_normal(C), NULL, 1, (int64_t[]){C});
        rf_tensor *five = rf__input(g, t_normal(25), NULL, 2, (int64_t[]){N, 5}),
                  *v = rf__input(g, t_normal(5), NULL, 1, (int64_t[]){5});
        if (i == 0) rf__dots(g, x, w, 5, 1);
        if (i == 1) rf__segment(g, x, w, x, H, types, TYPES);
        if (i == 2) rf__beside(g, x, five, five);
        if (i == 3) rf__kernel_bias(g, v, w, R, 0);
        if (i == 4) rf__apart(g, w, v);
        t_failed(rf__graph_error(g), RF_ESHAPE, says[i]);
        rf__graph_free(g);
    }
    rf_ctx_free(ctx);
    t_free_all();
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(dots),        cmocka_unit_test(segment),  cmocka_unit_test(with_the_bias),
        cmocka_unit_test(kernel_bias), cmocka_unit_test(around_zeros), cmocka_unit_test(refusals),
    };
    return cmocka_run_group_tests_name("graph/relative_ops", tests, NULL, NULL);
}
