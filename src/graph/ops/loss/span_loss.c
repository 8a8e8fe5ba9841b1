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

struct saved { rf_loss_saved loss; const int32_t *start; int64_t B; const int32_t *label; };

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

static double value(const rf_node *n)
{
    struct saved *s = n->saved;
    const int64_t K = n->in[0]->dim[1];
    float *dz = s->loss.dz;
    double sum = 0;
    for (int64_t b = 0; b < s->B; b++)
        for (int64_t k = 0; k < K; k++) {
            const int64_t at = s->start[b] * K + k, T = s->start[b + 1] - s->start[b], label = s->label[b * K + k];
            int64_t best;
            if (label < 0) continue;
            sum += one_column(n->in[0]->f32 + at, T, K, label, s->loss.weight, dz ? dz + at : NULL, &best);
            s->loss.hits += best == label;
        }
    return sum;
}

void rf__span_loss_run(rf_graph *g, rf_node *n) { rf__loss_run(g, n, value); }
void rf__span_loss_back(rf_graph *g, rf_node *n) { rf__loss_back(g, n); }

rf_tensor *rf__span_loss(rf_graph *g, rf_tensor *z, const int32_t start[], int64_t B, const int32_t label[],
                         double weight, double *sum, int64_t *hits)
{
    RF_EXPECT(g, "span_loss", z, 2);
    const int64_t K = z->dim[1];
    RF_STARTS(g, "span_loss", start, B, z->dim[0], 0);
    RF_NEED(g, label || !B, RF_EARG, "span_loss: expected labels for %lld sequences, got NULL", (long long)B);
    for (int64_t b = 0; b < B; b++)
        for (int64_t k = 0; k < K; k++)
            RF_NEED(g, label[b * K + k] < start[b + 1] - start[b], RF_ERANGE,
                    "span_loss: sequence %lld: expected a label below its %d rows, got %d", (long long)b,
                    (int)(start[b + 1] - start[b]), (int)label[b * K + k]);
    struct saved s = {{.weight = weight}, start, B, label};
    return rf__loss_call(g, RF_OP(span_loss), z, &s, sizeof s, sum, hits);
}
