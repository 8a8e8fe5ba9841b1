/* binary_loss.c — binary cross-entropy of each logit.
 *
 *     loss = weight sum_i ( log(1 + exp z_i) - t_i z_i )         = -t log s(z) - (1 - t) log(1 - s(z)),  s the logistic
 *     dz_i = weight ( s(z_i) - t_i )
 *
 * log(1 + exp z) = max(z, 0) + log(1 + exp -|z|), which does not overflow. */
#include <math.h>

#include "graph/graph.h"

void rf__binary_loss_back(rf_graph *g, rf_node *n) { rf__loss_back(g, n); }

rf_tensor *rf__binary_loss(rf_graph *g, rf_tensor *z, const float target[], double weight, double *sum)
{
    float *dz;
    RF_EXPECT(g, "binary_loss", z, 2);
    const int64_t n = rf__size(z);
    RF_NEED(g, target || !n, RF_EARG, "binary_loss: expected targets for %lld logits, got NULL", (long long)n);
    if (!rf__loss_begin(g, z, &dz)) return &g->nil.t;
    double all = 0;
    for (int64_t i = 0; i < n; i++) {
        const double x = z->f32[i], t = target[i];
        all += fmax(x, 0) + log1p(exp(-fabs(x))) - t * x;
        if (dz) dz[i] = (float)(weight * (1 / (1 + exp(-x)) - t));
    }
    if (sum) *sum += all;
    return rf__loss_end(g, RF_OP(binary_loss), z, dz, weight * all);
}
