/* cape.c — sinusoidal positions that are shifted and scaled at random in training.           Likhomanenko et al. 2021
 *
 *     h_m = x_m + p(lambda (m + Delta + epsilon_m))        p: sines and cosines, interleaved, as sinusoidal.c
 *     for each text    Delta in +-cape_max_global_shift; lambda in 1/s ... s, log-uniform, s = cape_max_global_scaling
 *     for each token   epsilon_m in +-cape_max_local_shift
 *
 * Outside of training h_m = x_m + p(m). The numbers are drawn with the step's key: the same step has the same
 * positions. */
#include "model/position.h"

#include <math.h>

static double uniform(uint32_t word, double most) { return most * (2 * ((double)word + 0.5) * 0x1p-32 - 1); }

static rf_tensor *embed(rf_graph *g, const rf_layer_context *at, rf_tensor *words)
{
    const rf_config *c = at->config;
    const int64_t E = c->embedding_size;
    float *p = rf__push(g, (size_t)(at->N * E), sizeof *p);
    double *omega = rf__push(g, (size_t)E, sizeof *omega);
    if (!p || !omega) return &g->nil.t;
    for (int64_t j = 0; j < E; j++) omega[j] = rf__sinusoidal_frequency(c, j / 2, E);
    const uint64_t stream = g->train ? rf__drop_stream(g) : 0;
    for (int64_t b = 0; b < at->B; b++)
        for (int64_t n = at->start[b]; n < at->start[b + 1]; n++) {
            double m = (double)at->position[n];
            if (g->train) {
                uint32_t all[4], one[4];
                rf__philox(g->key, (uint64_t)b, stream, all);
                rf__philox(g->key, (uint64_t)(at->B + n), stream, one);
                m += uniform(all[0], c->cape_max_global_shift) + uniform(one[0], c->cape_max_local_shift);
                m *= exp(uniform(all[1], log(c->cape_max_global_scaling)));
            }
            for (int64_t j = 0; j < E; j++) p[n * E + j] = (float)(j % 2 ? cos(m * omega[j]) : sin(m * omega[j]));
        }
    return rf__add(g, words, rf__constant(g, p, 2, (int64_t[]){at->N, E}));
}

const rf_position rf__position_cape = {
    .name = "cape",
    .equation = "h_m = x_m + p(lambda (m + Delta + epsilon_m)), drawn at random in training",
    .source = "Likhomanenko et al. 2021 (CAPE)",
    .flags = RF_POSITION_EXTRAPOLATES | RF_POSITION_EXTENSION | RF_POSITION_VECTOR,
    .check = rf__sinusoidal_even,
    .embed = embed,
};
