/* test_adafactor.c — mirrors src/optim/adafactor.c on matrices that several threads update, compared with transformers
 * (tools/golden/golden_adafactor.py explains the numbers). */
#include "optim/optimizer.h"
#include "t.h"

enum { UPDATES = 4, SAMPLES = 64, STRIDE = 52711 };

static float draw(uint32_t *x)
{
    *x = 1664525u * *x + 1013904223u;
    return (float)(*x >> 8) * 0x1p-24F - 0.5F;
}

/* Sums of squares of a column are in f32, over at most a thousand rows: a relative tolerance of 1e-5 is far above their
 * rounding.  Steps are about 1e-2 and may cancel; each has a relative error of 1e-6.  A factor of the wrong row or
 * column is wrong by a power of two. */
static void matrix_case(FILE *f, rf_ctx *ctx)
{
    int rows, columns;
    double beta1, expected;
    assert_int_equal(fscanf(f, "%d %d %lf", &rows, &columns, &beta1), 3);
    const size_t n = (size_t)rows * (size_t)columns;
    rf_param param = {.name = "matrix", .rank = 2, .dim = {rows, columns}, .count = n};
    const rf_params params = {.ctx = ctx, .n = 1, .total = n, .p = &param};
    const rf__rule rule = {.optim = RF_OPTIM_ADAFACTOR, .beta1 = beta1, .clip_threshold = 1, .decay_rate = -0.8};
    rf__optimizer o;
    uint32_t x = 1;
    assert_int_equal(rf__optimizer_new(&params, &rule, &o, NULL), RF_OK);
    for (int t = 1; t <= UPDATES; t++) {
        double square = 0;
        for (size_t i = 0; i < n; i++)
            o.grad[i] = ldexpf(draw(&x), -(int)(i / (size_t)columns % 14) - (int)(7 * (i % (size_t)columns) % 11));
        assert_int_equal(rf__optimizer_update(&o, &(rf__step){1e-2, 1, t}, NULL), RF_OK);
        for (size_t i = 0; i < n; i++) square += (double)o.value[i] * o.value[i];
        assert_int_equal(fscanf(f, "%lf", &expected), 1);
        t_near(sqrt(square), expected, 1e-5 * expected);
        for (size_t i = 0; i < SAMPLES; i++) {
            const double got = (double)o.value[i * STRIDE % n];
            assert_int_equal(fscanf(f, "%lf", &expected), 1);
            if (!(fabs(got - expected) <= 1e-5 * fabs(expected) + 1e-8 * t))
                fail_msg("%d x %d, update %d, sample %zu: %.9g, expected %.9g", rows, columns, t, i, got, expected);
        }
    }
    rf__optimizer_free(&o);
}

static void large_matrices_as_transformers(void **state)
{
    (void)state;
    static const char *const isa[] = {"ref", NULL};
    for (int rung = 0; rung < 2; rung++) {
        char line[512], word[16];
        int cases = 0;
        rf_ctx *ctx = t_ctx(2, isa[rung]);
        FILE *f = fopen("tests/golden/train/adafactor.txt", "r");
        assert_non_null(f);
        for (int i = 0; i < 2; i++) assert_non_null(fgets(line, sizeof line, f));
        for (; fscanf(f, "%15s", word) == 1 && !strcmp(word, "case"); cases++) matrix_case(f, ctx);
        assert_string_equal(word, "end");
        assert_int_equal(cases, 4);
        fclose(f);
        rf_ctx_free(ctx);
    }
}

/* ---- all tensors of a model at once ---- */

/* The printed formula for one tensor, in double; r, c (or v of a vector) and p are kept between updates. */
static void formula(const rf_param *p, const float *grad, double scale, double *value, double *v, int t)
{
    const size_t C = p->rank == 2 ? (size_t)p->dim[1] : 1, R = p->count / C;
    const double b = 1 - pow(t, -0.8);
    double *u = malloc(p->count * sizeof *u), *fresh = calloc(R + C, sizeof *fresh), mean = 0, square = 0;
    for (size_t i = 0; i < p->count; i++) {
        const double g = scale * grad[i], g2 = g * g + 1e-30;
        u[i] = g;
        if (p->rank != 2) v[i] = b * v[i] + (1 - b) * g2;
        else fresh[i / C] += g2 / (double)C, fresh[R + i % C] += g2 / (double)R;
    }
    for (size_t i = 0; i < R + C && p->rank == 2; i++) v[i] = b * v[i] + (1 - b) * fresh[i];
    for (size_t i = 0; i < R && p->rank == 2; i++) mean += v[i] / (double)R;
    for (size_t i = 0; i < p->count; i++) {
        u[i] /= p->rank == 2 ? sqrt(v[i / C] / mean * v[R + i % C]) : sqrt(v[i]);
        square += u[i] * u[i];
    }
    const double size = fmax(1, sqrt(square / (double)p->count));
    for (size_t i = 0; i < p->count; i++) value[i] -= 1e-2 * u[i] / size;
    free(u);
    free(fresh);
}

/* |a - b| / |b|: the difference of directions. */
static double apart(const float *a, const double *b, size_t n)
{
    double away = 0, all = 0;
    for (size_t i = 0; i < n; i++) away += pow(a[i] - b[i], 2), all += b[i] * b[i];
    return sqrt(away / all);
}

/* Every tensor of a model whose feed-forward is divided among several threads, and whose rows have gradients of very
 * different sizes, follows the formula: factors of tensors do not mix. */
static void all_tensors_move_as_printed(void **state)
{
    (void)state;
    rf_ctx *ctx = t_ctx(2, NULL);
    rf_config c;
    rf_params params;
    rf__optimizer o;
    uint32_t x = 1;
    rf_config_defaults(&c);
    c.vocab_size = 500, c.embedding_size = c.hidden_size = 256, c.intermediate_size = 1024;
    c.num_hidden_layers = 3, c.num_attention_heads = 4;
    assert_int_equal(rf__params_new(ctx, &c, &params, NULL), RF_OK);
    const rf__rule rule = {.optim = RF_OPTIM_ADAFACTOR, .clip_threshold = 1, .decay_rate = -0.8};
    assert_int_equal(rf__optimizer_new(&params, &rule, &o, NULL), RF_OK);
    double *value = calloc(params.total, sizeof *value), *v = calloc(2 * params.total, sizeof *v), worst = 0;
    for (int t = 1; t <= 3; t++) {
        for (size_t i = 0; i < params.n; i++) {
            const rf_param *p = &params.p[i];
            const size_t C = p->rank == 2 ? (size_t)p->dim[1] : 1;
            for (size_t k = 0; k < p->count; k++) o.grad[p->offset + k] = ldexpf(draw(&x), -(int)(k / C % 14));
            formula(p, o.grad + p->offset, 0.25, value + p->offset, v + 2 * p->offset, t);
        }
        assert_int_equal(rf__optimizer_update(&o, &(rf__step){1e-2, 0.25, t}, NULL), RF_OK);
    }
    for (size_t i = 0; i < params.n; i++) {
        const rf_param *p = &params.p[i];
        const double away = apart(o.value + p->offset, value + p->offset, p->count);
        worst = fmax(worst, away);
        if (!(away < 1e-5)) fail_msg("%s: %.3g of its way beside it", p->name, away);
    }
    print_message("           %zu tensors, at most %.2g of their way beside it\n", params.n, worst);
    free(value);
    free(v);
    rf__optimizer_free(&o);
    rf__params_free(&params);
    rf_ctx_free(ctx);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(large_matrices_as_transformers),
                                       cmocka_unit_test(all_tensors_move_as_printed)};
    return cmocka_run_group_tests_name("optim/adafactor", tests, NULL, NULL);
}
