/* attend.c — attention of packed sequences for callers without a graph (roformer/kernel/attention.h): each call is a
 * step of a graph that the workspace keeps. */
#include "graph/graph.h"

struct rf_attention_work { const rf_ctx *ctx; rf_graph *g; };

rf_status rf_attention_work_new(const rf_ctx *ctx, rf_attention_work **out, rf_error *why)
{
    if (!(ctx && out)) return rf__missing("rf_attention_work_new", "ctx, out", why);
    rf_attention_work *w = rf__calloc(ctx, 1, sizeof *w);
    if (!w) return rf_fail(why, RF_ENOMEM, "out of memory: the workspace of attention");
    w->ctx = ctx;
    const rf_status status = rf__graph_new(ctx, &w->g, why);
    if (status) rf__free(ctx, w);
    else *out = w;
    return status;
}

void rf_attention_work_free(rf_attention_work *w)
{
    if (!w) return;
    rf__graph_free(w->g);
    rf__free(w->ctx, w);
}

/* A new step and the tensor of qkv, with `d_qkv` also for its gradient. */
static rf_tensor *begin(rf_graph *g, const float *qkv, float *d_qkv, int64_t N, int64_t C)
{
    if (rf__graph_reset(g)) return rf__stop(g, RF_ENOMEM, "out of memory: the workspace of attention");
    rf__graph_record(g, d_qkv != NULL, 0, 0);
    rf__graph_products(g, RF_F32);
    RF_NEED(g, C > 0 && C <= INT32_MAX, RF_ESHAPE, "attention: columns: expected 1 or more, got %lld", (long long)C);
    return rf__input(g, (float *)(uintptr_t)qkv, d_qkv, 2, (int64_t[]){N, 3 * C});
}

static rf_status finish(const rf_graph *g, const rf_tensor *y, const float **out, rf_error *why)
{
    if (g->error.code) return rf_fail(why, g->error.code, "%s", g->error.text);
    *out = y->f32;
    return RF_OK;
}

rf_status rf_attend_linear(rf_attention_work *w, const rf_linear_attention_spec *spec, const float *qkv, int64_t N,
                           int64_t C, const float **out, rf_error *why)
{
    if (!(w && spec && qkv && out)) return rf__missing("rf_attend_linear", "work, spec, qkv, out", why);
    return finish(w->g, rf__linear_attention(w->g, begin(w->g, qkv, NULL, N, C), spec), out, why);
}

rf_status rf_attend_linear_back(rf_attention_work *w, const rf_linear_attention_spec *spec, const float *qkv,
                                int64_t N, int64_t C, const float *d_out, float *d_qkv, rf_error *why)
{
    if (!(w && spec && qkv && d_out && d_qkv))
        return rf__missing("rf_attend_linear_back", "work, spec, qkv, d_out, d_qkv", why);
    rf_tensor *y = rf__linear_attention(w->g, begin(w->g, qkv, d_qkv, N, C), spec);
    return rf__backward(w->g, rf__inner(w->g, y, d_out), why);
}

rf_status rf_attend_softmax(rf_attention_work *w, const rf_softmax_attention_spec *spec, const float *qkv, int64_t N,
                            int64_t C, const float **out, rf_error *why)
{
    if (!(w && spec && qkv && out)) return rf__missing("rf_attend_softmax", "work, spec, qkv, out", why);
    if (spec->type != RF_F32 && spec->type != RF_BF16)
        return rf_fail(why, RF_EARG, "rf_attend_softmax: type: expected RF_F32 or RF_BF16, got %d", (int)spec->type);
    rf_tensor *x = begin(w->g, qkv, NULL, N, C);
    rf__graph_products(w->g, spec->type);
    return finish(w->g, rf__attention(w->g, x, &(rf_attention_spec){.heads = spec->heads, .B = spec->B,
                                                                    .start = spec->start, .rope = spec->rope,
                                                                    .row = spec->row, .causal = spec->causal}),
                  out, why);
}
