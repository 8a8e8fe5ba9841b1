/* test_softmax.c — mirrors src/kernel/bodies/softmax.inc and src/kernel/ref/softmax.c. */
#include "rungs.h"

#include <float.h>

/* The formula in double; returns log sum e^x. */
static double printed(double *y, const float *x, int64_t n)
{
    double top = (double)-INFINITY, sum = 0;
    for (int64_t i = 0; i < n; i++) top = fmax(top, x[i]);
    for (int64_t i = 0; i < n; i++) sum += exp(x[i] - top);
    for (int64_t i = 0; i < n; i++) y[i] = exp(x[i] - top) / sum;
    return log(sum) + top;
}

static double widest(const float *x, int64_t n)
{
    float low = INFINITY, high = -INFINITY;
    for (int64_t i = 0; i < n; i++) {
        low = fminf(low, x[i]);
        high = fmaxf(high, x[i]);
    }
    return n ? (double)high - (double)low : 0;
}

/* Of each result: half an ulp of the distance to the largest, exp, a sum of n/8 terms in a lane, a quotient. */
static double slack(const float *x, int64_t n) { return (widest(x, n) / 2 + (double)n / 16 + 5) * EPS; }

static void rows_are_as_printed(void **state)
{
    (void)state;
    for (size_t z = 0; z < RF_COUNT(sizes); z++)
        for (float range = 1; range < 200; range *= 6) {
            const int64_t n = sizes[z];
            const float *x = t_uniform(n, -range, range);
            double *expected = t_bytes((size_t)n * sizeof *expected);
            printed(expected, x, n);
            rfk_table k;
            for (EACH_RUNG(k)) {
                float *y = t_floats(n), *position = copied(x, n, 1);
                k.softmax(y, x, n);
                t_close_to(y, expected, n, 1e-43, slack(x, n));
                double sum = 0;
                for (int64_t i = 0; i < n; i++) sum += y[i];
                if (n) t_near(sum, 1, ((double)n / 16 + 5) * EPS);
                k.softmax(position, position, n);
                same_bits(position, y, n, "in place");
            }
            t_free_all();
        }
}

/* Rounding of the sum, of d and of the series; a term below e^-80 is left out. */
static void sums_in_double(void **state)
{
    (void)state;
    for (size_t z = 0; z < RF_COUNT(sizes); z++)
        for (float range = 1; range < 200; range *= 6) {
            const int64_t n = sizes[z];
            float *x = t_uniform(n, -range, range), top = -INFINITY;
            if (n > 5) x[4] = -INFINITY;
            for (int64_t i = 0; i < n; i++) top = fmaxf(top, x[i]);
            double expected = 0;
            for (int64_t i = 0; i < n; i++) expected += exp((double)x[i] - (double)top);
            rfk_table k;
            for (EACH_RUNG(k))
                t_near(k.sum_exp(x, n ? top : 0, n), expected, ((double)n + 16) * (DBL_EPSILON * expected + 2e-35));
            t_free_all();
        }
    rfk_table k;
    for (EACH_RUNG(k)) {
        float x[] = {1, NAN, 0}, high[] = {3e38f, 3e38f, -3e38f};
        assert_true(isnan(k.sum_exp(x, 1, 3)));
        t_near(k.sum_exp(high, 3e38f, 3), 2, 1e-15);
    }
}

static void huge_rows_do_not_overflow(void **state)
{
    (void)state;
    rfk_table k;
    for (EACH_RUNG(k)) {
        float x[] = {3e38f, -3e38f, 3e38f, -INFINITY}, far[40], flat[40];
        k.softmax(x, x, 4);
        t_near(x[0], 0.5, 0);
        t_near(x[2], 0.5, 0);
        assert_true(x[1] == 0 && x[3] == 0);
        for (int i = 0; i < 40; i++) {
            far[i] = 1e30f;
            flat[i] = -200;
        }
        flat[17] = 200;
        k.softmax(far, far, 40);
        k.softmax(flat, flat, 40);
        for (int i = 0; i < 40; i++) {
            t_near(far[i], 0.025, 2 * EPS * 0.025);
            t_near(flat[i], i == 17, 1e-43);
        }
    }
}

static void nan_shows(void **state)
{
    (void)state;
    rfk_table k;
    for (EACH_RUNG(k))
        for (int at = 0; at < 70; at += 23) {
            float *x = t_normal(70), *y = t_floats(70);
            int64_t best;
            x[at] = NAN;
            k.softmax(y, x, 70);
            assert_true(isnan(y[at]));
            assert_true(isnan(k.cross_entropy(x, 70, 5, 1, &best)));
            t_free_all();
        }
}

/* dx = y (dy - <y, dy>), and that this is the derivative of sum dy_i y_i(x). */
static void adjoints(void **state)
{
    (void)state;
    for (size_t z = 0; z < RF_COUNT(sizes); z++) {
        const int64_t n = sizes[z];
        const float *x = t_normal(n), *dy = t_normal(n);
        float *y = t_floats(n);
        double *expected = t_bytes((size_t)n * sizeof *expected), inner = 0, size = 0;
        rfk_table k;
        assert_true(rfk_rung(0, &k));
        k.softmax(y, x, n);
        for (int64_t i = 0; i < n; i++) {
            inner += (double)y[i] * dy[i];
            size += fabs((double)y[i] * dy[i]);
        }
        for (int64_t i = 0; i < n; i++) expected[i] = y[i] * (dy[i] - inner);
        for (EACH_RUNG(k)) {
            float *dx = t_floats(n), *position = copied(dy, n, 1);
            k.softmax_back(dx, dy, y, n);
            for (int64_t i = 0; i < n; i++)      /* the inner product's order, a difference, a product */
                t_near(dx[i], expected[i],
                       y[i] * EPS * (((double)n / 32 + 5) * size + 2 * (fabs(dy[i]) + fabs(inner))) + 1e-44);
            k.softmax_back(position, position, y, n);
            same_bits(position, dx, n, "in place");
        }
        t_free_all();
    }
}

static double weighed(const double *x, const float *dy, int n)
{
    double sum = 0, total = 0;
    for (int i = 0; i < n; i++) sum += exp(x[i]);
    for (int i = 0; i < n; i++) total += dy[i] * exp(x[i]) / sum;
    return total;
}

static void adjoints_are_derivatives(void **state)
{
    (void)state;
    enum { N = 21 };
    const double h = 1e-5;
    const float *x = t_normal(N), *dy = t_normal(N);
    double at[N];
    for (int i = 0; i < N; i++) at[i] = x[i];
    rfk_table k;
    for (EACH_RUNG(k)) {
        float *y = t_floats(N), *dx = t_floats(N);
        k.softmax(y, x, N);
        k.softmax_back(dx, dy, y, N);
        for (int i = 0; i < N; i++) {
            at[i] = x[i] + h;
            const double up = weighed(at, dy, N);
            at[i] = x[i] - h;
            const double down = weighed(at, dy, N);
            at[i] = x[i];
            t_near(dx[i], (up - down) / (2 * h), 20 * EPS);
        }
    }
    t_free_all();
}

/* ---- cross-entropy ----------------------------------------------------------------------------------------------- */

static void losses_and_gradients(void **state)
{
    (void)state;
    for (size_t z = 1; z < RF_COUNT(sizes); z++) {
        const int64_t n = sizes[z];
        const float *x = t_uniform(n, -20, 20), scale = 0.125f;
        double *p = t_bytes((size_t)n * sizeof *p), *expected = t_bytes((size_t)n * sizeof *expected);
        const double log_sum = printed(p, x, n);
        int64_t top = 0;
        for (int64_t i = 0; i < n; i++)
            if (x[i] > x[top]) top = i;
        for (int64_t label = 0; label < n; label += 1 + n / 5) {
            for (int64_t i = 0; i < n; i++) expected[i] = scale * (p[i] - (i == label));
            rfk_table k;
            for (EACH_RUNG(k)) {
                float *g = copied(x, n, label % 5);
                int64_t best = -1;
                const double loss = k.cross_entropy(g, n, label, scale, &best), true_loss = log_sum - x[label];
                /* the loss rounds once, and carries the relative error of the sum */
                t_near(loss, true_loss, slack(x, n) + EPS * true_loss);
                for (int64_t i = 0; i < n; i++)
                    t_near(g[i], expected[i], scale * (slack(x, n) * p[i] + EPS * (i == label)) + 1e-43);
                assert_int_equal(best, top);
            }
        }
        t_free_all();
    }
}

static void the_first_of_equals_is_best(void **state)
{
    (void)state;
    rfk_table k;
    for (EACH_RUNG(k))
        for (int64_t n = 1; n < 90; n += 11)
            for (int64_t first = 0; first < n; first++) {
                float *x = t_uniform(n, -1, 0);
                int64_t best;
                for (int64_t i = first; i < n; i += 5) x[i] = 3;
                k.cross_entropy(x, n, 0, 1, &best);
                assert_int_equal(best, first);
                t_free_all();
            }
}

static void extreme_logits_have_finite_losses(void **state)
{
    (void)state;
    rfk_table k;
    for (EACH_RUNG(k)) {
        float x[] = {1e30f, -1e30f, 0}, y[] = {-1000, 1000, -1000, 5};
        int64_t best;
        t_near(k.cross_entropy(x, 3, 1, 1, &best), 2e30, 2e30 * EPS);
        assert_true(x[0] == 1 && x[1] == -1 && x[2] == 0);
        t_near(k.cross_entropy(y, 4, 1, 1, &best), 0, 0);
        assert_int_equal(best, 1);
        t_near(y[1], 0, 0);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(rows_are_as_printed),
        cmocka_unit_test(sums_in_double),
        cmocka_unit_test(huge_rows_do_not_overflow),
        cmocka_unit_test(nan_shows),
        cmocka_unit_test(adjoints),
        cmocka_unit_test(adjoints_are_derivatives),
        cmocka_unit_test(losses_and_gradients),
        cmocka_unit_test(the_first_of_equals_is_best),
        cmocka_unit_test(extreme_logits_have_finite_losses),
    };
    return cmocka_run_group_tests_name("kernel/softmax", tests, NULL, NULL);
}
