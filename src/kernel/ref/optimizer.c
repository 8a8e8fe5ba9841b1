/* optimizer.c — AdamW: decay is a step of its own, not part of the gradient. */
#include "kernel/ref/ref.h"

void rfk_ref_adamw(float *p, float *m, float *v, const float *grad, int64_t n, float lr, float b1, float b2, float eps,
                   float wd, float c1, float c2, float gscale)
{
    for (int64_t i = 0; i < n; i++) {
        const double g = (double)gscale * grad[i];
        const double mean = (double)b1 * m[i] + (1 - (double)b1) * g;
        const double square = (double)b2 * v[i] + (1 - (double)b2) * g * g;
        m[i] = (float)mean;
        v[i] = (float)square;
        p[i] = (float)(p[i] - lr * (c1 * mean / (sqrt(c2 * square) + eps) + (double)wd * p[i]));
    }
}
