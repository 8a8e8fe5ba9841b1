/* divergence.c — symmetric KL divergence of two dropout passes over the same text (R-Drop, Liang et al. 2021).
 *
 * The first half of the rows and the second half are the two passes: p = softmax(z_i), q = softmax(z_{n+i}), i < n.
 *
 *     loss   = weight sum_i ( KL(p|q) + KL(q|p) ) = weight sum_i sum_k (p_k - q_k) a_k,       a_k = log p_k - log q_k
 *     dz_i   = weight ( p_k (a_k - KL(p|q)) + p_k - q_k )
 *     dz_n+i = weight ( q_k (-a_k - KL(q|p)) + q_k - p_k )                  rows whose label is below 0 are left out */
#include <math.h>

#include "graph/graph.h"

struct saved { rf_loss_saved loss; const int32_t *label; };

static double log_sum(const float *z, int64_t K)
{
    double top = z[0], sum = 0;
    for (int64_t k = 1; k < K; k++) top = fmax(top, z[k]);
    for (int64_t k = 0; k < K; k++) sum += exp(z[k] - top);
    return top + log(sum);
}

static double one_pair(const float *x, const float *y, int64_t K, double weight, float *dx, float *dy)
{
    const double lx = log_sum(x, K), ly = log_sum(y, K);
    double there = 0, back = 0;                                 /* KL(p|q), KL(q|p) */
    for (int64_t k = 0; k < K; k++) {
        const double lp = x[k] - lx, lq = y[k] - ly;
        there += exp(lp) * (lp - lq);
        back += exp(lq) * (lq - lp);
    }
    for (int64_t k = 0; k < K && dx; k++) {
        const double lp = x[k] - lx, lq = y[k] - ly, p = exp(lp), q = exp(lq);
        dx[k] = (float)(weight * (p * (lp - lq - there) + p - q));
        dy[k] = (float)(weight * (q * (lq - lp - back) + q - p));
    }
    return there + back;
}

static double value(const rf_node *n)
{
    const struct saved *s = n->saved;
    const float *z = n->in[0]->f32;
    const int64_t pairs = n->in[0]->dim[0] / 2, K = n->in[0]->dim[1];
    float *dz = s->loss.dz;
    double sum = 0;
    for (int64_t i = 0; i < pairs; i++) {
        if (s->label && s->label[i] < 0) continue;
        const int64_t a = i * K, b = (pairs + i) * K;
        sum += one_pair(z + a, z + b, K, s->loss.weight, dz ? dz + a : NULL, dz ? dz + b : NULL);
    }
    return sum;
}

void rf__divergence_run(rf_graph *g, rf_node *n) { rf__loss_run(g, n, value); }
void rf__divergence_back(rf_graph *g, rf_node *n) { rf__loss_back(g, n); }

rf_tensor *rf__divergence(rf_graph *g, rf_tensor *z, const int32_t label[], double weight, double *sum)
{
    RF_EXPECT(g, "divergence", z, 2);
    RF_NEED(g, z->dim[0] % 2 == 0, RF_ESHAPE, "divergence: rows: expected two for each text, got %lld",
            (long long)z->dim[0]);
    struct saved s = {{.weight = weight}, label};
    return rf__loss_call(g, RF_OP(divergence), z, &s, sizeof s, sum, NULL);
}
