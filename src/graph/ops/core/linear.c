/* linear.c — product with a weight matrix.
 *
 *     z  = x w^T + b,   y = act(z)                     x [N,K], w [M,K], b [M]
 *     dz = act'(z) dy
 *     dx = dz w,   dw += dz^T x,   db += sum_n dz[n,:]
 *
 * Without recording, bias and activation are applied when the product is stored.  With recording, z is kept, in the
 * memory that the adjoint needs later, and dz overwrites dy.  If x is act(z) of another linear and spent, x is not kept
 * but recomputed from that z.
 *
 * If only rows [first, first + count) of w are used, they replace w in the equations.
 *
 * In bf16 the three products round x, w and dz to bf16.  z is rounded once and kept as bf16, and y is computed from the
 * rounded z. */
#include "graph/graph.h"
#include "kernel/gemm/products.h"

struct saved {
    rf_act act;
    int64_t first;                      /* the rows of w that compute y: as many as y has columns */
    float *z;                           /* f32 */
    uint16_t *z16;                      /* bf16, in a buffer of halves(n) floats */
    const struct saved *maker;          /* of the linear that computed x, if x is to be recomputed */
    bool keep;                          /* the backward pass will follow */
};

static int64_t halves(int64_t n) { return (n + 1) / 2; }

static const uint16_t *half(const rf_graph *g, const rf_tensor *w, int64_t first)
{
    return g->products == RF_BF16 && w->bf16 ? w->bf16 + first * w->dim[1] : NULL;
}

/* ---- backward ---- */

static void act_back(rf_graph *g, const struct saved *s, float *dz, int64_t n)
{
    if (s->z) {
        rf__act_back(g, s->act, dz, dz, s->z, n);
        rf__free_last(g, s->z, n);
    }
    if (s->z16) {
        rf__act_back_bf16(g, s->act, dz, s->z16, n);
        rf__free_last(g, (float *)(void *)s->z16, halves(n));
    }
}

/* x's values: stored, or recomputed in a buffer that must be returned. */
static const float *values(rf_graph *g, const struct saved *s, const rf_tensor *x, float **again)
{
    const struct saved *m = s->maker;
    const int64_t n = rf__size(x);
    *again = m ? rf__floats(g, n) : NULL;
    if (!*again) return x->f32;
    if (m->z16) rf__act_again(g, m->act, *again, m->z16, n);
    else rf__act_forward(g, m->act, *again, m->z, n);
    return *again;
}

void rf__linear_back(rf_graph *g, rf_node *n)
{
    const struct saved *s = n->saved;
    rf_tensor *x = n->in[0], *w = n->in[1], *b = n->in[2];
    const int64_t N = x->dim[0], K = x->dim[1], M = n->out->dim[1], first = s->first;
    float *dz = n->out->grad, beta = 1;

    act_back(g, s, dz, N * M);
    if (w->tracked) {
        float *again, *dw = M < w->dim[0] ? rf__adjoint_sum(g, w) : rf__adjoint_here(g, w, &beta);
        const float *was = values(g, s, x, &again);
        rf__graph_gemm(g, &(rf_gemm_call){.m = M,
                                          .n = K,
                                          .k = N,
                                          .a = dz,
                                          .lda = M,
                                          .a_transposed = 1,
                                          .b = was,
                                          .ldb = K,
                                          .beta = beta,
                                          .c = dw ? dw + first * K : NULL,
                                          .ldc = K,
                                          .type = g->products});
        rf__free_last(g, again, N * K);
    }
    if (b && b->tracked) {
        float *db = rf__adjoint_sum(g, b);
        if (db) rf__column_sums(g, db + first, dz, N, M);
    }
    if (x->tracked) {
        float *dx = rf__adjoint_here(g, x, &beta);
        rf__graph_gemm(g, &(rf_gemm_call){.m = N,
                                          .n = K,
                                          .k = M,
                                          .a = dz,
                                          .lda = M,
                                          .b = w->f32 + first * K,
                                          .b16 = half(g, w, first),
                                          .ldb = K,
                                          .beta = beta,
                                          .c = dx,
                                          .ldc = K,
                                          .type = g->products});
    }
}

/* ---- forward ---- */

typedef struct part { int64_t first, count; } part;        /* rows of w */

/* A product with packed rows computes all of them; the requested ones are copied. */
static void packed_part(rf_graph *g, const rf_tensor *x, const rf_tensor *w, const rf_tensor *b, rf_act act,
                        const part *p, float *y)
{
    const int64_t N = x->dim[0], all = w->dim[0];
    const rf_mark mark = rf__scratch(g);
    float *whole = p->count < all ? rf__values(g, (size_t)N, (size_t)all * sizeof *whole) : y;
    g->flops += 2.0 * (double)N * (double)all * (double)x->dim[1];
    if (!rf__computes(g)) return;
    rf_packed_product(g->ctx, w->packed, N, x->f32, x->dim[1], b ? b->f32 : NULL, act, whole, all, &g->error);
    if (whole == y) return;
    for (int64_t n = 0; n < N; n++) memcpy(y + n * p->count, whole + n * all + p->first, (size_t)p->count * sizeof *y);
    rf__scratch_end(g, mark);
}

static void product(rf_graph *g, const rf_tensor *x, const rf_tensor *w, const rf_tensor *b, rf_act act, const part *p,
                    float *y)
{
    const int64_t N = x->dim[0], K = x->dim[1];
    if (w->packed && !g->train)
        packed_part(g, x, w, b, act, p, y);
    else
        rf__graph_gemm(g, &(rf_gemm_call){.m = N,
                                          .n = p->count,
                                          .k = K,
                                          .a = x->f32,
                                          .lda = K,
                                          .b = w->f32 + p->first * K,
                                          .b16 = half(g, w, p->first),
                                          .ldb = K,
                                          .b_transposed = 1,
                                          .c = y,
                                          .ldc = p->count,
                                          .bias = b ? b->f32 + p->first : NULL,
                                          .act = act,
                                          .type = g->products});
}

/* The product and then the activation; z is stored if `s` has space for it. */
static void product_and_act(rf_graph *g, const rf_tensor *x, const rf_tensor *w, const rf_tensor *b, rf_act act,
                            const part *p, float *y, const struct saved *s)
{
    const int64_t n = x->dim[0] * p->count;
    product(g, x, w, b, RF_ACT_NONE, p, s->z ? s->z : y);
    if (g->error.code) return;
    if (g->products == RF_BF16) rf__act_round(g, act, s->z16, y, n);
    else rf__act_forward(g, act, y, s->z ? s->z : y, n);
}

/* x is spent, and the newest node, a linear, can recompute it: its values return to the pool. */
static const struct saved *drop(rf_graph *g, rf_tensor *x)
{
    const rf_node *made = g->last;
    const struct saved *s = made && made->out == x && made->op == RF_OP(linear) ? made->saved : NULL;
    if (!s || !rf__spent(x) || !(s->z || s->z16)) return NULL;
    rf__free_last(g, x->f32, rf__size(x));
    x->f32 = NULL;
    return s;
}

void rf__linear_run(rf_graph *g, rf_node *n)
{
    struct saved *s = n->saved;
    rf_tensor *x = n->in[0], *w = n->in[1], *b = n->in[2], *y = n->out;
    const part p = {s->first, y->dim[1]};
    if (g->train && s->act) product_and_act(g, x, w, b, s->act, &p, y->f32, s);
    else product(g, x, w, b, s->act, &p, y->f32);
    if (g->error.code || !s->keep) return;
    s->maker = drop(g, x);
    if (!s->maker) rf__needed(x);
}

rf_tensor *rf__linear(rf_graph *g, rf_tensor *x, rf_tensor *w, rf_tensor *b, rf_act act)
{
    if (g->error.code) return &g->nil.t;                /* w may be of an earlier step, which was reset */
    return rf__linear_part(g, x, w, b, 0, w && w->rank == 2 ? w->dim[0] : 0, act);
}

rf_tensor *rf__linear_part(rf_graph *g, rf_tensor *x, rf_tensor *w, rf_tensor *b, int64_t first, int64_t count,
                           rf_act act)
{
    rf_act_kernels known;
    RF_EXPECT(g, "linear", x, 2);
    if (!w || !w->packed || g->train) RF_EXPECT(g, "linear", w, 2);
    RF_NEED(g, w->rank == 2, RF_ESHAPE, "linear: w: expected rank 2, got %d", w->rank);
    RF_NEED(g, x->dim[1] == w->dim[1], RF_ESHAPE, "linear: x: expected %lld columns, as in w, got %lld",
            (long long)w->dim[1], (long long)x->dim[1]);
    RF_VECTOR(g, "linear", b, w->dim[0]);
    RF_NEED(g, first >= 0 && count >= 0 && first <= w->dim[0] && count <= w->dim[0] - first, RF_ERANGE,
            "linear: expected rows within w's %lld, got %lld from row %lld on", (long long)w->dim[0], (long long)count,
            (long long)first);
    RF_NEED(g, rf__act_find(g, act, &known), RF_EARG, "linear: expected a known activation, got %d", (int)act);

    const bool track = rf__tracked(g, RF_IN(x, w, b)), bf16 = g->products == RF_BF16;
    const int64_t N = x->dim[0], M = count;
    rf_tensor *y = rf__new(g, 2, (int64_t[]){N, M});
    struct saved s = {.act = act, .first = first, .keep = track};
    if (track && act && bf16) s.z16 = (uint16_t *)(void *)rf__floats(g, halves(N * M));
    if (track && act && !bf16) s.z = rf__floats(g, N * M);
    return rf__call(g, RF_OP(linear), y, RF_IN(x, w, b), &s, sizeof s);
}

/* ---- two products of which the result of the first is not stored whole; forward only ---- */

struct pair { rf_act act; int64_t blocks; };

static void pair_run(rf_graph *g, rf_node *n)
{
    const struct pair *s = n->saved;
    const rf_tensor *x = n->in[0], *up = n->in[1], *up_bias = n->in[2], *down = n->in[3], *down_bias = n->in[4];
    const rf__pair both = {up->packed, down->packed, x->dim[0], x->f32, x->dim[1], up_bias ? up_bias->f32 : NULL,
                           s->act, down_bias ? down_bias->f32 : NULL, n->out->f32, n->out->dim[1]};
    g->flops += 2.0 * (double)x->dim[0] * (double)(up->dim[0] * up->dim[1] + down->dim[0] * down->dim[1]);
    if (rf__computes(g)) rf__packed_pair(g->ctx, &both, s->blocks, &g->error);
}

static const rf_op feed_forward = {"feed_forward", "y = act(x u^T + a) d^T + b", pair_run, NULL, 0};

rf_tensor *rf__feed_forward(rf_graph *g, rf_tensor *x, rf_tensor *up, rf_tensor *up_bias, rf_act act, rf_tensor *down,
                            rf_tensor *down_bias)
{
    if (g->error.code || g->train || !up || !down || !up->packed || !down->packed || x->rank != 2 || !x->f32 ||
        rf__tracked(g, RF_IN(x, up, up_bias, down, down_bias)))
        return NULL;
    if (up->dim[1] != x->dim[1] || (up_bias && up_bias->dim[0] != up->dim[0]) ||
        (down_bias && down_bias->dim[0] != down->dim[0]))
        return NULL;                                    /* rf__linear reports it */
    struct pair s = {act, rf__packed_pairs(g->ctx, up->packed, down->packed, x->dim[0])};
    if (!s.blocks) return NULL;
    rf_tensor *y = rf__new(g, 2, (int64_t[]){x->dim[0], down->dim[0]});
    return rf__call(g, &feed_forward, y, RF_IN(x, up, up_bias, down, down_bias), &s, sizeof s);
}
