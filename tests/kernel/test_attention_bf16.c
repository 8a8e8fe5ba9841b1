/* test_attention_bf16.c — mirrors src/kernel/attention_bf16*.inc, attention_bf16.h, attention_amx.inc, attention_amx.h
 * and src/kernel/ref/attention_bf16.c.
 *
 * The kernel's description specifies what is rounded to bf16.  So the formula here rounds, too, in double, and computes
 * an interval for every number: a rounding in f32 may move a number over a tie, and only then its rounded value
 * differs. In addition, the distance from attention without rounding is bounded.                                     */
#define FORWARD attention_bf16
#define BACK attention_bf16_back
#include "attention_problem.h"

/* Half a unit of f32 and of bf16, relative to a number, and the error of the fit of v_exp2_near. */
static const double U = 0x1p-24, H = 0x1p-8, FIT = 2.7e-6;

/* ---- the formula, with intervals --------------------------------------------------------------------------------- */

typedef struct about { double x, e; } about;          /* x, give or take e */

static double as_bf16(double x) { return (double)rf__from_bf16(rf__bf16((float)x)); }

static about rounded(double x, double e)
{
    const double low = as_bf16(x - e), high = as_bf16(x + e), mid = as_bf16(x);
    return (about){mid, fmax(high - mid, mid - low)};
}

/* Rows of scale R x: exact, and rounded.  A rotation in f32 rounds each of its two terms three times. */
static void rows_of(const rfk_attention *a, const float *x, int64_t rows, int64_t stride, const int32_t *angle,
                    double scale, double *exact, about *y)
{
    const int64_t D = a->width, half = angle ? a->rotary / 2 : 0;
    for (int64_t r = 0; r < rows; r++)
        for (int64_t i = 0; i < D; i++) {
            const float *const at = x + r * stride;
            double here = scale * (double)at[i], there = 0;
            if (i < 2 * half) {
                const int64_t plane = a->layout == RF_ROPE_PAIRS ? i / 2 : i % half;
                const int64_t re = a->layout == RF_ROPE_PAIRS ? 2 * plane : plane,
                              im = a->layout == RF_ROPE_PAIRS ? re + 1 : re + half;
                const double c = (double)a->cos[angle[r] * half + plane], s = (double)a->sin[angle[r] * half + plane];
                here *= c;
                there = scale * (i == re ? -s * (double)at[im] : s * (double)at[re]);
            }
            exact[r * D + i] = here + there;
            y[r * D + i] = rounded(here + there, 4 * U * (fabs(here) + fabs(there)));
        }
}

typedef struct answer { double *out, *out_e, *lse, *lse_e, *exact, *exact_e; } answer;

static double *doubles(int64_t n)
{
    return memset(t_bytes((size_t)(n + 1) * sizeof(double)), 0, (size_t)(n + 1) * sizeof(double));
}

static answer formula(const rfk_attention *a)
{
    const int64_t D = a->width, T = a->queries, S = a->keys;
    const int32_t *const k_row = a->cos ? a->k_row : NULL;
    double *q = doubles(T * D), *k = doubles(S * D), *v = doubles(S * D), *exact = doubles(S), *loose = doubles(S);
    about *q16 = t_bytes((size_t)(T * D) * sizeof *q16), *k16 = t_bytes((size_t)(S * D) * sizeof *k16);
    about *v16 = t_bytes((size_t)(S * D) * sizeof *v16), *p = t_bytes((size_t)S * sizeof *p);
    rows_of(a, a->q, T, a->q_stride, a->cos ? a->q_row : NULL, (double)(a->scale * 1.44269504F), q, q16);
    rows_of(a, a->k, S, a->k_stride, k_row, 1, k, k16);
    rows_of(a, a->v, S, a->v_stride, a->rotate_value ? k_row : NULL, 1, v, v16);
    answer y = {doubles(T * D), doubles(T * D), doubles(T), doubles(T), doubles(T * D), doubles(T * D)};
    for (int64_t t = 0; t < T; t++) {
        double top = -INFINITY, loosest = 0, exact_sum = 0;
        about sum = {0};
        int64_t terms = 0;
        for (int64_t s = 0; s < S; s++) {
            if (!sees(a, t, s)) continue;
            double size = 0;
            p[s] = (about){0};
            exact[s] = 0;
            terms++;
            for (int64_t i = 0; i < D; i++) {
                const about x = q16[t * D + i], z = k16[s * D + i];
                exact[s] += q[t * D + i] * k[s * D + i];
                size += fabs(q[t * D + i] * k[s * D + i]);
                p[s].x += x.x * z.x;
                p[s].e += fabs(x.x) * z.e + x.e * fabs(z.x) + x.e * z.e;
            }
            p[s].e += (double)(D + 2) * U * size * (1 + 4 * H);             /* a sum of D terms, two after each other */
            loose[s] = (2 * H + H * H) * size + (double)(D + 2) * U * size * (1 + 4 * H);
            loosest = fmax(loosest, loose[s]);
            top = fmax(top, p[s].x);
        }
        top = ceil(top);
        /* If the largest score were on the other side of an integer, all exponentials would be halved or doubled, which
         * is exact. The exponential has the error of its fit and a few roundings, and x - top is rounded. */
        for (int64_t s = 0; s < S; s++) {
            if (!sees(a, t, s)) continue;
            exact_sum += exp2(exact[s] - top);
            const double x = exp2(p[s].x - top), off = exp2(p[s].e) * (1 + FIT + (8 + fabs(p[s].x - top)) * U) - 1;
            p[s] = rounded(x, x * off);
            sum.x += p[s].x;
            sum.e += p[s].e;
        }
        sum.e += (double)terms * U * sum.x;
        y.lse[t] = (top + log2(sum.x)) * log(2);
        y.lse_e[t] = terms ? sum.e / (sum.x - sum.e) + 4 * U * (fabs(top) + fabs(log(sum.x))) : 0;
        const double ratio = exp2(2 * loosest) * (1 + H) / (1 - H) * (1 + 3 * FIT);         /* of two powers, at most */
        for (int64_t i = 0; i < D && terms; i++) {
            double n = 0, e = 0, size = 0, exact_n = 0, exact_size = 0;
            for (int64_t s = 0; s < S; s++) {
                if (!sees(a, t, s)) continue;
                const double keep = keep_factor(a, t, s), P = keep * exp2(exact[s] - top) / exact_sum;
                const about z = v16[s * D + i];
                n += keep * p[s].x * z.x;
                e += keep * (p[s].e * fabs(z.x) + p[s].x * z.e + p[s].e * z.e);
                size += keep * p[s].x * fabs(z.x);
                exact_n += P * v[s * D + i];
                exact_size += P * fabs(v[s * D + i]);
            }
            const double out = n / sum.x;
            e += (double)(terms + 2) * U * size;
            y.out[t * D + i] = out;
            y.out_e[t * D + i] = (e + fabs(out) * sum.e) / (sum.x - sum.e) + 4 * U * fabs(out);
            y.exact[t * D + i] = exact_n;
            y.exact_e[t * D + i] =
                (ratio * (1 + H) * (1 + (double)(2 * terms + 8) * U) - 1) * exact_size + 4 * U * fabs(exact_n);
        }
    }
    return y;
}

static void within(const char *isa, const char *what, const float *got, const double *expected, const double *e,
                   int64_t n)
{
    for (int64_t i = 0; i < n; i++)
        if (!(fabs((double)got[i] - expected[i]) <= e[i] + 1e-30) && !((double)got[i] == expected[i]))
            fail_msg("%s: %s, element %lld: got %.9g, expected %.9g +- %.3g", isa, what, (long long)i, (double)got[i],
                     expected[i], e[i]);
}

/* <x, z> of D columns: their intervals, and D roundings, two per term. */
static about inner(const about *x, const about *z, int64_t D)
{
    about y = {0};
    double size = 0;
    for (int64_t i = 0; i < D; i++) {
        y.x += x[i].x * z[i].x;
        y.e += fabs(x[i].x) * z[i].e + x[i].e * fabs(z[i].x) + x[i].e * z[i].e;
        size += fabs(x[i].x * z[i].x);
    }
    y.e += (double)(D + 2) * U * size;
    return y;
}

/* Sums of n products in f32; `size` is the sum of absolute values. */
typedef struct total { double *x, *e, *size; } total;

static total total_of(int64_t n) { return (total){doubles(n), doubles(n), doubles(n)}; }

static void add_to(total y, int64_t row, about c, const about *z, int64_t D)
{
    for (int64_t i = 0; i < D; i++) {
        y.x[row * D + i] += c.x * z[i].x;
        y.e[row * D + i] += fabs(c.x) * z[i].e + c.e * fabs(z[i].x) + c.e * z[i].e;
        y.size[row * D + i] += fabs(c.x * z[i].x);
    }
}

/* c R^T of rows of sums of `terms`, in place; each of two terms is rounded three times. */
static void rotate_back(const rfk_attention *a, total y, int64_t rows, const int32_t *angle, double c, int64_t terms)
{
    const int64_t D = a->width, half = angle ? a->rotary / 2 : 0;
    for (int64_t i = 0; i < rows * D; i++) {
        y.e[i] = c * (y.e[i] + (double)(terms + 2) * U * y.size[i]);
        y.x[i] *= c;
    }
    for (int64_t r = 0; r < rows; r++)
        for (int64_t j = 0; j < half; j++) {
            const int64_t re = r * D + (a->layout == RF_ROPE_PAIRS ? 2 * j : j),
                          im = a->layout == RF_ROPE_PAIRS ? re + 1 : re + half;
            const double cosine = (double)a->cos[angle[r] * half + j], sine = (double)a->sin[angle[r] * half + j];
            const double x0 = y.x[re], x1 = y.x[im], e0 = y.e[re] + 4 * U * fabs(x0), e1 = y.e[im] + 4 * U * fabs(x1);
            y.x[re] = cosine * x0 + sine * x1;
            y.x[im] = cosine * x1 - sine * x0;
            y.e[re] = fabs(cosine) * e0 + fabs(sine) * e1;
            y.e[im] = fabs(cosine) * e1 + fabs(sine) * e0;
        }
    for (int64_t i = 0; i < rows * D; i++) y.e[i] += 4 * U * fabs(y.x[i]);
}

/* From the forward pass's out and lse. */
static void adjoints(const problem *p, total *dq, total *dk, total *dv)
{
    const rfk_attention *a = &p->a;
    const int64_t D = a->width, T = a->queries, S = a->keys;
    const int32_t *const q_row = a->cos ? a->q_row : NULL, *const k_row = a->cos ? a->k_row : NULL;
    about *q = t_bytes((size_t)(T * D) * sizeof *q), *k = t_bytes((size_t)(S * D) * sizeof *k),
          *v = t_bytes((size_t)(S * D) * sizeof *v);
    about *o = t_bytes((size_t)(T * D) * sizeof *o), *out = t_bytes((size_t)D * sizeof *out);
    double *exact = doubles((T + S) * D);
    rows_of(a, a->q, T, a->q_stride, q_row, (double)(a->scale * 1.44269504F), exact, q);
    rows_of(a, a->k, S, a->k_stride, k_row, 1, exact, k);
    rows_of(a, a->v, S, a->v_stride, a->rotate_value ? k_row : NULL, 1, exact, v);
    rows_of(a, p->g.d_out, T, p->g.d_out_stride, NULL, 1, exact, o);
    *dq = total_of(T * D), *dk = total_of(S * D), *dv = total_of(S * D);
    for (int64_t t = 0; t < T; t++) {
        for (int64_t i = 0; i < D; i++) out[i] = (about){(double)a->out[t * a->out_stride + i], 0};
        const about delta = inner(o + t * D, out, D);
        const double lse = (double)a->lse[t] / log(2);
        for (int64_t s = 0; s < S; s++) {
            if (!sees(a, t, s)) continue;
            const about score = inner(q + t * D, k + s * D, D), dp = inner(o + t * D, v + s * D, D);
            const double keep = keep_factor(a, t, s), P = exp2(score.x - lse);
            const double off = P * (exp2(score.e + 3 * U * fabs(lse)) * (1 + FIT + (8 + fabs(score.x - lse)) * U) - 1);
            const double ds = keep * dp.x - delta.x,
                         e = keep * dp.e + delta.e + 4 * U * (keep * fabs(dp.x) + fabs(delta.x));
            const about kp = rounded(keep * P, keep * off + 2 * U * keep * P);
            const about d = rounded(P * ds, off * (fabs(ds) + e) + P * e + 2 * U * fabs(P * ds));
            add_to(*dv, s, kp, o + t * D, D);
            add_to(*dk, s, d, q + t * D, D);
            add_to(*dq, t, d, k + s * D, D);
        }
    }
    rotate_back(a, *dq, T, q_row, (double)a->scale, S);
    rotate_back(a, *dk, S, k_row, log(2), T);
    rotate_back(a, *dv, S, a->rotate_value ? k_row : NULL, 1, T);
}

/* Every rung's adjoints, of the reference's result. */
static void back(shape s)
{
    rfk_table k;
    problem p = make(s);
    const rfk_attention *a = &p.a;
    const int64_t D = a->width, T = a->queries, S = a->keys;
    total expected[3];
    const float *wide[2] = {NULL, NULL};
    for (EACH_RUNG(k)) {
        if (!k_at) {
            k.attention_bf16(a, 0, T, p.scratch);
            adjoints(&p, &expected[0], &expected[1], &expected[2]);
        }
        k.attention_bf16_back(a, &p.g, p.back_scratch);
        const float *dq = dense(p.g.dq, T, p.g.dq_stride, D), *dk = dense(p.g.dk, S, p.g.dk_stride, D),
                    *dv = dense(p.g.dv, S, p.g.dv_stride, D);
        within(k.isa, "dq", dq, expected[0].x, expected[0].e, T * D);
        within(k.isa, "dk", dk, expected[1].x, expected[1].e, S * D);
        within(k.isa, "dv", dv, expected[2].x, expected[2].e, S * D);
        gaps_are_untouched(k.isa, p.g.dq, T, p.g.dq_stride, D);
        gaps_are_untouched(k.isa, p.g.dk, S, p.g.dk_stride, D);
        gaps_are_untouched(k.isa, p.g.dv, S, p.g.dv_stride, D);
        if (strncmp(k.isa, "avx512", 6)) continue;
        if (wide[0]) same_bits(dq, wide[0], T * D, "avx512: dq"), same_bits(dk, wide[1], S * D, "avx512: dk");
        wide[0] = dq, wide[1] = dk;
    }
    t_check_fences();
    t_free_all();
}

/* Every rung's result and log-sum-exp of one problem, and the adjoints. */
static void one(shape s)
{
    back(s);
    rfk_table k;
    problem p = make(s);
    const rfk_attention *a = &p.a;
    const int64_t n = a->queries * a->width;
    const answer expected = formula(a);
    const float *wide = NULL;
    for (EACH_RUNG(k)) {
        for (int64_t i = 0; i < (a->queries - 1) * a->out_stride + a->width; i++) a->out[i] = NAN;
        k.attention_bf16(a, 0, a->queries, p.scratch);
        const float *got = result_of(&p);
        within(k.isa, "out", got, expected.out, expected.out_e, n);
        within(k.isa, "lse", a->lse, expected.lse, expected.lse_e, a->queries);
        within(k.isa, "out beside exact attention", got, expected.exact, expected.exact_e, n);
        gaps_are_untouched(k.isa, a->out, a->queries, a->out_stride, a->width);
        if (!strncmp(k.isa, "avx512", 6)) {                /* with the instruction and without it */
            if (wide) same_bits(got, wide, n, "avx512");
            wide = got;
        }
    }
    t_check_fences();
    t_free_all();
}

/* ---- cases ------------------------------------------------------------------------------------------------------- */

static void every_length(void **state)
{
    (void)state;
    static const int64_t length[] = {1, 2, 3, 5, 6, 7, 15, 16, 17, 33, 64, 65, 127, 128, 200};
    for (size_t i = 0; i < RF_COUNT(length); i++) {
        one((shape){.queries = length[i], .width = 64, .rotary = 64});
        one((shape){.queries = length[i], .width = 16, .rotary = 8, .layout = RF_ROPE_HALVES, .gap = 5});
    }
    one((shape){.queries = 7, .keys = 511, .width = 32, .rotary = 32});
    one((shape){.queries = 13, .keys = 512, .width = 32, .rotary = 32});
    one((shape){.queries = 7, .keys = 513, .width = 32, .rotary = 32});
    one((shape){.queries = 9, .keys = 2049, .width = 64, .rotary = 64});
}

static void every_width(void **state)
{
    (void)state;
    static const int64_t width[] = {1, 2, 3, 6, 8, 16, 17, 31, 32, 33, 37, 48, 64, 80, 128, 200};
    for (size_t i = 0; i < RF_COUNT(width); i++) {
        const int64_t even = width[i] / 2 * 2;
        one((shape){.queries = 40, .width = width[i], .rotary = even, .gap = 3});
        one((shape){.queries = 19, .width = width[i], .rotary = even, .layout = RF_ROPE_HALVES});
        one((shape){.queries = 37, .keys = 33, .width = width[i]});
    }
}

static void every_mask(void **state)
{
    (void)state;
    static const int64_t length[] = {1, 6, 31, 67, 150};
    for (size_t i = 0; i < RF_COUNT(length); i++)
        for (int causal = 0; causal < 2; causal++)
            for (int64_t window = 0; window < 50; window += window ? 24 : 3) {
                const int64_t T = length[i];
                one((shape){.queries = T, .width = 16, .rotary = 16, .causal = causal, .window = window});
                one((shape){.queries = T, .width = 16, .causal = causal, .window = window, .prefix = T / 3});
                one((shape){.queries = T, .keys = T + 45, .width = 16, .causal = causal, .window = window});
                one((shape){
                    .queries = T + 31, .keys = T, .width = 16, .causal = causal, .window = window, .prefix = 2});
            }
    one((shape){.queries = 530, .width = 8, .rotary = 8, .window = 9});       /* whole blocks are unseen at the ends */
    one((shape){.queries = 20, .keys = 1500, .width = 8, .causal = 1, .window = 900});
}

static void dropout_is_a_function_of_the_index(void **state)
{
    (void)state;
    one((shape){.queries = 70, .width = 16, .drop = 0.1F});
    one((shape){.queries = 33, .keys = 100, .width = 9, .rotary = 8, .drop = 0.5F, .causal = 1, .window = 40});
    one((shape){.queries = 11, .keys = 600, .width = 24, .drop = 0.9F});
}

static void values_may_be_rotated(void **state)
{
    (void)state;
    one((shape){.queries = 70, .width = 16, .rotary = 16, .rotate_value = 1});
    one((shape){.queries = 29, .width = 20, .rotary = 8, .rotate_value = 1, .layout = RF_ROPE_HALVES, .drop = 0.2F});
    one((shape){.queries = 21, .width = 64, .rotary = 32, .rotate_value = 1, .gap = 1});
    one((shape){.queries = 21, .width = 64, .rotary = 32, .rotate_value = 1, .layout = RF_ROPE_HALVES, .gap = 1});
}

/* A running maximum that rises from block to block, and scores far apart. */
static void scores_of_every_size(void **state)
{
    (void)state;
    one((shape){.queries = 8, .keys = 1600, .width = 32, .size = 8});
    one((shape){.queries = 30, .width = 16, .size = 0.01});
    one((shape){.queries = 30, .width = 16, .size = 30});
}

/* The same bits for any split of the queries. */
static void a_row_does_not_see_the_partition(void **state)
{
    (void)state;
    static const shape shapes[] = {
        {.queries = 101, .keys = 600, .width = 20, .rotary = 20, .gap = 2},
        {.queries = 101, .width = 20, .rotary = 20, .window = 17},
        {.queries = 101, .width = 20, .rotary = 20, .causal = 1, .window = 17, .drop = 0.2F},
    };
    rfk_table k;
    for (size_t i = 0; i < RF_COUNT(shapes); i++) {
        problem p = make(shapes[i]);
        for (EACH_RUNG(k)) {
            k.attention_bf16(&p.a, 0, 101, p.scratch);
            const float *expected = result_of(&p), *expected_lse = copied(p.a.lse, 101, 0);
            for (int64_t step = 1; step < 101; step += step < 8 ? 1 : 31) {
                for (int64_t t = 0; t < 101; t += step)
                    k.attention_bf16(&p.a, t, t + step < 101 ? t + step : 101, p.scratch);
                same_bits(result_of(&p), expected, 101 * 20, "out");
                same_bits(p.a.lse, expected_lse, 101, "lse");
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
    problem p = make((shape){.queries = 600, .width = 8, .size = 1e4});
    for (EACH_RUNG(k)) {
        k.attention_bf16(&p.a, 0, 600, p.scratch);
        const float *out = result_of(&p);
        for (int64_t i = 0; i < 600 * 8; i++) assert_true(isfinite(out[i]));
    }
    t_free_all();
}

/* Rounded to bf16 (at most 2^-9) are v and o in dS = P (<o, v> - delta), dS itself, and scale log2(e) q in the scores
 * and in dk: six of these, if the difference leaves half of its terms. */
static void scores_of_any_size(void **state)
{
    (void)state;
    scores_of_sizes(8 * 0x1p-9);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_length),                          cmocka_unit_test(every_width),
        cmocka_unit_test(every_mask),                            cmocka_unit_test(dropout_is_a_function_of_the_index),
        cmocka_unit_test(values_may_be_rotated),                  cmocka_unit_test(scores_of_every_size),
        cmocka_unit_test(a_row_does_not_see_the_partition),      cmocka_unit_test(weights_sum_to_one),
        cmocka_unit_test(large_scores),                          cmocka_unit_test(the_future_changes_nothing),
        cmocka_unit_test(a_query_that_sees_nothing_gives_zeros), cmocka_unit_test(the_log_sum_exp_is_optional),
        cmocka_unit_test(a_sick_key_is_not_hidden),              cmocka_unit_test(the_next_head_may_be_known),
        cmocka_unit_test(scores_of_any_size),
    };
    return cmocka_run_group_tests_name("kernel/attention_bf16", tests, NULL, NULL);
}
