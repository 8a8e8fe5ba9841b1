/* rotate.c — rotary position embedding as a separate operation.
 *
 *     y[n,h,:] = R(row[n]) x[n,h,:]                   RoFormer, Eqs. 14-15, computed as Eq. 34
 *     dx       = R(-row[n]) dy                        because R is orthogonal: R^T = R^-1
 *
 * Only the rows are saved: the adjoint of a rotation needs no activations. */
#include "graph/graph.h"

struct saved { const rf_rope *rope; const int32_t *row; int64_t H, D; };
struct pass { const rfk_table *k; const struct saved *s; float dir, *y; const float *x; };

static void rotate(void *arg, int64_t first, int64_t last, int64_t block, int worker)
{
    (void)block, (void)worker;
    const struct pass *a = arg;
    const struct saved *s = a->s;
    const rf_rope_spec *spec = rf_rope_spec_of(s->rope);
    const int64_t width = s->H * s->D, planes = spec->rotary / 2;
    for (int64_t n = first; n < last; n++) {
        const int64_t at = s->row[n] * planes;
        (spec->layout == RF_ROPE_PAIRS ? a->k->rope_pairs : a->k->rope_halves)(
            a->y + n * width, a->x + n * width, rf_rope_cos(s->rope) + at, rf_rope_sin(s->rope) + at, a->dir, s->H,
            s->D, spec->rotary);
    }
}

void rf__rotate_run(rf_graph *g, rf_node *n)
{
    const struct saved *s = n->saved;
    rf__spans(g, n->out->dim[0], rf__span_rows(s->H * s->D), rotate,
              &(struct pass){g->k, s, +1, n->out->f32, n->in[0]->f32});
}

void rf__rotate_back(rf_graph *g, rf_node *n)
{
    const struct saved *s = n->saved;
    float *dy = rf__dy(n);
    rf__spans(g, n->out->dim[0], rf__span_rows(s->H * s->D), rotate, &(struct pass){g->k, s, -1, dy, dy});
    rf__adjoint(g, n->in[0], dy);
}

rf_tensor *rf__rotate(rf_graph *g, const rf_rope *rope, rf_tensor *x, int64_t heads, const int32_t row[])
{
    RF_EXPECT(g, "rotate", x, 0);
    RF_NEED(g, rope && row, RF_EARG, "rotate: expected rope and row, got NULL");
    RF_NEED(g, x->rank == 2 || x->rank == 3, RF_ESHAPE, "rotate: x: expected rank 2 or 3, got %d", x->rank);
    RF_NEED(g, heads > 0 && (x->rank == 3 ? x->dim[1] == heads : x->dim[1] % heads == 0), RF_ESHAPE,
            "rotate: heads: expected a divisor of the columns of x [%lld, %lld ...], got %lld", (long long)x->dim[0],
            (long long)x->dim[1], (long long)heads);
    const int64_t D = x->rank == 3 ? x->dim[2] : x->dim[1] / heads, r = rf_rope_spec_of(rope)->rotary;
    RF_NEED(g, r <= D, RF_ESHAPE, "rotate: expected heads of at least the rotated %lld columns, got %lld", (long long)r,
            (long long)D);
    for (int64_t n = 0; n < x->dim[0]; n++)
        RF_NEED(g, row[n] >= 0 && row[n] < rf_rope_rows(rope), RF_ERANGE,
                "rotate: token %lld: expected a row from 0 to below the table's %lld, got %d", (long long)n,
                (long long)rf_rope_rows(rope), (int)row[n]);

    rf_tensor *y = rf__like(g, x);
    struct saved s = {rope, NULL, heads, D};
    s.row = rf__for_back(g, rf__tracked(g, RF_IN(x)), row, (size_t)x->dim[0], sizeof *row);
    return rf__call(g, RF_OP(rotate), y, RF_IN(x), &s, sizeof s);
}
