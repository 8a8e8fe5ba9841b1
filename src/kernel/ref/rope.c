/* rope.c — RoFormer, Eqs. 13-15: each plane (x0, x1) rotated by its angle.  dir = -1 rotates by the opposite angle. */
#include "kernel/ref/ref.h"

static void rotate(float *y0, float *y1, float a, float b, float cos, float sin, float dir)
{
    const double c = cos, s = (double)dir * sin;
    *y0 = (float)(a * c - b * s);
    *y1 = (float)(a * s + b * c);
}

void rfk_ref_rope_pairs(float *y, const float *x, const float *cos, const float *sin, float dir, int64_t heads,
                        int64_t d, int64_t r)
{
    for (int64_t h = 0; h < heads; h++, x += d, y += d) {
        for (int64_t i = 0; i < r / 2; i++)
            rotate(y + 2 * i, y + 2 * i + 1, x[2 * i], x[2 * i + 1], cos[i], sin[i], dir);
        for (int64_t j = r; j < d; j++) y[j] = x[j];
    }
}

void rfk_ref_rope_halves(float *y, const float *x, const float *cos, const float *sin, float dir, int64_t heads,
                         int64_t d, int64_t r)
{
    for (int64_t h = 0; h < heads; h++, x += d, y += d) {
        for (int64_t i = 0; i < r / 2; i++) rotate(y + i, y + r / 2 + i, x[i], x[r / 2 + i], cos[i], sin[i], dir);
        for (int64_t j = r; j < d; j++) y[j] = x[j];
    }
}
