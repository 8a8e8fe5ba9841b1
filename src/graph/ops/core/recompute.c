/* recompute.c — recomputes a part of the network in the backward pass.    Chen et al. 2016
 *
 *     y  = f(x)                       run without recording: only y is kept
 *     dx = (df/dx)^T dy               f runs once more on x, recorded, with its own backward pass
 *
 * Only one part is in memory at a time.  Dropouts continue from the same counter as the first time, so their masks are
 * equal; all else is the same computation by construction.
 *
 *     outer tape   ... <- [x] <------ recompute <-- [y] <- ...
 *     inner tape          [leaf] <- node <- ... <- [y']         between two marks of the arena
 *
 * The inner pass has its own pool of adjoint buffers, because these buffers are freed with it.  Adjoints of tensors of
 * the outer tape that f reads besides x are summed outside the arena until the inner tape is freed.                  */
#include "graph/graph.h"

struct saved { rf_recompute_body *f; const void *arg; uint32_t drops; };

/* The adjoint of a tensor that f reads besides x, during the inner backward pass. */
struct outer { struct outer *next; rf_tensor *x; float sum[]; };

/* Tensors of the outer tape that the inner one reads and that have no adjoint yet get one outside the arena. */
static struct outer *save_outer(rf_graph *g, rf_mark mark)
{
    struct outer *all = NULL;
    for (const rf_node *n = g->last; n && !g->error.code; n = n->older)
        for (int i = 0; i < RF_INPUTS; i++) {
            rf_tensor *x = n->in[i];
            const rf_cell *cell = (const rf_cell *)(const void *)x;
            if (!x || !x->tracked || x->parameter || x->grad || cell->at >= mark.total) continue;
            const size_t values = g->dry ? 0 : (size_t)rf__size(x);
            struct outer *o = rf__calloc(g->ctx, 1, sizeof *o + values * sizeof *o->sum);
            if (!o) {
                rf__stop(g, RF_ENOMEM, "out of memory: recompute: an adjoint of %lld elements",
                         (long long)rf__size(x));
                return all;
            }
            *o = (struct outer){.next = all, .x = x};
            x->grad = o->sum;
            all = o;
        }
    return all;
}

/* Passes their adjoints to the graph, or frees them if it has failed. */
static void release_outer(rf_graph *g, struct outer *all)
{
    while (all) {
        struct outer *next = all->next;
        all->x->grad = NULL;
        if (!g->error.code) rf__adjoint_copy(g, all->x, all->sum);
        rf__free(g->ctx, all);
        all = next;
    }
}

/* y is the result of the operations of f, which have run. */
void rf__recompute_run(rf_graph *g, rf_node *n) { (void)g, (void)n; }

void rf__recompute_back(rf_graph *g, rf_node *n)
{
    const struct saved *s = n->saved;
    rf_tensor *x = n->in[0];
    float *dy = rf__dy(n), *dx = x->tracked ? rf__floats(g, rf__size(x)) : NULL;
    rf_node *last = g->last;
    rf_spare *spare = g->spare;
    const uint32_t drops = g->drops;
    const rf_mark mark = rf__scratch(g);
    g->last = NULL;
    g->spare = NULL;
    g->drops = s->drops;

    rf_tensor *leaf = rf__constant(g, x->f32, x->rank, x->dim);
    if (!g->error.code) leaf->tracked = x->tracked;
    rf_tensor *y = s->f(g, leaf, s->arg);
    struct outer *outer = save_outer(g, mark);
    if (!g->error.code) y->grad = dy;
    rf__walk(g);
    if (g->error.code) {
        release_outer(g, outer);
        return;
    }
    if (dx && leaf->grad) rf__copy_into(g, dx, leaf->grad, rf__size(x));
    else if (dx) rf__zero(g, dx, rf__size(x));

    rf__scratch_end(g, mark);
    g->last = last;
    g->spare = spare;
    g->drops = drops;
    release_outer(g, outer);
    rf__free_last(g, dy, rf__size(n->out));
    if (dx) rf__adjoint(g, x, dx);
}

rf_tensor *rf__recompute(rf_graph *g, rf_tensor *x, rf_recompute_body *f, const void *arg, size_t size)
{
    RF_EXPECT(g, "recompute", x, 0);
    RF_NEED(g, f && (arg || !size), RF_EARG,
            "recompute: expected a function and its argument of %zu bytes, got NULL", size);
    if (!g->record) return f(g, x, arg);

    struct saved s = {f, rf__copy(g, arg, 1, size), g->drops};
    rf_spare *spare = g->spare;
    const rf_graph_mark mark = rf__graph_here(g);
    g->spare = NULL;
    g->record = false;                                           /* but g->train stays set: dropout is active */
    rf_tensor *made = f(g, x, s.arg), *y = made == x ? x : rf__keep(g, mark, made);
    g->record = true;
    g->spare = spare;
    RF_NEED(g, y != x, RF_EARG, "recompute: expected a new tensor from the function, got its argument");
    rf__needed(x);
    y->tracked = 1;                                              /* f may read parameters even if x depends on none */
    return rf__call(g, RF_OP(recompute), y, RF_IN(x, y), &s, sizeof s);
}
