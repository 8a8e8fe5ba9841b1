/* cross.c — scaled dot products of all rows of two tensors.
 *
 *     y[i,j] = scale <a[i,:], b[j,:]>
 *     da = scale dy b,   db = scale dy^T a
 *
 * Always in f32, independent of rf__graph_products, because similarities are divided by temperatures of a few
 * hundredths. */
#include "graph/graph.h"

struct saved { float scale; };

static void product(rf_graph *g, const rf_gemm_call *call, float scale)
{
    rf__graph_gemm(g, call);
    if (rf__computes(g)) g->k->scale(call->c, call->c, scale, call->m * call->n);
}

void rf__cross_run(rf_graph *g, rf_node *n)
{
    const struct saved *s = n->saved;
    const rf_tensor *a = n->in[0], *b = n->in[1], *y = n->out;
    product(g,
            &(rf_gemm_call){.m = y->dim[0],
                            .n = y->dim[1],
                            .k = a->dim[1],
                            .a = a->f32,
                            .lda = a->dim[1],
                            .b = b->f32,
                            .ldb = b->dim[1],
                            .b_transposed = 1,
                            .c = y->f32,
                            .ldc = y->dim[1]},
            s->scale);
}

/* The adjoint of one side: scale dy other, or scale dy^T other. */
static void side_back(rf_graph *g, const rf_node *n, int side)
{
    const struct saved *s = n->saved;
    rf_tensor *x = n->in[side];
    const rf_tensor *other = n->in[1 - side];
    float *dx = x->tracked ? rf__floats(g, rf__size(x)) : NULL;
    if (!dx) return;
    product(g,
            &(rf_gemm_call){.m = x->dim[0],
                            .n = x->dim[1],
                            .k = other->dim[0],
                            .a = n->out->grad,
                            .lda = n->out->dim[1],
                            .a_transposed = side,
                            .b = other->f32,
                            .ldb = other->dim[1],
                            .c = dx,
                            .ldc = x->dim[1]},
            s->scale);
    rf__adjoint(g, x, dx);
}

void rf__cross_back(rf_graph *g, rf_node *n)
{
    side_back(g, n, 0);
    side_back(g, n, 1);
}

rf_tensor *rf__cross(rf_graph *g, rf_tensor *a, rf_tensor *b, double scale)
{
    RF_EXPECT(g, "cross", a, 2);
    RF_EXPECT(g, "cross", b, 2);
    RF_NEED(g, a->dim[1] == b->dim[1], RF_ESHAPE, "cross: b: expected rows of %lld, as in a, got %lld",
            (long long)a->dim[1], (long long)b->dim[1]);
    rf_tensor *y = rf__new(g, 2, (int64_t[]){a->dim[0], b->dim[0]});
    if (rf__tracked(g, RF_IN(a, b))) {
        rf__needed(a);
        rf__needed(b);
    }
    return rf__call(g, RF_OP(cross), y, RF_IN(a, b), &(struct saved){(float)scale}, sizeof(struct saved));
}
