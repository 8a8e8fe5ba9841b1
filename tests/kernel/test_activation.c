/* test_activation.c — mirrors src/kernel/bodies/activation.inc, src/kernel/isa/vec_math.h and
 * src/kernel/ref/activation.c; mirrors src/kernel/acts.c.
 *
 * Tolerances are relative to the result, even if it is small, in units of EPS = 2^-23.  They consist of: for exp, half
 * an ulp for each rounding of its argument (half of |argument| EPS of its value) and 1 EPS of its own; about 4 EPS for
 * a quotient of polynomials with positive coefficients; half an EPS for each division, product or sum.  Results below
 * 1e-36 may be inaccurate, because e^x underflows there.                                                             */
#include <fenv.h>

#include "kernel/acts.h"
#include "rungs.h"

typedef double function(double x);
typedef void forward(float *, const float *, int64_t);
typedef void backward(float *, const float *, const float *, int64_t);

static double phi(double x) { return 0.5 * erfc(-x * sqrt(0.5)); }
static double density(double x) { return exp(-x * x / 2) / sqrt(2 * acos(-1)); }
static double sigmoid(double x) { return 1 / (1 + exp(-x)); }
static double twice_u(double x) { return 2 * sqrt(2 / acos(-1)) * (x + 0.044715 * x * x * x); }
static double slope_of_twice_u(double x) { return 2 * sqrt(2 / acos(-1)) * (1 + 3 * 0.044715 * x * x); }

static double gelu(double x) { return x * phi(x); }
static double gelu_slope(double x) { return phi(x) + x * density(x); }
static double gelu_tanh(double x) { return x * sigmoid(twice_u(x)); }
static double gelu_tanh_slope(double x)
{
    return sigmoid(twice_u(x)) + x * sigmoid(twice_u(x)) * sigmoid(-twice_u(x)) * slope_of_twice_u(x);
}
static double relu(double x) { return x > 0 ? x : 0; }
static double relu_slope(double x) { return x > 0; }
static double silu(double x) { return x * sigmoid(x); }
static double silu_slope(double x) { return sigmoid(x) * (1 + x * sigmoid(-x)); }
static double tanh_slope(double x) { return 1 / cosh(x) / cosh(x); }
static double quick_gelu(double x) { return x * sigmoid(1.702 * x); }
static double quick_gelu_slope(double x) { return sigmoid(1.702 * x) * (1 + 1.702 * x * sigmoid(-1.702 * x)); }
static double soft(double x) { return x > 30 ? x : log1p(exp(x)); }
static double mish(double x) { return x * tanh(soft(x)); }
static double mish_slope(double x) { return tanh(soft(x)) + x * sigmoid(x) * tanh_slope(soft(x)); }

/* Allowed error of a result in EPS; for derivatives that are a difference, of the larger term. */
static double gelu_slack(double x) { return (8 + x * x / 2) * fabs(gelu(x)); }
static double gelu_slope_slack(double x) { return (8 + x * x / 2) * (phi(x) + fabs(x) * density(x)); }
static double gelu_tanh_slack(double x) { return (6 + 1.5 * fabs(twice_u(x))) * fabs(gelu_tanh(x)); }
static double gelu_tanh_slope_slack(double x)
{
    const double s = sigmoid(twice_u(x));
    return (8 + 1.5 * fabs(twice_u(x))) * s * (1 + fabs(x * slope_of_twice_u(x)) * (1 - s));
}
static double silu_slack(double x) { return 6 * fabs(silu(x)); }
static double silu_slope_slack(double x) { return 6 * sigmoid(x) * (1 + fabs(x)); }
static double tanh_slack(double x) { return 4 * fabs(tanh(x)); }
static double tanh_slope_slack(double x) { return 8 * tanh_slope(x); }
/* 1.702 and its product with x are rounded. */
static double quick_gelu_slack(double x) { return (6 + 2 * fabs(x)) * fabs(quick_gelu(x)); }
static double quick_gelu_slope_slack(double x)
{
    return (6 + 2 * fabs(x)) * sigmoid(1.702 * x) * (1 + 1.702 * fabs(x));
}
static double mish_slack(double x) { return 8 * fabs(mish(x)); }
static double mish_slope_slack(double x)
{
    return 12 * (tanh(soft(x)) + fabs(x) * sigmoid(x) * tanh_slope(soft(x)));
}
static double none(double x) { return 0 * x; }

static const struct { const char *name; size_t forward, backward; function *f, *slope, *slack, *slope_slack; } row[] = {
#define ROW(name) {#name, offsetof(rfk_table, name), offsetof(rfk_table, name##_back)
    ROW(gelu), gelu, gelu_slope, gelu_slack, gelu_slope_slack},
    ROW(gelu_tanh), gelu_tanh, gelu_tanh_slope, gelu_tanh_slack, gelu_tanh_slope_slack},
    ROW(relu), relu, relu_slope, none, none},
    ROW(silu), silu, silu_slope, silu_slack, silu_slope_slack},
    ROW(tanh), tanh, tanh_slope, tanh_slack, tanh_slope_slack},
    ROW(quick_gelu), quick_gelu, quick_gelu_slope, quick_gelu_slack, quick_gelu_slope_slack},
    ROW(mish), mish, mish_slope, mish_slack, mish_slope_slack},
#undef ROW
};

static forward *forward_of(const rfk_table *k, size_t i)
{
    forward *f;
    memcpy(&f, (const char *)k + row[i].forward, sizeof f);
    return f;
}

static backward *backward_of(const rfk_table *k, size_t i)
{
    backward *f;
    memcpy(&f, (const char *)k + row[i].backward, sizeof f);
    return f;
}

/* Each row of acts.def has the kernels and the formula of the same row above, which ends where acts.def does. */
static void rows_name_their_kernels(void **state)
{
    (void)state;
    const rfk_table *k = &rfk_ref;
    assert_int_equal(RF__ACTS, RF_COUNT(row) + 1);
    assert_true(!rf__act_row(RF_ACT_NONE) && !rf__act_row((rf_act)RF__ACTS) && !rf__act_row((rf_act)-1));
    assert_true(!rf__kernels_of_act(k, RF_ACT_NONE).forward && !rf__kernels_of_act(k, RF_ACT_NONE).back);
    for (size_t a = 0; a < RF_COUNT(row); a++) {
        const rf_act act = (rf_act)(a + 1);
        assert_true(rf__kernels_of_act(k, act).forward == forward_of(k, a));
        assert_true(rf__kernels_of_act(k, act).back == backward_of(k, a));
        for (double x = -6; x < 6; x += 0.037) t_near(rf__act_row(act)->of(x), row[a].f(x), 1e-14);
    }
}

/* -100 to 100, dense near 0, and the ends of the format. */
static float *arguments(int64_t n)
{
    static const float special[] = {0,      -0.0f,   1e-45f, -1e-45f, 1e-38f, -1e-38f, 1e-20f,  -1e-20f, 1,  -1,
                                    0.625f, -0.625f, 13.9f,  -13.9f,  14.1f,  -14.1f,  88,      -88,     89, -89,
                                    104,    -104,    1e4f,   -1e4f,   1e30f,  -1e30f,  FLT_MAX, -FLT_MAX};
    float *x = t_uniform(n, -1, 1);
    for (int64_t i = 0; i < n; i++) x[i] = i % 3 ? 6 * x[i] : 100 * x[i] * x[i] * x[i];
    for (size_t i = 0; i < RF_COUNT(special) && (int64_t)i < n; i++) x[(int64_t)i * 31 % n] = special[i];
    return x;
}

static void check(const char *isa, const char *name, float x, double got, double expected, double slack)
{
    if (fabs(got - expected) <= EPS * slack + 1e-35) return;
    fail_msg("%s %s(%.9g): got %.9g, expected %.9g, off by %.3g of %.3g", isa, name, (double)x, got, expected,
             fabs(got - expected), EPS * slack);
}

static void values_and_slopes(void **state)
{
    (void)state;
    const int64_t n = 20011;
    const float *x = arguments(n), *one = t_uniform(n, 1, 1);
    rfk_table k;
    for (EACH_RUNG(k))
        for (size_t a = 0; a < RF_COUNT(row); a++) {
            float *y = t_floats(n), *dx = t_floats(n);
            forward_of(&k, a)(y, x, n);
            backward_of(&k, a)(dx, one, x, n);
            for (int64_t i = 0; i < n; i++) {
                const double rounding = 0.5;
                const double f = row[a].f(x[i]), s = row[a].slope(x[i]);
                if (fabsf(x[i]) < 1e15f || a == 2) {          /* beyond this, x^3 overflows in double */
                    check(k.isa, row[a].name, x[i], y[i], f, row[a].slack(x[i]) + rounding * fabs(f));
                    check(k.isa, "slope", x[i], dx[i], s, row[a].slope_slack(x[i]) + rounding * fabs(s));
                } else {                                       /* all of them are 0, x or 1 there */
                    const double limit = a == 4 ? (x[i] > 0 ? 1 : -1) : relu(x[i]);
                    check(k.isa, row[a].name, x[i], y[i], limit, 0);
                    check(k.isa, "slope", x[i], dx[i], a == 4 ? 0 : relu_slope(x[i]), 0);
                }
            }
        }
    t_free_all();
}

#ifdef FE_UNDERFLOW             /* WebAssembly does not report it */
/* Numbers far from 0 are not slower than others: GELU's formulas have no subnormal intermediate results, which take 150
 * cycles on Intel processors. */
static void no_step_of_gelu_is_subnormal(void **state)
{
    (void)state;
    const int64_t n = 4096;
    float *x = t_uniform(n, -1, 1);
    const float *one = t_uniform(n, 1, 1);
    for (int64_t i = 0; i < n; i++) x[i] = copysignf(0.01f + 99 * fabsf(x[i]), x[i]);
    rfk_table k;
    for (EACH_RUNG(k)) {
        float *y = t_floats(n);
        if (!strcmp(k.isa, "ref")) continue;
        feclearexcept(FE_UNDERFLOW);
        k.gelu(y, x, n);
        if (fetestexcept(FE_UNDERFLOW)) fail_msg("%s: a step of gelu was subnormal", k.isa);
        k.gelu_back(y, one, x, n);
        if (fetestexcept(FE_UNDERFLOW)) fail_msg("%s: a step of gelu_back was subnormal", k.isa);
        k.gelu_tanh(y, x, n);
        if (fetestexcept(FE_UNDERFLOW)) fail_msg("%s: a step of gelu_tanh was subnormal", k.isa);
    }
    t_free_all();
}
#endif

/* The derivatives belong to the values: central differences in double, with errors of h^2/6 f''' and rounding / h. */
static void slopes_are_derivatives(void **state)
{
    (void)state;
    const double h = 1e-5;
    for (size_t a = 0; a < RF_COUNT(row); a++)
        for (double x = -8.003; x < 8; x += 0.0371)
            t_near((row[a].f(x + h) - row[a].f(x - h)) / (2 * h), row[a].slope(x), 1e-9);
}

/* The result for a number depends neither on its position, nor on its neighbors, nor on whether it is in a tail. */
static void every_number_stands_alone(void **state)
{
    (void)state;
    for (size_t z = 0; z < RF_COUNT(sizes); z++) {
        const int64_t n = sizes[z];
        const float *x = arguments(n), *dy = t_normal(n);
        rfk_table k;
        for (EACH_RUNG(k))
            for (size_t a = 0; a < RF_COUNT(row); a++) {
                float *y = t_floats(n), *dx = t_floats(n), *alone = t_floats(n), *position = copied(x, n, 1);
                float *adjoint = copied(dy, n, 3);
                forward_of(&k, a)(y, x, n);
                backward_of(&k, a)(dx, dy, x, n);
                for (int64_t i = 0; i < n; i++) forward_of(&k, a)(alone + i, x + i, 1);
                same_bits(alone, y, n, row[a].name);
                for (int64_t i = 0; i < n; i++) backward_of(&k, a)(alone + i, dy + i, x + i, 1);
                same_bits(alone, dx, n, row[a].name);
                forward_of(&k, a)(position, position, n);
                same_bits(position, y, n, "in place");
                backward_of(&k, a)(adjoint, adjoint, x, n);
                same_bits(adjoint, dx, n, "adjoint in place");
            }
        t_free_all();
    }
}

/* The adjoint is derivative times dy: one rounding more than with dy = 1. */
static void adjoints_are_slopes_times_dy(void **state)
{
    (void)state;
    const int64_t n = 777;
    const float *x = t_uniform(n, -9, 9), *one = t_uniform(n, 1, 1), *dy = t_normal(n);
    rfk_table k;
    for (EACH_RUNG(k))
        for (size_t a = 0; a < RF_COUNT(row); a++) {
            float *slope = t_floats(n), *dx = t_floats(n);
            double *expected = t_bytes((size_t)n * sizeof *expected);
            backward_of(&k, a)(slope, one, x, n);
            backward_of(&k, a)(dx, dy, x, n);
            for (int64_t i = 0; i < n; i++) expected[i] = (double)slope[i] * dy[i];
            t_close_to(dx, expected, n, 1e-36, EPS);
        }
    t_free_all();
}

static void nan_stays_nan(void **state)
{
    (void)state;
    float x[33], y[33];
    rfk_table k;
    for (EACH_RUNG(k))
        for (size_t a = 0; a < RF_COUNT(row); a++) {
            for (int i = 0; i < 33; i++) x[i] = NAN;
            forward_of(&k, a)(y, x, 33);
            for (int i = 0; i < 33; i++)
                if (!isnan(y[i])) fail_msg("%s: %s(NaN) is %g", k.isa, row[a].name, (double)y[i]);
        }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(rows_name_their_kernels),
        cmocka_unit_test(values_and_slopes),
#ifdef FE_UNDERFLOW
        cmocka_unit_test(no_step_of_gelu_is_subnormal),
#endif
        cmocka_unit_test(slopes_are_derivatives),
        cmocka_unit_test(every_number_stands_alone),
        cmocka_unit_test(adjoints_are_slopes_times_dy),
        cmocka_unit_test(nan_stays_nan),
    };
    return cmocka_run_group_tests_name("kernel/activation", tests, NULL, NULL);
}
