/* test_attention_ops.c — mirrors src/graph/ops/core/attention.c and src/graph/ops/position/rotate.c: values and
 * gradients of rotation, and of attention with it, are compared with the formulas in double. */
#include "gradient.h"
#include "roformer/kernel/rope.h"

/* ---- rotate ------------------------------------------------------------------------------------------------------ */

enum { TABLE = 50 };
static const int32_t positions[] = {0, 7, 31, 49, 7, 1, 2, 3, 12, 13, 14, 40};

/* R(m) x of one head of width d, Eqs. 14-15. */
static void rotate_by(double *y, const double *x, int32_t m, int64_t d, int64_t r, rf_rope_layout layout)
{
    for (int64_t i = 0; i < d; i++) y[i] = x[i];
    for (int64_t i = 0; i < r / 2; i++) {
        const int64_t a = layout == RF_ROPE_PAIRS ? 2 * i : i, b = layout == RF_ROPE_PAIRS ? 2 * i + 1 : i + r / 2;
        const double angle = m * pow(10000, -2 * (double)i / (double)r), xa = x[a], xb = x[b];
        y[a] = cos(angle) * xa - sin(angle) * xb;
        y[b] = sin(angle) * xa + cos(angle) * xb;
    }
}

static rf_rope *angles(rf_ctx *ctx, int64_t r, rf_rope_layout layout)
{
    rf_rope *rope = NULL;
    rf_error why = {0};
    if (rf_rope_new(ctx, &(rf_rope_spec){r, 10000, layout}, TABLE, &rope, &why)) fail_msg("%s", why.text);
    return rope;
}

struct rotate { int64_t N, H, D, r; rf_rope_layout layout; int rank; const rf_rope *rope; };

static rf_tensor *rotate_run(rf_graph *g, rf_tensor *const in[], const void *what)
{
    const struct rotate *r = what;
    int32_t row[RF_COUNT(positions)];
    memcpy(row, positions, sizeof row);
    rf_tensor *y = rf__rotate(g, r->rope, in[0], r->H, row);
    memset(row, 0x7f, sizeof row);
    return y;
}

static void rotate_formula(double *y, const double *const in[], const void *what)
{
    const struct rotate *r = what;
    for (int64_t n = 0; n < r->N; n++)
        for (int64_t h = 0; h < r->H; h++) {
            const int64_t at = (n * r->H + h) * r->D;
            rotate_by(y + at, in[0] + at, positions[n], r->D, r->r, r->layout);
        }
}

static void rotate(void **state)
{
    (void)state;
    static const struct rotate cases[] = {
        {12, 3, 8, 8, RF_ROPE_PAIRS, 3, NULL},   {12, 2, 6, 4, RF_ROPE_PAIRS, 2, NULL},
        {5, 1, 10, 10, RF_ROPE_HALVES, 3, NULL}, {4, 2, 40, 34, RF_ROPE_HALVES, 2, NULL},
    };
    rf_ctx *ctx = t_ctx(1, NULL);
    for (size_t i = 0; i < RF_COUNT(cases); i++) {
        struct rotate r = cases[i];
        rf_rope *rope = angles(ctx, r.r, r.layout);
        r.rope = rope;
        const t_shape s = r.rank == 3 ? (t_shape){3, {r.N, r.H, r.D}} : (t_shape){2, {r.N, r.H * r.D}};
        t_gradient(&(t_gradient_case){.op = RF_OP_rotate, .in = {s}, .ys = r.N * r.H * r.D, .depth = 4,
                                      .run = rotate_run, .formula = rotate_formula, .what = &r});
        rf_rope_free(rope);
    }
    rf_ctx_free(ctx);
}

/* ---- attention --------------------------------------------------------------------------------------------------- */

struct attention { int64_t D; int32_t start[4]; rf_attention_spec spec; int64_t r; rf_rope_layout layout; };

static rf_tensor *attention_run(rf_graph *g, rf_tensor *const in[], const void *what)
{
    const struct attention *a = what;
    rf_attention_spec spec = a->spec;
    int32_t start[4], row[RF_COUNT(positions)], prefix[3];
    memcpy(start, a->start, sizeof start);
    if (spec.prefixes) memcpy(prefix, spec.prefixes, (size_t)spec.B * sizeof *prefix);
    memcpy(row, positions, sizeof row);
    spec.start = start;
    spec.row = a->spec.rope ? row : NULL;
    if (spec.prefixes) spec.prefixes = prefix;
    rf_tensor *y = rf__attention(g, in[0], &spec);
    memset(start, 0x7f, sizeof start);
    memset(prefix, 0x7f, sizeof prefix);
    memset(row, 0x7f, sizeof row);
    return y;
}

static bool sees(const rf_attention_spec *p, int64_t b, int64_t t, int64_t s)
{
    const int64_t prefix = p->prefixes ? p->prefixes[b] : p->prefix;
    return (!p->causal || s <= t || s < prefix) && (!p->window || llabs(s - t) <= p->window);
}

/* Whether probability (t, s) of unit b, h is kept, times 1 / (1 - drop); kernels.h has the words' order. */
static double keep_factor(const rf_attention_spec *p, int64_t unit, int64_t T, int64_t t, int64_t s)
{
    uint32_t word[4];
    if (p->drop == 0) return 1;
    rf__philox(rf__make_key(T_SEED, T_STEP), (uint64_t)(t * ((T + 3) / 4) + s / 4), (uint64_t)unit, word);
    return word[s % 4] >= (uint32_t)((double)(float)p->drop * 0x1p32) ? 1 / (1 - (double)(float)p->drop) : 0;
}

static void attention_formula(double *y, const double *const in[], const void *what)
{
    enum { MOST = 64 };
    const struct attention *a = what;
    const rf_attention_spec *p = &a->spec;
    const int64_t H = p->heads, G = p->kv_heads ? p->kv_heads : H, D = a->D, C = H * D, width = (H + 2 * G) * D;
    for (int64_t b = 0; b < p->B; b++)
        for (int64_t h = 0; h < H; h++) {
            const int64_t from = a->start[b], T = a->start[b + 1] - from, shared = h / (H / G) * D;
            double k[16][MOST], v[16][MOST], q[MOST], prob[16];
            for (int64_t s = 0; s < T; s++) {
                const double *x = in[0] + (from + s) * width + C + shared;
                rotate_by(k[s], x, positions[from + s], D, a->r, a->layout);
                rotate_by(v[s], x + G * D, positions[from + s], D, p->rotate_value ? a->r : 0, a->layout);
            }
            for (int64_t t = 0; t < T; t++) {
                double *out = y + (from + t) * C + h * D, sum = 0;
                rotate_by(q, in[0] + (from + t) * width + h * D, positions[from + t], D, a->r, a->layout);
                for (int64_t s = 0; s < T; s++) {
                    double score = 0;
                    for (int64_t d = 0; d < D; d++) score += q[d] * k[s][d];
                    score *= p->scale > 0 ? (double)(float)p->scale : 1 / sqrt((double)D);
                    prob[s] = sees(p, b, t, s) ? exp(score) : 0;
                    sum += prob[s];
                }
                for (int64_t d = 0; d < D; d++) {
                    out[d] = 0;
                    for (int64_t s = 0; s < T; s++)
                        out[d] += prob[s] / sum * keep_factor(p, b * H + h, T, t, s) * v[s][d];
                }
            }
        }
}

/* depth: D products under an exponential of numbers of about D / sqrt(D), sums over at most 12 keys. */
static void attention(void **state)
{
    (void)state;
    static const int32_t three[] = {3, 1, 9}, two[] = {4, 0};
    static const struct attention cases[] = {
        {4, {0, 12}, {.heads = 2, .B = 1}, 0, RF_ROPE_PAIRS},
        {8, {0, 5, 6, 12}, {.heads = 1, .B = 3}, 8, RF_ROPE_PAIRS},
        {8, {0, 7, 7, 12}, {.heads = 2, .B = 3, .rotate_value = 1}, 6, RF_ROPE_PAIRS},
        {6, {0, 4, 9}, {.heads = 3, .B = 2, .scale = 0.3}, 6, RF_ROPE_HALVES},
        {4, {0, 12}, {.heads = 1, .B = 1, .causal = 1}, 4, RF_ROPE_PAIRS},
        {4, {0, 5, 12}, {.heads = 2, .B = 2, .causal = 1, .prefix = 3}, 0, RF_ROPE_PAIRS},
        {4, {0, 12}, {.heads = 1, .B = 1, .window = 2}, 4, RF_ROPE_PAIRS},
        {8, {0, 5, 11}, {.heads = 2, .B = 2, .drop = 0.3}, 8, RF_ROPE_PAIRS},
        {20, {0, 3}, {.heads = 1, .B = 1, .causal = 1, .drop = 0.1}, 20, RF_ROPE_HALVES},
        {64, {0, 3}, {.heads = 1, .B = 1}, 64, RF_ROPE_PAIRS},
        {4, {0, 5, 8, 12}, {.heads = 2, .B = 3, .causal = 1, .prefix = 2, .prefixes = three}, 4, RF_ROPE_PAIRS},
        {4, {0, 6, 12}, {.heads = 1, .B = 2, .causal = 1, .window = 3, .drop = 0.2, .prefixes = two}, 0, RF_ROPE_PAIRS},
        {6, {0, 7, 12}, {.heads = 4, .B = 2, .kv_heads = 2}, 6, RF_ROPE_HALVES},
        {4, {0, 5, 5, 12}, {.heads = 3, .B = 3, .kv_heads = 1, .causal = 1, .window = 3, .scale = 0.4}, 4,
         RF_ROPE_PAIRS},
        {8, {0, 5, 11}, {.heads = 4, .B = 2, .kv_heads = 1, .drop = 0.3, .rotate_value = 1}, 8, RF_ROPE_PAIRS},
    };
    rf_ctx *ctx = t_ctx(1, NULL);
    for (size_t i = 0; i < RF_COUNT(cases); i++) {
        struct attention a = cases[i];
        rf_rope *rope = a.r ? angles(ctx, a.r, a.layout) : NULL;
        a.spec.rope = rope;
        const int64_t N = a.start[a.spec.B], H = a.spec.heads, C = H * a.D, G = a.spec.kv_heads ? a.spec.kv_heads : H;
        t_gradient(&(t_gradient_case){.op = RF_OP_attention,
                                      .in = {{2, {N, C + 2 * G * a.D}}},
                                      .ys = N * C,
                                      .depth = (double)(4 * a.D + 48),
                                      .run = attention_run,
                                      .formula = attention_formula,
                                      .what = &a});
        rf_rope_free(rope);
    }
    rf_ctx_free(ctx);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(rotate),
        cmocka_unit_test(attention),
    };
    return cmocka_run_group_tests_name("graph/attention_ops", tests, NULL, NULL);
}
