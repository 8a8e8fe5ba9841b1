/* sinusoidal.c — fixed sines and cosines added to the words.                           Vaswani et al. 2017, Sec. 3.5
 *
 *     omega_t = b^(-2t/E)                                     t in [0, E/2), b = sinusoidal_base, 10000
 *     interleaved   p[m, 2t] = sin(m omega_t)     p[m, 2t+1]   = cos(m omega_t)         Vaswani et al.; RoFormer, Eq. 4
 *     halves        p[m, t]  = sin(m omega_t)     p[m, E/2+t]  = cos(m omega_t)         tensor2tensor, fairseq
 *     h_m = x_m + p_m
 *
 * The angle is computed in double and rounded once, after the sine. */
#include "model/position.h"

#include <math.h>
#include <string.h>

double rf__sinusoidal_frequency(const rf_config *c, int64_t t, int64_t width)
{
    return pow(c->sinusoidal_base, -2 * (double)t / (double)width);
}

void rf__sinusoidal_row(const rf_config *c, int64_t m, float *row, int64_t E)
{
    for (int64_t j = 0; j < E; j++) {
        const double angle = (double)m * rf__sinusoidal_frequency(c, j / 2, E);
        row[j] = (float)(j % 2 ? cos(angle) : sin(angle));
    }
}

static void halves(const rf_config *c, int64_t m, float *row, int64_t E)
{
    if (m < c->position_table_size / E) {
        memcpy(row, c->position_table + m * E, (size_t)E * sizeof *row);
        return;
    }
    for (int64_t t = 0; t < E / 2; t++) {
        const double angle = (double)m * rf__sinusoidal_frequency(c, t, E);
        row[t] = (float)sin(angle);
        row[E / 2 + t] = (float)cos(angle);
    }
}

static rf_tensor *add(rf_graph *g, const rf_layer_context *at, rf_tensor *words, rf_position_row *fill)
{
    if (g->error.code || !rf__positions_below(g, at, 1 << 24, "16777216 at most")) return &g->nil.t;
    return rf__add(g, words, rf__positions_rows(g, at, at->config->embedding_size, fill));
}

static rf_tensor *add_interleaved(rf_graph *g, const rf_layer_context *at, rf_tensor *words)
{
    return add(g, at, words, rf__sinusoidal_row);
}
static rf_tensor *add_halves(rf_graph *g, const rf_layer_context *at, rf_tensor *words)
{
    const int64_t rows = at->config->position_table_size / at->config->embedding_size;
    if (rows && !rf__positions_below(g, at, rows, RF_POSITION_TABLE_ROWS)) return &g->nil.t;
    return add(g, at, words, halves);
}

rf_status rf__sinusoidal_even(const rf_config *c, rf_error *why)
{
    if (c->embedding_size % 2 == 0) return RF_OK;
    return rf_fail(why, RF_EDATA,
                   "config.json: embedding_size: expected an even number for sines and cosines, got %lld",
                   (long long)c->embedding_size);
}

const rf_position rf__position_sinusoidal = {
    .name = "sinusoidal",
    .equation = "h_m = x_m + p_m,  p[m,2t] = sin(m b^(-2t/E)),  p[m,2t+1] = cos",
    .source = "Vaswani et al. 2017",
    .flags = RF_POSITION_EXTRAPOLATES | RF_POSITION_VECTOR,
    .check = rf__sinusoidal_even,
    .embed = add_interleaved,
};

const rf_position rf__position_sinusoidal_halves = {
    .name = "sinusoidal_halves",
    .equation = "h_m = x_m + p_m,  p[m,t] = sin(m b^(-2t/E)),  p[m,E/2+t] = cos",
    .source = "Vaswani et al. 2017; tensor2tensor's order",
    .flags = RF_POSITION_EXTRAPOLATES | RF_POSITION_VECTOR,
    .check = rf__sinusoidal_even,
    .embed = add_halves,
};
