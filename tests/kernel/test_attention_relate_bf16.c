/* test_attention_relate_bf16.c — mirrors src/kernel/attention/attention_relative.inc and
 * attention_relative_backward.inc with products in bf16: compared with the reference rung of f32, on inputs that bf16
 * can represent, with bounds for the roundings. */
#include "relate_problem.h"

/* Half a unit of f32 and of bf16, relative to a number, and the error of the fit of v_exp2_near. */
static const double U = 0x1p-24, H = 0x1p-8, FIT = 2.7e-6;

/* q, k, v, the additional columns, the tables of queries and keys and the result's adjoint are rounded to bf16, and the
 * scale is one that keeps q representable in units of log 2: then packing rounds nothing. */
static void make_halves(problem *p)
{
    for (int i = 0; i < 7; i++)
        for (int64_t j = 0; j < p->n[i]; j++) p->x[i][j] = rf__from_bf16(rf__bf16(p->x[i][j]));
    float *const o = copied(p->g.d_out, p->n[0], 0);
    for (int64_t j = 0; j < p->n[0]; j++) o[j] = rf__from_bf16(rf__bf16(o[j]));
    p->g.d_out = o;
    for (p->a.scale = 0.17328F; p->a.scale * 1.44269504F < 0.25F;) p->a.scale = nextafterf(p->a.scale, 1);
    assert_true(p->a.scale * 1.44269504F == 0.25F);
}

static double sizes_of(const float *x, const float *y, int64_t n)
{
    double s = 0;
    for (int64_t i = 0; i < n; i++) s += fabs((double)x[i]) * fabs((double)y[i]);
    return s;
}

static double product(const float *x, const float *y, int64_t n)
{
    double s = 0;
    for (int64_t i = 0; i < n; i++) s += (double)x[i] * (double)y[i];
    return s;
}

static double keeps(const rfk_attention *a, int64_t t, int64_t s)
{
    uint32_t word[4];
    rf__philox((rf_key){{a->key[0], a->key[1]}}, (uint64_t)(t * ((a->keys + 3) / 4) + s / 4), a->stream, word);
    return (double)word[s % 4] >= floor((double)a->drop * 4294967296.0) ? 1 / (1 - (double)a->drop) : 0;
}

/* A pair of a query and a key: its row of the tables, its score's size and P(t,s). */
typedef struct pair { int64_t r; double size, P; } pair;

/* Row t; returns the relative error of an exponential: its fit, and the roundings of a score with that many terms. */
static double pairs_of(const problem *p, int64_t t, pair *y)
{
    const rfk_attention *a = &p->a;
    const int64_t D = a->width, E = a->width2, clip = p->is.clip, position = t + a->keys - a->queries;
    const float *const q = p->x[0] + t * D;
    double sum = 0, most = 0;
    for (int64_t s = 0; s < a->keys; s++) {
        const int64_t r = (s - position < -clip ? -clip : s - position > clip ? clip : s - position) + clip;
        const float *const k = p->x[1] + s * D;
        const float *const rows[4][2] = {{q, k}, {E ? p->x[3] + t * E : q, E ? p->x[4] + s * E : q},
                                         {q, p->n[5] ? p->x[5] + r * D : q}, {k, p->n[6] ? p->x[6] + r * D : k}};
        const int64_t n[4] = {D, E, p->n[5] ? D : 0, p->n[6] ? D : 0};
        double score = 0;
        y[s] = (pair){.r = r};
        if ((a->causal && s > position) || (a->window && llabs((long long)(s - position)) > a->window)) continue;
        for (int i = 0; i < 4; i++) {
            score += (double)a->scale * product(rows[i][0], rows[i][1], n[i]);
            y[s].size += (double)a->scale * sizes_of(rows[i][0], rows[i][1], n[i]);
        }
        if (p->n[8]) score += (double)p->x[8][r], y[s].size += fabs((double)p->x[8][r]);
        y[s].P = exp(score);
        sum += y[s].P;
        most = fmax(most, y[s].size);
    }
    for (int64_t s = 0; s < a->keys; s++) y[s].P = y[s].P > 0 ? y[s].P / sum : 0;
    return FIT + ((double)(3 * D + E + 12) + 2 * most) * U * (1 + most);
}

/* The effect of rounding exponentials, K P and dS to bf16, and of sums in f32, on the result, e[9], and on the
 * adjoints. */
static void allowances(const problem *p, double *e[INPUTS + 1])
{
    const rfk_attention *a = &p->a;
    const int64_t D = a->width, E = a->width2, S = a->keys;
    pair *y = t_bytes((size_t)S * sizeof *y);
    for (int i = 0; i <= INPUTS; i++) {
        const int64_t n = i < INPUTS ? p->n[i] : p->n[0];
        e[i] = t_bytes((size_t)(n + 1) * sizeof(double));
        for (int64_t j = 0; j < n; j++) e[i][j] = 1e-30;
    }
    for (int64_t t = 0; t < a->queries; t++) {
        const float *const q = p->x[0] + t * D, *const o = p->g.d_out + t * D;
        const double power = pairs_of(p, t, y), drop = (double)a->drop, sum = (double)(S + 8) * U;
        double off = 0, mean = 0;                     /* of <o, out>, and its size */
        for (int64_t s = 0; s < S; s++)
            for (int64_t i = 0; i < D; i++) {
                const double kept = drop > 0 ? keeps(a, t, s) : 1, v = fabs((double)p->x[2][s * D + i]);
                const double size = kept * y[s].P * (v + (p->n[7] ? fabs((double)p->x[7][y[s].r * D + i]) : 0));
                e[INPUTS][t * D + i] += 1.01 * (2 * H + 2 * power + 2 * sum) * size;
                mean += fabs((double)o[i]) * size;
            }
        for (int64_t i = 0; i < D; i++) off += fabs((double)o[i]) * e[INPUTS][t * D + i];
        for (int64_t s = 0; s < S; s++) {
            const int64_t r = y[s].r;
            const float *const k = p->x[1] + s * D;
            const double kept = drop > 0 ? keeps(a, t, s) : 1, pairs = (double)(a->queries * S + 8) * U, P = y[s].P;
            const double dp =
                kept * (sizes_of(o, p->x[2] + s * D, D) + (p->n[7] ? sizes_of(o, p->x[7] + r * D, D) : 0));
            const double d = P * (1.01 * (2 * H + 2 * power + (double)(D + 8) * U + pairs) * (dp + mean) + off),
                         scaled = (double)a->scale * d;
            const double kp = 1.01 * (2 * H + 2 * power + pairs) * kept * P;
            for (int64_t i = 0; i < D; i++) {
                const double oi = fabs((double)o[i]), qi = fabs((double)q[i]), ki = fabs((double)k[i]);
                e[0][t * D + i] += scaled * (ki + (p->n[5] ? fabs((double)p->x[5][r * D + i]) : 0));
                e[1][s * D + i] += scaled * (qi + (p->n[6] ? fabs((double)p->x[6][r * D + i]) : 0));
                e[2][s * D + i] += kp * oi;
                if (p->n[5]) e[5][r * D + i] += scaled * qi;
                if (p->n[6]) e[6][r * D + i] += scaled * ki;
                if (p->n[7]) e[7][r * D + i] += kp * oi;
            }
            for (int64_t i = 0; i < E; i++) {
                e[3][t * E + i] += scaled * fabs((double)p->x[4][s * E + i]);
                e[4][s * E + i] += scaled * fabs((double)p->x[3][t * E + i]);
            }
            if (p->n[8]) e[8][r] += d;
        }
    }
}

static void near_enough(const char *isa, int input, const float *got, const float *expected, const double *e, int64_t n)
{
    for (int64_t j = 0; j < n; j++)
        if (!(fabs((double)got[j] - (double)expected[j]) <= e[j]))
            fail_msg("%s in bf16, %s %d, number %lld: got %.9g, expected %.9g +- %.3g", isa,
                     input < INPUTS ? "adjoint" : "result", input, (long long)j, (double)got[j], (double)expected[j],
                     e[j]);
}

static void one_in_bf16(shape s)
{
    rfk_table k;
    problem p;
    make(&p, s);
    make_halves(&p);
    double *e[INPUTS + 1];
    const float *expected[INPUTS + 1], *wide[INPUTS + 1] = {0};
    rfk_rung(0, &k);
    k.attention(&p.a, 0, p.a.queries, p.scratch);
    back(&k, &p);
    for (int i = 0; i <= INPUTS; i++)
        expected[i] = i < INPUTS ? copied(p.dx[i], p.n[i], 0) : copied(p.a.out, p.n[0], 0);
    allowances(&p, e);
    for (EACH_RUNG(k)) {
        k.attention_bf16(&p.a, 0, p.a.queries, p.scratch);
        near_enough(k.isa, INPUTS, p.a.out, expected[INPUTS], e[INPUTS], p.n[0]);
        for (int i = 5; i < INPUTS; i++)
            for (int64_t j = 0; j < p.n[i]; j++) p.dx[i][j] = 0;
        k.attention_bf16_back(&p.a, &p.g, p.back_scratch);
        for (int i = 0; i < INPUTS; i++) near_enough(k.isa, i, p.dx[i], expected[i], e[i], p.n[i]);
        if (strncmp(k.isa, "avx512", 6)) continue;                /* with the instruction and without it */
        for (int i = 0; i <= INPUTS; i++) {
            const int64_t n = i < INPUTS ? p.n[i] : p.n[0];
            const float *const now = copied(i < INPUTS ? p.dx[i] : p.a.out, n, 0);
            if (wide[i]) same_bits(now, wide[i], n, "avx512 in bf16");
            wide[i] = now;
        }
    }
    t_check_fences();
    t_free_all();
}

static void everything_in_bf16(void **state)
{
    (void)state;
    static const int64_t length[] = {1, 2, 7, 64, 65, 97, 130, 200}, clip[] = {0, 5, 64, 199, 1000},
                         width[] = {1, 5, 24, 72};
    for (size_t n = 0; n < RF_COUNT(small); n++) {
        shape s = small[n];
        s.rotary = 0;                                             /* a rotated number is not representable in bf16 */
        one_in_bf16(s);
    }
    for (size_t i = 0; i < RF_COUNT(length); i++)
        for (size_t j = 0; j < RF_COUNT(clip); j++)
            one_in_bf16((shape){.queries = length[i], .width = 16, .clip = clip[j], .tables = ALL});
    for (int tables = 0; tables <= ALL; tables++)
        for (size_t j = 0; j < RF_COUNT(width); j++) {
            one_in_bf16((shape){.queries = 70, .width = width[j], .width2 = tables % 3, .clip = 20, .tables = tables});
            one_in_bf16(
                (shape){.queries = 50, .keys = 75, .width = width[j], .width2 = 17, .clip = 200, .tables = tables});
        }
    for (int64_t window = 0; window < 70; window += 33)
        for (int causal = 0; causal < 2; causal++) {
            one_in_bf16((shape){
                .queries = 7, .keys = 150, .width = 24, .clip = 40, .tables = ALL, .causal = causal, .window = window});
            one_in_bf16((shape){.queries = 230,
                                .width = 24,
                                .clip = 40,
                                .tables = ALL,
                                .causal = causal,
                                .window = window,
                                .drop = 0.2F});
        }
    one_in_bf16((shape){.queries = 40, .keys = 600, .width = 16, .clip = 599, .tables = ALL});
    one_in_bf16((shape){.queries = 400, .width = 16, .clip = 100, .tables = ALL, .causal = 1});
}

/* Rotated queries and keys are multiplied with rotated tables: to the accuracy of bf16, the result is that of f32.
 * Scores are below 8 here, so that rounding changes a score by less than 2 H 8, and a mean of values below 8 by twice
 * that. */
static void rotated_rows_in_bf16(void **state)
{
    (void)state;
    rfk_table k;
    problem p;
    make(&p, (shape){.queries = 150, .width = 32, .clip = 40, .tables = ALL, .rotary = 1});
    for (int i = 0; i < INPUTS; i++)
        for (int64_t j = 0; j < p.n[i]; j++) p.x[i][j] *= 0.7F;
    rfk_rung(0, &k);
    k.attention(&p.a, 0, 150, p.scratch);
    const float *expected = copied(p.a.out, p.n[0], 0);
    for (EACH_RUNG(k)) {
        k.attention_bf16(&p.a, 0, 150, p.scratch);
        t_close(p.a.out, expected, p.n[0], 4 * H * 8 * 1.45 * largest(expected, p.n[0]), 0);
    }
    t_free_all();
}

static void biases_of_any_size(void **state)
{
    (void)state;
    rfk_table k;
    const shape all = {.queries = 150, .width = 16, .clip = 40, .tables = ALL, .causal = 1},
                biases = {.queries = 150, .width = 16, .clip = 40, .tables = BIAS};
    for (EACH_RUNG(k)) {
        even_weights(k.isa, k.attention_bf16, k.attention_bf16_back, all, 2 * H);
        even_weights(k.isa, k.attention_bf16, k.attention_bf16_back, biases, 2 * H);
    }
}

/* Biases alone, which tiles add, too: tables that end within and beyond a block of keys, windows, two blocks. */
static void biases_alone(void **state)
{
    (void)state;
    static const int64_t clip[] = {0, 3, 31, 70, 400, 700}, window[] = {0, 1, 40, 100};
    for (size_t i = 0; i < RF_COUNT(clip); i++)
        for (size_t j = 0; j < RF_COUNT(window); j++)
            one_in_bf16((shape){.queries = 101, .width = 40, .clip = clip[i], .tables = BIAS, .window = window[j]});
    one_in_bf16((shape){.queries = 33, .keys = 620, .width = 16, .clip = 619, .tables = BIAS});
    one_in_bf16((shape){.queries = 33, .keys = 620, .width = 16, .clip = 50, .tables = BIAS, .window = 530});
    one_in_bf16((shape){.queries = 620, .width = 8, .clip = 619, .tables = BIAS});
}

/* A query has the same bits whichever queries are computed with it. */
static void a_query_with_biases_is_computed_alone(void **state)
{
    (void)state;
    enum { T = 560, D = 16 };
    rfk_table k;
    problem p;
    make(&p, (shape){.queries = T, .width = D, .clip = 300, .tables = BIAS});
    for (EACH_RUNG(k)) {
        k.attention_bf16(&p.a, 0, T, p.scratch);
        const float *const all = copied(p.a.out, p.n[0], 0);
        for (int64_t first = 0; first < T; first += 97) {
            const int64_t last = first + 97 < T ? first + 97 : T;
            memset(p.a.out, 0, (size_t)p.n[0] * sizeof(float));
            k.attention_bf16(&p.a, first, last, p.scratch);
            same_bits(p.a.out + first * D, all + first * D, (last - first) * D, k.isa);
        }
    }
    t_check_fences();
    t_free_all();
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(everything_in_bf16),
        cmocka_unit_test(rotated_rows_in_bf16),
        cmocka_unit_test(biases_of_any_size),
        cmocka_unit_test(biases_alone),
        cmocka_unit_test(a_query_with_biases_is_computed_alone),
    };
    return cmocka_run_group_tests_name("kernel/attention_relate_bf16", tests, NULL, NULL);
}
