/* vec_avx512.h — the vector dialect in 512-bit AVX-512 (F, BW, DQ, VL).
 *
 * The kernel bodies (*.inc) are written once, with these functions; vec_avx2.h and vec_neon.h implement them in other
 * widths.  vec_math.h builds exp, tanh and the normal distribution from them.
 *
 *   vf  VW floats          vd  VW/2 doubles       vi  VW 32-bit words or VW/2 64-bit ones        vm  VW truth values
 *   _n  only the first n lanes are used, 0 <= n <= VW; loads set the others to 0, stores do not write them
 *   v_max(a, b), v_min(a, b) are NaN when b is                                                                       */
#ifndef RF_VEC_H
#define RF_VEC_H

#include <immintrin.h>
#include <stdint.h>
#include <string.h>

#define VW 16           /* floats in a vector      */
#define VREGS 32        /* registers there are     */

typedef __m512 vf;
typedef __m512d vd;
typedef __m512i vi;
typedef __mmask16 vm;

static inline vm v_first_n(int64_t n) { return (vm)((1u << n) - 1u); }

static inline vf v_zero(void) { return _mm512_setzero_ps(); }
static inline vf v_set1(float x) { return _mm512_set1_ps(x); }
static inline vf v_load(const float *p) { return _mm512_loadu_ps(p); }
static inline void v_store(float *p, vf x) { _mm512_storeu_ps(p, x); }
static inline vf v_load_n(const float *p, int64_t n) { return _mm512_maskz_loadu_ps(v_first_n(n), p); }
static inline void v_store_n(float *p, vf x, int64_t n) { _mm512_mask_storeu_ps(p, v_first_n(n), x); }
static inline vf v_keep_n(vf x, int64_t n) { return _mm512_maskz_mov_ps(v_first_n(n), x); }   /* 0 in the others      */

static inline vf v_add(vf a, vf b) { return _mm512_add_ps(a, b); }
static inline vf v_sub(vf a, vf b) { return _mm512_sub_ps(a, b); }
static inline vf v_mul(vf a, vf b) { return _mm512_mul_ps(a, b); }
static inline vf v_div(vf a, vf b) { return _mm512_div_ps(a, b); }
static inline vf v_sqrt(vf a) { return _mm512_sqrt_ps(a); }
static inline vf v_fma(vf a, vf b, vf c) { return _mm512_fmadd_ps(a, b, c); }   /* a b + c, rounded twice at most   */
static inline vf v_fused(vf a, vf b, vf c) { return v_fma(a, b, c); }                /* a b + c, rounded once         */
static inline vf v_fms(vf a, vf b, vf c) { return _mm512_fmsub_ps(a, b, c); }        /* a b - c */
static inline vf v_fnma(vf a, vf b, vf c) { return _mm512_fnmadd_ps(a, b, c); }      /* c - a b */
static inline vf v_max(vf a, vf b) { return _mm512_max_ps(a, b); }
static inline vf v_min(vf a, vf b) { return _mm512_min_ps(a, b); }
static inline vf v_abs(vf a) { return _mm512_abs_ps(a); }
static inline vf v_neg(vf a) { return _mm512_xor_ps(a, _mm512_set1_ps(-0.0f)); }
static inline vf v_copysign(vf size, vf sign)
{
    const vf bit = _mm512_set1_ps(-0.0f);
    return _mm512_or_ps(_mm512_andnot_ps(bit, size), _mm512_and_ps(bit, sign));
}
static inline vf v_round(vf a) { return _mm512_roundscale_ps(a, _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC); }
static inline vf v_scale2(vf a, vf n) { return _mm512_scalef_ps(a, n); }             /* a 2^n, n integral, |n| <= 250 */

/* x - floor(x), and in `n` floor(x) in the form that v_scale2 expects. */
static inline vf v_fraction(vf x, vf *whole)
{
    *whole = x;
    return _mm512_reduce_ps(x, _MM_FROUND_TO_NEG_INF | _MM_FROUND_NO_EXC);
}

/* The same value through a single load.  A compiler may load twice what is used twice, and a second load of 64 bytes is
 * expensive here: rotation takes 147 ns instead of 126 (12 heads of 64, 4 tokens; Zen 4).  Narrower vectors are not
 * affected. */
static inline vf v_once(vf a)
{
    __asm__("" : "+v"(a));
    return a;
}

static inline vm v_lt(vf a, vf b) { return _mm512_cmp_ps_mask(a, b, _CMP_LT_OQ); }
static inline vm v_eq(vf a, vf b) { return _mm512_cmp_ps_mask(a, b, _CMP_EQ_OQ); }
static inline vf v_select(vm m, vf a, vf b) { return _mm512_mask_blend_ps(m, b, a); }         /* m ? a : b            */
static inline int v_lowest(vm m) { return m ? __builtin_ctz(m) : -1; }                        /* first true lane      */

/* Sums in a fixed order; the largest lane. */
static inline float v_sum(vf a)
{
    const __m256 h = _mm256_add_ps(_mm512_castps512_ps256(a), _mm512_extractf32x8_ps(a, 1));
    __m128 q = _mm_add_ps(_mm256_castps256_ps128(h), _mm256_extractf128_ps(h, 1));
    q = _mm_add_ps(q, _mm_movehl_ps(q, q));
    return _mm_cvtss_f32(_mm_add_ss(q, _mm_movehdup_ps(q)));
}
static inline float v_top(vf a)
{
    const __m256 h = _mm256_max_ps(_mm512_castps512_ps256(a), _mm512_extractf32x8_ps(a, 1));
    __m128 q = _mm_max_ps(_mm256_castps256_ps128(h), _mm256_extractf128_ps(h, 1));
    q = _mm_max_ps(q, _mm_movehl_ps(q, q));
    return _mm_cvtss_f32(_mm_max_ss(q, _mm_movehdup_ps(q)));
}

/* ---- pairs: what the rotation needs ---------------------------------------------------------------------------- */

static inline vf v_swap_pairs(vf a) { return _mm512_permute_ps(a, 0xB1); }                    /* a1 a0 a3 a2 ...      */
static inline vf v_fmaddsub(vf a, vf b, vf c) { return _mm512_fmaddsub_ps(a, b, c); }         /* a b -/+ c, even/odd  */
static inline vf v_twice(__m256 a)
{
    const vi at = _mm512_setr_epi32(0, 0, 1, 1, 2, 2, 3, 3, 4, 4, 5, 5, 6, 6, 7, 7);
    return _mm512_permutexvar_ps(at, _mm512_castps256_ps512(a));
}
static inline vf v_load_twice(const float *p) { return v_twice(_mm256_loadu_ps(p)); }         /* p0 p0 p1 p1 ...      */
static inline vf v_load_twice_n(const float *p, int64_t n)                                    /* the first n lanes    */
{
    return v_twice(_mm256_maskz_loadu_ps((__mmask8)((1u << (n + 1) / 2) - 1u), p));
}

/* r[i] lane j becomes r[j] lane i. */
static inline void v_transpose(vf r[VW])
{
    vf t[VW];
    for (int i = 0; i < 16; i += 4) {                    /* 4 x 4 within each 128-bit lane */
        const __m512d a = _mm512_castps_pd(_mm512_unpacklo_ps(r[i], r[i + 1]));
        const __m512d b = _mm512_castps_pd(_mm512_unpackhi_ps(r[i], r[i + 1]));
        const __m512d c = _mm512_castps_pd(_mm512_unpacklo_ps(r[i + 2], r[i + 3]));
        const __m512d d = _mm512_castps_pd(_mm512_unpackhi_ps(r[i + 2], r[i + 3]));
        t[i] = _mm512_castpd_ps(_mm512_unpacklo_pd(a, c));
        t[i + 1] = _mm512_castpd_ps(_mm512_unpackhi_pd(a, c));
        t[i + 2] = _mm512_castpd_ps(_mm512_unpacklo_pd(b, d));
        t[i + 3] = _mm512_castpd_ps(_mm512_unpackhi_pd(b, d));
    }
    for (int i = 0; i < 4; i++) {                        /* then the 4 x 4 lanes */
        const vf a = _mm512_shuffle_f32x4(t[i], t[4 + i], 0x44), b = _mm512_shuffle_f32x4(t[i], t[4 + i], 0xEE);
        const vf c = _mm512_shuffle_f32x4(t[8 + i], t[12 + i], 0x44),
                 d = _mm512_shuffle_f32x4(t[8 + i], t[12 + i], 0xEE);
        r[i] = _mm512_shuffle_f32x4(a, c, 0x88);
        r[4 + i] = _mm512_shuffle_f32x4(a, c, 0xDD);
        r[8 + i] = _mm512_shuffle_f32x4(b, d, 0x88);
        r[12 + i] = _mm512_shuffle_f32x4(b, d, 0xDD);
    }
}

/* ---- doubles ----------------------------------------------------------------------------------------------------- */

static inline vd d_zero(void) { return _mm512_setzero_pd(); }
static inline vd d_set1(double x) { return _mm512_set1_pd(x); }
static inline vd d_low(vf a) { return _mm512_cvtps_pd(_mm512_castps512_ps256(a)); }
static inline vd d_high(vf a) { return _mm512_cvtps_pd(_mm512_extractf32x8_ps(a, 1)); }
static inline vd d_add(vd a, vd b) { return _mm512_add_pd(a, b); }
static inline vd d_fma(vd a, vd b, vd c) { return _mm512_fmadd_pd(a, b, c); }
static inline double d_sum(vd a)
{
    const __m256d h = _mm256_add_pd(_mm512_castpd512_pd256(a), _mm512_extractf64x4_pd(a, 1));
    const __m128d q = _mm_add_pd(_mm256_castpd256_pd128(h), _mm256_extractf128_pd(h, 1));
    return _mm_cvtsd_f64(_mm_add_sd(q, _mm_unpackhi_pd(q, q)));
}

/* ---- half types: VW of them; rounded to nearest even, NaN quiet -------------------------------------------------- */

static inline vf v_bf16(__m256i h) { return _mm512_castsi512_ps(_mm512_slli_epi32(_mm512_cvtepu16_epi32(h), 16)); }
/* bf16 in the low half of each word; `add` is the rounding term: half a unit, or a random fraction of one. */
static inline vi v_bf16_words(vf a, vi add)
{
    const vi u = _mm512_castps_si512(a), r = _mm512_srli_epi32(_mm512_add_epi32(u, add), 16);
    const vm nan = _mm512_cmp_ps_mask(a, a, _CMP_UNORD_Q);
    return _mm512_mask_or_epi32(r, nan, _mm512_srli_epi32(u, 16), _mm512_set1_epi32(0x40));
}
static inline vi v_near_bf16(vf a)
{
    const vi odd = _mm512_and_si512(_mm512_srli_epi32(_mm512_castps_si512(a), 16), _mm512_set1_epi32(1));
    return v_bf16_words(a, _mm512_add_epi32(_mm512_set1_epi32(0x7fff), odd));
}
/* The instruction treats subnormals as zero; here they are rounded like other numbers. */
static inline bool v_has_subnormal(vf a) { return _mm512_fpclass_ps_mask(a, 0x20) != 0; }
static inline __m256i v_to_bf16(vf a)
{
#ifdef HAS_BF16
    if (!v_has_subnormal(a)) return (__m256i)_mm512_cvtneps_pbh(a);
#endif
    return _mm512_cvtepi32_epi16(v_near_bf16(a));
}
static inline vf v_load_bf16(const uint16_t *p) { return v_bf16(_mm256_loadu_si256((const __m256i *)p)); }
static inline vf v_load_bf16_n(const uint16_t *p, int64_t n)
{
    return v_bf16(_mm256_maskz_loadu_epi16(v_first_n(n), p));
}
static inline void v_store_bf16(uint16_t *p, vf a) { _mm256_storeu_si256((__m256i *)p, v_to_bf16(a)); }
static inline void v_store_bf16_n(uint16_t *p, vf a, int64_t n)
{
    _mm256_mask_storeu_epi16(p, v_first_n(n), v_to_bf16(a));
}

/* Rounded up with a probability equal to the fraction that is cut off; `random` holds uniform words. */
static inline void v_store_bf16_random(uint16_t *p, vf a, vi random)
{
    _mm256_storeu_si256((__m256i *)p, _mm512_cvtepi32_epi16(v_bf16_words(a, _mm512_srli_epi32(random, 16))));
}

/* VW pairs of bf16: the first in memory is the low half of a word. */
static inline vi v_load_pairs(const uint16_t *p) { return _mm512_loadu_si512(p); }
static inline vi v_set1_pair(const uint16_t *p)
{
    int word;
    memcpy(&word, p, sizeof word);
    return _mm512_set1_epi32(word);
}
/* The first or the second bf16 of each of VW pairs, widened. */
static inline vf v_first_of_pairs(const uint16_t *p)
{
    return _mm512_castsi512_ps(_mm512_slli_epi32(v_load_pairs(p), 16));
}
static inline vf v_second_of_pairs(const uint16_t *p)
{
    return _mm512_castsi512_ps(_mm512_and_si512(v_load_pairs(p), _mm512_set1_epi32((int)0xffff0000)));
}
/* Words of two bf16 each, rounded to nearest even: 2 VW elements in order, with first_i and second_i in word i.  The
 * instruction replaces subnormals by zeros. */
static inline vi v_halves(vf low, vf high)
{
#ifdef HAS_BF16
    return (vi)_mm512_cvtne2ps_pbh(high, low);
#else
    return _mm512_inserti64x4(_mm512_castsi256_si512(v_to_bf16(low)), v_to_bf16(high), 1);
#endif
}
static inline vi v_pairs(vf first, vf second)
{
#ifdef HAS_BF16
    const vi at = _mm512_add_epi32(_mm512_set1_epi32(0x00100000), _mm512_mullo_epi32(_mm512_set1_epi32(0x00010001),
                  _mm512_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15)));
    return _mm512_permutexvar_epi16(at, v_halves(first, second));
#else
    return _mm512_or_si512(v_near_bf16(first), _mm512_slli_epi32(v_near_bf16(second), 16));
#endif
}
static inline void v_store_pairs(uint16_t *p, vf first, vf second)
{
#ifdef HAS_BF16
    if (!v_has_subnormal(first) && !v_has_subnormal(second)) {
        _mm512_storeu_si512(p, v_pairs(first, second));
        return;
    }
#endif
    _mm512_storeu_si512(p, _mm512_or_si512(v_near_bf16(first), _mm512_slli_epi32(v_near_bf16(second), 16)));
}
/* VW elements of each of two bf16 rows: word i holds first_i and second_i. */
static inline vi v_load_two(const uint16_t *first, const uint16_t *second)
{
    const vi at = _mm512_add_epi32(_mm512_set1_epi32(0x00100000), _mm512_mullo_epi32(_mm512_set1_epi32(0x00010001),
                  _mm512_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15)));
    const vi low = _mm512_castsi256_si512(_mm256_loadu_si256((const __m256i *)first));
    return _mm512_permutexvar_epi16(at, _mm512_inserti64x4(low, _mm256_loadu_si256((const __m256i *)second), 1));
}
static inline void v_put_words(uint16_t *p, vi words) { _mm512_storeu_si512(p, words); }

/* s + a1 b1 + a0 b0, in this order, rounded after each term.  The instruction additionally treats subnormals as
 * zero. */
static inline vf v_dot_pairs(vi a, vi b, vf s)
{
#ifdef HAS_BF16
    return _mm512_dpbf16_ps(s, (__m512bh)a, (__m512bh)b);
#else
    const vi high = _mm512_set1_epi32((int)0xffff0000);
    s = v_fma(_mm512_castsi512_ps(_mm512_and_si512(a, high)), _mm512_castsi512_ps(_mm512_and_si512(b, high)), s);
    return v_fma(_mm512_castsi512_ps(_mm512_slli_epi32(a, 16)), _mm512_castsi512_ps(_mm512_slli_epi32(b, 16)), s);
#endif
}

static inline vf v_load_f16(const uint16_t *p) { return _mm512_cvtph_ps(_mm256_loadu_si256((const __m256i *)p)); }
static inline vf v_load_f16_n(const uint16_t *p, int64_t n)
{
    return _mm512_cvtph_ps(_mm256_maskz_loadu_epi16(v_first_n(n), p));
}
static inline __m256i v_to_f16(vf a) { return _mm512_cvtps_ph(a, _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC); }
static inline void v_store_f16(uint16_t *p, vf a) { _mm256_storeu_si256((__m256i *)p, v_to_f16(a)); }
static inline void v_store_f16_n(uint16_t *p, vf a, int64_t n)
{
    _mm256_mask_storeu_epi16(p, v_first_n(n), v_to_f16(a));
}

/* ---- words: what Philox needs ------------------------------------------------------------------------------------ */

static inline vi i_set64(uint64_t x) { return _mm512_set1_epi64((long long)x); }
static inline vi i_xor(vi a, vi b) { return _mm512_xor_si512(a, b); }
static inline vi i_xor3(vi a, vi b, vi c) { return _mm512_ternarylogic_epi64(a, b, c, 0x96); }
static inline vi i_add64(vi a, vi b) { return _mm512_add_epi64(a, b); }
static inline vi i_mul_low(vi a, vi b) { return _mm512_mul_epu32(a, b); }            /* low 32 x low 32 -> 64, per 64 */
static inline vi i_high(vi a) { return _mm512_srli_epi64(a, 32); }                 /* high word of each 64, moved low */
static inline vi i_pack(vi a, vi b)                                                  /* low words of a even, of b odd */
{
    return _mm512_mask_blend_epi32(0xAAAA, a, _mm512_slli_epi64(b, 32));
}

/* Counters for i_pack and i_interleave: lanes of the first and the second half of the words. */
static inline vi i_steps(int half)
{
    return half ? _mm512_setr_epi64(4, 12, 5, 13, 6, 14, 7, 15) : _mm512_setr_epi64(0, 8, 1, 9, 2, 10, 3, 11);
}

/* w[k] holds word k of counters (0,4,8,12, 1,5,9,13, 2,...); on return w[0], w[1], ... hold all words in order. */
static inline void i_interleave(vi w[4])
{
    const vi a = _mm512_unpacklo_epi32(w[0], w[1]), b = _mm512_unpackhi_epi32(w[0], w[1]);
    const vi c = _mm512_unpacklo_epi32(w[2], w[3]), d = _mm512_unpackhi_epi32(w[2], w[3]);
    w[0] = _mm512_unpacklo_epi64(a, c);
    w[1] = _mm512_unpackhi_epi64(a, c);
    w[2] = _mm512_unpacklo_epi64(b, d);
    w[3] = _mm512_unpackhi_epi64(b, d);
}

static inline vm i_at_least(vi a, uint32_t b) { return _mm512_cmpge_epu32_mask(a, _mm512_set1_epi32((int)b)); }

/* ---- whole numbers: what products in int8 need (gemm_i8.inc) ----------------------------------------------------- */

static inline vi i_zero(void) { return _mm512_setzero_si512(); }
static inline vi i_bits(vf a) { return _mm512_castps_si512(a); }
static inline vi i_max(vi a, vi b) { return _mm512_max_epu32(a, b); }                         /* without sign         */
static inline vi i_add(vi a, vi b) { return _mm512_add_epi32(a, b); }
static inline vi i_load(const void *p) { return _mm512_loadu_si512(p); }
static inline void i_store(void *p, vi a) { _mm512_storeu_si512(p, a); }
static inline vi i_set1_word(const void *p)
{
    int word;
    memcpy(&word, p, sizeof word);
    return _mm512_set1_epi32(word);
}
static inline vf v_from_int(vi a) { return _mm512_cvtepi32_ps(a); }
static inline void v_store_i8(int8_t *p, vf a)                       /* rounded to nearest even, -128..127            */
{
    _mm_storeu_si128((__m128i *)p, _mm512_cvtsepi32_epi8(_mm512_cvtps_epi32(a)));
}

static inline vf v_load_i8(const int8_t *p)
{
    return v_from_int(_mm512_cvtepi8_epi32(_mm_loadu_si128((const __m128i *)p)));
}

/* i_dot multiplies a word of weights with a word of codes: I8_INTERLEAVE terms.  A code is x + I8_ZERO. */
#ifdef HAS_VNNI
enum { I8_INTERLEAVE = 4, I8_ZERO = 128 };
typedef uint8_t i8_code;
static inline vi i_load_weights(const int8_t *p) { return _mm512_loadu_si512(p); }
static inline vi i_dot(vi codes, vi weights, vi s) { return _mm512_dpbusd_epi32(s, codes, weights); }
static inline void v_store_codes(i8_code *p, vf a)
{
    const __m128i whole = _mm512_cvtsepi32_epi8(_mm512_cvtps_epi32(a));
    _mm_storeu_si128((__m128i *)p, _mm_xor_si128(whole, _mm_set1_epi8((char)0x80)));
}
#else
enum { I8_INTERLEAVE = 2, I8_ZERO = 0 };
typedef int16_t i8_code;
static inline vi i_load_weights(const int8_t *p)
{
    return _mm512_cvtepi8_epi16(_mm256_loadu_si256((const __m256i *)p));
}
static inline vi i_dot(vi codes, vi weights, vi s) { return _mm512_add_epi32(s, _mm512_madd_epi16(codes, weights)); }
static inline void v_store_codes(i8_code *p, vf a)
{
    _mm256_storeu_si256((__m256i *)p, _mm512_cvtepi32_epi16(_mm512_cvtps_epi32(a)));
}
#endif

#include "kernel/isa/vec_math.h"

#endif
