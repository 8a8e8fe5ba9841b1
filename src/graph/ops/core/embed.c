/* embed.c — rows of a table.
 *
 *     y[n,:]          = table[id[n],:]
 *     dtable[id[n],:] += dy[n,:]                in the order of n: the same bits for any number of workers */
#include "graph/ops/core/table.h"

struct saved { const int32_t *id; };

struct reading { const rfk_table *k; float *y; const rf_file_rows *x; const int32_t *row; int64_t width; };

static void read_span(void *arg, int64_t first, int64_t last, int64_t block, int worker)
{
    (void)block, (void)worker;
    const struct reading *r = arg;
    for (int64_t i = first; i < last; i++)
        rf__read_row(r->k, r->x, r->width, r->row[i], 0, r->y + i * r->width, r->width);
}

void rf__embed_run(rf_graph *g, rf_node *n)
{
    const struct saved *s = n->saved;
    const rf_tensor *table = n->in[0];
    const int64_t N = n->out->dim[0], width = n->out->dim[1];
    if (table->f32) rf__gather(g, n->out->f32, table->f32, s->id, N, width);
    else
        rf__spans(g, N, rf__span_rows(width), read_span,
                  &(struct reading){g->k, n->out->f32, table->rows, s->id, width});
}

void rf__embed_back(rf_graph *g, rf_node *n)
{
    const struct saved *s = n->saved;
    float *d = rf__adjoint_sum(g, n->in[0]);
    if (d) rf__scatter_add(g, d, n->out->grad, s->id, n->out->dim[0], n->out->dim[1]);
}

rf_tensor *rf__embed(rf_graph *g, rf_tensor *table, const int32_t id[], int64_t N)
{
    if (!rf__expect_table(g, "embed", table)) return &g->nil.t;
    RF_NEED(g, N >= 0 && (id || !N), RF_EARG,
            "embed: expected 0 or more tokens and their ids, got %lld or no ids", (long long)N);
    for (int64_t n = 0; n < N; n++)
        RF_NEED(g, id[n] >= 0 && id[n] < table->dim[0], RF_ERANGE,
                "embed: token %lld: expected an id below the table's %lld rows, got %d", (long long)n,
                (long long)table->dim[0], (int)id[n]);

    rf_tensor *y = rf__new(g, 2, (int64_t[]){N, table->dim[1]});
    struct saved s = {rf__for_back(g, rf__tracked(g, RF_IN(table)), id, (size_t)N, sizeof *id)};
    return rf__call(g, RF_OP(embed), y, RF_IN(table), &s, sizeof s);
}
