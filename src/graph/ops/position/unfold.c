/* unfold.c — concatenates the neighbors of each token, so that a convolution is one matrix product.
 *
 *     y[n, j W + c]       = x[n + j - r, c]      r tokens before and s after: j in [0, r+s+1),
 *                                                zero where n + j - r is not in n's own sequence
 *     dx[n + j - r, c]   += dy[n, j W + c] */
#include "graph/graph.h"

struct saved { const int32_t *start; int64_t B, before, after; };
struct pass { const rfk_table *k; const struct saved *s; float *y; const float *x; int64_t width; };

/* The sequence of token n. */
static int64_t sequence_of(const struct saved *s, int64_t n)
{
    int64_t low = 0, high = s->B - 1;
    while (low < high) {
        const int64_t middle = (low + high + 1) / 2;
        if (s->start[middle] <= n) low = middle;
        else high = middle - 1;
    }
    return low;
}

static void gather(void *arg, int64_t first, int64_t last, int64_t block, int worker)
{
    (void)block, (void)worker;
    const struct pass *a = arg;
    const int64_t r = a->s->before, s = a->s->after, W = a->width;
    for (int64_t n = first; n < last; n++) {
        const int64_t b = sequence_of(a->s, n);
        for (int64_t j = -r; j <= s; j++) {
            float *y = a->y + (n * (r + s + 1) + j + r) * W;
            if (n + j >= a->s->start[b] && n + j < a->s->start[b + 1])
                memcpy(y, a->x + (n + j) * W, (size_t)W * sizeof *y);
            else memset(y, 0, (size_t)W * sizeof *y);
        }
    }
}

/* Token n sums over the windows that contain it. */
static void collect(void *arg, int64_t first, int64_t last, int64_t block, int worker)
{
    (void)block, (void)worker;
    const struct pass *a = arg;
    const int64_t r = a->s->before, s = a->s->after, W = a->width;
    for (int64_t n = first; n < last; n++) {
        const int64_t b = sequence_of(a->s, n);
        float *dx = a->y + n * W;
        memset(dx, 0, (size_t)W * sizeof *dx);
        for (int64_t j = -r; j <= s; j++)
            if (n - j >= a->s->start[b] && n - j < a->s->start[b + 1])
                a->k->add(dx, dx, a->x + ((n - j) * (r + s + 1) + j + r) * W, W);
    }
}

void rf__unfold_run(rf_graph *g, rf_node *n)
{
    const rf_tensor *x = n->in[0];
    rf__spans(g, x->dim[0], rf__span_rows(n->out->dim[1]), gather,
              &(struct pass){g->k, n->saved, n->out->f32, x->f32, x->dim[1]});
}

void rf__unfold_back(rf_graph *g, rf_node *n)
{
    const int64_t N = n->in[0]->dim[0], W = n->in[0]->dim[1];
    float *dx = rf__floats(g, N * W);
    if (!dx) return;
    rf__spans(g, N, rf__span_rows(W), collect, &(struct pass){g->k, n->saved, dx, n->out->grad, W});
    rf__adjoint(g, n->in[0], dx);
}

rf_tensor *rf__unfold(rf_graph *g, rf_tensor *x, int64_t before, int64_t after, const int32_t start[], int64_t B)
{
    RF_EXPECT(g, "unfold", x, 2);
    RF_NEED(g, before >= 0 && before <= 1 << 16 && after >= 0 && after <= 1 << 16, RF_ERANGE,
            "unfold: before, after: expected 0 to 65536 tokens, got %lld and %lld", (long long)before,
            (long long)after);
    RF_STARTS(g, "unfold", start, B, x->dim[0], 0);
    struct saved s = {NULL, B, before, after};
    rf_tensor *y = rf__new(g, 2, (int64_t[]){x->dim[0], x->dim[1] * (before + after + 1)});
    s.start = rf__for_back(g, rf__tracked(g, RF_IN(x)), start, (size_t)B + 1, sizeof *start);
    return rf__call(g, RF_OP(unfold), y, RF_IN(x), &s, sizeof s);
}
