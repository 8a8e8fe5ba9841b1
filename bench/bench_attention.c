/* bench_attention.c — fused attention, forward and backward, in f32 and in bf16, as fractions of the multiply-add peak.
 *
 *     bench_attention [--json] [--threads N] [--rounds N] [--isa NAME] [--only NAME] [--type f32|bf16] [--drop P]
 *     [--causal]
 *                     [--width D]
 *
 * Times include rotation and packing; q, k and v have the layout of a projection's output, [tokens][3][heads][width]. 4
 * T^2 D operations are counted for each head forward and 10 T^2 D backward (half of that with --causal); exponentials
 * are not counted.  Types and passes alternate.  The peak is that of a loop in registers on the same threads, measured
 * immediately before every sample: of f32, or of bf16 if there is an instruction for it.  The program prints medians
 * over the rounds, the minimum time, and the range of the fractions.  Long cases are repeated less often.
 *
 * 1 x 32,768 ("long") comes first, forward: the minimum time, the quadratic prediction from 1 x 2,048, and the largest
 * growth of the process's resident set.                                                                              */
#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>

#include "clock.h"
#include "peak.h"
#include "roformer/kernel/kernels.h"

#define COUNT(array) (sizeof(array) / sizeof *(array))

enum { HEADS = 12, MOST = 64, ROUNDS = 101, QUERIES = 512, ANGLES = 32768, LONG = 32768, SHORT = 2048 };

typedef struct problem { const char *name; int sequences; int32_t each, length[MOST]; } problem;

/* Ragged: a batch of 32 sentences as they come. */
static problem problems[] = {
    {"8x12x128", 8, 128, {0}},
    {"8x12x256", 8, 256, {0}},
    {"8x12x512", 8, 512, {0}},
    {"8x12x1024", 8, 1024, {0}},
    {"8x12x2048", 8, 2048, {0}},
    {"32x12x32", 32, 32, {0}},
    {"ragged", 32, 0, {12, 7, 31, 24, 9, 55, 18, 130, 22, 16, 41, 5, 28, 73, 11, 200,
                       35, 19, 26, 8, 14, 47, 95, 21, 33, 10, 29, 62, 17, 6, 38, 23}},
    {"64x12x8", 64, 8, {0}},
};

/* Queries [first, last) of heads [head, end): one worker's unit, cut as src/graph/ops/core/attention.c cuts it. */
typedef struct unit { int32_t sequence, first, last, head, end; } unit;
typedef struct units { unit of[8192]; int64_t count; } units;

typedef struct work {
    const rf_ctx *ctx;
    const rfk_table *k;
    int64_t width;
    float drop;
    int causal;
    bool bf16;
    const problem *p;
    int64_t start[MOST + 1];
    units there, back;
    float *qkv, *out, *lse, *d_out, *d_qkv, *cos, *sin;
    int32_t *row;
    char *scratch;
    size_t each;
} work;

static void *bytes(const rf_ctx *ctx, int64_t bytes)
{
    void *x = rf_ctx_alloc(ctx, (size_t)bytes);
    if (!x) {
        fprintf(stderr, "bench_attention: out of memory: %lld bytes\n", (long long)bytes);
        exit(5);
    }
    return memset(x, 0, (size_t)bytes);
}

static float *filled(const rf_ctx *ctx, int64_t n)
{
    float *x = bytes(ctx, n * (int64_t)sizeof *x);
    uint32_t s = 1;
    for (int64_t i = 0; i < n; i++) {
        s = s * 1664525U + 1013904223U;
        x[i] = (float)(int32_t)s * 0x1p-30F;
    }
    return x;
}

static rfk_attention attention_of(const work *w, int64_t b, int64_t h, bool more_heads)
{
    const int64_t C = HEADS * w->width, at = w->start[b], T = w->start[b + 1] - at;
    const float *q = w->qkv + at * 3 * C + h * w->width;
    return (rfk_attention){.q = q, .k = q + C, .v = q + 2 * C, .q_stride = 3 * C, .k_stride = 3 * C, .v_stride = 3 * C,
                           .queries = T, .keys = T, .width = w->width, .scale = 1 / sqrtf((float)w->width),
                           .cos = w->cos, .sin = w->sin, .q_row = w->row, .k_row = w->row, .rotary = w->width / 2 * 2,
                           .layout = RF_ROPE_PAIRS,
                           .drop = w->drop, .key = {1, 2}, .stream = (uint64_t)(b * HEADS + h), .causal = w->causal,
                           .out = w->out + at * C + h * w->width, .out_stride = C,
                           .lse = w->lse + h * w->start[w->p->sequences] + at,
                           .next = more_heads ? w->width : 0};
}

static void forward(void *arg, int64_t i, int worker)
{
    const work *w = arg;
    const unit *u = &w->there.of[i];
    for (int32_t h = u->head; h < u->end; h++) {
        const rfk_attention a = attention_of(w, u->sequence, h, h + 1 < u->end);
        (w->bf16 ? w->k->attention_bf16 : w->k->attention)(&a, u->first, u->last,
                                                           w->scratch + (size_t)worker * w->each);
    }
}

static void backward(void *arg, int64_t i, int worker)
{
    const work *w = arg;
    const unit *u = &w->back.of[i];
    const int64_t C = HEADS * w->width, at = w->start[u->sequence];
    for (int32_t h = u->head; h < u->end; h++) {
        const rfk_attention a = attention_of(w, u->sequence, h, h + 1 < u->end);
        float *dq = w->d_qkv + at * 3 * C + h * w->width;
        const rfk_attention_grad g = {.d_out = w->d_out + at * C + h * w->width,
                                      .d_out_stride = C,
                                      .dq = dq,
                                      .dk = dq + C,
                                      .dv = dq + 2 * C,
                                      .dq_stride = 3 * C,
                                      .dk_stride = 3 * C,
                                      .dv_stride = 3 * C};
        (w->bf16 ? w->k->attention_bf16_back : w->k->attention_back)(&a, &g, w->scratch + (size_t)worker * w->each);
    }
}

/* The units of all sequences in blocks of `queries`, each of as many heads as leave a worker eight units. */
static void cut(work *w, units *y, int32_t queries)
{
    int64_t all = 0;
    y->count = 0;
    for (int b = 0; b < w->p->sequences; b++) all += (int64_t)w->p->length[b] * w->p->length[b] * HEADS;
    for (int32_t b = 0; b < w->p->sequences; b++)
        for (int32_t T = w->p->length[b], first = 0, last; first < T; first = last) {
            last = T - first < queries ? T : first + queries;
            const int64_t run = all / ((int64_t)(last - first) * T * 8 * rf_ctx_threads(w->ctx));
            const int32_t heads = (int32_t)(run < 1 ? 1 : run > HEADS ? HEADS : run);
            for (int32_t h = 0; h < HEADS; h += heads)
                y->of[y->count++] = (unit){b, first, last, h, h + heads < HEADS ? h + heads : HEADS};
        }
}

/* `back`: what the backward needs as well. */
static void prepare(work *w, bool back)
{
    w->each = 0;
    for (int b = 0; b < w->p->sequences; b++) w->start[b + 1] = w->start[b] + w->p->length[b];
    cut(w, &w->there, QUERIES);
    cut(w, &w->back, INT32_MAX);
    const int64_t N = w->start[w->p->sequences], C = HEADS * w->width;
    w->qkv = filled(w->ctx, N * 3 * C);
    w->out = filled(w->ctx, N * C);
    w->d_out = back ? filled(w->ctx, N * C) : NULL;
    w->d_qkv = back ? filled(w->ctx, N * 3 * C) : NULL;
    w->lse = filled(w->ctx, N * HEADS);
    for (int b = 0; b < w->p->sequences; b++) {
        const rfk_attention a = attention_of(w, b, 0, false);
        const size_t f = rfk_attention_scratch(&a), r = back ? rfk_attention_back_scratch(&a) : 0;
        if (f > w->each) w->each = f;
        if (r > w->each) w->each = r;
    }
    w->scratch = bytes(w->ctx, (int64_t)w->each * rf_ctx_threads(w->ctx));
}

static void finish(work *w)
{
    void *const all[] = {w->qkv, w->d_out, w->out, w->d_qkv, w->lse, w->scratch};
    for (size_t i = 0; i < COUNT(all); i++) rf_ctx_release(w->ctx, all[i]);
}

typedef struct sample { double ms, share; } sample;

static int by_share(const void *a, const void *b)
{
    const double x = ((const sample *)a)->share, y = ((const sample *)b)->share;
    return (x > y) - (x < y);
}

static double timed(work *w, rf_work_body *body, int64_t n)
{
    const double start = seconds();
    double now;
    int runs = 0;
    do {
        rf_ctx_run(w->ctx, n, body, w, NULL);
        runs++;
        now = seconds();
    } while (now - start < 0.01);
    return (now - start) / runs;
}

static const char *const types[] = {"f32", "bf16"}, *const passes[] = {"forward", "backward", "both"};
static const double flops[] = {4, 10, 14};

static double peak_of(const work *w)
{
    return peak_of_type(w->ctx, w->bf16 ? RF_BF16 : RF_F32, 0.01);
}

static void print_line(const work *w, int pass, double unit_flops, sample *s, int rounds, bool json)
{
    double least = INFINITY;
    for (int r = 0; r < rounds; r++) least = fmin(least, s[r].ms);
    qsort(s, (size_t)rounds, sizeof *s, by_share);
    const sample m = s[rounds / 2];
    const double gflops = flops[pass] * unit_flops / m.ms * 1e-6, low = s[0].share, high = s[rounds - 1].share;
    if (json)
        printf("{\"case\": \"attention %s %s\", \"by\": \"%s\", \"type\": \"%s\", \"width\": %lld, \"drop\": %g, "
               "\"causal\": %d, \"ms\": %.4f, \"least_ms\": %.4f, \"gflops\": %.1f, \"share_of_peak\": %.4f, "
               "\"share_low\": %.4f, \"share_high\": %.4f, \"rounds\": %d, \"threads\": %d}\n",
               w->p->name, passes[pass], w->k->isa, types[w->bf16], (long long)w->width, (double)w->drop, w->causal,
               m.ms, least, gflops, m.share, low, high, rounds, rf_ctx_threads(w->ctx));
    else
        printf("%-10s %-5s %-9s %10.3f ms  least %10.3f ms %7.1f GFLOP/s  %5.1f %% of %s fma (%.1f-%.1f)\n", w->p->name,
               types[w->bf16], passes[pass], m.ms, least, gflops, 100 * m.share, types[w->bf16], 100 * low, 100 * high);
}

/* `which`: 0 f32, 1 bf16, 2 both in turns. */
static void measure(work *w, int which, int rounds, bool json)
{
    static sample s[2][3][ROUNDS];
    double squares = 0;
    prepare(w, true);
    for (int b = 0; b < w->p->sequences; b++) squares += (double)w->p->length[b] * w->p->length[b];
    const double unit_flops = squares * (double)(HEADS * w->width) * (w->causal ? 0.5 : 1);
    if (unit_flops > 5e9) rounds = (rounds + 2) / 3;
    for (int r = 0; r < rounds; r++)
        for (int type = which == 1; type <= (which > 0); type++) {
            w->bf16 = type;
            const double before = peak_of(w), f = timed(w, forward, w->there.count);
            const double peak = peak_of(w), back = timed(w, backward, w->back.count);
            s[type][0][r] = (sample){1e3 * f, 4 * unit_flops / f / before};
            s[type][1][r] = (sample){1e3 * back, 10 * unit_flops / back / peak};
            s[type][2][r] = (sample){1e3 * (f + back), 14 * unit_flops / (f * before + back * peak)};
        }
    for (int type = which == 1; type <= (which > 0); type++) {
        w->bf16 = type;
        for (int pass = 0; pass < 3; pass++) print_line(w, pass, unit_flops, s[type][pass], rounds, json);
    }
    fflush(stdout);
    finish(w);
}

/* The most that the process has had resident, in bytes. */
static double resident(void)
{
    struct rusage u;
    getrusage(RUSAGE_SELF, &u);
    return (double)u.ru_maxrss * 1024;
}

static double least_forward(work *w, problem *p, int runs)
{
    double least = INFINITY;
    w->p = p;
    prepare(w, false);
    for (int r = 0; r < runs; r++) least = fmin(least, timed(w, forward, w->there.count));
    finish(w);
    return least;
}

/* The short text is timed before and after the long one. */
static void measure_long(work *w, int which, bool json)
{
    problem few = {"1x12x2048", 1, SHORT, {SHORT}}, many = {"1x12x32768", 1, LONG, {LONG}};
    for (int type = which == 1; type <= (which > 0); type++) {
        w->bf16 = type;
        const double earlier = least_forward(w, &few, 5), before = resident(), peak = peak_of(w),
                     t = least_forward(w, &many, 1);
        const double grown = resident() - before, least = fmin(earlier, least_forward(w, &few, 5));
        const double ratio = LONG / SHORT, predicted = least * ratio * ratio;
        const double ops = 4.0 * LONG * LONG * (double)(HEADS * w->width) * (w->causal ? 0.5 : 1);
        const double numbers = 4.0 * LONG * (double)(HEADS * w->width) * sizeof(float);     /* q, k, v and the result */
        if (json)
            printf("{\"case\": \"attention %s forward\", \"by\": \"%s\", \"type\": \"%s\", \"width\": %lld, \"ms\": "
                   "%.1f, \"gflops\": %.1f, \"share_of_peak\": %.4f, \"over_quadratic\": %.4f, \"resident_mb\": %.1f, "
                   "\"scratch_mb\": %.3f, \"threads\": %d}\n",
                   many.name, w->k->isa, types[type], (long long)w->width, 1e3 * t, ops / t * 1e-9, ops / t / peak,
                   t / predicted, resident() * 1e-6, (double)w->each * rf_ctx_threads(w->ctx) * 1e-6,
                   rf_ctx_threads(w->ctx));
        else
            printf("%-10s %-5s forward   %10.3f ms  %.3f x quadratic from %d (%.3f ms) %7.1f GFLOP/s  %5.1f %% of %s "
                   "fma; resident set %.0f MB, %.0f MB q, k, v and the result; grown by %.0f MB\n",
                   many.name, types[type], 1e3 * t, t / predicted, SHORT, 1e3 * least, ops / t * 1e-9,
                   100 * ops / t / peak, types[type], resident() * 1e-6, numbers * 1e-6, grown * 1e-6);
        fflush(stdout);
    }
}

static void angles(work *w)
{
    const int64_t half = w->width / 2;
    w->cos = filled(w->ctx, ANGLES * half);
    w->sin = filled(w->ctx, ANGLES * half);
    w->row = bytes(w->ctx, ANGLES * (int64_t)sizeof *w->row);
    for (int64_t m = 0; m < ANGLES; m++) {
        w->row[m] = (int32_t)m;
        for (int64_t i = 0; i < half; i++) {
            const double angle = (double)m * pow(10000, -2.0 * (double)i / (double)w->width);
            w->cos[m * half + i] = (float)cos(angle);
            w->sin[m * half + i] = (float)sin(angle);
        }
    }
}

int main(int argc, char **argv)
{
    int threads = 2, rounds = 21, which = 2;
    bool json = false;
    const char *isa = NULL, *only = NULL;
    static work w = {.width = 64};
    for (int i = 1; i < argc; i++) {
        const char *value = i + 1 < argc ? argv[i + 1] : "";
        if (!strcmp(argv[i], "--json")) json = true;
        else if (!strcmp(argv[i], "--causal")) w.causal = 1;
        else if (!strcmp(argv[i], "--type")) which = !strcmp(value, "f32") ? 0 : !strcmp(value, "bf16") ? 1 : -1, i++;
        else if (!strcmp(argv[i], "--threads")) threads = atoi(value), i++;
        else if (!strcmp(argv[i], "--rounds")) rounds = atoi(value), i++;
        else if (!strcmp(argv[i], "--width")) w.width = atoi(value), i++;
        else if (!strcmp(argv[i], "--drop")) w.drop = strtof(value, NULL), i++;
        else if (!strcmp(argv[i], "--isa")) isa = value, i++;
        else if (!strcmp(argv[i], "--only")) only = value, i++;
        else {
            fprintf(stderr, "bench_attention: unknown option %s\n", argv[i]);
            return 2;
        }
    }
    if (threads < 1 || rounds < 1 || rounds > ROUNDS || w.width < 1 || w.width > 4096 || which < 0) {
        fprintf(
            stderr,
            "bench_attention: expected --threads >= 1, 1 <= --rounds <= %d, 1 <= --width <= 4096, --type f32 or bf16\n",
            ROUNDS);
        return 2;
    }
    rf_ctx *ctx;
    rf_error why = {0};
    if (rf_ctx_new(&(rf_ctx_options){.size = sizeof(rf_ctx_options), .threads = threads, .isa = isa}, &ctx, &why)) {
        fprintf(stderr, "bench_attention: %s\n", why.text);
        return 1;
    }
    w.ctx = ctx, w.k = rf_ctx_kernels(ctx);
    angles(&w);
    if (!only || !strcmp(only, "long")) measure_long(&w, which, json);
    for (size_t i = 0; i < COUNT(problems); i++) {
        problem *p = &problems[i];
        for (int b = 0; p->each && b < p->sequences; b++) p->length[b] = p->each;
        w.p = p;
        if (!only || !strcmp(only, p->name)) measure(&w, which, rounds, json);
    }
    rf_ctx_release(ctx, w.cos);
    rf_ctx_release(ctx, w.sin);
    rf_ctx_release(ctx, w.row);
    rf_ctx_free(ctx);
    return 0;
}
