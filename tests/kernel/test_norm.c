/* test_norm.c — mirrors src/kernel/bodies/norm.inc and src/kernel/ref/norm.c.
 *
 * Both norms use the same checks, selected by `centered`.  A mean is a sum of at most d/16 + 8 terms in a lane and a
 * quotient, each with an error of half an ulp.  This bounds the error of the mean in units of the row's spread, and the
 * relative error of rstd. */
#include "rungs.h"

#define SLACK(d) (((double)(d) / 16 + 12) * EPS)

typedef struct problem {
    bool centered;
    int64_t rows, d;
    double eps;
    const float *x, *gamma, *beta, *dy;
} problem;

/* The formula in double: normed numbers, and mean and rstd of each row. */
static void printed(const problem *p, const double *x, double *xh, double *stat)
{
    for (int64_t row = 0; row < p->rows; row++, x += p->d, xh += p->d) {
        double mean = 0, variance = 0;
        for (int64_t i = 0; p->centered && i < p->d; i++) mean += x[i];
        mean /= (double)p->d;
        for (int64_t i = 0; i < p->d; i++) variance += (x[i] - mean) * (x[i] - mean);
        const double rstd = 1 / sqrt(variance / (double)p->d + p->eps);
        for (int64_t i = 0; i < p->d; i++) xh[i] = (x[i] - mean) * rstd;
        stat[2 * row] = mean;
        stat[2 * row + 1] = rstd;
    }
}

static void forward(const rfk_table *k, bool centered, float *y, float *sum, float *stat, const float *x,
                    const float *residual, const float *gamma, const float *beta, float eps, int64_t rows, int64_t d)
{
    (centered ? k->layer_norm : k->rms_norm)(y, sum, stat, x, residual, gamma, beta, eps, rows, d);
}

static double *doubles(const float *x, int64_t n)
{
    double *y = t_bytes((size_t)n * sizeof *y);
    for (int64_t i = 0; i < n; i++) y[i] = x[i];
    return y;
}

static void check_forward(const rfk_table *k, const problem *p)
{
    const int64_t n = p->rows * p->d;
    double *xh = t_bytes((size_t)n * sizeof *xh), *stat = t_bytes((size_t)p->rows * 2 * sizeof *stat);
    printed(p, doubles(p->x, n), xh, stat);
    float *y = t_floats(n), *got = t_floats(2 * p->rows);
    forward(k, p->centered, y, NULL, got, p->x, NULL, p->gamma, p->beta, (float)p->eps, p->rows, p->d);
    for (int64_t i = 0; i < n; i++) {
        const double g = p->gamma ? p->gamma[i % p->d] : 1, b = p->beta ? p->beta[i % p->d] : 0;
        t_near(y[i], g * xh[i] + b, SLACK(p->d) * fabs(g) * (fabs(xh[i]) + 1) + EPS * fabs(b));
    }
    for (int64_t row = 0; row < p->rows; row++) {
        const double spread = 1 / stat[2 * row + 1];
        t_near(got[2 * row], stat[2 * row], SLACK(p->d) * spread + EPS * fabs(stat[2 * row]));
        t_near(got[2 * row + 1], stat[2 * row + 1], SLACK(p->d) * stat[2 * row + 1]);
    }
}

/* Rows of size 1, rows far from 0, and rows so large that their squares nearly overflow. */
static void rows_are_as_printed(void **state)
{
    (void)state;
    static const float offset[] = {0, 100, -1e4f};
    for (size_t z = 1; z < RF_COUNT(sizes); z++)
        for (size_t o = 0; o < 4; o++)
            for (int centered = 0; centered < 2; centered++)
                for (int weights = 0; weights < 2; weights++) {
                    const int64_t d = sizes[z], rows = 3;
                    float *x = t_normal(rows * d);
                    for (int64_t i = 0; i < rows * d; i++) x[i] = o < 3 ? offset[o] + x[i] : 1e18f * x[i];
                    const problem p = {
                        centered, rows, d, 1e-6f, x, weights ? t_normal(d) : NULL, weights ? t_normal(d) : NULL, NULL};
                    rfk_table k;
                    if (d < 3 && o > 0) continue;      /* the spread of two numbers may be as small as their rounding */
                    for (EACH_RUNG(k)) check_forward(&k, &p);
                    t_free_all();
                }
}

static void a_constant_row_gives_beta(void **state)
{
    (void)state;
    static const float value[] = {0, 1, -0.1f, 3e-30f, 1e18f, 12345.678f};
    rfk_table k;
    for (EACH_RUNG(k))
        for (size_t z = 1; z < RF_COUNT(sizes); z++)
            for (size_t v = 0; v < RF_COUNT(value); v++) {
                const int64_t d = sizes[z];
                float *x = t_floats(d), *y = t_floats(d), *beta = t_normal(d);
                for (int64_t i = 0; i < d; i++) x[i] = value[v];
                k.layer_norm(y, NULL, NULL, x, NULL, t_normal(d), beta, 1e-12f, 1, d);
                for (int64_t i = 0; i < d; i++) t_near(y[i], beta[i], 0);
                t_free_all();
            }
}

/* The result has mean 0 and variance 1; scaling the row or (for layer norm) shifting it changes nothing. */
static void what_norms_are_for(void **state)
{
    (void)state;
    const int64_t d = 768;
    rfk_table k;
    for (EACH_RUNG(k))
        for (int centered = 0; centered < 2; centered++) {
            const float *x = t_normal(d);
            float *y = t_floats(d), *z = t_floats(d), *moved = t_floats(d);
            forward(&k, centered, y, NULL, NULL, x, NULL, NULL, NULL, 1e-12f, 1, d);
            double mean = 0, square = 0;
            for (int64_t i = 0; i < d; i++) {
                mean += y[i] / (double)d;
                square += (double)y[i] * y[i] / (double)d;
                moved[i] = 64 * x[i] + (centered ? 16 : 0);
            }
            if (centered) t_near(mean, 0, 4 * EPS);
            t_near(square, 1, 2 * SLACK(d));
            forward(&k, centered, z, NULL, NULL, moved, NULL, NULL, NULL, 1e-12f, 1, d);
            t_close(z, y, d, 8 * EPS, 4 * SLACK(d));
            t_free_all();
        }
}

/* x + residual is normalized, bit for bit, wherever the sum is stored. */
static void the_residual_is_added_first(void **state)
{
    (void)state;
    for (size_t z = 1; z < RF_COUNT(sizes); z++)
        for (int centered = 0; centered < 2; centered++) {
            const int64_t d = sizes[z], rows = 3, n = rows * d;
            const float *x = t_normal(n), *residual = t_normal(n), *gamma = t_normal(d), *beta = t_normal(d);
            rfk_table k;
            for (EACH_RUNG(k)) {
                float *added = t_floats(n), *expected = t_floats(n), *y = t_floats(n), *sum = t_floats(n),
                      *at_x = copied(x, n, 1);
                float *at_residual = copied(residual, n, 0), *sum_at_x = copied(x, n, 0), stat[6], stat2[6];
                k.add(added, x, residual, n);
                forward(&k, centered, expected, NULL, stat, added, NULL, gamma, beta, 1e-5f, rows, d);
                forward(&k, centered, y, sum, stat2, x, residual, gamma, beta, 1e-5f, rows, d);
                same_bits(y, expected, n, "norm of a sum");
                same_bits(sum, added, n, "sum");
                same_bits(stat, stat2, 6, "stat");
                forward(&k, centered, y, NULL, NULL, x, residual, gamma, beta, 1e-5f, rows, d);
                same_bits(y, expected, n, "norm of a sum that is not kept");
                forward(&k, centered, at_x, NULL, NULL, at_x, residual, gamma, beta, 1e-5f, rows, d);
                same_bits(at_x, expected, n, "in place of x");
                forward(&k, centered, at_residual, NULL, NULL, x, at_residual, gamma, beta, 1e-5f, rows, d);
                same_bits(at_residual, expected, n, "in place of the residual");
                forward(&k, centered, y, sum_at_x, NULL, sum_at_x, residual, gamma, beta, 1e-5f, rows, d);
                same_bits(y, expected, n, "sum in place of x");
                same_bits(sum_at_x, added, n, "sum in place of x");
                forward(&k, centered, y, sum, NULL, x, NULL, NULL, NULL, 1e-5f, rows, d);
                same_bits(sum, x, n, "sum without residual");
            }
            t_free_all();
        }
}

static void rows_do_not_see_each_other(void **state)
{
    (void)state;
    const int64_t rows = 5, d = 100;
    const float *x = t_normal(rows * d), *gamma = t_normal(d), *beta = t_normal(d), *dy = t_normal(rows * d);
    rfk_table k;
    for (EACH_RUNG(k))
        for (int centered = 0; centered < 2; centered++) {
            float *y = t_floats(rows * d), *one = t_floats(d), *dx = t_floats(rows * d), stat[10];
            forward(&k, centered, y, NULL, stat, x, NULL, gamma, beta, 1e-5f, rows, d);
            (centered ? k.layer_norm_back : k.rms_norm_back)(dx, NULL, NULL, dy, x, stat, gamma, rows, d);
            for (int64_t r = 0; r < rows; r++) {
                forward(&k, centered, one, NULL, NULL, copied(x + r * d, d, r), NULL, gamma, beta, 1e-5f, 1, d);
                same_bits(one, y + r * d, d, "one row");
                (centered ? k.layer_norm_back : k.rms_norm_back)(one, NULL, NULL, dy + r * d, x + r * d, stat + 2 * r,
                                                                gamma, 1, d);
                same_bits(one, dx + r * d, d, "one row's adjoint");
            }
            k.layer_norm(NULL, NULL, NULL, NULL, NULL, NULL, NULL, 1e-5f, 0, d);
        }
    t_free_all();
}

/* ---- backward ---------------------------------------------------------------------------------------------------- */

static void adjoints_are_as_printed(void **state)
{
    (void)state;
    for (size_t z = 1; z < RF_COUNT(sizes); z++)
        for (int centered = 0; centered < 2; centered++) {
            const int64_t d = sizes[z], rows = 4, n = rows * d;
            const float *x = t_normal(n), *dy = t_normal(n), *gamma = t_normal(d), *dg0 = t_normal(d),
                        *db0 = t_normal(d);
            rfk_table k;
            assert_true(rfk_rung(0, &k));
            float *y = t_floats(n), *stat = t_floats(2 * rows);
            forward(&k, centered, y, NULL, stat, x, NULL, gamma, NULL, 1e-5f, rows, d);

            double *expected = t_bytes((size_t)n * sizeof *expected), *slack = t_bytes((size_t)n * sizeof *slack);
            double *dg = doubles(dg0, d), *db = doubles(db0, d), *size = doubles(dg0, d);
            for (int64_t i = 0; i < d; i++) size[i] = fabs(size[i]) + fabs(db[i]);
            for (int64_t row = 0; row < rows; row++) {
                const double mean = stat[2 * row], rstd = stat[2 * row + 1];
                double level = 0, along = 0, total = 0;
                for (int64_t i = 0; i < d; i++) {
                    const double xh = (x[row * d + i] - mean) * rstd, v = dy[row * d + i], g = v * gamma[i];
                    level += g / (double)d;
                    along += g * xh / (double)d;
                    total += fabs(g) * (1 + fabs(xh)) / (double)d;
                    dg[i] += v * xh;
                    db[i] += v;
                    size[i] += fabs(v) * (1 + fabs(xh));
                }
                for (int64_t i = 0; i < d; i++) {
                    const double xh = (x[row * d + i] - mean) * rstd, g = (double)dy[row * d + i] * gamma[i];
                    expected[row * d + i] = rstd * (g - (centered ? level : 0) - xh * along);
                    slack[row * d + i] = rstd * SLACK(d) * (fabs(g) + (1 + fabs(xh)) * total);
                }
            }
            for (EACH_RUNG(k)) {
                float *dx = t_floats(n), *position = copied(dy, n, 1), *dgamma = copied(dg0, d, 1),
                      *dbeta = copied(db0, d, 3);
                (centered ? k.layer_norm_back : k.rms_norm_back)(dx, dgamma, dbeta, dy, x, stat, gamma, rows, d);
                for (int64_t i = 0; i < n; i++) t_near(dx[i], expected[i], slack[i]);
                for (int64_t i = 0; i < d; i++) {
                    t_near(dgamma[i], dg[i], (double)(rows + 3) * EPS * size[i]);
                    t_near(dbeta[i], db[i], (double)(rows + 3) * EPS * size[i]);
                }
                (centered ? k.layer_norm_back : k.rms_norm_back)(position, NULL, NULL, position, x, stat, gamma, rows,
                                                                d);
                same_bits(position, dx, n, "adjoint in place, without the parameters'");
            }
            t_free_all();
        }
}

/* L = sum of dy y, in double, as a function of x and gamma. */
static double loss(const problem *p, const double *x, const double *gamma)
{
    enum { MOST = 512 };
    double xh[MOST], stat[2 * MOST], sum = 0;
    printed(p, x, xh, stat);
    for (int64_t i = 0; i < p->rows * p->d; i++) sum += p->dy[i] * (gamma[i % p->d] * xh[i]);
    return sum;
}

/* Central differences of the printed formula, with and without gamma. */
static void adjoints_are_derivatives(void **state)
{
    (void)state;
    const int64_t rows = 2, d = 37, n = rows * d;
    const double h = 1e-5;
    for (int centered = 0; centered < 2; centered++) {
        const float *gamma = t_normal(d);
        const problem p = {centered, rows, d, 1e-3f, t_normal(n), gamma, NULL, t_normal(n)};
        double *x = doubles(p.x, n), *g = doubles(gamma, d);
        rfk_table k;
        for (EACH_RUNG(k)) {
            float *y = t_floats(n), *stat = t_floats(2 * rows), *dx = t_floats(n), *dgamma = t_floats(d);
            memset(dgamma, 0, (size_t)d * sizeof *dgamma);
            forward(&k, centered, y, NULL, stat, p.x, NULL, gamma, NULL, 1e-3f, rows, d);
            (centered ? k.layer_norm_back : k.rms_norm_back)(dx, dgamma, NULL, p.dy, p.x, stat, gamma, rows, d);
            for (int64_t i = 0; i < n + d; i++) {
                double *at = i < n ? &x[i] : &g[i - n], kept = *at;
                *at = kept + h;
                const double up = loss(&p, x, g);
                *at = kept - h;
                const double down = loss(&p, x, g);
                *at = kept;
                t_near(i < n ? dx[i] : dgamma[i - n], (up - down) / (2 * h), 5e-6);
            }
        }
        t_free_all();
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(rows_are_as_printed),
        cmocka_unit_test(a_constant_row_gives_beta),
        cmocka_unit_test(what_norms_are_for),
        cmocka_unit_test(the_residual_is_added_first),
        cmocka_unit_test(rows_do_not_see_each_other),
        cmocka_unit_test(adjoints_are_as_printed),
        cmocka_unit_test(adjoints_are_derivatives),
    };
    return cmocka_run_group_tests_name("kernel/norm", tests, NULL, NULL);
}
