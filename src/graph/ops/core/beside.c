/* beside.c — two additional columns for each head.
 *
 *     y[n,h,:] = x[n,h,:], a[n,h], b[n,h]               x [N,HD], a and b [N,H], y [N,H(D+2)] */
#include "graph/graph.h"

struct pass { int64_t H, D; float *y, *x, *a, *b; };

static void forward(void *arg, int64_t first, int64_t last, int64_t block, int worker)
{
    (void)block, (void)worker;
    const struct pass *p = arg;
    for (int64_t i = first * p->H; i < last * p->H; i++) {
        float *y = p->y + i * (p->D + 2);
        memcpy(y, p->x + i * p->D, (size_t)p->D * sizeof *y);
        y[p->D] = p->a[i];
        y[p->D + 1] = p->b[i];
    }
}

static void back(void *arg, int64_t first, int64_t last, int64_t block, int worker)
{
    (void)block, (void)worker;
    const struct pass *p = arg;
    for (int64_t i = first * p->H; i < last * p->H; i++) {
        const float *y = p->y + i * (p->D + 2);
        memcpy(p->x + i * p->D, y, (size_t)p->D * sizeof *y);
        p->a[i] = y[p->D];
        p->b[i] = y[p->D + 1];
    }
}

void rf__beside_run(rf_graph *g, rf_node *n)
{
    rf_tensor *const *in = n->in;
    const int64_t H = in[1]->dim[1], D = in[0]->dim[1] / H;
    rf__spans(g, in[0]->dim[0], rf__span_rows(H * D), forward,
              &(struct pass){H, D, n->out->f32, in[0]->f32, in[1]->f32, in[2]->f32});
}

void rf__beside_back(rf_graph *g, rf_node *n)
{
    rf_tensor *const *in = n->in;
    const int64_t H = in[1]->dim[1], D = in[0]->dim[1] / H;
    float *d[3];
    for (int i = 0; i < 3; i++) d[i] = rf__floats(g, rf__size(in[i]));
    if (g->error.code) return;
    rf__spans(g, in[0]->dim[0], rf__span_rows(H * D), back, &(struct pass){H, D, n->out->grad, d[0], d[1], d[2]});
    for (int i = 0; i < 3; i++) rf__adjoint(g, in[i], d[i]);
}

rf_tensor *rf__beside(rf_graph *g, rf_tensor *x, rf_tensor *a, rf_tensor *b)
{
    RF_EXPECT(g, "beside", x, 2);
    RF_EXPECT(g, "beside", a, 2);
    RF_EXPECT(g, "beside", b, 2);
    const int64_t N = x->dim[0], H = a->dim[1];
    RF_NEED(g, H > 0 && x->dim[1] % H == 0 && a->dim[0] == N && b->dim[0] == N && b->dim[1] == H, RF_ESHAPE,
            "beside: expected x [N,H*D], a [N,H] and b [N,H], got [%lld,%lld], [%lld,%lld] and [%lld,%lld]",
            (long long)N, (long long)x->dim[1], (long long)a->dim[0], (long long)H, (long long)b->dim[0],
            (long long)b->dim[1]);
    rf_tensor *y = rf__new(g, 2, (int64_t[]){N, x->dim[1] + 2 * H});
    return rf__call(g, RF_OP(beside), y, RF_IN(x, a, b), NULL, 0);
}
