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

void rf__triplet_loss_back(rf_graph *g, rf_node *n) { rf__loss_back(g, n); }

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

rf_tensor *rf__triplet_loss(rf_graph *g, rf_tensor *x, double margin, double weight, double *sum)
{
    float *dx;
    RF_EXPECT(g, "triplet_loss", x, 2);
    const int64_t n = x->dim[0] / 3, C = x->dim[1];
    RF_NEED(g, x->dim[0] == 3 * n, RF_ESHAPE, "triplet_loss: rows: expected three for each triplet, got %lld",
            (long long)x->dim[0]);
    if (!rf__loss_begin(g, x, &dx)) return &g->nil.t;
    double all = 0;
    for (int64_t i = 0; i < n; i++) {
        const int64_t at[] = {i * C, (n + i) * C, (2 * n + i) * C};
        const float *a = x->f32 + at[0], *p = x->f32 + at[1], *q = x->f32 + at[2];
        const double near = distance(a, p, C), far = distance(a, q, C), over = near - far + margin;
        if (!(over > 0)) continue;
        all += over;
        if (dx) pull(dx + at[0], dx + at[1], a, p, near, weight, C);
        if (dx) pull(dx + at[0], dx + at[2], a, q, far, -weight, C);
    }
    if (sum) *sum += all;
    return rf__loss_end(g, RF_OP(triplet_loss), x, dx, weight * all);
}
