/* test_rerope_attention.c — mirrors src/graph/ops/position/rerope_attention.c: values and gradients are compared with
 * the formula in double, row by row for long texts and large scores. */
#include "gradient.h"

struct far { int64_t N, H, D, B, window; int32_t start[4], position[30]; int causal; };

static rf_tensor *far_run(rf_graph *g, rf_tensor *const in[], const void *what)
{
    const struct far *f = what;
    struct far copy = *f;
    const rf_near_far_spec spec = {f->H, f->B, f->window, copy.start, copy.position, f->causal};
    rf_tensor *y = rf__near_far(g, in[0], in[1], in[2], &spec);
    memset(&copy, 0x7f, sizeof copy);
    return y;
}

static void far_formula(double *y, const double *const in[], const void *what)
{
    const struct far *f = what;
    const int64_t C = f->H * f->D;
    for (int64_t b = 0; b < f->B; b++)
        for (int64_t h = 0; h < f->H; h++)
            for (int64_t m = f->start[b]; m < f->start[b + 1]; m++) {
                const int64_t end = f->causal ? m + 1 : f->start[b + 1];
                double p[30], sum = 0, *out = y + m * C + h * f->D;
                for (int64_t n = f->start[b]; n < end; n++) {
                    const int64_t d = f->position[m] - f->position[n];
                    const double *x = in[d >= f->window ? 1 : d <= -f->window ? 2 : 0];
                    double s = 0;
                    for (int64_t i = 0; i < f->D; i++)
                        s += x[m * 3 * C + h * f->D + i] * x[n * 3 * C + C + h * f->D + i];
                    sum += p[n] = exp(s / sqrt((double)f->D));
                }
                for (int64_t i = 0; i < f->D; i++) out[i] = 0;
                for (int64_t n = f->start[b]; n < end; n++)
                    for (int64_t i = 0; i < f->D; i++) out[i] += p[n] / sum * in[0][n * 3 * C + 2 * C + h * f->D + i];
            }
}

/* Positions twice as far apart, with a window twice as wide, select the same sides but are computed row by row: results
 * agree to a few roundings of scores of size 8 (4 sigma of D = 16), and gradients to as many of the largest. */
static void near_far_by_rows(void **state)
{
    (void)state;
    enum { H = 2, D = 16, C = H * D, TEXTS = 3, N = 1260 };
    int32_t start[TEXTS + 1] = {0, 40, 1200, N}, position[2][N];
    for (int b = 0; b < TEXTS; b++)
        for (int32_t n = start[b]; n < start[b + 1]; n++)
            position[0][n] = n - start[b] + 5, position[1][n] = 2 * position[0][n];
    rf_ctx *ctx = t_ctx(2, NULL);
    rf_graph *g;
    rf_error why = {0};
    if (rf__graph_new(ctx, &g, &why)) fail_msg("%s", why.text);
    float *x[3], *dx[2][3], *y[2], *by = t_normal(N * C);
    for (int i = 0; i < 3; i++) x[i] = t_normal(N * 3 * C);
    for (int causal = 0; causal < 2; causal++)
        for (int window = 7; window < 2000; window *= 11) {
            for (int rows = 0; rows < 2; rows++) {
                assert_int_equal(rf__graph_reset(g), RF_OK);
                rf__graph_record(g, 1, T_SEED, T_STEP);
                rf_tensor *in[3];
                for (int i = 0; i < 3; i++) {
                    dx[rows][i] = t_floats(N * 3 * C);
                    memset(dx[rows][i], 0, N * 3 * C * sizeof(float));
                    in[i] = rf__input(g, x[i], dx[rows][i], 2, (int64_t[]){N, 3 * C});
                }
                const rf_near_far_spec spec = {H, TEXTS, window << rows, start, position[rows], causal};
                rf_tensor *out = rf__near_far(g, in[0], in[1], in[2], &spec);
                y[rows] = t_floats(N * C);
                if (rf__graph_error(g)->code) fail_msg("%s", rf__graph_error(g)->text);
                memcpy(y[rows], out->f32, N * C * sizeof(float));
                if (rf__backward(g, t_weighted(g, out, by), &why)) fail_msg("%s", why.text);
            }
            for (int i = 0; i < N * C; i++) t_near((double)y[0][i], (double)y[1][i], 2e-5);
            for (int i = 0; i < 3; i++) {
                double most = 1;
                for (int j = 0; j < N * 3 * C; j++) most = fmax(most, fabs((double)dx[1][i][j]));
                for (int j = 0; j < N * 3 * C; j++) t_near((double)dx[0][i][j], (double)dx[1][i][j], 2e-5 * most);
            }
        }
    rf__graph_free(g);
    rf_ctx_free(ctx);
    t_free_all();
}

/* Scores around `middle`, of ordinary spread: near, past and future all have weight in a row, and its log-sum-exp is
 * large.  Texts of more tokens than one tile has, and of fewer. */
enum { BIG_N = 640, BIG_H = 2, BIG_D = 16, BIG_C = BIG_H * BIG_D, BIG_TEXTS = 2, BIG_WINDOW = 21 };
static const int32_t big_start[BIG_TEXTS + 1] = {0, 600, BIG_N};

/* For query m and head h, which sees the tokens [first, end): the row of the result, and its contribution to the
 * gradients. */
static void far_row(float *const x[3], const float *dy, int64_t m, int64_t h, int64_t first, int64_t end, double *y,
                    double *const dx[3])
{
    const double scale = 1 / sqrt((double)BIG_D);
    const int64_t q = m * 3 * BIG_C + h * BIG_D;
    double p[BIG_N], top = -INFINITY, sum = 0, mean = 0;
    for (int64_t n = first; n < end; n++) {
        const int64_t k = n * 3 * BIG_C + BIG_C + h * BIG_D;
        const float *part = x[m - n >= BIG_WINDOW ? 1 : n - m >= BIG_WINDOW ? 2 : 0];
        p[n] = 0;
        for (int i = 0; i < BIG_D; i++) p[n] += scale * (double)part[q + i] * (double)part[k + i];
        top = fmax(top, p[n]);
    }
    for (int64_t n = first; n < end; n++) sum += p[n] = exp(p[n] - top);
    for (int i = 0; i < BIG_D; i++) {
        y[i] = 0;
        for (int64_t n = first; n < end; n++)
            y[i] += p[n] / sum * (double)x[0][n * 3 * BIG_C + 2 * BIG_C + h * BIG_D + i];
        mean += (double)dy[i] * y[i];
    }
    for (int64_t n = first; n < end; n++) {
        const int64_t k = n * 3 * BIG_C + BIG_C + h * BIG_D, v = k + BIG_C;
        const int part = m - n >= BIG_WINDOW ? 1 : n - m >= BIG_WINDOW ? 2 : 0;
        double ds = -mean;
        for (int i = 0; i < BIG_D; i++) {
            ds += (double)dy[i] * (double)x[0][v + i];
            dx[0][v + i] += p[n] / sum * (double)dy[i];
        }
        for (int i = 0; i < BIG_D; i++) {
            dx[part][q + i] += p[n] / sum * ds * scale * (double)x[part][k + i];
            dx[part][k + i] += p[n] / sum * ds * scale * (double)x[part][q + i];
        }
    }
}

/* The operation's result compared with the formula: the error of scores is a few times 2^-24 |middle|, and the relative
 * error of a probability is as large. */
static void far_compare(rf_graph *g, float *const x[3], const float *by, int causal)
{
    enum { ALL = BIG_N * 3 * BIG_C };
    int32_t position[BIG_N];
    for (int32_t n = 0; n < BIG_N; n++) position[n] = n - (n < big_start[1] ? 0 : big_start[1]);
    double y[BIG_N][BIG_H][BIG_D], *expected[3];
    float *dx[3];
    rf_tensor *in[3];
    rf_error why = {0};
    assert_int_equal(rf__graph_reset(g), RF_OK);
    rf__graph_record(g, 1, T_SEED, T_STEP);
    for (int i = 0; i < 3; i++) {
        dx[i] = t_floats(ALL);
        memset(dx[i], 0, ALL * sizeof(float));
        in[i] = rf__input(g, x[i], dx[i], 2, (int64_t[]){BIG_N, 3 * BIG_C});
        assert_non_null(expected[i] = calloc(ALL, sizeof(double)));
    }
    const rf_near_far_spec spec = {BIG_H, BIG_TEXTS, BIG_WINDOW, big_start, position, causal};
    rf_tensor *out = rf__near_far(g, in[0], in[1], in[2], &spec);
    if (rf__backward(g, t_weighted(g, out, by), &why)) fail_msg("%s", why.text);
    for (int64_t m = 0; m < BIG_N; m++)
        for (int64_t h = 0; h < BIG_H; h++) {
            const int b = m >= big_start[1];
            far_row(x, by + m * BIG_C + h * BIG_D, m, h, big_start[b], causal ? m + 1 : big_start[b + 1], y[m][h],
                    expected);
        }
    for (int i = 0; i < BIG_N * BIG_C; i++) t_near((double)out->f32[i], (&y[0][0][0])[i], 1e-4);
    for (int i = 0; i < 3; i++) {
        double most = 0;
        for (int j = 0; j < ALL; j++) most = fmax(most, fabs(expected[i][j]));
        assert_true(most > 0.01 || (causal && i == 2));
        for (int j = 0; j < ALL; j++) t_near((double)dx[i][j], expected[i][j], 1e-4 * most);
        free(expected[i]);
    }
}

static void near_far_large_scores(void **state)
{
    (void)state;
    static const float middle[] = {0, 40, 100, -60};
    rf_ctx *ctx = t_ctx(2, NULL);
    rf_graph *g;
    rf_error why = {0};
    if (rf__graph_new(ctx, &g, &why)) fail_msg("%s", why.text);
    float *x[3], *by = t_normal(BIG_N * BIG_C);
    for (int i = 0; i < 3; i++) x[i] = t_normal(BIG_N * 3 * BIG_C);
    for (size_t c = 0; c < RF_COUNT(middle); c++) {
        const float size = sqrtf(fabsf(middle[c]) * sqrtf(BIG_D));
        for (int i = 0; i < 3; i++)
            for (int64_t n = 0; n < BIG_N * BIG_H; n++) {
                float *q = x[i] + n / BIG_H * 3 * BIG_C + n % BIG_H * BIG_D;
                q[0] = size;
                q[BIG_C] = middle[c] < 0 ? -size : size;
            }
        for (int causal = 0; causal < 2; causal++) far_compare(g, x, by, causal);
    }
    rf__graph_free(g);
    rf_ctx_free(ctx);
    t_free_all();
}

/* depth: scores of D products, an exponential, sums over up to 27 tokens. */
static void near_far(void **state)
{
    (void)state;
    static const struct far cases[] = {
        {9, 2, 4, 2, 3, {0, 7, 9}, {0, 1, 2, 3, 4, 5, 6, 0, 1}, 0},
        {5, 1, 3, 1, 1, {0, 5}, {4, 9, 2, 2, -7}, 0},
        {6, 1, 2, 3, 100, {0, 1, 1, 6}, {0, 0, 1, 2, 3, 4}, 0},
        {9, 2, 4, 2, 3, {0, 7, 9}, {0, 1, 2, 3, 4, 5, 6, 0, 1}, 1},
        {30, 1, 6, 2, 11, {0, 27, 30},
         {3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18, 19, 20, 21, 22, 23, 24, 25, 26, 27, 28, 29, 0, 1, 2},
         0},
    };
    for (size_t i = 0; i < RF_COUNT(cases); i++) {
        const struct far *f = &cases[i];
        const t_shape s = {2, {f->N, 3 * f->H * f->D}};
        t_gradient(&(t_gradient_case){.op = RF_OP_near_far,
                                      .in = {s, s, s},
                                      .ys = f->N * f->H * f->D,
                                      .depth = 60,
                                      .run = far_run,
                                      .formula = far_formula,
                                      .what = f});
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(near_far),
        cmocka_unit_test(near_far_by_rows),
        cmocka_unit_test(near_far_large_scores),
    };
    return cmocka_run_group_tests_name("graph/rerope_attention", tests, NULL, NULL);
}
