/* test_optimizer.c — mirrors src/train/optimizer.c. */
#include "t.h"
#include "train/optimizer.h"

static void small_params(const rf_ctx *ctx, rf_params *params)
{
    rf_config c;
    rf_config_defaults(&c);
    c.vocab_size = 301;
    c.embedding_size = 16;
    c.hidden_size = 24;
    c.num_hidden_layers = 2;
    c.num_attention_heads = 3;
    c.intermediate_size = 40;
    assert_int_equal(rf__params_new(ctx, &c, params, NULL), RF_OK);
}

static void random_grad(rf__optimizer *o, unsigned step)
{
    rf_rng r;
    rf__rng_init(&r, 5, step);
    for (size_t i = 0; i < o->params->total; i++) o->grad[i] = 0;
    for (size_t s = 0; s < o->spans; s++)
        for (size_t i = 0; i < o->span[s].n; i++) o->grad[o->span[s].at + i] = 0.01f * rf__rng_normal(&r);
}

/* 100 updates against the published formula in double.  Each update rounds p, m and v once or twice in f32: relative
 * 2^-24 each, so after 100 updates p is off by at most about 100 * (2 ulp of p) + 100 * (8 ulp of a step of size 1e-3). */
static void follows_the_formula(void **state)
{
    (void)state;
    rf_ctx *ctx = t_ctx(2, NULL);
    rf_params params;
    rf__optimizer o;
    small_params(ctx, &params);
    assert_int_equal(rf__optimizer_new(&params, &o, NULL), RF_OK);
    rf__params_init(&params, o.value, 3);
    const size_t n = params.total;
    double *p = calloc(n, sizeof *p), *m = calloc(n, sizeof *m), *v = calloc(n, sizeof *v);
    bool *decay = calloc(n, sizeof *decay);
    for (size_t i = 0; i < n; i++) p[i] = o.value[i];
    for (size_t i = 0; i < params.n; i++)
        for (size_t j = 0; j < params.p[i].count; j++) decay[params.p[i].offset + j] = params.p[i].decay;
    for (int t = 1; t <= 100; t++) {
        const rf__adamw how = {1e-3, 0.9, 0.99, 1e-8, 0.1, 0.5, t};
        random_grad(&o, (unsigned)t);
        for (size_t i = 0; i < n; i++) {
            const double g = 0.5 * o.grad[i];
            m[i] = 0.9 * m[i] + 0.1 * g;
            v[i] = 0.99 * v[i] + 0.01 * g * g;
            const double step = m[i] / (1 - pow(0.9, t)) / (sqrt(v[i] / (1 - pow(0.99, t))) + 1e-8);
            p[i] -= 1e-3 * (step + (decay[i] ? 0.1 : 0) * p[i]);
        }
        rf__optimizer_update(&o, &how);
    }
    t_close_to(o.value, p, (int64_t)n, 100 * 8e-3 * 0x1p-23, 200 * 0x1p-23);
    free(p);
    free(m);
    free(v);
    free(decay);
    rf__optimizer_free(&o);
    rf__params_free(&params);
    rf_ctx_free(ctx);
}

static void only_matrices_decay(void **state)
{
    (void)state;
    rf_ctx *ctx = t_ctx(1, NULL);
    rf_params params;
    small_params(ctx, &params);
    for (size_t i = 0; i < params.n; i++) {
        const bool vector = strstr(params.p[i].name, "bias") || strstr(params.p[i].name, "LayerNorm");
        assert_true(params.p[i].decay == !vector);
    }
    rf__params_free(&params);
    rf_ctx_free(ctx);
}

static void norm_is_that_of_all_parameters(void **state)
{
    (void)state;
    double norm[2];
    for (int threads = 1; threads <= 2; threads++) {
        rf_ctx *ctx = t_ctx(threads, NULL);
        rf_params params;
        rf__optimizer o;
        small_params(ctx, &params);
        assert_int_equal(rf__optimizer_new(&params, &o, NULL), RF_OK);
        random_grad(&o, 1);
        double sum = 0;
        for (size_t i = 0; i < params.total; i++) sum += (double)o.grad[i] * o.grad[i];
        norm[threads - 1] = rf__optimizer_norm(&o);
        t_near(norm[threads - 1], sqrt(sum), 1e-12 * sqrt(sum));
        o.grad[params.p[3].offset] = NAN;
        assert_true(!isfinite(rf__optimizer_norm(&o)));
        rf__optimizer_zero_grad(&o);
        t_near(rf__optimizer_norm(&o), 0, 0);
        rf__optimizer_free(&o);
        rf__params_free(&params);
        rf_ctx_free(ctx);
    }
    assert_memory_equal(&norm[0], &norm[1], sizeof norm[0]);
}

static void file_keeps_every_bit(void **state)
{
    (void)state;
    rf_ctx *ctx = t_ctx(1, NULL);
    rf_params params;
    rf__optimizer a, b;
    rf_error why = {0};
    char path[4096];
    small_params(ctx, &params);
    assert_int_equal(rf__optimizer_new(&params, &a, NULL), RF_OK);
    assert_int_equal(rf__optimizer_new(&params, &b, NULL), RF_OK);
    for (size_t i = 0; i < params.n; i++)
        for (size_t j = 0; j < params.p[i].count; j++) {
            a.m[params.p[i].offset + j] = sinf((float)(i + j));
            a.v[params.p[i].offset + j] = 1e-30f * (float)(j + 1);
        }
    snprintf(path, sizeof path, "%s/optimizer.safetensors", t_folder());
    assert_int_equal(rf__optimizer_save(&a, path, &why), RF_OK);
    assert_int_equal(rf__optimizer_load(&b, path, &why), RF_OK);
    assert_memory_equal(a.m, b.m, params.total * sizeof *a.m);
    assert_memory_equal(a.v, b.v, params.total * sizeof *a.v);
    a.v[params.p[2].offset] = INFINITY;
    assert_int_equal(rf__optimizer_save(&a, path, &why), RF_ENUMERIC);
    rf__optimizer_free(&a);
    rf__optimizer_free(&b);
    rf__params_free(&params);
    rf_ctx_free(ctx);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(follows_the_formula),
        cmocka_unit_test(only_matrices_decay),
        cmocka_unit_test(norm_is_that_of_all_parameters),
        cmocka_unit_test(file_keeps_every_bit),
    };
    return cmocka_run_group_tests_name("train/optimizer", tests, NULL, NULL);
}
