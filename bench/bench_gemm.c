/* bench_gemm.c — every implementation of the matrix product in this build, as fractions of the machine's limits.
 *
 *     bench_gemm [--json] [--threads N] [--rounds N] [--isa RUNG] [--only PART] [--type f32|bf16|int8]
 *
 * The multiply-add peak is measured before every sample, and a sample's fraction is its rate over that peak.  The
 * implementations alternate within a round.  The program prints medians over the rounds.  Small M is compared with
 * memory: the time to read the weights once at the bandwidth measured in the same round (every case cycles through
 * copies of its weights that together exceed the caches).  Products in bf16 are compared with the peak of bf16
 * (vdpbf16ps) if there is one, and with half the bytes.  Products in int8 use packed weights, and are compared with the
 * peak of int8 (vpdpbusd) and a quarter of the bytes.  Every oneDNN module next to the program (dnnl_peer.h) is
 * measured alternately with products of packed weights; in bf16 and int8 it gets x already rounded, while ours includes
 * rounding. */
#include <dlfcn.h>
#include <glob.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "clock.h"
#include "dnnl_peer.h"
#include "peak.h"
#include "roformer/kernel/gemm.h"
#include "roformer/kernel/kernels.h"

#define COUNT(array) (sizeof(array) / sizeof *(array))

typedef enum kind { PACKED, PLAIN, ADJOINT, GRADIENT } kind;     /* x W^T packed, x W^T, dy W, dW += dy^T x */
static const char *const kind_name[] = {"packed", "plain", "adjoint", "gradient"};

typedef struct problem { const char *part; kind kind; int64_t m, n, k; rf_act act; } problem;

static const problem problems[] = {
    {"base", PACKED, 1024, 768, 768, 0},     {"base", PACKED, 1024, 2304, 768, 0},
    {"base", PACKED, 1024, 3072, 768, 0},    {"base", PACKED, 1024, 3072, 768, RF_ACT_GELU},
    {"base", PACKED, 1024, 768, 3072, 0},    {"base", PACKED, 2048, 768, 768, 0},
    {"base", PACKED, 2048, 3072, 768, 0},    {"base", PACKED, 2048, 768, 3072, 0},
    {"base", PACKED, 333, 768, 768, 0},      {"base", PACKED, 333, 3072, 768, 0},
    {"base", PACKED, 100, 3072, 768, 0},     {"train", PLAIN, 1024, 768, 768, 0},
    {"train", PLAIN, 1024, 2304, 768, 0},    {"train", PLAIN, 1024, 3072, 768, 0},
    {"train", PLAIN, 1024, 768, 3072, 0},    {"train", ADJOINT, 1024, 768, 768, 0},
    {"train", ADJOINT, 1024, 768, 3072, 0},  {"train", ADJOINT, 1024, 3072, 768, 0},
    {"train", GRADIENT, 768, 768, 1024, 0},  {"train", GRADIENT, 3072, 768, 1024, 0},
    {"train", GRADIENT, 768, 3072, 1024, 0}, {"train", GRADIENT, 2304, 768, 1024, 0},
    {"head", PLAIN, 154, 30522, 768, 0},     {"head", ADJOINT, 154, 768, 30522, 0},
    {"head", GRADIENT, 30522, 768, 154, 0},  {"small", PLAIN, 4096, 768, 256, 0},
    {"small", PLAIN, 4096, 1024, 256, 0},    {"small", PLAIN, 4096, 256, 1024, 0},
    {"small", PLAIN, 614, 8192, 256, 0},     {"small", ADJOINT, 4096, 256, 768, 0},
    {"small", ADJOINT, 4096, 256, 1024, 0},  {"small", GRADIENT, 768, 256, 4096, 0},
    {"small", GRADIENT, 1024, 256, 4096, 0}, {"small", GRADIENT, 256, 1024, 4096, 0},
    {"small", GRADIENT, 8192, 256, 614, 0},  {"small", PACKED, 4096, 1024, 256, 0},
    {"memory", PACKED, 1, 768, 768, 0},      {"memory", PACKED, 16, 768, 768, 0},
    {"memory", PACKED, 16, 3072, 768, 0},    {"memory", PACKED, 16, 768, 3072, 0},
    {"memory", PACKED, 32, 3072, 768, 0},
};

enum { MAX_ROUNDS = 101, MAX_WAYS = 16, MAX_PEERS = 4, MAX_COPIES = 200 };

typedef struct sample { double ms, share; } sample;

static int by_share(const void *a, const void *b)
{
    const double x = ((const sample *)a)->share, y = ((const sample *)b)->share;
    return (x > y) - (x < y);
}

static float *filled(const rf_ctx *ctx, int64_t n)
{
    float *x = rf_ctx_alloc(ctx, (size_t)n * sizeof *x);
    if (!x) {
        fprintf(stderr, "bench_gemm: out of memory: %lld numbers\n", (long long)n);
        exit(5);
    }
    uint32_t s = 1;
    for (int64_t i = 0; i < n; i++) {
        s = s * 1664525U + 1013904223U;
        x[i] = (float)(int32_t)s * 0x1p-31F;
    }
    return x;
}

static void must(rf_status s, const rf_error *why)
{
    if (!s) return;
    fprintf(stderr, "bench_gemm: %s\n", why->text);
    exit(1);
}

/* One problem in one type: its operands, and its weights several times over for the memory-bound cases. */
typedef struct job {
    const rf_ctx *ctx;
    const problem *p;
    rf_packed *packed[MAX_COPIES];
    int copies, at;
    rf_type type;
    const dnnl_peer_api *by;            /* by oneDNN; NULL: by the library */
    dnnl_peer *peer;
    rf_gemm_call call;
} job;

/* Bytes of a weight. */
static int64_t width_of(rf_type type) { return type == RF_I8 ? 1 : type == RF_BF16 ? 2 : 4; }

/* Every oneDNN module next to this program. */
static const dnnl_peer_api *peers[MAX_PEERS];
static int peer_count;

static void load_peers(void)
{
    char pattern[4200];
    glob_t found;
    const ssize_t length = readlink("/proc/self/exe", pattern, 4096);
    if (length <= 0) return;
    pattern[length] = 0;
    char *slash = strrchr(pattern, '/');
    if (!slash) return;
    strcpy(slash, "/dnnl_peer_*.so");
    if (glob(pattern, 0, NULL, &found)) return;
    for (size_t i = 0; i < found.gl_pathc && peer_count < MAX_PEERS; i++) {
        void *module = dlopen(found.gl_pathv[i], RTLD_NOW | RTLD_LOCAL);
        const dnnl_peer_api *(*api)(void) = NULL;
        if (module) *(void **)&api = dlsym(module, "dnnl_peer_module");
        if (api) peers[peer_count++] = api();
        else fprintf(stderr, "bench_gemm: %s: left out: %s\n", found.gl_pathv[i], dlerror());
    }
    globfree(&found);
}

/* False when oneDNN has no product of this type on this machine. */
static bool prepare_peer(job *j)
{
    const rf_gemm_call *g = &j->call;
    const dnnl_peer_problem p = {.m = g->m, .n = g->n, .k = g->k, .act = g->act, .type = j->type,
                                 .copies = j->copies, .threads = rf_ctx_threads(j->ctx), .x = g->a, .w = g->b,
                                 .bias = g->bias, .y = g->c};
    j->peer = j->by->create(&p);
    if (!j->peer) fprintf(stderr, "%s: no such product on this machine\n", j->by->name);
    return j->peer != NULL;
}

/* False when there is nothing to measure. */
static bool prepare(job *j, const float *a, const float *b, float *c)
{
    const problem *p = j->p;
    const int at = p->kind == GRADIENT, bt = p->kind == PLAIN || p->kind == PACKED;
    j->call = (rf_gemm_call){.m = p->m, .n = p->n, .k = p->k, .a = a, .lda = at ? p->m : p->k, .a_transposed = at,
                             .b = b, .ldb = bt ? p->k : p->n, .b_transposed = bt, .beta = p->kind == GRADIENT,
                             .c = c, .ldc = p->n, .bias = p->kind <= PLAIN ? a : NULL, .act = p->act,
                             .type = j->type};
    if (p->kind != PACKED) return true;
    const int64_t bytes = p->n * p->k * width_of(j->type);
    j->copies = p->m > 64 ? 1 : 200000000 / bytes < MAX_COPIES ? (int)(200000000 / bytes) + 1 : MAX_COPIES;
    if (j->by) return prepare_peer(j);
    rf_error why = {0};
    for (int i = 0; i < j->copies; i++)
        must(rf_pack(j->ctx, j->call.type, p->n, p->k, b, &j->packed[i], &why), &why);
    return true;
}

static void run(job *j)
{
    rf_error why = {0};
    const rf_gemm_call *g = &j->call;
    if (j->by) {
        j->by->run(j->peer, j->at);
        j->at = (j->at + 1) % j->copies;
    } else if (j->p->kind == PACKED) {
        must(rf_packed_product(j->ctx, j->packed[j->at], g->m, g->a, g->lda, g->bias, g->act, g->c, g->ldc, &why),
             &why);
        j->at = (j->at + 1) % j->copies;
    } else {
        must(rf_gemm(j->ctx, g, &why), &why);
    }
}

/* Runs for about `least` seconds, and says what one run takes. */
static double timed(job *j, double least)
{
    const double start = seconds();
    double now;
    int n = 0;
    do {
        run(j);
        n++;
        now = seconds();
    } while (now - start < least);
    return (now - start) / n;
}

static void print(const job *j, const sample *s, int rounds, bool json)
{
    const problem *p = j->p;
    const sample m = s[rounds / 2];
    const double gflops = 2e-6 * (double)p->m * (double)p->n * (double)p->k / m.ms;
    const char *const fma = j->type == RF_I8 ? "int8 fma" : j->type == RF_BF16 ? "bf16 fma" : "fma";
    const char *of = p->part[0] == 'm' ? "memory" : fma;
    const char *const ours = j->type == RF_I8 ? "built-in, int8" : j->type == RF_BF16 ? "built-in, bf16" : "built-in";
    const char *by = j->by ? j->by->name : ours;
    if (json)
        printf(
            "{\"case\": \"gemm %s m%lld n%lld k%lld act%d\", \"by\": \"%s\", \"ms\": %.4f, \"gflops\": %.1f, "
            "\"share_of_peak\": %.4f, \"peak\": \"%s\", \"share_low\": %.4f, \"share_high\": %.4f, \"threads\": %d}\n",
            kind_name[p->kind], (long long)p->m, (long long)p->n, (long long)p->k, (int)p->act, by, m.ms,
            gflops, m.share, of, s[0].share, s[rounds - 1].share, rf_ctx_threads(j->ctx));
    else
        printf("%-8s m %5lld n %5lld k %5lld act %d  %-14s %9.4f ms %7.1f GFLOP/s  %5.1f %% of %s (%.1f-%.1f)\n",
               kind_name[p->kind], (long long)p->m, (long long)p->n, (long long)p->k, (int)p->act, by, m.ms,
               gflops, 100 * m.share, of, 100 * s[0].share, 100 * s[rounds - 1].share);
    fflush(stdout);
}

/* What one run does, and what the machine can do of it in a second. */
static double work_of(const job *j)
{
    const problem *p = j->p;
    if (p->part[0] == 'm') return (double)(width_of(j->type) * p->n * p->k);
    return 2.0 * (double)p->m * (double)p->n * (double)p->k;
}

/* oneDNN's workers look for more work for some milliseconds after a product, on the processors of the next one. */
static void wait_for_idle_workers(void)
{
    const struct timespec pause = {0, 20000000};
    nanosleep(&pause, NULL);
}

static double limit_of(const job *j)
{
    if (j->p->part[0] == 'm') return rf_peak_read(j->ctx, 256 << 20, 0.05);
    return peak_of_type(j->ctx, j->type, 0.02);
}

/* All that this build has of the types that were asked for, and oneDNN's products of packed weights. */
static int find_ways(const rf_ctx *ctx, const problem *p, const char *type, job *jobs)
{
    static const char *const names[] = {[RF_F32] = "f32", [RF_BF16] = "bf16", [RF_I8] = "int8"};
    const bool reference = !strcmp(rf_ctx_isa(ctx), "ref");
    int ways = 0;
    for (size_t t = 0; t < COUNT(names); t++)
        if (names[t] && (!type || !strcmp(type, names[t])) && (t == RF_I8 ? p->kind == PACKED : !reference))
            jobs[ways++] = (job){.ctx = ctx, .p = p, .type = (rf_type)t};
    for (int i = 0; p->kind == PACKED && i < peer_count; i++)
        for (size_t t = 0; t < COUNT(names); t++)
            if (names[t] && (!type || !strcmp(type, names[t])) && ways < MAX_WAYS)
                jobs[ways++] = (job){.ctx = ctx, .p = p, .type = (rf_type)t, .by = peers[i]};
    return ways;
}

static void measure(const rf_ctx *ctx, const problem *p, int rounds, bool json, const char *type)
{
    static sample samples[MAX_WAYS][MAX_ROUNDS];
    job jobs[MAX_WAYS] = {0};
    const int found = find_ways(ctx, p, type, jobs);
    int ways = 0;
    float *a = filled(ctx, p->m * p->k > p->n ? p->m * p->k : p->n), *b = filled(ctx, p->n * p->k),
          *c = filled(ctx, p->m * p->n);
    for (int w = 0; w < found; w++) {
        if (!prepare(&jobs[w], a, b, c)) continue;
        for (int i = 0; i <= jobs[w].copies; i++) run(&jobs[w]);
        jobs[ways++] = jobs[w];
    }
    for (int r = 0; r < rounds; r++)
        for (int w = 0; w < ways; w++) {
            wait_for_idle_workers();
            const double peak = limit_of(&jobs[w]), t = timed(&jobs[w], p->part[0] == 'm' ? 0.05 : 0.03);
            samples[w][r] = (sample){1e3 * t, work_of(&jobs[w]) / t / peak};
        }
    for (int w = 0; w < ways; w++) {
        qsort(samples[w], (size_t)rounds, sizeof(sample), by_share);
        print(&jobs[w], samples[w], rounds, json);
        for (int i = 0; i < jobs[w].copies; i++) rf_packed_free(jobs[w].packed[i]);
        if (jobs[w].by) jobs[w].by->free(jobs[w].peer);
    }
    rf_ctx_release(ctx, a);
    rf_ctx_release(ctx, b);
    rf_ctx_release(ctx, c);
}

int main(int argc, char **argv)
{
    bool json = false;
    int rounds = 9;
    const char *only = NULL, *type = NULL;
    rf_ctx_options options;
    rf_ctx_defaults(&options);
    for (int i = 1; i < argc; i++) {
        if (!strcmp(argv[i], "--json")) json = true;
        else if (!strcmp(argv[i], "--threads") && i + 1 < argc) options.threads = atoi(argv[++i]);
        else if (!strcmp(argv[i], "--rounds") && i + 1 < argc) rounds = atoi(argv[++i]);
        else if (!strcmp(argv[i], "--isa") && i + 1 < argc) options.isa = argv[++i];
        else if (!strcmp(argv[i], "--only") && i + 1 < argc) only = argv[++i];
        else if (!strcmp(argv[i], "--type") && i + 1 < argc) type = argv[++i];
        else {
            fprintf(stderr, "usage: bench_gemm [--json] [--threads N] [--rounds N] [--isa RUNG] [--only "
                            "base|train|head|small|memory] [--type f32|bf16|int8]\n");
            return 2;
        }
    }
    rounds = rounds < 1 ? 1 : rounds > MAX_ROUNDS ? MAX_ROUNDS : rounds;
    rf_ctx *ctx;
    rf_error why = {0};
    must(rf_ctx_new(&options, &ctx, &why), &why);
    const double peak = rf_peak_flops(ctx, 0.3), read = rf_peak_read(ctx, 512 << 20, 0.5),
                 copy = rf_peak_copy(ctx, 512 << 20, 0.5);
    const double half = rf_peak_of(ctx, RF_BF16, 0.3), i8 = rf_peak_of(ctx, RF_I8, 0.3);
    if (json)
        printf("{\"case\": \"peak\", \"gflops\": %.1f, \"bf16_gflops\": %.1f, \"int8_gops\": %.1f, \"read_gb_s\": "
               "%.2f, \"copy_gb_s\": %.2f, \"threads\": %d}\n",
               1e-9 * peak, 1e-9 * half, 1e-9 * i8, 1e-9 * read, 1e-9 * copy, rf_ctx_threads(ctx));
    else
        printf("%d threads: %.1f GFLOP/s f32, %.1f bf16, %.1f int8, %.2f GB/s read, %.2f GB/s copied\n",
               rf_ctx_threads(ctx), 1e-9 * peak, 1e-9 * half, 1e-9 * i8, 1e-9 * read, 1e-9 * copy);
    load_peers();
    if (!peer_count) fprintf(json ? stderr : stdout, "oneDNN: none beside this program (tools/setup.sh bench)\n");
    for (size_t i = 0; i < COUNT(problems); i++)
        if (!only || !strcmp(only, problems[i].part)) measure(ctx, &problems[i], rounds, json, type);
    rf_ctx_free(ctx);
    return 0;
}
