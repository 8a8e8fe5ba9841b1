/* test_linear.c — mirrors src/kernel/attention/linear/linear_attention.c, linear_attention_chunk.c, feature_maps.c,
 * mirrors src/kernel/attention/linear/maps (all of them). */
#include "linear_head.h"

static int64_t run(const struct head *h, const rfk_table *k, float *out)
{
    rfk__linear_pack(k, h->w, h->p.f, h->p.D, h->panels);
    rfk__linear a = call_of(h, k, out, 0, h->p.T);
    rfk__linear_forward(&a, h->scratch);
    return a.underflows;
}

/* A feature's exponent is a sum of D products, |W x| <= 30 here, and its square norm; a weight is f products and a
 * result T of them: the formula adds up the sizes that are rounded. */
static double tolerance(const struct head *h) { return (64 + (double)h->p.D + (double)h->p.f / 4) * EPS; }

static void formula_of(const char *name, int64_t T, int64_t D, int64_t f, bool causal, enum linear_order order)
{
    struct head h = head_of(name, T, D, f, causal, order);
    double *expected = t_bytes((size_t)(T * D) * sizeof *expected), *size = t_bytes((size_t)T * sizeof *size);
    linear_formula(&h.p, expected, size, h.q, h.k, h.v, NULL, NULL);
    rfk_table k;
    for (EACH_RUNG(k)) {
        float *out = t_floats(T * D);
        int64_t nothing = 0;                                /* tokens whose denominator is 0: 0 / 0 in the formula */
        for (int64_t t = 0; t < T; t++) nothing += isnan(expected[t * D]) != 0;
        assert_int_equal(run(&h, &k, out), nothing);
        for (int64_t t = 0; t < T; t++)
            for (int64_t j = 0; j < D; j++) {
                if (isnan(expected[t * D])) {
                    assert_true(out[t * D + j] == 0);
                    continue;
                }
                const double error = fabs((double)out[t * D + j] - expected[t * D + j]);
                if (!(error <= tolerance(&h) * size[t]))
                    fail_msg("%s %s, order %d, causal %d, T %d, D %d, f %d: token %d column %d is %g, not %g (%.1f of "
                             "the bound)", k.isa, name, order, causal, (int)T, (int)D, (int)f, (int)t, (int)j,
                             (double)out[t * D + j], expected[t * D + j], error / (tolerance(&h) * size[t]));
            }
    }
    t_check_fences();
    end_head(&h);
    t_free_all();
}

static void every_map_is_its_formula(void **state)
{
    (void)state;
    static const int64_t lengths[] = {1, 5, 31, 33, 128, 129, 300};
    for (const rfk__feature_map *const *m = rfk__feature_map_list; *m; m++)
        for (int order = 0; order < 3; order++)
            for (int causal = 0; causal < 2; causal++)
                for (size_t i = 0; i < RF_COUNT(lengths); i++)
                    formula_of((*m)->name, lengths[i], i % 2 ? 8 : 20, i % 3 ? 40 : 22, causal,
                               (enum linear_order)order);
}

/* xPos over chunks: with s = 20 the first plane keeps 3e-4 of tokens 128 positions back. */
static void decay_goes_on_across_chunks(void **state)
{
    (void)state;
    static const int64_t lengths[] = {1, 33, 128, 129, 300};
    for (const rfk__feature_map *const *m = rfk__feature_map_list; *m; m++)
        for (size_t i = 0; i < RF_COUNT(lengths); i++)
            formula_of((*m)->name, lengths[i], i % 2 ? 8 : 20, i % 3 ? 40 : 22, true, LINEAR_XPOS);
}

/* More features than the depth of one product, and heads of other widths. */
static void features_beyond_one_product(void **state)
{
    (void)state;
    formula_of("favor", 70, 16, 1700, true, LINEAR_EQ19);
    formula_of("relu", 70, 16, 1700, false, LINEAR_EQ19);
    formula_of("favor", 140, 64, 266, true, LINEAR_BEFORE);
    formula_of("elu", 140, 100, 0, true, LINEAR_EQ19);
    formula_of("squared_relu", 40, 2, 0, true, LINEAR_EQ19);
}

/* In calls of `each` tokens, or of 1, 2, 3, ... for 0. */
static void in_parts(const struct head *h, const rfk_table *k, float *out, int64_t each)
{
    void *state = t_bytes(rfk__linear_state_bytes(k, h->p.f, h->p.D));
    rfk__linear_begin(k, state, h->p.f, h->p.D);
    int64_t more = each ? each : 1;
    for (int64_t first = 0; first < h->p.T; first += more, more = each ? each : more + 1) {
        rfk__linear a = call_of(h, k, out, first, rf__min64(more, h->p.T - first));
        a.state = state;
        rfk__linear_forward(&a, h->scratch);
    }
    assert_int_equal(rfk__linear_count(state), h->p.T);
}

static void tokens_come_as_they_like(void **state)
{
    (void)state;
    static const int64_t parts[] = {0, 1, 7, 128, 150};
    for (const rfk__feature_map *const *m = rfk__feature_map_list; *m; m++) {
        const bool even = (m - rfk__feature_map_list) % 2;
        struct head h = head_of((*m)->name, 290, 12, 26, true, even ? LINEAR_XPOS : LINEAR_EQ19);
        for (int64_t i = 0; i < 290; i++) h.qkv[i * 36 + 12 + i % 12] += (float)i / 20;      /* maxima that rise */
        rfk_table k;
        for (EACH_RUNG(k)) {
            float *whole = t_floats(290 * 12), *out = t_floats(290 * 12);
            run(&h, &k, whole);
            for (size_t i = 0; i < RF_COUNT(parts); i++) {
                in_parts(&h, &k, out, parts[i]);
                same_bits(whole, out, 290 * 12, (*m)->name);
            }
        }
        t_check_fences();
        end_head(&h);
        t_free_all();
    }
}

/* Later tokens, however large, have no effect. */
static void a_prefix_does_not_see_what_follows(void **state)
{
    (void)state;
    for (const rfk__feature_map *const *m = rfk__feature_map_list; *m; m++)
        for (int64_t prefix = 100; prefix < 260; prefix += 70) {
            struct head h = head_of((*m)->name, 300, 8, 24, true, LINEAR_EQ19);
            float *whole = t_floats(300 * 8), *other = t_floats(300 * 8);
            rfk_table k;
            for (EACH_RUNG(k)) {
                run(&h, &k, whole);
                for (int64_t i = prefix * 24; i < 300 * 24; i++) h.qkv[i] *= 6;
                run(&h, &k, other);
                same_bits(whole, other, prefix * 8, (*m)->name);
                for (int64_t i = prefix * 24; i < 300 * 24; i++) h.qkv[i] /= 6;
            }
            end_head(&h);
            t_free_all();
        }
}

/* Weights without rotation are probabilities: if all values are 1, so is the result. */
static void weights_sum_to_one(void **state)
{
    (void)state;
    for (const rfk__feature_map *const *m = rfk__feature_map_list; *m; m++)
        for (int causal = 0; causal < 2; causal++) {
            struct head h = head_of((*m)->name, 200, 16, 32, causal, LINEAR_NONE);
            for (int64_t i = 0; i < 200 * 16; i++) h.qkv[i / 16 * 48 + 32 + i % 16] = 1;
            float *out = t_floats(200 * 16);
            rfk_table k;
            for (EACH_RUNG(k)) {
                run(&h, &k, out);
                for (int64_t i = 0; i < 200 * 16; i++) t_near((double)out[i], 1, 128 * EPS);
            }
            end_head(&h);
            t_free_all();
        }
}

/* Keys without any positive feature have no weight, and neither have exponentials too far below the largest key's:
 * zeros, counted, and nothing else changes. */
static void no_denominator_gives_zeros(void **state)
{
    (void)state;
    rfk_table k;
    for (EACH_RUNG(k)) {
        struct head h = head_of("squared_relu", 140, 8, 0, true, LINEAR_EQ19);
        for (int64_t t = 0; t < 130; t++)
            for (int64_t j = 0; j < 8; j++) h.qkv[t * 24 + 8 + j] = -1;
        float *out = t_floats(140 * 8);
        const int64_t zeros = run(&h, &k, out);
        assert_true(zeros >= 130);
        for (int64_t i = 0; i < 130 * 8; i++) assert_true(out[i] == 0);
        assert_true(k.finite(out, 140 * 8));
        end_head(&h);
        h = head_of("exp", 3, 8, 0, true, LINEAR_NONE);
        memset(h.qkv, 0, 72 * sizeof *h.qkv);
        h.qkv[24 + 8] = 300;                                /* token 1's key; its query only sees feature 5 */
        h.qkv[24 + 5] = h.qkv[48 + 5] = 400;
        assert_int_equal(run(&h, &k, out), 2);
        assert_true(k.finite(out, 24));
        end_head(&h);
        t_free_all();
    }
}

/* bf16: the kernel's result is that of rounded inputs. */
static void half_inputs_are_rounded_inputs(void **state)
{
    (void)state;
    struct head h = head_of("favor", 150, 16, 40, true, LINEAR_EQ19);
    float *out = t_floats(150 * 16), *other = t_floats(150 * 16);
    uint16_t half[48];
    rfk_table k;
    for (EACH_RUNG(k)) {
        rfk__linear_pack(&k, h.w, h.p.f, h.p.D, h.panels);
        rfk__linear a = call_of(&h, &k, out, 0, 150);
        a.bf16 = true;
        rfk__linear_forward(&a, h.scratch);
        float *kept = h.qkv;
        h.qkv = copied(kept, 150 * 48, 0);
        for (int64_t t = 0; t < 150; t++) k.to_bf16(half, h.qkv + t * 48, 48), k.from_bf16(h.qkv + t * 48, half, 48);
        run(&h, &k, other);
        same_bits(out, other, 150 * 16, "bf16");
        h.qkv = kept;
    }
    end_head(&h);
    t_free_all();
}

/* The same with xPos, whose sums are a geometric series: the text repeats, and the last weights are those of the first
 * period except for terms from farther back. */
static void a_decayed_million(void **state)
{
    (void)state;
    enum { PERIOD = 1000, D = 8, CALLS = 1000 };
    struct head h = head_of("elu", PERIOD, D, 0, true, LINEAR_XPOS);
    rfk_table k;
    for (int i = 0; rfk_rung(i, &k); i++) {}
    rfk__linear a = call_of(&h, &k, t_floats(PERIOD * D), 0, PERIOD);
    a.state = t_bytes(rfk__linear_state_bytes(&k, D, D));
    memset(h.row, 0, PERIOD * sizeof *h.row);               /* all at angle 0: rotation is tested elsewhere */
    rfk__linear_begin(&k, a.state, D, D);
    for (int i = 0; i < CALLS; i++) rfk__linear_forward(&a, h.scratch);
    double num[D] = {0}, den = 0, size = 0, worst = 0;
    for (int64_t back = 0; back < (int64_t)PERIOD * CALLS; back++)
        for (int i = 0; i < D; i++) {
            const int64_t n = PERIOD - 1 - back % PERIOD;
            const double q = h.q[(PERIOD - 1) * D + i], u = h.k[n * D + i];
            const double w = (q > 0 ? q + 1 : exp(q)) * (u > 0 ? u + 1 : exp(u));
            const double z = back < 100 * PERIOD ? pow(linear_zeta(i / 2, D), (double)back) : 0;
            den += w, size += w * z;
            for (int j = 0; j < D; j++) num[j] += w * z * h.v[n * D + j];
        }
    for (int j = 0; j < D; j++)
        worst = fmax(worst, fabs((double)a.out[(PERIOD - 1) * D + j] - num[j] / den) / (size / den));
    print_message("after a million tokens of xPos: error %.1e of what is summed\n", worst);
    assert_true(worst < 1e-5);
    end_head(&h);
    t_free_all();
}

/* A million tokens in calls of 1000, compared with sums in double.  The text repeats after 1000 tokens, so the sums are
 * multiples of those of 1000. */
static void a_million_tokens(void **state)
{
    (void)state;
    enum { PERIOD = 1000, D = 8, CALLS = 1000 };
    struct head h = head_of("elu", PERIOD, D, 0, true, LINEAR_NONE);
    rfk_table k;
    for (int i = 0; rfk_rung(i, &k); i++) {}
    rfk__linear a = call_of(&h, &k, t_floats(PERIOD * D), 0, PERIOD);
    a.state = t_bytes(rfk__linear_state_bytes(&k, D, D));
    rfk__linear_begin(&k, a.state, D, D);
    for (int i = 0; i < CALLS; i++) rfk__linear_forward(&a, h.scratch);
    assert_int_equal(rfk__linear_count(a.state), (int64_t)PERIOD * CALLS);
    double worst = 0;
    double S[D][D] = {{0}}, z[D] = {0};
    for (int64_t n = 0; n < PERIOD; n++)
        for (int i = 0; i < D; i++) {
            const double u = h.k[n * D + i], feature = u > 0 ? u + 1 : exp(u);
            z[i] += feature;
            for (int j = 0; j < D; j++) S[i][j] += feature * h.v[n * D + j];
        }
    for (int j = 0; j < D; j++) {
        double num = 0, den = 0, size = 0;
        for (int i = 0; i < D; i++) {
            const double u = h.q[(PERIOD - 1) * D + i], feature = u > 0 ? u + 1 : exp(u);
            num += feature * S[i][j], den += feature * z[i], size += feature * z[i];
        }
        worst = fmax(worst, fabs((double)a.out[(PERIOD - 1) * D + j] - num / den) / (size / den));
    }
    print_message("after a million tokens: error %.1e of a value of size 1\n", worst);
    assert_true(worst < 1e-6);
    end_head(&h);
    t_free_all();
}

/* Directions within a block are orthogonal, lengths are those of Gaussian rows, and each seed has its own. */
static void random_features_are_orthogonal(void **state)
{
    (void)state;
    enum { D = 24, F = 60 };
    float *w = t_floats(F * D), *other = t_floats(F * D);
    double *work = t_bytes(D * D * sizeof *work), squares = 0;
    rfk__random_features(3, 0, F, D, w, work);
    for (int i = 0; i < F; i++)
        for (int j = i; j < F && j / D == i / D; j++) {
            double dot = 0;
            for (int c = 0; c < D; c++) dot += (double)w[i * D + c] * (double)w[j * D + c];
            if (i == j) squares += dot;
            else t_near(dot, 0, 100 * EPS);
        }
    t_near(squares / F / D, 1, 0.15);                   /* F chi squares of D degrees: deviation sqrt(2 / FD) = 0.037 */
    rfk__random_features(3, 0, F, D, other, work);
    same_bits(w, other, F * D, "the same seed");
    rfk__random_features(4, 0, F, D, other, work);
    assert_true(memcmp(w, other, sizeof *w * F * D) != 0);
    rfk__random_features(3, 1, F, D, other, work);
    assert_true(memcmp(w, other, sizeof *w * F * D) != 0);
    assert_int_equal(rfk__default_features(64), 266);
    assert_int_equal(rfk__default_features(1), 1);
    t_free_all();
}

/* FAVOR+ approximates softmax: with many features its weights are those of attention. */
static void favor_estimates_softmax(void **state)
{
    (void)state;
    enum { T = 12, D = 8, F = 16384 };
    struct head h = head_of("favor", T, D, F, false, LINEAR_NONE);
    for (int64_t i = 0; i < T * 3 * D; i++) h.qkv[i] *= 0.5f;
    h.p.epsilon = 0;
    float *out = t_floats(T * D);
    rfk_table k;
    for (int i = 0; rfk_rung(i, &k); i++) {}
    run(&h, &k, out);
    for (int64_t t = 0; t < T; t++) {
        double sum = 0, exact[D] = {0};
        for (int64_t s = 0; s < T; s++) {
            double score = 0;
            for (int j = 0; j < D; j++) score += (double)(h.qkv[t * 24 + j] * h.qkv[s * 24 + 8 + j]);
            const double w = exp(score / sqrt(D));
            sum += w;
            for (int j = 0; j < D; j++) exact[j] += w * (double)h.qkv[s * 24 + 16 + j];
        }
        for (int j = 0; j < D; j++) t_near((double)out[t * D + j], exact[j] / sum, 0.04);
    }
    end_head(&h);
    t_free_all();
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_map_is_its_formula),
        cmocka_unit_test(decay_goes_on_across_chunks),
        cmocka_unit_test(features_beyond_one_product),
        cmocka_unit_test(tokens_come_as_they_like),
        cmocka_unit_test(a_prefix_does_not_see_what_follows),
        cmocka_unit_test(weights_sum_to_one),
        cmocka_unit_test(no_denominator_gives_zeros),
        cmocka_unit_test(half_inputs_are_rounded_inputs),
        cmocka_unit_test(a_million_tokens),
        cmocka_unit_test(a_decayed_million),
        cmocka_unit_test(random_features_are_orthogonal),
        cmocka_unit_test(favor_estimates_softmax),
    };
    return cmocka_run_group_tests_name("kernel/linear", tests, NULL, NULL);
}
