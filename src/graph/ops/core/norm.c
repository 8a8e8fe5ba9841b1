/* norm.c — normalization of the sum with a residual.
 *
 *     s = dropout_p(x) + residual
 *     y = gamma (s - mean) rstd + beta                            layer;  rms: no mean;  rms_one: 1 + gamma for gamma
 *     ds = rstd (gdy - mean(gdy) - xhat mean(gdy xhat)),  gdy = gamma dy,  xhat = (s - mean) rstd
 *     dresidual = ds,   dx = dropout_p(ds)
 *     dgamma += sum_n dy xhat,   dbeta += sum_n dy
 *
 * The forward pass saves s (in x's memory if x is spent) and each row's mean and rstd.  Dropout and norm process a row
 * in one pass.  Sums over rows are formed per span and then over the spans in order, so they do not depend on the
 * number of workers. */
#include "graph/graph.h"

struct saved {
    const rfk_table *k;
    rf_norm_kind kind;
    int64_t N, C;
    const float *sum;           /* s: a tensor of its own, or x if nothing was added to it */
    const float *scale;         /* gamma, or 1 + gamma */
    float *own, *stat;
    float p, eps;
    rf_key key;
    uint64_t stream;
};

const float *rf__norm_scale(rf_graph *g, const rf_tensor *gamma, rf_norm_kind kind)
{
    if (!gamma) return NULL;
    if (kind != RF_NORM_RMS_ONE) return gamma->f32;
    const int64_t C = rf__size(gamma);
    float *scale = rf__values(g, (size_t)C, sizeof *scale);
    for (int64_t i = 0; rf__computes(g) && i < C; i++) scale[i] = 1 + gamma->f32[i];
    return scale;
}

struct forward { const struct saved *s; float *y; const float *x, *residual, *beta; };

static void norm_rows(void *arg, int64_t first, int64_t last, int64_t block, int worker)
{
    (void)block, (void)worker;
    const struct forward *f = arg;
    const struct saved *s = f->s;
    const int64_t at = first * s->C, rows = last - first;
    float *y = f->y + at;
    const float *x = f->x + at;
    if (s->p > 0) {
        s->k->dropout(y, x, rows * s->C, s->p, s->key.k, s->stream, (uint64_t)at);
        x = y;
    }
    (s->kind == RF_NORM_LAYER ? s->k->layer_norm : s->k->rms_norm)(
        y, s->own ? s->own + at : NULL, s->stat ? s->stat + 2 * first : NULL, x, f->residual ? f->residual + at : NULL,
        s->scale, f->beta, s->eps, rows, s->C);
}

struct backward { const struct saved *s; float *ds, *dx, *part; const float *dy, *gamma; };

static void back_rows(void *arg, int64_t first, int64_t last, int64_t block, int worker)
{
    (void)worker;
    const struct backward *b = arg;
    const struct saved *s = b->s;
    const int64_t at = first * s->C, rows = last - first;
    float *part = b->part ? b->part + block * 2 * s->C : NULL;
    if (part) memset(part, 0, (size_t)(2 * s->C) * sizeof *part);
    (s->kind == RF_NORM_LAYER ? s->k->layer_norm_back
                              : s->k->rms_norm_back)(b->ds + at, part, part ? part + s->C : NULL, b->dy + at,
                                                     s->sum + at, s->stat + 2 * first, b->gamma, rows, s->C);
    if (b->dx) s->k->dropout(b->dx + at, b->ds + at, rows * s->C, s->p, s->key.k, s->stream, (uint64_t)at);
}

/* At most 64 spans, which limits the memory of their partial sums. */
static int64_t back_span(int64_t N) { return rf__max64(16, (N / 64 + 15) / 16 * 16); }

/* A spent x is s or only read; a residual that was added is not needed any more. */
void rf__norm_run(rf_graph *g, rf_node *n)
{
    const struct saved *s = n->saved;
    rf_tensor *x = n->in[0], *residual = n->in[1], *beta = n->in[3];
    rf__spans(g, s->N, rf__span_rows(s->C), norm_rows,
              &(struct forward){s, n->out->f32, x->f32, residual ? residual->f32 : NULL, beta ? beta->f32 : NULL});
    if (!s->stat || !s->own) return;
    if (s->own == x->f32) x->f32 = NULL;
    if (residual && rf__spent(residual)) {
        rf__free_last(g, residual->f32, s->N * s->C);
        residual->f32 = NULL;
    }
}

void rf__norm_back(rf_graph *g, rf_node *n)
{
    const struct saved *s = n->saved;
    rf_tensor *x = n->in[0], *residual = n->in[1], *gamma = n->in[2], *beta = n->in[3];
    const int64_t N = s->N, C = s->C, each = back_span(N), spans = (N + each - 1) / each;
    float *dgamma = gamma && gamma->tracked ? rf__adjoint_sum(g, gamma) : NULL;
    float *dbeta = beta && beta->tracked ? rf__adjoint_sum(g, beta) : NULL;
    float *ds = rf__floats(g, N * C), *dx = s->p > 0 && x->tracked ? rf__floats(g, N * C) : NULL;

    const rf_mark mark = rf__scratch(g);
    float *part = dgamma || dbeta ? rf__values(g, (size_t)(spans * 2 * C), sizeof *part) : NULL;
    if (g->error.code) return;
    rf__spans(g, N, each, back_rows, &(struct backward){s, ds, dx, part, n->out->grad, s->scale});
    for (int64_t i = 0; i < spans && rf__computes(g); i++) {
        if (dgamma) g->k->add(dgamma, dgamma, part + i * 2 * C, C);
        if (dbeta) g->k->add(dbeta, dbeta, part + i * 2 * C + C, C);
    }
    rf__scratch_end(g, mark);

    rf__free_last(g, s->own, N * C);
    if (dx) rf__adjoint(g, x, dx);
    if (residual && residual->tracked) {
        if (s->p == 0) rf__adjoint_copy(g, x, ds);
        rf__adjoint(g, residual, ds);
    } else if (s->p == 0) {
        rf__adjoint(g, x, ds);
    } else {
        rf__free_last(g, ds, N * C);
    }
}

/* `joined` NULL: not requested; else nothing is recorded, and it becomes s. */
static rf_tensor *normalize(rf_graph *g, rf_tensor *x, rf_tensor *residual, double p, rf_tensor *gamma, rf_tensor *beta,
                            double eps, rf_norm_kind kind, rf_tensor **joined)
{
    RF_EXPECT(g, "norm", x, 2);
    const int64_t N = x->dim[0], C = x->dim[1];
    if (residual) RF_EXPECT(g, "norm", residual, 2);
    RF_NEED(g, !residual || (residual->dim[0] == N && residual->dim[1] == C), RF_ESHAPE,
            "norm: residual: expected the shape of x, [%lld, %lld], got [%lld, %lld]", (long long)N, (long long)C,
            (long long)residual->dim[0], (long long)residual->dim[1]);
    RF_VECTOR(g, "norm", gamma, C);
    RF_VECTOR(g, "norm", beta, C);
    RF_NEED(g, gamma || !beta, RF_EARG, "norm: beta: expected gamma with it, got none");
    RF_NEED(g, C > 0, RF_ESHAPE, "norm: x: expected at least 1 column, got 0");
    RF_NEED(g, p >= 0 && p < 1, RF_ERANGE, "norm: p: expected 0 <= p < 1, got %g", p);
    RF_NEED(g, eps >= 0 && eps < 1, RF_ERANGE, "norm: eps: expected 0 <= eps < 1, got %g", eps);
    RF_NEED(g, kind == RF_NORM_LAYER || kind == RF_NORM_RMS || kind == RF_NORM_RMS_ONE, RF_EARG,
            "norm: kind: expected a known one, got %d", (int)kind);

    const bool track = rf__tracked(g, RF_IN(x, residual, gamma, beta));
    struct saved s = {.k = g->k, .kind = kind, .N = N, .C = C, .sum = x->f32, .eps = (float)eps};
    rf_tensor *y = rf__like(g, x);
    if (g->train && p > 0) {
        s.p = (float)p;
        s.key = g->key;
        s.stream = rf__drop_stream(g);
    }
    s.scale = rf__norm_scale(g, gamma, kind);
    if (track) s.stat = rf__values(g, (size_t)N, 2 * sizeof *s.stat);
    const bool sums = track && (residual || s.p > 0);
    if (joined) s.own = (*joined = rf__like(g, x))->f32;
    if (sums) s.sum = s.own = rf__spent(x) ? x->f32 : rf__floats(g, N * C);
    else if (track) rf__needed(x);
    return rf__call(g, RF_OP(norm), y, RF_IN(x, residual, gamma, beta), &s, sizeof s);
}

rf_tensor *rf__norm(rf_graph *g, rf_tensor *x, rf_tensor *residual, double p, rf_tensor *gamma, rf_tensor *beta,
                    double eps, rf_norm_kind kind)
{
    return normalize(g, x, residual, p, gamma, beta, eps, kind, NULL);
}

rf_tensor *rf__norm_and_sum(rf_graph *g, rf_tensor *x, rf_tensor *residual, rf_tensor *gamma, rf_tensor *beta,
                            double eps, rf_norm_kind kind, rf_tensor **sum)
{
    *sum = &g->nil.t;
    if (!rf__tracked(g, RF_IN(x, residual, gamma, beta)))
        return normalize(g, x, residual, 0, gamma, beta, eps, kind, sum);
    *sum = rf__add(g, x, residual);
    return rf__norm(g, *sum, NULL, 0, gamma, beta, eps, kind);
}
