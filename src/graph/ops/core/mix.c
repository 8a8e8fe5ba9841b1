/* mix.c — weighted sums of rows of one table.
 *
 *     y[n,:]               = sum_k c[k] table[id[k][n],:]
 *     dtable[id[k][n],:]  += c[k] dy[n,:]          term after term, in the order of n: the same bits for any workers */
#include "graph/ops/core/table.h"

struct saved { int terms; float c[RF_MIX_TERMS]; const int32_t *id[RF_MIX_TERMS]; };
struct pass { const rfk_table *k; const struct saved *s; float *y; const rf_tensor *x; int64_t width; };

enum { WIDENED = 256 };                 /* columns that are read together from a table without f32 values */

/* y = y + c x, or c x for the first term.  Elements are independent, so parts of a row have the bits of the whole. */
static void term(const struct pass *a, float *y, int64_t row, float c, bool first)
{
    float space[WIDENED];
    const int64_t step = a->x->f32 ? a->width : WIDENED;
    for (int64_t j = 0; j < a->width; j += step) {
        const int64_t n = rf__min64(step, a->width - j);
        const float *x = a->x->f32 ? a->x->f32 + row * a->width : space;
        if (!a->x->f32) rf__read_row(a->k, a->x->rows, a->width, row, j, space, n);
        if (first) a->k->scale(y + j, x, c, n);
        else a->k->axpy(y + j, c, x, n);
    }
}

static void sums(void *arg, int64_t first, int64_t last, int64_t block, int worker)
{
    (void)block, (void)worker;
    const struct pass *a = arg;
    for (int64_t n = first; n < last; n++) {
        for (int k = 0; k < a->s->terms; k++) term(a, a->y + n * a->width, a->s->id[k][n], a->s->c[k], k == 0);
    }
}

void rf__mix_run(rf_graph *g, rf_node *n)
{
    const int64_t width = n->out->dim[1];
    rf__spans(g, n->out->dim[0], rf__span_rows(width), sums,
              &(struct pass){g->k, n->saved, n->out->f32, n->in[0], width});
}

struct adjoint { const rfk_table *k; float *y; const float *x; float c; };

static void scaled(void *arg, int64_t first, int64_t last, int64_t block, int worker)
{
    (void)block, (void)worker;
    const struct adjoint *a = arg;
    a->k->scale(a->y + first, a->x + first, a->c, last - first);
}

void rf__mix_back(rf_graph *g, rf_node *n)
{
    const struct saved *s = n->saved;
    const int64_t N = n->out->dim[0], width = n->out->dim[1];
    float *d = rf__adjoint_sum(g, n->in[0]), *one = rf__floats(g, N * width);
    if (!d || !one) return;
    for (int k = 0; k < s->terms; k++) {
        rf__spans(g, N * width, RF_SPAN, scaled,
                  &(struct adjoint){g->k, one, n->out->grad, s->c[k]});
        rf__scatter_add(g, d, one, s->id[k], N, width);
    }
    rf__free_last(g, one, N * width);
}

rf_tensor *rf__mix(rf_graph *g, rf_tensor *table, int terms, const float c[], const int32_t *const id[], int64_t N)
{
    if (!rf__expect_table(g, "mix", table)) return &g->nil.t;
    RF_NEED(g, terms >= 1 && terms <= RF_MIX_TERMS && c && id && N >= 0, RF_EARG,
            "mix: expected 1 to %d terms of 0 or more rows, got %d of %lld", RF_MIX_TERMS, terms, (long long)N);
    struct saved s = {.terms = terms};
    for (int k = 0; k < terms; k++) {
        s.c[k] = c[k];
        for (int64_t n = 0; n < N; n++)
            RF_NEED(g, id[k][n] >= 0 && id[k][n] < table->dim[0], RF_ERANGE,
                    "mix: token %lld: expected an id below the table's %lld rows, got %d", (long long)n,
                    (long long)table->dim[0], (int)id[k][n]);
    }
    rf_tensor *y = rf__new(g, 2, (int64_t[]){N, table->dim[1]});
    for (int k = 0; k < terms; k++)
        s.id[k] = rf__for_back(g, rf__tracked(g, RF_IN(table)), id[k], (size_t)N, sizeof *id[k]);
    return rf__call(g, RF_OP(mix), y, RF_IN(table), &s, sizeof s);
}
