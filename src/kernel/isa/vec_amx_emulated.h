/* vec_amx_emulated.h — the dialect of tiles (vec_amx.h) in plain C, as the manual describes the instructions.
 *
 *     TDPBF16PS   even[j] = sum_p a[i,2p] b[p,2j],  odd[j] = sum_p a[i,2p+1] b[p,2j+1]   by multiply-adds from 0
 *                 c[i,j]  = c[i,j] + (even[j] + odd[j])
 *
 * in the order of p, each operation rounded once, to nearest even, subnormal inputs and outputs treated as zero
 * (Intel's Software Developer's Manual, volume 2, TDPBF16PS).  Intel's intrinsics guide shows a single sum of all terms
 * instead, which begins at c.  Operations on tiles that are not configured do nothing, where the processor raises #UD;
 * tests detect that in the results.  Operations are counted (rf_tiles_counted).                                      */
#ifndef RF_VEC_AMX_EMULATED_H
#define RF_VEC_AMX_EMULATED_H

#include <float.h>
#include <math.h>
#include <string.h>

#include "kernel/isa/tiles.h"

static inline bool t_configured(void) { return rf__tiles.configured; }

static inline void t_configure(void)
{
    memset(rf__tiles.tile, 0, sizeof rf__tiles.tile);
    rf__tiles.configured = true;
    rf__tiles.done.configured++;
}

static inline void t_release(void)
{
    rf__tiles.configured = false;
    rf__tiles.done.released++;
}

static inline void t_zero(int t)
{
    if (!rf__tiles.configured) return;
    memset(rf__tiles.tile[t], 0, sizeof rf__tiles.tile[t]);
    rf__tiles.done.zeroed++;
}

static inline void t_load(int t, const void *from, int64_t stride)
{
    if (!rf__tiles.configured) return;
    for (int r = 0; r < RF__TILE_ROWS; r++)
        memcpy(rf__tiles.tile[t][r], (const char *)from + r * stride, RF__TILE_BYTES);
    rf__tiles.done.loaded++;
}

static inline void t_pass(int t, const void *from, int64_t stride) { t_load(t, from, stride); }

static inline void t_store(int t, void *to, int64_t stride)
{
    if (!rf__tiles.configured) return;
    for (int r = 0; r < RF__TILE_ROWS; r++)
        memcpy((char *)to + r * stride, rf__tiles.tile[t][r], RF__TILE_BYTES);
    rf__tiles.done.stored++;
}

static inline float t_multiply_add(float a, float b, float c) { return rfk__fused(a, b, c); }

/* A subnormal number becomes a zero with its sign. */
static inline float t_flushed(float x) { return fabsf(x) < FLT_MIN ? copysignf(0, x) : x; }

static inline void t_halves(void *to, const void *from)
{
    for (int j = 0; j < 16; j++) {
        uint32_t u;
        memcpy(&u, (const char *)from + j * (int)sizeof u, sizeof u);
        const uint32_t size = u & 0x7fffffff, nan = (u >> 16) | 0x40, near = (u + 0x7fff + (u >> 16 & 1)) >> 16;
        const uint16_t half = (uint16_t)(size > 0x7f800000 ? nan : size < 0x00800000 ? u >> 16 & 0x8000 : near);
        memcpy((char *)to + j * (int)sizeof half, &half, sizeof half);
    }
}

static inline void t_widen(void *to, const void *from)
{
    for (int j = 0; j < 16; j++) {
        uint16_t half;
        memcpy(&half, (const char *)from + j * (int)sizeof half, sizeof half);
        const uint32_t u = (uint32_t)half << 16;
        memcpy((char *)to + j * (int)sizeof u, &u, sizeof u);
    }
}

/* a b + s, rounded once: the product of two bf16 numbers is exact in double, and the sum may be rounded twice without a
 * difference because double has 53 digits (two numbers of 24 digits need 50). */
static inline float t_fused(float a, float b, float s) { return t_flushed((float)((double)a * (double)b + (double)s)); }

/* Elements of row r of a tile: the first or the second of each pair. */
static inline void t_widened(float to[16], int t, int r, int which)
{
    uint16_t half[32];
    memcpy(half, rf__tiles.tile[t][r], sizeof half);
    for (int j = 0; j < 16; j++) {
        const uint32_t word = (uint32_t)half[2 * j + which] << 16;
        float x;
        memcpy(&x, &word, sizeof x);
        to[j] = t_flushed(x);
    }
}

static inline void t_dot_bf16(int c, int a, int b)
{
    if (!rf__tiles.configured) return;
    float first[16][16], second[16][16];
    for (int p = 0; p < 16; p++) t_widened(first[p], b, p, 0), t_widened(second[p], b, p, 1);
    for (int i = 0; i < 16; i++) {
        float x[16], y[16], even[16] = {0}, odd[16] = {0}, sum[16];
        t_widened(x, a, i, 0), t_widened(y, a, i, 1);
        for (int p = 0; p < 16; p++)
            for (int j = 0; j < 16; j++) {
                even[j] = t_fused(x[p], first[p][j], even[j]);
                odd[j] = t_fused(y[p], second[p][j], odd[j]);
            }
        memcpy(sum, rf__tiles.tile[c][i], sizeof sum);
        for (int j = 0; j < 16; j++) sum[j] = t_flushed(t_flushed(sum[j]) + t_flushed(even[j] + odd[j]));
        memcpy(rf__tiles.tile[c][i], sum, sizeof sum);
    }
    rf__tiles.done.dots++;
}

static inline void t_dot_i8(int c, int a, int b)
{
    if (!rf__tiles.configured) return;
    for (int i = 0; i < 16; i++) {
        int32_t sum[16];
        int8_t x[64];
        memcpy(sum, rf__tiles.tile[c][i], sizeof sum);
        memcpy(x, rf__tiles.tile[a][i], sizeof x);
        for (int p = 0; p < 16; p++) {
            int8_t y[64];
            memcpy(y, rf__tiles.tile[b][p], sizeof y);
            for (int j = 0; j < 16; j++)
                for (int q = 0; q < 4; q++) sum[j] += x[4 * p + q] * y[4 * j + q];
        }
        memcpy(rf__tiles.tile[c][i], sum, sizeof sum);
    }
    rf__tiles.done.dots++;
}

#endif
