/* random.c — dropout: word (first + i) % 4 of counter (first + i) / 4 decides about number i. */
#include "kernel/ref/ref.h"

void rfk_ref_dropout(float *y, const float *x, int64_t n, float p, const uint32_t key[2], uint64_t stream,
                     uint64_t first)
{
    const rf_key k = {{key[0], key[1]}};
    const uint32_t least = p < 1 ? (uint32_t)((double)p * 0x1p32) : UINT32_MAX;
    const double scale = p < 1 ? 1 / (1 - (double)p) : 0;
    uint32_t word[4] = {0};
    for (int64_t i = 0; i < n; i++) {
        const uint64_t at = first + (uint64_t)i;
        if (i == 0 || at % 4 == 0) rf__philox(k, at / 4, stream, word);
        y[i] = word[at % 4] >= least ? (float)(x[i] * scale) : 0;
    }
}
