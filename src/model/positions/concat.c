/* concat.c — concatenates the position with the word instead of adding it.
 *
 *     h_m = W [x_m; p_m] + b = W_x x_m + W_p p_m + b      p_m [K] as in sinusoidal.c, K = concat_width
 *
 * The two do not share columns; W decides how they are combined. Addition is the case W = [I I]. W_x is initialized as
 * the identity and W_p small, so that words dominate at first. */
#include "model/position.h"

static int64_t columns(const rf_config *c) { return c->concat_width ? c->concat_width : c->embedding_size; }

static rf_tensor *embed(rf_graph *g, const rf_layer_context *at, rf_tensor *words)
{
    if (g->error.code || !rf__positions_below(g, at, 1 << 24, "16777216 at most")) return &g->nil.t;
    rf_tensor *p = rf__positions_rows(g, at, columns(at->config), rf__sinusoidal_row);
    return rf__add(g, rf__linear(g, words, at->weight[0], at->weight[1], RF_ACT_NONE),
                   rf__linear(g, p, at->weight[2], NULL, RF_ACT_NONE));
}

static int64_t extent(const rf_config *c, char letter)
{
    (void)letter;
    return columns(c);
}

static void identity(const rf_config *c, const rf_param *p, float *to)
{
    const int64_t E = c->embedding_size;
    memset(to, 0, p->count * sizeof *to);
    for (int64_t i = 0; i < E; i++) to[i * E + i] = 1;
}

static rf_status even(const rf_config *c, rf_error *why)
{
    if (columns(c) % 2 == 0) return RF_OK;
    return rf_fail(why, RF_EDATA,
                   "config.json: concat_width: expected an even number, got %lld (0: embedding_size, %lld)",
                   (long long)c->concat_width, (long long)c->embedding_size);
}

static const rf_param_row rows[] = {
    {"embeddings.concat.word.weight", "EE", RF_INIT_MADE, true, 0, NULL},
    {"embeddings.concat.bias", "E", RF_INIT_ZEROS, false, 0, NULL},
    {"embeddings.concat.position.weight", "EY", RF_INIT_NORMAL, true, 0, NULL},
    {0},
};

const rf_position rf__position_concat = {
    .name = "concat",
    .equation = "h_m = W [x_m; p_m] + b,  p_m sines and cosines beside the word",
    .source = "concatenation in the place of addition",
    .flags = RF_POSITION_EXTRAPOLATES | RF_POSITION_VECTOR,
    .embedding = rows,
    .extent = extent,
    .fill = identity,
    .check = even,
    .embed = embed,
};
