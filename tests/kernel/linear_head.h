/* linear_head.h — a head of linear attention with all inputs of the kernel and of the formula. */
#ifndef LINEAR_HEAD_H
#define LINEAR_HEAD_H

#include "kernel/attention/linear/linear_attention.h"
#include "linear_problem.h"
#include "roformer/kernel/rope.h"
#include "rungs.h"

struct head {
    linear_printed p;
    const rfk__feature_map *map;
    rf_ctx *ctx;
    rf_rope *rope;
    float *qkv, *w, *panels, *decay;    /* qkv [T, 3D] */
    void *scratch;
    double *q, *k, *v, *wide;           /* the same numbers */
    int32_t *row;
};

static inline double *doubled(const float *x, int64_t rows, int64_t width, int64_t stride)
{
    double *y = t_bytes((size_t)(rows * width) * sizeof *y);
    for (int64_t i = 0; i < rows; i++)
        for (int64_t j = 0; j < width; j++) y[i * width + j] = (double)x[i * stride + j];
    return y;
}

static inline struct head head_of(const char *name, int64_t T, int64_t D, int64_t f, bool causal,
                                  enum linear_order order)
{
    struct head h = {.map = rfk__feature_map_named(name), .ctx = t_ctx(1, NULL)};
    assert_non_null(h.map);
    if (!h.map->projects) f = D;
    h.qkv = t_normal(T * 3 * D);
    h.w = t_floats(f * D);
    rfk__random_features(11, 5, f, D, h.w, t_bytes((size_t)(D * D) * sizeof(double)));
    h.wide = doubled(h.w, f, D, D);
    h.q = doubled(h.qkv, T, D, 3 * D);
    h.k = doubled(h.qkv + D, T, D, 3 * D);
    h.v = doubled(h.qkv + 2 * D, T, D, 3 * D);
    rfk_table k;
    size_t panels = 0, scratch = 0;
    for (EACH_RUNG(k)) {
        const rfk__linear a = {.k = &k, .map = h.map, .width = D, .features = f, .causal = causal, .tokens = T};
        panels = panels > rfk__linear_panels(&k, f, D) ? panels : rfk__linear_panels(&k, f, D);
        scratch = scratch > rfk__linear_scratch(&a) ? scratch : rfk__linear_scratch(&a);
    }
    h.panels = t_floats((int64_t)panels);
    h.scratch = t_bytes(scratch);
    h.row = t_bytes((size_t)T * sizeof *h.row);
    for (int64_t t = 0; t < T; t++) h.row[t] = (int32_t)t;
    h.p = (linear_printed){.map = name, .causal = causal, .order = order, .T = T, .D = D, .f = f, .w = h.wide,
                           .epsilon = (double)(float)h.map->epsilon, .base = 10000};
    if (order != LINEAR_NONE)
        assert_int_equal(rf_rope_new(h.ctx, &(rf_rope_spec){linear_after(order) ? f : D, 10000, RF_ROPE_PAIRS}, T,
                                     &h.rope, NULL), RF_OK);
    if (order == LINEAR_XPOS) {
        double *z = t_bytes((size_t)f / 2 * sizeof *z);
        for (int64_t i = 0; i < f / 2; i++) z[i] = linear_zeta(i, f);
        h.decay = t_floats((int64_t)rfk__linear_decays(f));
        rfk__linear_decay(z, f, RF_ROPE_PAIRS, h.decay);
    }
    return h;
}

static inline void end_head(struct head *h)
{
    rf_rope_free(h->rope);
    rf_ctx_free(h->ctx);
}

/* Tokens first .. first + n - 1 of a head on rung k. */
static inline rfk__linear call_of(const struct head *h, const rfk_table *k, float *out, int64_t first, int64_t n)
{
    const int64_t D = h->p.D;
    return (rfk__linear){
        .k = k, .map = h->map, .width = D, .features = h->p.f, .w = h->panels,
        .epsilon = (float)h->p.epsilon, .causal = h->p.causal,
        .cos = h->rope ? rf_rope_cos(h->rope) : NULL, .sin = h->rope ? rf_rope_sin(h->rope) : NULL,
        .row = h->row + first, .layout = RF_ROPE_PAIRS, .rotary = linear_after(h->p.order) ? h->p.f : D,
        .after = linear_after(h->p.order),
        .decay = h->decay,
        .q = h->qkv + first * 3 * D, .key = h->qkv + first * 3 * D + D, .v = h->qkv + first * 3 * D + 2 * D,
        .stride = 3 * D, .tokens = n, .out = out + first * D, .out_stride = D,
    };
}

#endif
