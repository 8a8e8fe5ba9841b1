/* bench_amx.c — predicts the time of products in tiles from counts on the emulated rung.
 *
 *     bench_amx [--ghz G] [--rows M]
 *
 * Nothing is timed.  Every product of RoFormer-base's layers runs on amx_emulated with one thread; its tile operations
 * are counted (rf_tiles_counted), and cycles follow from the published rates of Sapphire Rapids:
 *
 *     a product of two tiles 16;  a load 8, on ports of its own;  a store 16;  a configuration 204, a release 13
 *
 * The minimum is the longer of products and loads alone; the maximum is products, stores and configurations one after
 * the other.  Both include rounding the rows of x to bf16 or int8, ROUNDING cycles for 16 numbers, each time that they
 * are packed.  Neither includes activation functions, waiting for memory, or a second thread on the core.
 *
 * Attention of one head of 64 columns, without --rows: the cycles of its tiles compared with those of the rung below
 * for the same products, with one vdpbf16ps of 32 multiply-adds per cycle.  Neither includes packing and softmax.
 * */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "roformer/kernel/attention.h"
#include "roformer/kernel/gemm.h"
#include "roformer/kernel/kernels.h"

#define COUNT(array) (sizeof(array) / sizeof *(array))

enum { PRODUCT = 16, LOAD = 8, STORE = 16, CONFIGURE = 204, RELEASE = 13, ROUNDING = 4, LAYERS = 12 };
enum { FMA_A_CYCLE = 32 };                                   /* AVX-512 in f32: 2 x 16 */

/* Of one layer: `times` products of [m,k] with weights [n,k]. */
static const struct shape { const char *name; int times; int64_t n, k; } shapes[] = {
    {"query, key, value", 3, 768, 768},
    {"attention's output", 1, 768, 768},
    {"feed-forward in", 1, 3072, 768},
    {"feed-forward out", 1, 768, 3072},
};

static void must(rf_status status, const rf_error *why)
{
    if (!status) return;
    fprintf(stderr, "bench_amx: %s\n", why->text);
    exit(1);
}

static float *filled(const rf_ctx *ctx, int64_t n)
{
    float *x = rf_ctx_alloc(ctx, (size_t)n * sizeof *x);
    if (!x) must(RF_ENOMEM, &(rf_error){.text = "out of memory"});
    for (int64_t i = 0; i < n; i++) x[i] = (float)(i * 37 % 255 - 127) / 128;
    return x;
}

typedef struct cycles { double dots, loads, stores, setup, rounding; } cycles;

static double at_least(const cycles *c) { return (c->dots > c->loads ? c->dots : c->loads) + c->rounding; }
static double at_most(const cycles *c) { return c->dots + c->stores + c->setup + c->rounding; }

static void add(cycles *sum, const cycles *c, double times)
{
    sum->dots += times * c->dots, sum->loads += times * c->loads, sum->stores += times * c->stores;
    sum->setup += times * c->setup, sum->rounding += times * c->rounding;
}

static rf_tile_counts counted(const rf_ctx *ctx, rf_type type, int64_t m, int64_t n, int64_t k)
{
    float *x = filled(ctx, m * k), *w = filled(ctx, n * k), *y = filled(ctx, m * n);
    rf_packed *packed = NULL;
    rf_tile_counts before, after;
    rf_error why = {0};
    must(rf_pack(ctx, type, n, k, w, &packed, &why), &why);
    rf_tiles_counted(&before);
    must(rf_packed_product(ctx, packed, m, x, k, NULL, RF_ACT_NONE, y, n, &why), &why);
    rf_tiles_counted(&after);
    rf_packed_free(packed);
    rf_ctx_release(ctx, x), rf_ctx_release(ctx, w), rf_ctx_release(ctx, y);
    return (rf_tile_counts){.configured = after.configured - before.configured,
                            .released = after.released - before.released,
                            .zeroed = after.zeroed - before.zeroed,
                            .loaded = after.loaded - before.loaded,
                            .stored = after.stored - before.stored,
                            .dots = after.dots - before.dots};
}

static cycles predicted(const rf_ctx *ctx, rf_type type, const rf_tile_counts *t, int64_t m, int64_t n, int64_t k)
{
    const rfk_table *kernels = rf_ctx_kernels(ctx);
    const rfk_panel_shape *s = type == RF_I8 ? kernels->gemm_panel_i8_shape() : kernels->gemm_panel_bf16_shape();
    const int64_t packings = (n + s->group - 1) / s->group;
    return (cycles){.dots = PRODUCT * (double)t->dots,
                    .loads = LOAD * (double)t->loaded,
                    .stores = STORE * (double)t->stored,
                    .setup = CONFIGURE * (double)t->configured + RELEASE * (double)t->released,
                    .rounding = (double)ROUNDING / 16 * (double)(m * k * packings)};
}

static void print(const char *name, const char *shape, const cycles *c, double operations, double weights, double ghz)
{
    const double peak = operations / c->dots;            /* of a cycle, as many rows are filled up */
    printf("%-20s %-16s %9.0f %9.0f %9.0f %7.0f %9.0f %6.3f-%6.3f %5.0f-%3.0f %6.1f %8.0f\n", name, shape,
           c->dots / PRODUCT, c->loads / LOAD, c->stores / STORE, c->setup, c->rounding, at_least(c) / ghz * 1e-6,
           at_most(c) / ghz * 1e-6, 100 * c->dots / at_most(c), 100 * c->dots / at_least(c),
           weights / at_most(c), peak);
    fflush(stdout);
}

static void table(const rf_ctx *ctx, rf_type type, int64_t m, double ghz)
{
    cycles all = {0};
    double operations = 0, weights = 0;
    printf("\n%s, %lld rows\n%-20s %-16s %9s %9s %9s %7s %9s %13s %9s %6s %8s\n", type == RF_I8 ? "int8" : "bf16",
           (long long)m, "product", "m x n x k", "products", "loads", "stores", "setup", "rounding", "ms", "of peak",
           "B/cyc", "op/cyc");
    for (size_t i = 0; i < COUNT(shapes); i++) {
        const struct shape *p = &shapes[i];
        char text[64];
        const rf_tile_counts t = counted(ctx, type, m, p->n, p->k);
        const cycles c = predicted(ctx, type, &t, m, p->n, p->k);
        const double op = 2 * (double)(m * p->n * p->k), bytes = (double)(p->n * p->k) * (type == RF_I8 ? 1 : 2);
        snprintf(text, sizeof text, "%lldx%lldx%lld", (long long)m, (long long)p->n, (long long)p->k);
        print(p->name, text, &c, op, bytes, ghz);
        add(&all, &c, p->times * LAYERS);
        operations += op * p->times * LAYERS, weights += bytes * p->times * LAYERS;
    }
    print("12 layers", "", &all, operations, weights, ghz);
    printf("the same in f32 by AVX-512 at its peak: %.3f ms\n", operations / (2 * FMA_A_CYCLE) / ghz * 1e-6);
}

/* Tiles that attention of T tokens, one head, takes. */
static rf_tile_counts attended(const rf_ctx *ctx, int64_t T, int64_t D)
{
    float *x = filled(ctx, 3 * T * D), *out = filled(ctx, T * D);
    rf_error why = {0};
    rf_tile_counts before, after;
    const rfk_attention a = {.q = x, .k = x + T * D, .v = x + 2 * T * D, .q_stride = D, .k_stride = D, .v_stride = D,
                             .queries = T, .keys = T, .width = D, .scale = 0.125F, .out = out, .out_stride = D};
    rf_tiles_counted(&before);
    must(rf_attend(ctx, RF_BF16, &a, NULL, &why), &why);
    rf_tiles_counted(&after);
    rf_ctx_release(ctx, x), rf_ctx_release(ctx, out);
    return (rf_tile_counts){.configured = after.configured - before.configured,
                            .released = after.released - before.released,
                            .loaded = after.loaded - before.loaded,
                            .stored = after.stored - before.stored,
                            .dots = after.dots - before.dots};
}

static void attention_table(const rf_ctx *ctx)
{
    const int64_t D = 64, tokens[] = {16, 32, 64, 128, 256, 512};
    printf("\nattention in bf16, one head of %lld columns, cycles\n%6s %9s %9s %9s %9s %7s %15s %12s\n", (long long)D,
           "tokens", "products", "loads", "stores", "bytes", "setup", "in tiles", "by vdpbf16ps");
    for (size_t i = 0; i < COUNT(tokens); i++) {
        const int64_t T = tokens[i];
        const rf_tile_counts t = attended(ctx, T, D);
        const cycles c = {.dots = PRODUCT * (double)t.dots,
                          .loads = LOAD * (double)t.loaded,
                          .stores = STORE * (double)t.stored,
                          .setup = CONFIGURE * (double)t.configured + RELEASE * (double)t.released};
        printf("%6lld %9.0f %9.0f %9.0f %9.0f %7.0f %7.0f-%7.0f %12.0f\n", (long long)T, (double)t.dots,
               (double)t.loaded, (double)t.stored, 1024 * (double)(t.loaded + t.stored), c.setup, at_least(&c),
               at_most(&c), 2 * (double)(T * T * D) / 32);
    }
}

int main(int n, char **argument)
{
    double ghz = 2;
    int64_t only = 0;
    for (int i = 1; i + 1 < n; i += 2) {
        if (!strcmp(argument[i], "--ghz")) ghz = atof(argument[i + 1]);
        else if (!strcmp(argument[i], "--rows")) only = atoll(argument[i + 1]);
        else must(RF_EARG, &(rf_error){.text = "options are --ghz G, --rows M"});
    }
    if (!(ghz > 0) || only < 0 || n % 2 == 0) must(RF_EARG, &(rf_error){.text = "options are --ghz G, --rows M"});
    rf_ctx *ctx = NULL;
    rf_ctx_options o;
    rf_error why = {0};
    rf_ctx_defaults(&o);
    o.threads = 1;
    o.isa = "amx_emulated";
    must(rf_ctx_new(&o, &ctx, &why), &why);
    printf("Predicted, not measured: one core at %g GHz, %d cycles a product of tiles, %d a load, %d a store.\n", ghz,
           PRODUCT, LOAD, STORE);
    const int64_t rows[] = {1024, 16};
    for (size_t i = 0; i < COUNT(rows); i++) {
        if (only && i) break;
        table(ctx, RF_BF16, only ? only : rows[i], ghz);
        table(ctx, RF_I8, only ? only : rows[i], ghz);
    }
    if (!only) attention_table(ctx);
    rf_ctx_free(ctx);
    return 0;
}
