/* test_attention_relate.c — mirrors src/kernel/attention/attention_relate.inc and attention_relate_back.inc: attention
 * with tables of offsets and further columns, in f32 and in bf16.
 *
 * The reference rung against the printed formula with whole matrices in double, its adjoints against central
 * differences of that; every other rung against the reference rung; and bf16 against the reference rung of f32, on
 * numbers that bf16 has, with bounds for what it rounds.                                                             */
#include "rungs.h"

enum { QUERY = 1, KEY = 2, VALUE = 4, BIAS = 8, ALL = 15, TABLES = 4, INPUTS = 9 };

typedef struct shape {
    int64_t queries, keys, width, width2, clip;
    int tables, rotary, causal;
    int64_t window;
    float drop;
} shape;

/* Inputs and adjoints: q k v q2 k2, then the tables query, key, value, bias. */
typedef struct problem {
    rfk_attention a;
    rfk_attention_grad g;
    rfk_relative is;
    rfk_relative_grad d;
    float *x[INPUTS], *dx[INPUTS];
    int64_t n[INPUTS];
    void *scratch, *back_scratch;
} problem;

static void make(problem *p, shape s)
{
    if (!s.keys) s.keys = s.queries;
    const int64_t D = s.width, E = s.width2, rows = 2 * s.clip + 1;
    const int64_t n[INPUTS] = {s.queries * D,
                               s.keys * D,
                               s.keys * D,
                               s.queries * E,
                               s.keys * E,
                               s.tables & QUERY ? rows * D : 0,
                               s.tables & KEY ? rows * D : 0,
                               s.tables & VALUE ? rows * D : 0,
                               s.tables & BIAS ? rows : 0};
    for (int i = 0; i < INPUTS; i++) {
        p->n[i] = n[i];
        p->x[i] = n[i] ? t_normal(n[i]) : NULL;
        p->dx[i] = n[i] ? t_floats(n[i]) : NULL;
    }
    p->is = (rfk_relative){.clip = s.clip,
                           .query = p->x[5],
                           .key = p->x[6],
                           .value = p->x[7],
                           .query_stride = D,
                           .key_stride = D,
                           .value_stride = D,
                           .bias = p->x[8]};
    p->d = (rfk_relative_grad){.query = p->dx[5],
                               .key = p->dx[6],
                               .value = p->dx[7],
                               .query_stride = D,
                               .key_stride = D,
                               .value_stride = D,
                               .bias = p->dx[8]};
    p->a = (rfk_attention){.q = p->x[0],
                           .k = p->x[1],
                           .v = p->x[2],
                           .q_stride = D,
                           .k_stride = D,
                           .v_stride = D,
                           .queries = s.queries,
                           .keys = s.keys,
                           .width = D,
                           .scale = (float)(1 / sqrt((double)(D + E))),
                           .causal = s.causal,
                           .window = s.window,
                           .drop = s.drop,
                           .key = {1, 2},
                           .stream = 3,
                           .out = t_floats(s.queries * D),
                           .out_stride = D,
                           .lse = t_floats(s.queries),
                           .q2 = p->x[3],
                           .k2 = p->x[4],
                           .q2_stride = E,
                           .k2_stride = E,
                           .width2 = E,
                           .relative = s.tables ? &p->is : NULL};
    p->g = (rfk_attention_grad){.d_out = t_normal(s.queries * D),
                                .d_out_stride = D,
                                .dq = p->dx[0],
                                .dk = p->dx[1],
                                .dv = p->dx[2],
                                .dq_stride = D,
                                .dk_stride = D,
                                .dv_stride = D,
                                .dq2 = p->dx[3],
                                .dk2 = p->dx[4],
                                .dq2_stride = E,
                                .dk2_stride = E,
                                .relative = s.tables ? &p->d : NULL};
    if (s.rotary) {                                          /* one plane, by the position */
        const int64_t most = s.queries > s.keys ? s.queries : s.keys;
        float *const c = t_floats(most), *const i = t_floats(most);
        int32_t *const row = t_bytes((size_t)most * sizeof *row);
        for (int64_t m = 0; m < most; m++) c[m] = cosf((float)m), i[m] = sinf((float)m), row[m] = (int32_t)m;
        p->a.cos = c, p->a.sin = i, p->a.q_row = p->a.k_row = row, p->a.rotary = 2;
    }
    p->scratch = t_bytes(rfk_attention_scratch(&p->a));
    p->back_scratch = t_bytes(rfk_attention_back_scratch(&p->a));
}

static void back(const rfk_table *k, const problem *p)
{
    for (int i = 5; i < INPUTS; i++) memset(p->dx[i] ? p->dx[i] : p->a.out, 0, (size_t)p->n[i] * sizeof(float));
    k->attention_back(&p->a, &p->g, p->back_scratch);
}

/* ---- the printed formula ----------------------------------------------------------------------------------------- */

static void rotate(const rfk_attention *a, double *x, int64_t n, int64_t D, const int32_t *row)
{
    for (int64_t t = 0; t < n && a->cos; t++) {
        const double c = (double)a->cos[row[t]], s = (double)a->sin[row[t]], x0 = x[t * D], x1 = x[t * D + 1];
        x[t * D] = c * x0 - s * x1;
        x[t * D + 1] = s * x0 + c * x1;
    }
}

static double dot(const double *x, const double *y, int64_t n)
{
    double s = 0;
    for (int64_t i = 0; i < n; i++) s += x[i] * y[i];
    return s;
}

static double *twice(const double *x, int64_t n)
{
    double *y = t_bytes((size_t)(n ? n : 1) * sizeof *y);
    if (n) memcpy(y, x, (size_t)n * sizeof *y);
    return y;
}

static void formula(const problem *p, double *const x[INPUTS], double *out)
{
    const rfk_attention *a = &p->a;
    const int64_t D = a->width, E = a->width2, clip = p->is.clip;
    double *q = twice(x[0], p->n[0]), *k = twice(x[1], p->n[1]), *w = t_bytes((size_t)a->keys * sizeof *w);
    rotate(a, q, a->queries, D, a->q_row);
    rotate(a, k, a->keys, D, a->k_row);
    for (int64_t t = 0; t < a->queries; t++) {
        double sum = 0;
        const int64_t position = t + a->keys - a->queries;
        for (int64_t s = 0; s < a->keys; s++) {
            const int64_t r = (s - position < -clip ? -clip : s - position > clip ? clip : s - position) + clip;
            double score = dot(q + t * D, k + s * D, D) + dot(x[3] + t * E, x[4] + s * E, E);
            if (p->n[5]) score += dot(q + t * D, x[5] + r * D, D);
            if (p->n[6]) score += dot(k + s * D, x[6] + r * D, D);
            score = (double)a->scale * score + (p->n[8] ? x[8][r] : 0);
            const int seen =
                (!a->causal || s <= position) && (!a->window || llabs((long long)(s - position)) <= a->window);
            w[s] = seen ? exp(score) : 0;
            sum += w[s];
        }
        for (int64_t i = 0; i < D; i++) out[t * D + i] = 0;
        for (int64_t s = 0; s < a->keys; s++) {
            const int64_t r = (s - position < -clip ? -clip : s - position > clip ? clip : s - position) + clip;
            for (int64_t i = 0; i < D && w[s] > 0; i++)
                out[t * D + i] += w[s] / sum * (x[2][s * D + i] + (p->n[7] ? x[7][r * D + i] : 0));
        }
    }
}

static const shape small[] = {
    {.queries = 5, .width = 4, .clip = 4, .tables = QUERY},
    {.queries = 5, .width = 4, .clip = 4, .tables = KEY},
    {.queries = 7, .width = 3, .clip = 2, .tables = VALUE},
    {.queries = 7, .width = 3, .clip = 2, .tables = BIAS},
    {.queries = 6, .width = 3, .width2 = 5},
    {.queries = 8, .width = 5, .width2 = 2, .clip = 3, .tables = ALL, .rotary = 1},
    {.queries = 8, .width = 4, .clip = 7, .tables = ALL, .causal = 1, .rotary = 1},
    {.queries = 9, .width = 4, .clip = 1, .tables = ALL, .window = 3},
    {.queries = 3, .keys = 9, .width = 4, .clip = 5, .tables = ALL, .causal = 1},
    {.queries = 9, .keys = 4, .width = 4, .clip = 0, .tables = ALL},
    {.queries = 1, .width = 2, .clip = 0, .tables = ALL},
};

static double *doubles(const float *x, int64_t n)
{
    double *y = t_bytes((size_t)(n ? n : 1) * sizeof *y);
    for (int64_t i = 0; i < n; i++) y[i] = (double)x[i];
    return y;
}

/* The reference sums in double and rounds once; the differences (h = 1e-4) are good to h^2 times a third derivative,
 * below 1e-6 here; adjoints of tables are rounded once for each pair, of at most 81. */
static void the_reference_is_the_formula(void **state)
{
    (void)state;
    rfk_table ref;
    rfk_rung(0, &ref);
    for (size_t n = 0; n < RF_COUNT(small); n++) {
        problem p;
        make(&p, small[n]);
        const int64_t size = p.n[0];
        double *x[INPUTS], *out = t_bytes((size_t)size * sizeof *out), *weight = doubles(p.g.d_out, size);
        for (int i = 0; i < INPUTS; i++) x[i] = doubles(p.x[i], p.n[i]);
        formula(&p, x, out);
        ref.attention(&p.a, 0, p.a.queries, p.scratch);
        t_close_to(p.a.out, out, size, 1e-14, EPS / 2);
        back(&ref, &p);
        for (int i = 0; i < INPUTS; i++)
            for (int64_t j = 0; j < p.n[i]; j++) {
                const double h = 1e-4, before = x[i][j];
                double expected = 0;
                for (int side = -1; side <= 1; side += 2) {
                    x[i][j] = before + side * h;
                    formula(&p, x, out);
                    expected += side * dot(weight, out, size) / (2 * h);
                }
                x[i][j] = before;
                const double got = (double)p.dx[i][j];
                if (!(fabs(got - expected) <= 2e-6 + 81 * EPS * fabs(expected)))
                    fail_msg("shape %zu: input %d, adjoint %lld is %.9g, differences give %.9g", n, i, (long long)j,
                             got, expected);
            }
        t_free_all();
    }
}

/* ---- rungs against the reference --------------------------------------------------------------------------------- */

static double largest(const float *x, int64_t n)
{
    double m = 0;
    for (int64_t i = 0; i < n; i++) m = fmax(m, fabs((double)x[i]));
    return m;
}

/* As in test_attention.c: a share of the largest result; a score is now four products and a number, and adjoints of
 * tables sum over all pairs of a run. */
static double share(const rfk_attention *a, int64_t terms)
{
    const double score = 6 * 4 * sqrt(3 * (double)(a->width + a->width2) + 6) * EPS / 2,
                 sum = 4 * sqrt((double)terms) * EPS / 2;
    return 4 * (2 * score + sum + 2 * EPS);
}

static void one(shape s)
{
    rfk_table k;
    problem p;
    make(&p, s);
    const rfk_attention *a = &p.a;
    const int64_t most = a->queries > a->keys ? a->queries : a->keys;
    float *out = NULL, *d[INPUTS] = {0};
    for (EACH_RUNG(k)) {
        k.attention(a, 0, a->queries, p.scratch);
        float *const got = copied(a->out, p.n[0], 0);
        back(&k, &p);
        const double left = 8 * sqrt((double)s.width) * EPS / (1 - (double)s.drop);
        for (int i = 0; i < INPUTS; i++) {
            float *const di = copied(p.dx[i], p.n[i], 0);
            if (!d[i]) {
                d[i] = di;
                continue;
            }
            const int64_t terms = i < 5 ? most : most * most;
            const double allowed = 2 * share(a, terms) * largest(d[i], p.n[i]) + sqrt((double)terms) * left;
            for (int64_t j = 0; j < p.n[i]; j++)
                if (!(fabs((double)di[j] - (double)d[i][j]) <= allowed))
                    fail_msg("%s: %lld x %lld, input %d, adjoint %lld: got %.9g, expected %.9g +- %.3g", k.isa,
                             (long long)a->queries, (long long)a->keys, i, (long long)j, (double)di[j], (double)d[i][j],
                             allowed);
        }
        if (!out) out = got;
        else t_close(got, out, p.n[0], share(a, a->keys) * largest(out, p.n[0]), 0);
    }
    t_check_fences();
    t_free_all();
}

static void every_size(void **state)
{
    (void)state;
    static const int64_t length[] = {1, 2, 7, 16, 63, 64, 65, 96, 97, 130, 200}, clip[] = {0, 1, 5, 16, 64, 199, 1000};
    for (size_t i = 0; i < RF_COUNT(length); i++)
        for (size_t j = 0; j < RF_COUNT(clip); j++)
            one((shape){.queries = length[i], .width = 16, .clip = clip[j], .tables = ALL});
    one((shape){.queries = 600, .width = 16, .clip = 599, .tables = ALL});
    one((shape){.queries = 600, .width = 16, .clip = 100, .tables = ALL, .causal = 1});
}

static void every_table(void **state)
{
    (void)state;
    static const int64_t width[] = {1, 5, 16, 24, 64, 72, 130};
    for (int tables = 0; tables <= ALL; tables++)
        for (size_t j = 0; j < RF_COUNT(width); j++) {
            one((shape){.queries = 70, .width = width[j], .width2 = tables % 3, .clip = 20, .tables = tables});
            one((shape){.queries = 110, .keys = 75, .width = width[j], .width2 = 17, .clip = 200, .tables = tables});
        }
}

static void every_mask(void **state)
{
    (void)state;
    static const int64_t size[][2] = {{100, 100}, {7, 150}, {150, 7}, {300, 300}, {1, 600}};
    for (size_t i = 0; i < RF_COUNT(size); i++)
        for (int causal = 0; causal < 2; causal++)
            for (int64_t window = 0; window < 200; window += 33)
                one((shape){.queries = size[i][0],
                            .keys = size[i][1],
                            .width = 24,
                            .clip = 40,
                            .tables = ALL,
                            .causal = causal,
                            .window = window,
                            .drop = window % 2 ? 0.2F : 0});
}

/* ---- bf16 -------------------------------------------------------------------------------------------------------- */

/* Half a unit of f32 and of bf16, as shares of a number, and what the fit of v_exp2_near is off by. */
static const double U = 0x1p-24, H = 0x1p-8, FIT = 2.7e-6;

/* q, k, v, the further columns, the tables of queries and keys and the result's adjoint become numbers that bf16 has,
 * and the scale one that keeps q such a number when it is in units of log 2: then nothing that is packed is rounded. */
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

/* Row t; returns how far a power may be off, as a share: its fit, and the roundings of a score of so many terms. */
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

/* What rounding powers, K P and dS to bf16, and sums in f32, may do to the result, e[9], and to the adjoints. */
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
        s.rotary = 0;                                             /* a rotated number is not one that bf16 has */
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

/* Rotated queries and keys meet the tables rotated: to bf16's digits, the result is that of f32.  Scores have sizes
 * below 8 here, so that what is rounded moves a score by less than 2 H 8, and a mean of values below 8 by twice
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

/* ---- bits and workspace ------------------------------------------------------------------------------------------ */

static void a_row_does_not_see_the_partition(void **state)
{
    (void)state;
    static const int64_t cut[] = {1, 5, 96, 333};
    rfk_table k;
    for (int i = 0; i < 4; i++) {
        problem p;
        make(&p,
             (shape){
                 .queries = 620, .width = 20, .width2 = 3, .clip = i % 2 ? 619 : 30, .tables = ALL, .causal = i / 2});
        const size_t bytes = rfk_attention_scratch(&p.a);
        for (EACH_RUNG(k)) {
            if (k_at == 0) continue;
            for (int type = 0; type < 2; type++) {
                void (*const attention)(const rfk_attention *, int64_t, int64_t, void *) =
                    type ? k.attention_bf16 : k.attention;
                attention(&p.a, 0, 620, p.scratch);
                const float *expected = copied(p.a.out, p.n[0], 0);
                for (size_t c = 0; c < RF_COUNT(cut); c++) {
                    memset(p.scratch, c % 2 ? 0x3F : 0, bytes);
                    for (int64_t t = 0; t < 620; t += cut[c])
                        attention(&p.a, t, t + cut[c] < 620 ? t + cut[c] : 620, p.scratch);
                    same_bits(p.a.out, expected, p.n[0], "out");
                }
            }
        }
        t_free_all();
    }
}

/* A table of zeros is no table, and one that is longer than the text may be cut. */
static void what_is_not_met_changes_nothing(void **state)
{
    (void)state;
    rfk_table k;
    problem p;
    make(&p, (shape){.queries = 90, .width = 32, .clip = 120, .tables = ALL});
    for (EACH_RUNG(k)) {
        k.attention(&p.a, 0, 90, p.scratch);
        const float *expected = copied(p.a.out, p.n[0], 0);
        rfk_relative cut = p.is;
        cut.clip = 89;
        cut.query += 31 * 32, cut.key += 31 * 32, cut.value += 31 * 32, cut.bias += 31;
        rfk_attention a = p.a;
        a.relative = &cut;
        k.attention(&a, 0, 90, p.scratch);
        same_bits(p.a.out, expected, p.n[0], "out");
    }
    t_free_all();
}

/* Scratch does not grow with the product of queries and keys. */
static void long_texts(void **state)
{
    (void)state;
    rfk_table k;
    problem p;
    make(&p, (shape){.queries = 30000, .width = 16, .clip = 29999, .tables = ALL});
    assert_true(rfk_attention_scratch(&p.a) < 2000000 + 30000 * 16);
    /* eight rows for each query */
    assert_true(rfk_attention_back_scratch(&p.a) < 2000000 + 30000 * 8 * 16 * sizeof(float));
    float *expected = NULL;
    for (EACH_RUNG(k)) {
        k.attention(&p.a, 29997, 30000, p.scratch);
        float *const last = copied(p.a.out + 29997 * 16, 48, 0);
        if (expected) t_close(last, expected, 48, share(&p.a, 30000) * fmax(largest(expected, 48), 0.01), 0);
        else expected = last;
    }
    t_free_all();
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_reference_is_the_formula), cmocka_unit_test(every_size),
        cmocka_unit_test(every_table),                  cmocka_unit_test(every_mask),
        cmocka_unit_test(everything_in_bf16),           cmocka_unit_test(rotated_rows_in_bf16),
        cmocka_unit_test(a_row_does_not_see_the_partition), cmocka_unit_test(what_is_not_met_changes_nothing),
        cmocka_unit_test(long_texts),
    };
    return cmocka_run_group_tests_name("kernel/attention_relate", tests, NULL, NULL);
}
