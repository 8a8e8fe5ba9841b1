/* dots.c — one dot product for each head of each row.
 *
 *     y[n,h]    = c <x[n,h,:], w[h,:]>                         x [N,HD], w [HD]
 *     dx[n,h,:] = c dy[n,h] w[h,:],   dw[h,:] = c sum_n dy[n,h] x[n,h,:]      in the order of n */
#include "graph/graph.h"

struct saved { int64_t H, D; float c; };
struct pass { const rfk_table *k; const struct saved *s; int64_t N; float *y; const float *x, *w, *dy; };

static void forward(void *arg, int64_t first, int64_t last, int64_t block, int worker)
{
    (void)block, (void)worker;
    const struct pass *a = arg;
    const int64_t H = a->s->H, D = a->s->D;
    for (int64_t i = first * H; i < last * H; i++) a->y[i] = a->s->c * a->k->dot(a->x + i * D, a->w + i % H * D, D);
}

static void rows_back(void *arg, int64_t first, int64_t last, int64_t block, int worker)
{
    (void)block, (void)worker;
    const struct pass *a = arg;
    const int64_t H = a->s->H, D = a->s->D;
    for (int64_t i = first * H; i < last * H; i++) a->k->scale(a->y + i * D, a->w + i % H * D, a->s->c * a->dy[i], D);
}

static void head_back(void *arg, int64_t h, int worker)
{
    (void)worker;
    const struct pass *a = arg;
    const int64_t H = a->s->H, D = a->s->D;
    for (int64_t n = 0; n < a->N; n++) a->k->axpy(a->y + h * D, a->s->c * a->dy[n * H + h], a->x + (n * H + h) * D, D);
}

void rf__dots_run(rf_graph *g, rf_node *n)
{
    const struct saved *s = n->saved;
    const rf_tensor *x = n->in[0], *w = n->in[1];
    g->flops += 2 * (double)rf__size(x);
    rf__spans(g, x->dim[0], rf__span_rows(x->dim[1]), forward,
              &(struct pass){g->k, s, x->dim[0], n->out->f32, x->f32, w->f32, NULL});
}

void rf__dots_back(rf_graph *g, rf_node *n)
{
    const struct saved *s = n->saved;
    rf_tensor *const x = n->in[0], *const w = n->in[1];
    struct pass a = {g->k, s, x->dim[0], NULL, x->f32, w->f32, n->out->grad};
    if (w->tracked && (a.y = rf__adjoint_sum(g, w))) rf__each(g, s->H, head_back, &a);
    if (!x->tracked || !(a.y = rf__floats(g, rf__size(x)))) return;
    rf__spans(g, a.N, rf__span_rows(s->H * s->D), rows_back, &a);
    rf__adjoint(g, x, a.y);
}

rf_tensor *rf__dots(rf_graph *g, rf_tensor *x, rf_tensor *w, int64_t heads, double c)
{
    RF_EXPECT(g, "dots", x, 2);
    RF_EXPECT(g, "dots", w, 0);
    RF_NEED(g, heads > 0 && x->dim[1] % heads == 0 && rf__size(w) == x->dim[1], RF_ESHAPE,
            "dots: expected as many weights as columns, a multiple of the heads, got rows of %lld, %lld heads, %lld "
            "weights", (long long)x->dim[1], (long long)heads, (long long)rf__size(w));
    struct saved s = {heads, x->dim[1] / heads, (float)c};
    rf_tensor *y = rf__new(g, 2, (int64_t[]){x->dim[0], heads});
    if (rf__tracked(g, RF_IN(x, w))) {
        rf__needed(x);
        rf__needed(w);
    }
    return rf__call(g, RF_OP(dots), y, RF_IN(x, w), &s, sizeof s);
}
