/* rotate_parts.c — separate tables of angles for the parts of a row: queries, keys, values.
 *
 *     y[n,p,h,:] = R_p(row_p[n]) x[n,p,h,:]        for the first `rotated` heads of a part that has a table; else y = x
 *     dx         = R_p(row_p[n])^T dy
 *
 * If a table has gains, R_p includes them and scales, too (xPos; length-dependent scores).  back: R_p^T instead of
 * R_p. */
#include "graph/graph.h"

struct saved { rf_rotate_parts_spec spec; int64_t D; };
struct pass { const rfk_table *k; const struct saved *s; float dir, *y; const float *x; };

/* Heads of part p. */
static int64_t heads_of(const rf_rotate_parts_spec *t, int64_t p)
{
    return p > 0 && t->kv_heads ? t->kv_heads : t->heads;
}

/* ... and of the parts before it; of all parts together with p = parts. */
static int64_t heads_before(const rf_rotate_parts_spec *t, int64_t p)
{
    return p > 0 ? t->heads + (p - 1) * heads_of(t, 1) : 0;
}

static void rotate(void *arg, int64_t first, int64_t last, int64_t block, int worker)
{
    (void)block, (void)worker;
    const struct pass *a = arg;
    const rf_rotate_parts_spec *t = &a->s->spec;
    const int64_t D = a->s->D, width = heads_before(t, t->parts) * D;
    for (int64_t n = first; n < last; n++)
        for (int64_t p = 0; p < t->parts; p++) {
            const int64_t at_part = n * width + heads_before(t, p) * D, part = heads_of(t, p) * D;
            const int64_t rotated = rf__min64(t->rotated, heads_of(t, p)), done = rotated * D;
            const float *x = a->x + at_part;
            float *y = a->y + at_part;
            const rf_rope *rope = t->rope[p];
            if (rope) {
                const rf_rope_spec *spec = rf_rope_spec_of(rope);
                const int64_t at = t->row[p][n] * (spec->rotary / 2);
                (spec->layout == RF_ROPE_PAIRS ? a->k->rope_pairs : a->k->rope_halves)(
                    y, x, rf_rope_cos(rope) + at, rf_rope_sin(rope) + at, a->dir, rotated, D, spec->rotary);
            }
            const int64_t from = rope ? done : 0;
            if (y != x) memcpy(y + from, x + from, (size_t)(part - from) * sizeof *y);
        }
}

void rf__rotate_parts_run(rf_graph *g, rf_node *n)
{
    const struct saved *s = n->saved;
    rf__spans(g, n->out->dim[0], rf__span_rows(n->out->dim[1]), rotate,
              &(struct pass){g->k, s, s->spec.back ? -1 : 1, n->out->f32, n->in[0]->f32});
}

void rf__rotate_parts_back(rf_graph *g, rf_node *n)
{
    const struct saved *s = n->saved;
    float *dy = rf__dy(n);
    rf__spans(g, n->out->dim[0], rf__span_rows(n->out->dim[1]), rotate,
              &(struct pass){g->k, s, s->spec.back ? 1 : -1, dy, dy});
    rf__adjoint(g, n->in[0], dy);
}

rf_tensor *rf__rotate_parts(rf_graph *g, rf_tensor *x, const rf_rotate_parts_spec *spec)
{
    RF_EXPECT(g, "rotate_parts", x, 2);
    RF_NEED(g, spec && spec->parts >= 1 && spec->parts <= RF_ROTATE_PARTS && spec->heads >= 1 && spec->rotated >= 0 &&
            spec->rotated <= spec->heads && spec->kv_heads >= 0 && (!spec->kv_heads || spec->rotated == spec->heads) &&
            x->dim[1] % heads_before(spec, spec->parts) == 0, RF_EARG,
            "rotate_parts: columns: expected a multiple of the heads of all parts, got %lld", (long long)x->dim[1]);
    const int64_t N = x->dim[0], D = x->dim[1] / heads_before(spec, spec->parts);
    struct saved s = {*spec, D};
    for (int64_t p = 0; p < spec->parts; p++) {
        if (!spec->rope[p]) continue;
        const int64_t r = rf_rope_spec_of(spec->rope[p])->rotary, rows = rf_rope_rows(spec->rope[p]);
        RF_NEED(g, r <= D && spec->row[p], RF_ESHAPE,
                "rotate_parts: expected heads of at least the rotated %lld columns "
                "and their rows, got %lld", (long long)r, (long long)D);
        for (int64_t n = 0; n < N; n++)
            RF_NEED(g, spec->row[p][n] >= 0 && spec->row[p][n] < rows, RF_ERANGE,
                    "rotate_parts: token %lld: expected a row from 0 to below the table's %lld, got %d", (long long)n,
                    (long long)rows, (int)spec->row[p][n]);
    }
    rf_tensor *y = rf__like(g, x);
    for (int64_t p = 0; p < spec->parts && rf__tracked(g, RF_IN(x)); p++)
        if (spec->rope[p]) s.spec.row[p] = rf__copy(g, spec->row[p], (size_t)N, sizeof **spec->row);
    return rf__call(g, RF_OP(rotate_parts), y, RF_IN(x), &s, sizeof s);
}
