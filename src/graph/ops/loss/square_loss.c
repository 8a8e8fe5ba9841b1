/* square_loss.c — squared error.
 *
 *     loss = weight sum_i (z_i - t_i)^2
 *     dz_i = 2 weight (z_i - t_i) */
#include "graph/graph.h"

struct saved { rf_loss_saved loss; const float *target; };

static double value(const rf_node *n)
{
    const struct saved *s = n->saved;
    const int64_t size = rf__size(n->in[0]);
    double sum = 0;
    for (int64_t i = 0; i < size; i++) {
        const double away = (double)n->in[0]->f32[i] - (double)s->target[i];
        sum += away * away;
        if (s->loss.dz) s->loss.dz[i] = (float)(2 * s->loss.weight * away);
    }
    return sum;
}

void rf__square_loss_run(rf_graph *g, rf_node *n) { rf__loss_run(g, n, value); }
void rf__square_loss_back(rf_graph *g, rf_node *n) { rf__loss_back(g, n); }

rf_tensor *rf__square_loss(rf_graph *g, rf_tensor *z, const float target[], double weight, double *sum)
{
    RF_EXPECT(g, "square_loss", z, 2);
    const int64_t n = rf__size(z);
    RF_NEED(g, target || !n, RF_EARG, "square_loss: expected targets for %lld values, got NULL", (long long)n);
    struct saved s = {{.weight = weight}, target};
    return rf__loss_call(g, RF_OP(square_loss), z, &s, sizeof s, sum, NULL);
}
