/* vec_wasm.h — the vector dialect in WebAssembly's 128-bit vectors (simd128).  vec_avx512.h explains the operations.
 *
 * Results have the bits of vec_sse4.h: as many lanes, the same geometry (VREGS), sums in the same order, no
 * multiply-add and no half types, so that v_fma rounds twice, v_fused goes through doubles, and f16 through integers.
 * Only which NaN an operation returns is left open by WebAssembly. */
#ifndef RF_VEC_H
#define RF_VEC_H

#include <stdint.h>
#include <string.h>
#include <wasm_simd128.h>

#define VW 4
#define VREGS 16
#define V_SPREADS       /* engines spread a number over the lanes in two instructions after its load (gemm.inc) */

typedef v128_t vf;
typedef v128_t vd;
typedef v128_t vi;
typedef v128_t vm;      /* all bits of a true lane are set */

static inline vf v_zero(void) { return wasm_f32x4_const_splat(0); }
static inline vf v_set1(float x) { return wasm_f32x4_splat(x); }
static inline vf v_load(const float *p) { return wasm_v128_load(p); }
static inline void v_store(float *p, vf x) { wasm_v128_store(p, x); }
/* Lane by lane: memcpy of an unknown size is a call. */
static inline vf v_load_n(const float *p, int64_t n)
{
    if (n == VW) return v_load(p);
    vf x = v_zero();
    if (n & 2) x = wasm_v128_load64_zero(p);
    if (n == 3) x = wasm_v128_load32_lane(p + 2, x, 2);
    return n == 1 ? wasm_v128_load32_zero(p) : x;
}
static inline void v_store_n(float *p, vf x, int64_t n)
{
    if (n == VW) v_store(p, x);
    if (n == 2 || n == 3) wasm_v128_store64_lane(p, x, 0);
    if (n == 3) wasm_v128_store32_lane(p + 2, x, 2);
    if (n == 1) wasm_v128_store32_lane(p, x, 0);
}
static inline vf v_keep_n(vf x, int64_t n)
{
    static const uint32_t bits[8] = {~0u, ~0u, ~0u, ~0u, 0, 0, 0, 0};
    return wasm_v128_and(x, wasm_v128_load(bits + 4 - n));
}

static inline vf v_add(vf a, vf b) { return wasm_f32x4_add(a, b); }
static inline vf v_sub(vf a, vf b) { return wasm_f32x4_sub(a, b); }
static inline vf v_mul(vf a, vf b) { return wasm_f32x4_mul(a, b); }
static inline vf v_div(vf a, vf b) { return wasm_f32x4_div(a, b); }
static inline vf v_sqrt(vf a) { return wasm_f32x4_sqrt(a); }
static inline vf v_fma(vf a, vf b, vf c) { return v_add(v_mul(a, b), c); }
static inline vf v_fms(vf a, vf b, vf c) { return v_sub(v_mul(a, b), c); }
static inline vf v_fnma(vf a, vf b, vf c) { return v_sub(c, v_mul(a, b)); }
/* pmax(x, y) is x < y ? y : x, as SSE's instruction with its operands exchanged. */
static inline vf v_max(vf a, vf b) { return wasm_f32x4_pmax(b, a); }
static inline vf v_min(vf a, vf b) { return wasm_f32x4_pmin(b, a); }
static inline vf v_abs(vf a) { return wasm_f32x4_abs(a); }
static inline vf v_neg(vf a) { return wasm_f32x4_neg(a); }
static inline vf v_copysign(vf size, vf sign)
{
    return wasm_v128_bitselect(sign, size, wasm_u32x4_const_splat(0x80000000u));
}
static inline vf v_round(vf a) { return wasm_f32x4_nearest(a); }

/* Rounded to nearest even, for |a| <= 2^22: the sum is in [2^23, 2^24], where the last bit stands for 1.  WebAssembly's
 * own conversion saturates, which takes x86 eight instructions. */
static inline vi v_whole(vf a)
{
    return wasm_i32x4_sub(v_add(a, wasm_f32x4_const_splat(0x1.8p23f)), wasm_i32x4_const_splat(0x4b400000));
}

/* In two steps, because 2^n itself may be too small or too large for a float. */
static inline vf v_scale2(vf a, vf n)
{
    const vi whole = v_whole(n), half = wasm_i32x4_shr(whole, 1), rest = wasm_i32x4_sub(whole, half);
    const vi bias = wasm_i32x4_const_splat(127);
    const vf first = wasm_i32x4_shl(wasm_i32x4_add(half, bias), 23);
    const vf second = wasm_i32x4_shl(wasm_i32x4_add(rest, bias), 23);
    return v_mul(v_mul(a, first), second);
}

static inline vf v_fraction(vf x, vf *whole)              /* down to -151, below which 2^x is 0 */
{
    x = v_max(wasm_f32x4_const_splat(-151), x);
    *whole = wasm_f32x4_floor(x);
    return v_sub(x, *whole);
}

static inline vf v_once(vf a) { return a; }

static inline vm v_lt(vf a, vf b) { return wasm_f32x4_lt(a, b); }
static inline vm v_eq(vf a, vf b) { return wasm_f32x4_eq(a, b); }
static inline vf v_select(vm m, vf a, vf b) { return wasm_v128_bitselect(a, b, m); }
static inline int v_lowest(vm m)
{
    const unsigned bits = wasm_i32x4_bitmask(m);
    return bits ? __builtin_ctz(bits) : -1;
}

static inline vf v_upper(vf a) { return wasm_i64x2_shuffle(a, a, 1, 1); }
static inline float v_sum(vf a)
{
    a = v_add(a, v_upper(a));
    return wasm_f32x4_extract_lane(a, 0) + wasm_f32x4_extract_lane(a, 1);
}
static inline float v_top(vf a)
{
    a = v_max(a, v_upper(a));
    return wasm_f32x4_extract_lane(v_max(a, wasm_i32x4_shuffle(a, a, 1, 1, 3, 3)), 0);
}

/* ---- pairs ---------------------------------------------------------------------------------------------------- */

static inline vf v_swap_pairs(vf a) { return wasm_i32x4_shuffle(a, a, 1, 0, 3, 2); }
static inline vf v_fmaddsub(vf a, vf b, vf c)
{
    return v_add(v_mul(a, b), wasm_v128_xor(c, wasm_f32x4_const(-0.0f, 0, -0.0f, 0)));
}
static inline vf v_twice(vf a) { return wasm_i32x4_shuffle(a, a, 0, 0, 1, 1); }
static inline vf v_load_twice(const float *p) { return v_twice(wasm_v128_load64_zero(p)); }
static inline vf v_load_twice_n(const float *p, int64_t n) { return v_twice(v_load_n(p, (n + 1) / 2)); }

static inline void v_transpose(vf r[VW])
{
    const vf a = wasm_i32x4_shuffle(r[0], r[1], 0, 4, 1, 5), b = wasm_i32x4_shuffle(r[0], r[1], 2, 6, 3, 7);
    const vf c = wasm_i32x4_shuffle(r[2], r[3], 0, 4, 1, 5), d = wasm_i32x4_shuffle(r[2], r[3], 2, 6, 3, 7);
    r[0] = wasm_i64x2_shuffle(a, c, 0, 2);
    r[1] = wasm_i64x2_shuffle(a, c, 1, 3);
    r[2] = wasm_i64x2_shuffle(b, d, 0, 2);
    r[3] = wasm_i64x2_shuffle(b, d, 1, 3);
}

/* ---- doubles --------------------------------------------------------------------------------------------------- */

static inline vd d_zero(void) { return wasm_f64x2_const_splat(0); }
static inline vd d_set1(double x) { return wasm_f64x2_splat(x); }
static inline vd d_low(vf a) { return wasm_f64x2_promote_low_f32x4(a); }
static inline vd d_high(vf a) { return wasm_f64x2_promote_low_f32x4(v_upper(a)); }
static inline vd d_add(vd a, vd b) { return wasm_f64x2_add(a, b); }
static inline vd d_sub(vd a, vd b) { return wasm_f64x2_sub(a, b); }
static inline vd d_fma(vd a, vd b, vd c) { return d_add(wasm_f64x2_mul(a, b), c); }
static inline double d_sum(vd a) { return wasm_f64x2_extract_lane(a, 0) + wasm_f64x2_extract_lane(a, 1); }

/* Two lanes of a b + c rounded once: vec_sse4.h explains it. */
static inline vf v_fused_two(vd a, vd b, vd z)
{
    const vd p = wasm_f64x2_mul(a, b), s = d_add(p, z), t = d_sub(s, p), e = d_add(d_sub(p, d_sub(s, t)), d_sub(z, t));
    const vi one = wasm_i64x2_const_splat(1), inward = wasm_u64x2_shr(wasm_v128_xor(e, s), 63);
    const vi even = wasm_i64x2_sub(wasm_v128_and(s, one), one);
    const vi inexact = wasm_f64x2_gt(wasm_f64x2_abs(e), d_zero());
    const vi step = wasm_i64x2_sub(one, wasm_i64x2_add(inward, inward));
    return wasm_f32x4_demote_f64x2_zero(wasm_i64x2_add(s, wasm_v128_and(step, wasm_v128_and(even, inexact))));
}
static inline vf v_fused(vf a, vf b, vf c)
{
    const vf low = v_fused_two(d_low(a), d_low(b), d_low(c)), high = v_fused_two(d_high(a), d_high(b), d_high(c));
    return wasm_i64x2_shuffle(low, high, 0, 2);
}

/* ---- half types: in the low half of a vector --------------------------------------------------------------------- */

static inline vi v_load_half(const void *p) { return wasm_v128_load64_zero(p); }
static inline void v_store_half(void *p, vi h) { wasm_v128_store64_lane(p, h, 0); }
static inline vi v_halves_n(const uint16_t *p, int64_t n)
{
    uint16_t whole[VW] = {0};
    for (int i = 0; i < n; i++) whole[i] = p[i];
    return v_load_half(whole);
}
static inline void v_put_halves_n(uint16_t *p, vi h, int64_t n)
{
    uint16_t whole[VW];
    v_store_half(whole, h);
    for (int i = 0; i < n; i++) p[i] = whole[i];
}

static inline vf v_bf16(vi h) { return wasm_i32x4_shl(wasm_u32x4_extend_low_u16x8(h), 16); }
static inline vi v_bf16_words(vf a, vi add)
{
    const vi top = wasm_u32x4_shr(a, 16), r = wasm_u32x4_shr(wasm_i32x4_add(a, add), 16);
    return wasm_v128_bitselect(r, wasm_v128_or(top, wasm_i32x4_const_splat(0x40)), v_eq(a, a));
}
static inline vi v_near_bf16(vf a)
{
    const vi odd = wasm_v128_and(wasm_u32x4_shr(a, 16), wasm_i32x4_const_splat(1));
    return v_bf16_words(a, wasm_i32x4_add(wasm_i32x4_const_splat(0x7fff), odd));
}
static inline vi v_narrow(vi low, vi high) { return wasm_u16x8_narrow_i32x4(low, high); }     /* 0 to 65535 */
static inline vi v_to_bf16(vf a)
{
    const vi words = v_near_bf16(a);
    return v_narrow(words, words);
}
static inline vf v_load_bf16(const uint16_t *p) { return v_bf16(v_load_half(p)); }
static inline vf v_load_bf16_n(const uint16_t *p, int64_t n) { return v_bf16(v_halves_n(p, n)); }
static inline void v_store_bf16(uint16_t *p, vf a) { v_store_half(p, v_to_bf16(a)); }
static inline void v_store_bf16_n(uint16_t *p, vf a, int64_t n) { v_put_halves_n(p, v_to_bf16(a), n); }

static inline void v_store_bf16_random(uint16_t *p, vf a, vi random)
{
    const vi words = v_bf16_words(a, wasm_u32x4_shr(random, 16));
    v_store_half(p, v_narrow(words, words));
}

static inline vi v_load_pairs(const uint16_t *p) { return wasm_v128_load(p); }
static inline vi v_set1_pair(const uint16_t *p) { return wasm_v128_load32_splat(p); }
/* The first or the second bf16 of each of VW pairs, widened. */
static inline vf v_first(vi pairs) { return wasm_i32x4_shl(pairs, 16); }
static inline vf v_second(vi pairs) { return wasm_v128_and(pairs, wasm_u32x4_const_splat(0xffff0000u)); }
static inline vf v_first_of_pairs(const uint16_t *p) { return v_first(v_load_pairs(p)); }
static inline vf v_second_of_pairs(const uint16_t *p) { return v_second(v_load_pairs(p)); }
static inline vi v_halves(vf low, vf high) { return v_narrow(v_near_bf16(low), v_near_bf16(high)); }
static inline vi v_pairs(vf first, vf second)
{
    return wasm_v128_or(v_near_bf16(first), wasm_i32x4_shl(v_near_bf16(second), 16));
}
static inline void v_put_words(uint16_t *p, vi words) { wasm_v128_store(p, words); }
static inline void v_store_pairs(uint16_t *p, vf first, vf second) { v_put_words(p, v_pairs(first, second)); }
/* VW elements of each of two bf16 rows: word i holds first_i and second_i. */
static inline vi v_load_two(const uint16_t *first, const uint16_t *second)
{
    return wasm_i16x8_shuffle(v_load_half(first), v_load_half(second), 0, 8, 1, 9, 2, 10, 3, 11);
}
/* Products of two bf16 are exact, so the bits are those of a multiply-add. */
static inline vf v_dot_pairs(vi a, vi b, vf s)
{
    return v_fma(v_first(a), v_first(b), v_fma(v_second(a), v_second(b), s));
}

/* vec_sse4.h explains both directions. */
static inline vf v_f16(vi h)
{
    const vi u = wasm_u32x4_extend_low_u16x8(h), size = wasm_v128_and(u, wasm_i32x4_const_splat(0x7fff)),
             sign = wasm_i32x4_shl(wasm_v128_xor(u, size), 16);
    const vf scaled = v_mul(wasm_i32x4_shl(size, 13), wasm_f32x4_const_splat(0x1p112f));
    const vi special = wasm_v128_and(wasm_i32x4_gt(size, wasm_i32x4_const_splat(0x7bff)),
                                     wasm_i32x4_const_splat(0x7f800000)),
             quiet = wasm_v128_and(wasm_i32x4_gt(size, wasm_i32x4_const_splat(0x7c00)),
                                   wasm_i32x4_const_splat(0x00400000));
    return wasm_v128_or(wasm_v128_or(scaled, sign), wasm_v128_or(special, quiet));
}
static inline vi v_to_f16(vf a)
{
    const vi size = wasm_v128_and(a, wasm_i32x4_const_splat(0x7fffffff)),
             sign = wasm_u32x4_shr(wasm_v128_xor(a, size), 16);
    const vf half = wasm_f32x4_const_splat(0.5f);
    const vi small = wasm_i32x4_sub(v_add(size, half), half), cut = wasm_u32x4_shr(size, 13);
    const vi odd = wasm_v128_and(cut, wasm_i32x4_const_splat(1)),
             round = wasm_i32x4_add(wasm_i32x4_const_splat(0xfff - (112 << 23)), odd),
             usual = wasm_u32x4_shr(wasm_i32x4_add(size, round), 13),
             nan = wasm_v128_or(wasm_i32x4_const_splat(0x7e00), wasm_v128_and(cut, wasm_i32x4_const_splat(0x1ff)));
    vi y = v_select(wasm_i32x4_lt(size, wasm_i32x4_const_splat(0x38800000)), small, usual);
    y = v_select(wasm_i32x4_gt(size, wasm_i32x4_const_splat(0x477fefff)), wasm_i32x4_const_splat(0x7c00), y);
    y = wasm_v128_or(v_select(wasm_i32x4_gt(size, wasm_i32x4_const_splat(0x7f800000)), nan, y), sign);
    return v_narrow(y, y);
}
static inline vf v_load_f16(const uint16_t *p) { return v_f16(v_load_half(p)); }
static inline vf v_load_f16_n(const uint16_t *p, int64_t n) { return v_f16(v_halves_n(p, n)); }
static inline void v_store_f16(uint16_t *p, vf a) { v_store_half(p, v_to_f16(a)); }
static inline void v_store_f16_n(uint16_t *p, vf a, int64_t n) { v_put_halves_n(p, v_to_f16(a), n); }

/* ---- words ------------------------------------------------------------------------------------------------------- */

static inline vi i_set64(uint64_t x) { return wasm_u64x2_splat(x); }
static inline vi i_xor(vi a, vi b) { return wasm_v128_xor(a, b); }
static inline vi i_xor3(vi a, vi b, vi c) { return wasm_v128_xor(wasm_v128_xor(a, b), c); }
static inline vi i_add64(vi a, vi b) { return wasm_i64x2_add(a, b); }
static inline vi i_lows(vi a) { return wasm_i32x4_shuffle(a, a, 0, 2, 0, 2); }
static inline vi i_mul_low(vi a, vi b) { return wasm_u64x2_extmul_low_u32x4(i_lows(a), i_lows(b)); }
static inline vi i_high(vi a) { return wasm_u64x2_shr(a, 32); }
static inline vi i_pack(vi a, vi b) { return wasm_i32x4_shuffle(a, b, 0, 4, 2, 6); }
static inline vi i_steps(int half) { return half ? wasm_i64x2_const(1, 3) : wasm_i64x2_const(0, 2); }

/* w[k] holds word k of counters (0,1,2,3). */
static inline void i_interleave(vi w[4]) { v_transpose(w); }

static inline vm i_at_least(vi a, uint32_t b) { return wasm_u32x4_ge(a, wasm_u32x4_splat(b)); }

/* ---- whole numbers ----------------------------------------------------------------------------------------------- */

static inline vi i_zero(void) { return wasm_i32x4_const_splat(0); }
static inline vi i_bits(vf a) { return a; }
static inline vi i_max(vi a, vi b) { return wasm_u32x4_max(a, b); }
static inline vi i_add(vi a, vi b) { return wasm_i32x4_add(a, b); }
static inline vi i_load(const void *p) { return wasm_v128_load(p); }
static inline void i_store(void *p, vi a) { wasm_v128_store(p, a); }
static inline vi i_set1_word(const void *p) { return wasm_v128_load32_splat(p); }
static inline vf v_from_int(vi a) { return wasm_f32x4_convert_i32x4(a); }
/* Numbers of 2^31 and more, and NaN, become the smallest number, as with SSE's conversion to 32 bits. */
static inline vi v_to_i16(vf a)
{
    const vf least = wasm_f32x4_const_splat(-0x1p15f);
    const vf in = v_select(v_lt(a, wasm_f32x4_const_splat(0x1p31f)), a, least);
    const vi whole = v_whole(v_min(wasm_f32x4_const_splat(0x1p15f), v_max(least, in)));
    return wasm_i16x8_narrow_i32x4(whole, whole);
}
static inline void v_store_i8(int8_t *p, vf a)
{
    const vi halves = v_to_i16(a);
    wasm_v128_store32_lane(p, wasm_i8x16_narrow_i16x8(halves, halves), 0);
}

static inline vf v_load_i8(const int8_t *p)
{
    return v_from_int(wasm_i32x4_extend_low_i16x8(wasm_i16x8_extend_low_i8x16(wasm_v128_load32_zero(p))));
}

/* Words of two, as in vec_avx2.h. */
enum { I8_INTERLEAVE = 2, I8_ZERO = 0 };
typedef int16_t i8_code;
static inline vi i_load_weights(const int8_t *p) { return wasm_i16x8_load8x8(p); }
static inline vi i_dot(vi codes, vi weights, vi s) { return wasm_i32x4_add(s, wasm_i32x4_dot_i16x8(codes, weights)); }
static inline void v_store_codes(i8_code *p, vf a) { v_store_half(p, v_to_i16(a)); }

#include "kernel/isa/vec_math.h"

#endif
