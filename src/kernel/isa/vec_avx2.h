/* vec_avx2.h — the vector dialect in 256-bit AVX2 with FMA and F16C.  vec_avx512.h explains the operations.          */
#ifndef RF_VEC_H
#define RF_VEC_H

#include <immintrin.h>
#include <stdint.h>
#include <string.h>

#define VW 8
#define VREGS 16

typedef __m256 vf;
typedef __m256d vd;
typedef __m256i vi;
typedef __m256 vm;      /* all bits of a true lane are set */

static inline vi v_first_n(int64_t n)
{
    static const int32_t bits[16] = {-1, -1, -1, -1, -1, -1, -1, -1, 0, 0, 0, 0, 0, 0, 0, 0};
    return _mm256_loadu_si256((const __m256i *)(bits + 8 - n));
}

static inline vf v_zero(void) { return _mm256_setzero_ps(); }
static inline vf v_set1(float x) { return _mm256_set1_ps(x); }
static inline vf v_load(const float *p) { return _mm256_loadu_ps(p); }
static inline void v_store(float *p, vf x) { _mm256_storeu_ps(p, x); }
static inline vf v_load_n(const float *p, int64_t n) { return _mm256_maskload_ps(p, v_first_n(n)); }
static inline void v_store_n(float *p, vf x, int64_t n) { _mm256_maskstore_ps(p, v_first_n(n), x); }
static inline vf v_keep_n(vf x, int64_t n) { return _mm256_and_ps(x, _mm256_castsi256_ps(v_first_n(n))); }

static inline vf v_add(vf a, vf b) { return _mm256_add_ps(a, b); }
static inline vf v_sub(vf a, vf b) { return _mm256_sub_ps(a, b); }
static inline vf v_mul(vf a, vf b) { return _mm256_mul_ps(a, b); }
static inline vf v_div(vf a, vf b) { return _mm256_div_ps(a, b); }
static inline vf v_sqrt(vf a) { return _mm256_sqrt_ps(a); }
static inline vf v_fma(vf a, vf b, vf c) { return _mm256_fmadd_ps(a, b, c); }
static inline vf v_fused(vf a, vf b, vf c) { return v_fma(a, b, c); }
static inline vf v_fms(vf a, vf b, vf c) { return _mm256_fmsub_ps(a, b, c); }
static inline vf v_fnma(vf a, vf b, vf c) { return _mm256_fnmadd_ps(a, b, c); }
static inline vf v_max(vf a, vf b) { return _mm256_max_ps(a, b); }
static inline vf v_min(vf a, vf b) { return _mm256_min_ps(a, b); }
static inline vf v_abs(vf a) { return _mm256_andnot_ps(_mm256_set1_ps(-0.0f), a); }
static inline vf v_neg(vf a) { return _mm256_xor_ps(a, _mm256_set1_ps(-0.0f)); }
static inline vf v_copysign(vf size, vf sign)
{
    const vf bit = _mm256_set1_ps(-0.0f);
    return _mm256_or_ps(_mm256_andnot_ps(bit, size), _mm256_and_ps(bit, sign));
}
static inline vf v_round(vf a) { return _mm256_round_ps(a, _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC); }

/* In two steps, because 2^n itself may be too small or too large for a float. */
static inline vf v_scale2(vf a, vf n)
{
    const vi whole = _mm256_cvtps_epi32(n), half = _mm256_srai_epi32(whole, 1), rest = _mm256_sub_epi32(whole, half);
    const vi bias = _mm256_set1_epi32(127);
    const vf first = _mm256_castsi256_ps(_mm256_slli_epi32(_mm256_add_epi32(half, bias), 23));
    const vf second = _mm256_castsi256_ps(_mm256_slli_epi32(_mm256_add_epi32(rest, bias), 23));
    return _mm256_mul_ps(_mm256_mul_ps(a, first), second);
}

static inline vf v_fraction(vf x, vf *whole)              /* down to -151, below which 2^x is 0 */
{
    x = v_max(_mm256_set1_ps(-151), x);
    *whole = _mm256_floor_ps(x);
    return _mm256_sub_ps(x, *whole);
}

static inline vf v_once(vf a) { return a; }

static inline vm v_lt(vf a, vf b) { return _mm256_cmp_ps(a, b, _CMP_LT_OQ); }
static inline vm v_eq(vf a, vf b) { return _mm256_cmp_ps(a, b, _CMP_EQ_OQ); }
static inline vf v_select(vm m, vf a, vf b) { return _mm256_blendv_ps(b, a, m); }
static inline int v_lowest(vm m)
{
    const int bits = _mm256_movemask_ps(m);
    return bits ? __builtin_ctz((unsigned)bits) : -1;
}

static inline float v_sum(vf a)
{
    __m128 q = _mm_add_ps(_mm256_castps256_ps128(a), _mm256_extractf128_ps(a, 1));
    q = _mm_add_ps(q, _mm_movehl_ps(q, q));
    return _mm_cvtss_f32(_mm_add_ss(q, _mm_movehdup_ps(q)));
}
static inline float v_top(vf a)
{
    __m128 q = _mm_max_ps(_mm256_castps256_ps128(a), _mm256_extractf128_ps(a, 1));
    q = _mm_max_ps(q, _mm_movehl_ps(q, q));
    return _mm_cvtss_f32(_mm_max_ss(q, _mm_movehdup_ps(q)));
}

/* ---- pairs ---------------------------------------------------------------------------------------------------- */

static inline vf v_swap_pairs(vf a) { return _mm256_permute_ps(a, 0xB1); }
static inline vf v_fmaddsub(vf a, vf b, vf c) { return _mm256_fmaddsub_ps(a, b, c); }
static inline vf v_twice(__m128 a)
{
    return _mm256_set_m128(_mm_unpackhi_ps(a, a), _mm_unpacklo_ps(a, a));
}
static inline vf v_load_twice(const float *p) { return v_twice(_mm_loadu_ps(p)); }
static inline vf v_load_twice_n(const float *p, int64_t n)
{
    return v_twice(_mm_maskload_ps(p, _mm256_castsi256_si128(v_first_n((n + 1) / 2))));
}

static inline void v_transpose(vf r[VW])
{
    vf t[VW];
    for (int i = 0; i < 8; i += 4) {
        const __m256d a = _mm256_castps_pd(_mm256_unpacklo_ps(r[i], r[i + 1]));
        const __m256d b = _mm256_castps_pd(_mm256_unpackhi_ps(r[i], r[i + 1]));
        const __m256d c = _mm256_castps_pd(_mm256_unpacklo_ps(r[i + 2], r[i + 3]));
        const __m256d d = _mm256_castps_pd(_mm256_unpackhi_ps(r[i + 2], r[i + 3]));
        t[i] = _mm256_castpd_ps(_mm256_unpacklo_pd(a, c));
        t[i + 1] = _mm256_castpd_ps(_mm256_unpackhi_pd(a, c));
        t[i + 2] = _mm256_castpd_ps(_mm256_unpacklo_pd(b, d));
        t[i + 3] = _mm256_castpd_ps(_mm256_unpackhi_pd(b, d));
    }
    for (int i = 0; i < 4; i++) {
        r[i] = _mm256_permute2f128_ps(t[i], t[4 + i], 0x20);
        r[4 + i] = _mm256_permute2f128_ps(t[i], t[4 + i], 0x31);
    }
}

/* ---- doubles --------------------------------------------------------------------------------------------------- */

static inline vd d_zero(void) { return _mm256_setzero_pd(); }
static inline vd d_set1(double x) { return _mm256_set1_pd(x); }
static inline vd d_low(vf a) { return _mm256_cvtps_pd(_mm256_castps256_ps128(a)); }
static inline vd d_high(vf a) { return _mm256_cvtps_pd(_mm256_extractf128_ps(a, 1)); }
static inline vd d_add(vd a, vd b) { return _mm256_add_pd(a, b); }
static inline vd d_fma(vd a, vd b, vd c) { return _mm256_fmadd_pd(a, b, c); }
static inline double d_sum(vd a)
{
    const __m128d q = _mm_add_pd(_mm256_castpd256_pd128(a), _mm256_extractf128_pd(a, 1));
    return _mm_cvtsd_f64(_mm_add_sd(q, _mm_unpackhi_pd(q, q)));
}

/* ---- half types: tails go through a whole vector in a local array ------------------------------------------------ */

static inline __m128i v_halves_n(const uint16_t *p, int64_t n)
{
    uint16_t whole[VW] = {0};
    memcpy(whole, p, (size_t)n * sizeof *p);
    return _mm_loadu_si128((const __m128i *)whole);
}
static inline void v_put_halves_n(uint16_t *p, __m128i h, int64_t n)
{
    uint16_t whole[VW];
    _mm_storeu_si128((__m128i *)whole, h);
    memcpy(p, whole, (size_t)n * sizeof *p);
}

static inline vf v_bf16(__m128i h) { return _mm256_castsi256_ps(_mm256_slli_epi32(_mm256_cvtepu16_epi32(h), 16)); }
static inline vi v_bf16_words(vf a, vi add)
{
    const vi u = _mm256_castps_si256(a), top = _mm256_srli_epi32(u, 16),
             r = _mm256_srli_epi32(_mm256_add_epi32(u, add), 16);
    const vi nan = _mm256_castps_si256(_mm256_cmp_ps(a, a, _CMP_UNORD_Q));
    return _mm256_blendv_epi8(r, _mm256_or_si256(top, _mm256_set1_epi32(0x40)), nan);
}
static inline vi v_near_bf16(vf a)
{
    const vi odd = _mm256_and_si256(_mm256_srli_epi32(_mm256_castps_si256(a), 16), _mm256_set1_epi32(1));
    return v_bf16_words(a, _mm256_add_epi32(_mm256_set1_epi32(0x7fff), odd));
}
static inline __m128i v_low_halves(vi w)
{
    return _mm_packus_epi32(_mm256_castsi256_si128(w), _mm256_extracti128_si256(w, 1));
}
static inline __m128i v_to_bf16(vf a) { return v_low_halves(v_near_bf16(a)); }
static inline vf v_load_bf16(const uint16_t *p) { return v_bf16(_mm_loadu_si128((const __m128i *)p)); }
static inline vf v_load_bf16_n(const uint16_t *p, int64_t n) { return v_bf16(v_halves_n(p, n)); }
static inline void v_store_bf16(uint16_t *p, vf a) { _mm_storeu_si128((__m128i *)p, v_to_bf16(a)); }
static inline void v_store_bf16_n(uint16_t *p, vf a, int64_t n) { v_put_halves_n(p, v_to_bf16(a), n); }

static inline void v_store_bf16_random(uint16_t *p, vf a, vi random)
{
    _mm_storeu_si128((__m128i *)p, v_low_halves(v_bf16_words(a, _mm256_srli_epi32(random, 16))));
}

static inline vi v_load_pairs(const uint16_t *p) { return _mm256_loadu_si256((const __m256i *)(const void *)p); }
static inline vi v_set1_pair(const uint16_t *p)
{
    int word;
    memcpy(&word, p, sizeof word);
    return _mm256_set1_epi32(word);
}
/* The first or the second bf16 of each of VW pairs, widened.  A shift would share its port with multiply-adds. */
static inline vf v_first_of_pairs(const uint16_t *p)
{
    const vi to = _mm256_setr_epi8(-1, -1, 0, 1, -1, -1, 4, 5, -1, -1, 8, 9, -1, -1, 12, 13,
                                   -1, -1, 0, 1, -1, -1, 4, 5, -1, -1, 8, 9, -1, -1, 12, 13);
    return _mm256_castsi256_ps(_mm256_shuffle_epi8(v_load_pairs(p), to));
}
static inline vf v_second_of_pairs(const uint16_t *p)
{
    return _mm256_castsi256_ps(_mm256_and_si256(v_load_pairs(p), _mm256_set1_epi32((int)0xffff0000)));
}
static inline void v_store_pairs(uint16_t *p, vf first, vf second)
{
    const vi w = _mm256_or_si256(v_near_bf16(first), _mm256_slli_epi32(v_near_bf16(second), 16));
    _mm256_storeu_si256((__m256i *)(void *)p, w);
}
static inline vi v_halves(vf low, vf high) { return _mm256_set_m128i(v_to_bf16(high), v_to_bf16(low)); }
static inline vi v_pairs(vf first, vf second)
{
    return _mm256_or_si256(v_near_bf16(first), _mm256_slli_epi32(v_near_bf16(second), 16));
}
/* VW elements of each of two bf16 rows: word i holds first_i and second_i. */
static inline vi v_load_two(const uint16_t *first, const uint16_t *second)
{
    const vi low = _mm256_cvtepu16_epi32(_mm_loadu_si128((const __m128i *)(const void *)first)),
             high = _mm256_cvtepu16_epi32(_mm_loadu_si128((const __m128i *)(const void *)second));
    return _mm256_or_si256(low, _mm256_slli_epi32(high, 16));
}
static inline void v_put_words(uint16_t *p, vi words) { _mm256_storeu_si256((__m256i *)(void *)p, words); }
static inline vf v_dot_pairs(vi a, vi b, vf s)
{
    const vi high = _mm256_set1_epi32((int)0xffff0000);
    s = v_fma(_mm256_castsi256_ps(_mm256_and_si256(a, high)), _mm256_castsi256_ps(_mm256_and_si256(b, high)), s);
    return v_fma(_mm256_castsi256_ps(_mm256_slli_epi32(a, 16)), _mm256_castsi256_ps(_mm256_slli_epi32(b, 16)), s);
}

static inline __m128i v_to_f16(vf a) { return _mm256_cvtps_ph(a, _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC); }
static inline vf v_load_f16(const uint16_t *p) { return _mm256_cvtph_ps(_mm_loadu_si128((const __m128i *)p)); }
static inline vf v_load_f16_n(const uint16_t *p, int64_t n) { return _mm256_cvtph_ps(v_halves_n(p, n)); }
static inline void v_store_f16(uint16_t *p, vf a) { _mm_storeu_si128((__m128i *)p, v_to_f16(a)); }
static inline void v_store_f16_n(uint16_t *p, vf a, int64_t n) { v_put_halves_n(p, v_to_f16(a), n); }

/* ---- words ------------------------------------------------------------------------------------------------------- */

static inline vi i_set64(uint64_t x) { return _mm256_set1_epi64x((long long)x); }
static inline vi i_xor(vi a, vi b) { return _mm256_xor_si256(a, b); }
static inline vi i_xor3(vi a, vi b, vi c) { return _mm256_xor_si256(_mm256_xor_si256(a, b), c); }
static inline vi i_add64(vi a, vi b) { return _mm256_add_epi64(a, b); }
static inline vi i_mul_low(vi a, vi b) { return _mm256_mul_epu32(a, b); }
static inline vi i_high(vi a) { return _mm256_srli_epi64(a, 32); }
static inline vi i_pack(vi a, vi b) { return _mm256_blend_epi32(a, _mm256_slli_epi64(b, 32), 0xAA); }
static inline vi i_steps(int half) { return half ? _mm256_setr_epi64x(2, 6, 3, 7) : _mm256_setr_epi64x(0, 4, 1, 5); }

/* w[k] holds word k of counters (0,2,4,6, 1,3,5,7). */
static inline void i_interleave(vi w[4])
{
    const vi a = _mm256_unpacklo_epi32(w[0], w[1]), b = _mm256_unpackhi_epi32(w[0], w[1]);
    const vi c = _mm256_unpacklo_epi32(w[2], w[3]), d = _mm256_unpackhi_epi32(w[2], w[3]);
    w[0] = _mm256_unpacklo_epi64(a, c);
    w[1] = _mm256_unpackhi_epi64(a, c);
    w[2] = _mm256_unpacklo_epi64(b, d);
    w[3] = _mm256_unpackhi_epi64(b, d);
}

static inline vm i_at_least(vi a, uint32_t b)
{
    return _mm256_castsi256_ps(_mm256_cmpeq_epi32(_mm256_max_epu32(a, _mm256_set1_epi32((int)b)), a));
}

/* ---- whole numbers ----------------------------------------------------------------------------------------------- */

static inline vi i_zero(void) { return _mm256_setzero_si256(); }
static inline vi i_bits(vf a) { return _mm256_castps_si256(a); }
static inline vi i_max(vi a, vi b) { return _mm256_max_epu32(a, b); }
static inline vi i_add(vi a, vi b) { return _mm256_add_epi32(a, b); }
static inline vi i_load(const void *p) { return _mm256_loadu_si256(p); }
static inline void i_store(void *p, vi a) { _mm256_storeu_si256(p, a); }
static inline vi i_set1_word(const void *p)
{
    int word;
    memcpy(&word, p, sizeof word);
    return _mm256_set1_epi32(word);
}
static inline vf v_from_int(vi a) { return _mm256_cvtepi32_ps(a); }
static inline __m128i v_to_i16(vf a)
{
    const vi whole = _mm256_cvtps_epi32(a);
    return _mm_packs_epi32(_mm256_castsi256_si128(whole), _mm256_extracti128_si256(whole, 1));
}
static inline void v_store_i8(int8_t *p, vf a)
{
    const __m128i halves = v_to_i16(a);
    _mm_storel_epi64((__m128i *)p, _mm_packs_epi16(halves, halves));
}

static inline vf v_load_i8(const int8_t *p)
{
    return v_from_int(_mm256_cvtepi8_epi32(_mm_loadl_epi64((const __m128i *)p)));
}

#if defined(HAS_VNNI)
enum { I8_INTERLEAVE = 4, I8_ZERO = 128 };
typedef uint8_t i8_code;
static inline vi i_load_weights(const int8_t *p) { return i_load(p); }
static inline vi i_dot(vi codes, vi weights, vi s)
{
#ifdef VNNI_OF_AVX512
    return _mm256_dpbusd_epi32(s, codes, weights);       /* the same in AVX-512's encoding: test_gemm_i8.c's          */
#else
    return _mm256_dpbusd_avx_epi32(s, codes, weights);
#endif
}
static inline void v_store_codes(i8_code *p, vf a)
{
    const __m128i halves = v_to_i16(a), whole = _mm_packs_epi16(halves, halves);
    _mm_storel_epi64((__m128i *)p, _mm_xor_si128(whole, _mm_set1_epi8((char)0x80)));
}
#else
/* Words of two: the instruction for four bytes (vpmaddubsw) saturates in 16 bits. */
enum { I8_INTERLEAVE = 2, I8_ZERO = 0 };
typedef int16_t i8_code;
static inline vi i_load_weights(const int8_t *p) { return _mm256_cvtepi8_epi16(_mm_loadu_si128((const __m128i *)p)); }
static inline vi i_dot(vi codes, vi weights, vi s) { return _mm256_add_epi32(s, _mm256_madd_epi16(codes, weights)); }
static inline void v_store_codes(i8_code *p, vf a) { _mm_storeu_si128((__m128i *)p, v_to_i16(a)); }
#endif

#include "kernel/isa/vec_math.h"

#endif
