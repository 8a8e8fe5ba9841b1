/* absolute.c — a learned vector for each position, added to the words.                Devlin et al. 2019; RoFormer, Eq. 3
 *
 *     h_m = x_m + P[m]                      P [max_position_embeddings, E] */
#include "model/position.h"

static rf_tensor *embed(rf_graph *g, const rf_place *at, rf_tensor *words)
{
    if (g->error.code || !rf__positions_below(g, at, at->config->max_position_embeddings, "max_position_embeddings"))
        return &g->nil.t;
    return rf_add(g, words, rf_embed(g, at->weight[0], at->position, at->N));
}

static void cost(const rf_config *c, int64_t T, double *flops, double *bytes)
{
    (void)T;
    *flops = (double)c->embedding_size;
    *bytes = 16 * (double)c->embedding_size;
}

static const rf_row table[] = {{"roformer.embeddings.position_embeddings.weight", "PE", RF_INIT_NORMAL, true, 0}, {0}};

const rf_position rf__position_absolute = {
    .name = "absolute",
    .equation = "h_m = x_m + P[m],  P learned",
    .source = "Devlin et al. 2019 (BERT)",
    .embedding = table,
    .embed = embed,
    .cost = cost,
};
