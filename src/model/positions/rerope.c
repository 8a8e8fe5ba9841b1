/* rerope.c — rotary positions whose far distances are cut or compressed.               Su 2023 (kexue.fm/archives/9708)
 *
 *     score(m,n) = <R(f(m-n)) q_m, k_n> / sqrt D,       f(-d) = -f(d)
 *     f(d) = d                      d < w               w rerope_window, k rerope_leak
 *     f(d) = w                      d >= w, k = 0       ReRoPE
 *     f(d) = w + (d - w)/k          d >= w, k >= 1      Leaky ReRoPE
 *
 * For texts longer than those trained on: no distance is larger than those that were seen.  As rotations of both sides,
 * with
 * e = 1/k (0 for k = 0):   past   q by w + e (m - w),  k by e n          future   q by e (m + w) - w,  k by e n */
#include "model/position.h"

#include <math.h>

struct plan { const rf_config *c; int64_t r; double scale, shift; };

static void angle(const void *what, int64_t position, int64_t length, int64_t i, double *out, double *gain)
{
    (void)length;
    const struct plan *p = what;
    *out = (p->scale * (double)position + p->shift) * rf__rope_theta(p->c, p->c->rope_theta, p->r, 0, i);
    *gain = 1;
}

/* Tables: 0 near; 1 past queries, 2 future queries, 3 far keys. */
static rf_status angles(rf_graph *g, rf_layer_context *at, rf_attention_spec *spec, rf_error *why)
{
    const rf_config *c = at->config;
    const double w = (double)c->rerope_window, e = c->rerope_leak > 0 ? 1 / c->rerope_leak : 0;
    const struct plan plan[RF_POSITION_PARTS] = {{c, rf_rope_width(c), 1, 0}, {c, rf_rope_width(c), e, w - e * w},
                                                 {c, rf_rope_width(c), e, e * w - w}, {c, rf_rope_width(c), e, 0}};
    const rf_rope *rope[RF_POSITION_PARTS];
    const int32_t *row[RF_POSITION_PARTS];
    rf_layer_context shared = *at;
    shared.layer = 0;
    for (int i = 0; i < RF_POSITION_PARTS; i++) {
        const rf_status status =
            rf__positions_rope(g, &shared, i, plan[i].r, c->rope_interleave ? RF_ROPE_PAIRS : RF_ROPE_HALVES, false,
                               angle, &plan[i], &rope[i], &row[i], why);
        if (status) return status;
    }
    const rf_rotate_parts_spec three = {.parts = 3, .heads = spec->heads, .rotated = spec->heads};
    at->rotate = at->past = at->future = three;
    at->rotate.rope[0] = at->rotate.rope[1] = rope[0];
    at->rotate.row[0] = at->rotate.row[1] = row[0];
    at->past.rope[0] = rope[1], at->past.row[0] = row[1];
    at->future.rope[0] = rope[2], at->future.row[0] = row[2];
    at->past.rope[1] = at->future.rope[1] = rope[3];
    at->past.row[1] = at->future.row[1] = row[3];
    return RF_OK;
}

static rf_tensor *attend(rf_graph *g, const rf_layer_context *at, rf_tensor *qkv, const rf_attention_spec *spec)
{
    if (g->train && spec->drop > 0)
        return rf__stop(g, RF_EUNSUPPORTED,
                        "config.json: attention_probs_dropout_prob: expected 0 for training with rerope, got %g",
                        spec->drop);
    const rf_near_far_spec s = {spec->heads, at->B, at->config->rerope_window, at->start, at->position, spec->causal};
    rf_tensor *const near = rf__rotate_parts(g, qkv, &at->rotate);
    bool far = at->chosen;                           /* otherwise nothing is far, and unused parts are not rotated */
    for (int64_t b = 0; b < at->B; b++) far = far || at->start[b + 1] - at->start[b] > s.window;
    return rf__near_far(g, near, far ? rf__rotate_parts(g, qkv, &at->past) : near,
                        far && (at->chosen || !spec->causal) ? rf__rotate_parts(g, qkv, &at->future) : near, &s);
}

static rf_status check(const rf_config *c, rf_error *why)
{
    const rf_status status = rf_rope_check(c, why);
    if (status) return status;
    if (c->rerope_leak > 0 && c->rerope_leak < 1)
        return rf_fail(why, RF_EDATA, "config.json: rerope_leak: expected 0 (cut) or at least 1 (compressed), got %g",
                       c->rerope_leak);
    if (rf__rope_by_length(c) || c->rope_scaling.final_length || rf__rope_gain(c) != 1 || c->rope_scaling.sections ||
        c->rope_thetas || c->rotary_heads || c->use_logn_attn || c->rotary_value)
        return rf_fail(why, RF_EDATA, "config.json: position_embedding_type \"rerope\": expected only rope_theta, "
                       "partial_rotary_factor, rope_interleave, rerope_window, rerope_leak and the rope_types "
                       "linear, ntk, llama3, got another key or type");
    return RF_OK;
}

const rf_position rf__position_rerope = {
    .name = "rerope",
    .equation = "score(m,n) = <R(f(m-n)) q_m, k_n> / sqrt D,  f(d) = d below w, else w, or w + (d-w)/k",
    .source = "Su 2023, kexue.fm/archives/9708",
    .flags = RF_POSITION_SHIFT | RF_POSITION_EXTRAPOLATES | RF_POSITION_ROPE | RF_POSITION_EXTENSION,
    .check = check,
    .angles = angles,
    .attend = attend,
};
