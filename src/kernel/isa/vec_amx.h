/* vec_amx.h — the dialect of tiles, in AMX: tile, bf16 and int8.
 *
 * The kernel bodies (gemm/gemm_amx.inc) are written once, with these eleven operations; vec_amx_emulated.h implements
 * them in plain C.  A tile has 16 rows of 64 bytes; t, c, a, b are literal numbers 0..7.
 *
 *   t_configured()           whether the calling thread's tiles are all of that size
 *   t_configure()            makes them so, all zeros
 *   t_release()              gives them back
 *   t_multiply_add(a, b, c)  a b + c, rounded once
 *   t_zero(t)
 *   t_load(t, from, stride)  row r from `from` + r stride bytes
 *   t_pass(t, from, stride)  t_load of what is read once, or again only after much else: it does not push what is read
 *                            again out of the first-level cache
 *   t_store(t, to, stride)
 *   t_dot_bf16(c, a, b)      c[i,j] += sum_p a[i,2p] b[p,2j] + a[i,2p+1] b[p,2j+1]        p < 16; f32 += bf16 bf16
 *   t_dot_i8(c, a, b)        c[i,j] += sum_p,q a[i,4p+q] b[p,4j+q]                        q < 4; int32 += int8 int8
 *   t_halves(to, from)       *to = bf16(*from): 16 numbers in vectors of GNU C, rounded to nearest even, as t_dot_bf16
 *                            reads them: subnormal numbers become 0, a NaN stays a NaN
 *   t_widen(to, from)        *to = f32(*from): 16 numbers of bf16
 *
 * This uses inline assembly, because GCC's intrinsics for loads (at least up to version 12) do not declare that they
 * read memory.                                                                                                       */
#ifndef RF_VEC_AMX_H
#define RF_VEC_AMX_H

#include <stdbool.h>
#include <stdint.h>
#include <string.h>

/* The operand of ldtilecfg: palette, first row, bytes of a row and rows of each tile. */
typedef struct t_configuration {
    _Alignas(64) uint8_t palette;
    uint8_t start, zero[14];
    uint16_t bytes[16];
    uint8_t rows[16];
} t_configuration;

static const t_configuration t_ours = {
    .palette = 1,
    .bytes = {64, 64, 64, 64, 64, 64, 64, 64},
    .rows = {16, 16, 16, 16, 16, 16, 16, 16},
};

static inline bool t_configured(void)
{
    t_configuration now;
    uint64_t word[8], ours[8], other = 0;
    __asm__ volatile("sttilecfg %0" : "=m"(now));
    memcpy(word, &now, sizeof word);
    memcpy(ours, &t_ours, sizeof ours);
    for (int i = 0; i < 8; i++) other |= word[i] ^ ours[i];
    return !other;
}

static inline void t_configure(void) { __asm__ volatile("ldtilecfg %0" ::"m"(t_ours)); }
static inline void t_release(void) { __asm__ volatile("tilerelease"); }
static inline float t_multiply_add(float a, float b, float c) { return __builtin_fmaf(a, b, c); }

#define T_TEXT(x) #x
#define T_NAME(t) "%%tmm" T_TEXT(t)
#define t_zero(t) __asm__ volatile("tilezero " T_NAME(t)::)
#define t_load(t, from, stride) \
    __asm__ volatile("tileloadd (%0,%1,1), " T_NAME(t)::"r"(from), "r"((int64_t)(stride)) : "memory")
#define t_pass(t, from, stride) \
    __asm__ volatile("tileloaddt1 (%0,%1,1), " T_NAME(t)::"r"(from), "r"((int64_t)(stride)) : "memory")
#define t_store(t, to, stride) \
    __asm__ volatile("tilestored " T_NAME(t) ", (%0,%1,1)" ::"r"(to), "r"((int64_t)(stride)) : "memory")
#define t_dot_bf16(c, a, b) __asm__ volatile("tdpbf16ps " T_NAME(b) ", " T_NAME(a) ", " T_NAME(c)::)
#define t_dot_i8(c, a, b) __asm__ volatile("tdpbssd " T_NAME(b) ", " T_NAME(a) ", " T_NAME(c)::)
#define t_halves(to, from) __asm__("vcvtneps2bf16 %1, %0" : "=v"(*(to)) : "v"(*(from)))
#define t_widen(to, from) __asm__("vpmovzxwd %1, %0\n\tvpslld $16, %0, %0" : "=v"(*(to)) : "v"(*(from)))

#endif
