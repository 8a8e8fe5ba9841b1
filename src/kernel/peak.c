/* peak.c — register-only multiply-add loops and plain memory passes.
 *
 * The accumulators are named variables that an empty asm statement claims to change: an array of them goes through
 * memory and shows a quarter of the truth, and a loop without the asm is folded away.                                */
#include "base/base.h"
#include "roformer/work.h"

#if defined(__x86_64__)
#include <immintrin.h>
#elif defined(__aarch64__)
#include <arm_neon.h>
#endif

/* Twelve chains hide a latency of 4-6 cycles at two multiply-adds a cycle. */
#define CHAINS(X) X(a) X(b) X(c) X(d) X(e) X(f) X(g) X(h) X(i) X(j) X(k) X(l)
enum { CHAIN_COUNT = 12 };

#define KEEP_X86(v) __asm__ volatile("" : "+v"(v));

#if defined(__x86_64__)
__attribute__((target("avx512f"))) static double spin_avx512(int64_t n)
{
#define START(v) __m512 v = _mm512_set1_ps(1.0F);
#define STEP(v) v = _mm512_fmadd_ps(v, x, y);
    __m512 x = _mm512_set1_ps(0.5F), y = _mm512_set1_ps(0.5F);
    CHAINS(START)
    for (int64_t r = 0; r < n; r++) {
        CHAINS(STEP)
        CHAINS(KEEP_X86)
    }
    return 16.0 * 2 * CHAIN_COUNT * (double)n;
#undef START
#undef STEP
}

/* Two multiply-adds of bf16 numbers in each lane. */
__attribute__((target("avx512f,avx512bf16"))) static double spin_bf16(int64_t n)
{
#define START(v) __m512 v = _mm512_set1_ps(1.0F);
#define STEP(v) v = _mm512_dpbf16_ps(v, x, y);
    const __m512bh x = (__m512bh)_mm512_set1_epi32(0x3e803e80), y = x;              /* 1/4 each */
    CHAINS(START)
    for (int64_t r = 0; r < n; r++) {
        CHAINS(STEP)
        CHAINS(KEEP_X86)
    }
    return 16.0 * 4 * CHAIN_COUNT * (double)n;
#undef START
#undef STEP
}

/* Four multiply-adds of bytes in each lane. */
__attribute__((target("avx512f,avx512vnni"))) static double spin_i8(int64_t n)
{
#define START(v) __m512i v = _mm512_setzero_si512();
#define STEP(v) v = _mm512_dpbusd_epi32(v, x, x);
    const __m512i x = _mm512_set1_epi8(1);
    CHAINS(START)
    for (int64_t r = 0; r < n; r++) {
        CHAINS(STEP)
        CHAINS(KEEP_X86)
    }
    return 16.0 * 8 * CHAIN_COUNT * (double)n;
#undef START
#undef STEP
}

__attribute__((target("avx2,fma"))) static double spin_avx2(int64_t n)
{
#define START(v) __m256 v = _mm256_set1_ps(1.0F);
#define STEP(v) v = _mm256_fmadd_ps(v, x, y);
#define KEEP(v) __asm__ volatile("" : "+x"(v));
    __m256 x = _mm256_set1_ps(0.5F), y = _mm256_set1_ps(0.5F);
    CHAINS(START)
    for (int64_t r = 0; r < n; r++) {
        CHAINS(STEP)
        CHAINS(KEEP)
    }
    return 8.0 * 2 * CHAIN_COUNT * (double)n;
#undef START
#undef STEP
#undef KEEP
}
#elif defined(__aarch64__)
static double spin_neon(int64_t n)
{
#define START(v) float32x4_t v = vdupq_n_f32(1.0F);
#define STEP(v) v = vfmaq_f32(y, v, x);
#define KEEP(v) __asm__ volatile("" : "+w"(v));
    float32x4_t x = vdupq_n_f32(0.5F), y = vdupq_n_f32(0.5F);
    CHAINS(START)
    for (int64_t r = 0; r < n; r++) {
        CHAINS(STEP)
        CHAINS(KEEP)
    }
    return 4.0 * 2 * CHAIN_COUNT * (double)n;
#undef START
#undef STEP
#undef KEEP
}
#else
static double spin_scalar(int64_t n)
{
#define START(v) float v = 1.0F;
#define STEP(v) v = v * x + y;
#define KEEP(v) __asm__ volatile("" : "+r"(v));
    float x = 0.5F, y = 0.5F;
    CHAINS(START)
    for (int64_t r = 0; r < n; r++) {
        CHAINS(STEP)
        CHAINS(KEEP)
    }
    return 2.0 * CHAIN_COUNT * (double)n;
#undef START
#undef STEP
#undef KEEP
}
#endif

static double spin(int64_t n)
{
#if defined(__x86_64__)
    if (__builtin_cpu_supports("avx512f")) return spin_avx512(n);
    if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma")) return spin_avx2(n);
    return 0;
#elif defined(__aarch64__)
    return spin_neon(n);
#else
    return spin_scalar(n);
#endif
}

/* Passes of `body` over all workers until the time is up; `amount` is what one pass does. */
typedef struct passes { const rf_ctx *ctx; rf_body *body; void *arg; double amount; } passes;

static double rate(const passes *p, double seconds)
{
    rf__parallel(p->ctx, p->ctx->threads, p->body, p->arg);         /* wakes the workers, touches the pages */
    const double start = rf__seconds();
    double now, done = 0;
    do {
        rf__parallel(p->ctx, p->ctx->threads, p->body, p->arg);
        done += p->amount;
        now = rf__seconds();
    } while (now - start < seconds);
    return done / (now - start);
}

static void spin_body(void *arg, int64_t i, int worker)
{
    (void)i, (void)worker;
    spin(*(const int64_t *)arg);
}

double rf_peak_flops(const rf_ctx *ctx, double seconds)
{
    int64_t n = 1 << 17;                                              /* about half a millisecond */
    return rate(&(passes){ctx, spin_body, &n, spin(n) * ctx->threads}, seconds);
}

#if defined(__x86_64__)
static void bf16_body(void *arg, int64_t i, int worker)
{
    (void)i, (void)worker;
    spin_bf16(*(const int64_t *)arg);
}

static void i8_body(void *arg, int64_t i, int worker)
{
    (void)i, (void)worker;
    spin_i8(*(const int64_t *)arg);
}
#endif

double rf_peak_of(const rf_ctx *ctx, rf_type type, double seconds)
{
    if (type == RF_F32) return rf_peak_flops(ctx, seconds);
#if defined(__x86_64__)
    int64_t n = 1 << 17;
    if (type == RF_BF16 && __builtin_cpu_supports("avx512bf16"))
        return rate(&(passes){ctx, bf16_body, &n, spin_bf16(n) * ctx->threads}, seconds);
    if (type == RF_I8 && __builtin_cpu_supports("avx512vnni"))
        return rate(&(passes){ctx, i8_body, &n, spin_i8(n) * ctx->threads}, seconds);
#endif
    return 0;
}

/* ---- memory ------------------------------------------------------------------------------------------------------ */

typedef struct buffer { uint64_t *from, *to; size_t words; int shares; uint64_t *sink; } buffer;

static void span(const buffer *b, int64_t i, size_t *first, size_t *last)
{
    const size_t step = b->words / (size_t)b->shares / 64 * 64;
    *first = (size_t)i * step;
    *last = i + 1 == b->shares ? b->words : *first + step;
}

#if defined(__x86_64__)
__attribute__((target("avx2")))
#endif
static uint64_t fold(const uint64_t *from, size_t n)
{
    typedef uint64_t wide __attribute__((vector_size(32), may_alias));
    wide s0 = {0}, s1 = {0}, s2 = {0}, s3 = {0};
    const wide *p = (const wide *)(const void *)from;
    for (size_t i = 0; i + 4 <= n / 4; i += 4) s0 ^= p[i], s1 ^= p[i + 1], s2 ^= p[i + 2], s3 ^= p[i + 3];
    s0 ^= s1 ^ s2 ^ s3;
    return s0[0] ^ s0[1] ^ s0[2] ^ s0[3];
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
