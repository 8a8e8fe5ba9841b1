/* peak.c — measures peak rates with multiply-add loops in registers and with plain memory passes.
 *
 * The accumulators are named variables that an empty asm statement declares as changed.  An array of accumulators would
 * go through memory and show a quarter of the rate, and the compiler would remove a loop without the asm.  What runs
 * WebAssembly compiles once more, without it: there only the results, which are stored, keep the loop.               */
#include "base/base.h"
#include "base/system/processor.h"
#include "roformer/kernel/kernels.h"

#if defined(__x86_64__)
#include <immintrin.h>

#include "kernel/isa/vec_amx.h"
#elif defined(__aarch64__)
#include <arm_neon.h>
#elif defined(__wasm32__)
#include <wasm_simd128.h>
#endif

/* Enough chains to hide the latency at two multiply-adds per cycle: bf16 on Zen 5 takes eight cycles, f32 takes four on
 * most processors.  AVX2 has 16 registers.                                                                           */
#define CHAINS_14(X, A)                                     \
    X(a, A) X(b, A) X(c, A) X(d, A) X(e, A) X(f, A) X(g, A) \
    X(h, A) X(i, A) X(j, A) X(k, A) X(l, A) X(m, A) X(o, A)
#define CHAINS_20(X, A) CHAINS_14(X, A) X(p, A) X(q, A) X(s, A) X(t, A) X(u, A) X(w, A)

#define START(v, FIRST) vector v = FIRST;
#define STEP(v, MULTIPLY_ADD) v = MULTIPLY_ADD(v, x);
#define KEEP(v, REGISTER) __asm__ volatile("" : REGISTER(v));
#define END(v, LAST) LAST = v;

/* static double NAME(n): n rounds of v = v x + x on COUNT chains; FLOPS that one MULTIPLY_ADD does. */
#define SPIN(NAME, TARGET, COUNT, TYPE, FIRST, X, MULTIPLY_ADD, REGISTER, FLOPS) \
    TARGET static double NAME(int64_t n)                                         \
    {                                                                            \
        typedef TYPE vector;                                                     \
        const vector x = X;                                                      \
        volatile vector last = x;                                                \
        CHAINS_##COUNT(START, FIRST)                                             \
        for (int64_t r = 0; r < n; r++) {                                        \
            CHAINS_##COUNT(STEP, MULTIPLY_ADD)                                   \
            CHAINS_##COUNT(KEEP, REGISTER)                                       \
        }                                                                        \
        CHAINS_##COUNT(END, last)                                                \
        (void)last;                                                              \
        return (double)(FLOPS) * COUNT * (double)n;                              \
    }

#if defined(__x86_64__)
#define FOR(UNITS) __attribute__((target(UNITS)))
#define FMA_512(v, x) _mm512_fmadd_ps(v, x, x)
#define FMA_256(v, x) _mm256_fmadd_ps(v, x, x)
#define MUL_ADD_128(v, x) _mm_add_ps(_mm_mul_ps(v, x), x)
#define DOT_BF16(v, x) _mm512_dpbf16_ps(v, (__m512bh)(x), (__m512bh)(x))              /* two in each lane */
#define DOT_I8(v, x) _mm512_dpbusd_epi32(v, x, x)                                     /* four in each lane */
#define DOT_I8_256(v, x) _mm256_dpbusd_avx_epi32(v, x, x)
#define DOT_I16_128(v, x) _mm_add_epi32(_mm_madd_epi16(v, x), v)
#define DOT_I16_256(v, x) _mm256_add_epi32(_mm256_madd_epi16(v, x), v)       /* bytes as int16, two a lane */
SPIN(spin_avx512, FOR("avx512f"), 20, __m512, _mm512_set1_ps(1.0F), _mm512_set1_ps(0.5F), FMA_512, "+v", 16 * 2)
SPIN(spin_avx2, FOR("avx2,fma"), 14, __m256, _mm256_set1_ps(1.0F), _mm256_set1_ps(0.5F), FMA_256, "+x", 8 * 2)
SPIN(spin_sse2, , 14, __m128, _mm_set1_ps(1.0F), _mm_set1_ps(0.5F), MUL_ADD_128, "+x", 4 * 2)
SPIN(spin_bf16, FOR("avx512f,avx512bf16"), 20, __m512, _mm512_set1_ps(1.0F), (__m512)_mm512_set1_epi32(0x3e803e80),
     DOT_BF16, "+v", 16 * 4)
SPIN(spin_i8, FOR("avx512f,avx512vnni"), 20, __m512i, _mm512_setzero_si512(), _mm512_set1_epi8(1), DOT_I8, "+v", 16 * 8)
#ifdef RF_NO_AVXVNNI
#define spin_i8_256 NULL
#else
SPIN(spin_i8_256, FOR("avx2,avxvnni"), 14, __m256i, _mm256_setzero_si256(), _mm256_set1_epi8(1), DOT_I8_256, "+x",
     8 * 8)
#endif
SPIN(spin_i16_256, FOR("avx2"), 14, __m256i, _mm256_set1_epi32(1), _mm256_set1_epi16(1), DOT_I16_256, "+x", 8 * 4)
SPIN(spin_i16_128, , 14, __m128i, _mm_set1_epi32(1), _mm_set1_epi16(1), DOT_I16_128, "+x", 4 * 4)

#ifdef RF_NO_AMX
#define spin_tiles_bf16 NULL
#define spin_tiles_i8 NULL
#else
/* Four sums of tiles, as in the kernels (gemm_amx.inc): a product takes 16 cycles, and its sum is ready after 52. */
#define TILE_SPIN(NAME, DOT, FLOPS)                        \
    static double NAME(int64_t n)                          \
    {                                                      \
        t_configure();                                     \
        for (int64_t r = 0; r < n / 16; r++) {             \
            DOT(0, 4, 6);                                  \
            DOT(1, 4, 7);                                  \
            DOT(2, 5, 6);                                  \
            DOT(3, 5, 7);                                  \
        }                                                  \
        t_release();                                       \
        return (double)(FLOPS) * 4 * (double)(n / 16);     \
    }
TILE_SPIN(spin_tiles_bf16, t_dot_bf16, 16 * 16 * 32 * 2)
TILE_SPIN(spin_tiles_i8, t_dot_i8, 16 * 16 * 64 * 2)
#endif
#elif defined(__aarch64__)
#define FMA_128(v, x) vfmaq_f32(x, v, x)
SPIN(spin_neon, , 20, float32x4_t, vdupq_n_f32(1.0F), vdupq_n_f32(0.5F), FMA_128, "+w", 4 * 2)
#define FOR(UNIT) __attribute__((target("arch=armv8.2-a+" UNIT)))
#define SQUARE_BF16(v, x) \
    vreinterpretq_s32_f32(vbfmmlaq_f32(vreinterpretq_f32_s32(v), vreinterpretq_bf16_s32(x), vreinterpretq_bf16_s32(x)))
#define SQUARE_I8(v, x) vmmlaq_s32(v, vreinterpretq_s8_s32(x), vreinterpretq_s8_s32(x))
#define DOT_I8(v, x) vdotq_s32(v, vreinterpretq_s8_s32(x), vreinterpretq_s8_s32(x))
SPIN(spin_bf16, FOR("bf16"), 20, int32x4_t, vdupq_n_s32(0), vdupq_n_s32(0x3e813e81), SQUARE_BF16, "+w", 4 * 8)
SPIN(spin_i8mm, FOR("i8mm"), 20, int32x4_t, vdupq_n_s32(0), vdupq_n_s32(0x01010101), SQUARE_I8, "+w", 4 * 16)
SPIN(spin_i8, FOR("dotprod"), 20, int32x4_t, vdupq_n_s32(0), vdupq_n_s32(0x01010101), DOT_I8, "+w", 4 * 8)
#elif defined(__wasm32__)
#define FOR(UNITS) __attribute__((target(UNITS)))
#define MUL_ADD_128(v, x) wasm_f32x4_add(wasm_f32x4_mul(v, x), x)
#define DOT_I16_128(v, x) wasm_i32x4_add(wasm_i32x4_dot_i16x8(v, x), v)
SPIN(spin_f32, FOR("simd128"), 14, v128_t, wasm_f32x4_splat(1.0F), wasm_f32x4_splat(0.5F), MUL_ADD_128, "+r", 4 * 2)
SPIN(spin_i16, FOR("simd128"), 14, v128_t, wasm_i32x4_splat(1), wasm_i16x8_splat(1), DOT_I16_128, "+r", 4 * 4)
#else
#define FMA_1(v, x) ((v) * (x) + (x))
SPIN(spin_scalar, , 14, float, 1.0F, 0.5F, FMA_1, "+r", 2)
#endif

#if defined(__x86_64__) || defined(__aarch64__)
/* Whether this processor has `rung`, and the context's rung is at least that one. */
static bool reaches(const rf_ctx *ctx, const char *rung)
{
    const char *name, *lacks;
    bool found = false;
    for (int i = 0; (name = rfk_rung_name(i, &lacks)); i++) {
        if (!strcmp(name, rung)) found = !lacks;
        if (!strcmp(name, ctx->isa)) return found;
    }
    return false;
}
#endif

/* The loop of a type's widest unit that the context may use; NULL: there is none. */
typedef double spin(int64_t n);

static spin *spin_of(const rf_ctx *ctx, rf_type type)
{
#if defined(__x86_64__)
    const bool tiles = !strcmp(ctx->isa, "amx"), widened = ctx->k->gemm_panel_bf16_shape()->widened;
    if (type == RF_BF16) return tiles ? spin_tiles_bf16 : reaches(ctx, "avx512bf16") && !widened ? spin_bf16 : NULL;
    if (type == RF_I8)
        return tiles                        ? spin_tiles_i8
               : reaches(ctx, "avx512vnni") ? spin_i8
               : reaches(ctx, "avxvnni")    ? spin_i8_256
               : reaches(ctx, "avx2")       ? spin_i16_256
                                            : spin_i16_128;
    if (type != RF_F32) return NULL;
    return reaches(ctx, "avx512") ? spin_avx512 : reaches(ctx, "avx2") ? spin_avx2 : spin_sse2;
#elif defined(__aarch64__)
    if (type == RF_BF16) return reaches(ctx, "neonbf16") ? spin_bf16 : NULL;
    if (type == RF_I8) return reaches(ctx, "neoni8mm") ? spin_i8mm : reaches(ctx, "neondot") ? spin_i8 : NULL;
    return type == RF_F32 ? spin_neon : NULL;
#elif defined(__wasm32__)
    (void)ctx;
    return type == RF_F32 ? spin_f32 : type == RF_I8 ? spin_i16 : NULL;
#else
    (void)ctx;
    return type == RF_F32 ? spin_scalar : NULL;
#endif
}

/* Runs `body` on all workers until the time is up; `amount` is the work of one pass. */
typedef struct passes { const rf_ctx *ctx; rf_body *body; void *arg; double amount; } passes;

static double rate(const passes *p, double seconds)
{
    rf__parallel(p->ctx, p->ctx->threads, p->body, p->arg);         /* wakes the workers and touches the pages */
    const double start = rf__seconds();
    double now, done = 0;
    do {
        rf__parallel(p->ctx, p->ctx->threads, p->body, p->arg);
        done += p->amount;
        now = rf__seconds();
    } while (now - start < seconds);
    return done / (now - start);
}

typedef struct spinning { spin *loop; int64_t rounds; } spinning;

static void spin_body(void *arg, int64_t i, int worker)
{
    (void)i, (void)worker;
    const spinning *s = arg;
    s->loop(s->rounds);
}

double rf_peak_of(const rf_ctx *ctx, rf_type type, double seconds)
{
    spinning s = {spin_of(ctx, type), 1 << 17};                            /* about half a millisecond */
    return s.loop ? rate(&(passes){ctx, spin_body, &s, s.loop(s.rounds) * ctx->threads}, seconds) : 0;
}

double rf_peak_flops(const rf_ctx *ctx, double seconds) { return rf_peak_of(ctx, RF_F32, seconds); }

/* ---- memory ------------------------------------------------------------------------------------------------------ */

typedef struct buffer { uint64_t *from, *to; size_t words; int shares; uint64_t *sink; } buffer;

static void span(const buffer *b, int64_t i, size_t *first, size_t *last)
{
    const size_t step = b->words / (size_t)b->shares / 64 * 64;
    *first = (size_t)i * step;
    *last = i + 1 == b->shares ? b->words : *first + step;
}

static inline __attribute__((always_inline)) uint64_t fold_words(const uint64_t *from, size_t n)
{
    typedef uint64_t wide __attribute__((vector_size(32), may_alias));
    wide s0 = {0}, s1 = {0}, s2 = {0}, s3 = {0};
    const wide *p = (const wide *)(const void *)from;
    for (size_t i = 0; i + 4 <= n / 4; i += 4) s0 ^= p[i], s1 ^= p[i + 1], s2 ^= p[i + 2], s3 ^= p[i + 3];
    s0 ^= s1 ^ s2 ^ s3;
    return s0[0] ^ s0[1] ^ s0[2] ^ s0[3];
}

#if defined(__x86_64__)
FOR("avx2") static uint64_t fold_avx2(const uint64_t *from, size_t n) { return fold_words(from, n); }
#endif

static uint64_t fold(const uint64_t *from, size_t n)
{
#if defined(__x86_64__)
    if (rf__processor_has("avx2")) return fold_avx2(from, n);
#endif
    return fold_words(from, n);
}

static void read_body(void *arg, int64_t i, int worker)
{
    (void)worker;
    buffer *b = arg;
    size_t first, last;
    span(b, i, &first, &last);
    b->sink[i * 8] += fold(b->from + first, last - first);
}

static void copy_body(void *arg, int64_t i, int worker)
{
    (void)worker;
    buffer *b = arg;
    size_t first, last;
    span(b, i, &first, &last);
    memcpy(b->to + first, b->from + first, (last - first) * sizeof *b->to);
}

static double memory(const rf_ctx *ctx, size_t bytes, double seconds, bool copy)
{
    const size_t half = bytes / 2 / 64 * 64;
    char *block = rf__alloc(ctx, 2 * half + 64);
    uint64_t *sink = rf__calloc(ctx, (size_t)ctx->threads, 64);
    double result = -1;
    if (block && sink) {
        memset(block, 1, 2 * half);
        buffer b = {(uint64_t *)(void *)block, (uint64_t *)(void *)(block + half), (copy ? half : 2 * half) / 8,
                    ctx->threads, sink};
        result = rate(&(passes){ctx, copy ? copy_body : read_body, &b, (double)(2 * half)}, seconds);
    }
    rf__free(ctx, sink);
    rf__free(ctx, block);
    return result;
}

double rf_peak_read(const rf_ctx *ctx, size_t bytes, double seconds) { return memory(ctx, bytes, seconds, false); }
double rf_peak_copy(const rf_ctx *ctx, size_t bytes, double seconds) { return memory(ctx, bytes, seconds, true); }
