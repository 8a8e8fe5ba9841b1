/* recur.c — a recurrent layer over each sequence.
 *
 *     y_n  = tanh(z_n + U y_{n-1})                        y before a sequence's first token is 0
 *     dz_n = (dy_n + U^T dz_{n+1}) (1 - y_n^2),   dU = sum_n dz_n y_{n-1}^T
 *
 * Sequences are processed in parallel, the tokens of one sequence one after another. */
#include "graph/graph.h"

struct saved { const int32_t *start; int64_t B; };
struct pass { const rfk_table *k; const int32_t *start; int64_t W; const float *u, *z, *dy; float *y, *dz, *before; };

static void forward(void *arg, int64_t b, int worker)
{
    (void)worker;
    const struct pass *a = arg;
    const int64_t W = a->W;
    for (int64_t n = a->start[b]; n < a->start[b + 1]; n++) {
        float *y = a->y + n * W;
        memcpy(y, a->z + n * W, (size_t)W * sizeof *y);
        for (int64_t i = 0; i < W && n > a->start[b]; i++) y[i] += a->k->dot(a->u + i * W, y - W, W);
        a->k->tanh(y, y, W);
    }
}

static void back(void *arg, int64_t b, int worker)
{
    (void)worker;
    const struct pass *a = arg;
    const int64_t W = a->W, first = a->start[b], last = a->start[b + 1];
    for (int64_t n = last - 1; n >= first; n--) {
        float *dz = a->dz + n * W, *before = a->before + n * W;
        const float *y = a->y + n * W;
        memcpy(dz, a->dy + n * W, (size_t)W * sizeof *dz);
        for (int64_t i = 0; i < W && n + 1 < last; i++) a->k->axpy(dz, dz[W + i], a->u + i * W, W);
        for (int64_t i = 0; i < W; i++) dz[i] *= 1 - y[i] * y[i];
        if (n > first) memcpy(before, y - W, (size_t)W * sizeof *before);
        else memset(before, 0, (size_t)W * sizeof *before);
    }
}

void rf__recur_run(rf_graph *g, rf_node *n)
{
    const struct saved *s = n->saved;
    const rf_tensor *z = n->in[0], *u = n->in[1];
    g->flops += 2 * (double)z->dim[0] * (double)z->dim[1] * (double)z->dim[1];
    rf__each(g, s->B, forward,
             &(struct pass){.k = g->k, .start = s->start, .W = z->dim[1], .u = u->f32, .z = z->f32,
                            .y = n->out->f32});
}

void rf__recur_back(rf_graph *g, rf_node *n)
{
    const struct saved *s = n->saved;
    rf_tensor *z = n->in[0], *u = n->in[1];
    const int64_t N = z->dim[0], W = z->dim[1];
    float *dz = rf__floats(g, N * W), *before = rf__floats(g, N * W), beta;
    if (!dz || !before) return;
    rf__each(g, s->B, back,
             &(struct pass){.k = g->k, .start = s->start, .W = W, .u = u->f32, .dy = n->out->grad, .y = n->out->f32,
                            .dz = dz, .before = before});
    if (u->tracked) {
        float *du = rf__adjoint_here(g, u, &beta);
        if (du)
            rf__graph_gemm(g, &(rf_gemm_call){.m = W,
                                              .n = W,
                                              .k = N,
                                              .a = dz,
                                              .lda = W,
                                              .a_transposed = 1,
                                              .b = before,
                                              .ldb = W,
                                              .beta = beta,
                                              .c = du,
                                              .ldc = W});
    }
    rf__free_last(g, before, N * W);
    rf__adjoint(g, z, dz);
}

rf_tensor *rf__recur(rf_graph *g, rf_tensor *z, rf_tensor *u, const int32_t start[], int64_t B)
{
    RF_EXPECT(g, "recur", z, 2);
    RF_EXPECT(g, "recur", u, 2);
    RF_NEED(g, u->dim[0] == z->dim[1] && u->dim[1] == z->dim[1], RF_ESHAPE,
            "recur: u: expected rows and columns as z has columns, %lld, got [%lld,%lld]", (long long)z->dim[1],
            (long long)u->dim[0], (long long)u->dim[1]);
    RF_STARTS(g, "recur", start, B, z->dim[0], 0);
    const bool track = rf__tracked(g, RF_IN(z, u));
    rf_tensor *y = rf__like(g, z);
    struct saved s = {rf__for_back(g, track, start, (size_t)B + 1, sizeof *start), B};
    if (track) rf__needed(y);
    return rf__call(g, RF_OP(recur), y, RF_IN(z, u), &s, sizeof s);
}
