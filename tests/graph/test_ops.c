/* test_ops.c — mirrors src/graph/ops: values and gradients of every operation are compared with its formula in double;
 * losses are in test_losses.c, rotation and attention in test_attention_ops.c.
 *
 * The formulas below repeat those at the top of the operations' files, with plain loops. */
#include "gradient.h"

static double act_of(rf_act act, double x)
{
    switch (act) {
    case RF_ACT_NONE: return x;
    case RF_ACT_GELU: return x / 2 * (1 + erf(x / sqrt(2)));
    case RF_ACT_GELU_TANH: return x / 2 * (1 + tanh(sqrt(2 / acos(-1)) * (x + 0.044715 * x * x * x)));
    case RF_ACT_RELU: return x > 0 ? x : 0;
    case RF_ACT_SILU: return x / (1 + exp(-x));
    case RF_ACT_TANH: return tanh(x);
    case RF_ACT_QUICK_GELU: return x / (1 + exp(-1.702 * x));
    case RF_ACT_MISH: return x * tanh(log(1 + exp(x)));
    }
    return NAN;
}

/* ---- linear ------------------------------------------------------------------------------------------------------ */

struct linear { int64_t N, K, M; rf_act act; bool bias; };

static rf_tensor *linear_run(rf_graph *g, rf_tensor *const in[], const void *what)
{
    const struct linear *l = what;
    return rf__linear(g, in[0], in[1], in[2], l->act);
}

static void linear_formula(double *y, const double *const in[], const void *what)
{
    const struct linear *l = what;
    for (int64_t n = 0; n < l->N; n++)
        for (int64_t m = 0; m < l->M; m++) {
            double sum = l->bias ? in[2][m] : 0;
            for (int64_t k = 0; k < l->K; k++) sum += in[0][n * l->K + k] * in[1][m * l->K + k];
            y[n * l->M + m] = act_of(l->act, sum);
        }
}

/* depth: K products and sums, and an activation that is right to 8 roundings; N of them in dw. */
static void linear(void **state)
{
    (void)state;
    static const struct linear cases[] = {
        {3, 4, 5, RF_ACT_NONE, true},      {1, 1, 1, RF_ACT_GELU, true},     {7, 3, 2, RF_ACT_GELU, false},
        {2, 17, 9, RF_ACT_GELU_TANH, true}, {5, 6, 19, RF_ACT_RELU, true},    {4, 5, 6, RF_ACT_SILU, true},
        {33, 5, 3, RF_ACT_TANH, true},     {150, 3, 2, RF_ACT_NONE, true},   {2, 3, 140, RF_ACT_GELU, true},
        {4, 6, 7, RF_ACT_QUICK_GELU, true}, {5, 4, 3, RF_ACT_MISH, true},
    };
    for (size_t i = 0; i < RF_COUNT(cases); i++) {
        const struct linear *l = &cases[i];
        t_gradient(&(t_gradient_case){
            .op = RF_OP_linear, .ys = l->N * l->M, .depth = (double)(l->K + l->N + 8), .what = l, .run = linear_run,
            .formula = linear_formula,
            .in = {{2, {l->N, l->K}}, {2, {l->M, l->K}}, {l->bias ? 1 : 0, {l->M}}}});
    }
}

/* Rows [first, first + M) of `rows`. */
struct linear_part { struct linear l; int64_t first, rows; };

static rf_tensor *linear_part_run(rf_graph *g, rf_tensor *const in[], const void *what)
{
    const struct linear_part *p = what;
    return rf__linear_part(g, in[0], in[1], in[2], p->first, p->l.M, p->l.act);
}

static void linear_part_formula(double *y, const double *const in[], const void *what)
{
    const struct linear_part *p = what;
    linear_formula(y, (const double *const[]){in[0], in[1] + p->first * p->l.K, in[2] ? in[2] + p->first : NULL},
                   &p->l);
}

static void linear_part(void **state)
{
    (void)state;
    static const struct linear_part cases[] = {
        {{3, 4, 5, RF_ACT_NONE, true}, 5, 15},
        {{7, 3, 2, RF_ACT_GELU, false}, 1, 3},
        {{5, 6, 19, RF_ACT_NONE, true}, 0, 40},
    };
    for (size_t i = 0; i < RF_COUNT(cases); i++) {
        const struct linear_part *p = &cases[i];
        t_gradient(
            &(t_gradient_case){.op = RF_OP_linear,
                               .ys = p->l.N * p->l.M,
                               .depth = (double)(p->l.K + p->l.N + 8),
                               .what = p,
                               .run = linear_part_run,
                               .formula = linear_part_formula,
                               .in = {{2, {p->l.N, p->l.K}}, {2, {p->rows, p->l.K}}, {p->l.bias ? 1 : 0, {p->rows}}}});
    }
}

/* ---- add, activate, dropout -------------------------------------------------------------------------------------- */

struct flat { int64_t n; rf_act act; double p; int64_t dims[3]; };

static rf_tensor *add_run(rf_graph *g, rf_tensor *const in[], const void *what)
{
    (void)what;
    return rf__add(g, in[0], in[1]);
}

static void add_formula(double *y, const double *const in[], const void *what)
{
    for (int64_t i = 0; i < ((const struct flat *)what)->n; i++) y[i] = in[0][i] + in[1][i];
}

/* x + (x + x): x gets three adjoints, one by copy, one by adoption, one by addition. */
static rf_tensor *thrice_run(rf_graph *g, rf_tensor *const in[], const void *what)
{
    (void)what;
    rf_tensor *x = rf__activate(g, in[0], RF_ACT_TANH);
    return rf__add(g, x, rf__add(g, x, x));
}

static void thrice_formula(double *y, const double *const in[], const void *what)
{
    for (int64_t i = 0; i < ((const struct flat *)what)->n; i++) y[i] = 3 * tanh(in[0][i]);
}

static void add(void **state)
{
    (void)state;
    static const struct flat cases[] = {{.n = 6}, {.n = 77}, {.n = 1}};
    for (size_t i = 0; i < RF_COUNT(cases); i++) {
        const t_shape s = {1, {cases[i].n}};
        t_gradient(&(t_gradient_case){.op = RF_OP_add, .in = {s, s}, .ys = s.dim[0], .depth = 1, .run = add_run,
                                      .formula = add_formula, .what = &cases[i]});
        t_gradient(&(t_gradient_case){.op = RF_OP_add, .in = {s}, .ys = s.dim[0], .depth = 12, .run = thrice_run,
                                      .formula = thrice_formula, .what = &cases[i]});
    }
}

static rf_tensor *activate_run(rf_graph *g, rf_tensor *const in[], const void *what)
{
    return rf__activate(g, in[0], ((const struct flat *)what)->act);
}

static void activate_formula(double *y, const double *const in[], const void *what)
{
    const struct flat *f = what;
    for (int64_t i = 0; i < f->n; i++) y[i] = act_of(f->act, in[0][i]);
}

static void activate(void **state)
{
    (void)state;
    for (int act = RF_ACT_NONE; act < RF__ACTS; act++) {
        const struct flat f = {.n = 2 * 3 * 19, .act = (rf_act)act};
        t_gradient(&(t_gradient_case){.op = RF_OP_activate, .in = {{3, {2, 3, 19}}}, .ys = f.n, .depth = 8,
                                      .run = activate_run, .formula = activate_formula, .what = &f});
    }
}

/* in[0]: x [N,2M], or x [N,K] with w [2M,K] and b [2M] */
struct gate { int64_t N, M, K; rf_act act; rf_gate_order order; };

static rf_tensor *gate_run(rf_graph *g, rf_tensor *const in[], const void *what)
{
    const struct gate *s = what;
    return s->K ? rf__gated_linear(g, in[0], in[1], in[2], s->act, s->order) : rf__gate(g, in[0], s->act, s->order);
}

static double half_of(const struct gate *s, const double *const in[], int64_t n, int64_t column)
{
    if (!s->K) return in[0][n * 2 * s->M + column];
    double sum = in[2][column];
    for (int64_t k = 0; k < s->K; k++) sum += in[0][n * s->K + k] * in[1][column * s->K + k];
    return sum;
}

static void gate_formula(double *y, const double *const in[], const void *what)
{
    const struct gate *s = what;
    const int64_t gate = s->order == RF_GATE_FIRST ? 0 : s->M, up = s->M - gate;
    for (int64_t n = 0; n < s->N; n++)
        for (int64_t m = 0; m < s->M; m++)
            y[n * s->M + m] = act_of(s->act, half_of(s, in, n, gate + m)) * half_of(s, in, n, up + m);
}

static void gate(void **state)
{
    (void)state;
    static const struct gate cases[] = {
        {3, 5, 0, RF_ACT_SILU, RF_GATE_FIRST},  {4, 17, 0, RF_ACT_GELU, RF_GATE_SECOND},
        {1, 1, 0, RF_ACT_NONE, RF_GATE_FIRST},  {2, 40, 0, RF_ACT_RELU, RF_GATE_SECOND},
        {5, 7, 6, RF_ACT_SILU, RF_GATE_SECOND}, {3, 20, 4, RF_ACT_GELU_TANH, RF_GATE_FIRST},
    };
    for (size_t i = 0; i < RF_COUNT(cases); i++) {
        const struct gate *s = &cases[i];
        const t_shape x = {2, {s->N, 2 * s->M}}, narrow = {2, {s->N, s->K}};
        const t_shape w = {2, {2 * s->M, s->K}}, b = {1, {2 * s->M}};
        t_gradient_case c = {.op = RF_OP_gate, .in = {x}, .ys = s->N * s->M, .depth = 10, .run = gate_run,
                             .formula = gate_formula, .what = s};
        if (s->K) {
            c.in[0] = narrow;
            c.in[1] = w;
            c.in[2] = b;
            c.depth = (double)(2 * s->K + s->N + 18);
        }
        t_gradient(&c);
    }
}

static rf_tensor *dropout_run(rf_graph *g, rf_tensor *const in[], const void *what)
{
    rf_tensor *once = rf__dropout(g, in[0], 0.25);               /* number 0 of the step, then number 1 */
    return rf__dropout(g, once, ((const struct flat *)what)->p);
}

static void dropout_formula(double *y, const double *const in[], const void *what)
{
    const struct flat *f = what;
    for (int64_t i = 0; i < f->n; i++)
        y[i] = in[0][i] * t_kept(0.25, 0, (uint64_t)i) * (f->p > 0 ? t_kept(f->p, 1, (uint64_t)i) : 1);
}

static void dropout(void **state)
{
    (void)state;
    static const struct flat cases[] = {{.n = 37 * 5, .p = 0.5}, {.n = 5, .p = 0.1}, {.n = 60, .p = 0}};
    for (size_t i = 0; i < RF_COUNT(cases); i++)
        t_gradient(&(t_gradient_case){.op = RF_OP_dropout,
                                      .in = {{2, {cases[i].n / 5, 5}}},
                                      .ys = cases[i].n,
                                      .depth = 4,
                                      .run = dropout_run,
                                      .formula = dropout_formula,
                                      .what = &cases[i]});
}

/* ---- embed and rows: gathers ------------------------------------------------------------------------------------- */

static const int32_t some_rows[] = {3, 0, 3, 3, 6, 1, 0, 5, 3};
struct gather { int64_t rows, width, n; bool embed; };

static rf_tensor *gather_run(rf_graph *g, rf_tensor *const in[], const void *what)
{
    const struct gather *r = what;
    int32_t id[RF_COUNT(some_rows)];                             /* theirs only during the call */
    memcpy(id, some_rows, sizeof id);
    rf_tensor *y = r->embed ? rf__embed(g, in[0], id, r->n) : rf__rows(g, in[0], id, r->n);
    memset(id, 0x7f, sizeof id);
    return y;
}

static void gather_formula(double *y, const double *const in[], const void *what)
{
    const struct gather *r = what;
    for (int64_t i = 0; i < r->n; i++)
        for (int64_t c = 0; c < r->width; c++) y[i * r->width + c] = in[0][some_rows[i] * r->width + c];
}

static void gathers(void **state)
{
    (void)state;
    static const struct gather cases[] = {{7, 5, 9, true}, {8, 1, 1, true}, {7, 130, 9, true},
                                          {7, 5, 9, false}, {8, 1, 1, false}, {7, 257, 6, false}};
    for (size_t i = 0; i < RF_COUNT(cases); i++) {
        const struct gather *r = &cases[i];
        t_gradient(&(t_gradient_case){.op = r->embed ? RF_OP_embed : RF_OP_rows, .in = {{2, {r->rows, r->width}}},
                                      .ys = r->n * r->width, .depth = 9, .run = gather_run, .formula = gather_formula,
                                      .what = r});
    }
}

/* ---- pool -------------------------------------------------------------------------------------------------------- */

struct pool { int64_t B, C; int32_t start[5]; rf_pooling how; };

static rf_tensor *pool_run(rf_graph *g, rf_tensor *const in[], const void *what)
{
    const struct pool *p = what;
    int32_t start[5];
    memcpy(start, p->start, sizeof start);
    rf_tensor *y = rf__pool(g, in[0], start, p->B, p->how);
    memset(start, 0x7f, sizeof start);
    return y;
}

static void pool_formula(double *y, const double *const in[], const void *what)
{
    const struct pool *p = what;
    for (int64_t b = 0; b < p->B; b++)
        for (int64_t c = 0; c < p->C; c++) {
            double sum = 0, rising = 0, most = -HUGE_VAL;
            const double T = p->start[b + 1] - p->start[b];
            for (int32_t n = p->start[b]; n < p->start[b + 1]; n++) {
                sum += in[0][n * p->C + c];
                rising += (n - p->start[b] + 1) * in[0][n * p->C + c];
                most = fmax(most, in[0][n * p->C + c]);
            }
            const double first = in[0][p->start[b] * p->C + c], last = in[0][(p->start[b + 1] - 1) * p->C + c];
            y[b * p->C + c] = p->how == RF_POOL_CLS        ? first
                              : p->how == RF_POOL_MEAN     ? sum / T
                              : p->how == RF_POOL_MAX      ? most
                              : p->how == RF_POOL_SQRT     ? sum / sqrt(T)
                              : p->how == RF_POOL_WEIGHTED ? rising / (T * (T + 1) / 2)
                                                           : last;
        }
}

static void pool(void **state)
{
    (void)state;
    for (int how = RF_POOL_CLS; how <= RF_POOL_WEIGHTED; how++) {
        const struct pool cases[] = {{3, 5, {0, 4, 5, 12}, (rf_pooling)how}, {1, 17, {0, 3}, (rf_pooling)how},
                                     {4, 1, {0, 1, 2, 3, 9}, (rf_pooling)how}};
        for (size_t i = 0; i < RF_COUNT(cases); i++) {
            const struct pool *p = &cases[i];
            t_gradient(&(t_gradient_case){.op = RF_OP_pool, .in = {{2, {p->start[p->B], p->C}}}, .ys = p->B * p->C,
                                          .depth = 10, .run = pool_run, .formula = pool_formula, .what = p});
        }
    }
}

/* ---- norm -------------------------------------------------------------------------------------------------------- */

struct norm { int64_t N, C; rf_norm_kind kind; double p; bool residual, gamma, beta; };

static rf_tensor *norm_run(rf_graph *g, rf_tensor *const in[], const void *what)
{
    const struct norm *s = what;
    return rf__norm(g, in[0], in[1], s->p, in[2], in[3], 1e-5, s->kind);
}

static void norm_formula(double *y, const double *const in[], const void *what)
{
    const struct norm *s = what;
    const int64_t C = s->C;
    for (int64_t n = 0; n < s->N; n++) {
        double *row = y + n * C, mean = 0, variance = 0;
        for (int64_t c = 0; c < C; c++) {
            row[c] = in[0][n * C + c] * (s->p > 0 ? t_kept(s->p, 0, (uint64_t)(n * C + c)) : 1);
            if (s->residual) row[c] += in[1][n * C + c];
            mean += s->kind == RF_NORM_LAYER ? row[c] / (double)C : 0;
        }
        for (int64_t c = 0; c < C; c++) variance += (row[c] - mean) * (row[c] - mean) / (double)C;
        for (int64_t c = 0; c < C; c++) {
            row[c] = (row[c] - mean) / sqrt(variance + (double)1e-5f);
            if (s->gamma) row[c] *= in[2][c] + (s->kind == RF_NORM_RMS_ONE);
            if (s->beta) row[c] += in[3][c];
        }
    }
}

/* depth: sums over C, over N for dgamma, and two dozen operations around them. */
static void norm(void **state)
{
    (void)state;
    static const struct norm cases[] = {
        {4, 6, RF_NORM_LAYER, 0, false, true, true},  {3, 19, RF_NORM_LAYER, 0, true, true, true},
        {20, 5, RF_NORM_LAYER, 0.3, true, true, true}, {5, 16, RF_NORM_LAYER, 0.5, false, true, false},
        {70, 3, RF_NORM_LAYER, 0, true, false, false}, {6, 7, RF_NORM_RMS, 0, true, true, false},
        {18, 20, RF_NORM_RMS, 0.2, true, true, true},  {1, 33, RF_NORM_RMS, 0, false, true, false},
        {9, 12, RF_NORM_RMS_ONE, 0, true, true, false}, {5, 7, RF_NORM_RMS_ONE, 0, false, false, false},
    };
    for (size_t i = 0; i < RF_COUNT(cases); i++) {
        const struct norm *s = &cases[i];
        t_gradient(&(t_gradient_case){.op = RF_OP_norm,
                                      .ys = s->N * s->C,
                                      .depth = (double)(24 + s->C + s->N),
                                      .run = norm_run,
                                      .formula = norm_formula,
                                      .what = s,
                                      .in = {{2, {s->N, s->C}},
                                             {s->residual ? 2 : 0, {s->N, s->C}},
                                             {s->gamma ? 1 : 0, {s->C}},
                                             {s->beta ? 1 : 0, {s->C}}}});
    }
}

/* The residual is the input itself: one tensor gets both adjoints. */
static rf_tensor *twice_run(rf_graph *g, rf_tensor *const in[], const void *what)
{
    (void)what;
    return rf__norm(g, in[0], in[0], 0, in[2], in[3], 1e-5, RF_NORM_LAYER);
}

static void twice_formula(double *y, const double *const in[], const void *what)
{
    double twice[64];
    for (int64_t i = 0; i < ((const struct norm *)what)->N * ((const struct norm *)what)->C; i++)
        twice[i] = 2 * in[0][i];
    norm_formula(y, (const double *const[]){twice, NULL, in[2], in[3]}, what);
}

static void norm_of_itself(void **state)
{
    (void)state;
    static const struct norm s = {4, 9, RF_NORM_LAYER, 0, false, true, true};
    t_gradient(&(t_gradient_case){.op = RF_OP_norm, .in = {{2, {4, 9}}, {0}, {1, {9}}, {1, {9}}}, .ys = 36, .depth = 40,
                                  .run = twice_run, .formula = twice_formula, .what = &s});
}

/* ---- recompute --------------------------------------------------------------------------------------------------- */

/* y = dropout(tanh(x w^T)) + x, where x and w need gradients: x is the argument, w is used inside. */
static rf_tensor *stretch(rf_graph *g, rf_tensor *x, const void *arg)
{
    rf_tensor *const *w = arg;
    return rf__add(g, rf__dropout(g, rf__linear(g, x, *w, NULL, RF_ACT_TANH), 0.25), x);
}

static rf_tensor *recompute_run(rf_graph *g, rf_tensor *const in[], const void *what)
{
    (void)what;
    rf_tensor *h = rf__recompute(g, in[0], stretch, &in[1], sizeof in[1]);
    return rf__recompute(g, h, stretch, &in[1], sizeof in[1]);
}

static void recompute_formula(double *y, const double *const in[], const void *what)
{
    const struct linear *l = what;
    double h[64];
    for (uint32_t lap = 0; lap < 2; lap++) {
        memcpy(h, lap ? y : in[0], (size_t)(l->N * l->K) * sizeof *h);
        for (int64_t n = 0; n < l->N; n++)
            for (int64_t m = 0; m < l->K; m++) {
                double sum = 0;
                for (int64_t k = 0; k < l->K; k++) sum += h[n * l->K + k] * in[1][m * l->K + k];
                y[n * l->K + m] = h[n * l->K + m] + tanh(sum) * t_kept(0.25, lap, (uint64_t)(n * l->K + m));
            }
    }
}

static void recompute(void **state)
{
    (void)state;
    static const struct linear cases[] = {{.N = 3, .K = 4}, {.N = 1, .K = 1}, {.N = 10, .K = 6}};
    for (size_t i = 0; i < RF_COUNT(cases); i++) {
        const struct linear *l = &cases[i];
        t_gradient(&(t_gradient_case){.op = RF_OP_recompute,
                                      .ys = l->N * l->K,
                                      .depth = (double)(4 * (l->K + l->N) + 24),
                                      .what = l,
                                      .run = recompute_run,
                                      .formula = recompute_formula,
                                      .in = {{2, {l->N, l->K}}, {2, {l->K, l->K}}}});
    }
}

/* ---- experts ----------------------------------------------------------------------------------------------------- */

struct experts { int64_t N, C, F, E, top; rf_act act; bool bias; };

static rf_tensor *experts_run(rf_graph *g, rf_tensor *const in[], const void *what)
{
    const struct experts *l = what;
    return rf__experts(g, in[0], in[1], l->top, in[2], l->act, in[3], in[4]);
}

static double expert(const struct experts *l, const double *x, const double *up, const double *down, int64_t c)
{
    double y = 0;
    for (int64_t f = 0; f < l->F; f++) {
        double sum = 0;
        for (int64_t k = 0; k < l->C; k++) sum += x[k] * up[f * l->C + k];
        y += act_of(l->act, sum) * down[f * l->C + c];
    }
    return y;
}

static void experts_formula(double *y, const double *const in[], const void *what)
{
    const struct experts *l = what;
    for (int64_t n = 0; n < l->N; n++) {
        const double *z = in[1] + n * l->E;
        double sum = 0;
        for (int64_t e = 0; e < l->E; e++) sum += exp(z[e]);
        for (int64_t c = 0; c < l->C; c++) {
            double *to = &y[n * l->C + c];
            *to = l->bias ? in[4][c] : 0;
            for (int64_t e = 0; e < l->E; e++) {
                int64_t better = 0;
                for (int64_t j = 0; j < l->E; j++) better += z[j] > z[e] || (j < e && z[j] >= z[e]);
                if (better < l->top)
                    *to += exp(z[e]) / sum * expert(l, in[0] + n * l->C, in[2] + e * l->F * l->C,
                                                    in[3] + e * l->F * l->C, c);
            }
        }
    }
}

/* depth: two products of C and F, the sum over a token's experts, and the softmax, which is computed in double. */
static void experts(void **state)
{
    (void)state;
    static const struct experts cases[] = {
        {5, 3, 4, 4, 2, RF_ACT_GELU, true},  {1, 2, 3, 1, 1, RF_ACT_SILU, true},  {9, 4, 2, 3, 1, RF_ACT_GELU, false},
        {3, 5, 6, 2, 2, RF_ACT_TANH, true},  {40, 3, 2, 8, 3, RF_ACT_NONE, true}, {2, 4, 3, 16, 2, RF_ACT_GELU, true},
    };
    for (size_t i = 0; i < RF_COUNT(cases); i++) {
        const struct experts *l = &cases[i];
        t_gradient(&(t_gradient_case){.op = RF_OP_experts,
                                      .ys = l->N * l->C,
                                      .depth = (double)(4 * (l->C + l->F + l->N + l->E) + 32),
                                      .what = l,
                                      .run = experts_run,
                                      .formula = experts_formula,
                                      .in = {{2, {l->N, l->C}}, {2, {l->N, l->E}}, {2, {l->E * l->F, l->C}},
                                             {2, {l->E * l->F, l->C}}, {l->bias ? 1 : 0, {l->C}}}});
    }
}

/* A dry graph counts the same products: `top` experts for each row. */
static void experts_cost(void **state)
{
    (void)state;
    enum { N = 12, C = 3, F = 5, E = 4, TOP = 2 };
    static float x[N * C], z[N * E], w[E * F * C];
    for (int i = 0; i < N * E; i++) z[i] = (float)(i * 7 % 11);
    for (int dry = 0; dry < 2; dry++) {
        rf_ctx *ctx = t_ctx(2, NULL);
        rf_graph *g = t_graph(ctx);
        if (dry) rf__graph_dry(g);
        rf_tensor *m = rf__constant(g, w, 2, (int64_t[]){E * F, C});
        rf__experts(g, rf__constant(g, x, 2, (int64_t[]){N, C}), rf__constant(g, z, 2, (int64_t[]){N, E}), TOP, m,
                    RF_ACT_GELU, m, NULL);
        assert_int_equal(rf__graph_error(g)->code, RF_OK);
        assert_true(rf__graph_flops(g) == 4.0 * N * TOP * C * F);
        rf__graph_free(g);
        rf_ctx_free(ctx);
    }
}

static void experts_refuse(void **state)
{
    (void)state;
    enum { N = 2, C = 3, F = 5, E = 4 };
    static float x[N * C], z[N * E], w[E * F * C];
    static const struct { int64_t rows, up, down, top; rf_status code; const char *part; } all[] = {
        {N, E * F, E * F, E + 1, RF_ERANGE, "expected 1 to 4 of them"}, {N, E * F, E * F, 0, RF_ERANGE, "got 0 for 2"},
        {N, E * F - 1, E * F, 1, RF_ESHAPE, "experts: up: expected ... 4 rows of 3, got 19 of 3"},
        {N, E * F, E, 1, RF_ESHAPE, "experts: down: expected 20 ... got 4"},
        {N - 1, E * F, E * F, 1, RF_ESHAPE, "experts: z: expected 2 rows"},
    };
    for (size_t i = 0; i < RF_COUNT(all); i++) {
        rf_ctx *ctx = t_ctx(1, NULL);
        rf_graph *g = t_graph(ctx);
        rf_tensor *up = rf__constant(g, w, 2, (int64_t[]){all[i].up, C});
        rf__experts(g, rf__constant(g, x, 2, (int64_t[]){N, C}), rf__constant(g, z, 2, (int64_t[]){all[i].rows, E}),
                    all[i].top, up, RF_ACT_GELU, rf__constant(g, w, 2, (int64_t[]){all[i].down, C}), NULL);
        t_failed(rf__graph_error(g), all[i].code, all[i].part);
        rf__graph_free(g);
        rf_ctx_free(ctx);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(linear),
        cmocka_unit_test(linear_part),
        cmocka_unit_test(add),
        cmocka_unit_test(activate),
        cmocka_unit_test(gate),
        cmocka_unit_test(dropout),
        cmocka_unit_test(gathers),
        cmocka_unit_test(pool),
        cmocka_unit_test(norm),
        cmocka_unit_test(norm_of_itself),
        cmocka_unit_test(recompute),
        cmocka_unit_test(experts),
        cmocka_unit_test(experts_cost),
        cmocka_unit_test(experts_refuse),
    };
    return cmocka_run_group_tests_name("graph/ops", tests, NULL, NULL);
}
