/* test_optimizer.c — mirrors src/kernel/optimizer.inc and src/kernel/ref/optimizer.c. */
#include "rungs.h"

typedef struct setting { float lr, b1, b2, eps, wd, gscale; } setting;

static const setting settings[] = {
    {1e-3f, 0.9f, 0.999f, 1e-8f, 0.01f, 1},
    {5e-5f, 0.9f, 0.98f, 1e-6f, 0, 0.125f},
    {0.1f, 0.5f, 0.75f, 1e-3f, 0.1f, 3},
};

/* One step from a given state against the formula in double.  m and v round three times; the step is made of a square
 * root, a quotient and six products and sums; p rounds once more. */
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
                        const double mean_slack = 2 * EPS * (fabs(o->b1 * (double)m0[i]) + fabs((1 - (double)o->b1) * g));
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

/* From rest, bias correction makes the first step exactly lr in the gradient's direction, whatever its size. */
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

/* Decay alone shrinks the parameters and leaves the moments alone: it is not part of the gradient. */
static void decay_is_decoupled(void **state)
{
    (void)state;
    const int64_t n = 100;
    const float *p0 = t_normal(n), *zero = t_uniform(n, 0, 0);
    rfk_table k;
    for (EACH_RUNG(k)) {
        float *p = copied(p0, n, 0), *m = copied(zero, n, 0), *v = copied(zero, n, 0);
        double *want = t_bytes((size_t)n * sizeof *want);
        for (int64_t i = 0; i < n; i++) want[i] = p0[i] * (1 - 0.5 * 0.25);
        k.adamw(p, m, v, zero, n, 0.5f, 0.9f, 0.999f, 1e-8f, 0.25f, 10, 1000, 1);
        t_close_to(p, want, n, 0, EPS);
        same_bits(m, zero, n, "m");
        same_bits(v, zero, n, "v");
    }
    t_free_all();
}

/* (x - 3)^2 is minimised: a run of steps ends where it must. */
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

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_step_is_as_printed),
        cmocka_unit_test(the_first_step_is_lr),
        cmocka_unit_test(decay_is_decoupled),
        cmocka_unit_test(it_finds_a_minimum),
    };
    return cmocka_run_group_tests_name("kernel/optimizer", tests, NULL, NULL);
}
