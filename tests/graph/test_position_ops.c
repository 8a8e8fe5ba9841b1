/* test_position_ops.c — mirrors src/graph/ops: the operations for position encodings.  Values and gradients are
 * compared with the formulas in double (gradient.h).  The list below is checked; test_ops.c has the other
 * operations. */
#include "gradient.h"
#include "roformer/kernel/rope.h"

/* ---- mul, mix ---------------------------------------------------------------------------------------------------- */

static rf_tensor *mul_run(rf_graph *g, rf_tensor *const in[], const void *what)
{
    (void)what;
    return rf__mul(g, in[0], in[1]);
}

static void mul_formula(double *y, const double *const in[], const void *what)
{
    for (int64_t i = 0; i < *(const int64_t *)what; i++) y[i] = in[0][i] * in[1][i];
}

static void mul(void **state)
{
    (void)state;
    static const int64_t sizes[][2] = {{1, 1}, {3, 5}, {17, 33}};
    for (size_t i = 0; i < RF_COUNT(sizes); i++) {
        const int64_t n = sizes[i][0] * sizes[i][1];
        const t_shape s = {2, {sizes[i][0], sizes[i][1]}};
        t_gradient(&(t_gradient_case){.op = RF_OP_mul, .in = {s, s}, .ys = n, .depth = 2, .run = mul_run,
                                      .formula = mul_formula, .what = &n});
    }
}

struct mix { int64_t rows, width, n; int terms; };
static const float weight[] = {1, -0.5f, 2, 0.25f};
static const int32_t mixed[4][6] = {{0, 3, 1, 1, 2, 0}, {4, 4, 4, 0, 1, 2}, {1, 0, 3, 2, 2, 2}, {3, 3, 0, 1, 4, 4}};

static rf_tensor *mix_run(rf_graph *g, rf_tensor *const in[], const void *what)
{
    const struct mix *m = what;
    int32_t copy[4][6];
    const int32_t *id[4];
    memcpy(copy, mixed, sizeof copy);
    for (int k = 0; k < 4; k++) id[k] = copy[k];
    rf_tensor *y = rf__mix(g, in[0], m->terms, weight, id, m->n);
    memset(copy, 0x7f, sizeof copy);                             /* the caller's again */
    return y;
}

static void mix_formula(double *y, const double *const in[], const void *what)
{
    const struct mix *m = what;
    for (int64_t n = 0; n < m->n; n++)
        for (int64_t c = 0; c < m->width; c++) {
            y[n * m->width + c] = 0;
            for (int k = 0; k < m->terms; k++)
                y[n * m->width + c] += (double)weight[k] * in[0][mixed[k][n] * m->width + c];
        }
}

static void mix(void **state)
{
    (void)state;
    static const struct mix cases[] = {{5, 3, 6, 1}, {5, 17, 6, 3}, {5, 1, 4, 4}, {5, 130, 6, 2}};
    for (size_t i = 0; i < RF_COUNT(cases); i++)
        t_gradient(&(t_gradient_case){.op = RF_OP_mix,
                                      .in = {{2, {cases[i].rows, cases[i].width}}},
                                      .ys = cases[i].n * cases[i].width,
                                      .depth = 24,
                                      .run = mix_run,
                                      .formula = mix_formula,
                                      .what = &cases[i]});
}

/* ---- rotate_parts, rotate_learned -------------------------------------------------------------------------------- */

static const int32_t positions[] = {0, 7, 31, 49, 7};
enum { TABLE = 50 };

static double angle_of(int part, int64_t i, int64_t r) { return pow(100 + 50 * part, -2 * (double)i / (double)r); }
static double gain_of(int part, int64_t m)
{
    return part == 0 ? 1 + 0.01 * (double)m : part == 1 ? 1 / (1 + 0.01 * (double)m) : 1;
}

struct table { int part; int64_t r; };

static void angle(const void *what, int64_t row, int64_t i, double *out, double *gain)
{
    const struct table *t = what;
    *out = (double)row * angle_of(t->part, i, t->r);
    *gain = gain_of(t->part, row);
}

struct rotate_parts {
    int64_t N, parts, heads, rotated, D, r, tables;
    rf_rope_layout layout;
    int back;
    const rf_rope *rope[3];
    int64_t kv_heads;
};

static int64_t heads_of(const struct rotate_parts *t, int p) { return p && t->kv_heads ? t->kv_heads : t->heads; }

/* Heads of the parts before p. */
static int64_t heads_before(const struct rotate_parts *t, int p)
{
    return p ? heads_before(t, p - 1) + heads_of(t, p - 1) : 0;
}

static rf_tensor *rotate_parts_run(rf_graph *g, rf_tensor *const in[], const void *what)
{
    const struct rotate_parts *t = what;
    int32_t row[RF_COUNT(positions)];
    memcpy(row, positions, sizeof row);
    rf_rotate_parts_spec spec = {.parts = t->parts, .heads = t->heads, .rotated = t->rotated, .back = t->back,
                                 .kv_heads = t->kv_heads};
    for (int p = 0; p < t->tables; p++) {
        spec.rope[p] = t->rope[p];
        spec.row[p] = row;
    }
    rf_tensor *y = rf__rotate_parts(g, in[0], &spec);
    memset(row, 0x7f, sizeof row);
    return y;
}

static void rotate_parts_formula(double *y, const double *const in[], const void *what)
{
    const struct rotate_parts *t = what;
    const int64_t width = heads_before(t, (int)t->parts) * t->D;
    memcpy(y, in[0], (size_t)(t->N * width) * sizeof *y);
    for (int64_t n = 0; n < t->N; n++)
        for (int p = 0; p < t->tables; p++)
            for (int64_t h = 0; h < t->rotated && h < heads_of(t, p); h++)
                for (int64_t i = 0; i < t->r / 2; i++) {
                    const bool pairs = t->layout == RF_ROPE_PAIRS;
                    const int64_t at = n * width + (heads_before(t, p) + h) * t->D, a = at + (pairs ? 2 * i : i),
                                  b = at + (pairs ? 2 * i + 1 : i + t->r / 2);
                    const double m = positions[n], x0 = in[0][a], x1 = in[0][b], gain = gain_of(p, positions[n]);
                    const double phi = (t->back ? -1 : 1) * m * angle_of(p, i, t->r);
                    y[a] = gain * (cos(phi) * x0 - sin(phi) * x1);
                    y[b] = gain * (sin(phi) * x0 + cos(phi) * x1);
                }
}

static void rotate_parts(void **state)
{
    (void)state;
    static const struct rotate_parts cases[] = {
        {5, 3, 2, 2, 6, 6, 2, RF_ROPE_PAIRS, 0, {NULL}, 0}, {5, 3, 3, 1, 8, 4, 3, RF_ROPE_PAIRS, 0, {NULL}, 0},
        {4, 3, 2, 1, 10, 6, 2, RF_ROPE_HALVES, 0, {NULL}, 0}, {5, 1, 2, 2, 34, 34, 1, RF_ROPE_HALVES, 1, {NULL}, 0},
        {5, 3, 4, 4, 6, 6, 3, RF_ROPE_HALVES, 0, {NULL}, 2},
    };
    rf_ctx *ctx = t_ctx(1, NULL);
    for (size_t i = 0; i < RF_COUNT(cases); i++) {
        struct rotate_parts t = cases[i];
        rf_rope *made[3] = {0};
        rf_error why = {0};
        for (int p = 0; p < t.tables; p++) {
            if (rf_rope_make(ctx, t.r, t.layout, TABLE, angle, &(struct table){p, t.r}, &made[p], &why))
                fail_msg("%s", why.text);
            t.rope[p] = made[p];
        }
        const int64_t width = heads_before(&t, (int)t.parts) * t.D;
        t_gradient(&(t_gradient_case){.op = RF_OP_rotate_parts,
                                      .in = {{2, {t.N, width}}},
                                      .ys = t.N * width,
                                      .depth = 4,
                                      .run = rotate_parts_run,
                                      .formula = rotate_parts_formula,
                                      .what = &t});
        for (int p = 0; p < t.tables; p++) rf_rope_free(made[p]);
    }
    rf_ctx_free(ctx);
}

struct rotate_learned { int64_t N, parts, rotated, heads, D, r; bool each; };

static rf_tensor *rotate_learned_run(rf_graph *g, rf_tensor *const in[], const void *what)
{
    const struct rotate_learned *s = what;
    double theta[32];
    int32_t position[RF_COUNT(positions)];
    memcpy(position, positions, sizeof position);
    for (int64_t i = 0; i < s->r / 2; i++) theta[i] = 0.1 * angle_of(0, i, s->r);
    const rf_rotate_learned_spec spec = {s->parts, s->rotated, s->heads, theta, position};
    rf_tensor *y = rf__rotate_learned(g, in[0], in[1], &spec);
    memset(theta, 0x7f, sizeof theta);
    memset(position, 0x7f, sizeof position);
    return y;
}

static void rotate_learned_formula(double *y, const double *const in[], const void *what)
{
    const struct rotate_learned *s = what;
    const int64_t width = s->parts * s->heads * s->D;
    memcpy(y, in[0], (size_t)(s->N * width) * sizeof *y);
    for (int64_t n = 0; n < s->N; n++)
        for (int64_t h = 0; h < s->rotated * s->heads; h++)
            for (int64_t i = 0; i < s->r / 2; i++) {
                const double w = in[1][s->each ? n * (s->r / 2) + i : i],
                             phi = positions[n] * 0.1 * angle_of(0, i, s->r) * (1 + w);
                const int64_t at = n * width + h * s->D + 2 * i;
                y[at] = cos(phi) * in[0][at] - sin(phi) * in[0][at + 1];
                y[at + 1] = sin(phi) * in[0][at] + cos(phi) * in[0][at + 1];
            }
}

/* depth: 4 for the rotation; an angle up to 49 * 0.1 * 4 enters dw as a factor, and w itself is an f32: the gradient's
 * sum has heads * N terms. */
static void rotate_learned(void **state)
{
    (void)state;
    static const struct rotate_learned cases[] = {
        {5, 3, 2, 2, 6, 4, false}, {5, 1, 1, 1, 8, 8, true}, {4, 3, 2, 1, 34, 34, false}};
    for (size_t i = 0; i < RF_COUNT(cases); i++) {
        const struct rotate_learned *s = &cases[i];
        const int64_t width = s->parts * s->heads * s->D;
        t_gradient(&(t_gradient_case){
            .op = RF_OP_rotate_learned,
            .in = {{2, {s->N, width}}, s->each ? (t_shape){2, {s->N, s->r / 2}} : (t_shape){1, {s->r / 2}}},
            .ys = s->N * width,
            .depth = 40,
            .run = rotate_learned_run,
            .formula = rotate_learned_formula,
            .what = s});
    }
}

/* ---- unfold, recur ----------------------------------------------------------------------------------------------- */

struct window { int64_t N, W, before, after, B; int32_t start[5]; };

static rf_tensor *unfold_run(rf_graph *g, rf_tensor *const in[], const void *what)
{
    const struct window *w = what;
    int32_t start[5];
    memcpy(start, w->start, sizeof start);
    rf_tensor *y = rf__unfold(g, in[0], w->before, w->after, start, w->B);
    memset(start, 0x7f, sizeof start);
    return y;
}

static void unfold_formula(double *y, const double *const in[], const void *what)
{
    const struct window *w = what;
    for (int64_t b = 0; b < w->B; b++)
        for (int64_t n = w->start[b]; n < w->start[b + 1]; n++)
            for (int64_t j = -w->before; j <= w->after; j++)
                for (int64_t c = 0; c < w->W; c++) {
                    const bool inside = n + j >= w->start[b] && n + j < w->start[b + 1];
                    y[(n * (w->before + w->after + 1) + j + w->before) * w->W + c] =
                        inside ? in[0][(n + j) * w->W + c] : 0;
                }
}

static void unfold(void **state)
{
    (void)state;
    static const struct window cases[] = {{7, 3, 1, 1, 2, {0, 4, 7}}, {6, 17, 2, 2, 3, {0, 1, 1, 6}},
                                          {5, 2, 0, 0, 1, {0, 5}},    {2, 5, 4, 4, 1, {0, 2}},
                                          {7, 2, 2, 0, 2, {0, 4, 7}}, {5, 3, 0, 3, 1, {0, 5}}};
    for (size_t i = 0; i < RF_COUNT(cases); i++) {
        const struct window *w = &cases[i];
        t_gradient(&(t_gradient_case){.op = RF_OP_unfold,
                                      .in = {{2, {w->N, w->W}}},
                                      .ys = w->N * w->W * (w->before + w->after + 1),
                                      .depth = 9,
                                      .run = unfold_run,
                                      .formula = unfold_formula,
                                      .what = w});
    }
}

static rf_tensor *recur_run(rf_graph *g, rf_tensor *const in[], const void *what)
{
    const struct window *w = what;
    int32_t start[5];
    memcpy(start, w->start, sizeof start);
    rf_tensor *y = rf__recur(g, in[0], in[1], start, w->B);
    memset(start, 0x7f, sizeof start);
    return y;
}

static void recur_formula(double *y, const double *const in[], const void *what)
{
    const struct window *w = what;
    for (int64_t b = 0; b < w->B; b++)
        for (int64_t n = w->start[b]; n < w->start[b + 1]; n++)
            for (int64_t i = 0; i < w->W; i++) {
                double sum = in[0][n * w->W + i];
                for (int64_t j = 0; j < w->W && n > w->start[b]; j++)
                    sum += in[1][i * w->W + j] * y[(n - 1) * w->W + j];
                y[n * w->W + i] = tanh(sum);
            }
}

/* depth: a chain of n tokens of W products each, which |U| may widen. */
static void recur(void **state)
{
    (void)state;
    static const struct window cases[] = {
        {7, 3, 0, 0, 2, {0, 4, 7}}, {6, 5, 0, 0, 3, {0, 1, 1, 6}}, {5, 1, 0, 0, 1, {0, 5}}, {4, 17, 0, 0, 1, {0, 4}}};
    for (size_t i = 0; i < RF_COUNT(cases); i++) {
        const struct window *w = &cases[i];
        t_gradient(&(t_gradient_case){.op = RF_OP_recur,
                                      .in = {{2, {w->N, w->W}}, {2, {w->W, w->W}}},
                                      .ys = w->N * w->W,
                                      .depth = 20 * (double)(w->W + w->N),
                                      .run = recur_run,
                                      .formula = recur_formula,
                                      .what = w});
    }
}

/* ---- flow -------------------------------------------------------------------------------------------------------- */

struct flow { rf_flow_kind how; int64_t T, W, F; };

static rf_tensor *flow_run(rf_graph *g, rf_tensor *const in[], const void *what)
{
    const struct flow *f = what;
    return rf__flow(g, f->how, 0.125, in[0], in[1], in[2], f->T);
}

static void slope(double *out, const double *p, double t, const double *a, const double *b, const struct flow *f)
{
    for (int64_t i = 0; i < f->W; i++) out[i] = b[i * (f->F + 1) + f->F];
    for (int64_t j = 0; j < f->F; j++) {
        double z = a[j * (f->W + 2) + f->W] * t + a[j * (f->W + 2) + f->W + 1];
        for (int64_t i = 0; i < f->W; i++) z += a[j * (f->W + 2) + i] * p[i];
        for (int64_t i = 0; i < f->W; i++) out[i] += b[i * (f->F + 1) + j] * tanh(z);
    }
}

static void flow_formula(double *y, const double *const in[], const void *what)
{
    const struct flow *f = what;
    const double s = 0.125;
    double h[4][32], at[32];
    memcpy(y, in[0], (size_t)f->W * sizeof *y);
    for (int64_t k = 0; k + 1 < f->T; k++) {
        const double *p = y + k * f->W, t = s * (double)k;
        double *next = y + (k + 1) * f->W;
        for (int64_t i = 0; i < f->W && f->how == RF_FLOW_RECURSION; i++) {
            double z = in[1][i * (f->W + 1) + f->W];
            for (int64_t j = 0; j < f->W; j++) z += in[1][i * (f->W + 1) + j] * p[j];
            next[i] = tanh(z);
        }
        if (f->how == RF_FLOW_RECURSION) continue;
        slope(h[0], p, t, in[1], in[2], f);
        for (int j = 1; j < 4; j++) {
            const double c = j == 3 ? 1 : 0.5;
            for (int64_t i = 0; i < f->W; i++) at[i] = p[i] + s * c * h[j - 1][i];
            slope(h[j], at, t + s * c, in[1], in[2], f);
        }
        for (int64_t i = 0; i < f->W; i++)
            next[i] = p[i] +
                      (f->how == RF_FLOW_EULER ? s * h[0][i] : s / 6 * (h[0][i] + 2 * h[1][i] + 2 * h[2][i] + h[3][i]));
    }
}

/* depth: T steps of up to 4 stages of W + F products. */
static void flow(void **state)
{
    (void)state;
    static const struct flow cases[] = {
        {RF_FLOW_RECURSION, 6, 3, 3}, {RF_FLOW_RECURSION, 1, 4, 4}, {RF_FLOW_EULER, 7, 4, 3}, {RF_FLOW_EULER, 1, 2, 2},
        {RF_FLOW_RUNGE_KUTTA, 5, 3, 5}, {RF_FLOW_RUNGE_KUTTA, 3, 17, 6},
    };
    for (size_t i = 0; i < RF_COUNT(cases); i++) {
        const struct flow *f = &cases[i];
        const bool recursion = f->how == RF_FLOW_RECURSION;
        t_gradient(&(t_gradient_case){
            .op = RF_OP_flow,
            .ys = f->T * f->W,
            .depth = 4 * (double)(f->T * (f->W + f->F)),
            .run = flow_run,
            .formula = flow_formula,
            .what = f,
            .in = {{1, {f->W}}, {2, {f->F, f->W + (recursion ? 1 : 2)}}, {recursion ? 0 : 2, {f->W, f->F + 1}}}});
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(mul),
        cmocka_unit_test(mix),
        cmocka_unit_test(rotate_parts),
        cmocka_unit_test(rotate_learned),
        cmocka_unit_test(unfold),
        cmocka_unit_test(recur),
        cmocka_unit_test(flow),
    };
    return cmocka_run_group_tests_name("graph/position_ops", tests, NULL, NULL);
}
