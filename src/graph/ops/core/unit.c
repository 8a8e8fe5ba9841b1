/* unit.c — normalizes the first columns of a row to length 1.
 *
 *     y[n,c] = x[n,c] / |x[n,:W]|,                c < W             RF_ENUMERIC for a row of zeros
 *     dx     = (dy - <dy, y> y) / |x[n,:W]|,      0 for c >= W */
#include <math.h>

#include "graph/graph.h"

struct saved { double *length; };
struct pass { const struct saved *s; const rf_tensor *x; float *y; const float *dy; int64_t C, W; };

static double dot(const float *a, const float *b, int64_t n)
{
    double sum = 0;
    for (int64_t i = 0; i < n; i++) sum += (double)a[i] * (double)b[i];
    return sum;
}

static void forward(void *arg, int64_t first, int64_t last, int64_t block, int worker)
{
    (void)block, (void)worker;
    const struct pass *a = arg;
    for (int64_t n = first; n < last; n++) {
        const float *x = a->x->f32 + n * a->C;
        const double length = a->s->length[n] = sqrt(dot(x, x, a->W));
        for (int64_t c = 0; c < a->W; c++) a->y[n * a->W + c] = (float)((double)x[c] / length);
    }
}

static void back(void *arg, int64_t first, int64_t last, int64_t block, int worker)
{
    (void)block, (void)worker;
    const struct pass *a = arg;
    for (int64_t n = first; n < last; n++) {
        const float *x = a->x->f32 + n * a->C, *dy = a->dy + n * a->W;
        const double length = a->s->length[n], along = dot(dy, x, a->W) / (length * length);
        float *dx = a->y + n * a->C;
        for (int64_t c = 0; c < a->C; c++)
            dx[c] = c < a->W ? (float)(((double)dy[c] - along * (double)x[c]) / length) : 0;
    }
}

void rf__unit_run(rf_graph *g, rf_node *n)
{
    const struct saved *s = n->saved;
    const rf_tensor *x = n->in[0];
    const int64_t N = x->dim[0], C = x->dim[1], W = n->out->dim[1];
    rf__spans(g, N, rf__span_rows(C), forward, &(struct pass){s, x, n->out->f32, NULL, C, W});
    for (int64_t i = 0; i < N && rf__computes(g); i++)
        if (!(s->length[i] > 0 && isfinite(s->length[i])))
            rf__stop(g, RF_ENUMERIC, "unit: row %lld: expected a finite length above 0, got %g", (long long)i,
                     s->length[i]);
}

void rf__unit_back(rf_graph *g, rf_node *n)
{
    const rf_tensor *x = n->in[0];
    float *dx = rf__floats(g, rf__size(x));
    if (!dx) return;
    rf__spans(g, x->dim[0], rf__span_rows(x->dim[1]), back,
              &(struct pass){n->saved, x, dx, n->out->grad, x->dim[1], n->out->dim[1]});
    rf__adjoint(g, n->in[0], dx);
}

rf_tensor *rf__unit(rf_graph *g, rf_tensor *x, int64_t width)
{
    RF_EXPECT(g, "unit", x, 2);
    const int64_t N = x->dim[0], C = x->dim[1], W = width ? width : C;
    RF_NEED(g, W > 0 && W <= C, RF_ESHAPE, "unit: expected the first 1 to %lld columns, got %lld", (long long)C,
            (long long)W);
    rf_tensor *y = rf__new(g, 2, (int64_t[]){N, W});
    struct saved s = {rf__values(g, (size_t)N, sizeof *s.length)};
    if (rf__tracked(g, RF_IN(x))) rf__needed(x);
    return rf__call(g, RF_OP(unit), y, RF_IN(x), &s, sizeof s);
}
