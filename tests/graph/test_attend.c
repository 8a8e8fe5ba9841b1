/* test_attend.c — mirrors src/graph/attend.c: attention of packed sequences without a graph, compared with the formulas
 * in double; the gradient with differences of the formula. */
#include "../kernel/linear_problem.h"
#include "gradient.h"
#include "roformer/kernel/attention.h"

enum { HEADS = 2, B = 3, D = 6, C = HEADS * D, N = 12 };
static const int32_t start[B + 1] = {0, 1, 5, N};
static const int32_t row[N] = {0, 0, 1, 2, 3, 0, 1, 2, 3, 4, 5, 6};

static rf_attention_work *work_of(rf_ctx *ctx)
{
    rf_attention_work *w = NULL;
    rf_error why = {0};
    if (rf_attention_work_new(ctx, &w, &why)) fail_msg("%s", why.text);
    return w;
}

/* Columns of one head of sequence b: part 0, 1, 2: query, key, value. */
static void take(double *to, const double *x, int b, int h, int part)
{
    for (int t = 0; t < start[b + 1] - start[b]; t++)
        for (int j = 0; j < D; j++) to[t * D + j] = x[(start[b] + t) * 3 * C + part * C + h * D + j];
}

static void linear(double *y, const double *x)
{
    double q[N * D], k[N * D], v[N * D], out[N * D];
    for (int b = 0; b < B; b++)
        for (int h = 0; h < HEADS; h++) {
            const int T = start[b + 1] - start[b];
            const linear_printed p = {.map = "elu", .causal = true, .order = LINEAR_EQ19, .T = T, .D = D, .f = D,
                                      .base = 10000};
            take(q, x, b, h, 0), take(k, x, b, h, 1), take(v, x, b, h, 2);
            linear_formula(&p, out, NULL, q, k, v, NULL, NULL);
            for (int t = 0; t < T; t++)
                for (int j = 0; j < D; j++) y[(start[b] + t) * C + h * D + j] = out[t * D + j];
        }
}

static void softmax(double *y, const double *x)
{
    double q[N * D], k[N * D], v[N * D];
    for (int b = 0; b < B; b++)
        for (int h = 0; h < HEADS; h++) {
            const int T = start[b + 1] - start[b];
            take(q, x, b, h, 0), take(k, x, b, h, 1), take(v, x, b, h, 2);
            for (int t = 0; t < T; t++) linear_rotate(q + t * D, D, t, 10000), linear_rotate(k + t * D, D, t, 10000);
            for (int t = 0; t < T; t++) {
                double sum = 0, out[D] = {0};
                for (int n = 0; n <= t; n++) {
                    double score = 0;
                    for (int j = 0; j < D; j++) score += q[t * D + j] * k[n * D + j];
                    const double share = exp(score / sqrt(D));
                    sum += share;
                    for (int j = 0; j < D; j++) out[j] += share * v[n * D + j];
                }
                for (int j = 0; j < D; j++) y[(start[b] + t) * C + h * D + j] = out[j] / sum;
            }
        }
}

static rf_linear_attention_spec spec_of(const rf_rope *rope)
{
    return (rf_linear_attention_spec){.heads = HEADS, .B = B, .start = start, .rope = rope, .row = row,
                                      .rotate_features = 1, .causal = 1, .feature_map = "elu", .features = D,
                                      .epsilon = -1};
}

static void results_are_those_of_the_formulas(void **state)
{
    (void)state;
    rf_ctx *ctx = t_ctx(2, NULL);
    rf_attention_work *w = work_of(ctx);
    rf_rope *rope = t_angles(ctx, D, 16);
    const rf_linear_attention_spec spec = spec_of(rope);
    float *qkv = t_uniform(N * 3 * C, -1, 1);
    double x[N * 3 * C], y[N * C];
    const float *out = NULL;
    rf_error why = {0};
    for (int i = 0; i < N * 3 * C; i++) x[i] = (double)qkv[i];
    for (int round = 0; round < 2; round++) {                   /* bf16 of the first round does not last */
        linear(y, x);
        assert_int_equal(rf_attend_linear(w, &spec, qkv, N, C, &out, &why), RF_OK);
        t_close_to(out, y, N * C, 1e-5, 1e-5);
        softmax(y, x);
        rf_softmax_attention_spec s = {.heads = HEADS, .B = B, .start = start, .rope = rope, .row = row, .causal = 1};
        assert_int_equal(rf_attend_softmax(w, &s, qkv, N, C, &out, &why), RF_OK);
        t_close_to(out, y, N * C, 1e-5, 1e-5);
        s.type = RF_BF16;
        assert_int_equal(rf_attend_softmax(w, &s, qkv, N, C, &out, &why), RF_OK);
        t_close_to(out, y, N * C, 0.03, 0.03);
    }
    rf_rope_free(rope);
    rf_attention_work_free(w);
    rf_ctx_free(ctx);
    t_free_all();
}

static void gradients_are_added(void **state)
{
    (void)state;
    rf_ctx *ctx = t_ctx(2, NULL);
    rf_attention_work *w = work_of(ctx);
    rf_rope *rope = t_angles(ctx, D, 16);
    const rf_linear_attention_spec spec = spec_of(rope);
    float *qkv = t_uniform(N * 3 * C, -1, 1), *d_out = t_uniform(N * C, -1, 1), *d = t_floats(N * 3 * C);
    double x[N * 3 * C], y[N * C];
    rf_error why = {0};
    for (int i = 0; i < N * 3 * C; i++) x[i] = (double)qkv[i], d[i] = 0.5f;
    assert_int_equal(rf_attend_linear_back(w, &spec, qkv, N, C, d_out, d, &why), RF_OK);
    for (int i = 0; i < N * 3 * C; i++) {
        const double was = x[i], h = 1e-5;
        double slope = 0;
        for (int side = -1; side <= 1; side += 2) {
            x[i] = was + side * h;
            linear(y, x);
            for (int n = 0; n < N * C; n++) slope += side * (double)d_out[n] * y[n] / (2 * h);
        }
        x[i] = was;
        t_near((double)d[i], 0.5 + slope, 1e-4);
    }
    rf_rope_free(rope);
    rf_attention_work_free(w);
    rf_ctx_free(ctx);
    t_free_all();
}

static void refusals(void **state)
{
    (void)state;
    rf_ctx *ctx = t_ctx(1, NULL);
    rf_attention_work *w = work_of(ctx);
    rf_rope *rope = t_angles(ctx, D, 16);
    rf_linear_attention_spec spec = spec_of(rope);
    rf_softmax_attention_spec s = {.heads = HEADS, .B = B, .start = start};
    float *qkv = t_uniform(N * 3 * C, -1, 1);
    const float *out = NULL;
    rf_error why = {0};
    rf_attention_work_new(NULL, &w, &why);
    t_failed(&why, RF_EARG, "ctx");
    why = (rf_error){0};
    rf_attend_linear(w, NULL, qkv, N, C, &out, &why);
    t_failed(&why, RF_EARG, "spec");
    why = (rf_error){0};
    rf_attend_linear_back(w, &spec, qkv, N, C, NULL, qkv, &why);
    t_failed(&why, RF_EARG, "d_out");
    why = (rf_error){0};
    rf_attend_softmax(w, &s, NULL, N, C, &out, &why);
    t_failed(&why, RF_EARG, "qkv");
    why = (rf_error){0};
    rf_attend_linear(w, &spec, qkv, N, 0, &out, &why);
    t_failed(&why, RF_ESHAPE, "columns");
    why = (rf_error){0};
    rf_attend_linear(w, &spec, qkv, N, INT64_MAX, &out, &why);
    t_failed(&why, RF_ESHAPE, "columns");
    why = (rf_error){0};
    rf_attend_linear(w, &spec, qkv, N, C + 1, &out, &why);
    t_failed(&why, RF_ESHAPE, "columns");
    why = (rf_error){0};
    rf_attend_linear(w, &spec, qkv, N + 1, C, &out, &why);
    t_failed(&why, RF_ESHAPE, "sequences");
    why = (rf_error){0};
    s.type = RF_I8;
    rf_attend_softmax(w, &s, qkv, N, C, &out, &why);
    t_failed(&why, RF_EARG, "type");
    why = (rf_error){0};
    assert_int_equal(rf_attend_linear(w, &spec, qkv, N, C, &out, &why), RF_OK);      /* a failure does not last */
    rf_attention_work_free(NULL);
    rf_rope_free(rope);
    rf_attention_work_free(w);
    rf_ctx_free(ctx);
    t_free_all();
}

static rf_status once(const rf_ctx *ctx, void *arg, rf_error *why)
{
    float *const *of = arg;
    rf_attention_work *w = NULL;
    const rf_linear_attention_spec spec = {.heads = HEADS, .B = B, .start = start, .feature_map = "elu", .epsilon = -1};
    rf_status status = rf_attention_work_new(ctx, &w, why);
    if (!status) status = rf_attend_linear_back(w, &spec, of[0], N, C, of[1], of[2], why);
    rf_attention_work_free(w);
    return status;
}

static void memory_may_end(void **state)
{
    (void)state;
    t_fail_allocations(1, NULL, once, (float *[]){t_uniform(N * 3 * C, -1, 1), t_uniform(N * C, -1, 1),
                                                  t_uniform(N * 3 * C, 0, 0)});
    t_free_all();
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(results_are_those_of_the_formulas),
        cmocka_unit_test(gradients_are_added),
        cmocka_unit_test(refusals),
        cmocka_unit_test(memory_may_end),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
