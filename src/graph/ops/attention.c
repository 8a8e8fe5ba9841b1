/* attention.c — self-attention over sequences laid end to end.
 *
 *     score(m,n) = scale <R(m) q_m, R(n) k_n>                     RoFormer, Eq. 16
 *     out_m      = sum_n softmax_n(score(m,n)) v_n                over the keys of m's own sequence that m sees
 *
 * Scores are never stored: kept are the result and each row's log-sum-exp, and backward recomputes.  The forward's units
 * are (block of queries, head), so that one long text still feeds all workers; blocks are cut by the sequence's length
 * alone.  The backward's units are (sequence, head), because the adjoints of a key gather from all queries.           */
#include <math.h>

#include "graph/graph.h"

enum { QUERIES = 512 };

struct saved {
    const rfk_table *k;
    rf_attention_spec spec;             /* start and row: copies while recorded */
    int64_t N, D;
    rf_key key;
    uint64_t stream;
    float *lse;                         /* [H,N] or NULL */
};

struct block { int32_t sequence, first, last; };

/* The kernel's problem of one sequence and one head. */
static rfk_attention problem(const struct saved *s, const float *qkv, float *out, int64_t b, int64_t h)
{
    const rf_attention_spec *p = &s->spec;
    const rf_rope_spec *rope = p->rope ? rf_rope_spec_of(p->rope) : NULL;
    const int64_t C = p->heads * s->D, start = p->start[b], T = p->start[b + 1] - start;
    const float *q = qkv + start * 3 * C + h * s->D;
    const int32_t *row = p->row ? p->row + start : NULL;
    return (rfk_attention){
        .q = q, .k = q + C, .v = q + 2 * C,
        .q_step = 3 * C, .k_step = 3 * C, .v_step = 3 * C,
        .queries = T, .keys = T, .width = s->D,
        .scale = (float)p->scale,
        .cos = rope ? rf_rope_cos(p->rope) : NULL, .sin = rope ? rf_rope_sin(p->rope) : NULL,
        .q_row = row, .k_row = row,
        .rotary = rope ? rope->rotary : 0,
        .layout = rope ? rope->layout : RF_ROPE_PAIRS,
        .rotate_value = p->rotate_value,
        .causal = p->causal, .prefix = p->prefix, .window = p->window,
        .drop = (float)p->drop, .key = {s->key.k[0], s->key.k[1]},
        .stream = s->stream + (uint64_t)(b * p->heads + h),
        .out = out + start * C + h * s->D, .out_step = C,
        .lse = s->lse ? s->lse + h * s->N + start : NULL,
    };
}

struct pass {
    const struct saved *s;
    const float *qkv;
    float *out;
    const struct block *block;          /* forward */
    const float *d_out;                 /* backward */
    float *d_qkv;
    char *scratch;
    size_t each;                        /* bytes of one worker's scratch */
};

static void attend(void *arg, int64_t i, int worker)
{
    const struct pass *a = arg;
    const int64_t H = a->s->spec.heads;
    const struct block *b = &a->block[i / H];
    const rfk_attention p = problem(a->s, a->qkv, a->out, b->sequence, i % H);
    a->s->k->attention(&p, b->first, b->last, a->scratch + (size_t)worker * a->each);
}

static void attend_back(void *arg, int64_t i, int worker)
{
    const struct pass *a = arg;
    const int64_t H = a->s->spec.heads, b = i / H, h = i % H, C = H * a->s->D, start = a->s->spec.start[b];
    const rfk_attention p = problem(a->s, a->qkv, a->out, b, h);
    float *dq = a->d_qkv + start * 3 * C + h * a->s->D;
    const rfk_attention_grad d = {
        .d_out = a->d_out + start * C + h * a->s->D, .d_out_step = C,
        .dq = dq, .dk = dq + C, .dv = dq + 2 * C,
        .dq_step = 3 * C, .dk_step = 3 * C, .dv_step = 3 * C,
    };
    if (p.queries) a->s->k->attention_back(&p, &d, a->scratch + (size_t)worker * a->each);
}

/* Scratch for every worker, large enough for every sequence. */
static void get_scratch(rf_graph *g, struct pass *a, size_t (*needs)(const rfk_attention *))
{
    for (int64_t b = 0; b < a->s->spec.B; b++) {
        const rfk_attention p = problem(a->s, a->qkv, a->out, b, 0);
        const size_t bytes = p.queries ? needs(&p) : 0;
        if (bytes > a->each) a->each = bytes;
    }
    a->each = (a->each + 63) & ~(size_t)63;
    a->scratch = rf__push(g, (size_t)g->ctx->threads, a->each);
}

void rf__attention_back(rf_graph *g, rf_node *n)
{
    const struct saved *s = n->saved;
    struct pass a = {.s = s, .qkv = n->in[0]->f32, .out = n->out->f32, .d_out = n->out->grad};
    a.d_qkv = rf__floats(g, rf__size(n->in[0]));
    const rf_mark mark = rf__scratch(g);
    get_scratch(g, &a, rfk_attention_back_scratch);
    if (g->error.code) return;
    rf__parallel(g->ctx, s->spec.B * s->spec.heads, attend_back, &a);
    rf__scratch_end(g, mark);
    rf__adjoint(g, n->in[0], a.d_qkv);
}

static void forward(rf_graph *g, const struct saved *s, const float *qkv, float *out)
{
    const rf_attention_spec *p = &s->spec;
    struct pass a = {.s = s, .qkv = qkv, .out = out};
    const rf_mark mark = rf__scratch(g);
    int64_t blocks = 0;
    for (int64_t b = 0; b < p->B; b++) blocks += (p->start[b + 1] - p->start[b] + QUERIES - 1) / QUERIES;
    struct block *block = rf__push(g, (size_t)blocks, sizeof *block);
    get_scratch(g, &a, rfk_attention_scratch);
    if (g->error.code) return;

    a.block = block;
    for (int64_t b = 0; b < p->B; b++) {
        const int32_t T = p->start[b + 1] - p->start[b];
        for (int32_t first = 0; first < T; first += QUERIES)
            *block++ = (struct block){(int32_t)b, first, T - first < QUERIES ? T : first + QUERIES};
    }
    rf__parallel(g->ctx, blocks * p->heads, attend, &a);
    rf__scratch_end(g, mark);
}

/* The rules of a description, beyond those of qkv's shape. */
static rf_tensor *refuse(rf_graph *g, const rf_tensor *qkv, const rf_attention_spec *p)
{
    const int64_t N = qkv->dim[0], D = qkv->dim[1] / (3 * p->heads);
    RF_NEED(g, p->B >= 0 && p->B <= INT32_MAX && p->start, RF_EARG, "attention: %lld sequences, or no starts",
            (long long)p->B);
    RF_NEED(g, p->start[0] == 0 && p->start[p->B] == N, RF_ESHAPE, "attention: sequences from %d to %d, qkv has %lld tokens",
            (int)p->start[0], (int)p->start[p->B], (long long)N);
    for (int64_t b = 0; b < p->B; b++)
        RF_NEED(g, p->start[b] <= p->start[b + 1], RF_ESHAPE, "attention: sequence %lld starts at %d and ends at %d",
                (long long)b, (int)p->start[b], (int)p->start[b + 1]);
    RF_NEED(g, !p->rope == !p->row, RF_EARG, "attention: rope and row belong together");
    RF_NEED(g, p->rope || !p->rotate_value, RF_EARG, "attention: rotate_value without rope");
    RF_NEED(g, p->prefix >= 0 && p->window >= 0, RF_ERANGE, "attention: prefix %lld, window %lld; neither may be negative",
            (long long)p->prefix, (long long)p->window);
    RF_NEED(g, p->drop >= 0 && p->drop < 1, RF_ERANGE, "attention: drop is %g, wants 0 <= drop < 1", p->drop);
    RF_NEED(g, p->scale >= 0 && p->scale < HUGE_VAL, RF_ERANGE, "attention: scale is %g", p->scale);
    if (!p->rope) return NULL;
    const int64_t r = rf_rope_spec_of(p->rope)->rotary, rows = rf_rope_rows(p->rope);
    RF_NEED(g, r <= D, RF_ESHAPE, "attention: heads of %lld, angles for %lld", (long long)D, (long long)r);
    for (int64_t n = 0; n < N; n++)
        RF_NEED(g, p->row[n] >= 0 && p->row[n] < rows, RF_ERANGE, "attention: row %d of token %lld, table has %lld",
                (int)p->row[n], (long long)n, (long long)rows);
    return NULL;
}

rf_tensor *rf_attention(rf_graph *g, rf_tensor *qkv, const rf_attention_spec *spec)
{
    RF_WANT(g, "attention", qkv, 2);
    RF_NEED(g, spec, RF_EARG, "attention: spec is missing");
    RF_NEED(g, spec->heads > 0 && spec->heads <= INT32_MAX && qkv->dim[1] > 0 && qkv->dim[1] % (3 * spec->heads) == 0,
            RF_ESHAPE, "attention: %lld columns are not 3 times %lld heads", (long long)qkv->dim[1],
            (long long)spec->heads);
    rf_tensor *nil = refuse(g, qkv, spec);
    if (nil) return nil;

    const bool track = rf__tracked(g, RF_IN(qkv));
    struct saved s = {.k = g->k, .spec = *spec, .N = qkv->dim[0], .D = qkv->dim[1] / (3 * spec->heads), .key = g->key};
    if (s.spec.scale == 0) s.spec.scale = 1 / sqrt((double)s.D);
    if (!g->train) s.spec.drop = 0;
    if (s.spec.drop > 0) s.stream = rf__drop_stream(g);
    rf_tensor *y = rf__new(g, 2, (int64_t[]){s.N, qkv->dim[1] / 3});
    if (track) s.lse = rf__push(g, (size_t)(s.N * spec->heads), sizeof *s.lse);
    if (g->error.code) return &g->nil.t;
    forward(g, &s, qkv->f32, y->f32);
    if (!track) return g->error.code ? &g->nil.t : y;
    s.spec.start = rf__copy(g, spec->start, (size_t)spec->B + 1, sizeof *spec->start);
    if (spec->row) s.spec.row = rf__copy(g, spec->row, (size_t)s.N, sizeof *spec->row);
    rf__needed(qkv);
    rf__needed(y);
    return rf__record(g, RF_OP(attention), y, RF_IN(qkv), &s, sizeof s);
}
