/* gate.c — a gated linear unit: one half of each row, activated, times the other.        Shazeer 2020 (GLU variants)
 *
 *     y  = act(a) * b                                 [a | b] = x [N,2M], or [b | a]; y [N,M]; * by element
 *     da = act'(a) * (b * dy),   db = act(a) * dy
 *
 * If x is the result of a product and nothing is recorded, product and gate are one call on packed weights, and x is
 * not stored. */
#include "graph/graph.h"

struct saved { rf_act act; rf_gate_order order; };

/* Rows of x and y; dx in the backward. */
struct rows {
    const rf_graph *g;
    rf_act_kernels act;
    int64_t M, gate, up;                /* gate, up: the columns of x where the two begin */
    const float *x;
    float *y;
    const float *dy;
    float *dx;
};

static struct rows rows_of(const rf_graph *g, const rf_node *n)
{
    const struct saved *s = n->saved;
    const int64_t M = n->out->dim[1];
    struct rows r = {.g = g, .M = M, .gate = s->order == RF_GATE_SECOND ? M : 0, .x = n->in[0]->f32};
    r.up = M - r.gate;
    rf__act_find(g, s->act, &r.act);
    return r;
}

static void activate(const struct rows *r, float *to, const float *a)
{
    if (r->act.forward) r->act.forward(to, a, r->M);
    else memcpy(to, a, (size_t)r->M * sizeof *to);
}

static void forward_span(void *arg, int64_t first, int64_t last, int64_t block, int worker)
{
    (void)block, (void)worker;
    const struct rows *r = arg;
    for (int64_t n = first; n < last; n++) {
        const float *x = r->x + n * 2 * r->M;
        float *y = r->y + n * r->M;
        activate(r, y, x + r->gate);
        r->g->k->mul(y, y, x + r->up, r->M);
    }
}

static void back_span(void *arg, int64_t first, int64_t last, int64_t block, int worker)
{
    (void)block, (void)worker;
    const struct rows *r = arg;
    for (int64_t n = first; n < last; n++) {
        const float *a = r->x + n * 2 * r->M + r->gate, *b = r->x + n * 2 * r->M + r->up, *dy = r->dy + n * r->M;
        float *da = r->dx + n * 2 * r->M + r->gate, *db = r->dx + n * 2 * r->M + r->up;
        r->g->k->mul(da, b, dy, r->M);
        if (r->act.back) r->act.back(da, da, a, r->M);
        activate(r, db, a);
        r->g->k->mul(db, db, dy, r->M);
    }
}

void rf__gate_run(rf_graph *g, rf_node *n)
{
    struct rows r = rows_of(g, n);
    r.y = n->out->f32;
    rf__spans(g, n->out->dim[0], rf__span_rows(2 * r.M), forward_span, &r);
}

void rf__gate_back(rf_graph *g, rf_node *n)
{
    struct rows r = rows_of(g, n);
    r.dy = n->out->grad;
    r.dx = rf__floats(g, rf__size(n->in[0]));
    if (!r.dx) return;
    rf__spans(g, n->out->dim[0], rf__span_rows(2 * r.M), back_span, &r);
    rf__adjoint(g, n->in[0], r.dx);
}

rf_tensor *rf__gate(rf_graph *g, rf_tensor *x, rf_act act, rf_gate_order order)
{
    rf_act_kernels known;
    RF_EXPECT(g, "gate", x, 2);
    RF_NEED(g, x->dim[1] % 2 == 0, RF_ESHAPE, "gate: x: expected an even number of columns, got %lld",
            (long long)x->dim[1]);
    RF_NEED(g, rf__act_find(g, act, &known), RF_EARG, "gate: activation: expected a known one, got %d", (int)act);
    RF_NEED(g, order == RF_GATE_FIRST || order == RF_GATE_SECOND, RF_EARG, "gate: no order %d", (int)order);
    rf_tensor *y = rf__new(g, 2, (int64_t[]){x->dim[0], x->dim[1] / 2});
    if (rf__tracked(g, RF_IN(x))) rf__needed(x);
    return rf__call(g, RF_OP(gate), y, RF_IN(x), &(struct saved){act, order}, sizeof(struct saved));
}

/* ---- of a product that is not stored; forward only ---- */

static void product_run(rf_graph *g, rf_node *n)
{
    const rf_act *act = n->saved;
    const rf_tensor *x = n->in[0], *w = n->in[1], *b = n->in[2];
    if (rf__computes(g))
        rf_packed_product(g->ctx, w->packed, x->dim[0], x->f32, x->dim[1], b ? b->f32 : NULL, *act, n->out->f32,
                          n->out->dim[1], &g->error);
}

static const rf_op gated_linear = {"gated_linear", "y = act(a) b, [a | b] = x w^T + b", product_run, NULL, 2};

rf_tensor *rf__gated_linear(rf_graph *g, rf_tensor *x, rf_tensor *w, rf_tensor *b, rf_act act, rf_gate_order order)
{
    rf_act_kernels known;
    if (!w || !w->packed || g->train) return rf__gate(g, rf__linear(g, x, w, b, RF_ACT_NONE), act, order);
    RF_EXPECT(g, "gated_linear", x, 2);
    RF_NEED(g, w->rank == 2 && w->dim[1] == x->dim[1] && w->dim[0] % 2 == 0, RF_ESHAPE,
            "gated_linear: w: expected an even number of rows of %lld, got rank %d, %lld rows of %lld",
            (long long)x->dim[1], w->rank, (long long)w->dim[0], (long long)w->dim[1]);
    RF_VECTOR(g, "gated_linear", b, w->dim[0]);
    RF_NEED(g, rf__act_find(g, act, &known), RF_EARG, "gated_linear: activation: expected a known one, got %d",
            (int)act);
    rf_tensor *y = rf__new(g, 2, (int64_t[]){x->dim[0], w->dim[0] / 2});
    return rf__call(g, &gated_linear, y, RF_IN(x, w, b), &act, sizeof act);
}
