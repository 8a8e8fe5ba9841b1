/* kerple.c — biases that decrease with distance like a learned kernel.                                  Chi et al. 2022
 *
 *     score(m,n) = <q_m, k_n> / sqrt D - p log(1 + q |n - m|)       kerple_log
 *     score(m,n) = <q_m, k_n> / sqrt D - p |n - m|^q                kerple_power
 *
 * p and q of each head and layer are stored as logarithms, so that they stay positive. */
#include "model/position.h"

static void relate(rf_graph *g, const rf_layer_context *at, rf_attention_spec *spec, int power)
{
    spec->clip = rf__relative_reach(g, at);
    spec->relative_bias = rf__kernel_bias(g, at->weight[0], at->weight[1], spec->clip, power);
}

static void set_log_bias(rf_graph *g, const rf_layer_context *at, rf_tensor *qkv, rf_attention_spec *spec)
{
    (void)qkv;
    relate(g, at, spec, 0);
}

static void set_power_bias(rf_graph *g, const rf_layer_context *at, rf_tensor *qkv, rf_attention_spec *spec)
{
    (void)qkv;
    relate(g, at, spec, 1);
}

static void start(const rf_config *c, const rf_param *p, float *to)
{
    (void)c;
    for (size_t i = 0; i < p->count; i++) to[i] = -2;        /* gentle: p = q = 0.14 */
}

static const rf_param_row rows[] = {{"attention.self.bias_scale", "H", RF_INIT_MADE, false, 0, NULL},
                              {"attention.self.bias_rate", "H", RF_INIT_MADE, false, 0, NULL}, {0}};

#define KERPLE(NAME, EQUATION) \
    { .name = "kerple_" NAME, .equation = EQUATION, .source = "Chi et al. 2022 (KERPLE)", \
      .flags = RF_POSITION_SHIFT | RF_POSITION_EXTRAPOLATES | RF_POSITION_SYMMETRIC | RF_POSITION_EXTENSION, \
      .layer = rows, .fill = start,
const rf_position rf__position_kerple_log =
    KERPLE("log", "score(m,n) = <q_m, k_n> / sqrt D - p_h log(1 + q_h |n - m|)") .relate = set_log_bias };
const rf_position rf__position_kerple_power =
    KERPLE("power", "score(m,n) = <q_m, k_n> / sqrt D - p_h |n - m|^q_h") .relate = set_power_bias };
#undef KERPLE
