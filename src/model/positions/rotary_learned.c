/* rotary_learned.c — rotary position embedding with frequencies that each layer learns.            RoFormer, Eqs. 14-16
 *
 *     R(m) rotates plane i by m omega_i,   omega_i = theta_i (1 + w_i),   w = 0 at the start
 *     dL/domega_i = sum_m m sum (dy_1 y_0 - dy_0 y_1)   over queries and keys (src/graph/ops/position/rotate_learned.c)
 *
 * w is a relative change, so that one learning rate is suitable for wavelengths of 6 and of 60000 tokens. */
#include "model/position.h"

static rf_tensor *rotate(rf_graph *g, const rf_layer_context *at, rf_tensor *qkv)
{
    const rf_config *c = at->config;
    const int64_t r = rf_rope_width(c);
    double *theta = rf__push(g, (size_t)(r / 2), sizeof *theta);
    for (int64_t i = 0; i < r / 2 && theta; i++) theta[i] = rf__rope_theta(c, c->rope_theta, r, 0, i);
    const rf_rotate_learned_spec spec = {3, c->rotary_value ? 3 : 2, c->num_attention_heads, theta, at->position};
    return rf__rotate_learned(g, qkv, at->weight[0], &spec);
}

static rf_status check(const rf_config *c, rf_error *why)
{
    const rf_status status = rf_rope_check(c, why);
    if (status) return status;
    if (rf__rope_by_length(c) || c->rope_scaling.final_length || rf__rope_gain(c) != 1 || c->rope_scaling.sections ||
        c->rope_thetas || c->rotary_heads || c->use_logn_attn || !c->rope_interleave || c->rotary_value_inverse)
        return rf_fail(why, RF_EDATA, "config.json: position_embedding_type \"rotary_learned\": expected only "
                       "rope_theta, partial_rotary_factor, rotary_value and the rope_types linear, ntk, llama3, got "
                       "another key or type");
    return RF_OK;
}

static int64_t planes(const rf_config *c, char letter)
{
    (void)letter;
    return rf_rope_width(c) / 2;
}

static const rf_param_row rows[] = {{"attention.self.rotary_frequencies", "R", RF_INIT_ZEROS, false, 0, NULL}, {0}};

const rf_position rf__position_rotary_learned = {
    .name = "rotary_learned",
    .equation = "R(m) rotates plane i by m theta_i (1 + w_i),  w learned for each layer",
    .source = "Su et al. 2021, Eq. 14, theta as a parameter",
    .flags = RF_POSITION_SHIFT | RF_POSITION_EXTRAPOLATES | RF_POSITION_ROPE,
    .layer = rows,
    .extent = planes,
    .check = check,
    .rotate = rotate,
};
