/* cosent_loss.c — ranks similarities in the order of their scores (CoSENT: Su 2022).
 *
 *     loss = weight log(1 + sum over t_i < t_j of exp(scale (z_i - z_j)))
 *     dz_i = weight scale (sum over t_i < t_j of p_ij - sum over t_j < t_i of p_ji)
 *     p_ij = exp(scale (z_i - z_j)) / (1 + sum)
 *
 * Only the order of the scores matters. */
#include <math.h>

#include "graph/graph.h"

void rf__cosent_loss_back(rf_graph *g, rf_node *n) { rf__loss_back(g, n); }

/* log(1 + sum of exp(scale (z_i - z_j))), without overflow. */
static double log_sum(const float *z, const float *t, int64_t n, double scale)
{
    double top = 0, sum;
    for (int64_t i = 0; i < n; i++)
        for (int64_t j = 0; j < n; j++)
            if (t[i] < t[j]) top = fmax(top, scale * ((double)z[i] - (double)z[j]));
    sum = exp(-top);
    for (int64_t i = 0; i < n; i++)
        for (int64_t j = 0; j < n; j++)
            if (t[i] < t[j]) sum += exp(scale * ((double)z[i] - (double)z[j]) - top);
    return top + log(sum);
}

rf_tensor *rf__cosent_loss(rf_graph *g, rf_tensor *z, const float target[], double scale, double weight, double *sum)
{
    float *dz;
    RF_EXPECT(g, "cosent_loss", z, 2);
    const int64_t n = rf__size(z);
    RF_NEED(g, target || !n, RF_EARG, "cosent_loss: expected scores for %lld similarities, got NULL", (long long)n);
    if (!rf__loss_begin(g, z, &dz)) return &g->nil.t;
    const double all = log_sum(z->f32, target, n, scale);
    for (int64_t i = 0; i < n && dz; i++) {
        double slope = 0;
        for (int64_t j = 0; j < n; j++) {
            const double away = scale * ((double)z->f32[i] - (double)z->f32[j]);
            if (target[i] < target[j]) slope += exp(away - all);
            else if (target[j] < target[i]) slope -= exp(-away - all);
        }
        dz[i] = (float)(weight * scale * slope);
    }
    if (sum) *sum += all;
    return rf__loss_end(g, RF_OP(cosent_loss), z, dz, weight * all);
}
