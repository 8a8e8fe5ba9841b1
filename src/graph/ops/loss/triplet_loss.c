/* triplet_loss.c — triplet loss: nearer to a positive than to a negative, by a margin (Schroff et al. 2015).
 *
 * The rows of x are n anchors a, then n positives p, then n negatives q.
 *
 *     loss = weight sum_i max(0, |a_i - p_i| - |a_i - q_i| + margin)
 *     da_i = weight ((a_i - p_i) / |a_i - p_i| - (a_i - q_i) / |a_i - q_i|)      where the term is above 0
 *
 * At a distance of 0, where the derivative does not exist, it is taken as 0. */
#include <math.h>

#include "graph/graph.h"

struct saved { rf_loss_saved loss; double margin; };

static double distance(const float *a, const float *b, int64_t C)
{
    double sum = 0;
    for (int64_t c = 0; c < C; c++) sum += ((double)a[c] - (double)b[c]) * ((double)a[c] - (double)b[c]);
    return sqrt(sum);
}

/* da += by (a - b) / d,  db -= the same */
static void pull(float *da, float *db, const float *a, const float *b, double d, double by, int64_t C)
{
    for (int64_t c = 0; c < C && d > 0; c++) {
        const double slope = by * ((double)a[c] - (double)b[c]) / d;
        da[c] += (float)slope;
        db[c] -= (float)slope;
    }
}

static double value(const rf_node *n)
{
    const struct saved *s = n->saved;
    const float *x = n->in[0]->f32;
    const int64_t triplets = n->in[0]->dim[0] / 3, C = n->in[0]->dim[1];
    const double weight = s->loss.weight;
    float *dx = s->loss.dz;
    double sum = 0;
    for (int64_t i = 0; i < triplets; i++) {
        const int64_t at[] = {i * C, (triplets + i) * C, (2 * triplets + i) * C};
        const float *a = x + at[0], *p = x + at[1], *q = x + at[2];
        const double near = distance(a, p, C), far = distance(a, q, C), over = near - far + s->margin;
        if (!(over > 0)) continue;
        sum += over;
        if (dx) pull(dx + at[0], dx + at[1], a, p, near, weight, C);
        if (dx) pull(dx + at[0], dx + at[2], a, q, far, -weight, C);
    }
    return sum;
}

void rf__triplet_loss_run(rf_graph *g, rf_node *n) { rf__loss_run(g, n, value); }
void rf__triplet_loss_back(rf_graph *g, rf_node *n) { rf__loss_back(g, n); }

rf_tensor *rf__triplet_loss(rf_graph *g, rf_tensor *x, double margin, double weight, double *sum)
{
    RF_EXPECT(g, "triplet_loss", x, 2);
    RF_NEED(g, x->dim[0] % 3 == 0, RF_ESHAPE, "triplet_loss: rows: expected three for each triplet, got %lld",
            (long long)x->dim[0]);
    struct saved s = {{.weight = weight}, margin};
    return rf__loss_call(g, RF_OP(triplet_loss), x, &s, sizeof s, sum, NULL);
}
