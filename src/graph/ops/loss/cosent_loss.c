/* cosent_loss.c — ranks similarities in the order of their scores (CoSENT: Su 2022).
 *
 *     loss = weight log(1 + sum over t_i < t_j of exp(scale (z_i - z_j)))
 *     dz_i = weight scale (sum over t_i < t_j of p_ij - sum over t_j < t_i of p_ji)
 *     p_ij = exp(scale (z_i - z_j)) / (1 + sum)
 *
 * Only the order of the scores matters. */
#include <math.h>

#include "graph/graph.h"

struct saved { rf_loss_saved loss; const float *target; double scale; };

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

static double value(const rf_node *n)
{
    const struct saved *s = n->saved;
    const float *z = n->in[0]->f32, *target = s->target;
    const int64_t size = rf__size(n->in[0]);
    const double scale = s->scale, all = log_sum(z, target, size, scale);
    for (int64_t i = 0; i < size && s->loss.dz; i++) {
        double slope = 0;
        for (int64_t j = 0; j < size; j++) {
            const double away = scale * ((double)z[i] - (double)z[j]);
            if (target[i] < target[j]) slope += exp(away - all);
            else if (target[j] < target[i]) slope -= exp(-away - all);
        }
        s->loss.dz[i] = (float)(s->loss.weight * scale * slope);
    }
    return all;
}

void rf__cosent_loss_run(rf_graph *g, rf_node *n) { rf__loss_run(g, n, value); }
void rf__cosent_loss_back(rf_graph *g, rf_node *n) { rf__loss_back(g, n); }

rf_tensor *rf__cosent_loss(rf_graph *g, rf_tensor *z, const float target[], double scale, double weight, double *sum)
{
    RF_EXPECT(g, "cosent_loss", z, 2);
    const int64_t n = rf__size(z);
    RF_NEED(g, target || !n, RF_EARG, "cosent_loss: expected scores for %lld similarities, got NULL", (long long)n);
    struct saved s = {{.weight = weight}, target, scale};
    return rf__loss_call(g, RF_OP(cosent_loss), z, &s, sizeof s, sum, NULL);
}
