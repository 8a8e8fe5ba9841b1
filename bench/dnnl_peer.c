/* dnnl_peer.c — an inner product by oneDNN 2.6: one primitive, the weights in the layout that it chooses.
 *
 * oneDNN runs on OpenMP's workers.  Their number is set once, before the primitive is compiled.                     */
#include "dnnl_peer.h"

#include <stddef.h>

#ifdef BENCH_DNNL

#include <dnnl.h>
#include <omp.h>
#include <stdio.h>
#include <stdlib.h>

struct dnnl_peer {
    dnnl_engine_t engine;
    dnnl_stream_t stream;
    dnnl_primitive_t product;
    dnnl_memory_t x, bias, y;
    int copies;
    dnnl_memory_t *w;
};

const char *dnnl_peer_name(void)
{
    static char name[48];
    const dnnl_version_t *v = dnnl_version();
    snprintf(name, sizeof name, "oneDNN %d.%d.%d", v->major, v->minor, v->patch);
    return name;
}

static void must(dnnl_status_t status, const char *what)
{
    if (!status) return;
    fprintf(stderr, "bench_gemm: oneDNN: %s: expected status 0, got %d\n", what, (int)status);
    exit(1);
}

static void *cleared(size_t count, size_t size)
{
    void *p = calloc(count, size);
    if (!p) must(dnnl_out_of_memory, "memory of the peer");
    return p;
}

static dnnl_memory_desc_t matrix(int64_t rows, int64_t columns, dnnl_data_type_t type, dnnl_format_tag_t tag)
{
    const dnnl_dims_t size = {rows, columns};
    dnnl_memory_desc_t d;
    must(dnnl_memory_desc_init_by_tag(&d, 2, size, type, tag), "description of a matrix");
    return d;
}

static void attach_act(dnnl_primitive_attr_t attr, rf_act act)
{
    static const struct { dnnl_alg_kind_t kind; float alpha; } acts[] = {
        [RF_ACT_GELU] = {dnnl_eltwise_gelu_erf, 0}, [RF_ACT_GELU_TANH] = {dnnl_eltwise_gelu_tanh, 0},
        [RF_ACT_RELU] = {dnnl_eltwise_relu, 0},     [RF_ACT_SILU] = {dnnl_eltwise_swish, 1},
        [RF_ACT_TANH] = {dnnl_eltwise_tanh, 0},
    };
    dnnl_post_ops_t ops;
    if (!act) return;
    must(dnnl_post_ops_create(&ops), "list of activations");
    must(dnnl_post_ops_append_eltwise(ops, 1, acts[act].kind, acts[act].alpha, 0), "activation");
    must(dnnl_primitive_attr_set_post_ops(attr, ops), "activation");
    dnnl_post_ops_destroy(ops);
}

/* NULL when oneDNN has no such product here. */
static dnnl_primitive_desc_t describe(const dnnl_peer *peer, const dnnl_peer_problem *p)
{
    const dnnl_data_type_t type = p->half ? dnnl_bf16 : dnnl_f32;
    const dnnl_memory_desc_t x = matrix(p->m, p->k, type, dnnl_ab), w = matrix(p->n, p->k, type, dnnl_format_tag_any),
                             y = matrix(p->m, p->n, dnnl_f32, dnnl_ab);
    const dnnl_dims_t wide = {p->n};
    dnnl_memory_desc_t bias;
    dnnl_inner_product_desc_t d;
    dnnl_primitive_attr_t attr;
    dnnl_primitive_desc_t out = NULL;
    must(dnnl_memory_desc_init_by_tag(&bias, 1, wide, dnnl_f32, dnnl_a), "description of the bias");
    must(dnnl_inner_product_forward_desc_init(&d, dnnl_forward_inference, &x, &w, &bias, &y), "description");
    must(dnnl_primitive_attr_create(&attr), "attributes");
    attach_act(attr, p->act);
    const dnnl_status_t status = dnnl_primitive_desc_create(&out, &d, attr, peer->engine, NULL);
    dnnl_primitive_attr_destroy(attr);
    if (status == dnnl_unimplemented) return NULL;
    must(status, "inner product");
    return out;
}

static dnnl_memory_t memory(const dnnl_peer *peer, const dnnl_memory_desc_t *d, const void *at)
{
    dnnl_memory_t m;
    must(dnnl_memory_create(&m, d, peer->engine, (void *)(uintptr_t)at), "memory");
    return m;
}

/* A copy of a plain f32 matrix in the type and layout of `to`. */
static dnnl_memory_t reordered(const dnnl_peer *peer, const float *plain, int64_t rows, int64_t columns,
                               const dnnl_memory_desc_t *to)
{
    const dnnl_memory_desc_t from = matrix(rows, columns, dnnl_f32, dnnl_ab);
    const dnnl_memory_t in = memory(peer, &from, plain), out = memory(peer, to, DNNL_MEMORY_ALLOCATE);
    dnnl_primitive_desc_t pd;
    dnnl_primitive_t move;
    must(dnnl_reorder_primitive_desc_create(&pd, &from, peer->engine, to, peer->engine, NULL), "reorder");
    must(dnnl_primitive_create(&move, pd), "reorder");
    const dnnl_exec_arg_t args[] = {{DNNL_ARG_FROM, in}, {DNNL_ARG_TO, out}};
    must(dnnl_primitive_execute(move, peer->stream, 2, args), "reorder");
    must(dnnl_stream_wait(peer->stream), "reorder");
    dnnl_primitive_destroy(move);
    dnnl_primitive_desc_destroy(pd);
    dnnl_memory_destroy(in);
    return out;
}

dnnl_peer *dnnl_peer_new(const dnnl_peer_problem *p)
{
    dnnl_peer *peer = cleared(1, sizeof *peer);
    omp_set_num_threads(p->threads);
    must(dnnl_engine_create(&peer->engine, dnnl_cpu, 0), "engine");
    must(dnnl_stream_create(&peer->stream, peer->engine, dnnl_stream_default_flags), "stream");
    const dnnl_primitive_desc_t pd = describe(peer, p);
    if (!pd) {
        dnnl_peer_free(peer);
        return NULL;
    }
    must(dnnl_primitive_create(&peer->product, pd), "inner product");
    peer->x = reordered(peer, p->x, p->m, p->k, dnnl_primitive_desc_query_md(pd, dnnl_query_src_md, 0));
    peer->bias = memory(peer, dnnl_primitive_desc_query_md(pd, dnnl_query_weights_md, 1), p->bias);
    peer->y = memory(peer, dnnl_primitive_desc_query_md(pd, dnnl_query_dst_md, 0), p->y);
    peer->w = cleared((size_t)p->copies, sizeof *peer->w);
    for (; peer->copies < p->copies; peer->copies++)
        peer->w[peer->copies] =
            reordered(peer, p->w, p->n, p->k, dnnl_primitive_desc_query_md(pd, dnnl_query_weights_md, 0));
    dnnl_primitive_desc_destroy(pd);
    return peer;
}

void dnnl_peer_run(dnnl_peer *peer, int copy)
{
    const dnnl_exec_arg_t args[] = {{DNNL_ARG_SRC, peer->x},
                                    {DNNL_ARG_WEIGHTS, peer->w[copy]},
                                    {DNNL_ARG_BIAS, peer->bias},
                                    {DNNL_ARG_DST, peer->y}};
    must(dnnl_primitive_execute(peer->product, peer->stream, 4, args), "a product");
    must(dnnl_stream_wait(peer->stream), "a product");
}

void dnnl_peer_free(dnnl_peer *peer)
{
    if (!peer) return;
    const dnnl_memory_t all[] = {peer->x, peer->bias, peer->y};
    for (size_t i = 0; i < sizeof all / sizeof *all; i++)
        if (all[i]) dnnl_memory_destroy(all[i]);
    for (int i = 0; i < peer->copies; i++) dnnl_memory_destroy(peer->w[i]);
    free(peer->w);
    if (peer->product) dnnl_primitive_destroy(peer->product);
    dnnl_stream_destroy(peer->stream);
    dnnl_engine_destroy(peer->engine);
    free(peer);
}

#else

const char *dnnl_peer_name(void) { return NULL; }

dnnl_peer *dnnl_peer_new(const dnnl_peer_problem *problem)
{
    (void)problem;
    return NULL;
}

void dnnl_peer_run(dnnl_peer *peer, int copy)
{
    (void)peer;
    (void)copy;
}

void dnnl_peer_free(dnnl_peer *peer) { (void)peer; }

#endif
