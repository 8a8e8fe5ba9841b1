/* sandwich.c — the product of two sinusoidal positions as a bias.                                       Chi et al. 2023
 *
 *     score(m,n) = <q_m, k_n> / sqrt D + (sum_(i=1)^(d/2) cos((m - n) / b^(2i/d)) - d/2) / (8 (h+1) / H)
 *
 * d = sandwich_width; the constant makes the bias zero at distance 0 and changes no probability. */
#include "model/position.h"

#include <math.h>
#include <stdlib.h>

static double product(const rf_config *c, int64_t r, int64_t h)
{
    const int64_t d = c->sandwich_width;
    double sum = -(double)(d / 2);
    for (int64_t i = 1; i <= d / 2; i++) sum += cos((double)r * rf__sinusoidal_frequency(c, i, d));
    return sum * (double)c->num_attention_heads / (8 * (double)(h + 1));
}

/* The sum depends only on the offset: rows of offsets 0, 1, ... are kept between batches. */
static void row_of_offset(const rf_config *c, int64_t r, float *row, int64_t H)
{
    const double one = product(c, r, 0);
    for (int64_t h = 0; h < H; h++) row[h] = (float)(one / (double)(h + 1));
}

static int64_t distance(const rf_config *c, int64_t r)
{
    (void)c;
    return llabs((long long)r);
}

static void relate(rf_graph *g, const rf_layer_context *at, rf_tensor *qkv, rf_attention_spec *spec)
{
    (void)qkv;
    const int64_t H = at->config->num_attention_heads;
    spec->clip = rf__relative_reach(g, at);
    const int32_t *rows = rf__relative_rows(g, at, spec->clip, distance);
    const float *table = rows ? rf__positions_fixed(g, at, spec->clip + 1, H, row_of_offset) : NULL;
    if (!table) return;
    spec->relative_bias =
        rf__embed(g, rf__constant(g, table, 2, (int64_t[]){spec->clip + 1, H}), rows, 2 * spec->clip + 1);
}

static rf_status even(const rf_config *c, rf_error *why)
{
    if (c->sandwich_width % 2 == 0) return RF_OK;
    return rf_fail(why, RF_EDATA, "config.json: sandwich_width: expected an even number, got %lld",
                   (long long)c->sandwich_width);
}

const rf_position rf__position_sandwich = {
    .name = "sandwich",
    .equation = "score(m,n) = <q_m, k_n> / sqrt D + H (sum_i cos((m - n) omega_i) - d/2) / (8 (h+1))",
    .source = "Chi et al. 2023 (Sandwich)",
    .flags = RF_POSITION_SHIFT | RF_POSITION_EXTRAPOLATES | RF_POSITION_SYMMETRIC | RF_POSITION_EXTENSION,
    .check = even,
    .relate = relate,
};
