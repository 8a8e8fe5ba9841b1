/* tree.c — sums over micro-batches in the order of a binary tree. */
#include "roformer/kernel/kernels.h"
#include "dist/tree.h"

/* ---- nodes ---- */

/* Appends a micro-batch to n nodes and joins complete halves; returns the new n. */
static int push_micro(rf__tree_node node[RF__DEPTH], int n, int64_t micro)
{
    node[n++] = (rf__tree_node){micro, 0};
    while (n > 1 && rf__halves(node[n - 2], node[n - 1])) {
        n--;
        node[n - 1].level++;
    }
    return n;
}

int rf__tree_nodes(int64_t first, int64_t count, rf__tree_node node[RF__DEPTH])
{
    int n = 0;
    for (int64_t i = first; i < first + count; i++) n = push_micro(node, n, i);
    return n;
}

/* ---- adding ---- */

enum { PIECE = 1 << 14 };
struct sum { const rf_ctx *ctx; float *to; const float *a, *b; int64_t n; };

static void add_piece(void *arg, int64_t i, int worker)
{
    (void)worker;
    const struct sum *s = arg;
    const int64_t at = i * PIECE, n = rf__min64(PIECE, s->n - at);
    s->ctx->k->add(s->to + at, s->a + at, s->b + at, n);
}

static void add(const rf_ctx *ctx, float *to, const float *a, const float *b, int64_t n)
{
    struct sum s = {ctx, to, a, b, n};
    rf__parallel(ctx, (n + PIECE - 1) / PIECE, add_piece, &s);
}

void rf__tree_fold(const rf_ctx *ctx, const rf__tree_node node[], float *const x[], int count, float *to, int64_t n)
{
    rf__tree_node whole[RF__DEPTH];
    float *at[RF__DEPTH];
    int have = 0;
    for (int i = 0; i < count; i++) {
        whole[have] = node[i];
        at[have++] = x[i];
        for (; have > 1 && rf__halves(whole[have - 2], whole[have - 1]); have--) {
            add(ctx, at[have - 2], at[have - 2], at[have - 1], n);
            whole[have - 2].level++;
        }
    }
    for (; have > 1; have--) add(ctx, at[have - 2], at[have - 2], at[have - 1], n);   /* halves that lack their right */
    if (have && at[0] != to) memcpy(to, at[0], (size_t)n * sizeof *to);
}

/* ---- a share ---- */

int rf__tree_slabs(int64_t first, int64_t count)
{
    rf__tree_node node[RF__DEPTH];
    int n = 0, most = 0;
    for (int64_t i = first; i < first + count; i++) {
        if (n + 1 > most) most = n + 1;
        n = push_micro(node, n, i);
    }
    return most;
}

rf_status rf__tree_new(const rf_params *params, float *grad, int64_t first, int64_t count, rf__tree *out, rf_error *why)
{
    *out =
        (rf__tree){.ctx = params->ctx, .total = params->total, .slab = {grad}, .slabs = rf__tree_slabs(first, count)};
    for (int i = 1; i < out->slabs; i++)
        if (!(out->slab[i] = rf__alloc(out->ctx, out->total * sizeof(float)))) {
            const int slabs = out->slabs;
            rf__tree_free(out);
            return rf_fail(why, RF_ENOMEM, "out of memory: %d slabs of gradients for %lld micro-batches, %.0f MB",
                           slabs, (long long)count, (double)slabs * (double)params->total * 4e-6);
        }
    return RF_OK;
}

void rf__tree_free(rf__tree *t)
{
    for (int i = 1; i < t->slabs; i++) rf__free(t->ctx, t->slab[i]);
    *t = (rf__tree){0};
}

struct zero { float *x; int64_t n; };

static void zero_piece(void *arg, int64_t i, int worker)
{
    (void)worker;
    const struct zero *z = arg;
    memset(z->x + i * PIECE, 0, (size_t)rf__min64(PIECE, z->n - i * PIECE) * sizeof *z->x);
}

void rf__tree_begin(rf__tree *t) { t->nodes = t->joins = 0; }

float *rf__tree_leaf(rf__tree *t, int64_t micro)
{
    const int before = t->nodes;
    struct zero z = {t->slab[before], (int64_t)t->total};
    rf__parallel(t->ctx, (z.n + PIECE - 1) / PIECE, zero_piece, &z);
    t->nodes = push_micro(t->node, before, micro);
    t->joins = before + 1 - t->nodes;
    return t->slab[before];
}

void rf__tree_join(const rf__tree *t, size_t at, size_t n)
{
    for (int i = t->nodes + t->joins - 1; i >= t->nodes; i--)
        add(t->ctx, t->slab[i - 1] + at, t->slab[i - 1] + at, t->slab[i] + at, (int64_t)n);
}

void rf__tree_total(rf__tree *t)
{
    rf__tree_fold(t->ctx, t->node, t->slab, t->nodes, t->slab[0], (int64_t)t->total);
    t->nodes = t->nodes > 0;
}
