/* t5.c — a learned number for each bucket of offsets and head, one table for all layers.             Raffel et al. 2020
 *
 *     score(m,n) = <q_m, k_n> + b[bucket(n - m), h]              without 1 / sqrt D                                  */
#include "model/position.h"

static void relate(rf_graph *g, const rf_layer_context *at, rf_tensor *qkv, rf_attention_spec *spec)
{
    (void)qkv;
    rf__relative_reach(g, at);
    spec->clip = at->config->relative_attention_max_distance;
    spec->scale = 1;
    const int32_t *rows = rf__relative_rows(g, at, spec->clip, rf__relative_bucket);
    if (rows) spec->relative_bias = rf_rows(g, at->shared[0], rows, 2 * spec->clip + 1);
}

static int64_t buckets(const rf_config *c, char letter)
{
    (void)letter;
    return c->relative_attention_num_buckets;
}

static void cost(const rf_config *c, int64_t T, double *flops, double *bytes)
{
    *flops = 2 * (double)(c->num_attention_heads * T * c->num_hidden_layers);
    *bytes = 8 * (double)(c->num_attention_heads * c->num_hidden_layers);
}

static const rf_param_row rows[] = {
    {"encoder.relative_attention_bias.weight", "BH", RF_INIT_NORMAL, false, 0, NULL},
    {0},
};

const rf_position rf__position_t5 = {
    .name = "t5",
    .equation = "score(m,n) = <q_m, k_n> + b[bucket(n - m), h]",
    .source = "Raffel et al. 2020",
    .flags = RF_POSITION_SHIFT | RF_POSITION_EXTRAPOLATES,
    .embedding = rows,
    .extent = buckets,
    .check = rf__relative_bucket_check,
    .relate = relate,
    .cost = cost,
};
