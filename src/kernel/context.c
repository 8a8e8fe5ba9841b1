/* context.c — a context: allocator, threads, and the kernels of the best rung, selected once. */
#include <stdio.h>

#include "base/context.h"
#include "kernel/gemm/products.h"
#include "kernel/kernel.h"
#include "roformer/kernel/kernels.h"

/* ---- the rung ---- */

/* The reason why the requested rung is not available. */
static rf_status refuse(const char *asked, const char *best, rf_error *why)
{
    char all[200] = "";
    const char *name, *lacks;
    for (int i = 0; (name = rfk_rung_name(i, &lacks)); i++) {
        if (lacks && !strcmp(name, asked))
            return rf_fail(why, RF_EARG,
                           "isa: \"%s\": expected a processor with %s%s; the best instruction set here is \"%s\"",
                           asked, lacks, strchr(lacks, ',') ? "" : ", which this processor does not have", best);
        rf__list_add(all, sizeof all, name);
    }
    return rf_fail(why, RF_EARG, "isa: expected one of %s, got \"%s\"; the best instruction set here is \"%s\"", all,
                   asked, best);
}

/* The rung named `asked`, or the best one that is not emulated. */
static rf_status choose(const char *asked, rfk_table *out, rf_error *why)
{
    int best = 0, chosen = -1;
    for (int i = 0; rfk_rung(i, out); i++) {
        if (!rfk_rung_emulated(out->isa)) best = i;
        if (asked && !strcmp(asked, out->isa)) chosen = i;
    }
    rfk_rung(chosen < 0 ? best : chosen, out);
    return asked && chosen < 0 ? refuse(asked, out->isa, why) : RF_OK;
}

/* ---- making one ---- */

static int threads_of_machine(void)
{
    const int n = rf_processors();
    return n < RF_MAX_THREADS ? n : RF_MAX_THREADS;
}

/* What kernels need in addition to their table: products, workers. */
static rf_status equip(rf_ctx *ctx, const rfk_table *best, rf_error *why)
{
    rfk_table *kernels = rf__alloc(ctx, sizeof *kernels);
    if (!kernels) return rf_fail(why, RF_ENOMEM, "out of memory: a kernel table of %zu bytes", sizeof *kernels);
    *kernels = *best;
    ctx->k = kernels;
    ctx->isa = best->isa;
    ctx->thread_start = kernels->thread_start;
    ctx->thread_end = kernels->thread_end;
    rf_status status = rf__kept_bytes_new(ctx, why);
    if (!status) status = rf__memory_folders_new(ctx, why);
    if (!status) status = rf__product_state_new(ctx, why);
    return status ? status : rf__pool_new(ctx, why);
}

void rf_ctx_options_init(rf_ctx_options *o, size_t size)
{
    rf__options_init(o, size, &(rf_ctx_options){0}, sizeof(rf_ctx_options));
}

rf_status rf_ctx_new(const rf_ctx_options *options, rf_ctx **out, rf_error *why)
{
    if (!out) return rf__missing("rf_ctx_new", "out", why);
    rf_ctx_options o;
    rfk_table best = {0};
    rf_ctx_defaults(&o);
    if (rf__options_read(&o, sizeof o, RF_SIZE_TO(rf_ctx_options, dictionary), options, "rf_ctx_options", why))
        return RF_EARG;
    if (o.threads < 0 || o.threads > RF_MAX_THREADS)
        return rf_fail(why, RF_EARG, "threads: expected 0 to %d, got %d", RF_MAX_THREADS, o.threads);
    if (!o.allocator.alloc != !o.allocator.release)
        return rf_fail(why, RF_EARG, "allocator: expected alloc and release, got one of them");
    rf_status status = choose(o.isa, &best, why);
    if (status) return status;
    if (!o.allocator.alloc) o.allocator = (rf_allocator){rf__system_alloc, rf__system_release, NULL};

    rf_ctx *ctx = o.allocator.alloc(o.allocator.user, sizeof *ctx);
    if (!ctx) return rf_fail(why, RF_ENOMEM, "out of memory: a context of %zu bytes", sizeof *ctx);
    *ctx = (rf_ctx){
        .allocator = o.allocator,
        .threads = o.threads ? o.threads : threads_of_machine(),
        .tracer = o.tracer,
        .tracer_user = o.tracer_user,
    };
    if (o.dictionary && !(ctx->dictionary = rf__strdup(ctx, o.dictionary)))
        status = rf_fail(why, RF_ENOMEM, "out of memory: a path");
    if (!status) status = equip(ctx, &best, why);
    if (status) rf_ctx_free(ctx);
    else *out = ctx;
    return status;
}

void rf_ctx_free(rf_ctx *ctx)
{
    if (!ctx) return;
    rf__pool_free(ctx);
    rf__product_state_free(ctx);
    rf__kept_bytes_free(ctx);
    rf__memory_folders_free(ctx);
    rf__free(ctx, (void *)(uintptr_t)ctx->k);
    rf__free(ctx, ctx->dictionary);
    ctx->allocator.release(ctx->allocator.user, ctx, sizeof *ctx);
}

const rfk_table *rf_ctx_kernels(const rf_ctx *ctx) { return ctx->k; }
int rf_ctx_threads(const rf_ctx *ctx) { return ctx->threads; }
const char *rf_ctx_isa(const rf_ctx *ctx) { return ctx->isa; }

#ifndef ROFORMER_VERSION
#error "the build defines ROFORMER_VERSION"
#endif
const char *rf_version(void) { return ROFORMER_VERSION; }

/* ---- for callers that use only the kernels: roformer/kernel/kernels.h ---- */

void *rf_ctx_alloc(const rf_ctx *ctx, size_t bytes) { return ctx ? rf__alloc(ctx, bytes) : NULL; }

void rf_ctx_release(const rf_ctx *ctx, void *memory)
{
    if (ctx) rf__free(ctx, memory);
}

rf_status rf_ctx_run(const rf_ctx *ctx, int64_t n, rf_work_body *body, void *arg, rf_error *why)
{
    if (!(ctx && body)) return rf__missing("rf_ctx_run", "ctx, body", why);
    if (n < 0) return rf_fail(why, RF_EARG, "rf_ctx_run: bodies: expected 0 or more, got %lld", (long long)n);
    rf__parallel(ctx, n, body, arg);
    return RF_OK;
}
