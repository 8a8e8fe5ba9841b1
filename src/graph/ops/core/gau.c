/* gau.c — operations around the attention of a gated attention unit.                          Hua et al. 2022, Sec. 3.1
 *
 *     x [N,2U+S] = [u | v | z]: gates and values of U columns, and S columns from which queries and keys are computed
 *
 *     rf__gau_pair     y = [c_n z_n a | c_n' z_n b]          a, b [S]; c a number for each token, c' = 1; y [N,2S]
 *     rf__gau_heads    y = [q .. q | k .. k | v | 0]         of [q | k] [N,2S]; H = U / S rounded up; y [N,3HS]
 *     rf__gau_gate     y = u * w                             of w [N,HS], whose columns beyond U are ignored; y [N,U]
 *
 * The single head of the unit has values that are wider than its queries and keys.  Attention treats it as H heads of S
 * columns with the same scores.  Each backward adds to the columns of x that its operation read. */
#include "graph/graph.h"

struct saved { int64_t U, S; const float *scale; };

/* Sizes, and the arrays of the operation: y of its result, the others of its inputs; d* in the backward pass. */
struct pass {
    const rfk_table *k;
    int64_t U, S, H;
    const float *x, *pair, *a, *b, *scale, *w, *dy;
    float *y, *dx, *d_pair, *dw;
};

static int64_t heads_of(int64_t U, int64_t S) { return (U + S - 1) / S; }

static struct pass pass_of(const rf_graph *g, const rf_node *n)
{
    const struct saved *s = n->saved;
    return (struct pass){.k = g->k, .U = s->U, .S = s->S, .H = heads_of(s->U, s->S), .scale = s->scale,
                         .y = n->out->f32, .dy = n->out->grad};
}

/* ---- queries and keys ---- */

static void pair_span(void *arg, int64_t first, int64_t last, int64_t block, int worker)
{
    (void)block, (void)worker;
    const struct pass *p = arg;
    for (int64_t n = first; n < last; n++) {
        const float *z = p->x + n * (2 * p->U + p->S) + 2 * p->U;
        float *y = p->y + n * 2 * p->S;
        p->k->mul(y, z, p->a, p->S);
        p->k->scale(y, y, p->scale[n], p->S);
        p->k->mul(y + p->S, z, p->b, p->S);
    }
}

static void pair_back_span(void *arg, int64_t first, int64_t last, int64_t block, int worker)
{
    (void)block, (void)worker;
    const struct pass *p = arg;
    for (int64_t n = first; n < last; n++) {
        float *dz = p->dx + n * (2 * p->U + p->S) + 2 * p->U;
        const float *dq = p->dy + n * 2 * p->S, *dk = dq + p->S;
        for (int64_t s = 0; s < p->S; s++) dz[s] += p->scale[n] * dq[s] * p->a[s] + dk[s] * p->b[s];
    }
}

/* da = sum_n c_n z_n dq_n, db = sum_n z_n dk_n, in the order of n. */
static void pair_weights_back(rf_graph *g, const rf_node *n, const struct pass *p)
{
    for (int i = 0; i < 2; i++) {
        if (!n->in[1 + i]->tracked) continue;
        float *d = rf__floats(g, p->S);
        if (!d) return;
        rf__zero(g, d, p->S);
        for (int64_t t = 0; t < n->out->dim[0] && rf__computes(g); t++) {
            const float *z = p->x + t * (2 * p->U + p->S) + 2 * p->U, *dy = p->dy + t * 2 * p->S + i * p->S;
            const float c = i ? 1 : p->scale[t];
            for (int64_t s = 0; s < p->S; s++) d[s] += c * z[s] * dy[s];
        }
        rf__adjoint(g, n->in[1 + i], d);
    }
}

static struct pass pair_of(const rf_graph *g, const rf_node *n)
{
    struct pass p = pass_of(g, n);
    p.x = n->in[0]->f32;
    p.a = n->in[1]->f32;
    p.b = n->in[2]->f32;
    return p;
}

void rf__gau_pair_run(rf_graph *g, rf_node *n)
{
    struct pass p = pair_of(g, n);
    rf__spans(g, n->out->dim[0], rf__span_rows(2 * p.S), pair_span, &p);
}

void rf__gau_pair_back(rf_graph *g, rf_node *n)
{
    struct pass p = pair_of(g, n);
    pair_weights_back(g, n, &p);
    if (!n->in[0]->tracked || g->error.code) return;
    p.dx = rf__adjoint_sum(g, n->in[0]);
    if (p.dx) rf__spans(g, n->out->dim[0], rf__span_rows(2 * p.S), pair_back_span, &p);
}

rf_tensor *rf__gau_pair(rf_graph *g, rf_tensor *x, rf_tensor *a, rf_tensor *b, const float scale[])
{
    RF_EXPECT(g, "gau_pair", x, 2);
    RF_EXPECT(g, "gau_pair", a, 1);
    RF_EXPECT(g, "gau_pair", b, 1);
    const int64_t N = x->dim[0], S = a->dim[0], U = (x->dim[1] - S) / 2;
    RF_NEED(g, S > 0 && U > 0 && 2 * U + S == x->dim[1] && b->dim[0] == S, RF_ESHAPE,
            "gau_pair: expected x [N,2U+S], a [S] and b [S], got [%lld,%lld], [%lld] and [%lld]", (long long)N,
            (long long)x->dim[1], (long long)S, (long long)b->dim[0]);
    RF_NEED(g, scale, RF_EARG, "gau_pair: scale: expected a number for each token, got NULL");
    rf_tensor *y = rf__new(g, 2, (int64_t[]){N, 2 * S});
    const bool track = rf__tracked(g, RF_IN(x, a, b));
    struct saved s = {U, S, rf__values_for_back(g, track, scale, N)};
    if (track) {
        rf__needed(x);
        rf__needed(a);
        rf__needed(b);
    }
    return rf__call(g, RF_OP(gau_pair), y, RF_IN(x, a, b), &s, sizeof s);
}

/* ---- heads ---- */

static void heads_span(void *arg, int64_t first, int64_t last, int64_t block, int worker)
{
    (void)block, (void)worker;
    const struct pass *p = arg;
    const int64_t S = p->S, W = p->H * S;
    for (int64_t n = first; n < last; n++) {
        float *y = p->y + n * 3 * W;
        for (int64_t h = 0; h < p->H; h++) {
            memcpy(y + h * S, p->pair + n * 2 * S, (size_t)S * sizeof *y);
            memcpy(y + W + h * S, p->pair + n * 2 * S + S, (size_t)S * sizeof *y);
        }
        memcpy(y + 2 * W, p->x + n * (2 * p->U + S) + p->U, (size_t)p->U * sizeof *y);
        memset(y + 2 * W + p->U, 0, (size_t)(W - p->U) * sizeof *y);
    }
}

static void heads_back_span(void *arg, int64_t first, int64_t last, int64_t block, int worker)
{
    (void)block, (void)worker;
    const struct pass *p = arg;
    const int64_t S = p->S, W = p->H * S;
    for (int64_t n = first; n < last; n++) {
        const float *dy = p->dy + n * 3 * W;
        for (int64_t i = 0; p->d_pair && i < 2; i++) {
            float *d = p->d_pair + n * 2 * S + i * S;
            memcpy(d, dy + i * W, (size_t)S * sizeof *d);
            for (int64_t h = 1; h < p->H; h++) p->k->add(d, d, dy + i * W + h * S, S);
        }
        float *dv = p->dx ? p->dx + n * (2 * p->U + S) + p->U : NULL;
        if (dv) p->k->add(dv, dv, dy + 2 * W, p->U);
    }
}

void rf__gau_heads_run(rf_graph *g, rf_node *n)
{
    struct pass p = pass_of(g, n);
    p.pair = n->in[0]->f32;
    p.x = n->in[1]->f32;
    rf__spans(g, n->out->dim[0], rf__span_rows(n->out->dim[1]), heads_span, &p);
}

void rf__gau_heads_back(rf_graph *g, rf_node *n)
{
    struct pass p = pass_of(g, n);
    if (n->in[0]->tracked) p.d_pair = rf__floats(g, rf__size(n->in[0]));
    if (n->in[1]->tracked) p.dx = rf__adjoint_sum(g, n->in[1]);
    if (g->error.code) return;
    rf__spans(g, n->out->dim[0], rf__span_rows(n->out->dim[1]), heads_back_span, &p);
    if (p.d_pair) rf__adjoint(g, n->in[0], p.d_pair);
}

rf_tensor *rf__gau_heads(rf_graph *g, rf_tensor *pair, rf_tensor *x)
{
    RF_EXPECT(g, "gau_heads", pair, 2);
    RF_EXPECT(g, "gau_heads", x, 2);
    const int64_t N = x->dim[0], S = pair->dim[1] / 2, U = (x->dim[1] - S) / 2;
    RF_NEED(g, S > 0 && U > 0 && pair->dim[0] == N && pair->dim[1] == 2 * S && 2 * U + S == x->dim[1], RF_ESHAPE,
            "gau_heads: expected [q | k] [N,2S] and x [N,2U+S], got [%lld,%lld] and [%lld,%lld]",
            (long long)pair->dim[0], (long long)pair->dim[1], (long long)N, (long long)x->dim[1]);
    rf_tensor *y = rf__new(g, 2, (int64_t[]){N, 3 * heads_of(U, S) * S});
    return rf__call(g, RF_OP(gau_heads), y, RF_IN(pair, x), &(struct saved){U, S, NULL}, sizeof(struct saved));
}

/* ---- the gate ---- */

static void gate_span(void *arg, int64_t first, int64_t last, int64_t block, int worker)
{
    (void)block, (void)worker;
    const struct pass *p = arg;
    for (int64_t n = first; n < last; n++)
        p->k->mul(p->y + n * p->U, p->x + n * (2 * p->U + p->S), p->w + n * p->H * p->S, p->U);
}

static void gate_back_span(void *arg, int64_t first, int64_t last, int64_t block, int worker)
{
    (void)block, (void)worker;
    const struct pass *p = arg;
    const int64_t W = p->H * p->S;
    for (int64_t n = first; n < last; n++) {
        const float *dy = p->dy + n * p->U, *u = p->x + n * (2 * p->U + p->S), *w = p->w + n * W;
        float *du = p->dx ? p->dx + n * (2 * p->U + p->S) : NULL, *dw = p->dw ? p->dw + n * W : NULL;
        for (int64_t i = 0; du && i < p->U; i++) du[i] += dy[i] * w[i];
        if (!dw) continue;
        p->k->mul(dw, dy, u, p->U);
        memset(dw + p->U, 0, (size_t)(W - p->U) * sizeof *dw);
    }
}

static struct pass gate_of(const rf_graph *g, const rf_node *n)
{
    struct pass p = pass_of(g, n);
    p.x = n->in[0]->f32;
    p.w = n->in[1]->f32;
    return p;
}

void rf__gau_gate_run(rf_graph *g, rf_node *n)
{
    struct pass p = gate_of(g, n);
    rf__spans(g, n->out->dim[0], rf__span_rows(p.U), gate_span, &p);
}

void rf__gau_gate_back(rf_graph *g, rf_node *n)
{
    struct pass p = gate_of(g, n);
    if (n->in[0]->tracked) p.dx = rf__adjoint_sum(g, n->in[0]);
    if (n->in[1]->tracked) p.dw = rf__floats(g, rf__size(n->in[1]));
    if (g->error.code) return;
    rf__spans(g, n->out->dim[0], rf__span_rows(n->in[1]->dim[1]), gate_back_span, &p);
    if (p.dw) rf__adjoint(g, n->in[1], p.dw);
}

rf_tensor *rf__gau_gate(rf_graph *g, rf_tensor *x, rf_tensor *w, int64_t S)
{
    RF_EXPECT(g, "gau_gate", x, 2);
    RF_EXPECT(g, "gau_gate", w, 2);
    const int64_t N = x->dim[0], U = (x->dim[1] - S) / 2;
    RF_NEED(g, S > 0 && U > 0 && 2 * U + S == x->dim[1] && w->dim[0] == N && w->dim[1] == heads_of(U, S) * S, RF_ESHAPE,
            "gau_gate: expected x [N,2U+%lld] and w [N,U rounded up to a multiple of %lld], got [%lld,%lld] and "
            "[%lld,%lld]", (long long)S, (long long)S, (long long)N, (long long)x->dim[1], (long long)w->dim[0],
            (long long)w->dim[1]);
    rf_tensor *y = rf__new(g, 2, (int64_t[]){N, U});
    if (rf__tracked(g, RF_IN(x, w))) {
        rf__needed(x);
        rf__needed(w);
    }
    return rf__call(g, RF_OP(gau_gate), y, RF_IN(x, w), &(struct saved){U, S, NULL}, sizeof(struct saved));
}
