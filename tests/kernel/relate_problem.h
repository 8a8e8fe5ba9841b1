/* relate_problem.h — shared by the tests of attention with tables of offsets and additional columns, in f32 and in
 * bf16: problems, their adjoints, small shapes. */
#ifndef RELATE_PROBLEM_H
#define RELATE_PROBLEM_H

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

static inline void make(problem *p, shape s)
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
        p->a.cos = c, p->a.sin = i, p->a.q_row = p->a.k_row = row, p->a.rotary = 2, p->a.layout = RF_ROPE_PAIRS;
    }
    p->scratch = t_bytes(rfk_attention_scratch(&p->a));
    p->back_scratch = t_bytes(rfk_attention_back_scratch(&p->a));
}

static inline void back(const rfk_table *k, const problem *p)
{
    for (int i = 5; i < INPUTS; i++) memset(p->dx[i] ? p->dx[i] : p->a.out, 0, (size_t)p->n[i] * sizeof(float));
    k->attention_back(&p->a, &p->g, p->back_scratch);
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

static inline double largest(const float *x, int64_t n)
{
    double m = 0;
    for (int64_t i = 0; i < n; i++) m = fmax(m, fabs((double)x[i]));
    return m;
}

typedef void forward_kernel(const rfk_attention *a, int64_t first, int64_t last, void *scratch);
typedef void back_kernel(const rfk_attention *a, const rfk_attention_grad *g, void *scratch);

/* Queries, query_r and key_r of zeros, the same bias everywhere: every P is 1 over the number of visible keys. */
static inline void make_even(problem *p, shape s, double bias)
{
    make(p, s);
    const int zeros[] = {0, 5, 6};
    for (int i = 0; i < 3; i++)
        if (p->n[zeros[i]]) memset(p->x[zeros[i]], 0, (size_t)p->n[zeros[i]] * sizeof(float));
    for (int64_t r = 0; r < p->n[8]; r++) p->x[8][r] = (float)bias;
}

/* dv_s = sum_t o_t / (keys that t sees) over the queries that see s, and every adjoint is finite. */
static inline void even_weights(const char *isa, forward_kernel *forward, back_kernel *backward, shape s, double share)
{
    const int64_t T = s.queries, D = s.width;
    static const double bias[] = {0, 20, -40, 1.3e3, -1e5, 1e6, -5e6, 8e7, 1.3e9};
    for (size_t b = 0; b < RF_COUNT(bias); b++) {
        problem p;
        make_even(&p, s, bias[b]);
        double *dv = memset(t_bytes((size_t)p.n[2] * sizeof *dv), 0, (size_t)p.n[2] * sizeof *dv), most = 0;
        for (int i = 5; i < INPUTS; i++)
            if (p.n[i]) memset(p.dx[i], 0, (size_t)p.n[i] * sizeof(float));
        forward(&p.a, 0, T, p.scratch);
        backward(&p.a, &p.g, p.back_scratch);
        for (int64_t t = 0; t < T; t++) {
            const int64_t seen = s.causal ? t + 1 : T;
            for (int64_t n = 0; n < seen * D; n++) dv[n] += (double)p.g.d_out[t * D + n % D] / (double)seen;
        }
        for (int64_t i = 0; i < p.n[2]; i++) most = fmax(most, fabs(dv[i]));
        for (int64_t i = 0; i < p.n[2]; i++)
            if (!(fabs((double)p.dx[2][i] - dv[i]) <= share * most))
                fail_msg("%s: bias %g: dv[%lld] is %.9g, expected %.9g", isa, bias[b], (long long)i, (double)p.dx[2][i],
                         dv[i]);
        for (int j = 0; j < INPUTS; j++)
            for (int64_t i = 0; i < p.n[j]; i++) assert_true(isfinite(p.dx[j][i]));
        t_free_all();
    }
}

#endif
