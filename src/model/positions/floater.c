/* floater.c — recurrent positions.
 *
 *     recursive    p_{k+1} = tanh(M p_k + b)                                    Su 2021 (kexue.fm/archives/8130)
 *     floater      dp/dt = h(p, t) = B tanh(A [p; t] + a) + b                   Liu et al. 2020, by Euler's method
 *     floater_rk4  the same by Runge and Kutta's
 *     h_m = x_m + p_m,  p_0 learned
 *
 * M begins as the rotations of the sinusoidal encoding, p[k+1] = R(1) p[k], so that positions differ from the first
 * training step on. */
#include "model/position.h"

#include <math.h>

static rf_tensor *add_flow(rf_graph *g, const rf_layer_context *at, rf_tensor *words, rf_flow_kind how)
{
    if (g->error.code || !rf__positions_below(g, at, 1 << 20, "1048576 at most")) return &g->nil.t;
    rf_tensor *table = rf__flow(g, how, at->config->position_step, at->weight[0], at->weight[1],
                                how == RF_FLOW_RECURSION ? NULL : at->weight[2], (int64_t)at->highest + 1);
    return rf__add(g, words, rf__embed(g, table, at->position, at->N));
}

static rf_tensor *recursion(rf_graph *g, const rf_layer_context *at, rf_tensor *words)
{
    return add_flow(g, at, words, RF_FLOW_RECURSION);
}
static rf_tensor *euler(rf_graph *g, const rf_layer_context *at, rf_tensor *words)
{
    return add_flow(g, at, words, RF_FLOW_EULER);
}
static rf_tensor *runge_kutta(rf_graph *g, const rf_layer_context *at, rf_tensor *words)
{
    return add_flow(g, at, words, RF_FLOW_RUNGE_KUTTA);
}

/* Y: a state and 1. Z: a state, the time and 1. */
static int64_t extent(const rf_config *c, char letter) { return c->embedding_size + (letter == 'Y' ? 1 : 2); }

/* [M | b]: rotations of the pairs by their frequencies, b = 0. */
static void rotations(const rf_config *c, const rf_param *p, float *to)
{
    const int64_t E = c->embedding_size;
    (void)p;
    memset(to, 0, (size_t)(E * (E + 1)) * sizeof *to);
    for (int64_t i = 0; i + 1 < E; i += 2) {
        const double angle = rf__sinusoidal_frequency(c, i / 2, E);
        to[i * (E + 1) + i] = to[(i + 1) * (E + 1) + i + 1] = (float)cos(angle);
        to[i * (E + 1) + i + 1] = (float)-sin(angle);
        to[(i + 1) * (E + 1) + i] = (float)sin(angle);
    }
}

#define FIRST {"embeddings.first_position", "E", RF_INIT_NORMAL, false, 0, NULL}
static const rf_param_row recursive[] = {
    FIRST,
    {"embeddings.position_step.weight", "EY", RF_INIT_MADE, false, 0, NULL},
    {0},
};
static const rf_param_row flow[] = {
    FIRST,
    {"embeddings.position_flow.in.weight", "EZ", RF_INIT_NORMAL, true, 0, NULL},
    {"embeddings.position_flow.out.weight", "EY", RF_INIT_NORMAL, true, 0, NULL},
    {0},
};

const rf_position rf__position_recursive = {
    .name = "recursive",
    .equation = "h_m = x_m + p_m,  p_{k+1} = tanh(M p_k + b)",
    .source = "Su 2021, kexue.fm/archives/8130",
    .flags = RF_POSITION_EXTRAPOLATES | RF_POSITION_VECTOR,
    .embedding = recursive,
    .extent = extent,
    .fill = rotations,
    .embed = recursion,
};

const rf_position rf__position_floater = {
    .name = "floater",
    .equation = "h_m = x_m + p(m s),  dp/dt = B tanh(A [p; t] + a) + b,  Euler",
    .source = "Liu et al. 2020 (FLOATER)",
    .flags = RF_POSITION_EXTRAPOLATES | RF_POSITION_VECTOR,
    .embedding = flow,
    .extent = extent,
    .embed = euler,
};

const rf_position rf__position_floater_rk4 = {
    .name = "floater_rk4",
    .equation = "the same, Runge-Kutta of order 4",
    .source = "Liu et al. 2020 (FLOATER)",
    .flags = RF_POSITION_EXTRAPOLATES | RF_POSITION_VECTOR,
    .embedding = flow,
    .extent = extent,
    .embed = runge_kutta,
};
