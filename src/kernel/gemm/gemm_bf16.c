/* gemm_bf16.c — matrix products in bf16 with sums in f32, by blocks, on the kernels gemm_panel_bf16 and pairs_bf16.
 *
 *     c[m,n] = bf16(a[m,k]) bf16(b[k,n])     b in panels of 32 columns, two steps of k side by side: [n/32][k/2][32][2]
 *
 * The blocks are those of gemm_tile.c, deeper because a number takes half the memory: a's block is rounded to bf16
 * while it is copied together, b's panels while they are packed.  What is stored as bf16 already is taken as it is.  An
 * odd k is filled up with a zero.  How k is cut depends on k alone: an element's bits depend on its row and column
 * alone. */
#include "kernel/kernel.h"
#include "kernel/gemm/gemm_cut.h"

enum {
    PANEL = RFK_PANEL,
    ROWS = 84,                          /* a multiple of the tile height of the rung that has the instruction         */
    GROUP = 768 / PANEL,                /* panels of one task: how often copying a block of a is paid back            */
    WIDTH = 16,                         /* rows of a that are transposed together                                     */
    DEEP = 64,                          /* steps of k that are transposed or packed together                          */
    HIGH = ROWS + WIDTH,
    WIDE = 512,                         /* columns of b that are packed together                                      */
    CHUNK = 1 << 21                     /* numbers of b packed at a time when it comes unpacked                       */
};

/* What one worker writes: its block of a, and a piece of it on the way there. */
typedef struct desk {
    uint16_t block[HIGH * RFK_STRIDE_BF16];
    float piece[HIGH * DEEP], transposed[HIGH * DEEP];
} desk;

/* A matrix as it is stored: f32, or bf16 where that is not NULL. */
typedef struct matrix { const float *f32; const uint16_t *bf16; int64_t ld; int transposed; } matrix;

typedef struct blocks {
    const rf_ctx *ctx;
    int64_t m, n, k;                    /* n: of this call's panels; k even in the panels */
    matrix a;
    const uint16_t *panels;
    float *c;
    int64_t ldc;
    int add;
    const float *bias;
    rf_act act;
    int64_t step;                       /* of k: how deep a cut is */
    int64_t row_blocks, groups;
    desk *desk;
} blocks;

static int64_t even(int64_t k) { return k + k % 2; }

/* x[i.. , j..] as it lies in memory, n wide, as f32: where it is, or widened into `to`. */
static const float *widened(const rf_ctx *ctx, const matrix *x, int64_t i, int64_t rows, int64_t j, int64_t n,
                            float *to, int64_t *ld)
{
    *ld = x->ld;
    if (!x->bf16) return x->f32 + i * x->ld + j;
    for (int64_t r = 0; r < rows; r++) ctx->k->from_bf16(to + r * n, x->bf16 + (i + r) * x->ld + j, n);
    *ld = n;
    return to;
}

/* ---- one task ---------------------------------------------------------------------------------------------------- */

/* a is stored [k,m]: pieces of it are transposed in f32 and then rounded. */
static void copy_transposed(const blocks *g, desk *r, int64_t i0, int64_t rows, int64_t p0, int64_t depth)
{
    for (int64_t p = 0; p < depth; p += DEEP) {
        const int64_t deep = rf__min64(DEEP, depth - p);
        int64_t ld;
        const float *x = widened(g->ctx, &g->a, p0 + p, deep, i0, rows, r->piece, &ld);
        g->ctx->k->transpose(r->transposed, DEEP, x, ld, deep, rows);
        for (int64_t i = 0; i < rows; i++)
            g->ctx->k->to_bf16(r->block + i * RFK_STRIDE_BF16 + p, r->transposed + i * DEEP, deep);
    }
}

static void copy_a(const blocks *g, desk *r, int64_t i0, int64_t rows, int64_t p0, int64_t depth)
{
    const matrix *a = &g->a;
    if (a->transposed) copy_transposed(g, r, i0, rows, p0, depth);
    for (int64_t i = 0; i < rows; i++) {
        uint16_t *to = r->block + i * RFK_STRIDE_BF16;
        const int64_t at = (i0 + i) * a->ld + p0;
        if (!a->transposed && a->bf16) memcpy(to, a->bf16 + at, (size_t)depth * sizeof *to);
        else if (!a->transposed) g->ctx->k->to_bf16(to, a->f32 + at, depth);
        if (depth % 2) to[depth] = 0;
    }
}

/* Blocks of nearly equal height, at multiples of WIDTH rows when they must be transposed. */
static int64_t first_row(const blocks *g, int64_t block)
{
    const int64_t i = g->m * block / g->row_blocks;
    return g->a.transposed && block < g->row_blocks ? i / WIDTH * WIDTH : i;
}

static void one_block(void *arg, int64_t task, int worker)
{
    const blocks *g = arg;
    desk *r = g->desk + worker;
    const int64_t group = task / g->row_blocks, block = task % g->row_blocks, panels = rf__ceiling(g->n, PANEL);
    const int64_t i0 = first_row(g, block), rows = first_row(g, block + 1) - i0;
    const int64_t first = panels * group / g->groups, last = panels * (group + 1) / g->groups;
    float *c = g->c + i0 * g->ldc;

    for (int64_t p = 0; p < g->k; p += g->step) {
        const int64_t depth = rf__min64(g->step, g->k - p);
        copy_a(g, r, i0, rows, p, depth);
        for (int64_t q = first; q < last; q++) {
            const int64_t j = q * PANEL, width = rf__min64(PANEL, g->n - j);
            const bool add = p > 0 || g->add;
            const float *from = add ? c + j : g->bias ? g->bias + j : NULL;
            g->ctx->k->gemm_panel_bf16(c + j, g->ldc, r->block, g->panels + j * even(g->k) + p * PANEL, rows, width,
                                       even(depth) / 2, from, add ? g->ldc : 0);
        }
    }
    const int64_t j = first * PANEL;
    rf__act_rows(g->ctx, g->act, c + j, g->ldc, rows, rf__min64(last * PANEL, g->n) - j);
}

/* As many tasks as keep all workers busy to the end, of equal size; never a block higher than ROWS. */
static void run(blocks *g)
{
    const int64_t workers = g->ctx->threads, panels = rf__ceiling(g->n, PANEL);
    g->row_blocks = rf__ceiling(g->m, ROWS);
    if (g->row_blocks > workers) g->row_blocks = rf__ceiling(g->row_blocks, workers) * workers;
    g->groups = rf__ceiling(panels, GROUP);
    while (g->row_blocks * g->groups % workers && g->row_blocks * g->groups < 8 * workers && g->groups < panels)
        g->groups++;
    rf__parallel(g->ctx, g->row_blocks * g->groups, one_block, g);
}

/* ---- packing b --------------------------------------------------------------------------------------------------- */

/* b from row k0 and column j0 on (of [k,n], or transposed [n,k]), k deep and n wide. */
typedef struct packing {
    const rf_ctx *ctx;
    matrix b;
    int64_t k0, j0, n, k;
    uint16_t *out;
} packing;

/* b stored [n,k]: strips of a panel's rows are transposed in f32; rows of pairs follow from rows of numbers. */
static void transposed_panel(void *arg, int64_t q, int worker)
{
    (void)worker;
    const packing *p = arg;
    const int64_t j = q * PANEL, width = rf__min64(PANEL, p->n - j);
    uint16_t *out = p->out + j * even(p->k);
    float workspace[PANEL * DEEP], strip[(DEEP + 1) * PANEL] = {0};
    for (int64_t i = 0; i < p->k; i += DEEP) {
        const int64_t deep = rf__min64(DEEP, p->k - i);
        int64_t ld;
        const float *x = widened(p->ctx, &p->b, p->j0 + j, width, p->k0 + i, deep, workspace, &ld);
        p->ctx->k->transpose(strip, PANEL, x, ld, width, deep);
        if (deep % 2) memset(strip + deep * PANEL, 0, PANEL * sizeof *strip);
        for (int64_t r = 0; r < deep; r += 2)
            p->ctx->k->pairs_bf16(out + (i + r) * PANEL, strip + r * PANEL, strip + (r + 1) * PANEL, PANEL);
    }
}

/* b stored [k,n]: DEEP of its rows, two by two, are dealt out to the panels. */
static void strip_of_rows(void *arg, int64_t s, int worker)
{
    (void)worker;
    const packing *p = arg;
    const float zeros[WIDE] = {0};
    float workspace[2 * WIDE];
    uint16_t pairs[2 * WIDE];
    const int64_t last = rf__min64((s + 1) * DEEP, p->k);
    for (int64_t i = s * DEEP; i < last; i += 2)
        for (int64_t j = 0; j < p->n; j += WIDE) {
            const int64_t width = rf__min64(WIDE, p->n - j), panels = rf__ceiling(width, PANEL);
            int64_t ld;
            const float *x = widened(p->ctx, &p->b, p->k0 + i, i + 1 < p->k ? 2 : 1, p->j0 + j, width, workspace, &ld);
            p->ctx->k->pairs_bf16(pairs, x, i + 1 < p->k ? x + ld : zeros, width);
            memset(pairs + 2 * width, 0, (size_t)(2 * (panels * PANEL - width)) * sizeof *pairs);
            for (int64_t q = 0; q < panels; q++)
                memcpy(p->out + (j + q * PANEL) * even(p->k) + i * PANEL, pairs + 2 * q * PANEL,
                       2 * PANEL * sizeof *pairs);
        }
}

static void pack_panels(packing *p)
{
    if (p->b.transposed) rf__parallel(p->ctx, rf__ceiling(p->n, PANEL), transposed_panel, p);
    else rf__parallel(p->ctx, rf__ceiling(p->k, DEEP), strip_of_rows, p);
}

/* ---- the three calls --------------------------------------------------------------------------------------------- */

/* b is packed a piece at a time (gemm_cut.h); the last piece of k has the activation. */
static rf_status gemm(const rf_ctx *ctx, const rf_gemm_call *call, rf_error *why)
{
    const rf__cut cut = rf__cut_of(call->n, call->k, RFK_DEPTH_BF16, PANEL, CHUNK);
    const int64_t deep = cut.deep, wide = cut.wide;
    const size_t desks = (size_t)ctx->threads * sizeof(desk);
    const size_t bytes = desks + (size_t)(wide * even(rf__min64(deep, call->k))) * sizeof(uint16_t);
    rf__product_enter(ctx);
    char *scratch = rf__product_scratch(ctx, bytes);
    for (int64_t j = 0; scratch && j < call->n; j += wide)
        for (int64_t k = 0; k < call->k; k += deep) {
            const bool last = k + deep >= call->k;
            packing p = {ctx, {call->b, call->b16, call->ldb, call->b_transposed}, k, j, rf__min64(wide, call->n - j),
                         rf__min64(deep, call->k - k), (uint16_t *)(void *)(scratch + desks)};
            const int64_t at = call->a_transposed ? k * call->lda : k;
            pack_panels(&p);
            blocks g = {
                .ctx = ctx,
                .m = call->m,
                .n = p.n,
                .k = p.k,
                .a = {call->a ? call->a + at : NULL, call->a16 ? call->a16 + at : NULL, call->lda, call->a_transposed},
                .panels = p.out,
                .c = call->c + j,
                .ldc = call->ldc,
                .add = call->beta != 0 || k > 0,
                .bias = call->bias && k == 0 ? call->bias + j : NULL,
                .act = last ? call->act : RF_ACT_NONE,
                .step = cut.step,
                .desk = (desk *)(void *)scratch};
            run(&g);
        }
    rf__product_leave(ctx);
    return scratch ? RF_OK : rf__no_scratch(why, bytes);
}

static rf_status pack(const rf_ctx *ctx, rf_packed *w, const float *from, rf_error *why)
{
    const size_t bytes = (size_t)(rf__ceiling(w->n, PANEL) * PANEL * even(w->k)) * sizeof(uint16_t);
    w->data = rf__alloc(ctx, bytes);
    if (!w->data) return rf_fail(why, RF_ENOMEM, "out of memory: packed weights of %zu bytes", bytes);
    pack_panels(&(packing){ctx, {from, NULL, w->k, 1}, 0, 0, w->n, w->k, w->data});
    return RF_OK;
}

static rf_status packed(const rf_ctx *ctx, const rf_packed *w, int64_t m, const float *x, int64_t ldx,
                        const float *bias, rf_act act, float *y, int64_t ldy, rf_error *why)
{
    const size_t bytes = (size_t)ctx->threads * sizeof(desk);
    rf__product_enter(ctx);
    blocks g = {.ctx = ctx,
                .m = m,
                .n = w->n,
                .k = w->k,
                .a = {x, NULL, ldx, 0},
                .panels = w->data,
                .c = y,
                .ldc = ldy,
                .bias = bias,
                .act = act,
                .step = rf__depth_of_cut(w->k, RFK_DEPTH_BF16),
                .desk = rf__product_scratch(ctx, bytes)};
    if (g.desk) run(&g);
    rf__product_leave(ctx);
    return g.desk ? RF_OK : rf__no_scratch(why, bytes);
}

const rf__products rf__products_bf16 = {"built-in, bf16", gemm, pack, NULL, packed};
