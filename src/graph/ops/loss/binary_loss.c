/* binary_loss.c — binary cross-entropy of each logit.
 *
 *     loss = weight sum_i ( log(1 + exp z_i) - t_i z_i )         = -t log s(z) - (1 - t) log(1 - s(z)),  s the logistic
 *     dz_i = weight ( s(z_i) - t_i )
 *
 * log(1 + exp z) = max(z, 0) + log(1 + exp -|z|), which does not overflow. */
#include <math.h>

#include "graph/graph.h"

struct saved { rf_loss_saved loss; const float *target; };

static double value(const rf_node *n)
{
    const struct saved *s = n->saved;
    const int64_t size = rf__size(n->in[0]);
    double sum = 0;
    for (int64_t i = 0; i < size; i++) {
        const double x = n->in[0]->f32[i], t = s->target[i];
        sum += fmax(x, 0) + log1p(exp(-fabs(x))) - t * x;
        if (s->loss.dz) s->loss.dz[i] = (float)(s->loss.weight * (1 / (1 + exp(-x)) - t));
    }
    return sum;
}

void rf__binary_loss_run(rf_graph *g, rf_node *n) { rf__loss_run(g, n, value); }
void rf__binary_loss_back(rf_graph *g, rf_node *n) { rf__loss_back(g, n); }

rf_tensor *rf__binary_loss(rf_graph *g, rf_tensor *z, const float target[], double weight, double *sum)
{
    RF_EXPECT(g, "binary_loss", z, 2);
    const int64_t n = rf__size(z);
    RF_NEED(g, target || !n, RF_EARG, "binary_loss: expected targets for %lld logits, got NULL", (long long)n);
    struct saved s = {{.weight = weight}, target};
    return rf__loss_call(g, RF_OP(binary_loss), z, &s, sizeof s, sum, NULL);
}
