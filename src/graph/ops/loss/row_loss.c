/* row_loss.c — cross-entropy of rows of logits with their labels.
 *
 *     p_i  = softmax(z_i)
 *     loss = weight sum_i c[label_i] (-log p_i[label_i])              rows whose label is below 0 are left out
 *     dz_i = weight c[label_i] (p_i - onehot(label_i))
 *
 *     smoothed, with t_i[k] = c[k] ((1 - e) (k = label_i) + e / K):   e the graph's smoothing, as torch's cross_entropy
 *     loss = weight sum_i sum_k t_i[k] (-log p_i[k])
 *     dz_i = weight (p_i sum_k t_i[k] - t_i)
 *
 * c: weights of the classes, 1 by default.  A row is a text or a token. */
#include <math.h>

#include "graph/graph.h"

struct saved { rf_loss_saved loss; const int32_t *label; const float *class_weight; double smoothing; };

/* -log softmax(z)[label]; dz (or NULL) becomes scale (softmax(z) - onehot); *best is the index of the first maximum. */
static double one_row(const float *z, int64_t K, int64_t label, double scale, float *dz, int64_t *best)
{
    double sum = 0;
    *best = 0;
    for (int64_t k = 1; k < K; k++)
        if (z[k] > z[*best]) *best = k;
    const double top = z[*best];
    for (int64_t k = 0; k < K; k++) sum += exp(z[k] - top);
    for (int64_t k = 0; k < K && dz; k++) dz[k] = (float)(scale * (exp(z[k] - top) / sum - (k == label)));
    return log(sum) + top - z[label];
}

/* Changes one_row's loss of c[label] and its gradient if the label is smoothed. */
static double smooth_row(const float *z, int64_t K, int64_t label, const float c[], double e, double weight,
                         double loss, float *dz)
{
    const double own = c ? c[label] : 1, log_sum = loss + z[label];
    double all = (1 - e) * own, sum = (1 - e) * own * loss;
    for (int64_t k = 0; k < K; k++) {
        const double t = e / (double)K * (c ? c[k] : 1);
        all += t;
        sum += t * (log_sum - z[k]);
    }
    for (int64_t k = 0; k < K && dz; k++)
        dz[k] = (float)(weight *
                        (all * exp(z[k] - log_sum) - e / (double)K * (c ? c[k] : 1) - (k == label) * (1 - e) * own));
    return sum;
}

static double value(const rf_node *n)
{
    struct saved *s = n->saved;
    const int64_t rows = n->in[0]->dim[0], K = n->in[0]->dim[1];
    const float *c = s->class_weight;
    const double e = s->smoothing, weight = s->loss.weight;
    double sum = 0;
    for (int64_t i = 0; i < rows; i++) {
        const int64_t label = s->label[i];
        int64_t best;
        if (label < 0) continue;
        const double own = c ? c[label] : 1;
        const float *row = n->in[0]->f32 + i * K;
        float *dz = s->loss.dz ? s->loss.dz + i * K : NULL;
        const double loss = one_row(row, K, label, weight * own, dz, &best);
        sum += e > 0 ? smooth_row(row, K, label, c, e, weight, loss, dz) : own * loss;
        s->loss.hits += best == label;
    }
    return sum;
}

void rf__row_loss_run(rf_graph *g, rf_node *n) { rf__loss_run(g, n, value); }
void rf__row_loss_back(rf_graph *g, rf_node *n) { rf__loss_back(g, n); }

rf_tensor *rf__row_loss(rf_graph *g, rf_tensor *z, const int32_t label[], const float class_weight[], double weight,
                        double *sum, int64_t *hits)
{
    RF_EXPECT(g, "row_loss", z, 2);
    const int64_t n = z->dim[0], K = z->dim[1];
    RF_NEED(g, label || !n, RF_EARG, "row_loss: expected labels for %lld rows, got NULL", (long long)n);
    for (int64_t i = 0; i < n; i++)
        RF_NEED(g, label[i] < K, RF_ERANGE, "row_loss: row %lld: expected a label below z's %lld columns, got %d",
                (long long)i, (long long)K, (int)label[i]);
    struct saved s = {{.weight = weight}, label, class_weight, g->train ? g->smoothing : 0};
    return rf__loss_call(g, RF_OP(row_loss), z, &s, sizeof s, sum, hits);
}
