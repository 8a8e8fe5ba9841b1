/* linear.c — the product with a weight matrix.
 *
 *     z  = x w^T + b,   y = act(z)                     x [N,K], w [M,K], b [M]
 *     dz = act'(z) dy
 *     dx = dz w,   dw += dz^T x,   db += sum_n dz[n,:]
 *
 * Without recording bias and activation are done at the product's store; with it z is kept, in no more memory than the
 * adjoint needs, and dz takes the place of dy. */
#include "graph/graph.h"

struct saved { rf_act act; float *z; };

void rf__linear_back(rf_graph *g, rf_node *n)
{
    const struct saved *s = n->saved;
    rf_tensor *x = n->in[0], *w = n->in[1], *b = n->in[2];
    const int64_t N = x->dim[0], K = x->dim[1], M = w->dim[0];
    float *dz = n->out->grad, beta;

    if (s->z) {
        rf__act_back(g, s->act, dz, dz, s->z, N * M);
        rf__give(g, s->z, N * M);
    }
    if (w->tracked) {
        float *dw = rf__adjoint_here(g, w, &beta);
        rf__gemm(g, &(rf_gemm_call){.m = M, .n = K, .k = N, .a = dz, .lda = M, .a_turned = 1, .b = x->f32, .ldb = K,
                                    .beta = beta, .c = dw, .ldc = K});
    }
    if (b && b->tracked) {
        float *db = rf__adjoint_sum(g, b);
        if (db) rf__column_sums(g, db, dz, N, M);
    }
    if (x->tracked) {
        float *dx = rf__adjoint_here(g, x, &beta);
        rf__gemm(g, &(rf_gemm_call){.m = N, .n = K, .k = M, .a = dz, .lda = M, .b = w->f32, .ldb = K, .beta = beta,
                                    .c = dx, .ldc = K});
    }
}

static void product(rf_graph *g, const rf_tensor *x, const rf_tensor *w, const rf_tensor *b, rf_act act, float *y)
{
    const int64_t N = x->dim[0], K = x->dim[1], M = w->dim[0];
    const float *bias = b ? b->f32 : NULL;
    if (w->packed && !g->record)
        rf_packed_product(g->ctx, w->packed, N, x->f32, K, bias, act, y, M, &g->error);
    else
        rf__gemm(g, &(rf_gemm_call){.m = N, .n = M, .k = K, .a = x->f32, .lda = K, .b = w->f32, .ldb = K, .b_turned = 1,
                                    .c = y, .ldc = M, .bias = bias, .act = act});
}

rf_tensor *rf_linear(rf_graph *g, rf_tensor *x, rf_tensor *w, rf_tensor *b, rf_act act)
{
    rf_act_kernels known;
    RF_WANT(g, "linear", x, 2);
    if (!w || !w->packed || g->record) RF_WANT(g, "linear", w, 2);
    RF_NEED(g, w->rank == 2, RF_ESHAPE, "linear: w has rank %d, wants 2", w->rank);
    RF_NEED(g, x->dim[1] == w->dim[1], RF_ESHAPE, "linear: x has %lld columns, w takes %lld", (long long)x->dim[1],
            (long long)w->dim[1]);
    RF_VECTOR(g, "linear", b, w->dim[0]);
    RF_NEED(g, rf__act(g, act, &known), RF_EARG, "linear: no activation %d", (int)act);

    const bool track = rf__tracked(g, RF_IN(x, w, b)), split = track && act != RF_ACT_NONE;
    const int64_t N = x->dim[0], M = w->dim[0];
    rf_tensor *y = rf__new(g, 2, (int64_t[]){N, M});
    const struct saved s = {act, split ? rf__floats(g, N * M) : NULL};
    if (g->error.code) return &g->nil.t;
    product(g, x, w, b, split ? RF_ACT_NONE : act, split ? s.z : y->f32);
    if (g->error.code) return &g->nil.t;
    if (split) rf__act_forward(g, act, y->f32, s.z, N * M);
    return track ? rf__record(g, RF_OP(linear), y, RF_IN(x, w, b), &s, sizeof s) : y;
}
