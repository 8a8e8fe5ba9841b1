/* vec_sse4.h — the vector dialect in 128-bit SSE4.1, for x86 processors without AVX2.  vec_avx512.h explains the
 * operations.  SSE4.1 has no multiply-add and no half types: v_fma rounds twice, v_fused goes through doubles, and f16
 * through integers. */
#ifndef RF_VEC_H
#define RF_VEC_H

#include <smmintrin.h>
#include <stdint.h>
#include <string.h>

#define VW 4
#define VREGS 16

typedef __m128 vf;
typedef __m128d vd;
typedef __m128i vi;
typedef __m128 vm;      /* all bits of a true lane are set */

static inline vi v_first_n(int64_t n)
{
    static const int32_t bits[8] = {-1, -1, -1, -1, 0, 0, 0, 0};
    return _mm_loadu_si128((const __m128i *)(const void *)(bits + 4 - n));
}

static inline vf v_zero(void) { return _mm_setzero_ps(); }
static inline vf v_set1(float x) { return _mm_set1_ps(x); }
static inline vf v_load(const float *p) { return _mm_loadu_ps(p); }
static inline void v_store(float *p, vf x) { _mm_storeu_ps(p, x); }
static inline vf v_load_n(const float *p, int64_t n)
{
    float whole[VW] = {0};
    memcpy(whole, p, (size_t)n * sizeof *p);
    return _mm_loadu_ps(whole);
}
static inline void v_store_n(float *p, vf x, int64_t n)
{
    float whole[VW];
    _mm_storeu_ps(whole, x);
    memcpy(p, whole, (size_t)n * sizeof *p);
}
static inline vf v_keep_n(vf x, int64_t n) { return _mm_and_ps(x, _mm_castsi128_ps(v_first_n(n))); }

static inline vf v_add(vf a, vf b) { return _mm_add_ps(a, b); }
static inline vf v_sub(vf a, vf b) { return _mm_sub_ps(a, b); }
static inline vf v_mul(vf a, vf b) { return _mm_mul_ps(a, b); }
static inline vf v_div(vf a, vf b) { return _mm_div_ps(a, b); }
static inline vf v_sqrt(vf a) { return _mm_sqrt_ps(a); }
static inline vf v_fma(vf a, vf b, vf c) { return _mm_add_ps(_mm_mul_ps(a, b), c); }
static inline vf v_fms(vf a, vf b, vf c) { return _mm_sub_ps(_mm_mul_ps(a, b), c); }
static inline vf v_fnma(vf a, vf b, vf c) { return _mm_sub_ps(c, _mm_mul_ps(a, b)); }
static inline vf v_max(vf a, vf b) { return _mm_max_ps(a, b); }
static inline vf v_min(vf a, vf b) { return _mm_min_ps(a, b); }
static inline vf v_abs(vf a) { return _mm_andnot_ps(_mm_set1_ps(-0.0f), a); }
static inline vf v_neg(vf a) { return _mm_xor_ps(a, _mm_set1_ps(-0.0f)); }
static inline vf v_copysign(vf size, vf sign)
{
    const vf bit = _mm_set1_ps(-0.0f);
    return _mm_or_ps(_mm_andnot_ps(bit, size), _mm_and_ps(bit, sign));
}
static inline vf v_round(vf a) { return _mm_round_ps(a, _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC); }

/* In two steps, because 2^n itself may be too small or too large for a float. */
static inline vf v_scale2(vf a, vf n)
{
    const vi whole = _mm_cvtps_epi32(n), half = _mm_srai_epi32(whole, 1), rest = _mm_sub_epi32(whole, half);
    const vi bias = _mm_set1_epi32(127);
    const vf first = _mm_castsi128_ps(_mm_slli_epi32(_mm_add_epi32(half, bias), 23));
    const vf second = _mm_castsi128_ps(_mm_slli_epi32(_mm_add_epi32(rest, bias), 23));
    return _mm_mul_ps(_mm_mul_ps(a, first), second);
}

static inline vf v_fraction(vf x, vf *whole)              /* down to -151, below which 2^x is 0 */
{
    x = v_max(_mm_set1_ps(-151), x);
    *whole = _mm_floor_ps(x);
    return _mm_sub_ps(x, *whole);
}

static inline vf v_once(vf a) { return a; }

static inline vm v_lt(vf a, vf b) { return _mm_cmplt_ps(a, b); }
static inline vm v_eq(vf a, vf b) { return _mm_cmpeq_ps(a, b); }
static inline vf v_select(vm m, vf a, vf b) { return _mm_blendv_ps(b, a, m); }
static inline int v_lowest(vm m)
{
    const int bits = _mm_movemask_ps(m);
    return bits ? __builtin_ctz((unsigned)bits) : -1;
}

static inline float v_sum(vf a)
{
    a = _mm_add_ps(a, _mm_movehl_ps(a, a));
    return _mm_cvtss_f32(_mm_add_ss(a, _mm_movehdup_ps(a)));
}
static inline float v_top(vf a)
{
    a = _mm_max_ps(a, _mm_movehl_ps(a, a));
    return _mm_cvtss_f32(_mm_max_ss(a, _mm_movehdup_ps(a)));
}

/* ---- pairs ---------------------------------------------------------------------------------------------------- */

static inline vf v_swap_pairs(vf a) { return _mm_shuffle_ps(a, a, 0xB1); }
static inline vf v_fmaddsub(vf a, vf b, vf c) { return _mm_addsub_ps(_mm_mul_ps(a, b), c); }
static inline vf v_load_twice_n(const float *p, int64_t n)
{
    float whole[VW] = {0};
    memcpy(whole, p, (size_t)((n + 1) / 2) * sizeof *p);
    const vf a = _mm_loadu_ps(whole);
    return _mm_unpacklo_ps(a, a);
}
static inline vf v_load_twice(const float *p) { return v_load_twice_n(p, VW); }

static inline void v_transpose(vf r[VW]) { _MM_TRANSPOSE4_PS(r[0], r[1], r[2], r[3]); }

/* ---- doubles --------------------------------------------------------------------------------------------------- */

static inline vd d_zero(void) { return _mm_setzero_pd(); }
static inline vd d_set1(double x) { return _mm_set1_pd(x); }
static inline vd d_low(vf a) { return _mm_cvtps_pd(a); }
static inline vd d_high(vf a) { return _mm_cvtps_pd(_mm_movehl_ps(a, a)); }
static inline vd d_add(vd a, vd b) { return _mm_add_pd(a, b); }
static inline vd d_fma(vd a, vd b, vd c) { return _mm_add_pd(_mm_mul_pd(a, b), c); }
static inline double d_sum(vd a) { return _mm_cvtsd_f64(_mm_add_sd(a, _mm_unpackhi_pd(a, a))); }

/* Two lanes of a b + c rounded once.  The product of two floats is exact in double.  If its sum with c is not exact, an
 * even last bit is made odd, so that the second rounding, to float, does not see a false tie. */
static inline __m128 v_fused_low(__m128 a, __m128 b, __m128 c)
{
    const vd p = _mm_mul_pd(d_low(a), d_low(b)), z = d_low(c), s = _mm_add_pd(p, z), t = _mm_sub_pd(s, p);
    const vd e = _mm_add_pd(_mm_sub_pd(p, _mm_sub_pd(s, t)), _mm_sub_pd(z, t));
    const __m128i one = _mm_set1_epi64x(1), bits = _mm_castpd_si128(s);
    const __m128i inward = _mm_srli_epi64(_mm_castpd_si128(_mm_xor_pd(e, s)), 63);
    const __m128i even = _mm_sub_epi64(_mm_and_si128(bits, one), one);
    const __m128i inexact = _mm_castpd_si128(_mm_cmplt_pd(_mm_setzero_pd(), _mm_andnot_pd(_mm_set1_pd(-0.0), e)));
    const __m128i step = _mm_sub_epi64(one, _mm_add_epi64(inward, inward));
    return _mm_cvtpd_ps(_mm_castsi128_pd(_mm_add_epi64(bits, _mm_and_si128(step, _mm_and_si128(even, inexact)))));
}
static inline vf v_fused(vf a, vf b, vf c)
{
    return _mm_movelh_ps(v_fused_low(a, b, c),
                         v_fused_low(_mm_movehl_ps(a, a), _mm_movehl_ps(b, b), _mm_movehl_ps(c, c)));
}

/* ---- half types: in the low half of a vector; tails go through a whole one in a local array ---------------------- */

static inline __m128i v_halves_n(const uint16_t *p, int64_t n)
{
    uint16_t whole[2 * VW] = {0};
    memcpy(whole, p, (size_t)n * sizeof *p);
    return _mm_loadu_si128((const __m128i *)(const void *)whole);
}
static inline void v_put_halves_n(uint16_t *p, __m128i h, int64_t n)
{
    uint16_t whole[2 * VW];
    _mm_storeu_si128((__m128i *)(void *)whole, h);
    memcpy(p, whole, (size_t)n * sizeof *p);
}
static inline __m128i v_load_half(const void *p) { return _mm_loadl_epi64((const __m128i *)p); }
static inline void v_store_half(void *p, __m128i h) { _mm_storel_epi64((__m128i *)p, h); }

static inline vf v_bf16(__m128i h) { return _mm_castsi128_ps(_mm_slli_epi32(_mm_cvtepu16_epi32(h), 16)); }
static inline vi v_bf16_words(vf a, vi add)
{
    const vi u = _mm_castps_si128(a), top = _mm_srli_epi32(u, 16), r = _mm_srli_epi32(_mm_add_epi32(u, add), 16);
    const vi nan = _mm_castps_si128(_mm_cmpunord_ps(a, a));
    return _mm_blendv_epi8(r, _mm_or_si128(top, _mm_set1_epi32(0x40)), nan);
}
static inline vi v_near_bf16(vf a)
{
    const vi odd = _mm_and_si128(_mm_srli_epi32(_mm_castps_si128(a), 16), _mm_set1_epi32(1));
    return v_bf16_words(a, _mm_add_epi32(_mm_set1_epi32(0x7fff), odd));
}
static inline __m128i v_to_bf16(vf a)
{
    const vi words = v_near_bf16(a);
    return _mm_packus_epi32(words, words);
}
static inline vf v_load_bf16(const uint16_t *p) { return v_bf16(v_load_half(p)); }
static inline vf v_load_bf16_n(const uint16_t *p, int64_t n) { return v_bf16(v_halves_n(p, n)); }
static inline void v_store_bf16(uint16_t *p, vf a) { v_store_half(p, v_to_bf16(a)); }
static inline void v_store_bf16_n(uint16_t *p, vf a, int64_t n) { v_put_halves_n(p, v_to_bf16(a), n); }

static inline void v_store_bf16_random(uint16_t *p, vf a, vi random)
{
    const vi words = v_bf16_words(a, _mm_srli_epi32(random, 16));
    v_store_half(p, _mm_packus_epi32(words, words));
}

static inline vi v_load_pairs(const uint16_t *p) { return _mm_loadu_si128((const __m128i *)(const void *)p); }
static inline vi v_set1_pair(const uint16_t *p)
{
    int word;
    memcpy(&word, p, sizeof word);
    return _mm_set1_epi32(word);
}
/* The first or the second bf16 of each of VW pairs, widened. */
static inline vf v_first_of_pairs(const uint16_t *p) { return _mm_castsi128_ps(_mm_slli_epi32(v_load_pairs(p), 16)); }
static inline vf v_second_of_pairs(const uint16_t *p)
{
    return _mm_castsi128_ps(_mm_and_si128(v_load_pairs(p), _mm_set1_epi32((int)0xffff0000)));
}
static inline vi v_halves(vf low, vf high) { return _mm_packus_epi32(v_near_bf16(low), v_near_bf16(high)); }
static inline vi v_pairs(vf first, vf second)
{
    return _mm_or_si128(v_near_bf16(first), _mm_slli_epi32(v_near_bf16(second), 16));
}
static inline void v_put_words(uint16_t *p, vi words) { _mm_storeu_si128((__m128i *)(void *)p, words); }
static inline void v_store_pairs(uint16_t *p, vf first, vf second) { v_put_words(p, v_pairs(first, second)); }
/* VW elements of each of two bf16 rows: word i holds first_i and second_i. */
static inline vi v_load_two(const uint16_t *first, const uint16_t *second)
{
    return _mm_unpacklo_epi16(v_load_half(first), v_load_half(second));
}
/* Products of two bf16 are exact, so the bits are those of a multiply-add. */
static inline vf v_dot_pairs(vi a, vi b, vf s)
{
    const vi high = _mm_set1_epi32((int)0xffff0000);
    s = v_fma(_mm_castsi128_ps(_mm_and_si128(a, high)), _mm_castsi128_ps(_mm_and_si128(b, high)), s);
    return v_fma(_mm_castsi128_ps(_mm_slli_epi32(a, 16)), _mm_castsi128_ps(_mm_slli_epi32(b, 16)), s);
}

/* The 15 bits below the sign, shifted to their position in f32, are the number divided by 2^112, subnormals included.
 * Exponent 31 becomes f32's 255, and NaN becomes quiet. */
static inline vf v_f16(__m128i h)
{
    const vi u = _mm_cvtepu16_epi32(h), size = _mm_and_si128(u, _mm_set1_epi32(0x7fff)),
             sign = _mm_slli_epi32(_mm_xor_si128(u, size), 16);
    const vf scaled = _mm_mul_ps(_mm_castsi128_ps(_mm_slli_epi32(size, 13)), _mm_set1_ps(0x1p112f));
    const vi special = _mm_and_si128(_mm_cmpgt_epi32(size, _mm_set1_epi32(0x7bff)), _mm_set1_epi32(0x7f800000)),
             quiet = _mm_and_si128(_mm_cmpgt_epi32(size, _mm_set1_epi32(0x7c00)), _mm_set1_epi32(0x00400000));
    return _mm_castsi128_ps(_mm_or_si128(_mm_or_si128(_mm_castps_si128(scaled), sign), _mm_or_si128(special, quiet)));
}

/* To nearest even.  Below 2^-14 the sum with 1/2 leaves a multiple of 2^-24 in the last bits.  From 2^-14 on, 13 bits
 * are rounded away and the bias of the exponent changes by 112.  From 65520 on the result is infinity.  NaN keeps its
 * upper bits. */
static inline __m128i v_to_f16(vf a)
{
    const vi u = _mm_castps_si128(a), size = _mm_and_si128(u, _mm_set1_epi32(0x7fffffff)),
             sign = _mm_srli_epi32(_mm_xor_si128(u, size), 16);
    const vf half = _mm_set1_ps(0.5f);
    const vi small = _mm_sub_epi32(_mm_castps_si128(_mm_add_ps(_mm_castsi128_ps(size), half)), _mm_castps_si128(half));
    const vi odd = _mm_and_si128(_mm_srli_epi32(size, 13), _mm_set1_epi32(1)),
             round = _mm_add_epi32(_mm_set1_epi32(0xfff - (112 << 23)), odd),
             usual = _mm_srli_epi32(_mm_add_epi32(size, round), 13),
             nan = _mm_or_si128(_mm_set1_epi32(0x7e00), _mm_and_si128(_mm_srli_epi32(size, 13), _mm_set1_epi32(0x1ff)));
    vi y = _mm_blendv_epi8(usual, small, _mm_cmplt_epi32(size, _mm_set1_epi32(0x38800000)));
    y = _mm_blendv_epi8(y, _mm_set1_epi32(0x7c00), _mm_cmpgt_epi32(size, _mm_set1_epi32(0x477fefff)));
    y = _mm_or_si128(_mm_blendv_epi8(y, nan, _mm_cmpgt_epi32(size, _mm_set1_epi32(0x7f800000))), sign);
    return _mm_packus_epi32(y, y);
}
static inline vf v_load_f16(const uint16_t *p) { return v_f16(v_load_half(p)); }
static inline vf v_load_f16_n(const uint16_t *p, int64_t n) { return v_f16(v_halves_n(p, n)); }
static inline void v_store_f16(uint16_t *p, vf a) { v_store_half(p, v_to_f16(a)); }
static inline void v_store_f16_n(uint16_t *p, vf a, int64_t n) { v_put_halves_n(p, v_to_f16(a), n); }

/* ---- words ------------------------------------------------------------------------------------------------------- */

static inline vi i_set64(uint64_t x) { return _mm_set1_epi64x((long long)x); }
static inline vi i_xor(vi a, vi b) { return _mm_xor_si128(a, b); }
static inline vi i_xor3(vi a, vi b, vi c) { return _mm_xor_si128(_mm_xor_si128(a, b), c); }
static inline vi i_add64(vi a, vi b) { return _mm_add_epi64(a, b); }
static inline vi i_mul_low(vi a, vi b) { return _mm_mul_epu32(a, b); }
static inline vi i_high(vi a) { return _mm_srli_epi64(a, 32); }
static inline vi i_pack(vi a, vi b) { return _mm_blend_epi16(a, _mm_slli_epi64(b, 32), 0xCC); }
static inline vi i_steps(int half) { return half ? _mm_set_epi64x(3, 1) : _mm_set_epi64x(2, 0); }

/* w[k] holds word k of counters (0,1,2,3). */
static inline void i_interleave(vi w[4])
{
    const vi a = _mm_unpacklo_epi32(w[0], w[1]), b = _mm_unpackhi_epi32(w[0], w[1]);
    const vi c = _mm_unpacklo_epi32(w[2], w[3]), d = _mm_unpackhi_epi32(w[2], w[3]);
    w[0] = _mm_unpacklo_epi64(a, c);
    w[1] = _mm_unpackhi_epi64(a, c);
    w[2] = _mm_unpacklo_epi64(b, d);
    w[3] = _mm_unpackhi_epi64(b, d);
}

static inline vm i_at_least(vi a, uint32_t b)
{
    return _mm_castsi128_ps(_mm_cmpeq_epi32(_mm_max_epu32(a, _mm_set1_epi32((int)b)), a));
}

/* ---- whole numbers ----------------------------------------------------------------------------------------------- */

static inline vi i_zero(void) { return _mm_setzero_si128(); }
static inline vi i_bits(vf a) { return _mm_castps_si128(a); }
static inline vi i_max(vi a, vi b) { return _mm_max_epu32(a, b); }
static inline vi i_add(vi a, vi b) { return _mm_add_epi32(a, b); }
static inline vi i_load(const void *p) { return _mm_loadu_si128(p); }
static inline void i_store(void *p, vi a) { _mm_storeu_si128(p, a); }
static inline vi i_set1_word(const void *p)
{
    int word;
    memcpy(&word, p, sizeof word);
    return _mm_set1_epi32(word);
}
static inline vf v_from_int(vi a) { return _mm_cvtepi32_ps(a); }
static inline __m128i v_to_i16(vf a)
{
    const vi whole = _mm_cvtps_epi32(a);
    return _mm_packs_epi32(whole, whole);
}
static inline void v_store_i8(int8_t *p, vf a)
{
    const __m128i halves = v_to_i16(a);
    const int word = _mm_cvtsi128_si32(_mm_packs_epi16(halves, halves));
    memcpy(p, &word, sizeof word);
}

static inline vf v_load_i8(const int8_t *p)
{
    int word;
    memcpy(&word, p, sizeof word);
    return v_from_int(_mm_cvtepi8_epi32(_mm_cvtsi32_si128(word)));
}

/* Words of two, as in vec_avx2.h. */
enum { I8_INTERLEAVE = 2, I8_ZERO = 0 };
typedef int16_t i8_code;
static inline vi i_load_weights(const int8_t *p) { return _mm_cvtepi8_epi16(v_load_half(p)); }
static inline vi i_dot(vi codes, vi weights, vi s) { return _mm_add_epi32(s, _mm_madd_epi16(codes, weights)); }
static inline void v_store_codes(i8_code *p, vf a) { v_store_half(p, v_to_i16(a)); }

#include "kernel/isa/vec_math.h"

#endif
