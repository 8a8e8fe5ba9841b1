/* span_loss.c — cross-entropy over the rows of each sequence: selects one of its rows.
 *
 *     p_b,k[i]  = softmax of z[i,k] over the rows i of sequence b                          for each column k separately
 *     loss      = weight sum_{b,k} -log p_b,k[label[b,k]]              labels count from the sequence's first row;
 *               below 0: left out
 *     dz[i,k]   = weight (p_b,k[i] - [i = label[b,k]])
 *
 * Question answering uses two columns (start and end) over the tokens of a text; multiple choice uses one column over
 * the candidates. */
#include <math.h>

#include "graph/graph.h"

void rf__span_loss_back(rf_graph *g, rf_node *n) { rf__loss_back(g, n); }

/* One column of one sequence: T values with stride K. */
static double one_column(const float *z, int64_t T, int64_t K, int64_t label, double scale, float *dz, int64_t *best)
{
    double sum = 0;
    *best = 0;
    for (int64_t i = 1; i < T; i++)
        if (z[i * K] > z[*best * K]) *best = i;
    const double top = z[*best * K];
    for (int64_t i = 0; i < T; i++) sum += exp(z[i * K] - top);
    for (int64_t i = 0; i < T && dz; i++) dz[i * K] = (float)(scale * (exp(z[i * K] - top) / sum - (i == label)));
    return log(sum) + top - z[label * K];
}

rf_tensor *rf__span_loss(rf_graph *g, rf_tensor *z, const int32_t start[], int64_t B, const int32_t label[],
                         double weight, double *sum, int64_t *hits)
{
    float *dz;
    RF_EXPECT(g, "span_loss", z, 2);
    const int64_t K = z->dim[1];
    RF_STARTS(g, "span_loss", start, B, z->dim[0], 0);
    RF_NEED(g, label || !B, RF_EARG, "span_loss: expected labels for %lld sequences, got NULL", (long long)B);
    for (int64_t b = 0; b < B; b++)
        for (int64_t k = 0; k < K; k++)
            RF_NEED(g, label[b * K + k] < start[b + 1] - start[b], RF_ERANGE,
                    "span_loss: sequence %lld: expected a label below its %d rows, got %d", (long long)b,
                    (int)(start[b + 1] - start[b]), (int)label[b * K + k]);
    if (!rf__loss_begin(g, z, &dz)) return &g->nil.t;

    double all = 0;
    int64_t right = 0;
    for (int64_t b = 0; b < B; b++)
        for (int64_t k = 0; k < K; k++) {
            const int64_t at = start[b] * K + k, T = start[b + 1] - start[b], target = label[b * K + k];
            int64_t best;
            if (target < 0) continue;
            all += one_column(z->f32 + at, T, K, target, weight, dz ? dz + at : NULL, &best);
            right += best == target;
        }
    if (sum) *sum += all;
    if (hits) *hits += right;
    return rf__loss_end(g, RF_OP(span_loss), z, dz, weight * all);
}
