/* front.c — order from a layer before the encoder.                             Su 2021 (kexue.fm/archives/8130)
 *
 *     recurrent    h_n = x_n + y_n,   y_n = tanh(W x_n + b + U y_{n-1}),   y_{-1} = 0
 *     convolution  h_n = x_n + sum_j W_j x_{n+j-r} + b,   zeros outside the text       Islam et al. 2020: padding leaks
 *                                                                                         where a text begins and ends
 * r is half of the window, or, in a causal model, all of it: its last token is n itself. Both use the order of tokens;
 * positions given by the caller are ignored. */
#include "model/position.h"

/* Continues with the state of earlier tokens: U y is added to the first token's W x + b, and the last y is the next
 * state. */
static rf_tensor *recur_on(rf_graph *g, const rf_layer_context *at, rf_tensor *z)
{
    if (g->error.code) return &g->nil.t;
    const int64_t E = z->dim[1];
    const rf_tensor *u = at->weight[2];
    for (int64_t b = 0; b < at->B; b++) {
        const float *before = rf__cache_state(at->cache, b, at->layer, RF_STATE_POSITION);
        for (int64_t i = 0; before && i < E; i++)
            z->f32[at->start[b] * E + i] += g->k->dot(u->f32 + i * E, before, E);
    }
    rf_tensor *y = rf__recur(g, z, at->weight[2], at->start, at->B);
    for (int64_t b = 0; b < at->B; b++) {
        float *after = rf__cache_next_state(g, at->cache, b, at->layer, RF_STATE_POSITION);
        if (!after) return &g->nil.t;
        memcpy(after, y->f32 + (at->start[b + 1] - 1) * E, (size_t)E * sizeof *after);
    }
    return y;
}

static rf_tensor *recur(rf_graph *g, const rf_layer_context *at, rf_tensor *words)
{
    rf_tensor *z = rf__linear(g, words, at->weight[0], at->weight[1], RF_ACT_NONE);
    return rf__add(g, words, at->cache ? recur_on(g, at, z) : rf__recur(g, z, at->weight[2], at->start, at->B));
}

/* Windows that begin in the `others` earlier tokens, which are stored: each sequence is put after them, and its windows
 * are computed. */
static rf_tensor *unfold_on(rf_graph *g, const rf_layer_context *at, rf_tensor *words, int64_t others)
{
    if (g->error.code) return &g->nil.t;
    const int64_t E = words->dim[1], kept = others * E;
    rf_tensor *all = rf__new(g, 2, (int64_t[]){at->N + at->B * others, E});
    int32_t *start = rf__push(g, (size_t)at->B + 1, sizeof *start), *row = rf__push(g, (size_t)at->N, sizeof *row);
    if (g->error.code) return &g->nil.t;
    for (int64_t b = 0; b <= at->B; b++) start[b] = at->start[b] + (int32_t)(b * others);
    for (int64_t b = 0; b < at->B; b++) {
        float *to = all->f32 + start[b] * E;
        const int64_t T = at->start[b + 1] - at->start[b];
        const float *before = rf__cache_state(at->cache, b, at->layer, RF_STATE_POSITION);
        float *after = rf__cache_next_state(g, at->cache, b, at->layer, RF_STATE_POSITION);
        if (!after) return &g->nil.t;
        if (before) memcpy(to, before, (size_t)kept * sizeof *to);
        else memset(to, 0, (size_t)kept * sizeof *to);
        memcpy(to + kept, words->f32 + at->start[b] * E, (size_t)(T * E) * sizeof *to);
        memcpy(after, to + T * E, (size_t)kept * sizeof *to);
        for (int64_t t = 0; t < T; t++) row[at->start[b] + t] = start[b] + (int32_t)(others + t);
    }
    return rf__rows(g, rf__unfold(g, all, others, 0, start, at->B), row, at->N);
}

static rf_tensor *convolve(rf_graph *g, const rf_layer_context *at, rf_tensor *words)
{
    const int64_t others = at->config->conv_kernel_size - 1, after = at->config->is_decoder ? 0 : others / 2;
    rf_tensor *window = at->cache && others ? unfold_on(g, at, words, others)
                                            : rf__unfold(g, words, others - after, after, at->start, at->B);
    return rf__add(g, words, rf__linear(g, window, at->weight[0], at->weight[1], RF_ACT_NONE));
}

static rf_status odd(const rf_config *c, rf_error *why)
{
    if (c->conv_kernel_size % 2) return RF_OK;
    return rf_fail(why, RF_EDATA, "config.json: conv_kernel_size: expected an odd number, got %lld",
                   (long long)c->conv_kernel_size);
}

static int64_t window(const rf_config *c, char letter)
{
    (void)letter;
    return c->embedding_size * c->conv_kernel_size;
}

/* What later tokens need: the last y; the words of a window except its last. */
static int64_t recurrent_state(const rf_config *c) { return c->embedding_size; }
static int64_t convolution_state(const rf_config *c) { return (c->conv_kernel_size - 1) * c->embedding_size; }

static const rf_param_row recurrent[] = {
    {"embeddings.recurrent.input.weight", "EE", RF_INIT_NORMAL, true, 0, NULL},
    {"embeddings.recurrent.bias", "E", RF_INIT_ZEROS, false, 0, NULL},
    {"embeddings.recurrent.state.weight", "EE", RF_INIT_NORMAL, true, 0, NULL},
    {0},
};
static const rf_param_row convolution[] = {
    {"embeddings.convolution.weight", "EW", RF_INIT_NORMAL, true, 0, NULL},
    {"embeddings.convolution.bias", "E", RF_INIT_ZEROS, false, 0, NULL},
    {0},
};

const rf_position rf__position_recurrent = {
    .name = "recurrent",
    .equation = "h_n = x_n + y_n,  y_n = tanh(W x_n + b + U y_{n-1})",
    .source = "Su 2021, kexue.fm/archives/8130",
    .flags = RF_POSITION_SHIFT | RF_POSITION_EXTRAPOLATES,
    .embedding = recurrent,
    .embed = recur,
    .state = recurrent_state,
};

const rf_position rf__position_convolution = {
    .name = "convolution",
    .equation = "h_n = x_n + sum_j W_j x_{n+j-r} + b,  zeros outside the text",
    .source = "Su 2021, kexue.fm/archives/8130; Islam et al. 2020",
    .flags = RF_POSITION_SHIFT | RF_POSITION_EXTRAPOLATES,
    .embedding = convolution,
    .extent = window,
    .check = odd,
    .embed = convolve,
    .state = convolution_state,
};
