/* gemm_tile.c — matrix products by blocks that fit the caches, on the kernels gemm_panel and transpose of the rung.
 *
 *     c[m,n] = a[m,k] b[k,n]          b in panels of 32 columns, [n/32][k][32]: packed once (weights) or per call
 *
 *     for each block of k (at most RFK_DEPTH)                    in the order of k
 *         a's block is copied together                           rows x depth, stays in the second-level cache
 *         for each panel: gemm_panel                             panel x depth, streams through it
 *
 * Blocks of rows and groups of panels are the tasks.  How k is cut depends on k alone, so an element's bits depend on
 * its row of a and its column of b alone: not on m, n, the other rows, the task that computed it or the threads.     */
#include "kernel/kernel.h"
#include "kernel/gemm/gemm_cut.h"

enum {
    PANEL = RFK_PANEL,
    ROWS = 84,                          /* a multiple of every rung's tile height                                     */
    GROUP = 768 / PANEL,                /* panels of one task: how often copying a block of a is paid back            */
    WIDTH = 16,                         /* of the widest rung's vector                                                */
    WORKSPACE = (ROWS + WIDTH) * RFK_STRIDE, /* floats of a worker's copy                                             */
    STRIP = 64,                         /* rows of b                                                                  */
    CHUNK = 1 << 20                     /* floats of b packed at a time when it comes unpacked                        */
};

typedef struct blocks {
    const rf_ctx *ctx;
    int64_t m, n, k;                    /* n: of this call's panels */
    const float *a;
    int64_t lda;
    int a_transposed;
    const float *panels;
    float *c;
    int64_t ldc;
    int add;
    const float *bias;
    rf_act act;
    int64_t step;                       /* of k: how deep a cut is */
    int64_t row_blocks, groups;
    float *workspace;
} blocks;

/* ---- one task ---------------------------------------------------------------------------------------------------- */

/* Rows i0.. and columns p0.. of a, row by row. */
static void copy_a(const blocks *g, float *to, int64_t i0, int64_t rows, int64_t p0, int64_t depth)
{
    if (g->a_transposed)
        g->ctx->k->transpose(to, RFK_STRIDE, g->a + p0 * g->lda + i0, g->lda, depth, rows);
    else
        for (int64_t i = 0; i < rows; i++)
            memcpy(to + i * RFK_STRIDE, g->a + (i0 + i) * g->lda + p0, (size_t)depth * sizeof *to);
}

/* Blocks of nearly equal height, at multiples of WIDTH rows when they must be transposed. */
static int64_t first_row(const blocks *g, int64_t block)
{
    const int64_t i = g->m * block / g->row_blocks;
    return g->a_transposed && block < g->row_blocks ? i / WIDTH * WIDTH : i;
}

static void one_block(void *arg, int64_t task, int worker)
{
    const blocks *g = arg;
    float *workspace = g->workspace + worker * WORKSPACE;
    const int64_t group = task / g->row_blocks, block = task % g->row_blocks, panels = rf__ceiling(g->n, PANEL);
    const int64_t i0 = first_row(g, block), rows = first_row(g, block + 1) - i0;
    const int64_t first = panels * group / g->groups, last = panels * (group + 1) / g->groups;
    float *c = g->c + i0 * g->ldc;

    for (int64_t p = 0; p < g->k; p += g->step) {
        const int64_t depth = rf__min64(g->step, g->k - p);
        copy_a(g, workspace, i0, rows, p, depth);
        for (int64_t q = first; q < last; q++) {
            const int64_t j = q * PANEL, width = rf__min64(PANEL, g->n - j);
            const bool add = p > 0 || g->add;
            const float *from = add ? c + j : g->bias ? g->bias + j : NULL;
            g->ctx->k->gemm_panel(c + j, g->ldc, workspace, g->panels + j * g->k + p * PANEL, rows, width, depth, from,
                                  add ? g->ldc : 0);
        }
    }
    const int64_t j = first * PANEL;
    rf__act_rows(g->ctx, g->act, c + j, g->ldc, rows, rf__min64(last * PANEL, g->n) - j);
}

/* As many tasks as keep all workers busy to the end, of equal size; never a block higher than ROWS. */
static void cut(blocks *g)
{
    const int64_t workers = g->ctx->threads, panels = rf__ceiling(g->n, PANEL);
    g->row_blocks = rf__ceiling(g->m, ROWS);
    if (g->row_blocks > workers) g->row_blocks = rf__ceiling(g->row_blocks, workers) * workers;
    g->groups = rf__ceiling(panels, GROUP);
    while (g->row_blocks * g->groups % workers && g->row_blocks * g->groups < 8 * workers && g->groups < panels)
        g->groups++;
}

static void run(blocks *g)
{
    cut(g);
    rf__parallel(g->ctx, g->row_blocks * g->groups, one_block, g);
}

/* ---- packing b --------------------------------------------------------------------------------------------------- */

typedef struct packing {
    const rf_ctx *ctx;
    const float *b;
    int64_t ldb, n, k;
    int transposed;
    float *out;
} packing;

/* b stored [n,k]: each panel is a transposed strip of it. */
static void transposed_panel(void *arg, int64_t q, int worker)
{
    (void)worker;
    const packing *p = arg;
    const int64_t j = q * PANEL, width = rf__min64(PANEL, p->n - j);
    float *out = p->out + j * p->k;
    if (width < PANEL) memset(out, 0, (size_t)(p->k * PANEL) * sizeof *out);
    p->ctx->k->transpose(out, PANEL, p->b + j * p->ldb, p->ldb, width, p->k);
}

/* b stored [k,n]: STRIP rows are read from left to right, once, and dealt out to the panels. */
static void strip_of_rows(void *arg, int64_t strip, int worker)
{
    (void)worker;
    const packing *p = arg;
    const int64_t last = rf__min64((strip + 1) * STRIP, p->k);
    for (int64_t i = strip * STRIP; i < last; i++)
        for (int64_t j = 0; j < p->n; j += PANEL) {
            const int64_t width = rf__min64(PANEL, p->n - j);
            float *out = p->out + j * p->k + i * PANEL;
            if (width == PANEL) {
                memcpy(out, p->b + i * p->ldb + j, PANEL * sizeof *out);
            } else {
                memset(out, 0, PANEL * sizeof *out);
                memcpy(out, p->b + i * p->ldb + j, (size_t)width * sizeof *out);
            }
        }
}

static void pack_panels(packing *p)
{
    if (p->transposed) rf__parallel(p->ctx, rf__ceiling(p->n, PANEL), transposed_panel, p);
    else rf__parallel(p->ctx, rf__ceiling(p->k, STRIP), strip_of_rows, p);
}

/* ---- the three calls --------------------------------------------------------------------------------------------- */

/* b is packed a piece at a time (gemm_cut.h); the last piece of k has the activation. */
static rf_status gemm(const rf_ctx *ctx, const rf_gemm_call *call, rf_error *why)
{
    const rf__cut cut = rf__cut_of(call->n, call->k, RFK_DEPTH, PANEL, CHUNK);
    const int64_t deep = cut.deep, wide = cut.wide;
    const size_t workspace = (size_t)ctx->threads * WORKSPACE,
                 bytes = (workspace + (size_t)(wide * rf__min64(deep, call->k))) * sizeof(float);
    rf__product_enter(ctx);
    float *scratch = rf__product_scratch(ctx, bytes);
    for (int64_t j = 0; scratch && j < call->n; j += wide)
        for (int64_t k = 0; k < call->k; k += deep) {
            const bool last = k + deep >= call->k;
            packing p = {ctx,
                         call->b + (call->b_transposed ? j * call->ldb + k : k * call->ldb + j),
                         call->ldb,
                         rf__min64(wide, call->n - j),
                         rf__min64(deep, call->k - k),
                         call->b_transposed,
                         scratch + workspace};
            pack_panels(&p);
            blocks g = {.ctx = ctx,
                        .m = call->m,
                        .n = p.n,
                        .k = p.k,
                        .a = call->a + (call->a_transposed ? k * call->lda : k),
                        .lda = call->lda,
                        .a_transposed = call->a_transposed,
                        .panels = p.out,
                        .c = call->c + j,
                        .ldc = call->ldc,
                        .add = call->beta != 0 || k > 0,
                        .bias = call->bias && k == 0 ? call->bias + j : NULL,
                        .act = last ? call->act : RF_ACT_NONE,
                        .step = cut.step,
                        .workspace = scratch};
            run(&g);
        }
    rf__product_leave(ctx);
    return scratch ? RF_OK : rf__no_scratch(why, bytes);
}

static rf_status pack(const rf_ctx *ctx, rf_packed *w, const float *from, rf_error *why)
{
    const size_t bytes = (size_t)(rf__ceiling(w->n, PANEL) * PANEL * w->k) * sizeof *from;
    w->data = rf__alloc(ctx, bytes);
    if (!w->data) return rf_fail(why, RF_ENOMEM, "out of memory: packed weights of %zu bytes", bytes);
    pack_panels(&(packing){ctx, from, w->k, w->n, w->k, 1, w->data});
    return RF_OK;
}

static rf_status packed(const rf_ctx *ctx, const rf_packed *w, int64_t m, const float *x, int64_t ldx,
                        const float *bias, rf_act act, float *y, int64_t ldy, rf_error *why)
{
    const size_t bytes = (size_t)ctx->threads * WORKSPACE * sizeof(float);
    rf__product_enter(ctx);
    blocks g = {.ctx = ctx,
                .m = m,
                .n = w->n,
                .k = w->k,
                .a = x,
                .lda = ldx,
                .panels = w->data,
                .c = y,
                .ldc = ldy,
                .bias = bias,
                .act = act,
                .step = rf__depth_of_cut(w->k, RFK_DEPTH),
                .workspace = rf__product_scratch(ctx, bytes)};
    if (g.workspace) run(&g);
    rf__product_leave(ctx);
    return g.workspace ? RF_OK : rf__no_scratch(why, bytes);
}

const rf__products rf__products_tile = {"built-in", gemm, pack, NULL, packed};
