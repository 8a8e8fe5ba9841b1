/* xpos.c — rotary positions with a decay for each plane.                                      Sun et al. 2022 (xPos)
 *
 *     score(m,n) = sum_i zeta_i^((m-n)/s) <R_i(m) q_m, R_i(n) k_n> / sqrt D,     zeta_i = (2i/r + 0.4) / 1.4,  s = 512
 *
 * Queries are scaled by zeta^(m/s), keys by zeta^(-n/s), independently of later tokens: FARTHEST s keeps the powers
 * within e^75, far from the limits of f32. For n > m the weights grow with distance: causal attention only.
 *
 * Linear attention, which sums over chunks, uses the factors zeta^(1/s) and the plain angles of its features: texts may
 * have any length there (rf_linear_attention_spec.decay). */
#include "model/layers/linear_attention.h"

#include <math.h>

enum { FARTHEST = 60 };

struct plan { const rf_config *c; int64_t r; double sign; };

static double zeta(int64_t i, int64_t r) { return (2 * (double)i / (double)r + 0.4) / 1.4; }

static void angle(const void *what, int64_t position, int64_t length, int64_t i, double *out, double *gain)
{
    const struct plan *p = what;
    (void)length;
    *out = (double)position * rf__rope_theta(p->c, p->c->rope_theta, p->r, 0, i);
    *gain = pow(zeta(i, p->r), p->sign * (double)position / p->c->xpos_scale_base);
}

/* The factors of f columns of features, and their angles without gain. */
static rf_status feature_angles(rf_graph *g, rf_layer_context *at, rf_attention_spec *spec, rf_error *why)
{
    const rf_config *c = at->config;
    const struct plan p = {c, at->features, 0};
    double *decay = rf__push(g, (size_t)(p.r / 2), sizeof *decay);
    rf_layer_context shared = *at;
    shared.layer = 0;
    rf__relative_reach(g, at);                              /* indices in a chunk replace positions */
    if (rf__graph_error(g)->code) return rf_fail(why, rf__graph_error(g)->code, "%s", rf__graph_error(g)->text);
    for (int64_t i = 0; i < p.r / 2; i++) decay[i] = pow(zeta(i, p.r), 1 / c->xpos_scale_base);
    at->decay = decay;
    return rf__positions_rope(g, &shared, 2, p.r, c->rope_interleave ? RF_ROPE_PAIRS : RF_ROPE_HALVES,
                              at->cache != NULL, angle, &p, &spec->rope, &spec->row, why);
}

static rf_status angles(rf_graph *g, rf_layer_context *at, rf_attention_spec *spec, rf_error *why)
{
    if (at->features) return feature_angles(g, at, spec, why);
    const rf_config *c = at->config;
    const int64_t H = c->num_attention_heads;
    const double most = FARTHEST * c->xpos_scale_base;
    if (at->highest > most || -(double)at->lowest > most)
        return rf_fail(why, RF_ERANGE,
                       "xpos: expected positions at most %.0f from 0 with xpos_scale_base %g, got %d to %d", most,
                       c->xpos_scale_base, (int)at->lowest, (int)at->highest);
    rf_status status = RF_OK;
    rf_layer_context shared = *at;
    shared.layer = 0;
    at->rotate = (rf_rotate_parts_spec){.parts = 3, .heads = H, .rotated = H};
    for (int part = 0; part < 2 && !status; part++) {
        const struct plan p = {c, rf_rope_width(c), part ? -1 : 1};
        status = rf__positions_rope(g, &shared, part, p.r, c->rope_interleave ? RF_ROPE_PAIRS : RF_ROPE_HALVES, false,
                                    angle, &p, &at->rotate.rope[part], &at->rotate.row[part], why);
    }
    return status;
}

static rf_tensor *rotate(rf_graph *g, const rf_layer_context *at, rf_tensor *qkv)
{
    return at->features ? qkv : rf__rotate_parts(g, qkv, &at->rotate);
}

static rf_status check(const rf_config *c, rf_error *why)
{
    const rf_status status = rf_rope_check(c, why);
    if (status) return status;
    if (rf__rope_by_length(c) || c->rope_scaling.final_length || rf__rope_gain(c) != 1 || c->rope_scaling.sections ||
        c->rope_thetas || c->rotary_heads || c->use_logn_attn || c->rotary_value)
        return rf_fail(why, RF_EDATA, "config.json: position_embedding_type \"xpos\": expected only rope_theta, "
                       "partial_rotary_factor, rope_interleave, xpos_scale_base and the rope_types linear, ntk, "
                       "llama3, got another key or type");
    return RF_OK;
}

const rf_position rf__position_xpos = {
    .name = "xpos",
    .equation = "score(m,n) = sum_i zeta_i^((m-n)/s) <R_i(m) q_m, R_i(n) k_n> / sqrt D",
    .source = "Sun et al. 2022 (xPos)",
    .flags = RF_POSITION_SHIFT | RF_POSITION_EXTRAPOLATES | RF_POSITION_CAUSAL | RF_POSITION_ROPE,
    .check = check,
    .angles = angles,
    .rotate = rotate,
};
