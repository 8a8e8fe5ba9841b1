/* shen.c: queries are normalized over features, keys over positions.                                  Shen et al. 2021
 *
 *     phi(q)_i   = e^(q_i) / sum_j e^(q_j)
 *     psi(k_n)_i = e^(k_n,i) / sum_m e^(k_m,i)          over all positions m of the sequence
 *
 * In a causal model there is no "all positions": psi(k) = e^k. */
#include "kernel/attention/linear/feature_maps.h"

static void query(const rfk__mapping *m, float *u, const float *x)
{
    (void)x;
    m->k->softmax(u, u, m->features);
}

static float query_back(const rfk__mapping *m, float *dy, const float *y)
{
    m->k->softmax_back(dy, dy, y, m->features);
    return 0;
}

static void key(const rfk__mapping *m, float *u, const float *x)
{
    (void)x;
    const float *top = m->column, *sum = top + m->features;
    if (!m->column) {
        rfk__key_powers(m, u, 0);
        return;
    }
    for (int64_t i = 0; i < m->features; i++) u[i] -= top[i];
    m->k->exp(u, u, 0, 0, m->features);
    for (int64_t i = 0; i < m->features; i++) u[i] /= sum[i];
}

static float key_back(const rfk__mapping *m, float *dy, const float *y)
{
    if (!m->column) {
        rfk__key_powers_back(m, dy, y);
        return 0;
    }
    const float *inside = m->column + 2 * m->features;
    for (int64_t i = 0; i < m->features; i++) dy[i] = y[i] * (dy[i] - inside[i]);
    return 0;
}

const rfk__feature_map rfk__map_shen = {
    .name = "shen",
    .equation = "phi(q) = softmax over features, psi(k) = softmax over positions (causal: e^k)",
    .source = "Shen et al. 2021",
    .grows = true,
    .columns = true,
    .query = query,
    .key = key,
    .query_back = query_back,
    .key_back = key_back,
};
