/* divergence.c — symmetric KL divergence of two dropout passes over the same text (R-Drop, Liang et al. 2021).
 *
 * The first half of the rows and the second half are the two passes: p = softmax(z_i), q = softmax(z_{n+i}), i < n.
 *
 *     loss   = weight sum_i ( KL(p|q) + KL(q|p) ) = weight sum_i sum_k (p_k - q_k) a_k,       a_k = log p_k - log q_k
 *     dz_i   = weight ( p_k (a_k - KL(p|q)) + p_k - q_k )
 *     dz_n+i = weight ( q_k (-a_k - KL(q|p)) + q_k - p_k )                  rows whose label is below 0 are left out */
#include <math.h>

#include "graph/graph.h"

void rf__divergence_back(rf_graph *g, rf_node *n) { rf__loss_back(g, n); }

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

rf_tensor *rf__divergence(rf_graph *g, rf_tensor *z, const int32_t label[], double weight, double *sum)
{
    float *dz;
    RF_EXPECT(g, "divergence", z, 2);
    const int64_t n = z->dim[0] / 2, K = z->dim[1];
    RF_NEED(g, z->dim[0] % 2 == 0, RF_ESHAPE, "divergence: rows: expected two for each text, got %lld",
            (long long)z->dim[0]);
    if (!rf__loss_begin(g, z, &dz)) return &g->nil.t;
    double all = 0;
    for (int64_t i = 0; i < n; i++) {
        if (label && label[i] < 0) continue;
        const int64_t a = i * K, b = (n + i) * K;
        all += one_pair(z->f32 + a, z->f32 + b, K, weight, dz ? dz + a : NULL, dz ? dz + b : NULL);
    }
    if (sum) *sum += all;
    return rf__loss_end(g, RF_OP(divergence), z, dz, weight * all);
}
