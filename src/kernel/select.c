/* select.c — one ladder per architecture, climbed once, when a context is made. */
#if defined(__x86_64__)
#include <cpuid.h>
#endif

#include "base/context.h"
#include "kernel/kernel.h"
#include "kernel/gemm/products.h"

enum { AVX2 = 1, AVX512 = 2, BF16 = 4 };

static const struct rung { const rfk_table *table; unsigned needs; } ladder[] = {
    {&rfk_ref, 0},
#if defined(__x86_64__)
    {&rfk_avx2, AVX2},
    {&rfk_avx512, AVX2 | AVX512},
    {&rfk_avx512bf16, AVX2 | AVX512 | BF16},
#elif defined(__aarch64__)
    {&rfk_neon, 0},
#endif
};

static unsigned cpu(void)
{
    unsigned has = 0;
#if defined(__x86_64__)
    unsigned a, b, c = 0, d;
    const bool f16c = __get_cpuid(1, &a, &b, &c, &d) && (c & bit_F16C);       /* which not every compiler knows by name */
    if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma") && f16c) has |= AVX2;
    if (__builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") && __builtin_cpu_supports("avx512dq") &&
        __builtin_cpu_supports("avx512vl"))
        has |= AVX512;
    if (__builtin_cpu_supports("avx512bf16")) has |= BF16;
#endif
    return has;
}

/* A finer table replaces only what it improves; a NULL entry leaves the rung below in place. */
static void overlay(rfk_table *t, const rfk_table *finer)
{
    t->isa = finer->isa;
#define RFK(name, result, parameters) \
    if (finer->name) t->name = finer->name;
#include "roformer/kernels.def"
#undef RFK
}

int rfk_rung(int i, rfk_table *out)
{
    const unsigned has = cpu();
    if (i < 0 || (size_t)i >= RF_COUNT(ladder) || (ladder[i].needs & ~has)) return 0;
    *out = (rfk_table){0};
    for (int j = 0; j <= i; j++) overlay(out, ladder[j].table);
    return 1;
}

rf_status rf_ctx_new(const rf_ctx_options *options, rf_ctx **out, rf_error *why)
{
    const char *wanted = options ? options->isa : NULL;
    rfk_table table, best;
    bool found = !wanted;
    int rung = 0;
    for (int i = 0; rfk_rung(i, &table); i++) {
        best = table;
        rung = i;
        if (wanted && !strcmp(wanted, table.isa)) {
            found = true;
            break;
        }
    }
    if (!found) return rf_fail(why, RF_EARG, "isa: \"%s\" is not a rung of this machine, the best is \"%s\"", wanted, best.isa);

    rf_ctx *ctx;
    const rf_status status = rf__ctx_make(options, &ctx, why);
    if (status) return status;
    rfk_table *kernels = rf__alloc(ctx, sizeof *kernels);
    if (!kernels) {
        rf_ctx_free(ctx);
        return rf_fail(why, RF_ENOMEM, "out of memory: a kernel table of %zu bytes", sizeof *kernels);
    }
    *kernels = best;
    ctx->k = kernels;
    ctx->isa = best.isa;
    ctx->capped = wanted && rfk_rung(rung + 1, &table);
    rf_status made = rf__product_state_new(ctx, why);
    if (!made) made = rf__products_choose(ctx, options ? options->products : NULL, why);
    if (!made) made = rf__pool_new(ctx, why);
    if (made) {
        rf_ctx_free(ctx);
        return made;
    }
    *out = ctx;
    return RF_OK;
}

void rf_ctx_free(rf_ctx *ctx)
{
    if (!ctx) return;
    rf__pool_free(ctx);
    rf__product_state_free(ctx);
    rf__free(ctx, (void *)(uintptr_t)ctx->k);
    ctx->allocator.release(ctx->allocator.user, ctx, sizeof *ctx);
}

const rfk_table *rf_ctx_kernels(const rf_ctx *ctx) { return ctx->k; }
