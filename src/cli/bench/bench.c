/* bench.c — repetitions, medians, output rows. */
#include "cli/bench/bench.h"

#include <stdlib.h>
#include <string.h>

#include "roformer/kernel/kernels.h"

enum { REPEATS = 400 };
static const double moment = 0.01;      /* seconds of the reference loop */

static int by_size(const void *a, const void *b)
{
    const double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static double at_share(double *x, int n, double share)
{
    qsort(x, (size_t)n, sizeof *x, by_size);
    return x[(int)(share * (n - 1) + 0.5)];
}

enum { COPY_BLOCK = 1 << 17 };

static void copy_block(void *arg, int64_t i, int worker)
{
    const bench_work *w = arg;
    const size_t at = (size_t)i * COPY_BLOCK, left = w->copy_bytes - at;
    (void)worker;
    memcpy((char *)w->to + at, (const char *)w->from + at, left < COPY_BLOCK ? left : COPY_BLOCK);
}

static void copy_once(const rf_ctx *ctx, bench_work *w)
{
    if (w->alone) memcpy(w->to, w->from, w->copy_bytes);
    else rf_ctx_run(ctx, (int64_t)((w->copy_bytes + COPY_BLOCK - 1) / COPY_BLOCK), copy_block, w, NULL);
    __asm__ volatile("" : : "r"(w->to) : "memory");
}

/* Operations or bytes per second of the reference for the work; 0: there is none. */
static double reference(const bench *b, bench_work *work, long inner)
{
    const double half = work->flops > 0 && b->type != RF_F32 ? rf_peak_of(b->io->ctx, b->type, moment) : 0;
    if (half > 0) return half;
    if (work->flops > 0) return rf_peak_flops(b->io->ctx, moment);
    if (!work->copy_bytes) return 0;
    const double from = cli_seconds();
    for (long i = 0; i < inner; i++) copy_once(b->io->ctx, work);
    return 2 * (double)work->copy_bytes * (double)inner / (cli_seconds() - from + 1e-12);
}

void bench_check_share(bench *b, double share)
{
    if (share > 1) b->above = b->above || b->type == RF_F32 || rf_peak_of(b->io->ctx, b->type, moment) > 0;
}

static void print_row(bench *b, const char *what, const char *shape, double median, double p95, double rate,
                      const char *unit, double tokens, double share)
{
    char number[32], ms[32];
    if (!b->header)
        printf("%-10s %-22s %10s %10s %10s %12s %8s\n", "what", "shape", "ms", "p95", "tokens/s", "speed", "of peak");
    b->header = true;
    snprintf(ms, sizeof ms, median < 0.01 ? "%.3g" : "%.3f", 1e3 * median);
    printf("%-10s %-22s %10s %10.3g ", what, shape, ms, 1e3 * p95);
    cli_count(tokens, number, sizeof number);
    printf("%10s ", tokens > 0 ? number : "-");
    if (rate > 0) printf("%8.1f %s", rate / 1e9, unit);
    else printf("%12s", "-");
    if (share > 0) printf(" %6.1f %%\n", 100 * share);
    else printf(" %8s\n", "-");
}

rf_status bench_row(bench *b, const char *what, const char *shape, bench_body *body, void *arg, bench_work work)
{
    static double time[REPEATS], share[REPEATS], peak[REPEATS + 1];
    rf_error *why = &b->io->why;
    int n = 0;
    long inner = 1;
    rf_status status = body(arg, why);      /* warms caches, compiles shapes, makes what is made once for a model */
    const double before = work.counter ? work.counter(arg) : 0, begin = cli_seconds();
    if (!status) status = body(arg, why);
    const double once = cli_seconds() - begin;
    if (work.counter) work.flops = work.counter(arg) - before;
    if (once < 1e-4) inner = (long)(1e-4 / (once + 1e-9)) + 1;          /* short work is timed in groups */
    const double until = cli_seconds() + b->seconds;
    while (!status && n < REPEATS && (n < 3 || cli_seconds() < until)) {
        peak[n] = reference(b, &work, inner);
        const double from = cli_seconds();
        for (long i = 0; i < inner && !status; i++) status = body(arg, why);
        time[n] = (cli_seconds() - from) / (double)inner;
        n++;
    }
    if (status) return status;
    const double amount = work.flops > 0 ? work.flops : work.bytes;
    peak[n] = reference(b, &work, inner);
    for (int i = 0; i < n; i++) {
        const double around = work.flops > 0 && peak[i + 1] > peak[i] ? peak[i + 1] : peak[i];
        share[i] = around > 0 ? amount / time[i] / around : 0;
    }
    const double p95 = at_share(time, n, 0.95), median = at_share(time, n, 0.5), of_peak = at_share(share, n, 0.5);
    const double rate = amount / median, tokens = work.tokens / median;
    if (work.flops > 0) bench_check_share(b, of_peak);
    const char *unit = work.flops > 0 ? "GF/s" : "GB/s";
    json_t *row = json_pack("{s:s,s:s,s:s,s:f,s:f,s:f,s:i}", "bench", b->kind, "what", what, "shape", shape, "ms",
                            1e3 * median, "p95_ms", 1e3 * p95, "best_ms", 1e3 * time[0], "repeats", n);
    if (tokens > 0) cli_json_set(&row, "tokens_per_second", json_real(tokens));
    if (rate > 0) cli_json_set(&row, work.flops > 0 ? "gflops" : "gbytes_per_second", json_real(rate / 1e9));
    if (of_peak > 0) cli_json_set(&row, work.flops > 0 ? "share_of_fma_peak" : "share_of_copy", json_real(of_peak));
    if (b->json) cli_json_add(&b->rows, json_incref(row));
    else print_row(b, what, shape, median, p95, rate, unit, tokens, of_peak);
    json_decref(row);
    return b->json ? RF_OK : cli_flush(why);
}
