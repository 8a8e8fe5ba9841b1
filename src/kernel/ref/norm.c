/* norm.c — layer norm and root-mean-square norm, and their adjoints, row by row.
 *
 *     xh = (x - mean) rstd,   y = gamma xh + beta
 *     g  = gamma dy,          dx = rstd (g - mean(g) - xh mean(g xh)),   dgamma += dy xh,   dbeta += dy
 *
 * For rms the two means without xh are omitted.                                                                      */
#include "kernel/ref/ref.h"

/* An element of row `x`, with the residual if there is one: rounded, because the backward pass uses the rounded
 * number. */
static double at(const float *x, const float *residual, int64_t i) { return residual ? x[i] + residual[i] : x[i]; }

static void norm(bool centered, float *y, float *sum, float *stat, const float *x, const float *residual,
                 const float *gamma, const float *beta, float eps, int64_t rows, int64_t d)
{
    for (int64_t row = 0; row < rows; row++) {
        const int64_t o = row * d;
        const float *r = residual ? residual + o : NULL;
        double mean = 0, variance = 0;
        for (int64_t i = 0; centered && i < d; i++) mean += at(x + o, r, i);
        mean /= (double)d;
        for (int64_t i = 0; i < d; i++) {
            const double t = at(x + o, r, i) - mean;
            variance += t * t;
        }
        const double rstd = 1 / sqrt(variance / (double)d + eps);
        for (int64_t i = 0; i < d; i++) {
            const double v = at(x + o, r, i);
            y[o + i] = (float)((gamma ? gamma[i] : 1) * ((v - mean) * rstd) + (beta ? beta[i] : 0));
            if (sum) sum[o + i] = (float)v;
        }
        if (stat) {
            stat[2 * row] = (float)mean;
            stat[2 * row + 1] = (float)rstd;
        }
    }
}

void rfk_ref_layer_norm(float *y, float *sum, float *stat, const float *x, const float *residual, const float *gamma,
                        const float *beta, float eps, int64_t rows, int64_t d)
{
    norm(true, y, sum, stat, x, residual, gamma, beta, eps, rows, d);
}

void rfk_ref_rms_norm(float *y, float *sum, float *stat, const float *x, const float *residual, const float *gamma,
                      const float *beta, float eps, int64_t rows, int64_t d)
{
    norm(false, y, sum, stat, x, residual, gamma, beta, eps, rows, d);
}

static void norm_back(bool centered, float *dx, float *dgamma, float *dbeta, const float *dy, const float *x,
                      const float *stat, const float *gamma, int64_t rows, int64_t d)
{
    for (int64_t row = 0; row < rows; row++, dx += d, dy += d, x += d) {
        const double mean = stat[2 * row], rstd = stat[2 * row + 1];
        double level = 0, along = 0;
        for (int64_t i = 0; i < d; i++) {
            const double xh = (x[i] - mean) * rstd, g = (double)dy[i] * (gamma ? gamma[i] : 1);
            level += g;
            along += g * xh;
            if (dgamma) dgamma[i] = (float)(dgamma[i] + dy[i] * xh);
            if (dbeta) dbeta[i] += dy[i];
        }
        level = centered ? level / (double)d : 0;
        along /= (double)d;
        for (int64_t i = 0; i < d; i++) {
            const double xh = (x[i] - mean) * rstd, g = (double)dy[i] * (gamma ? gamma[i] : 1);
            dx[i] = (float)(rstd * (g - level - xh * along));
        }
    }
}

void rfk_ref_layer_norm_back(float *dx, float *dgamma, float *dbeta, const float *dy, const float *x, const float *stat,
                             const float *gamma, int64_t rows, int64_t d)
{
    norm_back(true, dx, dgamma, dbeta, dy, x, stat, gamma, rows, d);
}

void rfk_ref_rms_norm_back(float *dx, float *dgamma, float *dbeta, const float *dy, const float *x, const float *stat,
                           const float *gamma, int64_t rows, int64_t d)
{
    norm_back(false, dx, dgamma, dbeta, dy, x, stat, gamma, rows, d);
}
