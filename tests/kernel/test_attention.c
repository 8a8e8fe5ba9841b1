/* test_attention.c — mirrors src/kernel/attention/attention_scratch.c, attention*.inc and src/kernel/ref/attention.c.
 *
 * The reference rung is compared with the formula, implemented here with whole matrices in double, and its adjoints
 * with central differences of it.  Every other rung is compared with the reference rung.                             */
#define FORWARD attention
#define BACK attention_back
#include "attention_problem.h"

/* ---- the printed formula ----------------------------------------------------------------------------------------- */

/* Column i of R x as the complex product of its plane with e^(i angle). */
static double rotated(const rfk_attention *a, const double *x, int32_t row, int64_t i)
{
    const int64_t half = a->rotary / 2;
    if (i >= a->rotary) return x[i];
    const int64_t plane = a->layout == RF_ROPE_PAIRS ? i / 2 : i % half;
    const int64_t re = a->layout == RF_ROPE_PAIRS ? 2 * plane : plane,
                  im = a->layout == RF_ROPE_PAIRS ? re + 1 : re + half;
    const double c = (double)a->cos[row * half + plane], s = (double)a->sin[row * half + plane];
    return i == re ? c * x[re] - s * x[im] : s * x[re] + c * x[im];
}

/* out [queries][width] and lse [queries] from dense rows q, k, v. */
static void formula(const rfk_attention *a, const double *q, const double *k, const double *v, double *out, double *lse)
{
    const int64_t D = a->width;
    double *p = t_bytes((size_t)a->keys * sizeof *p);
    for (int64_t t = 0; t < a->queries; t++) {
        double sum = 0;
        for (int64_t i = 0; i < D; i++) out[t * D + i] = 0;
        for (int64_t s = 0; s < a->keys; s++) {
            double dot = 0;
            for (int64_t i = 0; i < D; i++)
                dot += a->cos ? rotated(a, q + t * D, a->q_row[t], i) * rotated(a, k + s * D, a->k_row[s], i)
                              : q[t * D + i] * k[s * D + i];
            p[s] = sees(a, t, s) ? exp((double)a->scale * dot) : 0;
            sum += p[s];
        }
        lse[t] = log(sum);
        for (int64_t s = 0; s < a->keys; s++)
            for (int64_t i = 0; i < D && p[s] > 0; i++)
                out[t * D + i] += p[s] / sum * keep_factor(a, t, s) *
                                  (a->rotate_value && a->cos ? rotated(a, v + s * D, a->k_row[s], i) : v[s * D + i]);
    }
}

static double *doubles(const float *x, int64_t rows, int64_t stride, int64_t width)
{
    double *y = t_bytes((size_t)(rows * width) * sizeof *y);
    for (int64_t r = 0; r < rows; r++)
        for (int64_t i = 0; i < width; i++) y[r * width + i] = (double)x[r * stride + i];
    return y;
}

static const shape small[] = {
    {.queries = 5, .width = 4},
    {.queries = 1, .width = 2, .rotary = 2},
    {.queries = 7, .width = 6, .rotary = 6, .gap = 3},
    {.queries = 7, .width = 6, .rotary = 6, .layout = RF_ROPE_HALVES},
    {.queries = 6, .width = 7, .rotary = 4, .causal = 1},
    {.queries = 6, .width = 8, .rotary = 4, .layout = RF_ROPE_HALVES, .causal = 1, .prefix = 3, .gap = 1},
    {.queries = 9, .width = 4, .rotary = 4, .window = 2},
    {.queries = 9, .width = 4, .rotary = 2, .causal = 1, .window = 3, .prefix = 2},
    {.queries = 4, .keys = 9, .width = 6, .rotary = 6, .causal = 1},
    {.queries = 9, .keys = 4, .width = 6, .rotary = 6, .causal = 1},       /* the first five see nothing */
    {.queries = 8, .keys = 3, .width = 6, .window = 1},
    {.queries = 6, .width = 6, .rotary = 6, .rotate_value = 1},
    {.queries = 6, .width = 6, .rotary = 4, .rotate_value = 1, .layout = RF_ROPE_HALVES, .drop = 0.3F},
    {.queries = 9, .keys = 7, .width = 5, .drop = 0.5F, .causal = 1, .window = 4},
};

/* The reference sums in double and rounds once. */
static void the_reference_is_the_formula(void **state)
{
    (void)state;
    rfk_table ref;
    rfk_rung(0, &ref);
    for (size_t i = 0; i < RF_COUNT(small); i++) {
        problem p = make(small[i]);
        const rfk_attention *a = &p.a;
        double *out = t_bytes((size_t)(a->queries * a->width) * sizeof *out),
               *lse = t_bytes((size_t)a->queries * sizeof *lse);
        formula(a, doubles(a->q, a->queries, a->q_stride, a->width), doubles(a->k, a->keys, a->k_stride, a->width),
                doubles(a->v, a->keys, a->v_stride, a->width), out, lse);
        ref.attention(a, 0, a->queries, p.scratch);
        t_close_to(result_of(&p), out, a->queries * a->width, 1e-14, EPS / 2);
        t_close_to(a->lse, lse, a->queries, 1e-14, EPS / 2);
        t_free_all();
    }
}

/* sum of weights x out, for dense rows in double */
static double objective(const rfk_attention *a, double *const x[3], const double *weight, double *out, double *lse)
{
    double sum = 0;
    formula(a, x[0], x[1], x[2], out, lse);
    for (int64_t i = 0; i < a->queries * a->width; i++) sum += weight[i] * out[i];
    return sum;
}

/* Central differences with h = 1e-4 in double: the error is h^2 times a third derivative, below 1e-7 here, and 1e-16 /
 * h. */
static void its_adjoints_are_the_derivatives(void **state)
{
    (void)state;
    rfk_table ref;
    rfk_rung(0, &ref);
    for (size_t n = 0; n < RF_COUNT(small); n++) {
        problem p = make(small[n]);
        const rfk_attention *a = &p.a;
        const int64_t D = a->width, rows[3] = {a->queries, a->keys, a->keys};
        double *const x[3] = {doubles(a->q, a->queries, a->q_stride, D), doubles(a->k, a->keys, a->k_stride, D),
                              doubles(a->v, a->keys, a->v_stride, D)};
        const double *weight = doubles(p.g.d_out, a->queries, p.g.d_out_stride, D);
        double *out = t_bytes((size_t)(a->queries * D) * sizeof *out), *lse = t_bytes((size_t)a->queries * sizeof *lse);
        ref.attention(a, 0, a->queries, p.scratch);
        ref.attention_back(a, &p.g, p.back_scratch);
        const float *got[3] = {dense(p.g.dq, a->queries, p.g.dq_stride, D), dense(p.g.dk, a->keys, p.g.dk_stride, D),
                               dense(p.g.dv, a->keys, p.g.dv_stride, D)};
        for (int which = 0; which < 3; which++)
            for (int64_t i = 0; i < rows[which] * D; i++) {
                const double before = x[which][i], h = 1e-4;
                x[which][i] = before + h;
                const double up = objective(a, x, weight, out, lse);
                x[which][i] = before - h;
                const double down = objective(a, x, weight, out, lse);
                x[which][i] = before;
                const double expected = (up - down) / (2 * h);
                if (!(fabs((double)got[which][i] - expected) <= 1e-6 + 1e-6 * fabs(expected)))
                    fail_msg("shape %zu: d%c[%lld] is %.9g, differences give %.9g", n, "qkv"[which], (long long)i,
                             (double)got[which][i], expected);
            }
        t_free_all();
    }
}

/* ---- rungs against the reference --------------------------------------------------------------------------------- */

static double largest(const float *x, int64_t n)
{
    double m = 0;
    for (int64_t i = 0; i < n; i++) m = fmax(m, fabs((double)x[i]));
    return m;
}

/* Tolerance of a rung, as a fraction of the largest result.  The error of a sum of n terms is a random walk of n
 * roundings, sqrt(n) EPS / 2 of its terms' size, multiplied by four.  A score (D terms, and 3 roundings each for
 * rotating q and k) is within +-6 for unit normal rows, and its absolute error is the relative error of its
 * probability, in the numerator and in the sum; the exponential adds 2 EPS; the sum over keys adds its own random walk.
 * A result is as large as the largest one only in some columns, and the adjoints subtract two such numbers: this gives
 * another factor of two. */
static double share(const rfk_attention *a, int64_t terms)
{
    const double score = 6 * 4 * sqrt((double)a->width + 6) * EPS / 2, sum = 4 * sqrt((double)terms) * EPS / 2;
    return 2 * score + sum + 2 * EPS;
}

static void compare(const char *isa, const char *what, const float *got, const float *expected, int64_t n,
                    double allowed)
{
    for (int64_t i = 0; i < n; i++) {
        const double d = fabs((double)got[i] - (double)expected[i]);
        if (!(d <= allowed) && !(got[i] == expected[i]))
            fail_msg("%s: %s, element %lld: got %.9g, expected %.9g +- %.3g", isa, what, (long long)i, (double)got[i],
                     (double)expected[i], allowed);
    }
}

/* Every rung's result, log-sum-exp and adjoints of one problem. */
static void one(shape s)
{
    rfk_table k;
    problem p = make(s);
    const rfk_attention *a = &p.a;
    const int64_t D = a->width, T = a->queries, S = a->keys;
    float *out = NULL, *lse = NULL, *dq = NULL, *dk = NULL, *dv = NULL;
    for (EACH_RUNG(k)) {
        for (int64_t i = 0; i < (T - 1) * a->out_stride + D; i++) a->out[i] = NAN;
        k.attention(a, 0, T, p.scratch);
        float *const got = result_of(&p), *const got_lse = copied(a->lse, T, 0);
        gaps_are_untouched(k.isa, a->out, T, a->out_stride, D);
        k.attention_back(a, &p.g, p.back_scratch);
        gaps_are_untouched(k.isa, p.g.dq, T, p.g.dq_stride, D);
        gaps_are_untouched(k.isa, p.g.dk, S, p.g.dk_stride, D);
        gaps_are_untouched(k.isa, p.g.dv, S, p.g.dv_stride, D);
        float *const q = dense(p.g.dq, T, p.g.dq_stride, D), *const kk = dense(p.g.dk, S, p.g.dk_stride, D);
        float *const v = dense(p.g.dv, S, p.g.dv_stride, D);
        if (!out) {
            out = got, lse = got_lse, dq = q, dk = kk, dv = v;
            continue;
        }
        compare(k.isa, "out", got, out, T * D, share(a, S) * largest(out, T * D));
        compare(k.isa, "lse", got_lse, lse, T, share(a, S));
        compare(k.isa, "dv", v, dv, S * D, 2 * share(a, T) * largest(dv, S * D));
        /* dP - delta may cancel completely: the rest is the rounding of <o, v>, amplified by dropout, over all
         * queries */
        const double left = 4 * sqrt((double)D) * EPS / (1 - (double)s.drop);
        compare(k.isa, "dq", q, dq, T * D, 2 * share(a, S) * largest(dq, T * D) + left);
        compare(k.isa, "dk", kk, dk, S * D, 2 * share(a, T) * largest(dk, S * D) + sqrt((double)T) * left);
    }
    t_check_fences();
    t_free_all();
}

static void every_length(void **state)
{
    (void)state;
    static const int64_t length[] = {1, 2, 3, 5, 6, 7, 16, 17, 64, 65, 127, 128, 200, 512, 513};
    for (size_t i = 0; i < RF_COUNT(length); i++) {
        one((shape){.queries = length[i], .width = 64, .rotary = 64});
        one((shape){.queries = length[i], .width = 16, .rotary = 8, .layout = RF_ROPE_HALVES, .gap = 5});
    }
    one((shape){.queries = 1100, .width = 32, .rotary = 32});
}

static void every_width(void **state)
{
    (void)state;
    static const int64_t width[] = {1, 2, 6, 8, 16, 17, 32, 37, 48, 64, 80, 128, 200};
    for (size_t i = 0; i < RF_COUNT(width); i++) {
        const int64_t even = width[i] / 2 * 2;
        one((shape){.queries = 70, .width = width[i], .rotary = even, .gap = 3});
        one((shape){.queries = 19, .width = width[i], .rotary = even, .layout = RF_ROPE_HALVES});
        one((shape){.queries = 130, .keys = 33, .width = width[i]});
    }
}

static const shape masks[] = {
    {.causal = 1}, {.causal = 1, .prefix = 1}, {.causal = 1, .prefix = 40}, {.causal = 1, .prefix = 100000},
    {.window = 1}, {.window = 7}, {.window = 64}, {.window = 100000}, {.window = INT64_MAX},
    {.causal = 1, .window = 1}, {.causal = 1, .window = 30}, {.causal = 1, .window = 150, .prefix = 200},
    {.window = 3, .prefix = 50},
};

static void every_mask(void **state)
{
    (void)state;
    static const int64_t size[][2] = {{1, 1}, {5, 5}, {40, 40}, {200, 200}, {7, 150}, {150, 7}, {530, 530}};
    for (size_t i = 0; i < RF_COUNT(masks); i++)
        for (size_t j = 0; j < RF_COUNT(size); j++) {
            shape s = masks[i];
            s.queries = size[j][0], s.keys = size[j][1], s.width = 24, s.rotary = 24;
            one(s);
            if (j % 2) continue;
            s.drop = 0.2F, s.width = 6, s.rotary = 0;
            one(s);
        }
    one((shape){.queries = 1100, .width = 16, .causal = 1});
    one((shape){.queries = 1100, .width = 16, .window = 100});
    one((shape){.queries = 300, .keys = 1300, .width = 16, .causal = 1, .window = 600});
}

static void dropout_is_a_function_of_the_index(void **state)
{
    (void)state;
    static const int64_t length[] = {1, 3, 16, 33, 64, 129, 257, 520};
    static const float drop[] = {1e-6F, 0.1F, 0.5F, 0.9F};
    for (size_t i = 0; i < RF_COUNT(length); i++)
        for (size_t j = 0; j < RF_COUNT(drop); j++)
            one((shape){.queries = length[i], .keys = length[(i + j) % RF_COUNT(length)], .width = 16, .rotary = 16,
                        .drop = drop[j]});
    one((shape){.queries = 140, .width = 64, .rotary = 64, .rotate_value = 1, .drop = 0.1F});
}

static void values_may_be_rotated(void **state)
{
    (void)state;
    for (int layout = RF_ROPE_PAIRS; layout <= RF_ROPE_HALVES; layout++) {
        one((shape){.queries = 100, .width = 64, .rotary = 64, .rotate_value = 1, .layout = (rf_rope_layout)layout});
        one((shape){.queries = 100,
                    .width = 37,
                    .rotary = 20,
                    .rotate_value = 1,
                    .causal = 1,
                    .layout = (rf_rope_layout)layout});
    }
}

/* ---- bits -------------------------------------------------------------------------------------------------------- */

/* Any division of rows among calls, with any contents of scratch. */
static void a_row_does_not_see_the_partition(void **state)
{
    (void)state;
    static const shape shapes[] = {
        {.queries = 1},
        {.queries = 50},
        {.queries = 513},
        {.queries = 1100},
        {.queries = 600, .causal = 1},
        {.queries = 600, .window = 40},
        {.queries = 200, .drop = 0.3F},
        {.queries = 30, .keys = 700, .causal = 1, .prefix = 600},
        {.queries = 700, .keys = 30, .causal = 1},
    };
    static const int64_t cut[] = {1, 2, 5, 7, 64, 333};
    rfk_table k;
    for (size_t i = 0; i < RF_COUNT(shapes); i++) {
        shape s = shapes[i];
        s.width = 20, s.rotary = 20;
        problem p = make(s);
        const int64_t T = p.a.queries;
        const size_t bytes = rfk_attention_scratch(&p.a), back_bytes = rfk_attention_back_scratch(&p.a);
        for (EACH_RUNG(k)) {
            if (!k_at && T * p.a.keys > 100000) continue;
            memset(p.scratch, 0, bytes);
            k.attention(&p.a, 0, T, p.scratch);
            const float *expected = result_of(&p), *expected_lse = copied(p.a.lse, T, 0);
            for (size_t c = 0; c < RF_COUNT(cut); c++) {
                memset(p.scratch, c % 2 ? 0xFF : 0x7F, bytes);
                for (int64_t t = 0; t < T; t += cut[c])
                    k.attention(&p.a, t, t + cut[c] < T ? t + cut[c] : T, p.scratch);
                same_bits(result_of(&p), expected, T * p.a.width, "out");
                same_bits(p.a.lse, expected_lse, T, "lse");
            }
            float *expected_d[3] = {0};
            for (int again = 0; again < 2; again++) {
                memset(p.back_scratch, again ? 0xFF : 0, back_bytes);
                k.attention_back(&p.a, &p.g, p.back_scratch);
                float *const d[3] = {dense(p.g.dq, T, p.g.dq_stride, 20), dense(p.g.dk, p.a.keys, p.g.dk_stride, 20),
                                     dense(p.g.dv, p.a.keys, p.g.dv_stride, 20)};
                for (int j = 0; j < 3; j++)
                    if (again) same_bits(d[j], expected_d[j], (j ? p.a.keys : T) * 20, "adjoints");
                    else expected_d[j] = d[j];
            }
        }
        t_free_all();
    }
}

/* ---- properties -------------------------------------------------------------------------------------------------- */

/* Scores too large to exponentiate, and too far apart to sum. */
static void large_scores(void **state)
{
    (void)state;
    rfk_table k;
    problem p = make((shape){.queries = 600, .width = 8});
    float *q = copied(p.a.q, 600 * 8, 0);
    for (int64_t i = 0; i < 600 * 8; i++) q[i] *= 1e4F;
    p.a.q = q, p.a.q_stride = 8;
    const float *expected = NULL;
    for (EACH_RUNG(k)) {
        k.attention(&p.a, 0, 600, p.scratch);
        float *out = result_of(&p);
        for (int64_t i = 0; i < 600 * 8; i++) assert_true(isfinite(out[i]));
        /* scores of 1e5 carry absolute errors of about 0.01: a probability is off by as much */
        if (expected) t_close(out, expected, 600 * 8, 0.2, 0);
        else expected = out;
    }
    t_free_all();
}

/* Eq. 16: moving all positions equally gives the same scores; the roundings of the tables and the rotations remain, EPS
 * each of a term, and the relative error of the probability is the error of its score. */
static void only_distances_matter(void **state)
{
    (void)state;
    rfk_table k;
    problem p = make((shape){.queries = 60, .width = 32, .rotary = 32});
    int32_t rows[2][60];
    for (int32_t t = 0; t < 60; t++) rows[0][t] = t, rows[1][t] = t + 31;
    for (EACH_RUNG(k)) {
        float *out[2];
        for (int i = 0; i < 2; i++) {
            p.a.q_row = p.a.k_row = rows[i];
            k.attention(&p.a, 0, 60, p.scratch);
            out[i] = result_of(&p);
        }
        compare(k.isa, "moved", out[1], out[0], 60 * 32, 2 * share(&p.a, 60) * largest(out[0], 60 * 32));
    }
    t_free_all();
}

/* One row of a text longer than any table of scores could be; scratch grows linearly with the text. */
static void long_texts(void **state)
{
    (void)state;
    rfk_table k;
    const int64_t T = 40000, D = 64;
    problem p = make((shape){.queries = T, .width = D, .rotary = D});
    assert_true(rfk_attention_scratch(&p.a) < 1000000 + (size_t)T * 16);
    assert_true(rfk_attention_back_scratch(&p.a) < 1000000 + (size_t)(T * (D + 1) * 16));
    const float *expected = NULL;
    for (EACH_RUNG(k)) {
        k.attention(&p.a, T - 3, T, p.scratch);
        float *last = dense(p.a.out + (T - 3) * p.a.out_stride, 3, p.a.out_stride, D);
        const double size = expected ? fmax(largest(expected, 3 * D), 1 / sqrt((double)T)) : 0;
        if (expected) compare(k.isa, "the last rows", last, expected, 3 * D, share(&p.a, T) * size);
        else expected = last;
    }
    t_free_all();
}

/* A score is exact here; P has the error of 2^x and of a sum, and a product its own: 1e-6.  Ten times that is
 * allowed. */
static void scores_of_any_size(void **state)
{
    (void)state;
    scores_of_sizes(1e-5);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_reference_is_the_formula),       cmocka_unit_test(its_adjoints_are_the_derivatives),
        cmocka_unit_test(every_length),                       cmocka_unit_test(every_width),
        cmocka_unit_test(every_mask),                         cmocka_unit_test(dropout_is_a_function_of_the_index),
        cmocka_unit_test(values_may_be_rotated),               cmocka_unit_test(a_row_does_not_see_the_partition),
        cmocka_unit_test(weights_sum_to_one),                 cmocka_unit_test(large_scores),
        cmocka_unit_test(the_future_changes_nothing),         cmocka_unit_test(only_distances_matter),
        cmocka_unit_test(a_query_that_sees_nothing_gives_zeros), cmocka_unit_test(the_log_sum_exp_is_optional),
        cmocka_unit_test(a_sick_key_is_not_hidden),           cmocka_unit_test(long_texts),
        cmocka_unit_test(the_next_head_may_be_known),         cmocka_unit_test(scores_of_any_size),
    };
    return cmocka_run_group_tests_name("kernel/attention", tests, NULL, NULL);
}
