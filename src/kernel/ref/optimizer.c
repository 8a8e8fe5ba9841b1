/* optimizer.c — the optimizers by their formulas.  Each array is rounded once, when it is stored. */
#include "kernel/ref/ref.h"

typedef struct moments { double b1, b2, eps, wd, c1, c2; } moments;

/* c1 m / (sqrt(c2 v) + eps) + wd p, after the moments are updated. */
static double direction(const moments *k, double p, float *m, float *v, double g)
{
    const double mean = k->b1 * *m + (1 - k->b1) * g, square = k->b2 * *v + (1 - k->b2) * g * g;
    *m = (float)mean;
    *v = (float)square;
    return k->c1 * mean / (sqrt(k->c2 * square) + k->eps) + k->wd * p;
}

void rfk_ref_adamw(float *p, float *m, float *v, const float *grad, int64_t n, float lr, float b1, float b2, float eps,
                   float wd, float c1, float c2, float gscale)
{
    const moments k = {b1, b2, eps, wd, c1, c2};
    for (int64_t i = 0; i < n; i++)
        p[i] = (float)(p[i] - lr * direction(&k, p[i], &m[i], &v[i], (double)gscale * grad[i]));
}

void rfk_ref_lamb(float *u, const float *p, float *m, float *v, int64_t n, float b1, float b2, float eps, float wd,
                  float c1, float c2, float gscale)
{
    const moments k = {b1, b2, eps, wd, c1, c2};
    for (int64_t i = 0; i < n; i++) u[i] = (float)direction(&k, p[i], &m[i], &v[i], (double)gscale * u[i]);
}

void rfk_ref_lion(float *p, float *m, const float *grad, int64_t n, float lr, float b1, float b2, float wd,
                  float gscale)
{
    for (int64_t i = 0; i < n; i++) {
        const double g = (double)gscale * grad[i], c = (double)b1 * m[i] + (1 - (double)b1) * g;
        const double sign = c > 0 ? 1 : c < 0 ? -1 : 0;
        m[i] = (float)((double)b2 * m[i] + (1 - (double)b2) * g);
        p[i] = (float)(p[i] - lr * (sign + (double)wd * p[i]));
    }
}

void rfk_ref_sgd(float *p, float *m, const float *grad, int64_t n, float lr, float mu, int nesterov, float wd,
                 float gscale)
{
    for (int64_t i = 0; i < n; i++) {
        const double d = (double)gscale * grad[i] + (double)wd * p[i], mean = m ? (double)mu * m[i] + d : d;
        if (m) m[i] = (float)mean;
        p[i] = (float)(p[i] - lr * (m && nesterov ? d + (double)mu * mean : mean));
    }
}

void rfk_ref_lerp(float *y, float c, const float *x, int64_t n)
{
    for (int64_t i = 0; i < n; i++) y[i] = (float)(y[i] + (double)c * ((double)x[i] - y[i]));
}

void rfk_ref_add_squares(float *y, const float *x, int64_t n)
{
    for (int64_t i = 0; i < n; i++) y[i] = (float)(y[i] + (double)x[i] * x[i]);
}
