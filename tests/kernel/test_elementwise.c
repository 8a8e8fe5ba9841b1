/* test_elementwise.c — mirrors src/kernel/bodies/elementwise.inc, src/kernel/bodies/reduce.inc and
 * src/kernel/ref/elementwise.c. */
#include "rungs.h"

/* One rounding each: the same bits as plain C. */
static void sums_and_products(void **state)
{
    (void)state;
    for (size_t z = 0; z < RF_COUNT(sizes); z++) {
        const int64_t n = sizes[z];
        const float *a = t_normal(n), *b = copied(t_normal(n), n, 1), c = 0.3f;
        float *sum = t_floats(n), *product = t_floats(n), *scaled = t_floats(n);
        double *along = t_bytes((size_t)n * sizeof *along);
        double largest = 0;
        for (int64_t i = 0; i < n; i++) {
            sum[i] = a[i] + b[i];
            product[i] = a[i] * b[i];
            scaled[i] = c * a[i];
            along[i] = b[i] + (double)c * a[i];
            largest = fmax(largest, fabs((double)c * a[i]));
        }
        rfk_table k;
        for (EACH_RUNG(k)) {
            float *y = t_floats(n), *odd = t_floats(n + 3) + 3, *at_b = copied(b, n, 0);
            k.add(y, a, b, n);
            same_bits(y, sum, n, "add");
            k.add(at_b, a, at_b, n);
            same_bits(at_b, sum, n, "add in place");
            k.mul(odd, a, b, n);
            same_bits(odd, product, n, "mul");
            k.scale(y, a, c, n);
            same_bits(y, scaled, n, "scale");
            at_b = copied(b, n, 2);
            k.axpy(at_b, c, a, n);
            t_close_to(at_b, along, n, EPS / 2 * largest, EPS);     /* one rounding of the sum, one of the product */
        }
        t_free_all();
    }
}

/* A lane adds at most n/16 + 8 terms one after another, each with half an ulp of the current sum. */
static double order_error(int64_t n, double magnitude) { return ((double)n / 16 + 8) * EPS / 2 * magnitude; }

static void reductions(void **state)
{
    (void)state;
    for (size_t z = 0; z < RF_COUNT(sizes); z++) {
        const int64_t n = sizes[z];
        const float *a = t_normal(n), *b = t_normal(n);
        double dot = 0, dot_size = 0, sum = 0, sum_size = 0, squares = 0, top = (double)-INFINITY;
        for (int64_t i = 0; i < n; i++) {
            dot += (double)a[i] * b[i];
            dot_size += fabs((double)a[i] * b[i]);
            sum += a[i];
            sum_size += fabsf(a[i]);
            squares += (double)a[i] * a[i];
            top = fmax(top, a[i]);
        }
        rfk_table k;
        for (EACH_RUNG(k)) {
            t_near(k.dot(a, b, n), dot, order_error(n, dot_size));
            t_near(k.sum(a, n), sum, order_error(n, sum_size));
            t_near(k.sumsq(a, n), squares, (double)(n + 1) * 0x1p-52 * squares);
            if (k.largest(a, n) != (float)top) fail_msg("%s: largest of %lld", k.isa, (long long)n);
        }
        t_free_all();
    }
}

/* The same numbers at another address, and between other neighbors, give the same bits. */
static void reductions_do_not_see_addresses(void **state)
{
    (void)state;
    for (size_t z = 0; z < RF_COUNT(sizes); z++) {
        const int64_t n = sizes[z];
        const float *a = t_normal(n), *b = t_normal(n);
        rfk_table k;
        for (EACH_RUNG(k)) {
            const float dot = k.dot(a, b, n), sum = k.sum(a, n);
            const double squares = k.sumsq(a, n);
            for (int64_t shift = 1; shift < 18; shift += 4) {
                const float *moved = copied(a, n, shift), *other = copied(b, n, 18 - shift);
                const float dot2 = k.dot(moved, other, n), sum2 = k.sum(moved, n);
                const double squares2 = k.sumsq(moved, n);
                same_bits(&dot, &dot2, 1, "dot");
                same_bits(&sum, &sum2, 1, "sum");
                same_bits(&squares, &squares2, 2, "sumsq");
            }
        }
        t_free_all();
    }
}

static void the_largest_is_found_anywhere(void **state)
{
    (void)state;
    rfk_table k;
    for (EACH_RUNG(k)) {
        assert_true(k.largest(NULL, 0) == -INFINITY);
        for (int64_t n = 1; n < 100; n++) {
            float *x = t_uniform(n, -3, -2);
            for (int64_t i = 0; i < n; i++) {
                const float kept = x[i];
                x[i] = -1;
                if (k.largest(x, n) != -1) fail_msg("%s: largest of %lld, at %lld", k.isa, (long long)n, (long long)i);
                x[i] = kept;
            }
            t_free_all();
        }
    }
}

static void finite_finds_the_one_that_is_not(void **state)
{
    (void)state;
    const float bad[] = {INFINITY, -INFINITY, NAN, -NAN};
    rfk_table k;
    for (EACH_RUNG(k)) {
        assert_true(k.finite(NULL, 0));
        for (int64_t n = 1; n < 80; n += 3) {
            float *x = t_uniform(n, -1, 1);
            x[0] = FLT_MAX;
            x[n / 2] = -FLT_MAX;
            x[n - 1] = 1e-45f;
            assert_true(k.finite(x, n));
            for (int64_t i = 0; i < n; i++) {
                const float kept = x[i];
                x[i] = bad[i % 4];
                if (k.finite(x, n))
                    fail_msg("%s: %g at %lld of %lld passed", k.isa, (double)x[i], (long long)i, (long long)n);
                x[i] = kept;
            }
            t_free_all();
        }
    }
}

/* In double, so that squares of large floats neither overflow nor absorb the small ones. */
static void squares_are_summed_in_double(void **state)
{
    (void)state;
    rfk_table k;
    for (EACH_RUNG(k)) {
        const float x[] = {1e30f, 1, 1, 1e30f}, y[] = {4096, 1e-4f};
        t_near(k.sumsq(x, 4) / (2 * (double)1e30f * (double)1e30f), 1, 1e-15);
        t_near(k.sumsq(y, 2) - 16777216, 1e-8, 4e-9);
    }
}

/* The error of the exponential is 4 roundings of its size and of its argument; tails as elsewhere. */
static void powers(void **state)
{
    (void)state;
    for (size_t z = 0; z < RF_COUNT(sizes); z++) {
        const int64_t n = sizes[z];
        const float *a = t_normal(n);
        rfk_table k;
        for (EACH_RUNG(k)) {
            float *y = t_floats(n + 3) + 3, *in_place = copied(a, n, 1);
            k.exp(y, a, 1.5f, 0.25f, n);
            k.exp(in_place, in_place, 1.5f, 0.25f, n);
            same_bits(y, in_place, n, "exp in place");
            for (int64_t i = 0; i < n; i++) {
                const double power = exp((double)a[i] - 1.5);
                t_near((double)y[i], power + 0.25, EPS * (power * (4 + fabs((double)a[i] - 1.5)) + 0.25));
            }
        }
        t_check_fences();
        t_free_all();
    }
}

/* Many small terms added to a large one: two floats keep what one would lose, and a change of unit is exact. */
static void sums_in_two_floats(void **state)
{
    (void)state;
    for (size_t z = 0; z < RF_COUNT(sizes); z++) {
        const int64_t n = sizes[z];
        rfk_table k;
        for (EACH_RUNG(k)) {
            float *high = copied(t_uniform(n, 1000, 2000), n, 1), *low = copied(t_normal(n), n, 2);
            double *sum = t_bytes((size_t)n * sizeof *sum);
            for (int64_t i = 0; i < n; i++) low[i] = 0, sum[i] = (double)high[i];
            for (int round = 0; round < 200; round++) {
                const float *x = t_uniform(n, -1e-3f, 2e-3f), unit = round == 100 ? 0.125f : 1;
                for (int64_t i = 0; i < n; i++) sum[i] = (double)unit * sum[i] + (double)x[i];
                k.accumulate(high, low, unit, x, n);
            }
            for (int64_t i = 0; i < n; i++) {
                t_near((double)high[i] + (double)low[i], sum[i], 200 * EPS * EPS * 2000);
                assert_true(fabs((double)low[i]) <= EPS / 2 * fabs((double)high[i]));
            }
            t_check_fences();
            t_free_all();
        }
    }
}

/* Products, and their sum: n roundings of the sum of their sizes. */
static void products_of_differences(void **state)
{
    (void)state;
    for (size_t z = 0; z < RF_COUNT(sizes); z++) {
        const int64_t n = sizes[z];
        rfk_table k;
        for (EACH_RUNG(k)) {
            const float *x = t_normal(n), *from = t_normal(n);
            float *y = copied(from, n, 1);
            const float got = k.mul_less(y, x, 0.25f, n);
            double sum = 0, size = 0;
            for (int64_t i = 0; i < n; i++) {
                const double product = (double)from[i] * ((double)x[i] - 0.25);
                t_near((double)y[i], product, 2 * EPS * fabs((double)from[i]) * (fabs((double)x[i]) + 0.25));
                sum += (double)y[i], size += fabs((double)y[i]);
            }
            t_near((double)got, sum, (double)n * EPS * size);
            t_check_fences();
            t_free_all();
        }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(products_of_differences),
        cmocka_unit_test(sums_and_products),
        cmocka_unit_test(reductions),
        cmocka_unit_test(reductions_do_not_see_addresses),
        cmocka_unit_test(the_largest_is_found_anywhere),
        cmocka_unit_test(finite_finds_the_one_that_is_not),
        cmocka_unit_test(squares_are_summed_in_double),
        cmocka_unit_test(powers),
        cmocka_unit_test(sums_in_two_floats),
    };
    return cmocka_run_group_tests_name("kernel/elementwise", tests, NULL, NULL);
}
