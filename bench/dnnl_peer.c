/* dnnl_peer.c — an inner product by oneDNN 2 or 3: one primitive, the weights in the layout that it chooses.
 *
 * oneDNN runs on OpenMP's workers.  Their number is set once, before the primitive is compiled.                     */
#include "dnnl_peer.h"

#include <dnnl.h>
#include <omp.h>
#include <stdbool.h>
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

/* ---- what versions 2 and 3 call differently ------------------------------------------------------------------- */

#if DNNL_VERSION_MAJOR >= 3

typedef const_dnnl_memory_desc_t layout;

static layout layout_of(int axes, const dnnl_dims_t size, dnnl_data_type_t type, dnnl_format_tag_t tag)
{
    dnnl_memory_desc_t d;
    must(dnnl_memory_desc_create_with_tag(&d, axes, size, type, tag), "description of an array");
    return d;
}

static void free_layout(layout d) { dnnl_memory_desc_destroy((dnnl_memory_desc_t)(uintptr_t)d); }

static void append(dnnl_post_ops_t ops, dnnl_alg_kind_t kind, float alpha)
{
    must(dnnl_post_ops_append_eltwise(ops, kind, alpha, 0), "activation");
}

static dnnl_status_t describe_product(dnnl_primitive_desc_t *out, dnnl_engine_t engine, const layout x[4],
                                      dnnl_primitive_attr_t attr)
{
    return dnnl_inner_product_forward_primitive_desc_create(out, engine, dnnl_forward_inference, x[0], x[1], x[2],
                                                            x[3], attr);
}

#else

typedef const dnnl_memory_desc_t *layout;

static layout layout_of(int axes, const dnnl_dims_t size, dnnl_data_type_t type, dnnl_format_tag_t tag)
{
    dnnl_memory_desc_t *d = cleared(1, sizeof *d);
    must(dnnl_memory_desc_init_by_tag(d, axes, size, type, tag), "description of an array");
    return d;
}

static void free_layout(layout d) { free((void *)(uintptr_t)d); }

static void append(dnnl_post_ops_t ops, dnnl_alg_kind_t kind, float alpha)
{
    must(dnnl_post_ops_append_eltwise(ops, 1, kind, alpha, 0), "activation");
}

static dnnl_status_t describe_product(dnnl_primitive_desc_t *out, dnnl_engine_t engine, const layout x[4],
                                      dnnl_primitive_attr_t attr)
{
    dnnl_inner_product_desc_t d;
    must(dnnl_inner_product_forward_desc_init(&d, dnnl_forward_inference, x[0], x[1], x[2], x[3]), "description");
    return dnnl_primitive_desc_create(out, &d, attr, engine, NULL);
}

#endif

/* ---- the product ------------------------------------------------------------------------------------------------ */

static layout matrix(int64_t rows, int64_t columns, dnnl_data_type_t type, dnnl_format_tag_t tag)
{
    const dnnl_dims_t size = {rows, columns};
    return layout_of(2, size, type, tag);
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
    append(ops, acts[act].kind, acts[act].alpha);
    must(dnnl_primitive_attr_set_post_ops(attr, ops), "activation");
    dnnl_post_ops_destroy(ops);
}

/* NULL when oneDNN has no such product here. */
static dnnl_primitive_desc_t describe(const dnnl_peer *peer, const dnnl_peer_problem *p)
{
    static const struct { dnnl_data_type_t x, w; } types[] = {
        [RF_F32] = {dnnl_f32, dnnl_f32}, [RF_BF16] = {dnnl_bf16, dnnl_bf16}, [RF_I8] = {dnnl_u8, dnnl_s8},
    };
    const dnnl_dims_t wide = {p->n};
    const layout of[] = {matrix(p->m, p->k, types[p->type].x, dnnl_ab),
                         matrix(p->n, p->k, types[p->type].w, dnnl_format_tag_any),
                         layout_of(1, wide, dnnl_f32, dnnl_a), matrix(p->m, p->n, dnnl_f32, dnnl_ab)};
    dnnl_primitive_attr_t attr;
    dnnl_primitive_desc_t out = NULL;
    must(dnnl_primitive_attr_create(&attr), "attributes");
    attach_act(attr, p->act);
    const dnnl_status_t status = describe_product(&out, peer->engine, of, attr);
    dnnl_primitive_attr_destroy(attr);
    for (size_t i = 0; i < sizeof of / sizeof *of; i++) free_layout(of[i]);
    if (status == dnnl_unimplemented) return NULL;
    must(status, "inner product");
    return out;
}

static dnnl_memory_t memory(const dnnl_peer *peer, layout d, const void *at)
{
    dnnl_memory_t m;
    must(dnnl_memory_create(&m, d, peer->engine, (void *)(uintptr_t)at), "memory");
    return m;
}

/* Numbers in -1..1 as codes of 127ths, moved up by 128 where there are no signs. */
static void *codes_of(const float *plain, int64_t count, bool has_sign)
{
    uint8_t *codes = cleared((size_t)count, 1);
    for (int64_t i = 0; i < count; i++) codes[i] = (uint8_t)((int)(127 * plain[i]) + (has_sign ? 0 : 128));
    return codes;
}

/* A copy of a plain f32 matrix in the type and layout of `to`. */
static dnnl_memory_t reordered(const dnnl_peer *peer, const float *plain, int64_t rows, int64_t columns,
                               dnnl_data_type_t type, layout to)
{
    const bool coded = type == dnnl_u8 || type == dnnl_s8;
    void *codes = coded ? codes_of(plain, rows * columns, type == dnnl_s8) : NULL;
    const layout from = matrix(rows, columns, coded ? type : dnnl_f32, dnnl_ab);
    const dnnl_memory_t in = memory(peer, from, coded ? codes : plain), out = memory(peer, to, DNNL_MEMORY_ALLOCATE);
    dnnl_primitive_desc_t pd;
    dnnl_primitive_t move;
    must(dnnl_reorder_primitive_desc_create(&pd, from, peer->engine, to, peer->engine, NULL), "reorder");
    must(dnnl_primitive_create(&move, pd), "reorder");
    const dnnl_exec_arg_t args[] = {{DNNL_ARG_FROM, in}, {DNNL_ARG_TO, out}};
    must(dnnl_primitive_execute(move, peer->stream, 2, args), "reorder");
    must(dnnl_stream_wait(peer->stream), "reorder");
    dnnl_primitive_destroy(move);
    dnnl_primitive_desc_destroy(pd);
    dnnl_memory_destroy(in);
    free_layout(from);
    free(codes);
    return out;
}

static void free_peer(dnnl_peer *peer)
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

static dnnl_peer *create(const dnnl_peer_problem *p)
{
    const bool coded = p->type == RF_I8;
    dnnl_peer *peer = cleared(1, sizeof *peer);
    omp_set_num_threads(p->threads);
    must(dnnl_engine_create(&peer->engine, dnnl_cpu, 0), "engine");
    must(dnnl_stream_create(&peer->stream, peer->engine, dnnl_stream_default_flags), "stream");
    const dnnl_primitive_desc_t pd = describe(peer, p);
    if (!pd) {
        free_peer(peer);
        return NULL;
    }
    must(dnnl_primitive_create(&peer->product, pd), "inner product");
    peer->x = reordered(peer, p->x, p->m, p->k, coded ? dnnl_u8 : dnnl_f32,
                        dnnl_primitive_desc_query_md(pd, dnnl_query_src_md, 0));
    peer->bias = memory(peer, dnnl_primitive_desc_query_md(pd, dnnl_query_weights_md, 1), p->bias);
    peer->y = memory(peer, dnnl_primitive_desc_query_md(pd, dnnl_query_dst_md, 0), p->y);
    peer->w = cleared((size_t)p->copies, sizeof *peer->w);
    for (; peer->copies < p->copies; peer->copies++)
        peer->w[peer->copies] = reordered(peer, p->w, p->n, p->k, coded ? dnnl_s8 : dnnl_f32,
                                          dnnl_primitive_desc_query_md(pd, dnnl_query_weights_md, 0));
    dnnl_primitive_desc_destroy(pd);
    return peer;
}

static void run(dnnl_peer *peer, int copy)
{
    const dnnl_exec_arg_t args[] = {{DNNL_ARG_SRC, peer->x},
                                    {DNNL_ARG_WEIGHTS, peer->w[copy]},
                                    {DNNL_ARG_BIAS, peer->bias},
                                    {DNNL_ARG_DST, peer->y}};
    must(dnnl_primitive_execute(peer->product, peer->stream, 4, args), "a product");
    must(dnnl_stream_wait(peer->stream), "a product");
}

const dnnl_peer_api *dnnl_peer_module(void)
{
    static char name[48];
    static const dnnl_peer_api api = {name, create, run, free_peer};
    const dnnl_version_t *v = dnnl_version();
    snprintf(name, sizeof name, "oneDNN %d.%d.%d", v->major, v->minor, v->patch);
    return &api;
}
