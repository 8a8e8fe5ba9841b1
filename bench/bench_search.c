/* bench_search.c — searching an index.
 *
 *     bench_search [--rows 1000000] [--dimensions 256] [--threads 2] [--queries 20] [--top 10] [--spread 1] [--busy]
 *
 *     An index of random vectors is written to $TMPDIR and removed at the end: ROWS directions, or with --spread S
 *     below 1 a common center plus S times a direction, similar to vectors of texts.  Queries are made the same way.
 *     The time of a search is compared with the time to read as many bytes as the codes have, on the same threads,
 *     measured immediately before; and once with comparing all vectors in f32 in one thread of this program, whose
 *     hits must be the same.
 *
 * The program prints medians over the queries.  --busy, for a shared machine: processor time per thread instead of
 * elapsed time, and minima. */
#define _GNU_SOURCE
#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

#include "clock.h"
#include "median.h"
#include "roformer/inspect/files.h"
#include "roformer/index.h"
#include "roformer/context.h"
#include "roformer/kernel/kernels.h"

enum { BLOCK = 4096, MOST = 999 };

typedef struct settings {
    int64_t rows, dimensions, queries, top;
    int threads;
    double spread;
    bool busy;
} settings;

static void stop(const rf_error *why)
{
    fprintf(stderr, "%s\n", why->text);
    exit(1);
}

static void *need(void *memory)
{
    const rf_error why = {.text = "out of memory"};
    if (!memory) stop(&why);
    return memory;
}

static double now(const settings *s)
{
    struct timespec t;
    if (!s->busy) return seconds();
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
    return ((double)t.tv_sec + 1e-9 * (double)t.tv_nsec) / s->threads;
}

static double middle(const settings *s, double *x, int n)
{
    const double half = median(x, n);
    return s->busy ? x[0] : half;
}

/* A direction: numbers of a normal distribution, around the center. */
static void draw(const settings *s, rf_rng *r, float *v)
{
    double square = 0;
    for (int64_t c = 0; c < s->dimensions; c++) {
        const double x = s->spread * (double)rf_rng_normal(r) + (s->spread < 1 ? (double)(c % 3 - 1) : 0);
        v[c] = (float)x;
        square += x * x;
    }
    for (int64_t c = 0; c < s->dimensions; c++) v[c] = (float)((double)v[c] / sqrt(square));
}

static void write_index(const settings *s, const rf_ctx *ctx, const char *folder)
{
    rf_error why = {0};
    rf_index_options o;
    rf_index_writer *w;
    rf_rng r;
    rf_index_defaults(&o);
    o.dimensions = s->dimensions;
    rf_rng_init(&r, 1, 0);
    float *v = need(malloc((size_t)(BLOCK * s->dimensions) * sizeof *v));
    const char *text[BLOCK];
    for (int i = 0; i < BLOCK; i++) text[i] = "a line of some words, as many as a caption has";
    if (rf_index_create(ctx, folder, &o, &w, &why)) stop(&why);
    const double begun = seconds();
    for (int64_t from = 0; from < s->rows; from += BLOCK) {
        const int64_t n = s->rows - from < BLOCK ? s->rows - from : BLOCK;
        for (int64_t i = 0; i < n; i++) draw(s, &r, v + i * s->dimensions);
        if (rf_index_add(w, v, text, NULL, n, NULL, &why)) stop(&why);
    }
    if (rf_index_finish(w, &why)) stop(&why);
    struct rusage use;
    getrusage(RUSAGE_SELF, &use);
    printf("written in %.1f s, at most %.0f MB of memory\n", seconds() - begun, (double)use.ru_maxrss / 1024);
    free(v);
}

static void remove_index(const char *folder)
{
    static const char *const file[] = {RF_FILE_INDEX, RF_FILE_INDEX_CODES, RF_FILE_INDEX_SCALES, RF_FILE_INDEX_VECTORS,
                                       RF_FILE_INDEX_LINES, RF_FILE_INDEX_OFFSETS, RF_FILE_CHECKSUMS};
    char path[4200];
    for (size_t i = 0; i < sizeof file / sizeof *file; i++) {
        snprintf(path, sizeof path, "%s/%s", folder, file[i]);
        unlink(path);
    }
    rmdir(folder);
}

/* The least of `top` products that comparing everything finds, and its seconds. */
static double brute_force(const settings *s, const char *folder, const float *q, double *least)
{
    char path[4200];
    snprintf(path, sizeof path, "%s/%s", folder, RF_FILE_INDEX_VECTORS);
    FILE *f = need(fopen(path, "rb"));
    float *v = need(malloc((size_t)s->dimensions * sizeof *v));
    double *best = need(calloc((size_t)s->top, sizeof *best));
    for (int64_t i = 0; i < s->top; i++) best[i] = -2;
    fseek(f, 45, SEEK_SET);
    const double begun = seconds();
    for (int64_t row = 0; row < s->rows && fread(v, sizeof *v, (size_t)s->dimensions, f); row++) {
        double sum = 0;
        for (int64_t c = 0; c < s->dimensions; c++) sum += (double)q[c] * (double)v[c];
        int64_t at = s->top;
        for (; at > 0 && sum > best[at - 1]; at--)
            if (at < s->top) best[at] = best[at - 1];
        if (at < s->top) best[at] = sum;
    }
    *least = best[s->top - 1];
    fclose(f);
    free(v);
    free(best);
    return seconds() - begun;
}

static void measure(const settings *s, const rf_ctx *ctx, const char *folder)
{
    rf_error why = {0};
    rf_index *x;
    rf_rng r;
    const rf_hit *hit;
    int64_t hits;
    double time[MOST], limit[MOST], share[MOST], least;
    float *q = need(malloc((size_t)s->dimensions * sizeof *q));
    if (rf_index_open(ctx, folder, &x, &why)) stop(&why);
    rf_rng_init(&r, 2, 0);
    for (int i = -2; i < (int)s->queries; i++) {                        /* two that do not count: pages come in */
        draw(s, &r, q);
        const double rate = rf_peak_read(ctx, (size_t)(s->rows * s->dimensions), 0.05), begun = now(s);
        if (rf_index_search(x, q, s->top, &hit, &hits, &why)) stop(&why);
        if (i < 0) continue;
        time[i] = 1e3 * (now(s) - begun);
        limit[i] = 1e3 * (double)(s->rows * s->dimensions) / rate;
        share[i] = limit[i] / time[i];
    }
    const double all = brute_force(s, folder, q, &least);
    printf("comparing all in double, one thread: %.0f ms, the %lldth product %.9f, found %.9f: %s\n", 1e3 * all,
           (long long)s->top, least, hit[hits - 1].score, least == hit[hits - 1].score ? "the same" : "DIFFERENT");
    const double best = middle(s, time, (int)s->queries);
    printf("search %lld x %lld, %d threads: %.2f ms a query, reading the codes %.2f ms, %.0f %% of that\n",
           (long long)s->rows, (long long)s->dimensions, s->threads, best, middle(s, limit, (int)s->queries),
           100 * median(share, (int)s->queries));
    free(q);
    rf_index_close(x);
}

int main(int argc, char **argv)
{
    settings s = {1000000, 256, 20, 10, 2, 1, false};
    for (int i = 1; i < argc; i++) {
        const char *value = i + 1 < argc ? argv[i + 1] : "";
        if (!strcmp(argv[i], "--busy")) { s.busy = true; continue; }
        if (!strcmp(argv[i], "--rows")) s.rows = atoll(value);
        else if (!strcmp(argv[i], "--dimensions")) s.dimensions = atoll(value);
        else if (!strcmp(argv[i], "--threads")) s.threads = atoi(value);
        else if (!strcmp(argv[i], "--queries")) s.queries = atoll(value);
        else if (!strcmp(argv[i], "--top")) s.top = atoll(value);
        else if (!strcmp(argv[i], "--spread")) s.spread = atof(value);
        else return fprintf(stderr, "bench_search: no option %s\n", argv[i]), 2;
        i++;
    }
    if (s.rows < 1 || s.dimensions < 1 || s.queries < 1 || s.queries > MOST || s.top < 1 || s.top > s.rows) return 2;
    rf_ctx *ctx;
    rf_ctx_options o;
    rf_error why = {0};
    char folder[4096];
    rf_ctx_defaults(&o);
    o.threads = s.threads;
    if (rf_ctx_new(&o, &ctx, &why)) stop(&why);
    const char *temporary = getenv("TMPDIR");
    snprintf(folder, sizeof folder, "%s/bench-search-%ld", temporary ? temporary : "/tmp", (long)getpid());
    write_index(&s, ctx, folder);
    measure(&s, ctx, folder);
    remove_index(folder);
    rf_ctx_free(ctx);
    return 0;
}
