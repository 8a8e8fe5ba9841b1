/* bench_linear.c — linear attention, forward and with backward, as fractions of the multiply-add peak, and compared
 * with fused softmax attention.
 *
 *     bench_linear [--json] [--threads N] [--rounds N] [--isa NAME] [--map NAME] [--features N] [--longest N]
 *                  [--shortest N] [--encoder] [--busy]
 *
 * One sequence of 12 heads of 64, of 1,024 to --longest tokens (65,536), causal or with --encoder in both directions,
 * features rotated (Eq. 19).  It times rf_attend_linear and rf_attend_softmax, with q, k and v in the
 * layout of a projection's output, and counts the operations of rf_linear_attention_flops.  The peak is that of a loop
 * in registers on the same threads, measured immediately before every sample.  The program prints medians over the
 * rounds.  "x" of linear attention is its time per token divided by that at 4,096 tokens; "x" of softmax attention is
 * its time divided by linear attention's in the same round.  Softmax attention is timed up to 16,384 tokens.
 *
 * --busy, for a shared machine: one thread, processor time instead of elapsed time, the minimum over the rounds for
 * each pass, and the maximum of the peaks, which are measured in short runs between them. */
#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "clock.h"
#include "median.h"
#include "roformer/context.h"
#include "roformer/kernel/attention.h"
#include "roformer/kernel/kernels.h"

enum { HEADS = 12, D = 64, ROUNDS = 101, QUADRATIC = 16384 };
enum { FORWARD, BOTH, SOFTMAX, PASSES };
static const char *const names[PASSES] = {"linear forward", "linear both", "softmax forward"};

struct work {
    rf_ctx *ctx;
    rf_attention_work *of[PASSES];      /* each keeps its memory from round to round, as a model does */
    const char *map;
    int64_t features, T;
    bool causal, projects, busy;
    float *qkv, *d, *random, *d_out;
    int32_t *row;
    rf_rope *of_features, *of_heads;
};

static double now(const struct work *w)
{
    struct timespec t;
    if (!w->busy) return seconds();
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static void must(rf_status status, const rf_error *why)
{
    if (!status) return;
    fprintf(stderr, "bench_linear: %s\n", why->text);
    exit(1);
}

static void *zeroed(const rf_ctx *ctx, int64_t bytes)
{
    void *x = rf_ctx_alloc(ctx, (size_t)bytes);
    if (!x) {
        fprintf(stderr, "bench_linear: out of memory: %lld bytes\n", (long long)bytes);
        exit(5);
    }
    return memset(x, 0, (size_t)bytes);
}

static void prepare(struct work *w)
{
    const int64_t C = HEADS * D;
    rf_error why = {0};
    for (int p = 0; p < PASSES; p++) must(rf_attention_work_new(w->ctx, &w->of[p], &why), &why);
    w->qkv = zeroed(w->ctx, w->T * 3 * C * 4);
    w->d = zeroed(w->ctx, w->T * 3 * C * 4);
    w->d_out = zeroed(w->ctx, w->T * C * 4);
    w->row = zeroed(w->ctx, w->T * 4);
    rf_rng r;
    rf_rng_init(&r, 1, 0);
    for (int64_t i = 0; i < w->T * 3 * C; i++) w->qkv[i] = 2 * rf_rng_uniform(&r) - 1;
    for (int64_t i = 0; i < w->T * C; i++) w->d_out[i] = 2 * rf_rng_uniform(&r) - 1;
    for (int64_t t = 0; t < w->T; t++) w->row[t] = (int32_t)t;
    must(rf_rope_new(w->ctx, &(rf_rope_spec){w->features, 10000, RF_ROPE_PAIRS}, w->T, &w->of_features, &why), &why);
    must(rf_rope_new(w->ctx, &(rf_rope_spec){D, 10000, RF_ROPE_PAIRS}, w->T, &w->of_heads, &why), &why);
}

static void finish(struct work *w)
{
    void *const all[] = {w->qkv, w->d, w->d_out, w->row};
    for (size_t i = 0; i < sizeof all / sizeof *all; i++) rf_ctx_release(w->ctx, all[i]);
    rf_rope_free(w->of_features);
    rf_rope_free(w->of_heads);
    for (int p = 0; p < PASSES; p++) rf_attention_work_free(w->of[p]);
}

/* Seconds of one operation; BOTH: and of its backward. */
static double timed(struct work *w, int pass)
{
    const int32_t start[2] = {0, (int32_t)w->T};
    const rf_linear_attention_spec spec = {.heads = HEADS, .B = 1, .start = start, .rope = w->of_features,
                                           .row = w->row, .rotate_features = 1, .causal = w->causal,
                                           .feature_map = w->map, .features = w->features,
                                           .random = w->projects ? w->random : NULL, .epsilon = -1};
    const rf_softmax_attention_spec softmax = {.heads = HEADS, .B = 1, .start = start, .rope = w->of_heads,
                                               .row = w->row, .causal = w->causal};
    const float *out;
    rf_error why = {0};
    const double begin = now(w);
    must(pass == SOFTMAX ? rf_attend_softmax(w->of[pass], &softmax, w->qkv, w->T, HEADS * D, &out, &why)
         : pass == BOTH
             ? rf_attend_linear_back(w->of[pass], &spec, w->qkv, w->T, HEADS * D, w->d_out, w->d, &why)
             : rf_attend_linear(w->of[pass], &spec, w->qkv, w->T, HEADS * D, &out, &why),
         &why);
    return now(w) - begin;
}

static double flops_of(const struct work *w, int pass)
{
    const double T = (double)w->T * HEADS;
    if (pass == SOFTMAX) return (w->causal ? 2.0 : 4.0) * T * (double)w->T * D;
    const double forward = T * rf_linear_attention_flops(w->map, w->features, D, w->causal, 0),
                 back = T * rf_linear_attention_flops(w->map, w->features, D, w->causal, 1);
    return pass == BOTH ? forward + back : forward;
}

static void print_line(const struct work *w, int pass, double ms, double share, double times, bool json)
{
    const double us = 1e3 * ms / (double)w->T;
    if (json)
        printf("{\"case\": \"%s\", \"map\": \"%s\", \"features\": %lld, \"causal\": %d, \"tokens\": %lld, "
               "\"ms\": %.3f, \"us_per_token\": %.4f, \"share_of_fma_peak\": %.4f, \"gflops\": %.2f, \"%s\": %.4f, "
               "\"threads\": %d}\n",
               names[pass], w->map, (long long)w->features, w->causal, (long long)w->T, ms, us, share,
               flops_of(w, pass) / ms * 1e-6, pass == SOFTMAX ? "over_linear" : "over_4096", times,
               rf_ctx_threads(w->ctx));
    else
        printf("%6lld tokens  %-15s %10.2f ms  %8.3f us/token  %5.1f %% of fma   x %.2f\n", (long long)w->T,
               names[pass], ms, us, 100 * share, times);
    fflush(stdout);
}

static double peak_of(const struct work *w)
{
    double most = 0;
    for (int i = 0; i < 3 && w->busy; i++) most = fmax(most, rf_peak_flops(w->ctx, 0.003));
    return w->busy ? most : rf_peak_flops(w->ctx, 0.01);
}

/* The least of many times, as a share of the largest peak. */
static void take_least(const struct work *w, int passes, int rounds, double ms[PASSES][ROUNDS],
                       double share[PASSES][ROUNDS])
{
    double peak = 0;
    for (int p = 0; p < passes; p++)
        for (int r = 0; r < rounds; r++) peak = fmax(peak, flops_of(w, p) / (ms[p][r] * 1e-3 * share[p][r]));
    for (int p = 0; p < passes; p++) {
        double least = ms[p][0];
        for (int r = 1; r < rounds; r++) least = fmin(least, ms[p][r]);
        for (int r = 0; r < rounds; r++) ms[p][r] = least, share[p][r] = flops_of(w, p) / (least * 1e-3 * peak);
    }
}

/* All passes alternately; `first`: time per token at 4,096 tokens. */
static void measure(struct work *w, int rounds, bool json, double first[PASSES])
{
    static double ms[PASSES][ROUNDS], share[PASSES][ROUNDS], ratio[ROUNDS];
    const int passes = w->T <= QUADRATIC ? PASSES : SOFTMAX;
    prepare(w);
    if (w->T > 8192) rounds = rounds / 4 + 1;
    for (int r = -1; r < rounds; r++)
        for (int p = 0; p < passes; p++) {
            const double peak = peak_of(w), t = timed(w, p);
            if (r < 0) continue;
            ms[p][r] = 1e3 * t;
            share[p][r] = flops_of(w, p) / t / peak;
        }
    if (w->busy) take_least(w, passes, rounds, ms, share);
    for (int r = 0; r < rounds && passes == PASSES; r++) ratio[r] = ms[SOFTMAX][r] / ms[FORWARD][r];
    for (int p = 0; p < passes; p++) {
        const double middle = median(ms[p], rounds), each = middle / (double)w->T;
        if (first[p] <= 0 && w->T >= 4096) first[p] = each;
        const double times = p == SOFTMAX ? median(ratio, rounds) : first[p] > 0 ? each / first[p] : 0;
        print_line(w, p, middle, median(share[p], rounds), times, json);
    }
    finish(w);
}

/* Rows as long as random ones: their time is that of the real ones. */
static void random_rows(struct work *w)
{
    rf_rng r;
    w->random = zeroed(w->ctx, w->features * D * 4);
    rf_rng_init(&r, 1, 1);
    for (int64_t i = 0; i < w->features * D; i++) w->random[i] = rf_rng_normal(&r);
}

int main(int argc, char **argv)
{
    int rounds = 9;
    int64_t longest = 65536, shortest = 1024;
    bool json = false;
    rf_ctx_options options;
    rf_ctx_defaults(&options);
    options.threads = 2;
    struct work w = {.features = 256, .causal = true, .map = "favor"};
    for (int i = 1; i < argc; i++) {
        const char *value = i + 1 < argc ? argv[i + 1] : "";
        if (!strcmp(argv[i], "--json")) json = true;
        else if (!strcmp(argv[i], "--encoder")) w.causal = false;
        else if (!strcmp(argv[i], "--busy")) w.busy = true, options.threads = 1;
        else if (!strcmp(argv[i], "--threads")) options.threads = atoi(value), i++;
        else if (!strcmp(argv[i], "--rounds")) rounds = atoi(value), i++;
        else if (!strcmp(argv[i], "--features")) w.features = atoi(value), i++;
        else if (!strcmp(argv[i], "--longest")) longest = atoi(value), i++;
        else if (!strcmp(argv[i], "--shortest")) shortest = atoi(value), i++;
        else if (!strcmp(argv[i], "--isa")) options.isa = value, i++;
        else if (!strcmp(argv[i], "--map")) w.map = value, i++;
        else {
            fprintf(stderr, "bench_linear: unknown option %s\n", argv[i]);
            return 2;
        }
    }
    if (options.threads < 1 || rounds < 1 || rounds > ROUNDS || w.features < 2 || w.features % 2 || shortest < 1) {
        fprintf(stderr,
                "bench_linear: expected --threads >= 1, 1 <= --rounds <= %d, even --features, --shortest >= 1\n",
                ROUNDS);
        return 2;
    }
    rf_error why = {0};
    must(rf_ctx_new(&options, &w.ctx, &why), &why);
    w.projects = !strcmp(w.map, "favor") || !strcmp(w.map, "relu");
    if (!w.projects) w.features = D;
    random_rows(&w);
    if (!json)
        printf("%s, %d threads, %s, %lld features, %s, %d heads of %d\n", rf_ctx_isa(w.ctx), rf_ctx_threads(w.ctx),
               w.map, (long long)w.features, w.causal ? "causal" : "encoder", HEADS, D);
    double first[PASSES] = {0};
    for (w.T = shortest; w.T <= longest; w.T *= 2) measure(&w, rounds, json, first);
    rf_ctx_release(w.ctx, w.random);
    rf_ctx_free(w.ctx);
    return 0;
}
