/* complex_order.c — each word is a wave over positions.                                        Wang et al. 2020, Eq. 7
 *
 *     h_m[2t] + i h_m[2t+1] = (x[2t] + i x[2t+1]) exp(i omega_{w,t} m),       omega_{w,t} = b^(-2t/E) (1 + F[w,t])
 *
 * Amplitude and phase of word w in plane t are those of its embedding, read as a complex number.  Its frequency is
 * learned as a relative change of the sinusoidal one. */
#include "model/position.h"

#include <math.h>

static rf_tensor *embed(rf_graph *g, const rf_layer_context *at, rf_tensor *words)
{
    const int64_t planes = at->config->embedding_size / 2;
    double *theta = rf__push(g, (size_t)planes, sizeof *theta);
    for (int64_t t = 0; t < planes && theta; t++) theta[t] = rf__sinusoidal_frequency(at->config, t, 2 * planes);
    const rf_rotate_learned_spec spec = {1, 1, 1, theta, at->position};
    return rf__rotate_learned(g, words, rf__embed(g, at->weight[0], at->id, at->N), &spec);
}

static rf_status even(const rf_config *c, rf_error *why)
{
    if (c->embedding_size % 2 == 0) return RF_OK;
    return rf_fail(why, RF_EDATA, "config.json: embedding_size: expected an even number for complex numbers, got %lld",
                   (long long)c->embedding_size);
}

static int64_t planes_of(const rf_config *c, char letter)
{
    (void)letter;
    return c->embedding_size / 2;
}

static const rf_param_row rows[] = {
    {"embeddings.frequency_embeddings.weight", "VR", RF_INIT_ZEROS, false, 0, NULL},
    {0},
};

const rf_position rf__position_complex_order = {
    .name = "complex_order",
    .equation = "h_m = x e^(i m omega_w) on pairs,  omega_w[t] = b^(-2t/E) (1 + F[w,t])",
    .source = "Wang et al. 2020",
    .flags = RF_POSITION_EXTRAPOLATES,
    .embedding = rows,
    .extent = planes_of,
    .check = even,
    .embed = embed,
};
