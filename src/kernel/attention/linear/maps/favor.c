/* favor.c: positive random features, an estimate of softmax attention (FAVOR+).              Choromanski et al. 2021
 *
 *     phi(q) = e^(W x - |x|^2 / 2 - max_i (W x)_i) + epsilon,     x = q / D^(1/4)
 *     psi(k) = e^(W x - |x|^2 / 2 - M) + epsilon,                 x = k / D^(1/4), M = max (W x)_i of any key (causal:
 *                                                                 of the keys so far)
 *
 * W [features, D] as rfk__random_features makes it; M and the maximum of a query are constants to the gradient, as in
 * performer-pytorch. */
#include "kernel/attention/linear/feature_maps.h"

static float half_square(const rfk__mapping *m, const float *x)
{
    return (float)(m->k->sumsq(x, m->width) / 2);
}

static void query(const rfk__mapping *m, float *u, const float *x) { rfk__query_powers(m, u, half_square(m, x)); }
static void key(const rfk__mapping *m, float *u, const float *x) { rfk__key_powers(m, u, half_square(m, x)); }

static float query_back(const rfk__mapping *m, float *dy, const float *y)
{
    return -rfk__query_powers_back(m, dy, y);
}

static float key_back(const rfk__mapping *m, float *dy, const float *y) { return -rfk__key_powers_back(m, dy, y); }

const rfk__feature_map rfk__map_favor = {
    .name = "favor",
    .equation = "phi(x) = psi(x) = e^(W x - |x|^2 / 2 - max) + epsilon, x = q / D^(1/4) or k / D^(1/4)",
    .source = "Choromanski et al. 2021 (FAVOR+)",
    .projects = true,
    .grows = true,
    .quarter = true,
    .epsilon = 1e-4,
    .query = query,
    .key = key,
    .query_back = query_back,
    .key_back = key_back,
};
