/* absolute.c — learned vectors for positions.
 *
 *     absolute      h_m = x_m + P[m]                             Devlin et al. 2019; RoFormer, Eq. 3
 *     (XLM-RoBERTa:  P[m + pad_token_id + 1])
 *     bart          h_m = x_m + P[m + 2]                         Lewis et al. 2020: fairseq's first rows stay unused
 *     product       h_m = x_m (1 + P[m])                         element by element; Su 2021 (kexue.fm/archives/8130)
 *     hierarchical  h_m = x_m + a u_i + (1 - a) u_j              m = i P + j;  Su 2020 (kexue.fm/archives/7947)
 *                   u_i = (p_i - a p_0) / (1 - a)                P^2 positions from P vectors; the first P are p_j
 *     axial         h_m = x_m + R[m div w] + S[m mod w]          Kitaev et al. 2020 (Reformer), as sums
 *
 * hierarchical as computed: a u_i + (1 - a) u_j = p_j + a/(1 - a) (p_i - p_0). */
#include "model/position.h"
#include "store/family.h"

#include <math.h>

/* XLM-RoBERTa's rows: the first token has row `first`, and padding tokens, which do not count, have row `first` - 1.
 * Positions that the caller chose are counted from `first`. NULL: the graph has stopped. */
static int32_t *rows_after_padding(rf_graph *g, const rf_layer_context *at, int64_t first)
{
    int32_t *row = rf__push(g, (size_t)at->N, sizeof *row);
    for (int64_t s = 0; row && s < at->B; s++) {
        int32_t next = (int32_t)first;
        for (int32_t n = at->start[s]; n < at->start[s + 1]; n++)
            row[n] = at->chosen               ? at->position[n] + (int32_t)first
                     : at->id[n] == first - 1 ? (int32_t)first - 1
                                              : next++;
    }
    return row;
}

rf_tensor *rf__absolute_embed(rf_graph *g, const rf_layer_context *at, rf_tensor *words)
{
    if (g->error.code || !rf__positions_below(g, at, at->config->max_position_embeddings, "max_position_embeddings"))
        return &g->nil.t;
    const int64_t first = rf__config_first_position(at->config);
    const int32_t *row = first ? rows_after_padding(g, at, first) : at->position;
    return row ? rf__add(g, words, rf__embed(g, at->weight[0], row, at->N)) : &g->nil.t;
}

enum { BEFORE_BART = 2 };

static rf_tensor *embed_bart(rf_graph *g, const rf_layer_context *at, rf_tensor *words)
{
    int32_t *row = rf__push(g, (size_t)at->N, sizeof *row);
    if (!row || !rf__positions_below(g, at, at->config->max_position_embeddings, "max_position_embeddings"))
        return &g->nil.t;
    for (int64_t n = 0; n < at->N; n++) row[n] = at->position[n] + BEFORE_BART;
    return rf__add(g, words, rf__embed(g, at->weight[0], row, at->N));
}

static int64_t rows_of_bart(const rf_config *c, char letter)
{
    (void)letter;
    return c->max_position_embeddings + BEFORE_BART;
}

static rf_tensor *multiply(rf_graph *g, const rf_layer_context *at, rf_tensor *words)
{
    if (g->error.code || !rf__positions_below(g, at, at->config->max_position_embeddings, "max_position_embeddings"))
        return &g->nil.t;
    return rf__add(g, words, rf__mul(g, words, rf__embed(g, at->weight[0], at->position, at->N)));
}

/* Two lists of numbers: m div n, m mod n. false: the graph has stopped. */
static bool split(rf_graph *g, const rf_layer_context *at, int64_t n, int32_t **high, int32_t **low)
{
    *high = rf__push(g, (size_t)at->N, sizeof **high);
    *low = rf__push(g, (size_t)at->N, sizeof **low);
    for (int64_t i = 0; i < at->N && !g->error.code; i++) {
        (*high)[i] = (int32_t)(at->position[i] / n);
        (*low)[i] = (int32_t)(at->position[i] % n);
    }
    return !g->error.code;
}

static rf_tensor *embed_levels(rf_graph *g, const rf_layer_context *at, rf_tensor *words)
{
    const int64_t n = at->config->max_position_embeddings;
    const double a = at->config->hierarchical_alpha;
    int32_t *high, *low, *zero;
    if (g->error.code || !rf__positions_below(g, at, n * n, "the square of max_position_embeddings") ||
        !split(g, at, n, &high, &low) || !(zero = rf__push(g, (size_t)at->N, sizeof *zero)))
        return &g->nil.t;
    memset(zero, 0, (size_t)at->N * sizeof *zero);
    const float c[] = {1, (float)(a / (1 - a)), (float)(-a / (1 - a))};
    return rf__add(g, words, rf__mix(g, at->weight[0], 3, c, (const int32_t *const[]){low, high, zero}, at->N));
}

static rf_tensor *embed_axes(rf_graph *g, const rf_layer_context *at, rf_tensor *words)
{
    const int64_t width = rf__position_grid(at->config), rows = at->weight[0]->dim[0];
    int32_t *high, *low;
    if (g->error.code || !rf__positions_below(g, at, rows * width, "rows and columns of the grid") ||
        !split(g, at, width, &high, &low))
        return &g->nil.t;
    words = rf__add(g, words, rf__embed(g, at->weight[0], high, at->N));
    return rf__add(g, words, rf__embed(g, at->weight[1], low, at->N));
}

/* As many rows as max_position_embeddings requires. */
static int64_t axes(const rf_config *c, char letter)
{
    const int64_t width = rf__position_grid(c);
    return letter == 'X' ? width : (c->max_position_embeddings + width - 1) / width;
}

#define TABLE(letters, name) {"embeddings." name ".weight", letters, RF_INIT_NORMAL, true, 0, NULL}
static const rf_param_row table[] = {TABLE("PE", "position_embeddings"), {0}};
static const rf_param_row table_of_bart[] = {{"embed_positions.weight", "XE", RF_INIT_NORMAL, true, 0, NULL}, {0}};
static const rf_param_row grid[] = {TABLE("YE", "row_embeddings"), TABLE("XE", "column_embeddings"), {0}};

const rf_position rf__position_absolute = {
    .name = "absolute",
    .equation = "h_m = x_m + P[m],  P learned",
    .source = "Devlin et al. 2019 (BERT)",
    .flags = RF_POSITION_VECTOR,
    .embedding = table,
    .embed = rf__absolute_embed,
};

const rf_position rf__position_bart = {
    .name = "bart",
    .equation = "h_m = x_m + P[m + 2],  P learned",
    .source = "Lewis et al. 2020 (BART)",
    .flags = RF_POSITION_VECTOR,
    .embedding = table_of_bart,
    .extent = rows_of_bart,
    .embed = embed_bart,
};

const rf_position rf__position_product = {
    .name = "product",
    .equation = "h_m = x_m (1 + P[m]),  element by element",
    .source = "Su 2021, kexue.fm/archives/8130",
    .embedding = table,
    .embed = multiply,
};

const rf_position rf__position_hierarchical = {
    .name = "hierarchical",
    .equation = "h_m = x_m + p_j + a/(1-a) (p_i - p_0),  m = i P + j",
    .source = "Su 2020, kexue.fm/archives/7947",
    .flags = RF_POSITION_EXTRAPOLATES | RF_POSITION_VECTOR,
    .embedding = table,
    .embed = embed_levels,
};

const rf_position rf__position_axial = {
    .name = "axial",
    .equation = "h_m = x_m + R[m div w] + S[m mod w]",
    .source = "Kitaev et al. 2020 (Reformer)",
    .flags = RF_POSITION_VECTOR,
    .embedding = grid,
    .extent = axes,
    .embed = embed_axes,
};
