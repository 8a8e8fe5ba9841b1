/* attention_api.c — public attention: checks the arguments, allocates scratch memory, calls the kernel. */
#include "kernel/kernel.h"
#include "roformer/kernel/attention.h"

/* Rows of floats of a problem: present unless their number is 0, with a stride of their width. */
typedef struct rows {
    const char *name;
    const void *is;
    int64_t count, stride, width;
} rows;

static rf_status check_rows(const rows *r, size_t n, rf_error *why)
{
    for (size_t i = 0; i < n; i++, r++) {
        if (r->count < 1 || r->width < 1) continue;
        if (!r->is)
            return rf_fail(why, RF_EARG, "attention: %s: expected %lld rows, got NULL", r->name, (long long)r->count);
        if (r->stride < r->width && r->count > 1)
            return rf_fail(why, RF_ESHAPE, "attention: %s: expected a stride of at least %lld columns, got %lld",
                           r->name, (long long)r->width, (long long)r->stride);
    }
    return RF_OK;
}

static rf_status check_relative(const rfk_attention *a, rf_error *why)
{
    const rfk_relative *r = a->relative;
    if (!r) return RF_OK;
    if (r->clip < 0) return rf_fail(why, RF_EARG, "attention: clip: expected 0 or more, got %lld", (long long)r->clip);
    const rows tables[] = {
        {"relative->query", r->query, r->query ? 2 : 0, r->query_stride, a->width},
        {"relative->key", r->key, r->key ? 2 : 0, r->key_stride, a->width},
        {"relative->value", r->value, r->value ? 2 : 0, r->value_stride, a->width},
    };
    return check_rows(tables, RF_COUNT(tables), why);
}

static rf_status check_rotation(const rfk_attention *a, rf_error *why)
{
    if (!a->cos && !a->sin) return RF_OK;
    if (!a->cos || !a->sin || (!a->q_row && a->queries))
        return rf_fail(why, RF_EARG, "attention: rotation: expected cos, sin and q_row, got NULL for one of them");
    if (a->layout != RF_ROPE_PAIRS && a->layout != RF_ROPE_HALVES)
        return rf_fail(why, RF_EARG, "attention: layout: expected RF_ROPE_PAIRS or RF_ROPE_HALVES, that of the table, "
                       "got %d", (int)a->layout);
    if (a->rotary < 2 || a->rotary % 2 || a->rotary > a->width)
        return rf_fail(why, RF_ESHAPE, "attention: rotary: expected an even number from 2 to width %lld, got %lld",
                       (long long)a->width, (long long)a->rotary);
    return RF_OK;
}

static rf_status check(const rfk_attention *a, rf_type type, rf_error *why)
{
    if (type != RF_F32 && type != RF_BF16)
        return rf_fail(why, RF_EARG, "attention: type: expected RF_F32 or RF_BF16, got %d", (int)type);
    if (a->queries < 0 || a->keys < 0 || a->width < 1 || a->width2 < 0)
        return rf_fail(why, RF_ESHAPE, "attention: expected queries and keys of 0 or more rows and widths, got %lld "
                       "queries and %lld keys of width %lld and %lld", (long long)a->queries, (long long)a->keys,
                       (long long)a->width, (long long)a->width2);
    if (!(a->drop >= 0 && a->drop < 1))
        return rf_fail(why, RF_EARG, "attention: drop: expected at least 0 and below 1, got %g", (double)a->drop);
    const int64_t keys = a->pages.page ? 0 : a->keys;
    const rows all[] = {
        {"q", a->q, a->queries, a->q_stride, a->width},     {"k", a->k, keys, a->k_stride, a->width},
        {"v", a->v, keys, a->v_stride, a->width},           {"out", a->out, a->queries, a->out_stride, a->width},
        {"q2", a->q2, a->queries, a->q2_stride, a->width2}, {"k2", a->k2, keys, a->k2_stride, a->width2},
    };
    rf_status status = check_rows(all, RF_COUNT(all), why);
    if (!status) status = check_rotation(a, why);
    return status ? status : check_relative(a, why);
}

static rf_status check_back(const rfk_attention *a, const rfk_attention_grad *g, rf_error *why)
{
    if (a->pages.page) return rf_fail(why, RF_EARG, "attention: backward: expected keys in one array, got pages");
    if (!a->lse && a->queries)
        return rf_fail(why, RF_EARG, "attention: lse: expected that of the forward call, got NULL");
    const rows all[] = {
        {"d_out", g->d_out, a->queries, g->d_out_stride, a->width},
        {"dq", g->dq, a->queries, g->dq_stride, a->width},
        {"dk", g->dk, a->keys, g->dk_stride, a->width},
        {"dv", g->dv, a->keys, g->dv_stride, a->width},
        {"dq2", g->dq2, a->queries, g->dq2_stride, a->width2},
        {"dk2", g->dk2, a->keys, g->dk2_stride, a->width2},
    };
    return check_rows(all, RF_COUNT(all), why);
}

/* *own: what is to be freed. */
static rf_status take_scratch(const rf_ctx *ctx, size_t bytes, void **scratch, void **own, rf_error *why)
{
    *own = *scratch ? NULL : (*scratch = rf__alloc(ctx, bytes));
    return *scratch ? RF_OK : rf_fail(why, RF_ENOMEM, "attention: out of memory for %zu bytes of scratch", bytes);
}

rf_status rf_attend(const rf_ctx *ctx, rf_type type, const rfk_attention *a, void *scratch, rf_error *why)
{
    void *own = NULL;
    if (!(ctx && a)) return rf__missing("rf_attend", "ctx, problem", why);
    rf_status status = check(a, type, why);
    if (status || !a->queries) return status;
    status = take_scratch(ctx, rfk_attention_scratch(a), &scratch, &own, why);
    if (!status) (type == RF_BF16 ? ctx->k->attention_bf16 : ctx->k->attention)(a, 0, a->queries, scratch);
    rf__free(ctx, own);
    return status;
}

rf_status rf_attend_back(const rf_ctx *ctx, rf_type type, const rfk_attention *a, const rfk_attention_grad *g,
                         void *scratch, rf_error *why)
{
    void *own = NULL;
    if (!(ctx && a && g)) return rf__missing("rf_attend_back", "ctx, problem, adjoints", why);
    rf_status status = check(a, type, why);
    if (!status) status = check_back(a, g, why);
    if (!status) status = take_scratch(ctx, rfk_attention_back_scratch(a), &scratch, &own, why);
    if (!status) (type == RF_BF16 ? ctx->k->attention_bf16_back : ctx->k->attention_back)(a, g, scratch);
    rf__free(ctx, own);
    return status;
}
