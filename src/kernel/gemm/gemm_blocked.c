/* gemm_blocked.c — matrix products in blocks that fit the caches: one driver for every element type.
 *
 *     c[m,n] = a[m,k] b[k,n]          b in panels of `columns` columns: packed once (weights) or per call
 *
 *     for as many cuts of k (at most `depth` each) as fit        in the order of k
 *         a's block is copied                                    rows x depth for each, stays in the second-level cache
 *         for each panel, for each of the cuts: multiply         panel x depth, streams through it
 *
 * For a gated product, act(a g) * (a u), a task multiplies its block with panels of g and with the same panels of u
 * into scratch, and computes its part of c from there.
 *
 * A block of many rows holds one cut.  A block of few rows holds all cuts, and panels are read from memory in their
 * order.
 *
 * A task is a block of rows and a group of panels.  The division of k depends only on k.  So the bits of an element
 * depend only on its row of a and its column of b: not on m, n, other rows, the task or the number of threads.       */
#include "kernel/gemm/gemm_blocked.h"

#include "base/system/processor.h"

enum {
    LEAST = 128,                        /* rows of a block for which reading the panels once more pays */
    GATED = 1536                        /* maximum number of columns in a gated product's scratch */
};

static int64_t ceiling(int64_t a, int64_t b) { return (a + b - 1) / b; }

static int64_t filled(const rfk_panel_shape *shape, int64_t k)
{
    return ceiling(k, shape->interleave) * shape->interleave;
}

/* ---- the machine's caches ---------------------------------------------------------------------------------------- */

/* A block of a fills about a quarter of a thread's share of the second-level cache.  The rung's `block` is meant for at
 * least 1 MB.  Rows are independent, so the block size does not change bits. */
rfk_panel_shape rf__shape_for(const rfk_panel_shape *shape, size_t row, size_t share)
{
    rfk_panel_shape fitted = *shape;
    const int64_t rows = (int64_t)(share / 4 / row), whole = ceiling(rf__max64(rows, 1), shape->rows) * shape->rows;
    if (share) fitted.block = rf__min64(shape->block, whole);
    if (share && shape->held) {
        const int64_t held = (int64_t)(share / 8 * 5 / row) / shape->rows * shape->rows;
        fitted.held = rf__min64(shape->held, rf__max64(shape->rows, held));
        fitted.block = rf__min64(shape->block, fitted.held);
    }
    return fitted;
}

static rfk_panel_shape shape_of(const rf__element *e, const rf_ctx *ctx)
{
    const rfk_panel_shape *shape = e->shape(ctx);
    const size_t number = e->copied ? e->copied : shape->code ? (size_t)shape->code : e->size;
    return rf__shape_for(shape, (size_t)shape->stride * number, rf__cache_share());
}

/* Bytes of a worker: what the type asks for, and its spare memory. */
static size_t workspace_of(const rf__element *e, const rfk_panel_shape *shape)
{
    return e->workspace(shape) + e->spare;
}

/* ---- how b is cut; nothing here depends on m --------------------------------------------------------------------- */

/* Divides k into nearly equal cuts of at most `depth`, in whole steps. */
static int64_t depth_of_cut(const rfk_panel_shape *shape, int64_t k)
{
    const int64_t step = shape->cut_step ? shape->cut_step : 16;
    return ceiling(ceiling(k, ceiling(k, shape->depth)), step) * step;
}

typedef struct division {
    int64_t step;                       /* of k: depth of a cut                    */
    int64_t deep, wide;                 /* rows and columns of b packed at a time  */
} division;

/* About `chunk` elements of b at a time: whole cuts of k, whole panels of n, as equal as possible. */
static division division_of(const rf__element *e, const rfk_panel_shape *shape, int64_t n, int64_t k)
{
    const int64_t step = depth_of_cut(shape, k), cuts = ceiling(k, step), panels = ceiling(n, shape->columns);
    const int64_t deep = ceiling(cuts, rf__min64(cuts, ceiling(n * k, e->chunk))) * step;
    const int64_t n_chunks = deep > step ? 1 : rf__min64(panels, ceiling(n * rf__min64(step, k), e->chunk));
    return (division){step, deep, ceiling(panels, n_chunks) * shape->columns};
}

/* ---- one task ---------------------------------------------------------------------------------------------------- */

/* A packed matrix, and the operations that follow its product. */
typedef struct factor {
    const char *panels;
    const void *own;
    const float *bias;
    rf_act act;
} factor;

typedef struct blocks {
    const rf__element *e;
    const rfk_panel_shape *shape;
    const rf_ctx *ctx;
    int64_t m, n, k;                    /* n: of this call's panels */
    rf__matrix a;
    factor b, up;                       /* up: of a gated product; without panels otherwise */
    float *c;
    int64_t ldc;
    int add;
    int64_t step;                       /* of k: how deep a cut is */
    int64_t row_blocks, groups;
    char *workspace;
    float *gated;                       /* of a gated product: scratch of every worker */
    _Atomic int64_t wrong;              /* the first row that could not be converted, or INT64_MAX */
} blocks;

/* Blocks of nearly equal height.  If they must be transposed, or if rows are processed in steps, they begin at
 * multiples of a vector; the last one may then have up to RF__GEMM_WIDTH - 1 rows more than `highest`. */
static int64_t first_row(const blocks *g, int64_t block)
{
    const int64_t i = g->m * block / g->row_blocks;
    const bool whole = g->a.transposed || g->shape->row_step > 1;
    return whole && block < g->row_blocks ? i / RF__GEMM_WIDTH * RF__GEMM_WIDTH : i;
}

/* Rows of a task, and columns of a in its block. */
typedef struct held {
    rf__matrix a;
    int64_t i0, rows;                   /* of a */
    int64_t number;                     /* of row i0 among the caller's rows */
    int64_t from, to;                   /* of k, whole cuts */
    int64_t height;                     /* of a cut in the block */
    int worker;
    char *workspace;
} held;

/* Destination of the products with a task's panels `first`.. of one factor: columns j.., n of them. */
typedef struct target {
    const factor *b;
    int64_t first, last, j, n;
    float *c;                           /* the block's first row, column j */
    int64_t ldc;
} target;

static void copy_block(blocks *g, const held *h)
{
    for (int64_t p = h->from, at = 0; p < h->to; p += g->step, at += h->height)
        g->e->copy(&(rf__copying){
            .ctx = g->ctx,
            .shape = g->shape,
            .a = &h->a,
            .workspace = h->workspace,
            .at = at,
            .i0 = h->i0,
            .number = h->number,
            .rows = h->rows,
            .p0 = p,
            .depth = rf__min64(g->step, g->k - p),
            .k = g->k,
            .wrong = &g->wrong,
        });
}

static void one_panel_of_block(const blocks *g, const held *h, const target *t, int64_t q)
{
    const int64_t j = q * g->shape->columns, n = rf__min64(g->shape->columns, g->n - j);
    const int64_t deep = filled(g->shape, g->k);
    const factor *b = t->b;
    for (int64_t p = h->from, at = 0; p < h->to; p += g->step, at += h->height)
        g->e->multiply(&(rf__multiplying){
            .ctx = g->ctx,
            .shape = g->shape,
            .c = t->c + (j - t->j),
            .ldc = t->ldc,
            .workspace = h->workspace,
            .panel = b->panels + (size_t)(j * deep + p * g->shape->columns) * g->e->size,
            .at = at,
            .rows = h->rows,
            .n = n,
            .depth = rf__min64(g->step, g->k - p),
            .add = p > 0 || g->add,
            .last = p + g->step >= g->k,
            .bias = b->bias ? b->bias + j : NULL,
            .own = b->own,
            .spare = h->workspace + g->e->workspace(g->shape),
            .j = j,
        });
}

/* The product in tiles, with the activation; false if the rung has no tiles. */
static bool all_panels_of_block(const blocks *g, const held *h, const target *t)
{
    const factor *b = t->b;
    return g->e->meet && g->e->meet(&(rf__meeting){
        .ctx = g->ctx,
        .shape = g->shape,
        .workspace = h->workspace,
        .panel = b->panels + (size_t)(t->j * filled(g->shape, g->k) + h->from * g->shape->columns) * g->e->size,
        .c = t->c,
        .ldc = t->ldc,
        .rows = h->rows,
        .n = t->n,
        .height = h->height,
        .k = h->to - h->from,
        .step = g->step,
        .deep = filled(g->shape, g->k),
        .add = h->from > 0 || g->add,
        .last = h->to >= g->k,
        .bias = b->bias ? b->bias + t->j : NULL,
        .act = rf__kernels_of_act(g->ctx->k, b->act).forward,
        .own = b->own,
        .j = t->j,
    });
}

/* Multiplies the block with the panels; applies the activation after the last cut. */
static void multiply_panels(const blocks *g, const held *h, const target *t)
{
    const bool whole = all_panels_of_block(g, h, t);
    for (int64_t q = t->first; !whole && q < t->last; q++) one_panel_of_block(g, h, t, q);
    if (!whole && h->to >= g->k) rf__act_rows(g->ctx, t->b->act, t->c, t->ldc, h->rows, t->n);
}

/* Rows and columns of a worker's scratch for gated products: both factors together. */
static int64_t gated_rows(const rfk_panel_shape *shape) { return shape->block + RF__GEMM_WIDTH; }
static int64_t gated_columns(const rfk_panel_shape *shape)
{
    return rf__max64(2 * shape->columns, rf__min64(shape->group, GATED));
}

static held held_of(const blocks *g, int64_t block, int worker)
{
    held h = {.a = g->a, .i0 = first_row(g, block), .worker = worker};
    h.workspace = g->workspace + (size_t)worker * workspace_of(g->e, g->shape);
    h.number = h.i0;
    h.rows = first_row(g, block + 1) - h.i0;
    h.height = rf__rows_read(g->shape, h.rows);
    return h;
}

/* The panels of a group.  c: the block's first row, column 0. */
static target target_of(const blocks *g, int64_t group, float *c, int64_t ldc)
{
    const int64_t panels = ceiling(g->n, g->shape->columns);
    target t = {.b = &g->b, .first = panels * group / g->groups, .last = panels * (group + 1) / g->groups, .ldc = ldc};
    t.j = t.first * g->shape->columns;
    t.n = rf__min64(t.last * g->shape->columns, g->n) - t.j;
    t.c = c + t.j;
    return t;
}

static void multiply_block(blocks *g, held h, target t)
{
    const int64_t deep = rf__max64(1, rf__rows_held(g->shape) / rf__max64(1, h.height)) * g->step;
    const target whole = t;
    target up = t;
    if (g->up.panels) {
        t.ldc = up.ldc = gated_columns(g->shape);
        t.c = g->gated + h.worker * gated_rows(g->shape) * t.ldc;
        up.c = t.c + t.ldc / 2;
        up.b = &g->up;
    }
    for (; h.from < g->k; h.from = h.to) {
        h.to = rf__min64(h.from + deep, g->k);
        copy_block(g, &h);
        multiply_panels(g, &h, &t);
        if (g->up.panels) multiply_panels(g, &h, &up);
    }
    if (g->up.panels) rf__multiply_rows(g->ctx, whole.c, whole.ldc, t.c, up.c, t.ldc, h.rows, t.n);
}

static void one_block(void *arg, int64_t task, int worker)
{
    blocks *g = arg;
    const held h = held_of(g, task % g->row_blocks, worker);
    multiply_block(g, h, target_of(g, task / g->row_blocks, g->c + h.i0 * g->ldc, g->ldc));
}

/* Maximum number of rows of a block.  If several cuts are kept, it leaves space for all of them, or for most. */
static int64_t highest(const blocks *g)
{
    const int64_t cuts = ceiling(g->k, g->step), all = g->shape->held / cuts / g->shape->rows * g->shape->rows;
    return g->shape->held ? rf__min64(g->shape->block, rf__max64(all, LEAST)) : g->shape->block;
}

/* Groups of panels.  A gated product has one as wide as its scratch. */
static int64_t groups_of_panels(const blocks *g)
{
    const int64_t wide = g->up.panels ? gated_columns(g->shape) / 2 : g->shape->group;
    return ceiling(ceiling(g->n, g->shape->columns), wide / g->shape->columns);
}

/* Divides the work into tasks of equal size so that all workers finish together.  A block is never higher than
 * `block`. */
static void run(blocks *g)
{
    const int64_t workers = g->ctx->threads, panels = ceiling(g->n, g->shape->columns);
    atomic_init(&g->wrong, INT64_MAX);
    g->row_blocks = ceiling(g->m, highest(g));
    if (g->row_blocks > workers) g->row_blocks = ceiling(g->row_blocks, workers) * workers;
    g->groups = groups_of_panels(g);
    while (g->row_blocks * g->groups % workers && g->row_blocks * g->groups < 8 * workers && g->groups < panels)
        g->groups++;
    rf__parallel(g->ctx, g->row_blocks * g->groups, one_block, g);
    g->ctx->thread_end();                                /* the state of the caller's thread does not change */
}

/* ---- packing b --------------------------------------------------------------------------------------------------- */

struct packing { const rf__element *e; rf__packing p; };

static void one_panel(void *arg, int64_t q, int worker)
{
    (void)worker;
    const struct packing *x = arg;
    x->e->pack_panel(&x->p, q);
}

static void one_strip(void *arg, int64_t s, int worker)
{
    (void)worker;
    const struct packing *x = arg;
    x->e->pack_rows(&x->p, s);
}

static void pack_panels(const rf__element *e, rf__packing p)
{
    p.shape = e->shape(p.ctx);
    p.deep = filled(p.shape, p.k);
    struct packing x = {e, p};
    if (p.b.transposed) rf__parallel(p.ctx, ceiling(p.n, p.shape->columns), one_panel, &x);
    else rf__parallel(p.ctx, ceiling(p.k, e->strip), one_strip, &x);
}

/* ---- the three calls --------------------------------------------------------------------------------------------- */

static rf_status no_scratch(rf_error *why, size_t bytes)
{
    return rf_fail(why, RF_ENOMEM, "out of memory: scratch of a matrix product, %zu bytes", bytes);
}

/* Columns j.. and rows k.. of b, packed into `panels` and multiplied.  The activation follows the last piece of k. */
static void one_piece(const rf__element *e, const rfk_panel_shape *shape, const rf_ctx *ctx, const rf_gemm_call *call,
                      const division *cut, int64_t j, int64_t k, char *workspace, char *panels)
{
    const int64_t at = call->a_transposed ? k * call->lda : k;
    const rf__packing p = {.ctx = ctx,
                           .b = {call->b, call->b16, call->ldb, call->b_transposed},
                           .k0 = k,
                           .j0 = j,
                           .n = rf__min64(cut->wide, call->n - j),
                           .k = rf__min64(cut->deep, call->k - k),
                           .out = panels};
    pack_panels(e, p);
    run(&(blocks){
        .e = e,
        .shape = shape,
        .ctx = ctx,
        .m = call->m,
        .n = p.n,
        .k = p.k,
        .a = {call->a ? call->a + at : NULL, call->a16 ? call->a16 + at : NULL, call->lda, call->a_transposed},
        .b = {.panels = panels,
              .bias = call->bias && k == 0 ? call->bias + j : NULL,
              .act = k + cut->deep >= call->k ? call->act : RF_ACT_NONE},
        .c = call->c + j,
        .ldc = call->ldc,
        .add = call->beta != 0 || k > 0,
        .step = cut->step,
        .workspace = workspace,
    });
}

rf_status rf__blocked_gemm(const rf__element *e, const rf_ctx *ctx, const rf_gemm_call *call, rf_error *why)
{
    const rfk_panel_shape shape = shape_of(e, ctx);
    const division cut = division_of(e, &shape, call->n, call->k);
    const size_t workspace = (size_t)ctx->threads * workspace_of(e, &shape);
    const size_t panels = rfk__size(cut.wide * filled(&shape, rf__min64(cut.deep, call->k)), e->size);
    const size_t bytes = rfk__both(workspace, panels);
    char *scratch = rf__product_take(ctx, bytes);
    for (int64_t j = 0; scratch && j < call->n; j += cut.wide)
        for (int64_t k = 0; k < call->k; k += cut.deep)
            one_piece(e, &shape, ctx, call, &cut, j, k, scratch, scratch + workspace);
    rf__product_give(ctx, scratch);
    return scratch ? RF_OK : no_scratch(why, bytes);
}

rf_status rf__blocked_pack(const rf__element *e, const rf_ctx *ctx, rf_packed *w, const float *from, rf_error *why)
{
    const rfk_panel_shape *shape = e->shape(ctx);
    const size_t bytes = rfk__size(ceiling(w->n, shape->columns) * shape->columns * filled(shape, w->k), e->size);
    w->data = rf__alloc(ctx, bytes);
    if (!w->data) return rf_fail(why, RF_ENOMEM, "out of memory: packed weights of %zu bytes", bytes);
    pack_panels(e, (rf__packing){.ctx = ctx, .b = {from, NULL, w->k, 1}, .n = w->n, .k = w->k, .out = w->data,
                                .own = w->own});
    return RF_OK;
}

/* The product of m rows with packed weights. */
static blocks blocks_of(const rf__element *e, const rfk_panel_shape *shape, const rf_ctx *ctx, const rf_packed *w,
                        int64_t m, const float *bias, rf_act act)
{
    return (blocks){.e = e,
                    .shape = shape,
                    .ctx = ctx,
                    .m = m,
                    .n = w->n,
                    .k = w->k,
                    .b = {w->data, w->own, rf__gate_bias(w, bias), act},
                    .up = {w->up ? w->up->data : NULL, w->up ? w->up->own : NULL, rf__up_bias(w, bias), RF_ACT_NONE},
                    .step = depth_of_cut(shape, w->k)};
}

static size_t gated_size(const rf_ctx *ctx, const rfk_panel_shape *shape, const rf_packed *w)
{
    return w->up ? (size_t)(ctx->threads * gated_rows(shape) * gated_columns(shape)) * sizeof(float) : 0;
}

static rf_status check_rows(blocks *g, rf_error *why)
{
    const int64_t wrong = atomic_load(&g->wrong);
    if (wrong >= g->m) return RF_OK;
    return rf_fail(why, RF_ENUMERIC, "row %lld of x: expected finite values, got NaN or infinity", (long long)wrong);
}

rf_status rf__blocked_packed(const rf__element *e, const rf_ctx *ctx, const rf_packed *w, int64_t m, const float *x,
                             int64_t ldx, const float *bias, rf_act act, float *y, int64_t ldy, rf_error *why)
{
    const rfk_panel_shape shape = shape_of(e, ctx);
    const size_t workspace = (size_t)ctx->threads * workspace_of(e, &shape);
    const size_t bytes = workspace + gated_size(ctx, &shape, w);
    char *scratch = rf__product_take(ctx, bytes);
    blocks g = blocks_of(e, &shape, ctx, w, m, bias, act);
    g.a = (rf__matrix){x, NULL, ldx, 0};
    g.c = y;
    g.ldc = ldy;
    g.workspace = scratch;
    g.gated = scratch ? (float *)(void *)(scratch + workspace) : NULL;
    if (scratch) run(&g);
    rf__product_give(ctx, scratch);
    return scratch ? check_rows(&g, why) : no_scratch(why, bytes);
}

/* ---- two products ------------------------------------------------------------------------------------------------ */

enum {
    PAIR_LEAST = 64,                    /* rows of a block below which weights would be read too often */
    PAIR_MOST = 128,
    PAIR_LINE = 16                      /* numbers of a cache line; rows of the middle are odd numbers of lines apart */
};

typedef struct pair {
    blocks first, second;
    float *middle;                      /* [rows, ld] of every worker: the first product's result */
    int64_t ld, size;
} pair;

static void one_pair(void *arg, int64_t task, int worker)
{
    pair *p = arg;
    held h = held_of(&p->first, task, worker);
    float *const middle = p->middle + worker * p->size, *const c = p->second.c + h.i0 * p->second.ldc;
    for (int64_t i = 0; i < p->first.groups; i++)
        multiply_block(&p->first, h, target_of(&p->first, i, middle, p->ld));
    h.a = (rf__matrix){middle, NULL, p->ld, 0};
    h.i0 = 0;
    multiply_block(&p->second, h, target_of(&p->second, 0, c, p->second.ldc));
}

/* Rows of a block whose middle takes most of the second-level cache. */
static int64_t pair_rows(const rfk_panel_shape *shape, const rf_packed *up, size_t share)
{
    const int64_t fit = (int64_t)(share / 4 * 3 / sizeof(float)) / up->n / shape->rows * shape->rows;
    return rf__min64(rf__min64(fit, PAIR_MOST), shape->block);
}

int64_t rf__blocked_pairs(const rf__element *e, const rf_ctx *ctx, const rf_packed *up, int64_t m)
{
    const rfk_panel_shape shape = shape_of(e, ctx);
    const int64_t rows = pair_rows(&shape, up, rf__cache_share()), workers = ctx->threads;
    if (!shape.held || rows < PAIR_LEAST) return 0;
    const int64_t count = ceiling(ceiling(m, rows), workers) * workers;
    return m / count < PAIR_LEAST ? 0 : count;
}

static int64_t odd_lines(int64_t n) { return (n + 2 * PAIR_LINE - 1) / (2 * PAIR_LINE) * (2 * PAIR_LINE) + PAIR_LINE; }

rf_status rf__blocked_pair(const rf__element *e, const rf_ctx *ctx, const rf__pair *x, int64_t count, rf_error *why)
{
    const rfk_panel_shape shape = shape_of(e, ctx);
    pair p = {.first = blocks_of(e, &shape, ctx, x->up, x->m, x->up_bias, x->act),
              .second = blocks_of(e, &shape, ctx, x->down, x->m, x->down_bias, RF_ACT_NONE),
              .ld = odd_lines(x->up->n)};
    p.size = (ceiling(x->m, count) + RF__GEMM_WIDTH) * p.ld;
    const size_t workspace = (size_t)ctx->threads * workspace_of(e, &shape), gated = gated_size(ctx, &shape, x->up),
                 bytes = rfk__both(workspace + gated, rfk__size(ctx->threads * p.size, sizeof(float)));
    char *scratch = rf__product_take(ctx, bytes);
    if (scratch) {
        p.first.a = (rf__matrix){x->x, NULL, x->ldx, 0};
        p.first.workspace = p.second.workspace = scratch;
        p.first.gated = (float *)(void *)(scratch + workspace);
        p.middle = (float *)(void *)(scratch + workspace + gated);
        p.second.c = x->y;
        p.second.ldc = x->ldy;
        p.first.row_blocks = p.second.row_blocks = count;
        p.first.groups = groups_of_panels(&p.first);
        p.second.groups = 1;
        atomic_init(&p.first.wrong, INT64_MAX);
        atomic_init(&p.second.wrong, INT64_MAX);
        rf__parallel(ctx, count, one_pair, &p);
        ctx->thread_end();
    }
    rf__product_give(ctx, scratch);
    if (!scratch) return no_scratch(why, bytes);
    const rf_status status = check_rows(&p.first, why);
    return status ? status : check_rows(&p.second, why);
}
