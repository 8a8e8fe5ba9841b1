/* checkpoint.c — a stretch of the network that is computed again when its gradient is due.    Chen et al. 2016
 *
 *     y  = f(x)                       run without recording: nothing of it stays but y
 *     dx = (df/dx)^T dy               f runs once more on x, recorded, and its own tape is walked
 *
 * Memory is one stretch deep.  Dropouts count from where they counted the first time, so their masks are the same; all
 * else is the same computation by construction.
 *
 *     outer tape   ... <- [x] <------ checkpoint <- [y] <- ...
 *     inner tape          [leaf] <- node <- ... <- [y']         lives between two marks of the arena
 *
 * The pool of adjoint buffers is another one inside, because what is pushed there does not outlive it.              */
#include "graph/graph.h"

struct saved { rf_stretch *f; const void *arg; uint32_t drops; };

void rf__checkpoint_back(rf_graph *g, rf_node *n)
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

    rf_tensor *leaf = rf_constant(g, x->f32, x->rank, x->dim);
    if (!g->error.code) leaf->tracked = x->tracked;
    rf_tensor *y = s->f(g, leaf, s->arg);
    if (!g->error.code) y->grad = dy;
    rf__walk(g);
    if (g->error.code) return;
    if (dx && leaf->grad) rf__copy_into(g, dx, leaf->grad, rf__size(x));
    else if (dx) rf__zero(g, dx, rf__size(x));

    rf__scratch_end(g, mark);
    g->last = last;
    g->spare = spare;
    g->drops = drops;
    rf__give(g, dy, rf__size(n->out));
    if (dx) rf__adjoint(g, x, dx);
}

rf_tensor *rf_checkpoint(rf_graph *g, rf_tensor *x, rf_stretch *f, const void *arg, size_t size)
{
    RF_WANT(g, "checkpoint", x, 0);
    RF_NEED(g, f && (arg || !size), RF_EARG, "checkpoint: no function, or no argument of %zu bytes", size);
    if (!g->record) return f(g, x, arg);

    const struct saved s = {f, rf__copy(g, arg, 1, size), g->drops};
    rf_spare *spare = g->spare;
    const rf_graph_mark mark = rf_graph_here(g);
    g->spare = NULL;
    g->record = false;                                           /* but g->train stays: dropout is on */
    rf_tensor *made = f(g, x, s.arg), *y = made == x ? x : rf_keep(g, mark, made);
    g->record = true;
    g->spare = spare;
    RF_NEED(g, y != x, RF_EARG, "checkpoint: the function gave back its argument");
    rf__needed(x);
    return rf__record(g, RF_OP(checkpoint), y, RF_IN(x), &s, sizeof s);
}
