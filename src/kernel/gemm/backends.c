/* backends.c — lists the matrix products of this build, for programs that compare them: roformer/kernel/gemm.h. */
#include <string.h>

#include "kernel/gemm/products.h"
#include "roformer/kernel/gemm.h"

static const rf__products *backend_at(const rf_ctx *ctx, int i, rf_type *type)
{
    static const struct { const rf__products *by; rf_type type; } others[] = {{&rf__products_bf16, RF_BF16},
                                                                              {&rf__products_i8, RF_I8}};
    const rf__products *by;
    int n = 0;
    *type = RF_F32;
    if (!ctx || i < 0) return NULL;
    for (; (by = rf__products_at(ctx, n)); n++)
        if (n == i) return by;
    if (i - n >= (int)RF_COUNT(others)) return NULL;
    *type = others[i - n].type;
    return others[i - n].by;
}

const char *rf_gemm_way(const rf_ctx *ctx, int i, rf_type *type)
{
    rf_type own;
    const rf__products *by = backend_at(ctx, i, type ? type : &own);
    return by ? by->name : NULL;
}

static rf_status none(int i, rf_error *why)
{
    return rf_fail(why, RF_EARG, "products: expected the number of a backend of this context, got %d", i);
}

rf_status rf_gemm_at(const rf_ctx *ctx, int i, const rf_gemm_call *call, rf_error *why)
{
    rf_type type;
    if (!(ctx && call)) return rf__missing("rf_gemm_at", "ctx, call", why);
    const rf__products *by = backend_at(ctx, i, &type);
    return by ? rf__gemm_by(by, ctx, call, why) : none(i, why);
}

rf_status rf_pack_at(const rf_ctx *ctx, int i, rf_type type, int64_t n, int64_t k, const float *w, rf_packed **out,
                     rf_error *why)
{
    rf_type usual;
    if (!(ctx && w && out)) return rf__missing("rf_pack_at", "ctx, w, out", why);
    const rf__products *by = backend_at(ctx, i, &usual);
    return by ? rf__pack_by(by, ctx, type, n, k, w, out, why) : none(i, why);
}
