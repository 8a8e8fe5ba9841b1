/* vec_neon.h — the vector dialect in 128-bit Advanced SIMD (AArch64).  vec_avx512.h explains the operations.         */
#ifndef RF_VEC_H
#define RF_VEC_H

#include <arm_neon.h>
#include <stdint.h>
#include <string.h>

#define VW 4
#define VREGS 32

typedef float32x4_t vf;
typedef float64x2_t vd;
typedef uint32x4_t vi;
typedef uint32x4_t vm;      /* all bits of a true lane are set */

static inline vf v_zero(void) { return vdupq_n_f32(0); }
static inline vf v_set1(float x) { return vdupq_n_f32(x); }
static inline vf v_load(const float *p) { return vld1q_f32(p); }
static inline void v_store(float *p, vf x) { vst1q_f32(p, x); }
static inline vf v_load_n(const float *p, int64_t n)
{
    float whole[VW] = {0};
    memcpy(whole, p, (size_t)n * sizeof *p);
    return vld1q_f32(whole);
}
static inline void v_store_n(float *p, vf x, int64_t n)
{
    float whole[VW];
    vst1q_f32(whole, x);
    memcpy(p, whole, (size_t)n * sizeof *p);
}
static inline vf v_keep_n(vf x, int64_t n)
{
    static const uint32_t bits[8] = {~0u, ~0u, ~0u, ~0u, 0, 0, 0, 0};
    return vreinterpretq_f32_u32(vandq_u32(vreinterpretq_u32_f32(x), vld1q_u32(bits + 4 - n)));
}

static inline vf v_add(vf a, vf b) { return vaddq_f32(a, b); }
static inline vf v_sub(vf a, vf b) { return vsubq_f32(a, b); }
static inline vf v_mul(vf a, vf b) { return vmulq_f32(a, b); }
static inline vf v_div(vf a, vf b) { return vdivq_f32(a, b); }
static inline vf v_sqrt(vf a) { return vsqrtq_f32(a); }
static inline vf v_fma(vf a, vf b, vf c) { return vfmaq_f32(c, a, b); }
static inline vf v_fused(vf a, vf b, vf c) { return v_fma(a, b, c); }
static inline vf v_fms(vf a, vf b, vf c) { return vnegq_f32(vfmsq_f32(c, a, b)); }
static inline vf v_fnma(vf a, vf b, vf c) { return vfmsq_f32(c, a, b); }
static inline vf v_max(vf a, vf b) { return vmaxq_f32(a, b); }
static inline vf v_min(vf a, vf b) { return vminq_f32(a, b); }
static inline vf v_abs(vf a) { return vabsq_f32(a); }
static inline vf v_neg(vf a) { return vnegq_f32(a); }
static inline vf v_copysign(vf size, vf sign) { return vbslq_f32(vdupq_n_u32(0x80000000u), sign, size); }
static inline vf v_round(vf a) { return vrndnq_f32(a); }

/* In two steps, because 2^n itself may be too small or too large for a float. */
static inline vf v_scale2(vf a, vf n)
{
    const int32x4_t whole = vcvtq_s32_f32(n), half = vshrq_n_s32(whole, 1), rest = vsubq_s32(whole, half);
    const int32x4_t bias = vdupq_n_s32(127);
    const vf first = vreinterpretq_f32_s32(vshlq_n_s32(vaddq_s32(half, bias), 23));
    const vf second = vreinterpretq_f32_s32(vshlq_n_s32(vaddq_s32(rest, bias), 23));
    return vmulq_f32(vmulq_f32(a, first), second);
}

static inline vf v_fraction(vf x, vf *whole)              /* down to -151, below which 2^x is 0 */
{
    x = v_max(vdupq_n_f32(-151), x);
    *whole = vrndmq_f32(x);
    return vsubq_f32(x, *whole);
}

static inline vf v_once(vf a) { return a; }

static inline vm v_lt(vf a, vf b) { return vcltq_f32(a, b); }
static inline vm v_eq(vf a, vf b) { return vceqq_f32(a, b); }
static inline vf v_select(vm m, vf a, vf b) { return vbslq_f32(m, a, b); }
static inline int v_lowest(vm m)
{
    const uint64_t lanes = vget_lane_u64(vreinterpret_u64_u16(vmovn_u32(m)), 0);
    return lanes ? __builtin_ctzll(lanes) / 16 : -1;
}

static inline float v_sum(vf a)
{
    const float32x2_t h = vadd_f32(vget_low_f32(a), vget_high_f32(a));
    return vget_lane_f32(h, 0) + vget_lane_f32(h, 1);
}
static inline float v_top(vf a) { return vmaxvq_f32(a); }

/* ---- pairs ---------------------------------------------------------------------------------------------------- */

static inline vf v_swap_pairs(vf a) { return vrev64q_f32(a); }
static inline vf v_fmaddsub(vf a, vf b, vf c)
{
    const vi even = vreinterpretq_u32_u64(vdupq_n_u64(0x80000000u));
    return vfmaq_f32(vreinterpretq_f32_u32(veorq_u32(vreinterpretq_u32_f32(c), even)), a, b);
}
static inline vf v_twice(float32x2_t a) { return vcombine_f32(vdup_lane_f32(a, 0), vdup_lane_f32(a, 1)); }
static inline vf v_load_twice(const float *p) { return v_twice(vld1_f32(p)); }
static inline vf v_load_twice_n(const float *p, int64_t n)
{
    float whole[2] = {0};
    memcpy(whole, p, (size_t)((n + 1) / 2) * sizeof *p);
    return v_twice(vld1_f32(whole));
}

static inline void v_transpose(vf r[VW])
{
    const float32x4x2_t a = vtrnq_f32(r[0], r[1]), b = vtrnq_f32(r[2], r[3]);
    r[0] = vcombine_f32(vget_low_f32(a.val[0]), vget_low_f32(b.val[0]));
    r[1] = vcombine_f32(vget_low_f32(a.val[1]), vget_low_f32(b.val[1]));
    r[2] = vcombine_f32(vget_high_f32(a.val[0]), vget_high_f32(b.val[0]));
    r[3] = vcombine_f32(vget_high_f32(a.val[1]), vget_high_f32(b.val[1]));
}

/* ---- doubles --------------------------------------------------------------------------------------------------- */

static inline vd d_zero(void) { return vdupq_n_f64(0); }
static inline vd d_set1(double x) { return vdupq_n_f64(x); }
static inline vd d_low(vf a) { return vcvt_f64_f32(vget_low_f32(a)); }
static inline vd d_high(vf a) { return vcvt_high_f64_f32(a); }
static inline vd d_add(vd a, vd b) { return vaddq_f64(a, b); }
static inline vd d_fma(vd a, vd b, vd c) { return vfmaq_f64(c, a, b); }
static inline double d_sum(vd a) { return vgetq_lane_f64(a, 0) + vgetq_lane_f64(a, 1); }

/* ---- half types: tails go through a whole vector in a local array ------------------------------------------------ */

static inline uint16x4_t v_halves_n(const uint16_t *p, int64_t n)
{
    uint16_t whole[VW] = {0};
    memcpy(whole, p, (size_t)n * sizeof *p);
    return vld1_u16(whole);
}
static inline void v_put_halves_n(uint16_t *p, uint16x4_t h, int64_t n)
{
    uint16_t whole[VW];
    vst1_u16(whole, h);
    memcpy(p, whole, (size_t)n * sizeof *p);
}

static inline vf v_bf16(uint16x4_t h) { return vreinterpretq_f32_u32(vshll_n_u16(h, 16)); }
static inline vi v_bf16_words(vf a, vi add)
{
    const vi u = vreinterpretq_u32_f32(a), r = vshrq_n_u32(vaddq_u32(u, add), 16);
    return vbslq_u32(vceqq_f32(a, a), r, vorrq_u32(vshrq_n_u32(u, 16), vdupq_n_u32(0x40)));
}
#ifdef HAS_BF16                   /* the same bits by an instruction (BFCVTN) */
static inline uint16x4_t v_to_bf16(vf a) { return vreinterpret_u16_bf16(vcvt_bf16_f32(a)); }
static inline vi v_near_bf16(vf a) { return vmovl_u16(v_to_bf16(a)); }
#else
static inline vi v_near_bf16(vf a)
{
    const vi odd = vandq_u32(vshrq_n_u32(vreinterpretq_u32_f32(a), 16), vdupq_n_u32(1));
    return v_bf16_words(a, vaddq_u32(vdupq_n_u32(0x7fff), odd));
}
static inline uint16x4_t v_to_bf16(vf a) { return vmovn_u32(v_near_bf16(a)); }
#endif
static inline vf v_load_bf16(const uint16_t *p) { return v_bf16(vld1_u16(p)); }
static inline vf v_load_bf16_n(const uint16_t *p, int64_t n) { return v_bf16(v_halves_n(p, n)); }
static inline void v_store_bf16(uint16_t *p, vf a) { vst1_u16(p, v_to_bf16(a)); }
static inline void v_store_bf16_n(uint16_t *p, vf a, int64_t n) { v_put_halves_n(p, v_to_bf16(a), n); }

static inline void v_store_bf16_random(uint16_t *p, vf a, vi random)
{
    vst1_u16(p, vmovn_u32(v_bf16_words(a, vshrq_n_u32(random, 16))));
}

static inline vi v_load_pairs(const uint16_t *p) { return vreinterpretq_u32_u16(vld1q_u16(p)); }
static inline vi v_set1_pair(const uint16_t *p)
{
    uint32_t word;
    memcpy(&word, p, sizeof word);
#if defined(HAS_BF16)
    __asm__("" : "+r"(word));       /* gcc 12 writes pairs that it knows as f16 numbers, which this file does not use */
#endif
    return vdupq_n_u32(word);
}
static inline void v_store_pairs(uint16_t *p, vf first, vf second)
{
    vst1q_u16(p, vreinterpretq_u16_u32(vorrq_u32(v_near_bf16(first), vshlq_n_u32(v_near_bf16(second), 16))));
}
static inline vi v_halves(vf low, vf high)
{
    return vreinterpretq_u32_u16(vcombine_u16(v_to_bf16(low), v_to_bf16(high)));
}
static inline vi v_pairs(vf first, vf second)
{
    return vorrq_u32(v_near_bf16(first), vshlq_n_u32(v_near_bf16(second), 16));
}
/* VW elements of each of two bf16 rows: word i holds first_i and second_i. */
static inline vi v_load_two(const uint16_t *first, const uint16_t *second)
{
    return vorrq_u32(vmovl_u16(vld1_u16(first)), vshlq_n_u32(vmovl_u16(vld1_u16(second)), 16));
}
static inline void v_put_words(uint16_t *p, vi words) { vst1q_u16(p, vreinterpretq_u16_u32(words)); }
#ifdef HAS_BF16                   /* BFDOT: isa_neonbf16.c explains its rounding */
static inline vf v_dot_pairs(vi a, vi b, vf s)
{
    return vbfdotq_f32(s, vreinterpretq_bf16_u32(a), vreinterpretq_bf16_u32(b));
}
#else
static inline vf v_dot_pairs(vi a, vi b, vf s)
{
    const vi high = vdupq_n_u32(0xffff0000);
    s = v_fma(vreinterpretq_f32_u32(vandq_u32(a, high)), vreinterpretq_f32_u32(vandq_u32(b, high)), s);
    return v_fma(vreinterpretq_f32_u32(vshlq_n_u32(a, 16)), vreinterpretq_f32_u32(vshlq_n_u32(b, 16)), s);
}
#endif

static inline vf v_f16(uint16x4_t h) { return vcvt_f32_f16(vreinterpret_f16_u16(h)); }
static inline uint16x4_t v_to_f16(vf a) { return vreinterpret_u16_f16(vcvt_f16_f32(a)); }
static inline vf v_load_f16(const uint16_t *p) { return v_f16(vld1_u16(p)); }
static inline vf v_load_f16_n(const uint16_t *p, int64_t n) { return v_f16(v_halves_n(p, n)); }
static inline void v_store_f16(uint16_t *p, vf a) { vst1_u16(p, v_to_f16(a)); }
static inline void v_store_f16_n(uint16_t *p, vf a, int64_t n) { v_put_halves_n(p, v_to_f16(a), n); }

/* ---- words ------------------------------------------------------------------------------------------------------- */

static inline vi i_set64(uint64_t x) { return vreinterpretq_u32_u64(vdupq_n_u64(x)); }
static inline vi i_xor(vi a, vi b) { return veorq_u32(a, b); }
static inline vi i_xor3(vi a, vi b, vi c) { return veorq_u32(veorq_u32(a, b), c); }
static inline vi i_add64(vi a, vi b)
{
    return vreinterpretq_u32_u64(vaddq_u64(vreinterpretq_u64_u32(a), vreinterpretq_u64_u32(b)));
}
static inline vi i_mul_low(vi a, vi b)
{
    return vreinterpretq_u32_u64(vmull_u32(vmovn_u64(vreinterpretq_u64_u32(a)), vmovn_u64(vreinterpretq_u64_u32(b))));
}
static inline vi i_high(vi a) { return vreinterpretq_u32_u64(vshrq_n_u64(vreinterpretq_u64_u32(a), 32)); }
static inline vi i_pack(vi a, vi b) { return vtrn1q_u32(a, b); }
static inline vi i_steps(int half)
{
    static const uint64_t step[2][2] = {{0, 2}, {1, 3}};
    return vreinterpretq_u32_u64(vld1q_u64(step[half]));
}

/* w[k] holds word k of counters (0,1,2,3). */
static inline void i_interleave(vi w[4])
{
    const vi a = vzip1q_u32(w[0], w[1]), b = vzip2q_u32(w[0], w[1]), c = vzip1q_u32(w[2], w[3]),
             d = vzip2q_u32(w[2], w[3]);
    w[0] = vreinterpretq_u32_u64(vzip1q_u64(vreinterpretq_u64_u32(a), vreinterpretq_u64_u32(c)));
    w[1] = vreinterpretq_u32_u64(vzip2q_u64(vreinterpretq_u64_u32(a), vreinterpretq_u64_u32(c)));
    w[2] = vreinterpretq_u32_u64(vzip1q_u64(vreinterpretq_u64_u32(b), vreinterpretq_u64_u32(d)));
    w[3] = vreinterpretq_u32_u64(vzip2q_u64(vreinterpretq_u64_u32(b), vreinterpretq_u64_u32(d)));
}

static inline vm i_at_least(vi a, uint32_t b) { return vcgeq_u32(a, vdupq_n_u32(b)); }

/* ---- whole numbers ----------------------------------------------------------------------------------------------- */

static inline vi i_zero(void) { return vdupq_n_u32(0); }
static inline vi i_bits(vf a) { return vreinterpretq_u32_f32(a); }
static inline vi i_max(vi a, vi b) { return vmaxq_u32(a, b); }
static inline vi i_add(vi a, vi b) { return vaddq_u32(a, b); }
static inline vi i_load(const void *p) { return vreinterpretq_u32_u8(vld1q_u8(p)); }
static inline void i_store(void *p, vi a) { vst1q_u8(p, vreinterpretq_u8_u32(a)); }
static inline vi i_set1_word(const void *p)
{
    uint32_t word;
    memcpy(&word, p, sizeof word);
    return vdupq_n_u32(word);
}
static inline vf v_from_int(vi a) { return vcvtq_f32_s32(vreinterpretq_s32_u32(a)); }
static inline int16x4_t v_to_i16(vf a) { return vqmovn_s32(vcvtnq_s32_f32(a)); }
static inline void v_store_i8(int8_t *p, vf a)
{
    const int16x4_t halves = v_to_i16(a);
    vst1_lane_s32((int32_t *)(void *)p, vreinterpret_s32_s8(vqmovn_s16(vcombine_s16(halves, halves))), 0);
}

static inline vf v_load_i8(const int8_t *p)
{
    int32_t word;
    memcpy(&word, p, sizeof word);
    const int16x4_t halves = vget_low_s16(vmovl_s8(vreinterpret_s8_s32(vdup_n_s32(word))));
    return vcvtq_f32_s32(vmovl_s16(halves));
}

/* Squares, for gemm_squares.inc: 8 bytes of two rows, and the halves of two squares that form a row.  The element type
 * is that of the instruction for which the rung's file is compiled. */
#if defined(HAS_I8MM) || defined(HAS_BF16)
#define V_SQUARES
static inline vi i_two_words(const void *first, const void *second)
{
    return vreinterpretq_u32_u8(vcombine_u8(vld1_u8(first), vld1_u8(second)));
}
static inline vf v_bits(vi a) { return vreinterpretq_f32_u32(a); }
static inline vi i_low_halves(vi a, vi b)
{
    return vreinterpretq_u32_u64(vtrn1q_u64(vreinterpretq_u64_u32(a), vreinterpretq_u64_u32(b)));
}
static inline vi i_high_halves(vi a, vi b)
{
    return vreinterpretq_u32_u64(vtrn2q_u64(vreinterpretq_u64_u32(a), vreinterpretq_u64_u32(b)));
}
#endif
#if defined(HAS_I8MM)
static inline vi i_square(vi a, vi b, vi s)
{
    return vreinterpretq_u32_s32(
        vmmlaq_s32(vreinterpretq_s32_u32(s), vreinterpretq_s8_u32(a), vreinterpretq_s8_u32(b)));
}
#elif defined(HAS_BF16)
static inline vi i_square(vi a, vi b, vi s)
{
    return vreinterpretq_u32_f32(
        vbfmmlaq_f32(vreinterpretq_f32_u32(s), vreinterpretq_bf16_u32(a), vreinterpretq_bf16_u32(b)));
}
#endif

#if defined(HAS_I8MM)
enum { I8_INTERLEAVE = 8, I8_ZERO = 0 };
typedef int8_t i8_code;
static inline void v_store_codes(i8_code *p, vf a) { v_store_i8(p, a); }
#elif defined(HAS_DOT)
enum { I8_INTERLEAVE = 4, I8_ZERO = 0 };
typedef int8_t i8_code;
static inline vi i_load_weights(const int8_t *p) { return i_load(p); }
static inline vi i_dot(vi codes, vi weights, vi s)
{
    return vreinterpretq_u32_s32(
        vdotq_s32(vreinterpretq_s32_u32(s), vreinterpretq_s8_u32(codes), vreinterpretq_s8_u32(weights)));
}
static inline void v_store_codes(i8_code *p, vf a) { v_store_i8(p, a); }
#else
enum { I8_INTERLEAVE = 2, I8_ZERO = 0 };
typedef int16_t i8_code;
static inline vi i_load_weights(const int8_t *p) { return vreinterpretq_u32_s16(vmovl_s8(vld1_s8(p))); }
static inline vi i_dot(vi codes, vi weights, vi s)
{
    const int16x8_t a = vreinterpretq_s16_u32(codes), b = vreinterpretq_s16_u32(weights);
    const int32x4_t low = vmull_s16(vget_low_s16(a), vget_low_s16(b)), high = vmull_high_s16(a, b);
    return vaddq_u32(s, vreinterpretq_u32_s32(vpaddq_s32(low, high)));
}
static inline void v_store_codes(i8_code *p, vf a) { vst1_s16(p, v_to_i16(a)); }
#endif

#include "kernel/isa/vec_math.h"

#endif
