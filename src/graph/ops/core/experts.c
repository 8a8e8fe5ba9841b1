/* experts.c — a mixture of experts: several feed-forward layers, of which each token uses a few.
 *                                                                   Shazeer et al. 2017; Gale et al. 2023 (MegaBlocks)
 *
 *     p[n,:] = softmax(z[n,:])                           z [N,E]
 *     y[n,:] = b + sum_e p[n,e] f_e(x[n,:])              over the `top` experts of n with the largest z[n,e]
 *     f_e(x) = act(x u_e^T) d_e                          u_e, d_e [F,C]: rows e F to (e+1) F - 1 of u and d
 *
 *     t      = dy d_e^T,   h = act(x u_e^T)
 *     dp[n,e] = <t, h>, zero for experts that n does not use;   dz[n,e] = p[n,e] (dp[n,e] - sum_j p[n,j] dp[n,j])
 *     ds     = act'(x u_e^T) p t,   dx += ds u_e,   du_e += ds^T x,   dd_e += (p h)^T dy,   db += sum_n dy[n,:]
 *
 * The tokens of one expert are multiplied together, experts in their order, so that a token's sum has one order in
 * every batch.  Of equal z the first counts.  Buffers hold all tokens, as if one expert had them, whatever the routing
 * is.  A dry graph, which has no z, gives every token to the first `top` experts. */
#include <math.h>

#include "graph/graph.h"

struct saved {
    rf_act act;
    int64_t top;
    int32_t *row, *start;               /* the tokens of expert e: row[start[e]] to row[start[e+1]-1]                 */
    float *p;                           /* of each of them                                                            */
    float *s;                           /* x u_e^T of each of them, [N top, F]; NULL: not recorded                    */
};

/* A product of the m rows of expert e with its matrix w_e [F,C]: y = act(a w_e^T), or across y = a w_e. */
struct product { const rf_tensor *w; int64_t e, F, m; const float *a; bool across; rf_act act; float *y; };

static const uint16_t *half(const rf_graph *g, const rf_tensor *w, int64_t at)
{
    return g->products == RF_BF16 && w->bf16 ? w->bf16 + at : NULL;
}

static void multiply(rf_graph *g, const struct product *p)
{
    const int64_t C = p->w->dim[1], at = p->e * p->F * C, K = p->across ? p->F : C, M = p->across ? C : p->F;
    if (p->w->packed && !g->train) {
        g->flops += 2.0 * (double)p->m * (double)K * (double)M;
        if (rf__computes(g))
            rf_packed_product(g->ctx, rf__packed_part(p->w->packed, p->e), p->m, p->a, K, NULL, p->act, p->y, M,
                              &g->error);
        return;
    }
    rf__graph_gemm(g, &(rf_gemm_call){.m = p->m,
                                      .n = M,
                                      .k = K,
                                      .a = p->a,
                                      .lda = K,
                                      .b = p->w->f32 + at,
                                      .b16 = half(g, p->w, at),
                                      .ldb = C,
                                      .b_transposed = !p->across,
                                      .c = p->y,
                                      .ldc = M,
                                      .act = p->act,
                                      .type = g->products});
}

/* ---- routing ----------------------------------------------------------------------------------------------------- */

static void softmax(double *p, const float *z, int64_t E)
{
    double most = -INFINITY, sum = 0;
    for (int64_t e = 0; e < E; e++) most = fmax(most, (double)z[e]);
    for (int64_t e = 0; e < E; e++) sum += p[e] = exp((double)z[e] - most);
    for (int64_t e = 0; e < E; e++) p[e] /= sum;
}

/* The k-th best expert of a token, or in a dry graph the k-th. */
static int64_t best(const rf_graph *g, const float *z, int64_t E, int64_t k, const uint8_t used[])
{
    int64_t at = -1;
    if (!rf__computes(g)) return k;
    for (int64_t e = 0; e < E; e++)
        if (!used[e] && (at < 0 || z[e] > z[at])) at = e;
    return at;
}

/* Sets row, start and p.  choice [N,E]: which experts a token uses. */
static void route(rf_graph *g, const struct saved *s, const rf_tensor *z, uint8_t *choice, double *p)
{
    const int64_t N = z->dim[0], E = z->dim[1];
    memset(choice, 0, (size_t)(N * E));
    for (int64_t n = 0; n < N; n++)
        for (int64_t k = 0; k < s->top; k++) choice[n * E + best(g, z->f32 + n * E, E, k, choice + n * E)] = 1;
    int32_t at = 0;
    for (int64_t e = 0; e < E; e++) {
        s->start[e] = at;
        for (int64_t n = 0; n < N; n++)
            if (choice[n * E + e]) s->row[at++] = (int32_t)n;
    }
    s->start[E] = at;
    for (int64_t n = 0; n < N && rf__computes(g); n++) softmax(p + n * E, z->f32 + n * E, E);
    for (int64_t e = 0; e < E && rf__computes(g); e++)
        for (int32_t i = s->start[e]; i < s->start[e + 1]; i++) s->p[i] = (float)p[s->row[i] * E + e];
}

/* ---- forward ----------------------------------------------------------------------------------------------------- */

/* The rows of one expert: y[row[i],:] += p[i] x[i,:].  No row comes twice. */
struct spread { const rf_graph *g; float *y; const float *x, *p; const int32_t *row; int64_t width; };

static void spread_span(void *arg, int64_t first, int64_t last, int64_t block, int worker)
{
    (void)block, (void)worker;
    const struct spread *a = arg;
    for (int64_t i = first; i < last; i++)
        a->g->k->axpy(a->y + a->row[i] * a->width, a->p ? a->p[i] : 1, a->x + i * a->width, a->width);
}

static void spread(const rf_graph *g, float *y, const float *x, const float *p, const int32_t *row, int64_t m,
                   int64_t width)
{
    rf__spans(g, m, rf__span_rows(width), spread_span, &(struct spread){g, y, x, p, row, width});
}

static void begin(const rf_graph *g, const rf_tensor *y, const rf_tensor *bias)
{
    rf__zero(g, y->f32, rf__size(y));
    for (int64_t n = 0; bias && n < y->dim[0] && rf__computes(g); n++)
        memcpy(y->f32 + n * y->dim[1], bias->f32, (size_t)y->dim[1] * sizeof(float));
}

void rf__experts_run(rf_graph *g, rf_node *n)
{
    const struct saved *s = n->saved;
    const rf_tensor *x = n->in[0], *z = n->in[1], *up = n->in[2], *down = n->in[3];
    const int64_t N = x->dim[0], C = x->dim[1], E = z->dim[1], F = up->dim[0] / E;
    const rf_mark mark = rf__scratch(g);
    uint8_t *choice = rf__push(g, (size_t)(N * E), 1);
    double *p = rf__values(g, (size_t)(N * E), sizeof *p);
    float *a = rf__values(g, (size_t)N, (size_t)C * sizeof *a), *h = rf__values(g, (size_t)N, (size_t)F * sizeof *h),
          *f = rf__values(g, (size_t)N, (size_t)C * sizeof *f);
    if (g->error.code) return;
    route(g, s, z, choice, p);
    begin(g, n->out, n->in[4]);
    for (int64_t e = 0; e < E && !g->error.code; e++) {
        const int32_t *row = s->row + s->start[e];
        const int64_t m = s->start[e + 1] - s->start[e];
        float *kept = s->s ? s->s + s->start[e] * F : NULL;
        if (!m) continue;
        rf__gather(g, a, x->f32, row, m, C);
        multiply(g, &(struct product){up, e, F, m, a, false, kept ? RF_ACT_NONE : s->act, kept ? kept : h});
        if (kept) rf__act_forward(g, s->act, h, kept, m * F);
        multiply(g, &(struct product){down, e, F, m, h, true, RF_ACT_NONE, f});
        if (!g->error.code) spread(g, n->out->f32, f, s->p + s->start[e], row, m, C);
    }
    rf__scratch_end(g, mark);
}

/* ---- backward ---------------------------------------------------------------------------------------------------- */

/* dp[i] = <t_i, h_i>; then t_i and h_i are multiplied by p[i]. */
struct weigh { const rf_graph *g; float *t, *h, *dp; const float *p; int64_t F; };

static void weigh_span(void *arg, int64_t first, int64_t last, int64_t block, int worker)
{
    (void)block, (void)worker;
    const struct weigh *a = arg;
    for (int64_t i = first; i < last; i++) {
        float *t = a->t + i * a->F, *h = a->h + i * a->F;
        double sum = 0;
        for (int64_t j = 0; j < a->F; j++) {
            sum += (double)t[j] * (double)h[j];
            t[j] *= a->p[i];
            h[j] *= a->p[i];
        }
        a->dp[i] = (float)sum;
    }
}

/* w_e's gradient [F,C] += a^T b of m rows. */
static void learn(rf_graph *g, float *dw, int64_t e, int64_t F, int64_t C, int64_t m, const float *a, const float *b)
{
    if (!dw) return;
    rf__graph_gemm(g, &(rf_gemm_call){.m = F,
                                      .n = C,
                                      .k = m,
                                      .a = a,
                                      .lda = F,
                                      .a_transposed = 1,
                                      .b = b,
                                      .ldb = C,
                                      .beta = 1,
                                      .c = dw + e * F * C,
                                      .ldc = C,
                                      .type = g->products});
}

/* dz += p (dp - sum p dp). */
static void route_back(const struct saved *s, const rf_tensor *z, const float *dp, double *p, double *d, float *dz)
{
    const int64_t N = z->dim[0], E = z->dim[1];
    memset(d, 0, (size_t)(N * E) * sizeof *d);
    for (int64_t e = 0; e < E; e++)
        for (int32_t i = s->start[e]; i < s->start[e + 1]; i++) d[s->row[i] * E + e] = (double)dp[i];
    for (int64_t n = 0; n < N; n++, p += E, d += E, dz += E) {
        double mean = 0;
        softmax(p, z->f32 + n * E, E);
        for (int64_t e = 0; e < E; e++) mean += p[e] * d[e];
        for (int64_t e = 0; e < E; e++) dz[e] += (float)(p[e] * (d[e] - mean));
    }
}

/* Buffers of the backward pass, each for all tokens. */
struct buffers { float *dx, *dz, *du, *dd, *a, *dy, *t, *h, *dp; };

static void expert_back(rf_graph *g, const rf_node *n, int64_t e, const struct buffers *b)
{
    const struct saved *s = n->saved;
    const rf_tensor *x = n->in[0], *up = n->in[2], *down = n->in[3];
    const int32_t first = s->start[e], *row = s->row + first;
    const int64_t m = s->start[e + 1] - first, C = x->dim[1], F = up->dim[0] / n->in[1]->dim[1];
    const float *kept = s->s + first * F;
    if (!m) return;
    rf__gather(g, b->a, x->f32, row, m, C);
    rf__gather(g, b->dy, n->out->grad, row, m, C);
    rf__act_forward(g, s->act, b->h, kept, m * F);
    multiply(g, &(struct product){down, e, F, m, b->dy, false, RF_ACT_NONE, b->t});
    rf__spans(g, m, rf__span_rows(F), weigh_span, &(struct weigh){g, b->t, b->h, b->dp + first, s->p + first, F});
    learn(g, b->dd, e, F, C, m, b->h, b->dy);
    rf__act_back(g, s->act, b->t, b->t, kept, m * F);
    learn(g, b->du, e, F, C, m, b->t, b->a);
    if (!b->dx) return;
    multiply(g, &(struct product){up, e, F, m, b->t, true, RF_ACT_NONE, b->dy});
    if (!g->error.code) spread(g, b->dx, b->dy, NULL, row, m, C);
}

void rf__experts_back(rf_graph *g, rf_node *n)
{
    const struct saved *s = n->saved;
    rf_tensor *const *in = n->in;
    const int64_t N = in[0]->dim[0], C = in[0]->dim[1], E = in[1]->dim[1], F = in[2]->dim[0] / E;
    struct buffers b = {0};
    float **const sum[] = {&b.dx, &b.dz, &b.du, &b.dd};
    for (int i = 0; i < 4; i++) *sum[i] = in[i]->tracked ? rf__adjoint_sum(g, in[i]) : NULL;
    float *db = in[4] && in[4]->tracked ? rf__adjoint_sum(g, in[4]) : NULL;
    if (db) rf__column_sums(g, db, n->out->grad, N, C);
    const rf_mark mark = rf__scratch(g);
    double *p = rf__values(g, (size_t)(2 * N * E), sizeof *p);
    b.a = rf__values(g, (size_t)N, (size_t)C * sizeof *b.a);
    b.dy = rf__values(g, (size_t)N, (size_t)C * sizeof *b.dy);
    b.t = rf__values(g, (size_t)N, (size_t)F * sizeof *b.t);
    b.h = rf__values(g, (size_t)N, (size_t)F * sizeof *b.h);
    b.dp = rf__values(g, (size_t)(N * s->top), sizeof *b.dp);
    for (int64_t e = 0; e < E && !g->error.code; e++) expert_back(g, n, e, &b);
    if (b.dz && rf__computes(g)) route_back(s, in[1], b.dp, p, p + N * E, b.dz);
    if (!g->error.code) rf__scratch_end(g, mark);
}

/* ---- the call ---------------------------------------------------------------------------------------------------- */

static bool expect_matrix(rf_graph *g, const char *what, const rf_tensor *w, const rf_tensor *x, int64_t E)
{
    if (!(w && w->packed && !g->train) && !rf__expect_rank(g, "experts", what, w, 2)) return false;
    if (w->rank != 2 || w->dim[1] != x->dim[1] || w->dim[0] % E)
        rf__stop(g, RF_ESHAPE, "experts: %s: expected a multiple of %lld rows of %lld, got %lld of %lld", what,
                 (long long)E, (long long)x->dim[1], (long long)w->dim[0], (long long)w->dim[1]);
    return !g->error.code;
}

rf_tensor *rf__experts(rf_graph *g, rf_tensor *x, rf_tensor *z, int64_t top, rf_tensor *up, rf_act act,
                       rf_tensor *down, rf_tensor *bias)
{
    rf_act_kernels known;
    RF_EXPECT(g, "experts", x, 2);
    RF_EXPECT(g, "experts", z, 2);
    const int64_t N = x->dim[0], E = z->dim[1];
    RF_NEED(g, z->dim[0] == N && E > 0, RF_ESHAPE, "experts: z: expected %lld rows and a column, got %lld and %lld",
            (long long)N, (long long)z->dim[0], (long long)E);
    RF_NEED(g, top > 0 && top <= E && N <= INT32_MAX / top, RF_ERANGE,
            "experts: expected 1 to %lld of them for each of at most %d rows, got %lld for %lld", (long long)E,
            (int)INT32_MAX, (long long)top, (long long)N);
    if (!expect_matrix(g, "up", up, x, E) || !expect_matrix(g, "down", down, x, E)) return &g->nil.t;
    RF_NEED(g, up->dim[0] == down->dim[0], RF_ESHAPE, "experts: down: expected %lld rows, as in up, got %lld",
            (long long)up->dim[0], (long long)down->dim[0]);
    RF_VECTOR(g, "experts", bias, x->dim[1]);
    RF_NEED(g, rf__act_find(g, act, &known), RF_EARG, "experts: expected a known activation, got %d", (int)act);

    const bool track = rf__tracked(g, RF_IN(x, z, up, down, bias));
    rf_tensor *y = rf__like(g, x);
    struct saved s = {.act = act, .top = top};
    s.row = rf__push(g, (size_t)(N * top), sizeof *s.row);
    s.start = rf__push(g, (size_t)E + 1, sizeof *s.start);
    s.p = rf__values(g, (size_t)(N * top), sizeof *s.p);
    if (track) s.s = rf__floats(g, N * top * (up->dim[0] / E));
    if (track) rf__needed(x), rf__needed(z);
    return rf__call(g, RF_OP(experts), y, RF_IN(x, z, up, down, bias), &s, sizeof s);
}
