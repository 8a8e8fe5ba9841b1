/* gemm_dnnl.c — matrix products by oneDNN 2.6 (the only file that knows it).
 *
 * oneDNN compiles machine code for every shape (0.2-0.4 ms), so what was compiled is kept: up to KEPT primitives, the
 * one longest unused frees its entry.  Long inputs go in slices of SLICE rows, so that the shapes of a server whose
 * batches all differ in length are at most SLICE per weight.  oneDNN aborts the process when it finds no memory; all
 * its own allocations happen when a shape is first seen.
 *
 * Threads: oneDNN runs on OpenMP's workers.  The calling thread's worker count is set around a call and put back.    */
#ifdef RF_DNNL

#include <dnnl.h>
#ifdef _OPENMP
#include <omp.h>
#endif

#include "kernel/gemm/products.h"

enum { KEPT = 512, SLICE = 512 };

/* Everything that the compiled code depends on.  All of it 64 bits wide: no padding, compared as bytes. */
typedef struct shape {
    int64_t m, n, k, lda, ldb, ldc;
    int64_t a_transposed, b_transposed, add, bias, act;
    int64_t packed;                     /* b in the layout that oneDNN chose for [k,n]: one layout for each n and k */
    int64_t half;                       /* a and b are bf16 */
} shape;

typedef struct compiled {
    shape shape;
    uint64_t used;
    dnnl_primitive_t run;
    dnnl_memory_t a, b, bias, c, scratch;
    size_t scratch_size;
} compiled;

typedef struct state {
    const rf_ctx *ctx;
    dnnl_engine_t engine;
    dnnl_stream_t stream;
    uint64_t clock;
    int count;
    compiled entry[KEPT];
} state;

/* ---- state and cache --------------------------------------------------------------------------------------------- */

static void drop(compiled *e)
{
    const dnnl_memory_t all[] = {e->a, e->b, e->bias, e->c, e->scratch};
    for (size_t i = 0; i < RF_COUNT(all); i++)
        if (all[i]) dnnl_memory_destroy(all[i]);
    if (e->run) dnnl_primitive_destroy(e->run);
    *e = (compiled){0};
}

void rf__dnnl_free(void *slot)
{
    state *s = slot;
    if (!s) return;
    for (int i = 0; i < s->count; i++) drop(&s->entry[i]);
    if (s->stream) dnnl_stream_destroy(s->stream);
    if (s->engine) dnnl_engine_destroy(s->engine);
    rf__free(s->ctx, s);
}

static rf_status state_of(const rf_ctx *ctx, state **out, rf_error *why)
{
    void **slot = rf__product_dnnl(ctx);
    *out = *slot;
    if (*out) return RF_OK;
    state *s = rf__calloc(ctx, 1, sizeof *s);
    if (!s) return rf_fail(why, RF_ENOMEM, "out of memory: oneDNN's table of %zu bytes", sizeof *s);
    s->ctx = ctx;
    if (dnnl_engine_create(&s->engine, dnnl_cpu, 0) ||
        dnnl_stream_create(&s->stream, s->engine, dnnl_stream_default_flags)) {
        rf__dnnl_free(s);
        return rf_fail(why, RF_EUNSUPPORTED, "oneDNN: this machine gives it no CPU engine");
    }
    *slot = *out = s;
    return RF_OK;
}

/* The entry of this shape; when there is none, a cleared one with its `run` NULL. */
static compiled *look_up(state *s, const shape *sh)
{
    compiled *oldest = &s->entry[0];
    for (int i = 0; i < s->count; i++) {
        compiled *e = &s->entry[i];
        if (!memcmp(&e->shape, sh, sizeof *sh)) return e;
        if (e->used < oldest->used) oldest = e;
    }
    compiled *e = s->count < KEPT ? &s->entry[s->count++] : oldest;
    drop(e);
    return e;
}

/* ---- compiling --------------------------------------------------------------------------------------------------- */

static dnnl_status_t matrix(dnnl_memory_desc_t *d, int64_t rows, int64_t columns, int64_t ld, int64_t transposed,
                            int64_t half)
{
    const dnnl_dims_t size = {rows, columns}, stride = {transposed ? 1 : ld, transposed ? ld : 1};
    return dnnl_memory_desc_init_by_strides(d, 2, size, half ? dnnl_bf16 : dnnl_f32, stride);
}

static dnnl_status_t attributes(dnnl_primitive_attr_t attr, const shape *s)
{
    static const struct { dnnl_alg_kind_t kind; float alpha; } act[] = {
        [RF_ACT_GELU] = {dnnl_eltwise_gelu_erf, 0}, [RF_ACT_GELU_TANH] = {dnnl_eltwise_gelu_tanh, 0},
        [RF_ACT_RELU] = {dnnl_eltwise_relu, 0},     [RF_ACT_SILU] = {dnnl_eltwise_swish, 1},
        [RF_ACT_TANH] = {dnnl_eltwise_tanh, 0},
    };
    dnnl_post_ops_t ops = NULL;
    dnnl_status_t e = dnnl_primitive_attr_set_scratchpad_mode(attr, dnnl_scratchpad_mode_user);
    if (!e) e = dnnl_post_ops_create(&ops);
    if (!e && s->add) e = dnnl_post_ops_append_sum(ops, 1);
    if (!e && s->act) e = dnnl_post_ops_append_eltwise(ops, 1, act[s->act].kind, act[s->act].alpha, 0);
    if (!e) e = dnnl_primitive_attr_set_post_ops(attr, ops);
    if (ops) dnnl_post_ops_destroy(ops);
    return e;
}

/* A description of the product; `weights` NULL lets oneDNN choose the layout of b. */
static dnnl_status_t describe(const state *st, const shape *s, const dnnl_memory_desc_t *weights, int any,
                              dnnl_primitive_desc_t *out)
{
    dnnl_memory_desc_t a, b, bias, c;
    const dnnl_dims_t wide = {1, s->n}, b_size = {s->k, s->n};
    dnnl_status_t e = matrix(&a, s->m, s->k, s->lda, s->a_transposed, s->half);
    if (!e) e = matrix(&c, s->m, s->n, s->ldc, 0, 0);
    if (!e && weights) b = *weights;
    else if (!e && any) e = dnnl_memory_desc_init_by_tag(&b, 2, b_size, dnnl_f32, dnnl_format_tag_any);
    else if (!e) e = matrix(&b, s->k, s->n, s->ldb, s->b_transposed, s->half);
    if (!e) e = dnnl_memory_desc_init_by_tag(&bias, 2, wide, dnnl_f32, dnnl_ab);

    dnnl_matmul_desc_t d;
    dnnl_primitive_attr_t attr = NULL;
    if (!e) e = dnnl_matmul_desc_init(&d, &a, &b, s->bias ? &bias : NULL, &c);
    if (!e) e = dnnl_primitive_attr_create(&attr);
    if (!e) e = attributes(attr, s);
    if (!e) e = dnnl_primitive_desc_create(out, &d, attr, st->engine, NULL);
    if (attr) dnnl_primitive_attr_destroy(attr);
    return e;
}

static dnnl_status_t part(const state *s, dnnl_primitive_desc_t pd, dnnl_query_t what, dnnl_memory_t *out)
{
    return dnnl_memory_create(out, dnnl_primitive_desc_query_md(pd, what, 0), s->engine, DNNL_MEMORY_NONE);
}

static dnnl_status_t compile(const state *s, const shape *sh, const dnnl_memory_desc_t *weights, compiled *e)
{
    dnnl_primitive_desc_t pd = NULL;
    const dnnl_dims_t wide = {1, sh->n};
    dnnl_memory_desc_t bias;
    dnnl_status_t r = describe(s, sh, weights, 0, &pd);
    if (!r) r = dnnl_primitive_create(&e->run, pd);
    if (!r) r = part(s, pd, dnnl_query_src_md, &e->a);
    if (!r) r = part(s, pd, dnnl_query_weights_md, &e->b);
    if (!r) r = part(s, pd, dnnl_query_dst_md, &e->c);
    if (!r) r = part(s, pd, dnnl_query_scratchpad_md, &e->scratch);
    if (!r) r = dnnl_memory_desc_init_by_tag(&bias, 2, wide, dnnl_f32, dnnl_ab);
    if (!r && sh->bias) r = dnnl_memory_create(&e->bias, &bias, s->engine, DNNL_MEMORY_NONE);
    if (!r) e->scratch_size = dnnl_memory_desc_get_size(dnnl_primitive_desc_query_md(pd, dnnl_query_scratchpad_md, 0));
    if (pd) dnnl_primitive_desc_destroy(pd);
    if (r) drop(e);
    else e->shape = *sh;
    return r;
}

/* ---- running ----------------------------------------------------------------------------------------------------- */

static int set_workers(int n)
{
#ifdef _OPENMP
    const int before = omp_get_max_threads();
    omp_set_num_threads(n);
    return before;
#else
    return n;
#endif
}

typedef struct operands { const void *a, *b; const float *bias; float *c; } operands;

static dnnl_status_t bind(dnnl_memory_t m, const void *at)
{
    return m ? dnnl_memory_set_data_handle(m, (void *)(uintptr_t)at) : dnnl_success;
}

static rf_status run(const rf_ctx *ctx, state *s, const shape *sh, const dnnl_memory_desc_t *weights,
                     const operands *o, rf_error *why)
{
    compiled *e = look_up(s, sh);
    dnnl_status_t r = e->run ? dnnl_success : compile(s, sh, weights, e);
    if (r)
        return rf_fail(why, RF_EUNSUPPORTED, "oneDNN: no product for m %lld, n %lld, k %lld (its status %d)",
                       (long long)sh->m, (long long)sh->n, (long long)sh->k, (int)r);
    e->used = ++s->clock;
    void *scratch = NULL;
    if (e->scratch_size && !(scratch = rf__product_scratch(ctx, e->scratch_size)))
        return rf_fail(why, RF_ENOMEM, "out of memory: oneDNN's scratch of %zu bytes", e->scratch_size);

    r = bind(e->a, o->a);
    if (!r) r = bind(e->b, o->b);
    if (!r) r = bind(e->bias, o->bias);
    if (!r) r = bind(e->c, o->c);
    if (!r) r = bind(e->scratch, scratch);
    const dnnl_exec_arg_t args[] = {
        {DNNL_ARG_SRC, e->a}, {DNNL_ARG_WEIGHTS, e->b}, {DNNL_ARG_DST, e->c}, {DNNL_ARG_SCRATCHPAD, e->scratch},
        {DNNL_ARG_BIAS, e->bias},
    };
    if (!r) r = dnnl_primitive_execute(e->run, s->stream, e->bias ? 5 : 4, args);
    if (!r) r = dnnl_stream_wait(s->stream);
    return r ? rf_fail(why, RF_EUNSUPPORTED, "oneDNN: a product did not run (its status %d)", (int)r) : RF_OK;
}

/* Slices of at most SLICE rows of a and c, as long as a's rows are whole rows. */
static rf_status run_slices(const rf_ctx *ctx, shape sh, const dnnl_memory_desc_t *weights, operands o, rf_error *why)
{
    rf__product_enter(ctx);
    const int before = set_workers(ctx->threads);
    state *s;
    rf_status status = state_of(ctx, &s, why);
    for (int64_t left = sh.m; left > 0 && !status; left -= sh.m) {
        sh.m = sh.a_transposed ? left : rf__min64(left, SLICE);
        status = run(ctx, s, &sh, weights, &o, why);
        if (sh.a_transposed) break;
        o.a = (const char *)o.a + (size_t)(sh.m * sh.lda) * (sh.half ? sizeof(uint16_t) : sizeof(float));
        o.c += sh.m * sh.ldc;
    }
    set_workers(before);
    rf__product_leave(ctx);
    return status;
}

/* Products in bf16 are here to be compared with (bench_gemm): of matrices that are stored so. */
static rf_status gemm(const rf_ctx *ctx, const rf_gemm_call *g, rf_error *why)
{
    const bool half = g->type == RF_BF16;
    if (half && (!g->a16 || !g->b16)) return rf__products_bf16.gemm(ctx, g, why);
    const shape sh = {g->m,
                      g->n,
                      g->k,
                      g->lda,
                      g->ldb,
                      g->ldc,
                      g->a_transposed != 0,
                      g->b_transposed != 0,
                      g->beta != 0,
                      g->bias != NULL,
                      (int64_t)g->act,
                      0,
                      half};
    return run_slices(ctx, sh, NULL,
                      half ? (operands){g->a16, g->b16, g->bias, g->c} : (operands){g->a, g->b, g->bias, g->c}, why);
}

/* ---- packed weights ---------------------------------------------------------------------------------------------- */

typedef struct layout { dnnl_memory_desc_t md; } layout;

static rf_status reorder(const rf_ctx *ctx, state *s, rf_packed *p, const float *w, rf_error *why)
{
    const shape sh = {SLICE, p->n, p->k, p->k, p->k, p->n, 0, 1, 0, 1, 0, 1, 0};
    layout *own = p->own;
    dnnl_memory_desc_t plain;
    dnnl_primitive_desc_t pd = NULL;
    dnnl_primitive_t move = NULL;
    dnnl_memory_t from = NULL, to = NULL;
    rf_status status = RF_OK;
    dnnl_status_t r = describe(s, &sh, NULL, 1, &pd);
    if (!r) own->md = *dnnl_primitive_desc_query_md(pd, dnnl_query_weights_md, 0);
    if (!r && !(p->data = rf__alloc(ctx, dnnl_memory_desc_get_size(&own->md))))
        status =
            rf_fail(why, RF_ENOMEM, "out of memory: packed weights of %zu bytes", dnnl_memory_desc_get_size(&own->md));
    if (pd) dnnl_primitive_desc_destroy(pd);
    pd = NULL;
    if (!r && !status) {
        r = matrix(&plain, p->k, p->n, p->k, 1, 0);
        if (!r) r = dnnl_memory_create(&from, &plain, s->engine, (void *)(uintptr_t)w);
        if (!r) r = dnnl_memory_create(&to, &own->md, s->engine, p->data);
        if (!r) r = dnnl_reorder_primitive_desc_create(&pd, &plain, s->engine, &own->md, s->engine, NULL);
        if (!r) r = dnnl_primitive_create(&move, pd);
        const dnnl_exec_arg_t args[] = {{DNNL_ARG_FROM, from}, {DNNL_ARG_TO, to}};
        if (!r) r = dnnl_primitive_execute(move, s->stream, 2, args);
        if (!r) r = dnnl_stream_wait(s->stream);
    }
    if (move) dnnl_primitive_destroy(move);
    if (pd) dnnl_primitive_desc_destroy(pd);
    if (from) dnnl_memory_destroy(from);
    if (to) dnnl_memory_destroy(to);
    return r ? rf_fail(why, RF_EUNSUPPORTED, "oneDNN: weights of n %lld, k %lld were not packed (its status %d)",
                       (long long)p->n, (long long)p->k, (int)r)
             : status;
}

static rf_status pack(const rf_ctx *ctx, rf_packed *p, const float *w, rf_error *why)
{
    if (!(p->own = rf__calloc(ctx, 1, sizeof(layout))))
        return rf_fail(why, RF_ENOMEM, "out of memory: a layout of %zu bytes", sizeof(layout));
    rf__product_enter(ctx);
    const int before = set_workers(ctx->threads);
    state *s;
    rf_status status = state_of(ctx, &s, why);
    if (!status) status = reorder(ctx, s, p, w, why);
    set_workers(before);
    rf__product_leave(ctx);
    return status;
}

static void forget(rf_packed *p) { rf__free(p->ctx, p->own); }

static rf_status packed(const rf_ctx *ctx, const rf_packed *p, int64_t m, const float *x, int64_t ldx,
                        const float *bias, rf_act act, float *y, int64_t ldy, rf_error *why)
{
    const shape sh = {m, p->n, p->k, ldx, 0, ldy, 0, 0, 0, bias != NULL, (int64_t)act, 1, 0};
    const layout *own = p->own;
    return run_slices(ctx, sh, &own->md, (operands){x, p->data, bias, y}, why);
}

#define DIGITS_(n) #n
#define DIGITS(n) DIGITS_(n)
const rf__products rf__products_dnnl = {
    "oneDNN " DIGITS(DNNL_VERSION_MAJOR) "." DIGITS(DNNL_VERSION_MINOR) "." DIGITS(DNNL_VERSION_PATCH), gemm, pack,
    forget, packed};

#else
typedef int rf__no_onednn;
#endif
