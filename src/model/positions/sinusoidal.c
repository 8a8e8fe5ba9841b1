/* sinusoidal.c — fixed sines and cosines added to the words.                           Vaswani et al. 2017, Sec. 3.5
 *
 *     omega_t = b^(-2t/E)                                     t in [0, E/2), b = sinusoidal_base, 10000
 *     interleaved   p[m, 2t] = sin(m omega_t)     p[m, 2t+1]   = cos(m omega_t)         Vaswani et al.; RoFormer, Eq. 4
 *     halves        p[m, t]  = sin(m omega_t)     p[m, E/2+t]  = cos(m omega_t)         tensor2tensor, fairseq
 *     fairseq       halves of p[m + pad + 1] with omega_t = b^(-t/(E/2-1)); padding tokens add 0 and do not count
 *     h_m = x_m + p_m
 *
 * The angle is computed in double and rounded once, after the sine. Only fairseq's is rounded at each step to f32, in
 * which transformers' M2M100SinusoidalPositionalEmbedding computes it: at position 1000 the two differ by 3e-5. */
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

/* Row 0 belongs to padding tokens, row m + 1 to position m. */
static void fairseq(const rf_config *c, int64_t m, float *row, int64_t E)
{
    const int64_t half = E / 2;
    const float rate = (float)(log(c->sinusoidal_base) / (double)(half - 1));
    if (!m) memset(row, 0, (size_t)E * sizeof *row);
    for (int64_t t = 0; t < half && m; t++) {
        const float omega = (float)exp((double)((float)t * -rate));
        const float angle = (float)(c->pad_token_id + m) * omega;
        row[t] = (float)sin((double)angle);
        row[half + t] = (float)cos((double)angle);
    }
}

/* The tokens of a call that continues sequences count from the number of all earlier ones, padding or not. */
static rf_tensor *add_fairseq(rf_graph *g, const rf_layer_context *at, rf_tensor *words)
{
    rf_layer_context own = *at;
    int32_t *row = rf__push(g, (size_t)at->N, sizeof *row);
    if (!row || !rf__positions_below(g, at, 1 << 24, "16777216 at most")) return &g->nil.t;
    for (int64_t s = 0; s < at->B; s++) {
        int32_t next = at->start[s] < at->start[s + 1] ? at->position[at->start[s]] : 0;
        for (int32_t n = at->start[s]; n < at->start[s + 1]; n++)
            row[n] = at->chosen && !at->cache                ? at->position[n] + 1
                     : at->id[n] == at->config->pad_token_id ? 0
                                                             : ++next;
    }
    own.position = row;
    own.highest = at->highest + 1;
    return rf__add(g, words, rf__positions_rows(g, &own, at->config->embedding_size, fairseq));
}

rf_status rf__sinusoidal_even(const rf_config *c, rf_error *why)
{
    if (c->embedding_size % 2 == 0) return RF_OK;
    return rf_fail(why, RF_EDATA,
                   "config.json: embedding_size: expected an even number for sines and cosines, got %lld",
                   (long long)c->embedding_size);
}

static rf_status check_fairseq(const rf_config *c, rf_error *why)
{
    if (c->embedding_size < 4)
        return rf_fail(why, RF_EDATA, "config.json: embedding_size: expected at least 4 for fairseq's sines, got %lld",
                       (long long)c->embedding_size);
    if (c->pad_token_id < 0)
        return rf_fail(why, RF_EDATA, "config.json: pad_token_id: expected an id, which fairseq's positions count "
                       "from, got null");
    return rf__sinusoidal_even(c, why);
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

const rf_position rf__position_sinusoidal_fairseq = {
    .name = "sinusoidal_fairseq",
    .equation = "h_m = x_m + p_(m+pad+1),  p[m,t] = sin(m b^(-t/(E/2-1))),  p[m,E/2+t] = cos",
    .source = "fairseq; M2M-100",
    .flags = RF_POSITION_EXTRAPOLATES | RF_POSITION_VECTOR,
    .check = check_fairseq,
    .embed = add_fairseq,
};
