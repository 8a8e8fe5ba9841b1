/* activation.c — activations and their derivatives.
 *
 * Phi(x) = (1 + erf(x / sqrt 2)) / 2 is written erfc(-x / sqrt 2) / 2, and (1 + tanh u) / 2 is written 1 / (1 + e^-2u):
 * the same numbers without cancellation where they are small.                                                        */
#include "kernel/ref/ref.h"

static double phi(double x) { return 0.5 * erfc(-x * 0.7071067811865476); }
static double sigmoid(double x) { return 1 / (1 + exp(-x)); }

void rfk_ref_gelu(float *y, const float *x, int64_t n)
{
    for (int64_t i = 0; i < n; i++) y[i] = (float)(x[i] * phi(x[i]));
}

/* d/dx x Phi(x) = Phi(x) + x Phi'(x),   Phi'(x) = e^(-x^2/2) / sqrt(2 pi) */
void rfk_ref_gelu_back(float *dx, const float *dy, const float *x, int64_t n)
{
    for (int64_t i = 0; i < n; i++) {
        const double t = x[i];
        dx[i] = (float)(dy[i] * (phi(t) + t * exp(-t * t / 2) * 0.3989422804014327));
    }
}

/* 2u = 2 sqrt(2/pi) (x + 0.044715 x^3) */
static double twice_u(double x) { return 1.5957691216057308 * (x + 0.044715 * x * x * x); }

void rfk_ref_gelu_tanh(float *y, const float *x, int64_t n)
{
    for (int64_t i = 0; i < n; i++) y[i] = (float)(x[i] * sigmoid(twice_u(x[i])));
}

/* s + x s (1 - s) (2u)',   1 - s(2u) = s(-2u) */
void rfk_ref_gelu_tanh_back(float *dx, const float *dy, const float *x, int64_t n)
{
    for (int64_t i = 0; i < n; i++) {
        const double t = x[i], s = sigmoid(twice_u(t)), slope = 1.5957691216057308 * (1 + 3 * 0.044715 * t * t);
        dx[i] = (float)(dy[i] * (s + t * s * sigmoid(-twice_u(t)) * slope));
    }
}

void rfk_ref_relu(float *y, const float *x, int64_t n)
{
    for (int64_t i = 0; i < n; i++) y[i] = x[i] < 0 ? 0 : x[i];
}

void rfk_ref_relu_back(float *dx, const float *dy, const float *x, int64_t n)
{
    for (int64_t i = 0; i < n; i++) dx[i] = x[i] > 0 ? dy[i] : 0;
}

void rfk_ref_silu(float *y, const float *x, int64_t n)
{
    for (int64_t i = 0; i < n; i++) y[i] = (float)(x[i] * sigmoid(x[i]));
}

void rfk_ref_silu_back(float *dx, const float *dy, const float *x, int64_t n)
{
    for (int64_t i = 0; i < n; i++) {
        const double t = x[i], s = sigmoid(t);
        dx[i] = (float)(dy[i] * s * (1 + t * sigmoid(-t)));
    }
}

void rfk_ref_tanh(float *y, const float *x, int64_t n)
{
    for (int64_t i = 0; i < n; i++) y[i] = (float)tanh(x[i]);
}

/* 1 - tanh^2 = 1 / cosh^2 */
void rfk_ref_tanh_back(float *dx, const float *dy, const float *x, int64_t n)
{
    for (int64_t i = 0; i < n; i++) {
        const double c = cosh(x[i]);
        dx[i] = (float)(dy[i] / c / c);
    }
}

static const double QUICK = 1.702;

void rfk_ref_quick_gelu(float *y, const float *x, int64_t n)
{
    for (int64_t i = 0; i < n; i++) y[i] = (float)(x[i] * sigmoid(QUICK * x[i]));
}

void rfk_ref_quick_gelu_back(float *dx, const float *dy, const float *x, int64_t n)
{
    for (int64_t i = 0; i < n; i++) {
        const double t = QUICK * x[i];
        dx[i] = (float)(dy[i] * sigmoid(t) * (1 + t * sigmoid(-t)));
    }
}

void rfk_ref_mish(float *y, const float *x, int64_t n)
{
    for (int64_t i = 0; i < n; i++) y[i] = (float)(x[i] * tanh(log1p(exp(x[i]))));
}

/* d/dx ln(1 + e^x) = 1 / (1 + e^-x),  tanh' = 1 / cosh^2 */
void rfk_ref_mish_back(float *dx, const float *dy, const float *x, int64_t n)
{
    for (int64_t i = 0; i < n; i++) {
        const double t = x[i], u = log1p(exp(t)), c = cosh(u);
        dx[i] = (float)(dy[i] * (tanh(u) + t * sigmoid(t) / c / c));
    }
}
