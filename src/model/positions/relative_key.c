/* relative_key.c — a learned vector for each offset, multiplied with queries, or with queries and keys.
 *                                           Shaw et al. 2018; Huang et al. 2020; BERT and RoBERTa of transformers 4
 *     relative_key         score(m,n) = <q_m, k_n + a_r> / sqrt D                            r = m - n
 *     relative_key_query   score(m,n) = (<q_m, k_n + a_r> + <k_n, a_r>) / sqrt D
 *
 * Each layer has a table a [2P-1, D] for all heads; offset r has row r + P - 1, and no text is longer than the model.
 * P is the max_position_embeddings of the file, which in RoBERTa counts rows that belong to no token. */
#include "model/position.h"
#include "store/family.h"

static int64_t positions(const rf_config *c) { return c->max_position_embeddings + rf__config_first_position(c); }

static int64_t offsets(const rf_config *c, char letter)
{
    (void)letter;
    return 2 * positions(c) - 1;
}

/* The row of r = n - m. */
static int64_t row(const rf_config *c, int64_t r) { return positions(c) - 1 - r; }

static void make(rf_graph *g, const rf_layer_context *at, int64_t clip, rf_tensor *table[])
{
    const int32_t *rows = rf__relative_rows(g, at, clip, row);
    table[0] = rows ? rf__rows(g, at->weight[0], rows, 2 * clip + 1) : &g->nil.t;
}

static rf_tensor *table_of(rf_graph *g, const rf_layer_context *at, rf_attention_spec *spec)
{
    const int64_t P = at->config->max_position_embeddings;
    rf_tensor *table = &g->nil.t;
    spec->clip = rf__relative_reach(g, at);
    if (spec->clip >= P)
        rf__stop(g, RF_ERANGE, "position of token %lld: expected at least 0 and less than %lld after the first token "
                 "(max_position_embeddings), got %lld", (long long)P, (long long)P, (long long)P);
    if (!g->error.code) rf__relative_tables(g, at, spec->clip, P - 1, make, &table, 1);
    return table;
}

static void relate_queries(rf_graph *g, const rf_layer_context *at, rf_tensor *qkv, rf_attention_spec *spec)
{
    (void)qkv;
    spec->relative_query = table_of(g, at, spec);
}

static void relate_both(rf_graph *g, const rf_layer_context *at, rf_tensor *qkv, rf_attention_spec *spec)
{
    (void)qkv;
    spec->relative_query = spec->relative_key = table_of(g, at, spec);
}

static const rf_param_row rows[] = {
    {"attention.self.distance_embedding.weight", "RD", RF_INIT_NORMAL, false, 0, NULL}, {0}};

const rf_position rf__position_relative_key = {
    .name = "relative_key",
    .equation = "score(m,n) = <q_m, k_n + a_r> / sqrt D,  r = m - n",
    .source = "Shaw et al. 2018 (BERT of transformers 4)",
    .flags = RF_POSITION_SHIFT,
    .layer = rows,
    .extent = offsets,
    .relate = relate_queries,
};

const rf_position rf__position_relative_key_query = {
    .name = "relative_key_query",
    .equation = "score(m,n) = (<q_m, k_n + a_r> + <k_n, a_r>) / sqrt D,  r = m - n",
    .source = "Huang et al. 2020 (BERT of transformers 4)",
    .flags = RF_POSITION_SHIFT,
    .layer = rows,
    .extent = offsets,
    .relate = relate_both,
};
