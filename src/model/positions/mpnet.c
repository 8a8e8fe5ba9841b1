/* mpnet.c — learned vectors for positions and a learned number for each bucket of offsets, both once for all layers.
 *                                                                                                  Song et al. 2020
 *
 *     h_m        = x_m + P[m]                                    as BERT (absolute.c)
 *     score(m,n) = <q_m, k_n> / sqrt D + b[bucket(n - m), h]     as T5 (t5.c), whose scores are not scaled */
#include "model/position.h"

enum { VECTORS, BIAS };                         /* rows of `rows` */

static void relate(rf_graph *g, const rf_layer_context *at, rf_tensor *qkv, rf_attention_spec *spec)
{
    (void)qkv;
    rf__relative_bucket_bias(g, at, at->shared[BIAS], spec);
}

static const rf_param_row rows[] = {
    [VECTORS] = {"embeddings.position_embeddings.weight", "PE", RF_INIT_NORMAL, true, 0, NULL},
    [BIAS] = {"encoder.relative_attention_bias.weight", "BH", RF_INIT_NORMAL, false, 0, NULL},
    {0},
};

const rf_position rf__position_mpnet = {
    .name = "mpnet",
    .equation = "h_m = x_m + P[m];  score(m,n) = <q_m, k_n>/sqrt D + b[bucket(n - m), h]",
    .source = "Song et al. 2020 (MPNet)",
    .flags = RF_POSITION_VECTOR,
    .embedding = rows,
    .extent = rf__relative_buckets,
    .check = rf__relative_bucket_check,
    .embed = rf__absolute_embed,
    .relate = relate,
};
