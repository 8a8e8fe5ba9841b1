/* elu.c: the map of linear transformers.                                                   Katharopoulos et al. 2020
 *
 *     phi(x) = psi(x) = elu(x) + 1 = x + 1 for x > 0, e^x elsewhere */
#include "kernel/attention/linear/feature_maps.h"

/* e^min(x, 0) + max(x, 0) */
static void features(const rfk__mapping *m, float *u, const float *x)
{
    for (int64_t i = 0; i < m->features; i++) u[i] = u[i] < 0 ? u[i] : 0;
    m->k->exp(u, u, 0, 0, m->features);
    for (int64_t i = 0; i < m->features; i++) u[i] += x[i] > 0 ? x[i] : 0;
}

static float back(const rfk__mapping *m, float *dy, const float *y)
{
    for (int64_t i = 0; i < m->features; i++) dy[i] *= y[i] < 1 ? y[i] : 1;
    return 0;
}

const rfk__feature_map rfk__map_elu = {
    .name = "elu",
    .equation = "phi(x) = psi(x) = elu(x) + 1",
    .source = "Katharopoulos et al. 2020",
    .query = features,
    .key = features,
    .query_back = back,
    .key_back = back,
};
