/* front.c — order seen by a layer in front of the encoder.                               Su 2021 (kexue.fm/archives/8130)
 *
 *     recurrent    h_n = x_n + y_n,   y_n = tanh(W x_n + b + U y_{n-1}),   y_{-1} = 0
 *     convolution  h_n = x_n + sum_j W_j x_{n+j-r} + b,   zeros outside the text          Islam et al. 2020: padding leaks
 *                                                                                         where a text begins and ends
 * r is half of the window, or, in a causal model, all of it: its last token is n itself.
 * Both go by the order of tokens; positions that the caller gives are not looked at. */
#include "model/position.h"

static rf_tensor *recur(rf_graph *g, const rf_place *at, rf_tensor *words)
{
    rf_tensor *z = rf_linear(g, words, at->weight[0], at->weight[1], RF_ACT_NONE);
    return rf_add(g, words, rf_recur(g, z, at->weight[2], at->start, at->B));
}

static rf_tensor *convolve(rf_graph *g, const rf_place *at, rf_tensor *words)
{
    const int64_t others = at->config->conv_kernel_size - 1, after = at->config->is_decoder ? 0 : others / 2;
    rf_tensor *window = rf_unfold(g, words, others - after, after, at->start, at->B);
    return rf_add(g, words, rf_linear(g, window, at->weight[0], at->weight[1], RF_ACT_NONE));
}

static rf_status odd(const rf_config *c, rf_error *why)
{
    if (c->conv_kernel_size % 2) return RF_OK;
    return rf_fail(why, RF_EDATA, "config.json: conv_kernel_size is %lld, a window around a token has an odd number",
                   (long long)c->conv_kernel_size);
}

static int64_t window(const rf_config *c, char letter)
{
    (void)letter;
    return c->embedding_size * c->conv_kernel_size;
}

static void recurrent_cost(const rf_config *c, int64_t T, double *flops, double *bytes)
{
    (void)T;
    const double E = (double)c->embedding_size;
    *flops = 4 * E * E;
    *bytes = 4 * E * E + 24 * E;                              /* U once for each token */
}

static void convolution_cost(const rf_config *c, int64_t T, double *flops, double *bytes)
{
    (void)T;
    const double E = (double)c->embedding_size, k = (double)c->conv_kernel_size;
    *flops = 2 * k * E * E;
    *bytes = 8 * k * E + 16 * E;
}

static const rf_row recurrent[] = {
    {"roformer.embeddings.recurrent.input.weight", "EE", RF_INIT_NORMAL, true, 0},
    {"roformer.embeddings.recurrent.bias", "E", RF_INIT_ZEROS, false, 0},
    {"roformer.embeddings.recurrent.state.weight", "EE", RF_INIT_NORMAL, true, 0},
    {0},
};
static const rf_row convolution[] = {
    {"roformer.embeddings.convolution.weight", "EW", RF_INIT_NORMAL, true, 0},
    {"roformer.embeddings.convolution.bias", "E", RF_INIT_ZEROS, false, 0},
    {0},
};

const rf_position rf__position_recurrent = {
    .name = "recurrent",
    .equation = "h_n = x_n + y_n,  y_n = tanh(W x_n + b + U y_{n-1})",
    .source = "Su 2021, kexue.fm/archives/8130",
    .flags = RF_POSITION_SHIFT | RF_POSITION_EXTRAPOLATES,
    .embedding = recurrent,
    .embed = recur,
    .cost = recurrent_cost,
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
    .cost = convolution_cost,
};
