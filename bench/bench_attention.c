/* bench_attention.c — fused attention, forward and backward, as shares of the multiply-add peak.
 *
 *     bench_attention [--json] [--threads N] [--rounds N] [--isa NAME] [--only NAME] [--drop P] [--causal] [--width D]
 *                     [--bf16]
 *
 * Rotation and packing are part of what is timed; q, k and v are read where a projection writes them, [tokens][3][heads]
 * [width].  Counted are 4 T^2 D operations for each head forward and 10 T^2 D backward (half of it with --causal), the
 * exponentials not at all.  The peak is that of a register-only loop on the same threads, measured right before every
 * sample; printed are medians over the rounds.  --bf16: products in bf16, beside the peak of multiply-adds of bf16 where
 * there is an instruction for them.                                                                                  */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "kernel/peak.h"
#include "roformer/kernels.h"

enum { HEADS = 12, MOST = 64, ROUNDS = 101, QUERIES = 512, ANGLES = 4096 };

typedef struct problem { const char *name; int sequences; int32_t length[MOST]; } problem;

/* Ragged: a batch of 32 sentences as they come. */
static problem problems[] = {
    {"8x12x128", 8, {128, 128, 128, 128, 128, 128, 128, 128}},
    {"4x12x512", 4, {512, 512, 512, 512}},
    {"1x12x2048", 1, {2048}},
    {"32x12x32", 32, {0}},
    {"ragged", 32, {12, 7, 31, 24, 9, 55, 18, 130, 22, 16, 41, 5, 28, 73, 11, 200,
                    35, 19, 26, 8, 14, 47, 95, 21, 33, 10, 29, 62, 17, 6, 38, 23}},
    {"64x12x8", 64, {0}},
};

typedef struct unit { int32_t sequence, first, last, head; } unit;

typedef struct work {
    const rf_ctx *ctx;
    const rfk_table *k;
    int64_t width;
    float drop;
    int causal;
    bool bf16;
    const problem *p;
    int64_t start[MOST + 1];
    unit units[8192];
    int64_t count;
    float *qkv, *out, *lse, *d_out, *d_qkv, *cos, *sin;
    int32_t *row;
    char *scratch;
    size_t each;
} work;

static void *room(const rf_ctx *ctx, int64_t bytes)
{
    void *x = rf__calloc(ctx, (size_t)bytes, 1);
    if (!x) {
        fprintf(stderr, "bench_attention: out of memory: %lld bytes\n", (long long)bytes);
        exit(5);
    }
    return x;
}

static float *filled(const rf_ctx *ctx, int64_t n)
{
    float *x = room(ctx, n * (int64_t)sizeof *x);
    uint32_t s = 1;
    for (int64_t i = 0; i < n; i++) {
        s = s * 1664525U + 1013904223U;
        x[i] = (float)(int32_t)s * 0x1p-30F;
    }
    return x;
}

static rfk_attention attention_of(const work *w, int64_t b, int64_t h)
{
    const int64_t C = HEADS * w->width, at = w->start[b], T = w->start[b + 1] - at;
    const float *q = w->qkv + at * 3 * C + h * w->width;
    return (rfk_attention){.q = q, .k = q + C, .v = q + 2 * C, .q_step = 3 * C, .k_step = 3 * C, .v_step = 3 * C,
                           .queries = T, .keys = T, .width = w->width, .scale = 1 / sqrtf((float)w->width),
                           .cos = w->cos, .sin = w->sin, .q_row = w->row, .k_row = w->row, .rotary = w->width / 2 * 2,
                           .drop = w->drop, .key = {1, 2}, .stream = (uint64_t)(b * HEADS + h), .causal = w->causal,
                           .out = w->out + at * C + h * w->width, .out_step = C,
                           .lse = w->lse + h * w->start[w->p->sequences] + at};
}

static void forward(void *arg, int64_t i, int worker)
{
    const work *w = arg;
    const unit *u = &w->units[i];
    const rfk_attention a = attention_of(w, u->sequence, u->head);
    (w->bf16 ? w->k->attention_bf16 : w->k->attention)(&a, u->first, u->last, w->scratch + (size_t)worker * w->each);
}

static void backward(void *arg, int64_t i, int worker)
{
    const work *w = arg;
    const int64_t C = HEADS * w->width, b = i / HEADS, h = i % HEADS, at = w->start[b];
    const rfk_attention a = attention_of(w, b, h);
    float *dq = w->d_qkv + at * 3 * C + h * w->width;
    const rfk_attention_grad g = {.d_out = w->d_out + at * C + h * w->width, .d_out_step = C, .dq = dq, .dk = dq + C,
                                  .dv = dq + 2 * C, .dq_step = 3 * C, .dk_step = 3 * C, .dv_step = 3 * C};
    (w->bf16 ? w->k->attention_bf16_back : w->k->attention_back)(&a, &g, w->scratch + (size_t)worker * w->each);
}

static void prepare(work *w)
{
    w->count = 0;
    w->each = 0;
    for (int b = 0; b < w->p->sequences; b++) {
        const int32_t T = w->p->length[b];
        w->start[b + 1] = w->start[b] + T;
        for (int32_t first = 0; first < T; first += QUERIES)
            for (int32_t h = 0; h < HEADS; h++)
                w->units[w->count++] = (unit){b, first, first + QUERIES < T ? first + QUERIES : T, h};
    }
    const int64_t N = w->start[w->p->sequences], C = HEADS * w->width;
    w->qkv = filled(w->ctx, N * 3 * C);
    w->d_out = filled(w->ctx, N * C);
    w->out = filled(w->ctx, N * C);
    w->d_qkv = filled(w->ctx, N * 3 * C);
    w->lse = filled(w->ctx, N * HEADS);
    for (int b = 0; b < w->p->sequences; b++) {
        const rfk_attention a = attention_of(w, b, 0);
        const size_t f = rfk_attention_scratch(&a), r = rfk_attention_back_scratch(&a);
        if (f > w->each) w->each = f;
        if (r > w->each) w->each = r;
    }
    w->scratch = room(w->ctx, (int64_t)w->each * rf_ctx_threads(w->ctx));
}

static void finish(work *w)
{
    void *const all[] = {w->qkv, w->d_out, w->out, w->d_qkv, w->lse, w->scratch};
    for (size_t i = 0; i < RF_COUNT(all); i++) rf__free(w->ctx, all[i]);
}

typedef struct sample { double ms, share; } sample;

static int by_share(const void *a, const void *b)
{
    const double x = ((const sample *)a)->share, y = ((const sample *)b)->share;
    return (x > y) - (x < y);
}

static double timed(work *w, rf_body *body, int64_t n)
{
    const double start = rf__seconds();
    double now;
    int runs = 0;
    do {
        rf__parallel(w->ctx, n, body, w);
        runs++;
        now = rf__seconds();
    } while (now - start < 0.01);
    return (now - start) / runs;
}

static void measure(work *w, int rounds, bool json)
{
    static sample s[3][ROUNDS];
    double squares = 0;
    prepare(w);
    for (int b = 0; b < w->p->sequences; b++) squares += (double)w->p->length[b] * w->p->length[b];
    const double unit_flops = squares * (double)(HEADS * w->width) * (w->causal ? 0.5 : 1);
    for (int r = 0; r < rounds; r++) {
        const double half = w->bf16 ? rf__peak_bf16(w->ctx, 0.01) : 0, peak = half > 0 ? half : rf__peak_flops(w->ctx, 0.01);
        const double f = timed(w, forward, w->count), back = timed(w, backward, (int64_t)w->p->sequences * HEADS);
        s[0][r] = (sample){1e3 * f, 4 * unit_flops / f / peak};
        s[1][r] = (sample){1e3 * back, 10 * unit_flops / back / peak};
        s[2][r] = (sample){1e3 * (f + back), 14 * unit_flops / (f + back) / peak};
    }
    static const char *const name[] = {"forward", "backward", "both"};
    static const double flops[] = {4, 10, 14};
    for (int i = 0; i < 3; i++) {
        qsort(s[i], (size_t)rounds, sizeof *s[i], by_share);
        const sample m = s[i][rounds / 2];
        const double gflops = flops[i] * unit_flops / m.ms * 1e-6;
        if (json)
            printf("{\"case\": \"attention %s %s\", \"by\": \"%s\", \"type\": \"%s\", \"width\": %lld, \"drop\": %g, \"causal\": %d, \"ms\": %.4f, "
                   "\"gflops\": %.1f, \"share_of_peak\": %.4f, \"share_low\": %.4f, \"share_high\": %.4f, \"threads\": %d}\n",
                   w->p->name, name[i], w->k->isa, w->bf16 ? "bf16" : "f32", (long long)w->width, (double)w->drop, w->causal, m.ms, gflops, m.share,
                   s[i][0].share, s[i][rounds - 1].share, rf_ctx_threads(w->ctx));
        else
            printf("%-10s %-9s %-7s %9.3f ms %7.1f GFLOP/s  %5.1f %% of %s (%.1f-%.1f)\n", w->p->name, name[i], w->k->isa, m.ms,
                   gflops, 100 * m.share, w->bf16 ? "bf16 fma" : "fma", 100 * s[i][0].share, 100 * s[i][rounds - 1].share);
    }
    fflush(stdout);
    finish(w);
}

static void angles(work *w)
{
    const int64_t half = w->width / 2;
    w->cos = filled(w->ctx, ANGLES * half);
    w->sin = filled(w->ctx, ANGLES * half);
    w->row = room(w->ctx, ANGLES * (int64_t)sizeof *w->row);
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
    int threads = 2, rounds = 21;
    bool json = false;
    const char *isa = NULL, *only = NULL;
    static work w = {.width = 64};
    for (int i = 1; i < argc; i++) {
        const char *value = i + 1 < argc ? argv[i + 1] : "";
        if (!strcmp(argv[i], "--json")) json = true;
        else if (!strcmp(argv[i], "--causal")) w.causal = 1;
        else if (!strcmp(argv[i], "--bf16")) w.bf16 = true;
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
    if (threads < 1 || rounds < 1 || rounds > ROUNDS || w.width < 1 || w.width > 4096) {
        fprintf(stderr, "bench_attention: wants --threads >= 1, 1 <= --rounds <= %d, 1 <= --width <= 4096\n", ROUNDS);
        return 2;
    }
    rf_ctx *ctx;
    rf_error why = {0};
    if (rf_ctx_new(&(rf_ctx_options){.threads = threads, .isa = isa}, &ctx, &why)) {
        fprintf(stderr, "bench_attention: %s\n", why.text);
        return 1;
    }
    w.ctx = ctx, w.k = rf_ctx_kernels(ctx);
    angles(&w);
    for (size_t i = 0; i < RF_COUNT(problems); i++) {
        problem *p = &problems[i];
        for (int b = 0; b < p->sequences; b++)
            if (!p->length[b]) p->length[b] = p->sequences == 64 ? 8 : 32;
        w.p = p;
        if (!only || !strcmp(only, p->name)) measure(&w, rounds, json);
    }
    rf__free(ctx, w.cos);
    rf__free(ctx, w.sin);
    rf__free(ctx, w.row);
    rf_ctx_free(ctx);
    return 0;
}
