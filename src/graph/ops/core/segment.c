/* segment.c — a score term for keys of the query's own segment and of other segments.          Yang et al. 2019 (XLNet)
 *
 *     y[n,h,t] = <q[n,h,:] + b[h,:], e_j[h,:]>          j = 0 when t is the segment of token n, else 1
 *
 * q: the first HD columns of x [N,W]; b [HD]; e [2,HD]; y [N, H types].  With D_j the sum of dy[n,h,t] over the t with
 * that j,
 *
 *     dq[n,h,:] = sum_j D_j e_j[h,:],   db = sum_n dq[n],   de_j[h,:] = sum_n D_j (q[n,h,:] + b[h,:])                */
#include "graph/graph.h"

struct saved { int64_t H, D, types; const int32_t *type; };
struct pass {
    const rfk_table *k;
    const struct saved *s;
    int64_t N, W;
    const float *x, *b, *e, *dy;
    float *y, *dx, *db, *de;
};

static void forward(void *arg, int64_t first, int64_t last, int64_t block, int worker)
{
    (void)block, (void)worker;
    const struct pass *a = arg;
    const struct saved *s = a->s;
    const int64_t H = s->H, D = s->D, C = H * D;
    for (int64_t n = first; n < last; n++)
        for (int64_t h = 0; h < H; h++)
            for (int64_t t = 0; t < s->types; t++) {
                const float *e = a->e + (t == s->type[n] ? 0 : C) + h * D;
                a->y[(n * H + h) * s->types + t] =
                    a->k->dot(a->x + n * a->W + h * D, e, D) + a->k->dot(a->b + h * D, e, D);
            }
}

/* One head, all tokens in their order. */
static void head_back(void *arg, int64_t h, int worker)
{
    (void)worker;
    const struct pass *a = arg;
    const struct saved *s = a->s;
    const int64_t H = s->H, D = s->D, C = H * D;
    for (int64_t n = 0; n < a->N; n++) {
        float d[2] = {0, 0};
        for (int64_t t = 0; t < s->types; t++) d[t != s->type[n]] += a->dy[(n * H + h) * s->types + t];
        for (int j = 0; j < 2; j++) {
            const float *e = a->e + j * C + h * D;
            if (a->dx) a->k->axpy(a->dx + n * a->W + h * D, d[j], e, D);
            if (a->db) a->k->axpy(a->db + h * D, d[j], e, D);
            if (!a->de) continue;
            a->k->axpy(a->de + j * C + h * D, d[j], a->x + n * a->W + h * D, D);
            a->k->axpy(a->de + j * C + h * D, d[j], a->b + h * D, D);
        }
    }
}

void rf__segment_run(rf_graph *g, rf_node *n)
{
    const struct saved *s = n->saved;
    rf_tensor *const *in = n->in;
    g->flops += 4 * (double)in[0]->dim[0] * (double)(s->H * s->D);                        /* with both vectors */
    rf__spans(g, in[0]->dim[0], rf__span_rows(s->H * s->D), forward,
              &(struct pass){.k = g->k, .s = s, .W = in[0]->dim[1], .x = in[0]->f32, .b = in[1]->f32, .e = in[2]->f32,
                             .y = n->out->f32});
}

void rf__segment_back(rf_graph *g, rf_node *n)
{
    const struct saved *s = n->saved;
    rf_tensor *const *in = n->in;
    float *d[3] = {NULL};
    for (int i = 0; i < 3; i++)
        if (in[i]->tracked && !(d[i] = rf__adjoint_sum(g, in[i]))) return;
    rf__each(g, s->H, head_back,
                 &(struct pass){g->k, s, in[0]->dim[0], in[0]->dim[1], in[0]->f32, in[1]->f32, in[2]->f32, n->out->grad,
                                NULL, d[0], d[1], d[2]});
}

rf_tensor *rf__segment(rf_graph *g, rf_tensor *x, rf_tensor *b, rf_tensor *e, int64_t heads, const int32_t type[],
                       int64_t types)
{
    RF_EXPECT(g, "segment", x, 2);
    RF_EXPECT(g, "segment", b, 0);
    RF_EXPECT(g, "segment", e, 2);
    const int64_t C = e->dim[1];
    RF_NEED(g, heads > 0 && C % heads == 0 && x->dim[1] >= C && rf__size(b) == C && e->dim[0] == 2 && types > 0 && type,
            RF_ESHAPE,
            "segment: expected rows and tables for the heads, got rows of %lld, %lld heads, tables of %lld and "
            "[%lld,%lld]", (long long)x->dim[1], (long long)heads, (long long)rf__size(b), (long long)e->dim[0],
            (long long)C);
    const bool track = rf__tracked(g, RF_IN(x, b, e));
    rf_tensor *y = rf__new(g, 2, (int64_t[]){x->dim[0], heads * types});
    struct saved s = {heads, C / heads, types, rf__for_back(g, track, type, (size_t)x->dim[0], sizeof *type)};
    if (track) {
        rf__needed(x);
        rf__needed(b);
        rf__needed(e);
    }
    return rf__call(g, RF_OP(segment), y, RF_IN(x, b, e), &s, sizeof s);
}
