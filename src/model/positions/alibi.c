/* alibi.c — a penalty that grows with distance, with a different slope in each head.                 Press et al. 2022
 *
 *     score(m,n) = <q_m, k_n> / sqrt D - slope_h |n - m|
 *     slope_h    = 2^(-8 (h+1) / n)           n = H; if H is not a power of two: the power n below it first, and then
 *                                             every other slope of 2n
 *
 * Causal attention only has n <= m; in an encoder the penalty is symmetric. */
#include "model/position.h"

#include <math.h>
#include <stdlib.h>

static double slope(int64_t H, int64_t h)
{
    int64_t n = 1;
    while (2 * n <= H) n *= 2;
    return h < n ? exp2(-8 * (double)(h + 1) / (double)n) : exp2(-4 * (double)(2 * (h - n) + 1) / (double)n);
}

static double penalty(const rf_config *c, int64_t r, int64_t h)
{
    return -slope(c->num_attention_heads, h) * (double)llabs((long long)r);
}

static void relate(rf_graph *g, const rf_layer_context *at, rf_tensor *qkv, rf_attention_spec *spec)
{
    (void)qkv;
    spec->clip = rf__relative_reach(g, at);
    spec->relative_bias = rf__relative_table(g, at, spec->clip, at->config->num_attention_heads, penalty);
}

const rf_position rf__position_alibi = {
    .name = "alibi",
    .equation = "score(m,n) = <q_m, k_n> / sqrt D - slope_h |n - m|",
    .source = "Press et al. 2022",
    .flags = RF_POSITION_SHIFT | RF_POSITION_EXTRAPOLATES | RF_POSITION_SYMMETRIC,
    .relate = relate,
};
