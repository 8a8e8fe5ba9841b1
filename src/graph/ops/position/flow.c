/* flow.c — recurrent positions: p_0 is given, p_{k+1} is computed from p_k.
 *
 *     h(p, t)     = B [tanh(A [p; t; 1]); 1]                              A [F, W+2], B [W, F+1]
 *     recursion   p_{k+1} = tanh(A [p_k; 1])                              A [W, W+1], no B
 *     Euler       p_{k+1} = p_k + s h(p_k, k s)                           FLOATER (Liu et al. 2020): dp/dt = h(p, t)
 *     Runge-Kutta p_{k+1} = p_k + s/6 (h_1 + 2 h_2 + 2 h_3 + h_4)
 *                 h_1 = h(p_k, t),                  h_2 = h(p_k + s/2 h_1, t + s/2),
 *                 h_3 = h(p_k + s/2 h_2, t + s/2),  h_4 = h(p_k + s h_3, t + s)
 *
 * The backward pass goes from the last position to the first, recomputes the stages of a step from p_k, and stores the
 * inputs of A and B, so that their gradients are one product each. */
#include "graph/graph.h"

struct saved { rf_flow_kind how; float step; };

/* One run over the positions, with space for a step. */
struct run {
    const rfk_table *k;
    const float *a, *b;
    int64_t W, F;                       /* of the state; of the hidden layer between A and B */
    rf_flow_kind how;
    float step;
    int stages;
    float *in;                          /* [stages, W+2]: inputs of A         (W+1 for the recursion)                 */
    float *mid;                         /* [stages, F+1]: inputs of B                                                 */
    float *h;                           /* [stages, W]                                                                */
};

static const struct {
    float in, t, weight;
} stage[2][4] = {{{0, 0, 1}}, {{0, 0, 1.f / 6}, {.5f, .5f, 2.f / 6}, {.5f, .5f, 2.f / 6}, {1, 1, 1.f / 6}}};

/* All stages of the step from p at position k; fills in, mid and h. */
static void stages(const struct run *r, const float *p, int64_t k)
{
    const int64_t W = r->W, F = r->F;
    if (r->how == RF_FLOW_RECURSION) {
        memcpy(r->in, p, (size_t)W * sizeof *p);
        r->in[W] = 1;
        for (int64_t i = 0; i < W; i++) r->h[i] = r->k->dot(r->a + i * (W + 1), r->in, W + 1);
        r->k->tanh(r->h, r->h, W);
        return;
    }
    for (int j = 0; j < r->stages; j++) {
        float *in = r->in + j * (W + 2), *mid = r->mid + j * (F + 1), *h = r->h + j * W;
        memcpy(in, p, (size_t)W * sizeof *p);
        if (j) r->k->axpy(in, r->step * stage[1][j].in, h - W, W);
        in[W] = r->step * ((float)k + (j ? stage[1][j].t : 0));
        in[W + 1] = 1;
        for (int64_t i = 0; i < F; i++) mid[i] = r->k->dot(r->a + i * (W + 2), in, W + 2);
        r->k->tanh(mid, mid, F);
        mid[F] = 1;
        for (int64_t i = 0; i < W; i++) h[i] = r->k->dot(r->b + i * (F + 1), mid, F + 1);
    }
}

static void forward(const struct run *r, float *p, int64_t T)
{
    for (int64_t k = 0; k + 1 < T; k++, p += r->W) {
        float *next = p + r->W;
        stages(r, p, k);
        memcpy(next, r->how == RF_FLOW_RECURSION ? r->h : p, (size_t)r->W * sizeof *p);
        for (int j = 0; j < r->stages && r->how != RF_FLOW_RECURSION; j++)
            r->k->axpy(next, r->step * stage[r->stages > 1][j].weight, r->h + j * r->W, r->W);
    }
}

/* d is dL/dp_{k+1} and becomes dL/dp_k; d_mid [stages, F] and d_h [stages, W] receive the adjoints of the outputs of A
 * and B. */
static void step_back(const struct run *r, float *d, float *d_mid, float *d_h, float *d_in)
{
    const int64_t W = r->W, F = r->F;
    if (r->how == RF_FLOW_RECURSION) {
        for (int64_t i = 0; i < W; i++) d_mid[i] = d[i] * (1 - r->h[i] * r->h[i]);
        memset(d, 0, (size_t)W * sizeof *d);
        for (int64_t i = 0; i < W; i++) r->k->axpy(d, d_mid[i], r->a + i * (W + 1), W);
        return;
    }
    for (int j = 0; j < r->stages; j++) r->k->scale(d_h + j * W, d, r->step * stage[r->stages > 1][j].weight, W);
    for (int j = r->stages - 1; j >= 0; j--) {
        const float *mid = r->mid + j * (F + 1);
        float *dm = d_mid + j * F;
        memset(dm, 0, (size_t)F * sizeof *dm);
        for (int64_t i = 0; i < W; i++) r->k->axpy(dm, d_h[j * W + i], r->b + i * (F + 1), F);
        for (int64_t i = 0; i < F; i++) dm[i] *= 1 - mid[i] * mid[i];
        memset(d_in, 0, (size_t)W * sizeof *d_in);
        for (int64_t i = 0; i < F; i++) r->k->axpy(d_in, dm[i], r->a + i * (W + 2), W);
        r->k->add(d, d, d_in, W);
        if (j) r->k->axpy(d_h + (j - 1) * W, r->step * stage[1][j].in, d_in, W);
    }
}

static int64_t width_in(const struct run *r) { return r->how == RF_FLOW_RECURSION ? r->W + 1 : r->W + 2; }

static struct run begin(const rf_graph *g, const struct saved *s, rf_tensor *const in[])
{
    const bool recursion = s->how == RF_FLOW_RECURSION;
    return (struct run){.k = g->k,
                        .a = in[1]->f32,
                        .b = recursion ? NULL : in[2]->f32,
                        .W = in[0]->dim[0],
                        .F = in[1]->dim[0],
                        .how = s->how,
                        .step = s->step,
                        .stages = s->how == RF_FLOW_RUNGE_KUTTA ? 4 : 1};
}

void rf__flow_run(rf_graph *g, rf_node *n)
{
    const rf_tensor *p0 = n->in[0], *y = n->out;
    struct run r = begin(g, n->saved, n->in);
    const rf_mark mark = rf__scratch(g);
    r.in = rf__values(g, (size_t)(r.stages * (2 * r.W + r.F + 3)), sizeof *r.in);
    const double width = (double)r.W, inner = (double)r.F, first = width * (width + 1), both = 2 * width * inner;
    g->flops += 2 * (double)(y->dim[0] - 1) * (double)r.stages * (r.how == RF_FLOW_RECURSION ? first : both);
    if (rf__computes(g)) {
        r.mid = r.in + r.stages * (r.W + 2);
        r.h = r.mid + r.stages * (r.F + 1);
        memcpy(y->f32, p0->f32, (size_t)r.W * sizeof *y->f32);
        forward(&r, y->f32, y->dim[0]);
    }
    rf__scratch_end(g, mark);
}

struct adjoint { float *d, beta; };      /* d NULL: not requested */

/* Before the scratch mark: the adjoint of a computed input has to outlive it. */
static struct adjoint adjoint_of(rf_graph *g, rf_tensor *x)
{
    struct adjoint a = {NULL, 0};
    if (x && x->tracked) a.d = rf__adjoint_here(g, x, &a.beta);
    return a;
}

/* dX += dy^T x over all steps and stages */
static void gradient(rf_graph *g, const struct adjoint *x, const float *dy, int64_t m, const float *saw, int64_t n,
                     int64_t steps)
{
    if (!x->d) return;
    if (!steps && x->beta == 0) rf__zero(g, x->d, m * n);
    if (steps)
        rf__graph_gemm(g, &(rf_gemm_call){.m = m,
                                          .n = n,
                                          .k = steps,
                                          .a = dy,
                                          .lda = m,
                                          .a_transposed = 1,
                                          .b = saw,
                                          .ldb = n,
                                          .beta = x->beta,
                                          .c = x->d,
                                          .ldc = n});
}

void rf__flow_back(rf_graph *g, rf_node *n)
{
    const struct saved *s = n->saved;
    struct run r = begin(g, s, n->in);
    const int64_t T = n->out->dim[0], W = r.W, F = r.F, S = (T - 1) * r.stages, I = width_in(&r);
    float *d = rf__floats(g, W);
    const struct adjoint da = adjoint_of(g, n->in[1]), db = adjoint_of(g, n->in[2]);
    const rf_mark mark = rf__scratch(g);
    float *in = rf__values(g, (size_t)(S * I), sizeof *in), *mid = rf__values(g, (size_t)(S * (F + 1)), sizeof *mid);
    float *h = rf__values(g, (size_t)(r.stages * W), sizeof *h), *d_in = rf__values(g, (size_t)W, sizeof *d_in);
    float *d_mid = rf__values(g, (size_t)(S * F), sizeof *d_mid), *d_h = rf__values(g, (size_t)(S * W), sizeof *d_h);
    if (g->error.code) return;
    const float *dy = n->out->grad, *p = n->out->f32;
    rf__copy_into(g, d, dy + (T - 1) * W, W);
    r.h = h;
    for (int64_t k = T - 2; k >= 0 && rf__computes(g); k--) {
        r.in = in + k * r.stages * I;
        r.mid = mid + k * r.stages * (F + 1);
        stages(&r, p + k * W, k);
        step_back(&r, d, d_mid + k * r.stages * F, d_h + k * r.stages * W, d_in);
        g->k->add(d, d, dy + k * W, W);
    }
    gradient(g, &da, d_mid, F, in, I, S);
    gradient(g, &db, d_h, W, mid, F + 1, S);
    rf__scratch_end(g, mark);
    rf__adjoint(g, n->in[0], d);
}

rf_tensor *rf__flow(rf_graph *g, rf_flow_kind how, double step, rf_tensor *p0, rf_tensor *a, rf_tensor *b, int64_t T)
{
    const bool recursion = how == RF_FLOW_RECURSION;
    RF_EXPECT(g, "flow", p0, 1);
    RF_EXPECT(g, "flow", a, 2);
    if (!recursion) RF_EXPECT(g, "flow", b, 2);
    const int64_t W = p0->dim[0], F = a->dim[0];
    RF_NEED(
        g, recursion ? F == W && a->dim[1] == W + 1 && !b : a->dim[1] == W + 2 && b->dim[0] == W && b->dim[1] == F + 1,
        RF_ESHAPE, "flow: expected a shape that fits p_0, got a [%lld,%lld] and p_0 of %lld elements", (long long)F,
        (long long)a->dim[1], (long long)W);
    RF_NEED(g, T >= 1 && T <= 1 << 20, RF_ERANGE, "flow: positions: expected 1 to 1048576, got %lld", (long long)T);
    struct saved s = {how, (float)step};
    rf_tensor *y = rf__new(g, 2, (int64_t[]){T, W});
    if (rf__tracked(g, RF_IN(p0, a, b))) rf__needed(y);
    return rf__call(g, RF_OP(flow), y, RF_IN(p0, a, b), &s, sizeof s);
}
