/* elementwise.c — sums and products of elements, and reductions. */
#include "kernel/ref/ref.h"

void rfk_ref_add(float *y, const float *a, const float *b, int64_t n)
{
    for (int64_t i = 0; i < n; i++) y[i] = a[i] + b[i];
}

void rfk_ref_mul(float *y, const float *a, const float *b, int64_t n)
{
    for (int64_t i = 0; i < n; i++) y[i] = a[i] * b[i];
}

void rfk_ref_scale(float *y, const float *x, float c, int64_t n)
{
    for (int64_t i = 0; i < n; i++) y[i] = c * x[i];
}

void rfk_ref_axpy(float *y, float c, const float *x, int64_t n)
{
    for (int64_t i = 0; i < n; i++) y[i] = (float)(y[i] + (double)c * x[i]);
}

void rfk_ref_exp(float *y, const float *x, float shift, float more, int64_t n)
{
    for (int64_t i = 0; i < n; i++) y[i] = (float)(exp((double)x[i] - shift) + more);
}

float rfk_ref_mul_less(float *y, const float *x, float less, int64_t n)
{
    double sum = 0;
    for (int64_t i = 0; i < n; i++) {
        y[i] = (float)(y[i] * ((double)x[i] - less));
        sum += y[i];
    }
    return (float)sum;
}

void rfk_ref_accumulate(float *high, float *low, float scale, const float *x, int64_t n)
{
    for (int64_t i = 0; i < n; i++) {
        const double sum = (double)scale * high[i] + (double)scale * low[i] + x[i];
        high[i] = (float)sum;
        low[i] = (float)(sum - high[i]);
    }
}

float rfk_ref_dot(const float *a, const float *b, int64_t n)
{
    double sum = 0;
    for (int64_t i = 0; i < n; i++) sum += (double)a[i] * b[i];
    return (float)sum;
}

float rfk_ref_sum(const float *x, int64_t n)
{
    double sum = 0;
    for (int64_t i = 0; i < n; i++) sum += x[i];
    return (float)sum;
}

float rfk_ref_largest(const float *x, int64_t n)
{
    float top = -INFINITY;
    for (int64_t i = 0; i < n; i++)
        if (x[i] > top) top = x[i];
    return top;
}

float rfk_ref_largest_size(const float *x, int64_t n)
{
    float top = 0;
    for (int64_t i = 0; i < n; i++) {
        if (!isfinite(x[i])) return fabsf(x[i]);
        top = fmaxf(top, fabsf(x[i]));
    }
    return top;
}

double rfk_ref_sumsq(const float *x, int64_t n)
{
    double sum = 0;
    for (int64_t i = 0; i < n; i++) sum += (double)x[i] * x[i];
    return sum;
}

int rfk_ref_finite(const float *x, int64_t n)
{
    for (int64_t i = 0; i < n; i++)
        if (!isfinite(x[i])) return 0;
    return 1;
}
