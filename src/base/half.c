/* half.c — bf16 and f16 in plain C, rounding to nearest even.  Vector versions: src/kernel/bodies/convert.inc. */
#include "base.h"

static uint32_t bits_of(float x)
{
    uint32_t u;
    memcpy(&u, &x, sizeof u);
    return u;
}

static float float_of(uint32_t u)
{
    float x;
    memcpy(&x, &u, sizeof x);
    return x;
}

uint16_t rf__bf16(float x)
{
    const uint32_t u = bits_of(x);
    if ((u & 0x7fffffff) > 0x7f800000) return (uint16_t)(u >> 16 | 0x40);        /* NaN stays NaN, made quiet */
    return (uint16_t)((u + 0x7fff + (u >> 16 & 1)) >> 16);
}

float rf__from_bf16(uint16_t x) { return float_of((uint32_t)x << 16); }

uint16_t rf__f16(float x)
{
    const uint32_t u = bits_of(x), sign = u >> 16 & 0x8000, a = u & 0x7fffffff;
    if (a > 0x7f800000) return (uint16_t)(sign | 0x7e00 | (a >> 13 & 0x1ff));    /* NaN */
    if (a >= 0x477ff000) return (uint16_t)(sign | 0x7c00);                       /* 65520 and up: infinity */
    if (a < 0x38800000) {                                                        /* below 2^-14: subnormal */
        const float tiny = float_of(a) + 0.5f;                                   /* the adder rounds at 2^-24 */
        return (uint16_t)(sign | (bits_of(tiny) - 0x3f000000));
    }
    return (uint16_t)(sign | (a - 0x38000000 + 0xfff + (a >> 13 & 1)) >> 13);
}

float rf__from_f16(uint16_t x)
{
    const uint32_t sign = (uint32_t)(x & 0x8000) << 16, e = x >> 10 & 31, m = x & 0x3ff;
    if (e == 31) return float_of(sign | 0x7f800000 | m << 13);
    if (e) return float_of(sign | (e + 112) << 23 | m << 13);
    const float tiny = (float)m * 0x1p-24f;
    return sign ? -tiny : tiny;
}
