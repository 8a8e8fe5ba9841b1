/* numbers.c — the position as a plain number: obvious encodings, and why they are not used.
 *
 *     index    h_m = x_m + m e            the number itself: unbounded, it dominates the words of a long text
 *     unit     h_m = x_m + m/(L-1) e      from 0 to 1 over a text of L tokens: the size of a step differs between texts
 *     binary   h_m = x_m + p_m            p[m,t] = floor(m / 2^t) mod 2: bounded, the same in each text, not smooth:
 *                                         from 7 to 8 four columns change, from 8 to 9 one
 *
 * e is the first unit vector: a number that is added to every column would be removed by the norm of the embeddings. */
#include "model/position.h"

enum { BITS = 24 };                     /* of positions, which stay exact in float32 */

static void index_row(const rf_config *c, int64_t m, float *row, int64_t E)
{
    (void)c;
    memset(row, 0, (size_t)E * sizeof *row);
    row[0] = (float)m;
}

static void bits_row(const rf_config *c, int64_t m, float *row, int64_t E)
{
    (void)c;
    for (int64_t t = 0; t < E; t++) row[t] = t < BITS && m >> t & 1 ? 1.0f : 0.0f;
}

static rf_tensor *embed_index(rf_graph *g, const rf_layer_context *at, rf_tensor *words)
{
    if (g->error.code || !rf__positions_below(g, at, (int64_t)1 << BITS, "16777216 at most")) return &g->nil.t;
    return rf__add(g, words, rf__positions_rows(g, at, at->config->embedding_size, index_row));
}

static rf_tensor *embed_bits(rf_graph *g, const rf_layer_context *at, rf_tensor *words)
{
    const int64_t E = at->config->embedding_size, bits = rf__min64(E, BITS);
    if (g->error.code || !rf__positions_below(g, at, (int64_t)1 << bits, "embedding_size columns for bits, 24 at most"))
        return &g->nil.t;
    return rf__add(g, words, rf__positions_rows(g, at, E, bits_row));
}

static rf_tensor *embed_unit(rf_graph *g, const rf_layer_context *at, rf_tensor *words)
{
    const int64_t E = at->config->embedding_size;
    float *p = g->error.code ? NULL : rf__push(g, (size_t)(at->N * E), sizeof *p);
    if (!p || !rf__positions_below(g, at, (int64_t)1 << BITS, "16777216 at most")) return &g->nil.t;
    memset(p, 0, (size_t)(at->N * E) * sizeof *p);
    for (int64_t n = 0; n < at->N; n++)
        p[n * E] = at->length[n] > 1 ? (float)((double)at->position[n] / (double)(at->length[n] - 1)) : 0;
    return rf__add(g, words, rf__constant(g, p, 2, (int64_t[]){at->N, E}));
}

const rf_position rf__position_index = {
    .name = "index",
    .equation = "h_m = x_m + m e,  e the first unit vector",
    .source = "what is tried first: the number itself",
    .flags = RF_POSITION_EXTRAPOLATES | RF_POSITION_VECTOR,
    .embed = embed_index,
};

const rf_position rf__position_unit = {
    .name = "unit",
    .equation = "h_m = x_m + m/(L-1) e,  L the text's length, e the first unit vector",
    .source = "the number as a share of the text, in [0,1]",
    .flags = RF_POSITION_EXTRAPOLATES | RF_POSITION_LENGTH | RF_POSITION_VECTOR,
    .embed = embed_unit,
};

const rf_position rf__position_binary = {
    .name = "binary",
    .equation = "h_m = x_m + p_m,  p[m,t] = floor(m / 2^t) mod 2",
    .source = "the number's bits",
    .flags = RF_POSITION_EXTRAPOLATES | RF_POSITION_VECTOR,
    .embed = embed_bits,
};
