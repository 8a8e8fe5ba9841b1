/* softmax.c — softmax of a row, its adjoint, and cross-entropy.  The maximum is subtracted first, which does not change
 * the quotient and prevents overflow. */
#include "kernel/ref/ref.h"

static double sum_of_exponentials(const float *x, double top, int64_t n)
{
    double sum = 0;
    for (int64_t i = 0; i < n; i++) sum += exp(x[i] - top);
    return sum;
}

double rfk_ref_sum_exp(const float *x, float top, int64_t n) { return sum_of_exponentials(x, (double)top, n); }

void rfk_ref_softmax(float *y, const float *x, int64_t n)
{
    const double top = rfk_ref_largest(x, n), sum = sum_of_exponentials(x, top, n);
    for (int64_t i = 0; i < n; i++) y[i] = (float)(exp(x[i] - top) / sum);
}

/* dx = y (dy - <y, dy>) */
void rfk_ref_softmax_back(float *dx, const float *dy, const float *y, int64_t n)
{
    double inner = 0;
    for (int64_t i = 0; i < n; i++) inner += (double)y[i] * dy[i];
    for (int64_t i = 0; i < n; i++) dx[i] = (float)(y[i] * (dy[i] - inner));
}

float rfk_ref_cross_entropy(float *x, int64_t n, int64_t label, float scale, int64_t *best)
{
    *best = 0;
    for (int64_t i = 1; i < n; i++)
        if (x[i] > x[*best]) *best = i;
    const double top = x[*best], chosen = x[label], sum = sum_of_exponentials(x, top, n);
    for (int64_t i = 0; i < n; i++) x[i] = (float)(scale * (exp(x[i] - top) / sum - (i == label)));
    return (float)(log(sum) + top - chosen);
}
