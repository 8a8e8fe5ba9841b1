/* squared_relu.c: squares of positive numbers.                       So et al. 2021 (Primer), Hua et al. 2022 (GAU)
 *
 *     phi(x) = psi(x) = max(x, 0)^2 + epsilon */
#include <math.h>

#include "kernel/attention/linear/feature_maps.h"

static void features(const rfk__mapping *m, float *u, const float *x)
{
    (void)x;
    for (int64_t i = 0; i < m->features; i++) u[i] = (u[i] > 0 ? u[i] * u[i] : 0) + m->epsilon;
}

static float back(const rfk__mapping *m, float *dy, const float *y)
{
    for (int64_t i = 0; i < m->features; i++) dy[i] *= 2 * sqrtf(y[i] - m->epsilon);
    return 0;
}

const rfk__feature_map rfk__map_squared_relu = {
    .name = "squared_relu",
    .equation = "phi(x) = psi(x) = max(x, 0)^2 + epsilon",
    .source = "So et al. 2021 (Primer)",
    .query = features,
    .key = features,
    .query_back = back,
    .key_back = back,
};
