/* t5.c — a learned number for each bucket of offsets and head, one table for all layers.             Raffel et al. 2020
 *
 *     score(m,n) = <q_m, k_n> + b[bucket(n - m), h]              without 1 / sqrt D                                  */
#include "model/position.h"

static void relate(rf_graph *g, const rf_layer_context *at, rf_tensor *qkv, rf_attention_spec *spec)
{
    (void)qkv;
    spec->scale = 1;
    rf__relative_bucket_bias(g, at, at->weight[0], spec);
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
    .extent = rf__relative_buckets,
    .check = rf__relative_bucket_check,
    .relate = relate,
};
