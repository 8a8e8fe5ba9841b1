/* rotary.c — rotary position embedding.                                                    RoFormer, Eqs. 14-16 and 34
 *
 *     theta_i    = base^(-2i/r)                                        i in [0, r/2)
 *     score(m,n) = <R(m) q_m, R(n) k_n> / sqrt D,    R(m) = blockdiag_i of a turn by m theta_i
 *
 * Attention turns queries and keys while it packs them; all that is made here is the table of cosines and sines. */
#include "model/position.h"

#include <math.h>

struct plan { const rf_config *c; int64_t r; };

static void angle(const void *what, int64_t position, int64_t length, int64_t i, double *out, double *gain)
{
    (void)length;
    const struct plan *p = what;
    *out = (double)position * pow(p->c->rope_theta, -2.0 * (double)i / (double)p->r);
    *gain = 1;
}

static rf_status angles(rf_graph *g, const rf_place *at, rf_attention_spec *spec, rf_error *why)
{
    const rf_config *c = at->config;
    const struct plan p = {c, c->hidden_size / c->num_attention_heads};
    rf_place first = *at;
    first.layer = 0;                                            /* one table for all layers */
    spec->rotate_value = c->rotary_value;
    return rf__positions_rope(g, &first, 0, p.r, RF_ROPE_PAIRS, false, angle, &p, &spec->rope, &spec->row, why);
}

static void cost(const rf_config *c, int64_t T, double *flops, double *bytes)
{
    (void)T;
    const double turned = (double)(c->hidden_size * c->num_hidden_layers) * (c->rotary_value ? 3 : 2);
    *flops = 3 * turned;
    *bytes = 4 * turned / (double)c->num_attention_heads;
}

const rf_position rf__position_rotary = {
    .name = "rotary",
    .equation = "score(m,n) = <R(m) q_m, R(n) k_n> / sqrt D,  R(m) turns plane i by m base^(-2i/r)",
    .source = "Su et al. 2021 (RoFormer)",
    .flags = RF_POSITION_SHIFT | RF_POSITION_EXTRAPOLATES,
    .angles = angles,
    .cost = cost,
};
