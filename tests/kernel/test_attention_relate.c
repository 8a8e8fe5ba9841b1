/* test_attention_relate.c — mirrors src/kernel/attention/attention_relative.inc and attention_relative_backward.inc:
 * attention with tables of offsets and additional columns.
 *
 * The reference rung is compared with the formula with whole matrices in double, and its adjoints with central
 * differences of it; every other rung is compared with the reference rung.  The checks of bits and workspace include
 * bf16.                                                                                                              */
#include "relate_problem.h"

/* ---- the printed formula ----------------------------------------------------------------------------------------- */

static void rotate(const rfk_attention *a, double *x, int64_t n, int64_t D, const int32_t *row)
{
    for (int64_t t = 0; t < n && a->cos; t++) {
        const double c = (double)a->cos[row[t]], s = (double)a->sin[row[t]], x0 = x[t * D], x1 = x[t * D + 1];
        x[t * D] = c * x0 - s * x1;
        x[t * D + 1] = s * x0 + c * x1;
    }
}

static double dot(const double *x, const double *y, int64_t n)
{
    double s = 0;
    for (int64_t i = 0; i < n; i++) s += x[i] * y[i];
    return s;
}

static double *twice(const double *x, int64_t n)
{
    double *y = t_bytes((size_t)(n ? n : 1) * sizeof *y);
    if (n) memcpy(y, x, (size_t)n * sizeof *y);
    return y;
}

static void formula(const problem *p, double *const x[INPUTS], double *out)
{
    const rfk_attention *a = &p->a;
    const int64_t D = a->width, E = a->width2, clip = p->is.clip;
    double *q = twice(x[0], p->n[0]), *k = twice(x[1], p->n[1]), *w = t_bytes((size_t)a->keys * sizeof *w);
    rotate(a, q, a->queries, D, a->q_row);
    rotate(a, k, a->keys, D, a->k_row);
    for (int64_t t = 0; t < a->queries; t++) {
        double sum = 0;
        const int64_t position = t + a->keys - a->queries;
        for (int64_t s = 0; s < a->keys; s++) {
            const int64_t r = (s - position < -clip ? -clip : s - position > clip ? clip : s - position) + clip;
            double score = dot(q + t * D, k + s * D, D) + dot(x[3] + t * E, x[4] + s * E, E);
            if (p->n[5]) score += dot(q + t * D, x[5] + r * D, D);
            if (p->n[6]) score += dot(k + s * D, x[6] + r * D, D);
            score = (double)a->scale * score + (p->n[8] ? x[8][r] : 0);
            const int seen =
                (!a->causal || s <= position) && (!a->window || llabs((long long)(s - position)) <= a->window);
            w[s] = seen ? exp(score) : 0;
            sum += w[s];
        }
        for (int64_t i = 0; i < D; i++) out[t * D + i] = 0;
        for (int64_t s = 0; s < a->keys; s++) {
            const int64_t r = (s - position < -clip ? -clip : s - position > clip ? clip : s - position) + clip;
            for (int64_t i = 0; i < D && w[s] > 0; i++)
                out[t * D + i] += w[s] / sum * (x[2][s * D + i] + (p->n[7] ? x[7][r * D + i] : 0));
        }
    }
}

static double *doubles(const float *x, int64_t n)
{
    double *y = t_bytes((size_t)(n ? n : 1) * sizeof *y);
    for (int64_t i = 0; i < n; i++) y[i] = (double)x[i];
    return y;
}

/* The reference sums in double and rounds once; the error of finite differences (h = 1e-4) is h^2 times a third
 * derivative, below 1e-6 here; adjoints of tables are rounded once per pair, at most 81 times. */
static void the_reference_is_the_formula(void **state)
{
    (void)state;
    rfk_table ref;
    rfk_rung(0, &ref);
    for (size_t n = 0; n < RF_COUNT(small); n++) {
        problem p;
        make(&p, small[n]);
        const int64_t size = p.n[0];
        double *x[INPUTS], *out = t_bytes((size_t)size * sizeof *out), *weight = doubles(p.g.d_out, size);
        for (int i = 0; i < INPUTS; i++) x[i] = doubles(p.x[i], p.n[i]);
        formula(&p, x, out);
        ref.attention(&p.a, 0, p.a.queries, p.scratch);
        t_close_to(p.a.out, out, size, 1e-14, EPS / 2);
        back(&ref, &p);
        for (int i = 0; i < INPUTS; i++)
            for (int64_t j = 0; j < p.n[i]; j++) {
                const double h = 1e-4, before = x[i][j];
                double expected = 0;
                for (int side = -1; side <= 1; side += 2) {
                    x[i][j] = before + side * h;
                    formula(&p, x, out);
                    expected += side * dot(weight, out, size) / (2 * h);
                }
                x[i][j] = before;
                const double got = (double)p.dx[i][j];
                if (!(fabs(got - expected) <= 2e-6 + 81 * EPS * fabs(expected)))
                    fail_msg("shape %zu: input %d, adjoint %lld is %.9g, differences give %.9g", n, i, (long long)j,
                             got, expected);
            }
        t_free_all();
    }
}

/* ---- rungs against the reference --------------------------------------------------------------------------------- */

/* As in test_attention.c: a fraction of the largest result; a score now has four products and a number, and adjoints of
 * tables sum over all pairs of a run. */
static double share(const rfk_attention *a, int64_t terms)
{
    const double score = 6 * 4 * sqrt(3 * (double)(a->width + a->width2) + 6) * EPS / 2,
                 sum = 4 * sqrt((double)terms) * EPS / 2;
    return 4 * (2 * score + sum + 2 * EPS);
}

static void one(shape s)
{
    rfk_table k;
    problem p;
    make(&p, s);
    const rfk_attention *a = &p.a;
    const int64_t most = a->queries > a->keys ? a->queries : a->keys;
    float *out = NULL, *d[INPUTS] = {0};
    for (EACH_RUNG(k)) {
        k.attention(a, 0, a->queries, p.scratch);
        float *const got = copied(a->out, p.n[0], 0);
        back(&k, &p);
        const double left = 8 * sqrt((double)s.width) * EPS / (1 - (double)s.drop);
        for (int i = 0; i < INPUTS; i++) {
            float *const di = copied(p.dx[i], p.n[i], 0);
            if (!d[i]) {
                d[i] = di;
                continue;
            }
            const int64_t terms = i < 5 ? most : most * most;
            const double allowed = 2 * share(a, terms) * largest(d[i], p.n[i]) + sqrt((double)terms) * left;
            for (int64_t j = 0; j < p.n[i]; j++)
                if (!(fabs((double)di[j] - (double)d[i][j]) <= allowed))
                    fail_msg("%s: %lld x %lld, input %d, adjoint %lld: got %.9g, expected %.9g +- %.3g", k.isa,
                             (long long)a->queries, (long long)a->keys, i, (long long)j, (double)di[j], (double)d[i][j],
                             allowed);
        }
        if (!out) out = got;
        else t_close(got, out, p.n[0], share(a, a->keys) * largest(out, p.n[0]), 0);
    }
    t_check_fences();
    t_free_all();
}

static void every_size(void **state)
{
    (void)state;
    static const int64_t length[] = {1, 2, 7, 16, 63, 64, 65, 96, 97, 130, 200}, clip[] = {0, 1, 5, 16, 64, 199, 1000};
    for (size_t i = 0; i < RF_COUNT(length); i++)
        for (size_t j = 0; j < RF_COUNT(clip); j++)
            one((shape){.queries = length[i], .width = 16, .clip = clip[j], .tables = ALL});
    one((shape){.queries = 600, .width = 16, .clip = 599, .tables = ALL});
    one((shape){.queries = 600, .width = 16, .clip = 100, .tables = ALL, .causal = 1});
}

static void every_table(void **state)
{
    (void)state;
    static const int64_t width[] = {1, 5, 16, 24, 64, 72, 130};
    for (int tables = 0; tables <= ALL; tables++)
        for (size_t j = 0; j < RF_COUNT(width); j++) {
            one((shape){.queries = 70, .width = width[j], .width2 = tables % 3, .clip = 20, .tables = tables});
            one((shape){.queries = 110, .keys = 75, .width = width[j], .width2 = 17, .clip = 200, .tables = tables});
        }
}

static void every_mask(void **state)
{
    (void)state;
    static const int64_t size[][2] = {{100, 100}, {7, 150}, {150, 7}, {300, 300}, {1, 600}};
    for (size_t i = 0; i < RF_COUNT(size); i++)
        for (int causal = 0; causal < 2; causal++)
            for (int64_t window = 0; window < 200; window += 33)
                one((shape){.queries = size[i][0],
                            .keys = size[i][1],
                            .width = 24,
                            .clip = 40,
                            .tables = ALL,
                            .causal = causal,
                            .window = window,
                            .drop = window % 2 ? 0.2F : 0});
}

/* ---- bits and workspace ------------------------------------------------------------------------------------------ */

static void a_row_does_not_see_the_partition(void **state)
{
    (void)state;
    static const int64_t cut[] = {1, 5, 96, 333};
    rfk_table k;
    for (int i = 0; i < 4; i++) {
        problem p;
        make(&p,
             (shape){
                 .queries = 620, .width = 20, .width2 = 3, .clip = i % 2 ? 619 : 30, .tables = ALL, .causal = i / 2});
        const size_t bytes = rfk_attention_scratch(&p.a);
        for (EACH_RUNG(k)) {
            if (k_at == 0) continue;
            for (int type = 0; type < 2; type++) {
                void (*const attention)(const rfk_attention *, int64_t, int64_t, void *) =
                    type ? k.attention_bf16 : k.attention;
                attention(&p.a, 0, 620, p.scratch);
                const float *expected = copied(p.a.out, p.n[0], 0);
                for (size_t c = 0; c < RF_COUNT(cut); c++) {
                    memset(p.scratch, c % 2 ? 0x3F : 0, bytes);
                    for (int64_t t = 0; t < 620; t += cut[c])
                        attention(&p.a, t, t + cut[c] < 620 ? t + cut[c] : 620, p.scratch);
                    same_bits(p.a.out, expected, p.n[0], "out");
                }
            }
        }
        t_free_all();
    }
}

/* A table of zeros is equivalent to none, and a table longer than the text can be truncated. */
static void what_is_not_met_changes_nothing(void **state)
{
    (void)state;
    rfk_table k;
    problem p;
    make(&p, (shape){.queries = 90, .width = 32, .clip = 120, .tables = ALL});
    for (EACH_RUNG(k)) {
        k.attention(&p.a, 0, 90, p.scratch);
        const float *expected = copied(p.a.out, p.n[0], 0);
        rfk_relative cut = p.is;
        cut.clip = 89;
        cut.query += 31 * 32, cut.key += 31 * 32, cut.value += 31 * 32, cut.bias += 31;
        rfk_attention a = p.a;
        a.relative = &cut;
        k.attention(&a, 0, 90, p.scratch);
        same_bits(p.a.out, expected, p.n[0], "out");
    }
    t_free_all();
}

/* Scratch does not grow with the product of queries and keys. */
static void long_texts(void **state)
{
    (void)state;
    rfk_table k;
    problem p;
    make(&p, (shape){.queries = 30000, .width = 16, .clip = 29999, .tables = ALL});
    assert_true(rfk_attention_scratch(&p.a) < 2000000 + 30000 * 16);
    /* eight rows for each query */
    assert_true(rfk_attention_back_scratch(&p.a) < 2000000 + 30000 * 8 * 16 * sizeof(float));
    float *expected = NULL;
    for (EACH_RUNG(k)) {
        k.attention(&p.a, 29997, 30000, p.scratch);
        float *const last = copied(p.a.out + 29997 * 16, 48, 0);
        if (expected) t_close(last, expected, 48, share(&p.a, 30000) * fmax(largest(expected, 48), 0.01), 0);
        else expected = last;
    }
    t_free_all();
}

static void biases_of_any_size(void **state)
{
    (void)state;
    rfk_table k;
    const shape s = {.queries = 150, .width = 16, .clip = 40, .tables = ALL, .causal = 1};
    for (EACH_RUNG(k)) even_weights(k.isa, k.attention, k.attention_back, s, 1e-5);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_reference_is_the_formula), cmocka_unit_test(every_size),
        cmocka_unit_test(every_table),                  cmocka_unit_test(every_mask),
        cmocka_unit_test(a_row_does_not_see_the_partition), cmocka_unit_test(what_is_not_met_changes_nothing),
        cmocka_unit_test(long_texts),
        cmocka_unit_test(biases_of_any_size),
    };
    return cmocka_run_group_tests_name("kernel/attention_relate", tests, NULL, NULL);
}
