/* test_attention_cross.c — mirrors src/graph/ops/core/attention.c: keys and values of tokens other than the queries',
 * in packed sequences with different lengths on the two sides.  Values and gradients are compared with the formula in
 * double. */
#include "gradient.h"

enum { HEADS = 2, B = 5 };
/* queries of four, one, none, three and five tokens; keys of two, seven, three, none and five */
static const int32_t start[B + 1] = {0, 4, 5, 5, 8, 13}, key_start[B + 1] = {0, 2, 9, 12, 12, 17};
static const int32_t row[] = {0, 3, 9, 1, 4, 2, 2, 7, 5, 6, 8, 0, 1}, key_row[] = {5, 1, 0, 2, 9, 8, 7, 3, 4, 6, 1, 2,
                                                                                 3, 0, 9, 4, 5};

struct cross {
    int64_t D, E, clip, r, prefix, window;
    bool given[4], causal, rotate_value;
    double drop;
    const rf_rope *rope;
};

static double theta(int64_t r, int64_t i) { return pow(10, -2 * (double)i / (double)r); }

static rf_tensor *run(rf_graph *g, rf_tensor *const in[], const void *what)
{
    const struct cross *c = what;
    int32_t lists[4][RF_COUNT(key_row)];
    memcpy(lists[0], start, sizeof start);
    memcpy(lists[1], key_start, sizeof key_start);
    memcpy(lists[2], row, sizeof row);
    memcpy(lists[3], key_row, sizeof key_row);
    const rf_attention_spec spec = {.heads = HEADS,
                                    .B = B,
                                    .start = lists[0],
                                    .key_value = in[7],
                                    .key_start = lists[1],
                                    .rope = c->rope,
                                    .row = c->rope ? lists[2] : NULL,
                                    .key_row = c->rope ? lists[3] : NULL,
                                    .rotate_value = c->rotate_value,
                                    .causal = c->causal,
                                    .prefix = c->prefix,
                                    .window = c->window,
                                    .drop = c->drop,
                                    .scale = 0.7,
                                    .clip = c->clip,
                                    .relative_query = in[1],
                                    .relative_key = in[2],
                                    .relative_value = in[3],
                                    .relative_bias = in[4],
                                    .more_query = in[5],
                                    .more_key = in[6]};
    rf_tensor *y = rf__attention(g, in[0], &spec);
    memset(lists, 0x7f, sizeof lists);                                   /* they were copied */
    return y;
}

static double inner(const double *x, const double *y, int64_t n)
{
    double s = 0;
    for (int64_t i = 0; i < n; i++) s += x[i] * y[i];
    return s;
}

/* R(m) x: plane i is columns 2i and 2i + 1, i < r / 2. */
static void rotated(double *y, const double *x, int32_t m, int64_t D, int64_t r)
{
    for (int64_t i = 0; i < D; i++) y[i] = x[i];
    for (int64_t i = 0; i < r / 2; i++) {
        const double a = m * theta(r, i);
        y[2 * i] = x[2 * i] * cos(a) - x[2 * i + 1] * sin(a);
        y[2 * i + 1] = x[2 * i] * sin(a) + x[2 * i + 1] * cos(a);
    }
}

/* Whether the probability is kept, times 1 / (1 - drop); kernels.h has the words' order. */
static double keep_factor(const struct cross *c, int64_t unit, int64_t keys, int64_t t, int64_t s)
{
    uint32_t word[4];
    if (c->drop == 0) return 1;
    rf__philox(rf__make_key(T_SEED, T_STEP), (uint64_t)(t * ((keys + 3) / 4) + s / 4), (uint64_t)unit, word);
    return word[s % 4] >= (uint32_t)((double)(float)c->drop * 0x1p32) ? 1 / (1 - (double)(float)c->drop) : 0;
}

/* One query's row of one head: softmax over the keys of its sequence that it sees. */
static void one(double *y, const double *const in[], const struct cross *c, int64_t b, int64_t h, int64_t t)
{
    const int64_t D = c->D, C = HEADS * D, E = c->E, queries = start[b + 1] - start[b], m = start[b] + t;
    const int64_t keys = key_start[b + 1] - key_start[b];
    double p[16] = {0}, q[16], k[16], v[16], sum = 0;
    rotated(q, in[0] + m * C + h * D, row[m], D, c->r);
    for (int64_t i = 0; i < D; i++) y[i] = 0;
    for (int pass = 0; pass < 2; pass++)
        for (int64_t s = 0; s < keys; s++) {
            const int64_t n = key_start[b] + s, at = t + keys - queries, o = s - at;
            const int64_t near = (o < -c->clip ? -c->clip : o > c->clip ? c->clip : o) + c->clip;
            if ((c->causal && s > at && s >= c->prefix) || (c->window && llabs(o) > c->window)) continue;
            rotated(k, in[7] + n * 2 * C + h * D, key_row[n], D, c->r);
            rotated(v, in[7] + n * 2 * C + C + h * D, key_row[n], D, c->rotate_value ? c->r : 0);
            if (pass) {
                for (int64_t i = 0; i < D; i++)
                    y[i] += p[s] / sum * keep_factor(c, b * HEADS + h, keys, t, s) *
                            (v[i] + (c->given[2] ? in[3][near * C + h * D + i] : 0));
                continue;
            }
            double score = inner(q, k, D);
            if (c->given[0]) score += inner(q, in[1] + near * C + h * D, D);
            if (c->given[1]) score += inner(k, in[2] + near * C + h * D, D);
            if (E) score += inner(in[5] + (m * HEADS + h) * E, in[6] + (n * HEADS + h) * E, E);
            p[s] = exp((double)0.7f * score + (c->given[3] ? in[4][near * HEADS + h] : 0));
            sum += p[s];
        }
}

static void formula(double *y, const double *const in[], const void *what)
{
    const struct cross *c = what;
    for (int64_t b = 0; b < B; b++)
        for (int64_t h = 0; h < HEADS; h++)
            for (int64_t t = 0; t < start[b + 1] - start[b]; t++)
                one(y + (start[b] + t) * HEADS * c->D + h * c->D, in, c, b, h, t);
}

static rf_rope *angles(rf_ctx *ctx, int64_t r)
{
    rf_rope *rope;
    const rf_rope_spec spec = {r, 10, RF_ROPE_PAIRS};
    assert_int_equal(rf_rope_new(ctx, &spec, 10, &rope, NULL), RF_OK);
    return rope;
}

/* depth: D products under an exponential, sums over at most seven keys. */
static void values_and_gradients(void **state)
{
    (void)state;
    static const struct cross cases[] = {
        {.D = 4},
        {.D = 8, .r = 8},
        {.D = 8, .r = 6, .rotate_value = true},
        {.D = 4, .causal = true},
        {.D = 4, .causal = true, .prefix = 2, .r = 4},
        {.D = 4, .window = 1},
        {.D = 5, .E = 2},
        {.D = 6, .E = 1, .clip = 3, .given = {1, 1, 1, 1}},
        {.D = 4, .clip = 2, .given = {0, 0, 0, 1}, .causal = true},
        {.D = 8, .r = 8, .drop = 0.3},
    };
    rf_ctx *ctx = t_ctx(2, NULL);
    for (size_t i = 0; i < RF_COUNT(cases); i++) {
        struct cross c = cases[i];
        rf_rope *rope = c.r ? angles(ctx, c.r) : NULL;
        const int64_t C = HEADS * c.D;
        c.rope = rope;
        t_gradient_case t = {.op = RF_OP_attention,
                             .in = {{2, {start[B], C}}, {0}, {0}, {0}, {0}, {0}, {0}, {2, {key_start[B], 2 * C}}},
                             .ys = start[B] * C,
                             .depth = (double)(8 * c.D + 96),
                             .run = run,
                             .formula = formula,
                             .what = &c};
        for (int j = 0; j < 3; j++)
            if (c.given[j]) t.in[1 + j] = (t_shape){2, {2 * c.clip + 1, C}};
        if (c.given[3]) t.in[4] = (t_shape){2, {2 * c.clip + 1, HEADS}};
        if (c.E) t.in[5] = (t_shape){2, {start[B], HEADS * c.E}}, t.in[6] = (t_shape){2, {key_start[B], HEADS * c.E}};
        t_gradient(&t);
        rf_rope_free(rope);
    }
    rf_ctx_free(ctx);
}

/* Keys and values of the queries' own tokens, given apart: the bits of self-attention, forward and backward, in both
 * types. */
static void apart_or_together(void **state)
{
    (void)state;
    enum { T = 70, C = 32 };
    static const int32_t both[] = {0, 33, 33, T};
    int32_t rows[T];
    for (int n = 0; n < T; n++) rows[n] = n % 10;
    for (int type = RF_F32; type <= RF_BF16; type++) {
        rf_ctx *ctx = t_ctx(2, NULL);
        rf_rope *rope = angles(ctx, 16);
        float *qkv = t_normal((size_t)T * 3 * C), *q = t_floats((int64_t)T * C), *kv = t_floats((int64_t)T * 2 * C);
        float *grad[3] = {t_floats((int64_t)T * 3 * C), t_floats((int64_t)T * C), t_floats((int64_t)T * 2 * C)};
        float *weight = t_normal((size_t)T * C), *out[2];
        for (int64_t n = 0; n < T; n++) {
            memcpy(q + n * C, qkv + n * 3 * C, C * sizeof *q);
            memcpy(kv + n * 2 * C, qkv + n * 3 * C + C, 2 * C * sizeof *kv);
        }
        for (int apart = 0; apart < 2; apart++) {
            rf_graph *g;
            rf_error why = {0};
            rf_attention_spec spec = {
                .heads = 2, .B = 3, .start = both, .rope = rope, .row = rows, .causal = 1, .drop = 0.1};
            assert_int_equal(rf__graph_new(ctx, &g, NULL), RF_OK);
            rf__graph_record(g, 1, 5, 6);
            rf__graph_products(g, (rf_type)type);
            rf_tensor *in = apart ? rf__input(g, q, grad[1], 2, (int64_t[]){T, C})
                                  : rf__input(g, qkv, grad[0], 2, (int64_t[]){T, 3 * C});
            if (apart) spec.key_value = rf__input(g, kv, grad[2], 2, (int64_t[]){T, 2 * C});
            if (apart) spec.key_start = both, spec.key_row = rows;
            rf_tensor *y = rf__attention(g, in, &spec);
            out[apart] = memcpy(t_floats((int64_t)T * C), y->f32, (size_t)T * C * sizeof(float));
            if (rf__backward(g, t_weighted(g, y, weight), &why)) fail_msg("%s", why.text);
            rf__graph_free(g);
        }
        assert_memory_equal(out[0], out[1], (size_t)T * C * sizeof(float));
        for (int64_t n = 0; n < T; n++) {
            assert_memory_equal(grad[0] + n * 3 * C, grad[1] + n * C, C * sizeof(float));
            assert_memory_equal(grad[0] + n * 3 * C + C, grad[2] + n * 2 * C, 2 * C * sizeof(float));
        }
        rf_rope_free(rope);
        rf_ctx_free(ctx);
        t_free_all();
    }
}

static void refusals(void **state)
{
    (void)state;
    static const char *const says[] = {"key_value: expected twice the queries' 4 columns, got 6", "attention (keys)",
                                       "key_start, key_row: expected key_value",
                                       "a multiple of 3 heads, got 4", "expected key_value or past, got both"};
    static const rf_status code[] = {RF_ESHAPE, RF_ESHAPE, RF_EARG, RF_ESHAPE, RF_EARG};
    static const int32_t two[] = {0, 2}, three[] = {0, 3};
    static const rf_past past;
    rf_ctx *ctx = t_ctx(1, NULL);
    for (size_t i = 0; i < RF_COUNT(says); i++) {
        rf_graph *g = NULL;
        assert_int_equal(rf__graph_new(ctx, &g, NULL), RF_OK);
        rf_tensor *q = rf__input(g, t_normal(8), NULL, 2, (int64_t[]){2, 4});
        rf_tensor *six = rf__input(g, t_normal(12), NULL, 2, (int64_t[]){2, 6});
        rf_attention_spec spec = {.heads = i == 3 ? 3 : 2, .B = 1, .start = two, .key_start = two};
        spec.key_value = i == 0 ? six : i == 2 ? NULL : rf__input(g, t_normal(16), NULL, 2, (int64_t[]){2, 8});
        if (i == 1) spec.key_start = three;
        if (i == 4) spec.past = &past;
        rf__attention(g, i == 2 ? six : q, &spec);
        t_failed(rf__graph_error(g), code[i], says[i]);
        rf__graph_free(g);
    }
    rf_ctx_free(ctx);
    t_free_all();
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(values_and_gradients), cmocka_unit_test(apart_or_together),
                                       cmocka_unit_test(refusals)};
    return cmocka_run_group_tests_name("graph/attention_cross", tests, NULL, NULL);
}
