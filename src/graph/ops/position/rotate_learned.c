/* rotate_learned.c — rotation with learned frequencies.
 *
 *     omega_i = theta_i (1 + w_i)                      w [r/2], or [N, r/2]: separate frequencies for each token
 *     y[n,p,h,:] = R(m_n omega) x[n,p,h,:]      in the first `rotated` parts of a row and the first r columns of a head
 *     dx = R(-m_n omega) dy
 *     dw_i = theta_i sum m_n (dy_1 y_0 - dy_0 y_1)     over everything that plane i rotated
 *
 * The angle is computed in double.  Planes are pairs (2i, 2i+1). */
#include <math.h>

#include "graph/graph.h"

struct saved { rf_rotate_learned_spec spec; int64_t r, D; float *cos, *sin; }; /* cos, sin [N, r/2] */

struct pass { const rfk_table *k; const struct saved *s; float dir, *y; const float *x; int64_t width; };

static void rotate(void *arg, int64_t first, int64_t last, int64_t block, int worker)
{
    (void)block, (void)worker;
    const struct pass *a = arg;
    const struct saved *s = a->s;
    const int64_t done = s->spec.rotated * s->spec.heads * s->D;
    for (int64_t n = first; n < last; n++) {
        const float *x = a->x + n * a->width;
        float *y = a->y + n * a->width;
        a->k->rope_pairs(y, x, s->cos + n * (s->r / 2), s->sin + n * (s->r / 2), a->dir,
                         s->spec.rotated * s->spec.heads, s->D, s->r);
        if (y != x) memcpy(y + done, x + done, (size_t)(a->width - done) * sizeof *y);
    }
}

struct angles { const struct saved *s; const float *w; bool each; };

static void make_angles(void *arg, int64_t first, int64_t last, int64_t block, int worker)
{
    (void)block, (void)worker;
    const struct angles *a = arg;
    const int64_t half = a->s->r / 2;
    for (int64_t n = first; n < last; n++)
        for (int64_t i = 0; i < half; i++) {
            const double w = (double)a->w[a->each ? n * half + i : i];
            const double angle = (double)a->s->spec.position[n] * a->s->spec.theta[i] * (1 + w);
            a->s->cos[n * half + i] = (float)cos(angle);
            a->s->sin[n * half + i] = (float)sin(angle);
        }
}

/* m_n theta_i sum over parts and heads of dy_1 y_0 - dy_0 y_1 */
static double slope(const struct saved *s, const float *y, const float *dy, int64_t n, int64_t i, int64_t width)
{
    double sum = 0;
    for (int64_t h = 0; h < s->spec.rotated * s->spec.heads; h++) {
        const int64_t at = n * width + h * s->D + 2 * i;
        sum += (double)dy[at + 1] * (double)y[at] - (double)dy[at] * (double)y[at + 1];
    }
    return (double)s->spec.position[n] * s->spec.theta[i] * sum;
}

struct slopes { const struct saved *s; const float *y, *dy; float *dw; int64_t N, width; bool each; };

static void add_slopes(void *arg, int64_t first, int64_t last, int64_t block, int worker)
{
    (void)block, (void)worker;
    const struct slopes *a = arg;
    const int64_t half = a->s->r / 2;
    for (int64_t j = first; j < last; j++) {
        double sum = 0;
        if (a->each) sum = slope(a->s, a->y, a->dy, j / half, j % half, a->width);
        for (int64_t n = 0; n < a->N && !a->each; n++) sum += slope(a->s, a->y, a->dy, n, j, a->width);
        a->dw[j] += (float)sum;
    }
}

void rf__rotate_learned_run(rf_graph *g, rf_node *n)
{
    const struct saved *s = n->saved;
    const rf_tensor *x = n->in[0], *w = n->in[1];
    const int64_t N = x->dim[0], width = x->dim[1];
    rf__spans(g, N, rf__span_rows(s->D), make_angles, &(struct angles){s, w->f32, w->rank == 2});
    rf__spans(g, N, rf__span_rows(width), rotate, &(struct pass){g->k, s, +1, n->out->f32, x->f32, width});
}

void rf__rotate_learned_back(rf_graph *g, rf_node *n)
{
    const struct saved *s = n->saved;
    rf_tensor *w = n->in[1];
    const int64_t N = n->out->dim[0], width = n->out->dim[1], half = s->r / 2;
    if (w->tracked) {
        float *dw = rf__adjoint_sum(g, w);
        const bool each = w->rank == 2;
        if (dw)
            rf__spans(g, each ? N * half : half, each ? 1024 : 1, add_slopes,
                      &(struct slopes){s, n->out->f32, n->out->grad, dw, N, width, each});
    }
    float *dy = rf__dy(n);
    rf__spans(g, N, rf__span_rows(width), rotate, &(struct pass){g->k, s, -1, dy, dy, width});
    rf__adjoint(g, n->in[0], dy);
}

rf_tensor *rf__rotate_learned(rf_graph *g, rf_tensor *x, rf_tensor *w, const rf_rotate_learned_spec *spec)
{
    RF_EXPECT(g, "rotate_learned", x, 2);
    RF_EXPECT(g, "rotate_learned", w, 0);
    RF_NEED(g, spec && spec->theta && spec->position && spec->parts > 0 && spec->heads > 0 && spec->rotated >= 0 &&
            spec->rotated <= spec->parts && x->dim[1] % (spec->parts * spec->heads) == 0, RF_EARG,
            "rotate_learned: columns: expected a multiple of parts times heads, got %lld", (long long)x->dim[1]);
    const int64_t N = x->dim[0], D = x->dim[1] / (spec->parts * spec->heads), half = w->dim[w->rank - 1];
    RF_NEED(g, half >= 1 && 2 * half <= D, RF_ESHAPE,
            "rotate_learned: planes: expected at least 1 and at most half a head's %lld columns, got "
            "%lld", (long long)D, (long long)half);
    RF_NEED(g, w->rank == 1 || (w->rank == 2 && w->dim[0] == N), RF_ESHAPE,
            "rotate_learned: frequencies: expected those of x's %lld tokens, got %lld", (long long)N,
            (long long)w->dim[0]);
    const bool track = rf__tracked(g, RF_IN(x, w));
    struct saved s = {.spec = *spec, .r = 2 * half, .D = D};
    rf_tensor *y = rf__like(g, x);
    s.cos = rf__values(g, (size_t)(N * half), sizeof *s.cos);
    s.sin = rf__values(g, (size_t)(N * half), sizeof *s.sin);
    s.spec.position = rf__for_back(g, track, spec->position, (size_t)N, sizeof *spec->position);
    s.spec.theta = rf__for_back(g, track, spec->theta, (size_t)half, sizeof *spec->theta);
    if (track) rf__needed(y);
    return rf__call(g, RF_OP(rotate_learned), y, RF_IN(x, w), &s, sizeof s);
}
