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

void rfk_ref_pairs_bf16(uint16_t *y, const float *a, const float *b, int64_t n)
{
    for (int64_t i = 0; i < n; i++) {
        y[2 * i] = rf__bf16(a[i]);
        y[2 * i + 1] = rf__bf16(b[i]);
    }
}

void rfk_ref_to_i8(int8_t *y, const float *x, float scale, int64_t n)
{
    for (int64_t i = 0; i < n; i++) y[i] = (int8_t)fminf(fmaxf(rintf(x[i] * scale), -128), 127);
}

void rfk_ref_codes_i8(void *codes, const float *x, float scale, int64_t n) { rfk_ref_to_i8(codes, x, scale, n); }

void rfk_ref_from_i8(float *y, const int8_t *x, int64_t n)
{
    for (int64_t i = 0; i < n; i++) y[i] = x[i];
}

void rfk_ref_bf16_from_i8(uint16_t *y, const int8_t *x, int64_t n)
{
    for (int64_t i = 0; i < n; i++) y[i] = rf__bf16(x[i]);
}

void rfk_ref_scale_columns(float *y, int64_t ldy, int64_t rows, int64_t n, const float *scale, const float *bias)
{
    for (int64_t i = 0; i < rows; i++)
        for (int64_t j = 0; j < n; j++)
            y[i * ldy + j] = (float)((double)y[i * ldy + j] * (double)scale[j] + (double)(bias ? bias[j] : 0));
}

void rfk_ref_dots_i8(int32_t *sum, const int8_t *x, const int16_t *y, int64_t rows, int64_t n)
{
    for (int64_t i = 0; i < rows; i++) {
        int64_t all = 0;
        for (int64_t p = 0; p < n; p++) all += (int64_t)x[i * n + p] * y[p];
        sum[i] = (int32_t)all;
    }
}

void rfk_ref_to_bf16_random(uint16_t *y, const float *x, int64_t n, const uint32_t key[2], uint64_t stream,
                            uint64_t first)
{
    uint32_t word[4] = {0}, u;
    for (int64_t i = 0; i < n; i++) {
        const uint64_t at = first + (uint64_t)i;
        if (i == 0 || at % 4 == 0) rf__philox((rf_key){{key[0], key[1]}}, at / 4, stream, word);
        memcpy(&u, &x[i], sizeof u);
        y[i] = isnan(x[i]) ? rf__bf16(x[i]) : (uint16_t)((u + (word[at % 4] >> 16)) >> 16);
    }
}
