/* attention_problem.h — what the tests of attention in f32 and in bf16 share: problems, which keys a query sees, and
 * common properties.
 *
 * FORWARD and BACK, defined before the include, are the members of rfk_table under test. */
#ifndef ATTENTION_PROBLEM_H
#define ATTENTION_PROBLEM_H

#include "rungs.h"

/* ---- problems ---------------------------------------------------------------------------------------------------- */

enum { ANGLES = 97 };

typedef struct shape {
    int64_t queries, keys, width, rotary;
    rf_rope_layout layout;
    int rotate_value, causal;
    int64_t prefix, window;
    float drop;
    int gap;                    /* rows have a stride of `width` plus this many */
    double size;                /* of q; 0: 1 */
} shape;

typedef struct problem { rfk_attention a; rfk_attention_grad g; void *scratch, *back_scratch; } problem;

static inline void tables(rfk_attention *a, int64_t rotary)
{
    const int64_t half = rotary / 2;
    float *cosines = t_floats(ANGLES * half), *sines = t_floats(ANGLES * half);
    for (int64_t m = 0; m < ANGLES; m++)
        for (int64_t i = 0; i < half; i++) {
            const double angle = (double)m * pow(10000, -2.0 * (double)i / (double)rotary);
            cosines[m * half + i] = (float)cos(angle);
            sines[m * half + i] = (float)sin(angle);
        }
    int32_t *q_row = t_bytes((size_t)a->queries * sizeof *q_row), *k_row = t_bytes((size_t)a->keys * sizeof *k_row);
    for (int64_t t = 0; t < a->queries; t++) q_row[t] = (int32_t)(t * 5 % ANGLES);
    for (int64_t s = 0; s < a->keys; s++) k_row[s] = (int32_t)((s * 3 + 1) % ANGLES);
    a->cos = cosines, a->sin = sines, a->q_row = q_row, a->k_row = k_row, a->rotary = rotary;
}

/* New random rows; the last row of each array ends with the array, so that an access past it hits a fence. */
static inline problem make(shape s)
{
    if (!s.keys) s.keys = s.queries;
    const int64_t D = s.width, stride = D + s.gap, q_size = (s.queries - 1) * stride + D,
                  k_size = (s.keys - 1) * (stride + 1) + D;
    problem p = {
        .a = {.q_stride = stride,
              .k_stride = stride + 1,
              .v_stride = stride + 1,
              .queries = s.queries,
              .keys = s.keys,
              .width = D,
              .scale = (float)(1 / sqrt((double)D)),
              .layout = s.layout ? s.layout : RF_ROPE_PAIRS,
              .rotate_value = s.rotate_value,
              .causal = s.causal,
              .prefix = s.prefix,
              .window = s.window,
              .drop = s.drop,
              .key = {0x12345678u, 0x9abcdef0u},
              .stream = 0x123456789ull,
              .out_stride = stride + 2},
        .g = {.d_out_stride = stride + 3, .dq_stride = stride + 4, .dk_stride = stride + 5, .dv_stride = stride + 6}};
    rfk_attention *a = &p.a;
    float *q = t_normal(q_size);
    if (s.size > 0)
        for (int64_t i = 0; i < q_size; i++) q[i] *= (float)s.size;
    a->q = q, a->k = t_normal(k_size), a->v = t_normal(k_size);
    if (s.rotary) tables(a, s.rotary);
    a->out = t_floats((s.queries - 1) * a->out_stride + D);
    a->lse = t_floats(s.queries);
    p.g.d_out = t_normal((s.queries - 1) * p.g.d_out_stride + D);
    p.g.dq = t_floats((s.queries - 1) * p.g.dq_stride + D);
    p.g.dk = t_floats((s.keys - 1) * p.g.dk_stride + D);
    p.g.dv = t_floats((s.keys - 1) * p.g.dv_stride + D);
    p.scratch = t_bytes(rfk_attention_scratch(a));
    p.back_scratch = t_bytes(rfk_attention_back_scratch(a));
    return p;
}

static inline float *dense(const float *x, int64_t rows, int64_t stride, int64_t width)
{
    float *y = t_floats(rows * width);
    for (int64_t r = 0; r < rows; r++) memcpy(y + r * width, x + r * stride, (size_t)width * sizeof *y);
    return y;
}

static inline float *result_of(const problem *p) { return dense(p->a.out, p->a.queries, p->a.out_stride, p->a.width); }

/* Nothing between the rows was written: t_floats filled everything with NaN. */
static inline void gaps_are_untouched(const char *isa, const float *x, int64_t rows, int64_t stride, int64_t width)
{
    for (int64_t r = 0; r + 1 < rows; r++)
        for (int64_t i = width; i < stride; i++)
            if (!isnan(x[r * stride + i]))
                fail_msg("%s: row %lld: column %lld beyond the width was written", isa, (long long)r, (long long)i);
}

/* ---- what a query sees ------------------------------------------------------------------------------------------- */

static inline int sees(const rfk_attention *a, int64_t t, int64_t s)
{
    const int64_t position = t + a->keys - a->queries;
    return (!a->causal || s <= position || s < a->prefix) &&
           (!a->window || llabs((long long)(s - position)) <= a->window);
}

static inline double keep_factor(const rfk_attention *a, int64_t t, int64_t s)
{
    uint32_t word[4];
    rf__philox((rf_key){{a->key[0], a->key[1]}}, (uint64_t)(t * ((a->keys + 3) / 4) + s / 4), a->stream, word);
    return (double)word[s % 4] >= floor((double)a->drop * 4294967296.0) ? 1 / (1 - (double)a->drop) : 0;
}

/* ---- what holds for both ----------------------------------------------------------------------------------------- */

static inline void a_query_that_sees_nothing_gives_zeros(void **state)
{
    (void)state;
    rfk_table k;
    problem p = make((shape){.queries = 20, .keys = 5, .width = 10, .causal = 1});
    for (EACH_RUNG(k)) {
        k.FORWARD(&p.a, 0, 20, p.scratch);
        k.BACK(&p.a, &p.g, p.back_scratch);
        for (int64_t t = 0; t < 20; t++)
            for (int64_t i = 0; i < 10; i++) {
                assert_true((p.a.out[t * p.a.out_stride + i] == 0) == (t < 15));
                if (t < 15) assert_true(p.g.dq[t * p.g.dq_stride + i] == 0 && p.a.lse[t] == -INFINITY);
            }
        p.a.keys = 0;
        k.FORWARD(&p.a, 0, 20, p.scratch);
        k.BACK(&p.a, &p.g, p.back_scratch);
        for (int64_t i = 0; i < 10; i++)
            assert_true(p.a.out[19 * p.a.out_stride + i] == 0 && p.g.dq[19 * p.g.dq_stride + i] == 0);
        p.a.keys = 5;
    }
    t_free_all();
}

/* Without memory for the log-sum-exp, and the same bits. */
static inline void the_log_sum_exp_is_optional(void **state)
{
    (void)state;
    rfk_table k;
    problem p = make((shape){.queries = 40, .width = 16});
    for (EACH_RUNG(k)) {
        k.FORWARD(&p.a, 0, 40, p.scratch);
        const float *with = result_of(&p);
        rfk_attention a = p.a;
        a.lse = NULL;
        k.FORWARD(&a, 0, 40, p.scratch);
        same_bits(result_of(&p), with, 40 * 16, "out");
    }
    t_free_all();
}

/* Prefetching for the next problem changes nothing. */
static inline void the_next_head_may_be_known(void **state)
{
    (void)state;
    rfk_table k;
    problem p = make((shape){.queries = 40, .width = 16, .rotary = 16, .gap = 16});
    for (EACH_RUNG(k)) {
        const float *was[4];
        for (p.a.next = 0; p.a.next <= 16; p.a.next += 16) {
            k.FORWARD(&p.a, 0, 40, p.scratch);
            k.BACK(&p.a, &p.g, p.back_scratch);
            const float *const now[] = {result_of(&p), dense(p.g.dq, 40, p.g.dq_stride, 16),
                                        dense(p.g.dk, 40, p.g.dk_stride, 16), dense(p.g.dv, 40, p.g.dv_stride, 16)};
            for (int i = 0; i < 4; i++) {
                if (p.a.next) same_bits(now[i], was[i], 40 * 16, "with the next head's place");
                was[i] = now[i];
            }
        }
    }
    t_free_all();
}

/* A NaN appears in every row that sees its key, and in no other. */
static inline void a_sick_key_is_not_hidden(void **state)
{
    (void)state;
    rfk_table k;
    problem p = make((shape){.queries = 64, .width = 16, .causal = 1});
    float *key = copied(p.a.k, 63 * p.a.k_stride + 16, 0);
    key[50 * p.a.k_stride + 3] = NAN;
    p.a.k = key;
    for (EACH_RUNG(k)) {
        k.FORWARD(&p.a, 0, 64, p.scratch);
        for (int64_t t = 0; t < 64; t++) assert_true(!isnan(p.a.out[t * p.a.out_stride]) == (t < 50));
    }
    t_free_all();
}

/* Equal values with few digits are returned exactly, whatever the scores: the weights that are summed are those that
 * multiply the values.  At most two roundings, and those of a sum. */
static inline void weights_sum_to_one(void **state)
{
    (void)state;
    static const int64_t length[] = {1, 9, 100, 1030};
    rfk_table k;
    for (size_t n = 0; n < RF_COUNT(length); n++) {
        problem p = make((shape){.queries = length[n], .width = 12, .rotary = 12, .causal = n % 2 == 1});
        float *v = t_floats(length[n] * 12);
        for (int64_t i = 0; i < length[n] * 12; i++) v[i] = (float)(i % 12) - 5.5F;
        p.a.v = v, p.a.v_stride = 12;
        for (EACH_RUNG(k)) {
            k.FORWARD(&p.a, 0, length[n], p.scratch);
            t_close(result_of(&p), v, length[n] * 12, 0, 4 * sqrt((double)length[n]) * EPS);
        }
        t_free_all();
    }
}

/* The future is not seen, and changes of it do not change a bit. */
static inline void the_future_changes_nothing(void **state)
{
    (void)state;
    rfk_table k;
    problem p = make((shape){.queries = 300, .width = 16, .rotary = 16, .causal = 1});
    float *key = copied(p.a.k, 299 * p.a.k_stride + 16, 0), *value = copied(p.a.v, 299 * p.a.v_stride + 16, 0);
    for (EACH_RUNG(k))
        for (int64_t now = 1; now < 300; now += 37) {
            p.a.k = key, p.a.v = value;
            k.FORWARD(&p.a, 0, 300, p.scratch);
            const float *before = result_of(&p);
            float *other_key = copied(key, 299 * p.a.k_stride + 16, 0),
                  *other_value = copied(value, 299 * p.a.v_stride + 16, 0);
            for (int64_t i = now * p.a.k_stride; i < 299 * p.a.k_stride + 16; i++)
                other_key[i] *= -2, other_value[i] = 1;
            p.a.k = other_key, p.a.v = other_value;
            k.FORWARD(&p.a, 0, 300, p.scratch);
            const float *after = result_of(&p);
            same_bits(after, before, now * 16, "rows before the change");
            assert_memory_not_equal(after + now * 16, before + now * 16, 16 * sizeof(float));
        }
    t_free_all();
}

/* ---- scores of any size ------------------------------------------------------------------------------------------ */

enum { ANY_KEYS = 150, ANY_WIDTH = 8 };              /* two blocks of the backward, the second one with a tail */

/* Scores that f32 can represent: q_t = (c_t, 0, ...), the first column of keys 1/2, then 1, then 3/4, the others
 * random.  So many keys tie for the largest score, also if `size` is negative, and P is exact for any size: BFDOT,
 * which rounds to odd, would be affected by nonzero numbers in the columns of q beyond the first. */
static inline problem of_size(double size, int causal)
{
    problem p = make((shape){.queries = ANY_KEYS, .width = ANY_WIDTH, .causal = causal});
    float *const q = memset(t_bytes(ANY_KEYS * ANY_WIDTH * sizeof *q), 0, ANY_KEYS * ANY_WIDTH * sizeof *q);
    float *const k = copied(p.a.k, ANY_KEYS * p.a.k_stride - 1, 0);
    p.a.scale = 0.25F;
    for (int64_t s = 0; s < ANY_KEYS; s++) {
        q[s * ANY_WIDTH] = (float)(size * (double)(4 + s % 4));
        k[s * p.a.k_stride] = s < 60 ? 0.5F : s < 140 ? 1 : 0.75F;
    }
    p.a.q = q, p.a.k = k;
    return p;
}

/* Result and adjoints in double: y is out, dq, dk, dv. */
static inline void in_double(const problem *p, double *y[4])
{
    const rfk_attention *a = &p->a;
    for (int64_t t = 0; t < a->queries; t++) {
        double power[ANY_KEYS] = {0}, d[ANY_KEYS] = {0}, score[ANY_KEYS], top = -INFINITY, sum = 0, mean = 0;
        const float *const q = a->q + t * a->q_stride, *const o = p->g.d_out + t * p->g.d_out_stride;
        for (int64_t s = 0; s < a->keys; s++) {
            score[s] = 0;
            for (int64_t i = 0; i < a->width; i++) score[s] += (double)q[i] * (double)a->k[s * a->k_stride + i];
            score[s] = sees(a, t, s) ? score[s] * (double)a->scale : -INFINITY;
            top = fmax(top, score[s]);
        }
        for (int64_t s = 0; s < a->keys; s++) sum += power[s] = exp(score[s] - top);
        for (int64_t s = 0; s < a->keys; s++) {
            power[s] /= sum;
            for (int64_t i = 0; i < a->width; i++) {
                const double v = (double)a->v[s * a->v_stride + i];
                y[0][t * a->width + i] += power[s] * v;
                y[3][s * a->width + i] += power[s] * (double)o[i];
                d[s] += (double)o[i] * v;
            }
            mean += power[s] * d[s];
        }
        for (int64_t s = 0; s < a->keys; s++)
            for (int64_t i = 0; i < a->width; i++) {
                const double ds = (double)a->scale * power[s] * (d[s] - mean);
                y[1][t * a->width + i] += ds * (double)a->k[s * a->k_stride + i];
                y[2][s * a->width + i] += ds * (double)q[i];
            }
    }
}

/* The largest error as a share of the largest number. */
static inline void within_share(const char *isa, double size, const char *what, const float *x, const double *expected,
                                int64_t n, double share)
{
    double most = 0, off = 0;
    for (int64_t i = 0; i < n; i++) {
        most = fmax(most, fabs(expected[i]));
        if (!(fabs((double)x[i] - expected[i]) <= off)) off = fabs((double)x[i] - expected[i]);
    }
    if (!(off <= share * most))
        fail_msg("%s: scores of %g: the error of %s is %.3g of its largest number, expected at most %.3g", isa, size,
                 what, off / most, share);
}

static inline void any_size(double size, int causal, double share)
{
    rfk_table k;
    problem p = of_size(size, causal);
    const int64_t n = ANY_KEYS * ANY_WIDTH;
    double *y[4];
    for (int i = 0; i < 4; i++) y[i] = memset(t_bytes((size_t)n * sizeof *y[i]), 0, (size_t)n * sizeof *y[i]);
    in_double(&p, y);
    for (EACH_RUNG(k)) {
        k.FORWARD(&p.a, 0, ANY_KEYS, p.scratch);
        k.BACK(&p.a, &p.g, p.back_scratch);
        within_share(k.isa, size, "out", result_of(&p), y[0], n, share);
        within_share(k.isa, size, "dq", dense(p.g.dq, ANY_KEYS, p.g.dq_stride, ANY_WIDTH), y[1], n, share);
        within_share(k.isa, size, "dk", dense(p.g.dk, ANY_KEYS, p.g.dk_stride, ANY_WIDTH), y[2], n, share);
        within_share(k.isa, size, "dv", dense(p.g.dv, ANY_KEYS, p.g.dv_stride, ANY_WIDTH), y[3], n, share);
    }
    t_free_all();
}

/* Random scores: rounding may choose another key, but no weight is above 1. */
static inline void weights_are_bounded(double size)
{
    rfk_table k;
    problem p = make((shape){.queries = ANY_KEYS, .width = ANY_WIDTH, .size = size});
    for (EACH_RUNG(k)) {
        k.FORWARD(&p.a, 0, ANY_KEYS, p.scratch);
        k.BACK(&p.a, &p.g, p.back_scratch);
        for (int64_t i = 0; i < ANY_WIDTH; i++) {
            double most = 0;
            for (int64_t t = 0; t < ANY_KEYS; t++) most += fabs((double)p.g.d_out[t * p.g.d_out_stride + i]);
            for (int64_t s = 0; s < ANY_KEYS; s++) {
                assert_true(isfinite(p.g.dq[s * p.g.dq_stride + i]) && isfinite(p.g.dk[s * p.g.dk_stride + i]));
                assert_true(fabs((double)p.g.dv[s * p.g.dv_stride + i]) <= 1.01 * most);
            }
        }
    }
    t_free_all();
}

static inline void scores_of_sizes(double share)
{
    static const double size[] = {0.1, 1, 20, 31, 33, 1.3e3, 1e5, 1e6, 5e6, 8e7, 1.3e9};
    for (size_t i = 0; i < RF_COUNT(size); i++) {
        for (int causal = 0; causal < 2; causal++) {
            any_size(size[i], causal, share);
            any_size(-size[i], causal, share);
        }
        weights_are_bounded(size[i]);
    }
}

#endif
