/* bench_kernels.c — every kernel on every rung: time, bytes per second, and fraction of the speed of a plain copy.
 *
 *     bench_kernels [--json] [--rounds N] [--only NAME] [--place cache|memory]
 *
 * `copy` is memcpy of as many bytes as the kernel reads and writes, measured immediately before every sample: a
 * fraction of 1.0 means that the kernel costs nothing besides its memory traffic.  Rungs alternate within a round; the
 * program prints medians over the rounds.  `error` is the largest difference from the reference rung's result, divided
 * by the largest number in it. "cache": all arrays fit the first two levels; "memory": they exceed the last one.     */
#define _GNU_SOURCE
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "median.h"
#include "roformer/context.h"
#include "roformer/kernel/kernels.h"
#include "roformer/kernel/rope.h"

#define COUNT(array) (sizeof(array) / sizeof *(array))

enum { ROUNDS = 101, RUNGS = 8, HEADS = 12, WIDTH = 64, ROW = HEADS * WIDTH };

/* What a kernel works on: n numbers in each array; y is what is written and compared. */
typedef struct work {
    const rf_rope *pairs, *halves;
    int64_t n;
    float *y, *a, *b, *m, *v, *gamma, *stat;
    uint16_t *h;
    float scalar;
} work;

typedef void job(const rfk_table *k, work *w);

#define TOKENS(w) ((w)->n / ROW)
static void rope_pairs(const rfk_table *k, work *w)
{
    const float *c = rf_rope_cos(w->pairs), *s = rf_rope_sin(w->pairs);
    for (int64_t t = 0; t < TOKENS(w); t++)
        k->rope_pairs(w->y + t * ROW, w->a + t * ROW, c + t * WIDTH / 2, s + t * WIDTH / 2, 1, HEADS, WIDTH, WIDTH);
}
static void rope_halves(const rfk_table *k, work *w)
{
    const float *c = rf_rope_cos(w->halves), *s = rf_rope_sin(w->halves);
    for (int64_t t = 0; t < TOKENS(w); t++)
        k->rope_halves(w->y + t * ROW, w->a + t * ROW, c + t * WIDTH / 2, s + t * WIDTH / 2, 1, HEADS, WIDTH, WIDTH);
}
static void add(const rfk_table *k, work *w) { k->add(w->y, w->a, w->b, w->n); }
static void mul(const rfk_table *k, work *w) { k->mul(w->y, w->a, w->b, w->n); }
static void scale(const rfk_table *k, work *w) { k->scale(w->y, w->a, 0.7f, w->n); }
static void axpy(const rfk_table *k, work *w) { k->axpy(w->y, 0.7f, w->a, w->n); }
static void dot(const rfk_table *k, work *w) { w->y[0] = w->scalar = k->dot(w->a, w->b, w->n); }
static void sum(const rfk_table *k, work *w) { w->y[0] = w->scalar = k->sum(w->a, w->n); }
static void largest(const rfk_table *k, work *w) { w->y[0] = w->scalar = k->largest(w->a, w->n); }
static void sumsq(const rfk_table *k, work *w) { w->y[0] = w->scalar = (float)k->sumsq(w->a, w->n); }
static void finite_numbers(const rfk_table *k, work *w) { w->y[0] = w->scalar = (float)k->finite(w->a, w->n); }
static void gelu(const rfk_table *k, work *w) { k->gelu(w->y, w->a, w->n); }
static void gelu_back(const rfk_table *k, work *w) { k->gelu_back(w->y, w->b, w->a, w->n); }
static void gelu_tanh(const rfk_table *k, work *w) { k->gelu_tanh(w->y, w->a, w->n); }
static void gelu_tanh_back(const rfk_table *k, work *w) { k->gelu_tanh_back(w->y, w->b, w->a, w->n); }
static void relu(const rfk_table *k, work *w) { k->relu(w->y, w->a, w->n); }
static void relu_back(const rfk_table *k, work *w) { k->relu_back(w->y, w->b, w->a, w->n); }
static void silu(const rfk_table *k, work *w) { k->silu(w->y, w->a, w->n); }
static void silu_back(const rfk_table *k, work *w) { k->silu_back(w->y, w->b, w->a, w->n); }
static void hyperbolic(const rfk_table *k, work *w) { k->tanh(w->y, w->a, w->n); }
static void hyperbolic_back(const rfk_table *k, work *w) { k->tanh_back(w->y, w->b, w->a, w->n); }
static void softmax(const rfk_table *k, work *w)
{
    for (int64_t t = 0; t < TOKENS(w); t++) k->softmax(w->y + t * ROW, w->a + t * ROW, ROW);
}
static void softmax_back(const rfk_table *k, work *w)
{
    for (int64_t t = 0; t < TOKENS(w); t++) k->softmax_back(w->y + t * ROW, w->b + t * ROW, w->a + t * ROW, ROW);
}
/* In place, so each run starts from what the last one left: numbers of any size take the same time. */
static void cross_entropy(const rfk_table *k, work *w)
{
    int64_t best;
    w->scalar = k->cross_entropy(w->y, w->n, w->n / 2, 1, &best);
}
static void layer_norm(const rfk_table *k, work *w)
{
    k->layer_norm(w->y, NULL, NULL, w->a, w->b, w->gamma, w->gamma, 1e-12f, TOKENS(w), ROW);
}
static void layer_norm_back(const rfk_table *k, work *w)
{
    k->layer_norm_back(w->y, NULL, NULL, w->b, w->a, w->stat, w->gamma, TOKENS(w), ROW);
}
static void rms_norm(const rfk_table *k, work *w)
{
    k->rms_norm(w->y, NULL, NULL, w->a, w->b, w->gamma, NULL, 1e-6f, TOKENS(w), ROW);
}
static void rms_norm_back(const rfk_table *k, work *w)
{
    k->rms_norm_back(w->y, NULL, NULL, w->b, w->a, w->stat, w->gamma, TOKENS(w), ROW);
}
static void dropout(const rfk_table *k, work *w) { k->dropout(w->y, w->a, w->n, 0.1f, (const uint32_t[]){1, 2}, 3, 0); }
static void adamw(const rfk_table *k, work *w)
{
    k->adamw(w->y, w->m, w->v, w->a, w->n, 1e-4f, 0.9f, 0.999f, 1e-8f, 0.01f, 10, 1000, 1);
}
static void lamb(const rfk_table *k, work *w)
{
    k->lamb(w->y, w->a, w->m, w->v, w->n, 0.9f, 0.999f, 1e-8f, 0.01f, 10, 1000, 1);
}
static void lion(const rfk_table *k, work *w) { k->lion(w->y, w->m, w->a, w->n, 1e-4f, 0.9f, 0.99f, 0.01f, 1); }
static void sgd(const rfk_table *k, work *w) { k->sgd(w->y, w->m, w->a, w->n, 1e-4f, 0.9f, 1, 0.01f, 1); }
static void lerp(const rfk_table *k, work *w) { k->lerp(w->y, 1e-3f, w->a, w->n); }
static void add_squares(const rfk_table *k, work *w) { k->add_squares(w->y, w->a, w->n); }
static void to_bf16(const rfk_table *k, work *w) { k->to_bf16(w->h, w->a, w->n); }
static void from_bf16(const rfk_table *k, work *w) { k->from_bf16(w->y, w->h, w->n); }
static void to_f16(const rfk_table *k, work *w) { k->to_f16(w->h, w->a, w->n); }
static void from_f16(const rfk_table *k, work *w) { k->from_f16(w->y, w->h, w->n); }

/* The kernel's row in kernels.def, how to run it, and the bytes it reads and writes for each number. */
static const struct row { const char *name; job *run; int bytes; } rows[] = {
    {"rope_pairs", rope_pairs, 8},    {"rope_halves", rope_halves, 8},       {"add", add, 12},
    {"mul", mul, 12},                 {"scale", scale, 8},                   {"axpy", axpy, 12},
    {"dot", dot, 8},                  {"sum", sum, 4},                       {"largest", largest, 4},
    {"sumsq", sumsq, 4},              {"finite", finite_numbers, 4},         {"gelu", gelu, 8},
    {"gelu_back", gelu_back, 12},     {"gelu_tanh", gelu_tanh, 8},           {"gelu_tanh_back", gelu_tanh_back, 12},
    {"relu", relu, 8},                {"relu_back", relu_back, 12},          {"silu", silu, 8},
    {"silu_back", silu_back, 12},     {"tanh", hyperbolic, 8},               {"tanh_back", hyperbolic_back, 12},
    {"softmax", softmax, 8},          {"softmax_back", softmax_back, 12},    {"cross_entropy", cross_entropy, 8},
    {"layer_norm", layer_norm, 12},   {"layer_norm_back", layer_norm_back, 12},
    {"rms_norm", rms_norm, 12},       {"rms_norm_back", rms_norm_back, 12},  {"dropout", dropout, 8},
    {"lamb", lamb, 28},               {"lion", lion, 20},                    {"sgd", sgd, 20},
    {"lerp", lerp, 12},               {"add_squares", add_squares, 12},
    {"adamw", adamw, 28},             {"to_bf16", to_bf16, 6},               {"from_bf16", from_bf16, 6},
    {"to_f16", to_f16, 6},            {"from_f16", from_f16, 6},
};

/* ---- numbers ----------------------------------------------------------------------------------------------------- */

/* Arrays are cut from one block, 64-byte aligned and each at another place within its page: large blocks of an
 * allocator all start at the same one, and the caches' sets are chosen by it. */
static float *cut(float **block, int64_t n, uint64_t stream)
{
    enum { APART = 1088 };
    float *x = *block;
    *block += (n + APART + 15) / 16 * 16;
    rf_rng r;
    rf_rng_init(&r, 1, stream);
    for (int64_t i = 0; i < n; i++) x[i] = i < 65536 ? rf_rng_normal(&r) : x[i - 65536];
    return x;
}

/* This thread's own time: what other programs take of the processor is not counted. */
static double now_here(void)
{
    struct timespec t;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

/* Seconds of one run, from about `seconds` of them. */
static double timed(job *run, const rfk_table *k, work *w, double seconds)
{
    const double start = now_here();
    int64_t n = 0;
    double now;
    do {
        for (int64_t i = 0; i < 1 + 300000 / w->n; i++, n++) run(k, w);
        now = now_here();
    } while (now - start < seconds);
    return (now - start) / (double)n;
}

/* Between the arrays that the kernel works on: a copy to a third one would find other bytes in the cache. */
static size_t copy_bytes;
static void copy(const rfk_table *k, work *w)
{
    (void)k;
    memcpy(w->y, w->a, copy_bytes);
    __asm__ volatile("" : : "r"(w->y) : "memory");
}

/* RoFormer's Eq. 34 as one would write it down, for the compiler to make the best of.  No `restrict`: like the kernels
 * it may be called in place. */
#ifndef __clang__                       /* which vectorizes at -O2, too, and has no such attribute */
__attribute__((optimize("O3")))
#endif
static void plain_rope(const rfk_table *k, work *w)
{
    (void)k;
    const float *x = w->a, *cos = rf_rope_cos(w->pairs), *sin = rf_rope_sin(w->pairs);
    float *y = w->y;
    for (int64_t t = 0; t < TOKENS(w); t++, cos += WIDTH / 2, sin += WIDTH / 2)
        for (int64_t h = 0; h < HEADS; h++, x += WIDTH, y += WIDTH)
            for (int64_t i = 0; i < WIDTH / 2; i++) {
                y[2 * i] = x[2 * i] * cos[i] - x[2 * i + 1] * sin[i];
                y[2 * i + 1] = x[2 * i + 1] * cos[i] + x[2 * i] * sin[i];
            }
}

/* Vectors in and out and nothing in between: what a rotation would cost if it were free. */
static void plain_copy(const rfk_table *k, work *w)
{
    k->scale(w->y, w->a, 1, w->n);
}

/* ---- one kernel, one place, all rungs ---------------------------------------------------------------------------- */

typedef struct options { int json, rounds; const char *only, *place; } options;

static void prepare(const struct row *r, const rfk_table *k, work *w)
{
    memcpy(w->y, w->b, (size_t)w->n * sizeof(float));
    if (r->run == from_bf16) k->to_bf16(w->h, w->a, w->n);
    if (r->run == from_f16) k->to_f16(w->h, w->a, w->n);
}

static double error_of(const struct row *r, const rfk_table *ref, const rfk_table *k, work *w, float *expected)
{
    const int64_t n = w->n;
    float *m = w->m, *v = w->v;
    memset(m, 0, (size_t)n * sizeof *m);
    memset(v, 0, (size_t)n * sizeof *v);
    prepare(r, ref, w);
    r->run(ref, w);
    if (r->run == to_bf16) ref->from_bf16(w->y, w->h, n);
    if (r->run == to_f16) ref->from_f16(w->y, w->h, n);
    memcpy(expected, w->y, (size_t)n * sizeof *expected);
    memset(m, 0, (size_t)n * sizeof *m);
    memset(v, 0, (size_t)n * sizeof *v);
    prepare(r, ref, w);
    r->run(k, w);
    if (r->run == to_bf16) ref->from_bf16(w->y, w->h, n);
    if (r->run == to_f16) ref->from_f16(w->y, w->h, n);
    double worst = 0, largest_number = 0;
    for (int64_t i = 0; i < n; i++) {
        worst = fmax(worst, fabs((double)w->y[i] - (double)expected[i]));
        largest_number = fmax(largest_number, fabs((double)expected[i]));
    }
    return largest_number > 0 ? worst / largest_number : worst;
}

/* The first `skip` rungs are not timed. */
static void measure(const struct row *r, const char *place, const rfk_table *rung, int skip, int rungs, work *w,
                    const options *o, float *expected)
{
    static double seconds[RUNGS][ROUNDS], share[RUNGS][ROUNDS];
    double error[RUNGS];
    for (int i = skip; i < rungs; i++) error[i] = error_of(r, &rung[0], &rung[i], w, expected);
    copy_bytes = (size_t)w->n * (size_t)r->bytes / 2;
    if (copy_bytes > (size_t)w->n * sizeof(float)) copy_bytes = (size_t)w->n * sizeof(float);
    const double times = (double)w->n * r->bytes / 2 / (double)copy_bytes;
    prepare(r, &rung[0], w);
    for (int round = 0; round < o->rounds; round++)
        for (int i = skip; i < rungs; i++) {
            const double c = times * timed(copy, NULL, w, 5e-4);
            const double s = timed(r->run, &rung[i], w, 5e-4);
            seconds[i][round] = s;
            share[i][round] = c / s;
        }
    for (int i = skip; i < rungs; i++) {
        const double s = median(seconds[i], o->rounds), c = median(share[i], o->rounds);
        const double rate = (double)w->n * r->bytes / s / 1e9;
        if (o->json)
            printf("{\"kernel\": \"%s\", \"isa\": \"%s\", \"place\": \"%s\", \"n\": %lld, \"ns\": %.1f, \"gb_s\": "
                   "%.2f, \"of_copy\": %.3f, \"error\": %.3g}\n",
                   r->name, rung[i].isa, place, (long long)w->n, s * 1e9, rate, c, error[i]);
        else
            printf("%-16s %-7s %-7s %10lld %12.1f %9.2f %8.3f %9.1e\n", r->name, rung[i].isa, place, (long long)w->n,
                   s * 1e9, rate, c, error[i]);
    }
    fflush(stdout);
}

/* Rotation against what it must beat: copies at 4096 tokens of 12 heads of 64, the plain loop in cache. */
static void rotation(const rfk_table *rung, int rungs, work *w, const options *o)
{
    static double against_copy[ROUNDS], against_vectors[ROUNDS], against_loop[ROUNDS], in_place[ROUNDS];
    float *const y = w->y;
    for (int i = 0; i < rungs; i++) {
        for (int round = 0; round < o->rounds; round++) {
            w->n = 4096 * ROW;
            copy_bytes = (size_t)w->n * sizeof(float);
            timed(rope_pairs, &rung[i], w, 0);
            const double c = timed(copy, NULL, w, 0), v = timed(plain_copy, &rung[i], w, 0),
                         s = timed(rope_pairs, &rung[i], w, 0);
            w->y = w->a;
            timed(rope_pairs, &rung[i], w, 0);
            const double q = timed(plain_copy, &rung[i], w, 0), p = timed(rope_pairs, &rung[i], w, 0);
            w->y = y;
            against_copy[round] = c / s;
            against_vectors[round] = v / s;
            in_place[round] = q / p;
            w->n = 4 * ROW;
            const double loop = timed(plain_rope, NULL, w, 2e-4);
            against_loop[round] = loop / timed(rope_pairs, &rung[i], w, 2e-4);
        }
        const double c = median(against_copy, o->rounds), v = median(against_vectors, o->rounds);
        const double p = median(in_place, o->rounds), l = median(against_loop, o->rounds);
        if (o->json)
            printf("{\"kernel\": \"rotation\", \"isa\": \"%s\", \"of_memcpy\": %.3f, \"of_vector_copy\": %.3f, "
                   "\"in_place_of_vector_copy\": %.3f, \"over_plain_loop\": %.2f}\n", rung[i].isa, c, v, p, l);
        else
            printf("rotation %-7s 4096 x 12 x 64: %.2f of memcpy, %.2f of a copy by vectors, in place %.2f; "
                   "in cache %.1f times the plain loop\n", rung[i].isa, c, v, p, l);
    }
}

static int usage(void)
{
    fprintf(stderr, "usage: bench_kernels [--json] [--rounds N] [--only NAME] [--place cache|memory]\n");
    return 2;
}

int main(int argc, char **argv)
{
    options o = {.rounds = 21};
    for (int i = 1; i < argc; i++) {
        if (!strcmp(argv[i], "--json")) o.json = 1;
        else if (!strcmp(argv[i], "--rounds") && i + 1 < argc) o.rounds = atoi(argv[++i]);
        else if (!strcmp(argv[i], "--only") && i + 1 < argc) o.only = argv[++i];
        else if (!strcmp(argv[i], "--place") && i + 1 < argc) o.place = argv[++i];
        else return usage();
    }
    if (o.rounds < 1 || o.rounds > ROUNDS) return usage();

    rf_ctx *ctx;
    rf_rope *pairs, *halves;
    if (rf_ctx_new(&(rf_ctx_options){.size = sizeof(rf_ctx_options), .threads = 1}, &ctx, NULL)) return 5;
    enum { MOST = 4096 * ROW, SMALL = 4 * ROW, LARGE = 4096 * ROW };
    if (rf_rope_new(ctx, &(rf_rope_spec){WIDTH, 10000, RF_ROPE_PAIRS}, 4096, &pairs, NULL)) return 5;
    if (rf_rope_new(ctx, &(rf_rope_spec){WIDTH, 10000, RF_ROPE_HALVES}, 4096, &halves, NULL)) return 5;
    float *const memory = rf_ctx_alloc(ctx, (size_t)8 * MOST * sizeof(float)), *block = memory;
    if (!memory) return 5;
    work w = {.pairs = pairs, .halves = halves};
    float **const arrays[] = {&w.y, &w.a, &w.b, &w.m, &w.v};
    for (size_t i = 0; i < COUNT(arrays); i++) *arrays[i] = cut(&block, MOST, i + 1);
    float *const expected = cut(&block, MOST, 6);
    w.gamma = cut(&block, ROW, 7);
    w.stat = cut(&block, 2 * 4096, 8);
    w.h = (uint16_t *)(void *)block;
    memset(w.h, 0, MOST * sizeof *w.h);
    rfk_table rung[RUNGS];
    int rungs = 0;
    while (rungs < RUNGS && rfk_rung(rungs, &rung[rungs]) && !rfk_rung_emulated(rung[rungs].isa)) rungs++;

    if (!o.json)
        printf("%-16s %-7s %-7s %10s %12s %9s %8s %9s\n", "kernel", "isa", "place", "n", "ns", "GB/s", "of copy",
               "error");
    for (size_t i = 0; i < COUNT(rows); i++) {
        if (o.only && strcmp(o.only, rows[i].name)) continue;
        w.n = SMALL;
        if (!o.place || !strcmp(o.place, "cache")) measure(&rows[i], "cache", rung, 0, rungs, &w, &o, expected);
        w.n = LARGE;
        if (!o.place || !strcmp(o.place, "memory"))
            measure(&rows[i], "memory", rung, rungs > 1, rungs, &w, &o, expected);
    }
    if (!o.only || !strcmp(o.only, "rotation")) rotation(rung, rungs, &w, &o);

    rf_ctx_release(ctx, memory);
    rf_rope_free(pairs);
    rf_rope_free(halves);
    rf_ctx_free(ctx);
    return 0;
}
