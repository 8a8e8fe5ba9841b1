/* test_optimizer.c — mirrors src/kernel/bodies/optimizer.inc and src/kernel/ref/optimizer.c. */
#include "rungs.h"

typedef struct setting { float lr, b1, b2, eps, wd, gscale; } setting;

static const setting settings[] = {
    {1e-3f, 0.9f, 0.999f, 1e-8f, 0.01f, 1},
    {5e-5f, 0.9f, 0.98f, 1e-6f, 0, 0.125f},
    {0.1f, 0.5f, 0.75f, 1e-3f, 0.1f, 3},
};

/* One step from a given state compared with the formula in double.  m and v round three times; the step consists of a
 * square root, a quotient and six products and sums; p rounds once more. */
static void a_step_is_as_printed(void **state)
{
    (void)state;
    for (size_t z = 0; z < RF_COUNT(sizes); z++)
        for (size_t s = 0; s < RF_COUNT(settings); s++)
            for (int t = 1; t < 1000; t *= 9) {
                const int64_t n = sizes[z];
                const setting *o = &settings[s];
                const float *p0 = t_normal(n), *m0 = t_normal(n), *v0 = t_uniform(n, 0, 2), *grad = t_normal(n);
                const float c1 = (float)(1 / (1 - pow(o->b1, t))), c2 = (float)(1 / (1 - pow(o->b2, t)));
                rfk_table k;
                for (EACH_RUNG(k)) {
                    float *p = copied(p0, n, 0), *m = copied(m0, n, 1), *v = copied(v0, n, 2);
                    k.adamw(p, m, v, grad, n, o->lr, o->b1, o->b2, o->eps, o->wd, c1, c2, o->gscale);
                    for (int64_t i = 0; i < n; i++) {
                        const double g = (double)o->gscale * grad[i];
                        const double mean = (double)o->b1 * m0[i] + (1 - (double)o->b1) * g;
                        const double square = (double)o->b2 * v0[i] + (1 - (double)o->b2) * g * g;
                        const double step = c1 * mean / (sqrt(c2 * square) + o->eps), decay = (double)o->wd * p0[i];
                        const double mean_slack =
                            2 * EPS * (fabs(o->b1 * (double)m0[i]) + fabs((1 - (double)o->b1) * g));
                        t_near(m[i], mean, mean_slack);
                        t_near(v[i], square, 3 * EPS * square);
                        t_near(p[i], p0[i] - o->lr * (step + decay),
                               EPS * fabs((double)p0[i]) + o->lr * (6 * EPS * (fabs(step) + fabs(decay)) +
                                                                    mean_slack * c1 / (sqrt(c2 * square) + o->eps)));
                    }
                }
                t_free_all();
            }
}

/* From zero moments, bias correction makes the first step exactly lr in the gradient's direction, whatever its size. */
static void the_first_step_is_lr(void **state)
{
    (void)state;
    const float lr = 0.01f, b1 = 0.9f, b2 = 0.999f;
    const float grad[] = {1e-3f, -1, 1e4f, -1e-6f, 0};
    rfk_table k;
    for (EACH_RUNG(k)) {
        float p[5] = {0}, m[5] = {0}, v[5] = {0};
        k.adamw(p, m, v, grad, 5, lr, b1, b2, 1e-30f, 0, 1 / (1 - b1), 1 / (1 - b2), 1);
        for (int i = 0; i < 4; i++) t_near(p[i], grad[i] > 0 ? -lr : lr, 8 * EPS * lr);
        assert_true(p[4] == 0);
    }
}

/* Decay alone shrinks the parameters and does not change the moments: it is not part of the gradient. */
static void decay_is_decoupled(void **state)
{
    (void)state;
    const int64_t n = 100;
    const float *p0 = t_normal(n), *zero = t_uniform(n, 0, 0);
    rfk_table k;
    for (EACH_RUNG(k)) {
        float *p = copied(p0, n, 0), *m = copied(zero, n, 0), *v = copied(zero, n, 0);
        double *expected = t_bytes((size_t)n * sizeof *expected);
        for (int64_t i = 0; i < n; i++) expected[i] = p0[i] * (1 - 0.5 * 0.25);
        k.adamw(p, m, v, zero, n, 0.5f, 0.9f, 0.999f, 1e-8f, 0.25f, 10, 1000, 1);
        t_close_to(p, expected, n, 0, EPS);
        same_bits(m, zero, n, "m");
        same_bits(v, zero, n, "v");
    }
    t_free_all();
}

/* (x - 3)^2 is minimized: a series of steps reaches the minimum. */
static void it_finds_a_minimum(void **state)
{
    (void)state;
    rfk_table k;
    for (EACH_RUNG(k)) {
        float p[19] = {0}, m[19] = {0}, v[19] = {0}, grad[19];
        for (int t = 1; t <= 2000; t++) {
            for (int i = 0; i < 19; i++) grad[i] = 2 * (p[i] - 3);
            const double c1 = 1 / (1 - pow(0.9, t)), c2 = 1 / (1 - pow(0.999, t));
            k.adamw(p, m, v, grad, 19, 0.05f / (1 + 0.02f * (float)t), 0.9f, 0.999f, 1e-8f, 0, (float)c1, (float)c2, 1);
        }
        for (int i = 0; i < 19; i++) t_near(p[i], 3, 1e-3);
    }
}

/* ---- the others ---- */

/* LAMB's direction: m and v as in AdamW, and u replaces the gradient; p is only read. */
static void lamb_makes_a_direction(void **state)
{
    (void)state;
    for (size_t z = 0; z < RF_COUNT(sizes); z++)
        for (size_t s = 0; s < RF_COUNT(settings); s++) {
            const int64_t n = sizes[z];
            const setting *o = &settings[s];
            const float *p = t_normal(n), *m0 = t_normal(n), *v0 = t_uniform(n, 0, 2), *grad = t_normal(n);
            const float c1 = 1.5f, c2 = 3;
            rfk_table k;
            for (EACH_RUNG(k)) {
                float *u = copied(grad, n, 0), *m = copied(m0, n, 1), *v = copied(v0, n, 2);
                k.lamb(u, p, m, v, n, o->b1, o->b2, o->eps, o->wd, c1, c2, o->gscale);
                for (int64_t i = 0; i < n; i++) {
                    const double g = (double)o->gscale * grad[i], left = (double)o->b1 * m0[i],
                                 right = (1 - (double)o->b1) * g;
                    const double square = (double)o->b2 * v0[i] + (1 - (double)o->b2) * g * g;
                    const double below = sqrt(c2 * square) + o->eps, step = c1 * (left + right) / below,
                                 decay = (double)o->wd * p[i];
                    const double slack = 2 * EPS * (fabs(left) + fabs(right));
                    t_near(m[i], left + right, slack);
                    t_near(v[i], square, 3 * EPS * square);
                    t_near(u[i], step + decay, 6 * EPS * (fabs(step) + fabs(decay)) + slack * c1 / below);
                }
            }
            t_check_fences();
            t_free_all();
        }
}

/* The sign is arbitrary if b1 m + (1-b1) g is within its own rounding error of zero. */
static void lion_follows_the_sign(void **state)
{
    (void)state;
    for (size_t z = 0; z < RF_COUNT(sizes); z++)
        for (size_t s = 0; s < RF_COUNT(settings); s++) {
            const int64_t n = sizes[z];
            const setting *o = &settings[s];
            const float *p0 = t_normal(n), *m0 = t_normal(n), *grad = t_normal(n);
            rfk_table k;
            for (EACH_RUNG(k)) {
                float *p = copied(p0, n, 1), *m = copied(m0, n, 0);
                k.lion(p, m, grad, n, o->lr, o->b1, o->b2, o->wd, o->gscale);
                for (int64_t i = 0; i < n; i++) {
                    const double g = (double)o->gscale * grad[i], left = (double)o->b1 * m0[i],
                                 right = (1 - (double)o->b1) * g;
                    const double c = left + right, sign = c > 0 ? 1 : -1, decay = (double)o->wd * p0[i];
                    const double mean = (double)o->b2 * m0[i] + (1 - (double)o->b2) * g;
                    t_near(m[i], mean, 2 * EPS * (fabs((double)o->b2 * m0[i]) + fabs((1 - (double)o->b2) * g)));
                    if (fabs(c) < 2 * EPS * (fabs(left) + fabs(right))) continue;
                    t_near(p[i], p0[i] - o->lr * (sign + decay),
                           EPS * fabs((double)p0[i]) + 3 * EPS * o->lr * (1 + fabs(decay)));
                }
            }
            t_check_fences();
            t_free_all();
        }
    rfk_table k;
    for (EACH_RUNG(k)) {                                             /* at rest without a gradient nothing moves */
        float p[2] = {1, -1}, m[2] = {0, -0.0f};
        const float none[2] = {0};
        k.lion(p, m, none, 2, 0.1f, 0.9f, 0.99f, 0, 1);
        assert_true(!(p[0] < 1) && !(p[1] > -1));
    }
}

static void sgd_with_and_without_momentum(void **state)
{
    (void)state;
    for (size_t z = 0; z < RF_COUNT(sizes); z++)
        for (size_t s = 0; s < RF_COUNT(settings); s++)
            for (int way = 0; way < 3; way++) {
                const int64_t n = sizes[z];
                const setting *o = &settings[s];
                const float *p0 = t_normal(n), *m0 = t_normal(n), *grad = t_normal(n);
                rfk_table k;
                for (EACH_RUNG(k)) {
                    float *p = copied(p0, n, 0), *m = copied(m0, n, 1);
                    k.sgd(p, way ? m : NULL, grad, n, o->lr, o->b1, way == 2, o->wd, o->gscale);
                    for (int64_t i = 0; i < n; i++) {
                        const double g = (double)o->gscale * grad[i], decay = (double)o->wd * p0[i],
                                     old = (double)o->b1 * m0[i];
                        const double mean = way ? old + g + decay : g + decay,
                                     step = way == 2 ? g + decay + o->b1 * mean : mean;
                        const double size = fabs(g) + fabs(decay) + (way ? fabs(old) : 0);
                        if (way) t_near(m[i], mean, 2 * EPS * size);
                        t_near(p[i], p0[i] - o->lr * step, EPS * fabs((double)p0[i]) + 6 * EPS * o->lr * size);
                    }
                    if (!way) same_bits(m, m0, n, "momentum");
                }
                t_check_fences();
                t_free_all();
            }
}

static void mean_and_squares(void **state)
{
    (void)state;
    for (size_t z = 0; z < RF_COUNT(sizes); z++) {
        const int64_t n = sizes[z];
        const float *a = t_normal(n), *x = t_normal(n);
        rfk_table k;
        for (EACH_RUNG(k)) {
            float *y = copied(a, n, 1), *s = copied(a, n, 2), *still = copied(x, n, 0);
            k.lerp(y, 0.125f, x, n);
            k.lerp(still, 0.3f, x, n);
            k.add_squares(s, x, n);
            for (int64_t i = 0; i < n; i++) {
                t_near(y[i], a[i] + 0.125 * ((double)x[i] - a[i]), EPS * (fabs((double)a[i]) + fabs((double)x[i])));
                t_near(s[i], a[i] + (double)x[i] * x[i], EPS * (fabs((double)a[i]) + (double)x[i] * x[i]));
            }
            same_bits(still, x, n, "a mean of equals");
        }
        t_check_fences();
        t_free_all();
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_step_is_as_printed),
        cmocka_unit_test(the_first_step_is_lr),
        cmocka_unit_test(decay_is_decoupled),
        cmocka_unit_test(it_finds_a_minimum),
        cmocka_unit_test(lamb_makes_a_direction),
        cmocka_unit_test(lion_follows_the_sign),
        cmocka_unit_test(sgd_with_and_without_momentum),
        cmocka_unit_test(mean_and_squares),
    };
    return cmocka_run_group_tests_name("kernel/optimizer", tests, NULL, NULL);
}
