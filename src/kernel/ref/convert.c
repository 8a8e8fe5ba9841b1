/* convert.c — half types, number by number. */
#include "kernel/ref/ref.h"

void rfk_ref_to_bf16(uint16_t *y, const float *x, int64_t n)
{
    for (int64_t i = 0; i < n; i++) y[i] = rf__bf16(x[i]);
}

void rfk_ref_from_bf16(float *y, const uint16_t *x, int64_t n)
{
    for (int64_t i = 0; i < n; i++) y[i] = rf__from_bf16(x[i]);
}

void rfk_ref_to_f16(uint16_t *y, const float *x, int64_t n)
{
    for (int64_t i = 0; i < n; i++) y[i] = rf__f16(x[i]);
}

void rfk_ref_from_f16(float *y, const uint16_t *x, int64_t n)
{
    for (int64_t i = 0; i < n; i++) y[i] = rf__from_f16(x[i]);
}
