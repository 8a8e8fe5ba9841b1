/* gemm.c — one panel of a matrix product, and a transposed matrix. */
#include "kernel/ref/ref.h"

/* At most one panel and the rows of a test. */
enum { COLUMNS = 32, DEPTH = 768, BLOCK = 4 };

const rfk_panel_shape *rfk_ref_gemm_panel_shape(void)
{
    static const rfk_panel_shape shape = {
        .rows = 1, .columns = COLUMNS, .interleave = 1,
        .depth = DEPTH, .stride = DEPTH, .block = BLOCK, .group = COLUMNS,
    };
    return &shape;
}

const rfk_panel_shape *rfk_ref_gemm_panel_bf16_shape(void)
{
    static const rfk_panel_shape shape = {
        .rows = 1, .columns = COLUMNS, .interleave = 2,
        .depth = DEPTH, .stride = DEPTH, .block = BLOCK, .group = COLUMNS, .widened = 1,
    };
    return &shape;
}

void rfk_ref_gemm_panel(float *c, int64_t ldc, const float *a, const float *panel, int64_t rows, int64_t n, int64_t k,
                        const float *from, int64_t from_stride)
{
    for (int64_t i = 0; i < rows; i++)
        for (int64_t j = 0; j < n; j++) {
            double sum = from ? (double)from[i * from_stride + j] : 0;
            for (int64_t p = 0; p < k; p++) sum += (double)a[i * DEPTH + p] * (double)panel[p * COLUMNS + j];
            c[i * ldc + j] = (float)sum;
        }
}

void rfk_ref_transpose(float *y, int64_t ldy, const float *x, int64_t ldx, int64_t rows, int64_t columns)
{
    for (int64_t i = 0; i < rows; i++)
        for (int64_t j = 0; j < columns; j++) y[j * ldy + i] = x[i * ldx + j];
}

void rfk_ref_gemm_panel_bf16(float *c, int64_t ldc, const uint16_t *a, const uint16_t *panel, int64_t rows, int64_t n,
                             int64_t pairs, const float *from, int64_t from_stride)
{
    for (int64_t i = 0; i < rows; i++)
        for (int64_t j = 0; j < n; j++) {
            double sum = from ? (double)from[i * from_stride + j] : 0;
            for (int64_t p = 0; p < 2 * pairs; p++)
                sum += (double)rf__from_bf16(a[i * DEPTH + p]) *
                       (double)rf__from_bf16(panel[(p / 2 * COLUMNS + j) * 2 + p % 2]);
            c[i * ldc + j] = (float)sum;
        }
}

const rfk_panel_shape *rfk_ref_gemm_panel_i8_shape(void)
{
    static const rfk_panel_shape shape = {
        .rows = 1, .columns = COLUMNS, .interleave = 1, .depth = DEPTH, .stride = DEPTH,
        .block = BLOCK, .group = COLUMNS, .code = 1, .zero = 0,
    };
    return &shape;
}

void rfk_ref_gemm_panel_i8(int32_t *sum, int64_t ld, const void *a, const int8_t *panel, int64_t rows, int64_t n,
                           int64_t k, int add, const rfk_i8_store *store)
{
    const int8_t *x = a;
    for (int64_t i = 0; i < rows; i++)
        for (int64_t j = 0; j < n; j++) {
            int32_t s = add ? sum[i * ld + j] : 0;
            for (int64_t p = 0; p < k; p++) s += x[i * DEPTH + p] * panel[p * COLUMNS + j];
            if (store) {
                const float sized = (float)(s + store->offset[j]) * store->row[i];
                const float c = rfk__fused(sized, store->column[j], store->bias ? store->bias[j] : 0);
                memcpy(&sum[i * ld + j], &c, sizeof c);
            } else {
                sum[i * ld + j] = s;
            }
        }
}
