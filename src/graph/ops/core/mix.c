/* mix.c — sums of weighted rows of one table.
 *
 *     y[n,:]               = sum_k c[k] table[id[k][n],:]
 *     dtable[id[k][n],:]  += c[k] dy[n,:]          term after term, in the order of n: the same bits for any workers */
#include "graph/graph.h"

struct saved { int terms; float c[RF_MIX_TERMS]; const int32_t *id[RF_MIX_TERMS]; };
struct pass { const rfk_table *k; const struct saved *s; float *y; const float *x; int64_t width; };

static void sums(void *arg, int64_t first, int64_t last, int64_t block, int worker)
{
    (void)block, (void)worker;
    const struct pass *a = arg;
    for (int64_t n = first; n < last; n++) {
        float *y = a->y + n * a->width;
        a->k->scale(y, a->x + a->s->id[0][n] * a->width, a->s->c[0], a->width);
        for (int k = 1; k < a->s->terms; k++) a->k->axpy(y, a->s->c[k], a->x + a->s->id[k][n] * a->width, a->width);
    }
}

static void scaled(void *arg, int64_t first, int64_t last, int64_t block, int worker)
{
    (void)block, (void)worker;
    const struct pass *a = arg;
    a->k->scale(a->y + first, a->x + first, a->s->c[0], last - first);
}

void rf__mix_back(rf_graph *g, rf_node *n)
{
    const struct saved *s = n->saved;
    const int64_t N = n->out->dim[0], width = n->out->dim[1];
    float *d = rf__adjoint_sum(g, n->in[0]), *one = rf__floats(g, N * width);
    if (!d || !one) return;
    for (int k = 0; k < s->terms; k++) {
        rf__spans(g, N * width, RF_SPAN, scaled,
                  &(struct pass){g->k, &(struct saved){1, {s->c[k]}, {NULL}}, one, n->out->grad, width});
        rf__scatter_add(g, d, one, s->id[k], N, width);
    }
    rf__give(g, one, N * width);
}

rf_tensor *rf_mix(rf_graph *g, rf_tensor *table, int terms, const float c[], const int32_t *const id[], int64_t N)
{
    RF_EXPECT(g, "mix", table, 2);
    RF_NEED(g, terms >= 1 && terms <= RF_MIX_TERMS && c && id && N >= 0, RF_EARG,
            "mix: %d terms of %lld rows, 1 to %d can be", terms, (long long)N, RF_MIX_TERMS);
    struct saved s = {.terms = terms};
    for (int k = 0; k < terms; k++) {
        s.c[k] = c[k];
        s.id[k] = id[k];
        for (int64_t n = 0; n < N; n++)
            RF_NEED(g, id[k][n] >= 0 && id[k][n] < table->dim[0], RF_ERANGE,
                    "mix: id %d of token %lld, table has %lld rows", (int)id[k][n], (long long)n,
                    (long long)table->dim[0]);
    }
    rf_tensor *y = rf__new(g, 2, (int64_t[]){N, table->dim[1]});
    if (g->error.code) return y;
    rf__spans(g, N, rf__span_rows(table->dim[1]), sums, &(struct pass){g->k, &s, y->f32, table->f32, table->dim[1]});
    if (!rf__tracked(g, RF_IN(table))) return y;
    for (int k = 0; k < terms; k++) s.id[k] = rf__copy(g, id[k], (size_t)N, sizeof *id[k]);
    return rf__record(g, RF_OP(mix), y, RF_IN(table), &s, sizeof s);
}
