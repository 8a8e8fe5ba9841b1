/* attention_pass.c — one layer's attention with a position encoding, in its parts: roformer/inspect/steps.h.
 *
 * The parts are: the tables, the attention operation of the tape, and the backward pass, which begins with a loss over
 * one token at the beginning of each sequence. */
#include "model/encoder.h"
#include "model/position.h"
#include "roformer/inspect/steps.h"

enum { PARAMETERS = 16 };

struct rf_attention_pass {
    const rf_ctx *ctx;
    rf_type type;
    rf_params params;
    rf_positions *kept;
    rf_graph *graph;
    float *value, *grad, *qkv, *d_qkv, *weight;
    int32_t *id, *start;
    int32_t B, T;
};

void rf_attention_pass_close(rf_attention_pass *p)
{
    if (!p) return;
    void *const all[] = {p->value, p->grad, p->qkv, p->d_qkv, p->weight, p->id, p->start};
    for (size_t i = 0; i < RF_COUNT(all); i++) rf__free(p->ctx, all[i]);
    rf__graph_free(p->graph);
    rf__positions_free(p->kept);
    if (p->params.p) rf__params_free(&p->params);
    rf__free(p->ctx, p);
}

static float *drawn(const rf_ctx *ctx, size_t n, uint64_t stream)
{
    float *x = rf__alloc(ctx, n * sizeof *x);
    rf_rng r;
    rf_rng_init(&r, 1, stream);
    for (size_t i = 0; x && i < n; i++) x[i] = 2 * rf_rng_uniform(&r) - 1;
    return x;
}

static rf_status make(rf_attention_pass *p, const rf_config *c, rf_error *why)
{
    const rf_ctx *ctx = p->ctx;
    rf_status status = rf__params_new(ctx, c, &p->params, why);
    if (!status) status = rf__positions_new(ctx, &p->params.config, &p->kept, why);
    if (!status) status = rf__graph_new(ctx, &p->graph, why);
    if (status) return status;
    const size_t N = (size_t)p->B * (size_t)p->T, C = (size_t)c->hidden_size;
    p->value = rf__alloc(ctx, p->params.total * sizeof *p->value);
    p->grad = rf__calloc(ctx, p->params.total, sizeof *p->grad);
    p->qkv = drawn(ctx, N * 3 * C, 1);
    p->d_qkv = rf__calloc(ctx, N * 3 * C, sizeof *p->d_qkv);
    p->weight = drawn(ctx, C, 2);
    p->id = rf__calloc(ctx, N, sizeof *p->id);
    p->start = rf__calloc(ctx, (size_t)p->B + 1, sizeof *p->start);
    if (!p->value || !p->grad || !p->qkv || !p->d_qkv || !p->weight || !p->id || !p->start)
        return rf_fail(why, RF_ENOMEM, "out of memory: attention of %zu tokens", N);
    rf__params_init(&p->params, p->value, 1);
    for (int32_t b = 0; b <= p->B; b++) p->start[b] = b * p->T;
    return RF_OK;
}

rf_status rf_attention_pass_open(const rf_ctx *ctx, const rf_config *c, rf_type type, int32_t B, int32_t T,
                                 rf_attention_pass **out, rf_error *why)
{
    if (!(ctx && c && out)) return rf__missing("rf_attention_pass_open", "ctx, config, out", why);
    if (B < 1 || T < 1 || (int64_t)B * T > INT32_MAX || (type != RF_F32 && type != RF_BF16))
        return rf_fail(why, RF_EARG,
                       "rf_attention_pass_open: expected at least 1 sequence of at least 1 token in RF_F32 "
                       "or RF_BF16, got %d of %d, type %d", (int)B, (int)T, (int)type);
    rf_attention_pass *p = rf__calloc(ctx, 1, sizeof *p);
    if (!p) return rf_fail(why, RF_ENOMEM, "out of memory");
    *p = (rf_attention_pass){.ctx = ctx, .type = type, .B = B, .T = T};
    const rf_status status = make(p, c, why);
    if (status) rf_attention_pass_close(p);
    else *out = p;
    return status;
}

/* The encoding's parameters, of the embeddings and of the first layer; if layers have none, the same, as the encoder
 * binds them. false: there are more than expected. */
static bool bind_pass(rf_attention_pass *p, bool back, rf_tensor *shared[], rf_tensor *layer[])
{
    size_t n[2] = {0, 0};
    for (size_t i = 0; i < p->params.n; i++) {
        const rf_param *q = &p->params.p[i];
        if (!q->position || q->layer > 0) continue;
        const int inner = q->layer == 0;
        if (n[inner] == PARAMETERS) return false;
        (inner ? layer : shared)[n[inner]++] = rf__parameter(
            p->graph, p->value + q->offset, back ? p->grad + q->offset : NULL, q->rank, q->dim);
    }
    if (!n[1]) memcpy(layer, shared, PARAMETERS * sizeof *shared);
    return true;
}

/* Tables, attention, backward; the graph keeps the first failure. */
static void timed(rf_attention_pass *p, rf_layer_context *at, bool back, double s[3], rf_error *why)
{
    rf_graph *g = p->graph;
    const int64_t N = (int64_t)p->B * p->T, C = p->params.config.hidden_size;
    const rf_position *is = p->params.position;
    rf_tensor *qkv = back ? rf__input(g, p->qkv, p->d_qkv, 2, (int64_t[]){N, 3 * C})
                          : rf__constant(g, p->qkv, 2, (int64_t[]){N, 3 * C});
    rf_attention_spec spec = {.heads = p->params.config.num_attention_heads, .B = p->B, .start = at->start};
    const double begin = rf__seconds();
    if (is->relate) is->relate(g, at, qkv, &spec);
    const double made = rf__seconds();
    rf_tensor *y = rf__attention(g, qkv, &spec);
    const double done = rf__seconds();
    s[0] = made - begin, s[1] = done - made, s[2] = 0;
    if (!back || g->error.code) return;
    rf_tensor *loss = rf__linear(g, rf__rows(g, y, p->start, 1), rf__constant(g, p->weight, 2, (int64_t[]){1, C}), NULL,
                                 RF_ACT_NONE);
    const double middle = rf__seconds();
    rf__backward(g, loss, why);
    s[2] = rf__seconds() - middle;
}

rf_status rf_attention_pass_run(rf_attention_pass *p, int keep, int back, double seconds[3], rf_error *why)
{
    if (!(p && seconds)) return rf__missing("rf_attention_pass_run", "pass, seconds", why);
    rf_graph *g = p->graph;
    rf_tensor *shared[PARAMETERS] = {NULL}, *layer[PARAMETERS] = {NULL};
    rf_layer_context at;
    rf_error own = {0};
    if (rf__graph_reset(g)) return rf_fail(why, RF_ENOMEM, "out of memory: a tape");
    rf__graph_record(g, back != 0, 1, 1);
    rf__graph_products(g, p->type);
    const rf_batch b = {.N = (int64_t)p->B * p->T, .B = p->B, .id = p->id, .start = p->start};
    const bool bound = rf__positions_bind(g, p->kept, &p->params.config, &b, &at);
    if (bound && !bind_pass(p, back != 0, shared, layer))
        return rf_fail(why, RF_EUNSUPPORTED, "%s: expected at most %d tensors in a layer, got more",
                       p->params.position->name, PARAMETERS);
    if (bound) {
        at.layer = 0, at.shared = shared, at.weight = layer, at.still = keep != 0;
        timed(p, &at, back != 0, seconds, &own);
    }
    const rf_error *e = g->error.code ? &g->error : &own;
    return e->code ? rf_fail(why, e->code, "%s", e->text) : RF_OK;
}
