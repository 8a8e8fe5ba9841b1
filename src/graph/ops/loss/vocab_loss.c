/* vocab_loss.c — vocabulary head and its cross-entropy, in chunks of rows.
 *
 *     z       = x table^T + bias                                  [n,V], never stored as a whole
 *     loss    = weight sum_i (log sum_v exp z[i,v] - t_i),        t_i = (1 - e) z[i,label_i] + e / V sum_v z[i,v]
 *     dz      = weight (softmax(z) - (1 - e) onehot(label) - e / V)                            e: the graph's smoothing
 *     dx      = dz table,   dtable += dz^T x,   dbias += sum_i dz[i,:]
 *
 * The logits of a chunk are replaced by their adjoint and used before the next chunk.  A chunk has enough rows to make
 * up for its fixed cost, which is reading and updating the table once more. */
#include "graph/graph.h"

struct saved { double weight, smoothing, sum; int64_t hits; const int32_t *label; float *dx; };

enum { CHUNK_FLOATS = 1 << 23, CHUNK_ROWS = 128 };      /* 32 MiB of logits, but at least enough rows to pay */

int64_t rf__vocab_loss_rows(int64_t n, int64_t V)
{
    const int64_t rows = rf__max64(CHUNK_ROWS, CHUNK_FLOATS / rf__max64(V, 1) / 16 * 16);
    const int64_t chunks = rf__max64(1, (n + rows - 1) / rows);
    return (n + chunks - 1) / chunks;                   /* chunks of nearly equal size */
}

struct pass {
    const rfk_table *k;
    float *z, *loss, weight;
    double smoothing;
    int64_t V;
    const int32_t *label;
    unsigned char *hit;
};

static void cross_entropy(void *arg, int64_t i, int worker)
{
    (void)worker;
    const struct pass *a = arg;
    const int32_t label = a->label[i];
    const double e = a->smoothing;
    float *z = a->z + i * a->V;
    int64_t best = 0;
    const double apart = e > 0 ? (double)z[label] - (double)a->k->sum(z, a->V) / (double)a->V : 0;
    a->loss[i] = a->k->cross_entropy(z, a->V, label, a->weight, &best);
    a->hit[i] = best == label;
    if (!(e > 0)) return;
    const float each = (float)((double)a->weight * e / (double)a->V);
    a->loss[i] = (float)((double)a->loss[i] + e * apart);
    for (int64_t v = 0; v < a->V; v++) z[v] -= each;
    z[label] += (float)((double)a->weight * e);
}

static const uint16_t *half(const rf_graph *g, const rf_tensor *w) { return g->products == RF_BF16 ? w->bf16 : NULL; }

/* Adds the dz of one chunk to the adjoints of all inputs that need one. */
static void chunk_back(rf_graph *g, const float *dz, const float *x, int64_t rows, float *dx, rf_tensor *table,
                       rf_tensor *bias)
{
    const int64_t V = table->dim[0], K = table->dim[1];
    if (dx)
        rf__graph_gemm(g, &(rf_gemm_call){.m = rows,
                                          .n = K,
                                          .k = V,
                                          .a = dz,
                                          .lda = V,
                                          .b = table->f32,
                                          .b16 = half(g, table),
                                          .ldb = K,
                                          .c = dx,
                                          .ldc = K,
                                          .type = g->products});
    if (table->tracked)
        rf__graph_gemm(g, &(rf_gemm_call){.m = V,
                                          .n = K,
                                          .k = rows,
                                          .a = dz,
                                          .lda = V,
                                          .a_transposed = 1,
                                          .b = x,
                                          .ldb = K,
                                          .beta = 1,
                                          .c = table->grad,
                                          .ldc = K,
                                          .type = g->products});
    if (bias && bias->tracked && !g->error.code) rf__column_sums(g, bias->grad, dz, rows, V);
}

void rf__vocab_loss_run(rf_graph *g, rf_node *n)
{
    struct saved *s = n->saved;
    rf_tensor *x = n->in[0], *table = n->in[1], *bias = n->in[2];
    const int64_t N = x->dim[0], K = x->dim[1], V = table->dim[0], most = rf__vocab_loss_rows(N, V);
    const bool track = rf__tracked(g, RF_IN(x, table, bias));
    const rf_mark mark = rf__scratch(g);
    struct pass a = {.k = g->k, .V = V, .weight = (float)s->weight, .smoothing = s->smoothing};
    a.z = rf__values(g, (size_t)(most * V), sizeof *a.z);
    a.loss = rf__values(g, (size_t)most, sizeof *a.loss);
    a.hit = rf__values(g, (size_t)most, 1);
    for (int64_t first = 0; first < N && !g->error.code; first += most) {
        const int64_t rows = rf__min64(most, N - first);
        rf__graph_gemm(g, &(rf_gemm_call){.m = rows, .n = V, .k = K, .a = x->f32 + first * K, .lda = K, .b = table->f32,
                                    .b16 = half(g, table), .ldb = K, .b_transposed = 1, .c = a.z, .ldc = V,
                                    .bias = bias ? bias->f32 : NULL, .type = g->products});
        if (g->error.code) break;
        a.label = s->label + first;
        rf__each(g, rows, cross_entropy, &a);
        for (int64_t i = 0; i < rows && rf__computes(g); i++) {
            s->sum += a.loss[i];
            s->hits += a.hit[i];
        }
        if (track) chunk_back(g, a.z, x->f32 + first * K, rows, s->dx ? s->dx + first * K : NULL, table, bias);
    }
    if (g->error.code) return;
    rf__scratch_end(g, mark);
    if (rf__computes(g)) *n->out->f32 = (float)(s->weight * s->sum);
}

void rf__vocab_loss_back(rf_graph *g, rf_node *n)
{
    const struct saved *s = n->saved;                   /* the adjoint is 1: see rf__backward */
    if (s->dx) rf__adjoint(g, n->in[0], s->dx);
}

rf_tensor *rf__vocab_loss(rf_graph *g, rf_tensor *x, rf_tensor *table, rf_tensor *bias, const int32_t label[],
                          int64_t n, double weight, double *loss_sum, int64_t *hits)
{
    RF_EXPECT(g, "vocab_loss", x, 2);
    RF_EXPECT(g, "vocab_loss", table, 2);
    const int64_t V = table->dim[0];
    RF_NEED(g, x->dim[1] == table->dim[1], RF_ESHAPE, "vocab_loss: x: expected %lld columns, as in the table, got %lld",
            (long long)table->dim[1], (long long)x->dim[1]);
    RF_VECTOR(g, "vocab_loss", bias, V);
    RF_NEED(g, n == x->dim[0] && (label || !n), RF_ESHAPE,
            "vocab_loss: labels: expected one for each of x's %lld rows, "
            "got %lld", (long long)x->dim[0], (long long)n);
    for (int64_t i = 0; i < n; i++)
        RF_NEED(g, label[i] >= 0 && label[i] < V, RF_ERANGE, "vocab_loss: row %lld: expected a label below the table's "
                "%lld rows, got %d", (long long)i, (long long)V, (int)label[i]);

    RF_NEED(g, g->record == g->train, RF_EARG,
            "vocab_loss: expected a call outside of rf__recompute, since it computes its gradients at once");
    const bool track = rf__tracked(g, RF_IN(x, table, bias));
    rf_tensor *y = rf__new(g, 1, (int64_t[]){1});
    struct saved s = {.weight = weight, .smoothing = g->train ? g->smoothing : 0, .label = label};
    if (track && x->tracked) s.dx = rf__floats(g, n * x->dim[1]);
    if (track && table->tracked) rf__adjoint_sum(g, table);
    if (track && bias && bias->tracked) rf__adjoint_sum(g, bias);
    y = rf__call(g, RF_OP(vocab_loss), y, RF_IN(x, table, bias), &s, sizeof s);
    if (g->error.code) return y;
    if (loss_sum) *loss_sum += s.sum;
    if (hits) *hits += s.hits;
    g->losses += track;
    return y;
}
