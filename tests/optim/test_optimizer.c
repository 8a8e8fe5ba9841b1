/* test_optimizer.c — mirrors src/optim/optimizer.c, adafactor.c and average.c. */
#include "t.h"
#include "optim/optimizer.h"

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

static rf__rule rule_of(rf_optim optim)
{
    rf_train_options o;
    rf_train_defaults(&o);
    o.optim = optim;
    return rf__rule_of(&o);
}

static void make(const rf_params *params, const rf__rule *rule, rf__optimizer *o)
{
    assert_int_equal(rf__optimizer_new(params, rule, o, NULL), RF_OK);
}

static void random_grad(rf__optimizer *o, unsigned step)
{
    rf_rng r;
    rf_rng_init(&r, 5, step);
    for (size_t i = 0; i < o->params->total; i++) o->grad[i] = 0;
    for (size_t s = 0; s < o->spans; s++)
        for (size_t i = 0; i < o->span[s].n; i++) o->grad[o->span[s].at + i] = 0.01f * rf_rng_normal(&r);
}

/* 100 updates compared with the published formula in double.  Each update rounds p, m and v once or twice in f32:
 * relative 2^-24 each, so after 100 updates the error of p is at most about 100 * (2 ulp of p) + 100 * (8 ulp of a step
 * of size 1e-3). */
static void follows_the_formula(void **state)
{
    (void)state;
    rf_ctx *ctx = t_ctx(2, NULL);
    rf_params params;
    rf__optimizer o;
    const rf__rule rule = {.optim = RF_OPTIM_ADAMW, .beta1 = 0.9, .beta2 = 0.99, .epsilon = 1e-8, .decay = 0.1};
    small_params(ctx, &params);
    make(&params, &rule, &o);
    rf__params_init(&params, o.value, 3);
    const size_t n = params.total;
    double *p = calloc(n, sizeof *p), *m = calloc(n, sizeof *m), *v = calloc(n, sizeof *v);
    bool *decay = calloc(n, sizeof *decay);
    for (size_t i = 0; i < n; i++) p[i] = o.value[i];
    for (size_t i = 0; i < params.n; i++)
        for (size_t j = 0; j < params.p[i].count; j++) decay[params.p[i].offset + j] = params.p[i].decay;
    for (int t = 1; t <= 100; t++) {
        const rf__step step = {1e-3, 0.5, t};
        random_grad(&o, (unsigned)t);
        for (size_t i = 0; i < n; i++) {
            const double g = 0.5 * o.grad[i];
            m[i] = 0.9 * m[i] + 0.1 * g;
            v[i] = 0.99 * v[i] + 0.01 * g * g;
            p[i] -= 1e-3 *
                    (m[i] / (1 - pow(0.9, t)) / (sqrt(v[i] / (1 - pow(0.99, t))) + 1e-8) + (decay[i] ? 0.1 : 0) * p[i]);
        }
        assert_int_equal(rf__optimizer_update(&o, &step, NULL), RF_OK);
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

/* ---- what others compute (tools/golden/golden_optimizers.py) ---- */

enum { ROWS = 5, COLUMNS = 3, VECTOR = 7, NUMBERS = ROWS * COLUMNS + VECTOR, UPDATES = 6 };

/* A matrix with weight decay and, one cache line later, a vector without. */
static void two_params(const rf_ctx *ctx, rf_param p[2], rf_params *out)
{
    p[0] = (rf_param){
        .name = "matrix", .rank = 2, .dim = {ROWS, COLUMNS}, .offset = 0, .count = ROWS * COLUMNS, .decay = true};
    p[1] = (rf_param){.name = "vector", .rank = 1, .dim = {VECTOR, 0}, .offset = 16, .count = VECTOR};
    *out = (rf_params){.ctx = ctx, .n = 2, .total = 32, .p = p};
}

static size_t offset_of(int i) { return (size_t)(i < ROWS * COLUMNS ? i : 16 + i - ROWS * COLUMNS); }

static void read_numbers(FILE *f, double x[NUMBERS])
{
    for (int i = 0; i < NUMBERS; i++) assert_int_equal(fscanf(f, "%lf", &x[i]), 1);
}

static rf_optim optim_named(const char *name)
{
    for (int i = RF_OPTIM_ADAMW; i <= RF_OPTIM_MUON; i++)
        if (!strcmp(rf__optim_name((rf_optim)i), name)) return (rf_optim)i;
    fail_msg("%s is no rule", name);
    return RF_OPTIM_ADAMW;
}

/* About twenty operations of an update round, each by 2^-24 of a number no larger than a step or the value; the
 * constants are rounded to f32, which is one more.  `size`: the largest step so far; the errors add up. */
static void golden_case(FILE *f, const char *name, const char *optim, const char *isa)
{
    double k[14], p[NUMBERS], g[NUMBERS], expected[NUMBERS], size = 0;
    for (int i = 0; i < 14; i++) assert_int_equal(fscanf(f, "%lf", &k[i]), 1);
    const rf__rule rule = {.optim = optim_named(optim), .beta1 = k[1], .beta2 = k[2], .epsilon = k[3], .decay = k[4],
                           .bias_correction = k[5] > 0, .momentum = k[6], .nesterov = k[7] > 0, .clip_threshold = k[8],
                           .decay_rate = k[9], .scale_parameter = k[10] > 0, .relative_step = k[11] > 0,
                           .warmup_init = k[12] > 0, .ema_decay = k[13]};
    rf_ctx *ctx = t_ctx(2, isa);
    rf_param param[2];
    rf_params params;
    rf__optimizer o;
    two_params(ctx, param, &params);
    make(&params, &rule, &o);
    read_numbers(f, p);
    for (int i = 0; i < NUMBERS; i++) o.value[offset_of(i)] = (float)p[i];
    for (int t = 1; t <= UPDATES; t++) {
        const float *got = rule.ema_decay > 0 ? o.ema : o.value;
        read_numbers(f, g);
        read_numbers(f, expected);
        for (int i = 0; i < NUMBERS; i++) {
            o.grad[offset_of(i)] = (float)g[i] / 4;
            size = fmax(size, fabs(expected[i] - p[i]));
            p[i] = expected[i];
        }
        assert_int_equal(rf__optimizer_update(&o, &(rf__step){k[0], 4, t}, NULL), RF_OK);
        for (int i = 0; i < NUMBERS; i++) {
            const double slack = t * (0x1p-23 * (fabs(expected[i]) + 0.4) + 20 * 0x1p-23 * size);
            if (!(fabs(got[offset_of(i)] - expected[i]) <= slack))
                fail_msg("%s, update %d, number %d: %.9g, expected %.9g, slack %.3g", name, t, i,
                         (double)got[offset_of(i)], expected[i], slack);
        }
    }
    rf__optimizer_free(&o);
    rf_ctx_free(ctx);
}

static void as_others_compute(void **state)
{
    (void)state;
    const char *const isa[] = {"ref", NULL};
    for (int rung = 0; rung < 2; rung++) {
        char line[512], word[64], name[64], optim[64];
        int cases = 0;
        FILE *f = fopen("tests/golden/train/optimizers.txt", "r");
        assert_non_null(f);
        for (int i = 0; i < 3; i++) assert_non_null(fgets(line, sizeof line, f));
        while (fscanf(f, "%63s", word) == 1 && !strcmp(word, "case")) {
            assert_int_equal(fscanf(f, "%63s %63s", name, optim), 2);
            golden_case(f, name, optim, isa[rung]);
            cases++;
        }
        assert_string_equal(word, "end");
        assert_int_equal(cases, 15);
        fclose(f);
    }
}

/* ---- every rule ---- */

/* A frozen parameter keeps its bits, whatever its gradient; half the rate is half the step (but for decay). */
static void factors_scale_the_rate(void **state)
{
    (void)state;
    for (int optim = RF_OPTIM_ADAMW; optim <= RF_OPTIM_MUON; optim++) {
        rf_ctx *ctx = t_ctx(2, NULL);
        rf__rule rule = rule_of((rf_optim)optim);
        rf_params params;
        rf__optimizer o, half;
        rule.decay = 0;
        small_params(ctx, &params);
        make(&params, &rule, &o);
        make(&params, &rule, &half);
        rf__params_init(&params, o.value, 3);
        memcpy(half.value, o.value, params.total * sizeof *o.value);
        float *before = calloc(params.total, sizeof *before);
        memcpy(before, o.value, params.total * sizeof *before);
        for (size_t i = 0; i < params.n; i++) half.factor[i] = 0.5;
        o.factor[1] = half.factor[1] = 0;
        random_grad(&o, 1);
        random_grad(&half, 1);
        assert_int_equal(rf__optimizer_update(&o, &(rf__step){1e-2, 1, 1}, NULL), RF_OK);
        assert_int_equal(rf__optimizer_update(&half, &(rf__step){1e-2, 1, 1}, NULL), RF_OK);
        for (size_t i = 0; i < params.n; i++)
            for (size_t j = params.p[i].offset; j < params.p[i].offset + params.p[i].count; j++) {
                const double whole = (double)o.value[j] - before[j], part = (double)half.value[j] - before[j];
                if (i == 1) assert_true(!(whole > 0 || whole < 0) && !(part > 0 || part < 0));
                /* two roundings of p */
                else t_near(part, whole / 2, 0x1p-22 * (fabs((double)before[j]) + fabs(whole)));
            }
        free(before);
        rf__optimizer_free(&o);
        rf__optimizer_free(&half);
        rf__params_free(&params);
        rf_ctx_free(ctx);
    }
}

static void the_same_bits_for_any_workers(void **state)
{
    (void)state;
    for (int optim = RF_OPTIM_ADAMW; optim <= RF_OPTIM_MUON; optim++) {
        uint64_t hash[2];
        for (int threads = 1; threads <= 2; threads++) {
            rf_ctx *ctx = t_ctx(threads, NULL);
            rf__rule rule = rule_of((rf_optim)optim);
            rf_params params;
            rf__optimizer o;
            rule.ema_decay = 0.9;
            rule.scale_parameter = true;
            small_params(ctx, &params);
            make(&params, &rule, &o);
            rf__params_init(&params, o.value, 3);
            for (int t = 1; t <= 5; t++) {
                random_grad(&o, (unsigned)t);
                assert_int_equal(rf__optimizer_update(&o, &(rf__step){1e-2, 0.7, t}, NULL), RF_OK);
            }
            hash[threads - 1] =
                rf__hash64(o.value, params.total * sizeof *o.value, rf__hash64(o.ema, params.total * sizeof *o.ema, 0));
            rf__optimizer_free(&o);
            rf__params_free(&params);
            rf_ctx_free(ctx);
        }
        assert_true(hash[0] == hash[1]);
    }
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
        const rf__rule rule = rule_of(RF_OPTIM_ADAMW);
        make(&params, &rule, &o);
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

/* Three updates, saved, loaded into another optimizer, two more on both: the same bits; the file of a different
 * optimizer is rejected. */
static void file_keeps_every_bit(void **state)
{
    (void)state;
    for (int optim = RF_OPTIM_ADAMW; optim <= RF_OPTIM_MUON; optim++) {
        rf_ctx *ctx = t_ctx(1, NULL);
        rf_params params;
        rf__optimizer a, b, other;
        rf_error why = {0};
        char path[4096];
        rf__rule rule = rule_of((rf_optim)optim);
        const rf__rule another = rule_of((rf_optim)((optim + 1) % (RF_OPTIM_MUON + 1)));
        if (optim == RF_OPTIM_ADAFACTOR) rule.beta1 = 0.8;
        small_params(ctx, &params);
        make(&params, &rule, &a);
        make(&params, &rule, &b);
        make(&params, &another, &other);
        rf__params_init(&params, a.value, 3);
        for (int t = 1; t <= 3; t++) {
            random_grad(&a, (unsigned)t);
            assert_int_equal(rf__optimizer_update(&a, &(rf__step){1e-2, 1, t}, NULL), RF_OK);
        }
        snprintf(path, sizeof path, "%s/optimizer.safetensors", t_folder());
        assert_int_equal(rf__optimizer_save(&a, path, &why), RF_OK);
        assert_int_equal(rf__optimizer_load(&b, path, &why), RF_OK);
        memcpy(b.value, a.value, params.total * sizeof *a.value);
        for (int t = 4; t <= 5; t++) {
            random_grad(&a, (unsigned)t);
            random_grad(&b, (unsigned)t);
            assert_int_equal(rf__optimizer_update(&a, &(rf__step){1e-2, 1, t}, NULL), RF_OK);
            assert_int_equal(rf__optimizer_update(&b, &(rf__step){1e-2, 1, t}, NULL), RF_OK);
        }
        assert_memory_equal(a.value, b.value, params.total * sizeof *a.value);
        rf__optimizer_load(&other, path, &why);
        t_failed(&why, RF_EDATA, "a resumed run cannot change optim");
        float *slab = a.m ? a.m : a.v;
        slab[a.m ? params.p[2].offset : 3] = INFINITY;
        assert_int_equal(rf__optimizer_save(&a, path, &why), RF_ENUMERIC);
        rf__optimizer_free(&a);
        rf__optimizer_free(&b);
        rf__optimizer_free(&other);
        rf__params_free(&params);
        rf_ctx_free(ctx);
    }
}

static void means_and_swaps(void **state)
{
    (void)state;
    rf_ctx *ctx = t_ctx(2, NULL);
    const rf__rule rule = rule_of(RF_OPTIM_ADAMW);
    rf_params params;
    rf__optimizer o;
    small_params(ctx, &params);
    make(&params, &rule, &o);
    rf__params_init(&params, o.value, 1);
    rf__params_init(&params, o.grad, 2);
    const uint32_t value = rf__crc32c(0, o.value, params.total * sizeof *o.value),
                   grad = rf__crc32c(0, o.grad, params.total * sizeof *o.grad);
    rf__optimizer_swap(&o, o.value, o.grad);
    assert_int_equal(rf__crc32c(0, o.value, params.total * sizeof *o.value), grad);
    assert_int_equal(rf__crc32c(0, o.grad, params.total * sizeof *o.grad), value);
    rf__optimizer_blend(&o, o.m, o.value, 1);
    assert_memory_equal(o.m, o.value, params.total * sizeof *o.m);
    rf__optimizer_blend(&o, o.m, o.grad, 0.5);
    for (size_t i = 0; i < params.total; i++)
        t_near(o.m[i], ((double)o.value[i] + o.grad[i]) / 2,
               0x1p-23 * (fabs((double)o.value[i]) + fabs((double)o.grad[i])));
    rf__optimizer_free(&o);
    rf__params_free(&params);
    rf_ctx_free(ctx);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(follows_the_formula),
        cmocka_unit_test(as_others_compute),
        cmocka_unit_test(factors_scale_the_rate),
        cmocka_unit_test(the_same_bits_for_any_workers),
        cmocka_unit_test(only_matrices_decay),
        cmocka_unit_test(norm_is_that_of_all_parameters),
        cmocka_unit_test(file_keeps_every_bit),
        cmocka_unit_test(means_and_swaps),
    };
    return cmocka_run_group_tests_name("train/optimizer", tests, NULL, NULL);
}
