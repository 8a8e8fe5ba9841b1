/* select.c — the ladder of rungs.def, climbed once, when a context is made. */
#if defined(__x86_64__)
#include <cpuid.h>
#endif

#include <stdio.h>

#include "base/context.h"
#include "kernel/gemm/products.h"
#include "kernel/kernel.h"

/* ---- what each rung needs ---- */

/* Notes the first feature that is not there. */
static bool lack(const char **lacks, const char *feature)
{
    if (!*lacks) *lacks = feature;
    return false;
}

#if defined(__x86_64__)
static bool has_f16c(void)
{
    unsigned a, b, c = 0, d;
    return __get_cpuid(1, &a, &b, &c, &d) && (c & bit_F16C);
}
#endif

#define CPU(feature) (__builtin_cpu_supports(#feature) || lack(lacks, #feature))
#define F16C (has_f16c() || lack(lacks, "f16c"))
#define RUNG(name) can_##name(lacks)
#if defined(__x86_64__)
#define ON_x86_64(there, elsewhere) there
#define ON_aarch64(there, elsewhere) elsewhere
#elif defined(__aarch64__)
#define ON_x86_64(there, elsewhere) elsewhere
#define ON_aarch64(there, elsewhere) there
#else
#define ON_x86_64(there, elsewhere) elsewhere
#define ON_aarch64(there, elsewhere) elsewhere
#endif

#define RFR(name, machine, needs, flags)                                                                               \
    static bool can_##name(const char **lacks)                                                                         \
    {                                                                                                                  \
        (void)lacks;                                                                                                   \
        return ON_##machine(needs, lack(lacks, #machine));                                                             \
    }
#include "roformer/rungs.def"
#undef RFR

static bool can_ref(const char **lacks)
{
    (void)lacks;
    return true;
}

static const struct rung {
    const char *name;
    const rfk_table *table;             /* NULL: of another machine */
    bool (*can)(const char **lacks);
} ladder[] = {
    {"ref", &rfk_ref, can_ref},
#define RFR(name, machine, needs, flags) {#name, ON_##machine(&rfk_##name, NULL), can_##name},
#include "roformer/rungs.def"
#undef RFR
};

const char *rfk_rung_name(int i, const char **lacks)
{
    if (i < 0 || (size_t)i >= RF_COUNT(ladder)) return NULL;
    const char *missing = NULL;
    ladder[i].can(&missing);
    if (lacks) *lacks = missing;
    return ladder[i].name;
}

/* ---- tables ---- */

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
    int at = -1;
    if (i < 0) return 0;
    rfk_table table = {0};
    for (size_t j = 0; j < RF_COUNT(ladder) && at < i; j++) {
        const char *lacks = NULL;
        if (!ladder[j].can(&lacks)) continue;
        overlay(&table, ladder[j].table);
        at++;
    }
    if (at < i) return 0;
    *out = table;
    return 1;
}

/* Why the rung that was asked for cannot be had. */
static rf_status refuse(const char *asked, const char *best, rf_error *why)
{
    char all[256] = "";
    size_t n = 0;
    const char *name, *lacks;
    for (int i = 0; (name = rfk_rung_name(i, &lacks)); i++) {
        if (lacks && !strcmp(name, asked))
            return rf_fail(why, RF_EARG, "isa: \"%s\" needs %s, which this processor does not have; the best rung here is \"%s\"",
                           asked, lacks, best);
        if (n < sizeof all) n += (size_t)snprintf(all + n, sizeof all - n, "%s%s", n ? ", " : "", name);
    }
    return rf_fail(why, RF_EARG, "isa: \"%s\" is not one of %s; the best rung here is \"%s\"", asked, all, best);
}

rf_status rf_ctx_new(const rf_ctx_options *options, rf_ctx **out, rf_error *why)
{
    const char *asked = options ? options->isa : NULL;
    rfk_table table, best;
    bool found = !asked;
    int rung = 0;
    for (int i = 0; rfk_rung(i, &table); i++) {
        best = table;
        rung = i;
        if (asked && !strcmp(asked, table.isa)) {
            found = true;
            break;
        }
    }
    if (!found) return refuse(asked, best.isa, why);

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
    ctx->capped = asked && rfk_rung(rung + 1, &table);
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
