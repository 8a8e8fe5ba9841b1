/* test_linear_back.c — mirrors src/kernel/attention/linear/linear_attention_backward.c: adjoints compared with central
 * differences of the formula in double. */
#include "linear_head.h"

struct problem { struct head h; double *weight, *query_top, *key_top, *out; };

/* L = sum_i weight_i out_i, with the maxima of the features kept constant. */
static double loss(const struct problem *p)
{
    linear_printed is = p->h.p;
    is.query_top = p->query_top;
    is.key_top = p->key_top;
    linear_formula(&is, p->out, NULL, p->h.q, p->h.k, p->h.v, NULL, NULL);
    double sum = 0;
    for (int64_t i = 0; i < is.T * is.D; i++)
        if (!isnan(p->out[i])) sum += p->weight[i] * p->out[i];              /* 0 / 0 is 0 */
    return sum;
}

static double slope(const struct problem *p, double *x)
{
    const double kept = *x, step = 2e-6;
    *x = kept + step;
    const double more = loss(p);
    *x = kept - step;
    const double less = loss(p);
    *x = kept;
    return (more - less) / (2 * step);
}

/* Adjoints of q, k, v [T, 3D] on one rung. */
static float *adjoints(const struct head *h, const rfk_table *k, const float *d_out)
{
    const int64_t T = h->p.T, D = h->p.D;
    float *out = t_floats(T * D), *d = t_floats(T * 3 * D);
    rfk__linear_pack(k, h->w, h->p.f, D, h->panels);
    rfk__linear a = call_of(h, k, out, 0, T);
    a.left = h->p.causal ? t_bytes(rfk__linear_left_bytes(k, h->p.f, D, T)) : NULL;
    rfk__linear_forward(&a, h->scratch);
    const rfk__linear_grad to = {d_out, D, d, d + D, d + 2 * D, 3 * D};
    rfk__linear_back(&a, &to, t_bytes(rfk__linear_back_scratch(&a)));
    return d;
}

/* A gradient is a sum over pairs of tokens, of terms with the roundings of the forward pass and of two more products:
 * relative to the largest gradient, 4 (D + f / 4 + T / 16 + 64) roundings. */
static void gradients_of(const char *name, int64_t T, int64_t D, int64_t f, bool causal, enum linear_order order,
                         int64_t samples, double size)
{
    struct problem p = {.h = head_of(name, T, D, f, causal, order)};
    struct head *h = &p.h;
    for (int64_t i = 0; i < T * 3 * D; i++) h->qkv[i] *= (float)size;
    for (int64_t i = 0; i < T * D; i++) h->q[i] *= size, h->k[i] *= size, h->v[i] *= size;
    const float *d_out = t_normal(T * D);
    p.weight = doubled(d_out, T, D, D);
    p.out = t_bytes((size_t)(T * D) * sizeof *p.out);
    p.query_top = t_bytes((size_t)T * sizeof *p.query_top);
    p.key_top = t_bytes((size_t)T * sizeof *p.key_top);
    linear_formula(&h->p, p.out, NULL, h->q, h->k, h->v, p.query_top, p.key_top);
    double *const x[] = {h->q, h->k, h->v};
    rfk_table k;
    enum { MOST_RUNGS = 32 };
    float *d[MOST_RUNGS];
    int rungs = 0;
    for (EACH_RUNG(k)) {
        assert_true(rungs < MOST_RUNGS);
        d[rungs++] = adjoints(h, &k, d_out);
    }
    const int64_t every = samples ? rf__max64(1, T * D / samples) : 1;
    for (int part = 0; part < 3; part++)
        for (int64_t i = part; i < T * D; i += every) {
            const double expected = slope(&p, x[part] + i);
            for (int r = 0; r < rungs; r++) {
                double most = 1e-3;
                for (int64_t j = 0; j < T * 3 * D; j++) most = fmax(most, fabs((double)d[r][j]));
                const double got = (double)d[r][i / D * 3 * D + part * D + i % D];
                const double bound = 4 * ((double)(D + f / 4 + T / 16) + 64) * EPS * most + 1e-8;
                if (!(fabs(got - expected) <= bound))
                    fail_msg("rung %d, %s, order %d, causal %d, T %d, D %d, f %d: d%c of token %d column %d is %g, not "
                             "%g (bound %g)", r, name, order, causal, (int)T, (int)D, (int)h->p.f, "qkv"[part],
                             (int)(i / D), (int)(i % D), got, expected, bound);
            }
        }
    t_check_fences();
    end_head(h);
    t_free_all();
}

static void every_map(void **state)
{
    (void)state;
    for (const rfk__feature_map *const *m = rfk__feature_map_list; *m; m++)
        for (int order = 0; order < 3; order++)
            for (int causal = 0; causal < 2; causal++) {
                gradients_of((*m)->name, 1 + order * 18, 6, 10, causal, (enum linear_order)order, 0, 1);
                gradients_of((*m)->name, 140 + order * 64, 6, 10, causal, (enum linear_order)order, 12, 1);
            }
}

/* xPos, within a chunk and over several. */
static void decays(void **state)
{
    (void)state;
    for (const rfk__feature_map *const *m = rfk__feature_map_list; *m; m++) {
        gradients_of((*m)->name, 20, 6, 10, true, LINEAR_XPOS, 0, 1);
        gradients_of((*m)->name, 200, 6, 10, true, LINEAR_XPOS, 12, 1);
    }
}

/* Features beyond one product's depth, heads of other widths. */
static void other_sizes(void **state)
{
    (void)state;
    gradients_of("favor", 40, 34, 800, true, LINEAR_EQ19, 6, 0.5);
    gradients_of("relu", 40, 34, 800, false, LINEAR_EQ19, 6, 1);
    gradients_of("elu", 150, 64, 0, true, LINEAR_EQ19, 6, 1);
}

/* Maxima that rise from chunk to chunk: sums are converted from unit to unit. */
static void rising_maxima(void **state)
{
    (void)state;
    gradients_of("exp", 300, 6, 0, true, LINEAR_EQ19, 12, 3);
    gradients_of("favor", 300, 6, 10, true, LINEAR_EQ19, 12, 3);
    gradients_of("shen", 300, 6, 0, true, LINEAR_BEFORE, 12, 3);
}

/* A token without a denominator has no gradient, and the others have correct ones. */
static void no_denominator_no_gradient(void **state)
{
    (void)state;
    rfk_table k;
    for (EACH_RUNG(k)) {
        struct head h = head_of("squared_relu", 150, 8, 0, true, LINEAR_EQ19);
        for (int64_t t = 0; t < 130; t++)
            for (int64_t j = 0; j < 8; j++) h.qkv[t * 24 + 8 + j] = -1;
        const float *d = adjoints(&h, &k, t_normal(150 * 8));
        assert_true(k.finite(d, 150 * 24));
        for (int64_t i = 0; i < 130; i++)
            for (int64_t j = 0; j < 8; j++) assert_true(d[i * 24 + j] == 0 && d[i * 24 + 8 + j] == 0);
        end_head(&h);
        t_free_all();
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_map),
        cmocka_unit_test(decays),
        cmocka_unit_test(other_sizes),
        cmocka_unit_test(rising_maxima),
        cmocka_unit_test(no_denominator_no_gradient),
    };
    return cmocka_run_group_tests_name("kernel/linear_back", tests, NULL, NULL);
}
