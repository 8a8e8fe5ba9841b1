/* square_loss.c — squared error.
 *
 *     loss = weight sum_i (z_i - t_i)^2
 *     dz_i = 2 weight (z_i - t_i) */
#include "graph/graph.h"

void rf__square_loss_back(rf_graph *g, rf_node *n) { rf__loss_back(g, n); }

rf_tensor *rf__square_loss(rf_graph *g, rf_tensor *z, const float target[], double weight, double *sum)
{
    float *dz;
    RF_EXPECT(g, "square_loss", z, 2);
    const int64_t n = rf__size(z);
    RF_NEED(g, target || !n, RF_EARG, "square_loss: expected targets for %lld values, got NULL", (long long)n);
    if (!rf__loss_begin(g, z, &dz)) return &g->nil.t;
    double all = 0;
    for (int64_t i = 0; i < n; i++) {
        const double away = (double)z->f32[i] - (double)target[i];
        all += away * away;
        if (dz) dz[i] = (float)(2 * weight * away);
    }
    if (sum) *sum += all;
    return rf__loss_end(g, RF_OP(square_loss), z, dz, weight * all);
}
