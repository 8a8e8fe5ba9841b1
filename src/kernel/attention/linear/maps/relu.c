/* relu.c: generalized attention with random features.                                       Choromanski et al. 2021
 *
 *     phi(x) = psi(x) = max(W x, 0) + epsilon,     x = q / D^(1/4) or k / D^(1/4) */
#include "kernel/attention/linear/feature_maps.h"

static void features(const rfk__mapping *m, float *u, const float *x)
{
    (void)x;
    for (int64_t i = 0; i < m->features; i++) u[i] = (u[i] > 0 ? u[i] : 0) + m->epsilon;
}

static float back(const rfk__mapping *m, float *dy, const float *y)
{
    for (int64_t i = 0; i < m->features; i++) dy[i] = y[i] > m->epsilon ? dy[i] : 0;
    return 0;
}

const rfk__feature_map rfk__map_relu = {
    .name = "relu",
    .equation = "phi(x) = psi(x) = max(W x, 0) + epsilon, x = q / D^(1/4) or k / D^(1/4)",
    .source = "Choromanski et al. 2021 (generalized attention)",
    .projects = true,
    .quarter = true,
    .epsilon = 1e-3,
    .query = features,
    .key = features,
    .query_back = back,
    .key_back = back,
};
