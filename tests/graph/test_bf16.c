/* test_bf16.c — mirrors src/graph/ops/core/linear.c, src/graph/ops/loss/vocab_loss.c, src/graph/ops/core/attention.c
 * and src/graph/work.c in bf16.
 *
 * With known operands the result is a sum in double of rounded numbers, plus k roundings of f32 (test_gemm_bf16.c).  If
 * a rounding depends on the last bit of its input, one unit of bf16 is allowed for it. */
#include <float.h>

#include "gradient.h"

static const double UNIT = 0x1p-8;                   /* of bf16: 8 digits, so rounding is off by no more than this */

static double as_bf16(float x) { return (double)rf__from_bf16(rf__bf16(x)); }

static rf_graph *graph(rf_ctx *ctx, rf_type type)
{
    rf_graph *g = NULL;
    assert_int_equal(rf__graph_new(ctx, &g, NULL), RF_OK);
    rf__graph_record(g, 1, T_SEED, T_STEP);
    rf__graph_products(g, type);
    return g;
}

static float *zeros(int64_t n) { return memset(t_floats(n), 0, (size_t)n * sizeof(float)); }

enum { N = 37, K = 45, M = 50 };

/* y = x w^T + b, dx = dy w, dw = dy^T x with every operand rounded; and a copy of w that was rounded differently. */
static void linear_of_rounded_numbers(void **state)
{
    (void)state;
    static const char *const isa[] = {"ref", NULL};
    for (int run = 0; run < 4; run++) {
        rf_ctx *ctx = t_ctx(2, isa[run % 2]);
        rf_graph *g = graph(ctx, RF_BF16);
        float *x = t_normal(N * K), *w = t_normal(M * K), *b = t_normal(M), *dy = t_normal(N * M), *dx = zeros(N * K),
              *dw = zeros(M * K);
        uint16_t *half = t_bytes(M * K * sizeof *half);
        for (int i = 0; i < M * K; i++) half[i] = run < 2 ? rf__bf16(w[i]) : rf__bf16(2 * w[i]);
        rf_tensor *tx = rf__input(g, x, dx, 2, (int64_t[]){N, K}), *tw = rf__parameter(g, w, dw, 2, (int64_t[]){M, K});
        rf_tensor *tb = rf__parameter(g, b, NULL, 1, (int64_t[]){M});
        if (run >= 2) tw->bf16 = half;
        rf_tensor *y = rf__linear(g, tx, tw, tb, RF_ACT_NONE);
        double *wy = t_bytes(N * M * sizeof *wy), *wx = t_bytes(N * K * sizeof *wx), *ww = t_bytes(M * K * sizeof *ww);
        memset(wx, 0, N * K * sizeof *wx);
        memset(ww, 0, M * K * sizeof *ww);
        for (int n = 0; n < N; n++)
            for (int m = 0; m < M; m++) {
                wy[n * M + m] = (double)b[m];
                for (int k = 0; k < K; k++) {
                    const double wmk = (double)rf__from_bf16(half[m * K + k]);
                    wy[n * M + m] += as_bf16(x[n * K + k]) * wmk;
                    wx[n * K + k] += as_bf16(dy[n * M + m]) * wmk;
                    ww[m * K + k] += as_bf16(dy[n * M + m]) * as_bf16(x[n * K + k]);
                }
            }
        t_close_to(y->f32, wy, N * M, 50 * FLT_EPSILON * 30, 0);             /* sums of at most 50 products, below 30 */
        assert_int_equal(rf__backward(g, t_weighted(g, y, dy), NULL), RF_OK);
        t_close_to(dx, wx, N * K, 50 * FLT_EPSILON * 60, 0);
        t_close_to(dw, ww, M * K, 50 * FLT_EPSILON * 60, 0);
        rf__graph_free(g);
        rf_ctx_free(ctx);
        t_check_fences();
        t_free_all();
    }
}

/* y = act(round(z)): one unit of z, through a slope of at most 1.13 (GELU); its gradient to a unit of its size. */
static void an_activation_sees_the_rounded_sum(void **state)
{
    (void)state;
    rf_ctx *ctx = t_ctx(2, NULL);
    rf_graph *g = graph(ctx, RF_BF16);
    float *x = t_normal(N * K), *w = t_normal(M * K), *dy = t_normal(N * M), *dx = zeros(N * K);
    rf_tensor *tx = rf__input(g, x, dx, 2, (int64_t[]){N, K}), *tw = rf__parameter(g, w, NULL, 2, (int64_t[]){M, K});
    rf_tensor *y = rf__linear(g, tx, tw, NULL, RF_ACT_GELU);
    double expected[N * K] = {0}, size[N * K] = {0};
    for (int n = 0; n < N; n++)
        for (int m = 0; m < M; m++) {
            double z = 0;
            for (int k = 0; k < K; k++) z += as_bf16(x[n * K + k]) * as_bf16(w[m * K + k]);
            t_near((double)y->f32[n * M + m], z / 2 * (1 + erf(z / sqrt(2))), 1.13 * UNIT * fabs(z) + 1e-6);
            const double slope = (1 + erf(z / sqrt(2))) / 2 + z * exp(-z * z / 2) / sqrt(2 * acos(-1));
            for (int k = 0; k < K; k++) {
                const double t = slope * (double)dy[n * M + m] * as_bf16(w[m * K + k]);
                expected[n * K + k] += t;
                /* dz is rounded (half a unit); GELU'' is at most 0.8, and z was half a unit of itself off */
                const double moved = z * (double)dy[n * M + m] * as_bf16(w[m * K + k]);
                size[n * K + k] += UNIT / 2 * fabs(t) + UNIT * 0.8 * fabs(moved) * exp(-z * z / 4);
            }
        }
    assert_int_equal(rf__backward(g, t_weighted(g, y, dy), NULL), RF_OK);
    for (int i = 0; i < N * K; i++) t_near((double)dx[i], expected[i], size[i] + 1e-4);
    rf__graph_free(g);
    rf_ctx_free(ctx);
    t_free_all();
}

/* act(x w1^T) w2^T with the middle tensor kept, or spent and recomputed: the same bits in both types, and less
 * memory. */
static void what_is_spent_is_made_again(void **state)
{
    (void)state;
    for (int type = RF_F32; type <= RF_BF16; type++) {
        rf_ctx *ctx = t_ctx(2, NULL);
        float *x = t_normal(N * K), *w1 = t_normal(M * K), *w2 = t_normal(K * M), *dy = t_normal(N * K), *grad[2][3];
        size_t memory[2];
        for (int spend = 0; spend < 2; spend++) {
            rf_graph *g = graph(ctx, (rf_type)type);
            float **d = grad[spend];
            d[0] = zeros(N * K), d[1] = zeros(M * K), d[2] = zeros(K * M);
            rf_tensor *tx = rf__input(g, x, d[0], 2, (int64_t[]){N, K}),
                      *t1 = rf__parameter(g, w1, d[1], 2, (int64_t[]){M, K});
            rf_tensor *t2 = rf__parameter(g, w2, d[2], 2, (int64_t[]){K, M}), *y = tx, *f = NULL;
            for (int lap = 0; lap < 4; lap++) {
                f = rf__linear(g, y, t1, NULL, RF_ACT_GELU);
                y = rf__linear(g, spend ? rf__spend(f) : f, t2, NULL, RF_ACT_NONE);
            }
            assert_int_equal(spend, f->f32 == NULL);
            assert_int_equal(rf__backward(g, t_weighted(g, y, dy), NULL), RF_OK);
            memory[spend] = rf__graph_memory(g);
            rf__graph_free(g);
        }
        assert_memory_equal(grad[0][0], grad[1][0], N * K * sizeof(float));
        assert_memory_equal(grad[0][1], grad[1][1], M * K * sizeof(float));
        assert_memory_equal(grad[0][2], grad[1][2], K * M * sizeof(float));
        assert_true(memory[1] < memory[0]);
        rf_ctx_free(ctx);
        t_free_all();
    }
}

/* Spending a tensor that an earlier operation's backward pass reads, or that belongs to the caller, has no effect; a
 * later read is rejected. */
static void spending_is_safe(void **state)
{
    (void)state;
    rf_ctx *ctx = t_ctx(1, NULL);
    rf_graph *g = graph(ctx, RF_F32);
    float *x = t_normal(N * K), *dx = zeros(N * K), *w = t_normal(K * K), *ones = t_normal(K);
    rf_tensor *tx = rf__input(g, x, dx, 2, (int64_t[]){N, K}), *tw = rf__parameter(g, w, NULL, 2, (int64_t[]){K, K});
    rf_tensor *gamma = rf__parameter(g, ones, NULL, 1, (int64_t[]){K});
    rf_tensor *a = rf__linear(g, tx, tw, NULL, RF_ACT_NONE);
    rf__activate(g, a, RF_ACT_TANH);
    rf__norm(g, rf__spend(a), rf__spend(tx), 0, gamma, NULL, 1e-5, RF_NORM_LAYER);
    assert_non_null(a->f32);
    assert_ptr_equal(tx->f32, x);
    rf_tensor *b = rf__linear(g, tx, tw, NULL, RF_ACT_NONE);
    rf__norm(g, rf__spend(b), tx, 0, gamma, NULL, 1e-5, RF_NORM_LAYER);
    assert_null(b->f32);
    rf__add(g, b, tx);
    t_failed(rf__graph_error(g), RF_EARG, "add: a: expected values, got a tensor that is spent");
    rf__graph_free(g);
    rf_ctx_free(ctx);
    t_free_all();
}

/* The loss from logits of rounded numbers; its gradient against f32: half a unit for each of the two operands. */
static void loss_over_the_vocabulary(void **state)
{
    (void)state;
    enum { V = 70 };
    rf_ctx *ctx = t_ctx(2, NULL);
    float *x = t_normal(N * K), *w = t_uniform(V * K, -0.3F, 0.3F), *grad[2], loss[2];
    int32_t label[N];
    double expected = 0;
    for (int n = 0; n < N; n++) {
        double sum = 0, z[V];
        label[n] = n * 7 % V;
        for (int v = 0; v < V; v++) {
            z[v] = 0;
            for (int k = 0; k < K; k++) z[v] += as_bf16(x[n * K + k]) * as_bf16(w[v * K + k]);
            sum += exp(z[v]);
        }
        expected += (log(sum) - z[label[n]]) / N;
    }
    for (int type = RF_F32; type <= RF_BF16; type++) {
        rf_graph *g = graph(ctx, (rf_type)type);
        float *d = grad[type] = zeros(N * K + V * K);
        rf_tensor *tx = rf__input(g, x, d, 2, (int64_t[]){N, K}),
                  *tw = rf__parameter(g, w, d + N * K, 2, (int64_t[]){V, K});
        rf_tensor *y = rf__vocab_loss(g, tx, tw, NULL, label, N, 1.0 / N, NULL, NULL);
        loss[type] = *y->f32;
        assert_int_equal(rf__backward(g, y, NULL), RF_OK);
        rf__graph_free(g);
    }
    t_near((double)loss[RF_BF16], expected, 100 * FLT_EPSILON * expected);
    for (int part = 0; part < 2; part++) {
        double off = 0, size = 0;
        for (int i = part ? N * K : 0; i < (part ? N * K + V * K : N * K); i++) {
            off += pow((double)grad[0][i] - (double)grad[1][i], 2);
            size += pow((double)grad[0][i], 2);
        }
        assert_true(off > 0 && sqrt(off / size) < 2 * UNIT);
    }
    rf_ctx_free(ctx);
    t_free_all();
}

/* Attention of two texts, rotated: each head is the kernel's result (test_attention_bf16.c), for any number of threads
 * and recorded or not.  The gradient is that in f32 up to rounding, half a unit each, of q and k, which form a score of
 * size 1, of v and the result's adjoint, of exponentials and the scores' adjoints: 4 units allow for twice that. */
static void attention_of_rounded_numbers(void **state)
{
    (void)state;
    enum { HEADS = 3, D = 18, T = 61, C = HEADS * D };
    static const int32_t start[] = {0, 40, T};
    float *qkv = t_normal(T * 3 * C), *dy = t_normal(T * C);
    float *grad[2], *y[2] = {NULL, NULL};
    int32_t row[T];
    for (int t = 0; t < T; t++) row[t] = t;
    for (int run = 0; run < 4; run++) {
        const rf_type type = run % 2 ? RF_F32 : RF_BF16;
        rf_ctx *ctx = t_ctx(1 + run / 2, NULL);
        rf_rope *rope = NULL;
        assert_int_equal(rf_rope_new(ctx, &(rf_rope_spec){D, 10000, RF_ROPE_PAIRS}, T, &rope, NULL), RF_OK);
        rf_graph *g = graph(ctx, type);
        float *dx = zeros(T * 3 * C), *out = t_floats(T * C);
        rf_tensor *x = rf__input(g, qkv, dx, 2, (int64_t[]){T, 3 * C});
        const rf_attention_spec spec = {.heads = HEADS, .B = 2, .start = start, .rope = rope, .row = row};
        rf_tensor *a = rf__attention(g, x, &spec);
        memcpy(out, a->f32, T * C * sizeof *out);
        assert_int_equal(rf__backward(g, t_weighted(g, a, dy), NULL), RF_OK);
        if (type == RF_BF16) {
            const rfk_table *k = rf_ctx_kernels(ctx);
            float *expected = t_floats(T * C);
            for (int b = 0; b < 2; b++)
                for (int h = 0; h < HEADS; h++) {
                    const int64_t s = start[b], n = start[b + 1] - s;
                    const float *q = qkv + s * 3 * C + h * D;
                    const rfk_attention p = {.q = q,
                                             .k = q + C,
                                             .v = q + 2 * C,
                                             .q_stride = 3 * C,
                                             .k_stride = 3 * C,
                                             .v_stride = 3 * C,
                                             .queries = n,
                                             .keys = n,
                                             .width = D,
                                             .scale = (float)(1 / sqrt((double)D)),
                                             .cos = rf_rope_cos(rope),
                                             .sin = rf_rope_sin(rope),
                                             .q_row = row + s,
                                             .k_row = row + s,
                                             .rotary = D,
                                             .layout = RF_ROPE_PAIRS,
                                             .out = expected + s * C + h * D,
                                             .out_stride = C};
                    k->attention_bf16(&p, 0, n, t_bytes(rfk_attention_scratch(&p)));
                }
            assert_memory_equal(out, expected, T * C * sizeof *out);
        }
        rf__graph_reset(g);
        rf__graph_record(g, 0, T_SEED, T_STEP);
        a = rf__attention(g, rf__constant(g, qkv, 2, (int64_t[]){T, 3 * C}), &spec);
        assert_memory_equal(out, a->f32, T * C * sizeof *out);
        if (run >= 2) assert_memory_equal(y[run % 2], out, T * C * sizeof *out);
        y[run % 2] = out, grad[run % 2] = dx;
        rf__graph_free(g);
        rf_rope_free(rope);
        rf_ctx_free(ctx);
    }
    assert_memory_not_equal(y[0], y[1], T * C * sizeof(float));
    double off = 0, size = 0;
    for (int i = 0; i < T * 3 * C; i++) {
        off += pow((double)grad[0][i] - (double)grad[1][i], 2);
        size += pow((double)grad[1][i], 2);
    }
    print_message("           gradient of attention: %.4f of its length is off\n", sqrt(off / size));
    assert_true(off > 0 && sqrt(off / size) < 4 * UNIT);
    t_check_fences();
    t_free_all();
}

/* The same with tables of offsets and additional columns, and their adjoints: the same values are rounded, and the
 * tables are not. */
static void relative_attention_of_rounded_numbers(void **state)
{
    (void)state;
    enum { HEADS = 2, D = 12, T = 70, C = HEADS * D, ROWS = 41, E = HEADS * 3, INPUTS = 7 };
    static const int32_t start[] = {0, 25, T};
    static const int64_t dim[INPUTS][2] = {{T, 3 * C}, {ROWS, C}, {ROWS, D}, {ROWS, C}, {ROWS, HEADS}, {T, E}, {T, E}};
    float *x[INPUTS], *dx[INPUTS][2], *y[2], *dy = t_normal(T * C);
    for (int i = 0; i < INPUTS; i++) x[i] = t_normal(dim[i][0] * dim[i][1]);
    for (int type = RF_F32; type <= RF_BF16; type++) {
        rf_ctx *ctx = t_ctx(2, NULL);
        rf_graph *g = graph(ctx, (rf_type)type);
        rf_tensor *in[INPUTS];
        for (int i = 0; i < INPUTS; i++) {
            dx[i][type] = zeros(dim[i][0] * dim[i][1]);
            in[i] = rf__input(g, x[i], dx[i][type], 2, dim[i]);
        }
        const rf_attention_spec spec = {.heads = HEADS,
                                        .B = 2,
                                        .start = start,
                                        .clip = ROWS / 2,
                                        .relative_query = in[1],
                                        .relative_key = in[2],
                                        .relative_value = in[3],
                                        .relative_bias = in[4],
                                        .more_query = in[5],
                                        .more_key = in[6]};
        rf_tensor *a = rf__attention(g, in[0], &spec);
        y[type] = t_floats(T * C);
        memcpy(y[type], a->f32, T * C * sizeof(float));
        assert_int_equal(rf__backward(g, t_weighted(g, a, dy), NULL), RF_OK);
        rf__graph_free(g);
        rf_ctx_free(ctx);
    }
    assert_memory_not_equal(y[0], y[1], T * C * sizeof(float));
    for (int i = 0; i < INPUTS; i++) {
        double off = 0, size = 0;
        for (int64_t j = 0; j < dim[i][0] * dim[i][1]; j++) {
            off += pow((double)dx[i][0][j] - (double)dx[i][1][j], 2);
            size += pow((double)dx[i][0][j], 2);
        }
        print_message("           adjoint %d: %.4f of its length is off\n", i, sqrt(off / size));
        assert_true(off > 0 && sqrt(off / size) < 4 * UNIT);
    }
    t_check_fences();
    t_free_all();
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(linear_of_rounded_numbers),   cmocka_unit_test(an_activation_sees_the_rounded_sum),
        cmocka_unit_test(what_is_spent_is_made_again), cmocka_unit_test(spending_is_safe),
        cmocka_unit_test(loss_over_the_vocabulary),    cmocka_unit_test(attention_of_rounded_numbers),
        cmocka_unit_test(relative_attention_of_rounded_numbers),
    };
    return cmocka_run_group_tests_name("graph/bf16", tests, NULL, NULL);
}
