/* test_muon.c — mirrors src/optim/muon.c: the formula in double, and its properties. */
#include "optim/optimizer.h"
#include "t.h"

enum { WIDE, TALL, SQUARE, WORDS, HEAD, VECTOR, PARAMETERS, MOST = 24 * 40, UPDATES = 6 };

static rf_param param_of(const char *name, int64_t rows, int64_t columns, size_t *at)
{
    const rf_param p = {.name = "", .rank = columns ? 2 : 1, .dim = {rows, columns}, .offset = *at,
                        .count = (size_t)(rows * (columns ? columns : 1)), .decay = columns > 0};
    rf_param named = p;
    snprintf(named.name, sizeof named.name, "%s", name);
    *at += (p.count + 15) / 16 * 16;
    return named;
}

static rf_params params_of(const rf_ctx *ctx, rf_param p[PARAMETERS])
{
    size_t total = 0;
    p[WIDE] = param_of("wide", 24, 40, &total);
    p[TALL] = param_of("tall", 40, 24, &total);
    p[SQUARE] = param_of("square", 24, 24, &total);
    p[WORDS] = param_of("words", 30, 24, &total);
    p[HEAD] = param_of("head", 7, 24, &total);
    p[VECTOR] = param_of("vector", 24, 0, &total);
    p[WORDS].layer = -1;
    p[WORDS].looked_up = p[HEAD].head = true;
    return (rf_params){.ctx = ctx, .n = PARAMETERS, .total = total, .p = p};
}

static const rf__rule usual = {.optim = RF_OPTIM_MUON, .beta1 = 0.9, .beta2 = 0.98, .epsilon = 1e-8, .decay = 0.1,
                               .momentum = 0.95};
static const double rate = 0.02, scale = 0.5;

static void draw(rf__optimizer *o, unsigned step, float size)
{
    rf_rng r;
    rf_rng_init(&r, 7, step);
    for (size_t i = 0; i < o->params->n; i++)
        for (size_t j = 0; j < o->params->p[i].count; j++)
            o->grad[o->params->p[i].offset + j] = size * (float)rf_rng_normal(&r);
}

/* ---- the formula in double, x [r,c] ---- */

static void newton_schulz(double *x, int r, int c)
{
    static double gram[40 * 40], next[MOST];
    double norm = 0;
    for (int i = 0; i < r * c; i++) norm += x[i] * x[i];
    for (int i = 0; i < r * c; i++) x[i] /= sqrt(norm) + 1e-7;
    for (int step = 0; step < 5; step++) {
        for (int i = 0; i < r; i++)                              /* X X^T, for any shape: (X X^T) X = X (X^T X) */
            for (int j = 0; j < r; j++) {
                gram[i * r + j] = 0;
                for (int k = 0; k < c; k++) gram[i * r + j] += x[i * c + k] * x[j * c + k];
            }
        double *const third = next, fifth[40];
        for (int k = 0; k < c; k++) {                               /* column by column: A x, then A (A x) */
            double first[40];
            for (int i = 0; i < r; i++) {
                first[i] = 0;
                for (int j = 0; j < r; j++) first[i] += gram[i * r + j] * x[j * c + k];
            }
            for (int i = 0; i < r; i++) {
                fifth[i] = 0;
                for (int j = 0; j < r; j++) fifth[i] += gram[i * r + j] * first[j];
                third[i * c + k] = 3.4445 * x[i * c + k] - 4.7750 * first[i] + 2.0315 * fifth[i];
            }
        }
        memcpy(x, next, (size_t)(r * c) * sizeof *x);
    }
}

static void expected_update(const rf_param *p, double *value, double *m, double *v, const float *grad, int t)
{
    const int n = (int)p->count, r = (int)p->dim[0], c = (int)p->dim[1];
    double u[MOST];
    if (strcmp(p->name, "wide") && strcmp(p->name, "tall") && strcmp(p->name, "square")) {
        for (int i = 0; i < n; i++) {
            const double g = scale * grad[i];
            m[i] = 0.9 * m[i] + 0.1 * g;
            v[i] = 0.98 * v[i] + 0.02 * g * g;
            value[i] -= rate * (m[i] / (1 - pow(0.9, t)) / (sqrt(v[i] / (1 - pow(0.98, t))) + 1e-8) +
                                (p->rank == 2 ? 0.1 : 0) * value[i]);
        }
        return;
    }
    for (int i = 0; i < n; i++) {
        const double g = scale * grad[i];
        m[i] = 0.95 * m[i] + 0.05 * g;
        u[i] = 0.95 * m[i] + 0.05 * g;
    }
    newton_schulz(u, r, c);
    for (int i = 0; i < n; i++) value[i] = (1 - 0.1 * rate) * value[i] - 0.2 * sqrt(r > c ? r : c) * rate * u[i];
}

/* In f32 a Newton-Schulz step rounds sums of at most 40 products of numbers below 1.3, by 2^-24 of their absolute sum
 * each, and multiplies earlier errors by at most 3.4445: the sum of 3.4445^k to k = 4 is 197, times some 40 2^-24. */
static void follows_the_formula(void **state)
{
    (void)state;
    static double value[PARAMETERS][MOST], m[PARAMETERS][MOST], v[PARAMETERS][MOST];
    rf_ctx *ctx = t_ctx(2, NULL);
    rf_param p[PARAMETERS];
    const rf_params params = params_of(ctx, p);
    rf__optimizer o;
    assert_int_equal(rf__optimizer_new(&params, &usual, &o, NULL), RF_OK);
    draw(&o, 99, 0.05F);
    memcpy(o.value, o.grad, params.total * sizeof *o.value);
    for (int i = 0; i < PARAMETERS; i++)
        for (size_t j = 0; j < p[i].count; j++) value[i][j] = o.value[p[i].offset + j], m[i][j] = v[i][j] = 0;
    const double slack = UPDATES * 0.2 * sqrt(40) * rate * 197 * 40 * 0x1p-24;
    for (int t = 1; t <= UPDATES; t++) {
        draw(&o, (unsigned)t, 0.01F);
        for (int i = 0; i < PARAMETERS; i++) expected_update(&p[i], value[i], m[i], v[i], o.grad + p[i].offset, t);
        assert_int_equal(rf__optimizer_update(&o, &(rf__step){rate, scale, t}, NULL), RF_OK);
    }
    for (int i = 0; i < PARAMETERS; i++) t_close_to(o.value + p[i].offset, value[i], (int64_t)p[i].count, slack, 0);
    rf__optimizer_free(&o);
    rf_ctx_free(ctx);
}

/* All directions of a matrix get nearly the same step: for a unit vector y, |X^T y| is between the smallest and the
 * largest singular value, which the five steps bring to between 0.3 and 1.3 (those that began above a thousandth). In
 * bf16 the relative error of numbers is up to 2^-9, and five steps stretch small directions by up to 3.4445 each: the
 * results are close to those of f32 but not equal. */
static void steps_are_nearly_orthogonal(void **state)
{
    (void)state;
    double exact[24 * 40], apart = 0, all = 0;
    for (int bf16 = 0; bf16 < 2; bf16++) {
        rf_ctx *ctx = t_ctx(1, NULL);
        rf_param p[PARAMETERS];
        const rf_params params = params_of(ctx, p);
        rf__rule rule = usual;
        rf__optimizer o;
        rf_rng r;
        rule.decay = 0;
        rule.bf16 = bf16;
        rf_rng_init(&r, 3, 3);
        assert_int_equal(rf__optimizer_new(&params, &rule, &o, NULL), RF_OK);
        draw(&o, 1, 1);
        assert_int_equal(rf__optimizer_update(&o, &(rf__step){1, 1, 1}, NULL), RF_OK);
        for (int i = 0; i < 24 * 40; i++) {
            const double x = o.value[p[WIDE].offset + (size_t)i];
            if (!bf16) exact[i] = x;
            apart += (x - exact[i]) * (x - exact[i]);
            all += x * x;
        }
        for (int trial = 0; trial < 50; trial++) {
            double y[24], norm = 0, sum = 0;
            for (int i = 0; i < 24; i++) {
                y[i] = rf_rng_normal(&r);
                norm += y[i] * y[i];
            }
            for (int k = 0; k < 40; k++) {
                double x = 0;
                for (int i = 0; i < 24; i++) x += o.value[p[WIDE].offset + (size_t)(i * 40 + k)] * y[i];
                sum += x * x;
            }
            const double length = sqrt(sum / norm) / (0.2 * sqrt(40));
            if (length < 0.3 || length > 1.3) fail_msg("bf16 %d: a direction's step is %g", bf16, length);
        }
        rf__optimizer_free(&o);
        rf_ctx_free(ctx);
    }
    if (!(apart > 1e-8 * all && apart < 1e-2 * all)) fail_msg("bf16 beside f32: %g of the step", sqrt(apart / all));
}

/* No gradient, no step: a matrix of zeros has no direction, and nothing is divided by 0. */
static void zeros_stay(void **state)
{
    (void)state;
    rf_ctx *ctx = t_ctx(1, NULL);
    rf_param p[PARAMETERS];
    const rf_params params = params_of(ctx, p);
    rf__optimizer o;
    assert_int_equal(rf__optimizer_new(&params, &usual, &o, NULL), RF_OK);
    assert_int_equal(rf__optimizer_update(&o, &(rf__step){rate, 1, 1}, NULL), RF_OK);
    for (size_t i = 0; i < params.total; i++) assert_true(!(o.value[i] > 0) && !(o.value[i] < 0));
    rf__optimizer_free(&o);
    rf_ctx_free(ctx);
}

/* Only parameters that AdamW updates have second moments, and their number is reported. */
static void keeps_what_it_says(void **state)
{
    (void)state;
    rf_ctx *ctx = t_ctx(1, NULL);
    rf_param p[PARAMETERS];
    const rf_params params = params_of(ctx, p);
    size_t second = 0;
    for (int i = 0; i < PARAMETERS; i++) second += rf__muon_floats(&p[i]);
    assert_int_equal(second, 30 * 24 + 7 * 24 + 24);
    const size_t scratch = 2 * 24 * 24 + 40 * 24;
    assert_int_equal(rf__muon_scratch(&params), scratch);
    t_near(rf__optimizer_bytes(&params, &usual, 4),
           sizeof(float) * (3.0 * (double)params.total + (double)(second + scratch)), 0);
    rf_ctx_free(ctx);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(follows_the_formula),
        cmocka_unit_test(steps_are_nearly_orthogonal),
        cmocka_unit_test(zeros_stay),
        cmocka_unit_test(keeps_what_it_says),
    };
    return cmocka_run_group_tests_name("optim/muon", tests, NULL, NULL);
}
