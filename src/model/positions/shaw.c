/* shaw.c — vectors for clipped offsets, added to keys and values.             Shaw et al. 2018; Wei et al. 2019 (NEZHA)
 *
 *     score(m,n) = <q_m, k_n + a_r> / sqrt D,    out_m = sum_n p(m,n) (v_n + w_r),    r = clamp(n - m, -K, K)
 *
 * Shaw   a and w are learned for each layer, for all heads.                            RoFormer, Eq. 5
 * NEZHA  a = w = sines and cosines of r + K, fixed, interleaved. */
#include "model/position.h"

#include <math.h>

static void learned(rf_graph *g, const rf_layer_context *at, rf_tensor *qkv, rf_attention_spec *spec)
{
    (void)qkv;
    rf__relative_reach(g, at);
    spec->clip = at->config->max_relative_position;
    spec->relative_query = at->weight[0];
    spec->relative_value = at->weight[1];
}

static double wave(const rf_config *c, int64_t r, int64_t i)
{
    const int64_t D = c->hidden_size / c->num_attention_heads;
    const double angle = (double)(r + c->max_relative_position) * rf__sinusoidal_frequency(c, i / 2, D);
    return i % 2 ? cos(angle) : sin(angle);
}

static void fixed(rf_graph *g, const rf_layer_context *at, rf_tensor *qkv, rf_attention_spec *spec)
{
    (void)qkv;
    rf__relative_reach(g, at);
    spec->clip = at->config->max_relative_position;
    spec->relative_query = spec->relative_value =
        rf__relative_table(g, at, spec->clip, at->config->hidden_size / at->config->num_attention_heads, wave);
}

static int64_t offsets(const rf_config *c, char letter)
{
    (void)letter;
    return 2 * c->max_relative_position + 1;
}

static const rf_param_row rows[] = {{"attention.self.relative_keys.weight", "RD", RF_INIT_NORMAL, false, 0, NULL},
                              {"attention.self.relative_values.weight", "RD", RF_INIT_NORMAL, false, 0, NULL}, {0}};

const rf_position rf__position_shaw = {
    .name = "shaw",
    .equation = "score(m,n) = <q_m, k_n + a_r> / sqrt D,  out_m = sum p (v_n + w_r),  r = clamp(n - m, -K, K)",
    .source = "Shaw et al. 2018",
    .flags = RF_POSITION_SHIFT | RF_POSITION_EXTRAPOLATES,
    .layer = rows,
    .extent = offsets,
    .relate = learned,
    .vectors = true,
};

const rf_position rf__position_nezha = {
    .name = "nezha",
    .equation = "as shaw, with a_r = w_r = sines and cosines of r + K",
    .source = "Wei et al. 2019 (NEZHA)",
    .flags = RF_POSITION_SHIFT | RF_POSITION_EXTRAPOLATES,
    .relate = fixed,
    .vectors = true,
};
