/* attention.c — attention over packed sequences.
 *
 *     score(m,n) = scale <R(m) q_m, R(n) k_n>                     RoFormer, Eq. 16
 *     out_m      = sum_n softmax_n(score(m,n)) v_n                over the keys of m's own sequence that m sees
 *
 * plus the terms that rfk_relative adds to both for the offset n - m.  If the graph's products are in bf16, these two
 * are, too.
 *
 * Of H heads of queries, H / G next to each other share one of G heads of keys and values         Ainslie et al. 2023
 *
 * Scores are not stored.  The forward pass stores the result and each row's log-sum-exp, and the backward pass
 * recomputes the scores.  Units of work of the forward pass are (block of queries, head), so that a single long text
 * occupies all workers; the division into blocks depends only on the sequence's length.  Units of the backward pass are
 * (sequence, head), because a key's adjoint sums over all queries.  With learned tables of offsets they are heads,
 * because the adjoints of tables sum over all sequences.  If units are small, one unit combines several heads, and each
 * head prefetches the rows of the next.                                                                              */
#include <math.h>

#include "graph/graph.h"
#include "graph/ops/core/attention_work.h"

/* A unit is the work of one head, or of several heads such that each worker still gets UNITS units. */
enum { QUERIES = 512, UNITS = 8 };

/* The tables of offsets in spec and among a node's inputs.  more_query, more_key and keys of other tokens follow. */
enum { QKV, QUERY, KEY, VALUE, BIAS, MORE_QUERY, MORE_KEY, KEY_VALUE, INPUTS };

struct saved {
    const rfk_table *k;
    bool bf16;
    rf_attention_spec spec;             /* lists: copied if recorded */
    int64_t N, D, E;                    /* E: columns of more_query per head */
    int64_t group;                      /* heads of queries for one head of keys */
    int64_t width, key_width;           /* columns of a row of queries and of keys: H D + 2 G D for both, or apart */
    const rfk_relative *relative;       /* [H] or NULL */
    float *bias;                        /* relative_bias, transposed */
    rf_key key;
    uint64_t stream;
    float *lse;                         /* [H,N] or NULL */
};

/* Queries [first, last) of a sequence, heads [head, end). */
struct unit { int32_t sequence, first, last, head, end; };

/* The first key of a sequence in key_value, more_key and their gradients. */
static int64_t first_key(const rf_attention_spec *p, int64_t b) { return p->key_value ? p->key_start[b] : p->start[b]; }

/* Columns of the keys of all heads, or of the values. */
static int64_t keys_width(const struct saved *s) { return s->spec.heads / s->group * s->D; }

static rfk_pages pages_of(const struct saved *s, int64_t b, int64_t h)
{
    const rf_past *past = s->spec.past;
    const int64_t H = s->spec.heads, C = keys_width(s), at = h / s->group * s->D;
    return (rfk_pages){.page = past->page[b],
                       .stride = 2 * C + H * s->E,
                       .key = at,
                       .value = C + at,
                       .key2 = 2 * C + h * s->E,
                       .bf16 = past->type[b] == RF_BF16};
}

/* The kernel's problem of one sequence and one head.  With `more_heads` the problem of the next head follows. */
static rfk_attention problem(const struct saved *s, const float *qkv, float *out, int64_t b, int64_t h, bool more_heads)
{
    const rf_attention_spec *p = &s->spec;
    const rf_rope_spec *rope = p->rope ? rf_rope_spec_of(p->rope) : NULL;
    const int64_t C = p->heads * s->D, K = keys_width(s), start = p->start[b], T = p->start[b + 1] - start;
    const float *row_of_queries = qkv + start * s->width;
    const int32_t *row = p->row ? p->row + start : NULL, *key_row = p->key_row ? p->key_row + first_key(p, b) : row;
    const int64_t columns = p->heads * s->E, more = start * columns + h * s->E;
    const rf_past *past = p->past;
    const float *k = past           ? NULL
                     : p->key_value ? p->key_value->f32 + first_key(p, b) * 2 * K + h / s->group * s->D
                                    : row_of_queries + C + h / s->group * s->D;
    return (rfk_attention){
        .q = row_of_queries + h * s->D,
        .k = k,
        .v = past ? NULL : k + K,
        .q_stride = s->width,
        .k_stride = s->key_width,
        .v_stride = s->key_width,
        .queries = T,
        .keys = rf__attention_keys(p, b),
        .width = s->D,
        .scale = (float)p->scale,
        .cos = rope ? rf_rope_cos(p->rope) : NULL,
        .sin = rope ? rf_rope_sin(p->rope) : NULL,
        .q_row = row,
        .k_row = past ? NULL : key_row,
        .rotary = rope ? rope->rotary : 0,
        .layout = rope ? rope->layout : RF_ROPE_PAIRS,
        .rotate_value = p->rotate_value,
        .causal = p->causal,
        .prefix = p->prefixes ? p->prefixes[b] : p->prefix,
        .window = p->window,
        .drop = (float)p->drop,
        .key = {s->key.k[0], s->key.k[1]},
        .stream = s->stream + (uint64_t)(b * p->heads + h),
        .out = out + start * C + h * s->D,
        .out_stride = C,
        .lse = s->lse ? s->lse + h * s->N + start : NULL,
        .q2 = s->E ? p->more_query->f32 + more : NULL,
        .k2 = !s->E || past ? NULL : p->more_key->f32 + first_key(p, b) * columns + h * s->E,
        .q2_stride = columns,
        .k2_stride = columns,
        .width2 = s->E,
        .relative = s->relative ? &s->relative[h] : NULL,
        .next = more_heads && s->group == 1 ? s->D : 0,
        .pages = past ? pages_of(s, b, h) : (rfk_pages){0},
    };
}

struct pass {
    const struct saved *s;
    const float *qkv;
    float *out;
    struct unit *unit;
    int64_t units;
    const float *d_out;                 /* backward */
    float *d_qkv, *d_key_value, *d_more_query, *d_more_key;
    float *d_shared;                    /* adjoints of keys and values for each head of queries; NULL: not shared */
    const rfk_relative_grad *d_relative;    /* [H] or NULL */
    char *scratch;
    size_t each;                        /* bytes of one worker's scratch */
};

static void clear_rows(float *x, int64_t rows, int64_t width, int64_t stride)
{
    for (int64_t i = 0; i < rows; i++) memset(x + i * stride, 0, (size_t)width * sizeof *x);
}

static void attend(void *arg, int64_t i, int worker)
{
    const struct pass *a = arg;
    const struct unit *u = &a->unit[i];
    void *scratch = a->scratch + (size_t)worker * a->each;
    for (int32_t h = u->head; h < u->end; h++) {
        const rfk_attention p = problem(a->s, a->qkv, a->out, u->sequence, h, h + 1 < u->end);
        rf__attention_head(a->s->k, a->s->bf16, a->s->spec.seen != NULL, &p, u->first, u->last, scratch);
    }
}

static void back_of(const struct pass *a, int64_t b, int64_t h, bool more_heads, int worker)
{
    const struct saved *s = a->s;
    const rf_attention_spec *spec = &s->spec;
    const int64_t C = spec->heads * s->D, E = s->E, columns = spec->heads * E, start = spec->start[b];
    const int64_t key = first_key(spec, b), more = start * columns + h * E;
    const rfk_attention p = problem(s, a->qkv, a->out, b, h, more_heads);
    float *dq = a->d_qkv + start * s->width + h * s->D;
    float *dk = a->d_shared      ? a->d_shared + key * 2 * C + h * s->D
                : a->d_key_value ? a->d_key_value + key * s->key_width + h * s->D
                                 : dq + C;
    const int64_t key_stride = a->d_shared ? 2 * C : s->key_width;
    const rfk_attention_grad d = {
        .d_out = a->d_out + start * C + h * s->D, .d_out_stride = C,
        .dq = dq, .dk = dk, .dv = dk + C,
        .dq_stride = s->width, .dk_stride = key_stride, .dv_stride = key_stride,
        .dq2 = E ? a->d_more_query + more : NULL, .dk2 = E ? a->d_more_key + key * columns + h * E : NULL,
        .dq2_stride = columns, .dk2_stride = columns,
        .relative = a->d_relative ? &a->d_relative[h] : NULL,
    };
    if (p.queries && p.keys) {
        (s->bf16 ? s->k->attention_bf16_back : s->k->attention_back)(&p, &d, a->scratch + (size_t)worker * a->each);
        return;
    }
    /* no keys; clear_unseen handles keys without queries */
    clear_rows(d.dq, p.queries, s->D, d.dq_stride);
    clear_rows(d.dq2, E ? p.queries : 0, E, columns);
}

/* Keys of sequences without a query, for which there is no unit of work. */
static void clear_unseen(const struct pass *a)
{
    const rf_attention_spec *p = &a->s->spec;
    const int64_t width = a->s->key_width, columns = p->heads * a->s->E;
    for (int64_t b = 0; a->d_key_value && b < p->B; b++) {
        if (p->start[b + 1] > p->start[b]) continue;
        clear_rows(a->d_key_value + first_key(p, b) * width, rf__attention_keys(p, b), width, width);
        if (columns) clear_rows(a->d_more_key + first_key(p, b) * columns, rf__attention_keys(p, b), columns, columns);
    }
}

static void attend_back(void *arg, int64_t i, int worker)
{
    const struct pass *a = arg;
    const struct unit *u = &a->unit[i];
    for (int32_t h = u->head; h < u->end; h++) back_of(a, u->sequence, h, h + 1 < u->end, worker);
}

static void attend_back_head(void *arg, int64_t h, int worker)
{
    const struct pass *a = arg;
    for (int64_t b = 0; b < a->s->spec.B; b++) back_of(a, b, h, false, worker);
}

/* Row n of the keys' and values' adjoints: the sum over the heads of queries that share them, in their order. */
static void sum_shared(void *arg, int64_t first, int64_t last, int64_t block, int worker)
{
    (void)block, (void)worker;
    const struct pass *a = arg;
    const struct saved *s = a->s;
    const int64_t C = s->spec.heads * s->D, K = keys_width(s), D = s->D;
    for (int64_t n = first; n < last; n++) {
        float *to = a->d_key_value ? a->d_key_value + n * s->key_width : a->d_qkv + n * s->width + C;
        const float *from = a->d_shared + n * 2 * C;
        for (int64_t at = 0; at < 2 * K; at += D, to += D, from += s->group * D) {
            memcpy(to, from, (size_t)D * sizeof *to);
            for (int64_t i = 1; i < s->group; i++) s->k->add(to, to, from + i * D, D);
        }
    }
}

/* Space for the adjoints of shared keys, of `rows` rows; NULL: keys are not shared, or the graph has stopped. */
static float *shared_adjoints(rf_graph *g, const struct saved *s, int64_t rows)
{
    if (s->group == 1) return NULL;
    const int64_t n = rows * 2 * s->spec.heads * s->D;
    float *x = rf__values(g, (size_t)n, sizeof *x);
    if (x) rf__zero(g, x, n);
    return x;
}

/* Scratch for every worker, large enough for every sequence. */
static void get_scratch(rf_graph *g, struct pass *a, size_t (*needs)(const rfk_attention *))
{
    for (int64_t b = 0; b < a->s->spec.B; b++) {
        const rfk_attention p = problem(a->s, a->qkv, a->out, b, 0, false);
        const size_t bytes = p.queries && p.keys ? needs(&p) : 0;
        if (bytes > a->each) a->each = bytes;
    }
    a->each = (a->each + 63) & ~(size_t)63;
    a->scratch = rf__values(g, (size_t)g->ctx->threads, a->each);
}

/* The units of all sequences in blocks of `queries`. */
static void get_units(rf_graph *g, struct pass *a, int32_t queries)
{
    const rf_attention_spec *p = &a->s->spec;
    int64_t blocks = 0, work = 0;
    for (int64_t b = 0; b < p->B; b++) {
        const int64_t T = p->start[b + 1] - p->start[b];
        blocks += (T + queries - 1) / queries;
        work += T * rf__attention_keys(p, b) * p->heads;
    }
    a->unit = rf__push(g, (size_t)(blocks * p->heads), sizeof *a->unit);
    if (g->error.code) return;
    for (int32_t b = 0; b < p->B; b++) {
        const int32_t T = p->start[b + 1] - p->start[b], heads = (int32_t)p->heads;
        for (int32_t first = 0, last; first < T; first = last) {
            last = T - first < queries ? T : first + queries;
            const int64_t much = (last - first) * rf__attention_keys(p, b) * UNITS * g->ctx->threads;
            const int32_t run = (int32_t)rf__max64(1, rf__min64(heads, work / rf__max64(1, much)));
            for (int32_t h = 0; h < heads; h += run)
                a->unit[a->units++] = (struct unit){b, first, last, h, heads - h < run ? heads : h + run};
        }
    }
}

/* ---- tables of offsets ------------------------------------------------------------------------------------------- */

static rf_tensor *const *tables_of(const rf_attention_spec *p, rf_tensor *in[INPUTS], rf_tensor *qkv)
{
    rf_tensor *const all[INPUTS] = {qkv, p->relative_query, p->relative_key, p->relative_value, p->relative_bias,
                                    p->more_query, p->more_key, p->key_value};
    memcpy(in, all, sizeof all);
    return in;
}

static bool relates(const rf_attention_spec *p)
{
    return p->relative_query || p->relative_key || p->relative_value || p->relative_bias;
}

/* A head's part of a table: its own columns, or all columns if the table has the width of one head. */
static const float *head_of(const rf_tensor *x, int64_t h, int64_t D)
{
    return x ? x->f32 + (x->dim[1] > D ? h * D : 0) : NULL;
}

static int64_t stride_of(const rf_tensor *x) { return x ? x->dim[1] : 0; }

static void relate(rf_graph *g, struct saved *s)
{
    const rf_attention_spec *p = &s->spec;
    const int64_t H = p->heads, D = s->D, rows = 2 * p->clip + 1;
    rfk_relative *is = rf__push(g, (size_t)H, sizeof *is);
    if (p->relative_bias) s->bias = rf__values(g, (size_t)(rows * H), sizeof *s->bias);
    for (int64_t h = 0; h < H && !g->error.code; h++)
        is[h] = (rfk_relative){p->clip, head_of(p->relative_query, h, D), head_of(p->relative_key, h, D),
                               head_of(p->relative_value, h, D), stride_of(p->relative_query),
                               stride_of(p->relative_key), stride_of(p->relative_value),
                               s->bias ? s->bias + h * rows : NULL};
    s->relative = is;
}

/* y = x transposed: a column of a table for each head. */
static void transpose(const rf_graph *g, float *y, const float *x, int64_t rows, int64_t columns)
{
    for (int64_t i = 0; i < rows && rf__computes(g); i++)
        for (int64_t j = 0; j < columns; j++) y[j * rows + i] = x[i * columns + j];
}

/* Where heads add their adjoints of a table: to the columns of the head, or to separate copies that are summed at the
 * end. */
struct gathered { float *x; int64_t each, stride; };

static struct gathered gather(rf_graph *g, const struct saved *s, const rf_tensor *x)
{
    if (!x || !x->tracked) return (struct gathered){0};
    const int64_t H = s->spec.heads, rows = x->dim[0], columns = x->dim[1], apart = columns > s->D || H == 1;
    struct gathered y = {rf__floats(g, apart ? rows * columns : H * rows * columns), apart ? s->D : rows * columns,
                         columns};
    if (y.x) rf__zero(g, y.x, apart ? rows * columns : H * rows * columns);
    return y;
}

/* Passes on the adjoint of a table. */
static void deliver(rf_graph *g, const struct saved *s, rf_tensor *x, struct gathered y, bool bias)
{
    if (!y.x) return;
    const int64_t H = s->spec.heads, n = rf__size(x);
    float *sum = y.x;
    if (bias) {
        sum = rf__floats(g, n);
        transpose(g, sum, y.x, H, x->dim[0]);
    } else if (y.each == n && H > 1) {
        sum = rf__floats(g, n);
        if (sum) rf__copy_into(g, sum, y.x, n);
        for (int64_t h = 1; sum && h < H; h++) rf__sum_into(g, sum, y.x + h * n, n);
    }
    if (sum != y.x) rf__free_last(g, y.x, bias ? n : H * n);
    if (sum) rf__adjoint(g, x, sum);
}

static struct gathered gather_bias(rf_graph *g, const rf_tensor *x)
{
    if (!x || !x->tracked) return (struct gathered){0};
    struct gathered y = {rf__floats(g, rf__size(x)), x->dim[0], 1};
    if (y.x) rf__zero(g, y.x, rf__size(x));
    return y;
}

static float *at_head(struct gathered y, int64_t h) { return y.x ? y.x + h * y.each : NULL; }

void rf__attention_back(rf_graph *g, rf_node *n)
{
    const struct saved *s = n->saved;
    const int64_t H = s->spec.heads;
    struct pass a = {.s = s, .qkv = n->in[QKV]->f32, .out = n->out->f32, .d_out = n->out->grad};
    struct gathered t[BIAS + 1] = {{0}};
    a.d_qkv = rf__floats(g, rf__size(n->in[QKV]));
    if (s->spec.key_value) a.d_key_value = rf__floats(g, rf__size(n->in[KEY_VALUE]));
    if (s->E) {
        a.d_more_query = rf__floats(g, rf__size(n->in[MORE_QUERY]));
        a.d_more_key = rf__floats(g, rf__size(n->in[MORE_KEY]));
    }
    for (int i = QUERY; i < BIAS; i++) t[i] = gather(g, s, n->in[i]);
    t[BIAS] = gather_bias(g, n->in[BIAS]);
    const bool learns = t[QUERY].x || t[KEY].x || t[VALUE].x || t[BIAS].x;
    const rf_mark mark = rf__scratch(g);
    get_scratch(g, &a, rfk_attention_back_scratch);
    get_units(g, &a, INT32_MAX);
    const int64_t keys = n->in[s->spec.key_value ? KEY_VALUE : QKV]->dim[0];
    a.d_shared = shared_adjoints(g, s, keys);
    rfk_relative_grad *d = rf__push(g, (size_t)H, sizeof *d);
    if (g->error.code) return;
    rf__attention_count(g, &s->spec, s->D, s->E, 2);
    for (int64_t h = 0; h < H; h++)
        d[h] = (rfk_relative_grad){at_head(t[QUERY], h), at_head(t[KEY], h), at_head(t[VALUE], h), t[QUERY].stride,
                                   t[KEY].stride,        t[VALUE].stride,    at_head(t[BIAS], h)};
    a.d_relative = learns ? d : NULL;
    if (rf__computes(g)) clear_unseen(&a);
    if (learns) rf__each(g, H, attend_back_head, &a);
    else rf__each(g, a.units, attend_back, &a);
    if (a.d_shared) rf__spans(g, keys, rf__span_rows(2 * s->spec.heads * s->D), sum_shared, &a);
    rf__scratch_end(g, mark);
    for (int i = QUERY; i <= BIAS; i++) deliver(g, s, n->in[i], t[i], i == BIAS);
    if (s->E) {
        rf__adjoint(g, n->in[MORE_QUERY], a.d_more_query);
        rf__adjoint(g, n->in[MORE_KEY], a.d_more_key);
    }
    if (a.d_key_value) rf__adjoint(g, n->in[KEY_VALUE], a.d_key_value);
    rf__adjoint(g, n->in[QKV], a.d_qkv);
}

void rf__attention_run(rf_graph *g, rf_node *n)
{
    const struct saved *s = n->saved;
    const rf_tensor *bias = n->in[BIAS];
    struct pass a = {.s = s, .qkv = n->in[QKV]->f32, .out = n->out->f32};
    if (bias) transpose(g, s->bias, bias->f32, bias->dim[0], bias->dim[1]);
    const rf_mark mark = rf__scratch(g);
    get_scratch(g, &a, rfk_attention_scratch);
    get_units(g, &a, QUERIES);
    if (g->error.code) return;
    rf__attention_count(g, &s->spec, s->D, s->E, 1);
    rf__each(g, a.units, attend, &a);
    rf__scratch_end(g, mark);
}

static int64_t key_heads(const rf_attention_spec *p) { return p->kv_heads ? p->kv_heads : p->heads; }

/* Heads in a row of qkv: with keys of other tokens those of queries alone. */
static int64_t heads_in_row(const rf_attention_spec *p)
{
    return p->heads + (p->key_value || (p->past && p->past->apart) ? 0 : 2 * key_heads(p));
}
static int64_t width_of(const rf_tensor *qkv, const rf_attention_spec *p)
{
    return qkv->dim[1] / heads_in_row(p) * p->heads;
}

/* Checks tables of offsets and additional columns. */
static rf_tensor *refuse_relative(rf_graph *g, const rf_tensor *qkv, const rf_attention_spec *p)
{
    const int64_t C = width_of(qkv, p), D = C / p->heads, rows = 2 * p->clip + 1;
    static const char *const name[INPUTS] = {
        "", "relative_query", "relative_key", "relative_value", "relative_bias", "more_query", "more_key"};
    rf_tensor *in[INPUTS];
    tables_of(p, in, NULL);
    RF_NEED(g, p->clip >= 0 && p->clip < INT32_MAX, RF_ERANGE,
            "attention: clip: expected 0 or more, got %lld", (long long)p->clip);
    RF_NEED(g, !p->more_query == !p->more_key, RF_EARG,
            "attention: expected both more_query and more_key, got one of them");
    for (int i = QUERY; i < KEY_VALUE; i++) {
        const rf_tensor *x = in[i];
        const int64_t N = i == MORE_KEY && p->key_value ? p->key_value->dim[0] : qkv->dim[0];
        if (!x) continue;
        if (!rf__expect_rank(g, "attention", name[i], x, 2)) return &g->nil.t;
        RF_NEED(g,
                i < MORE_QUERY
                    ? x->dim[0] == rows && (i == BIAS ? x->dim[1] == p->heads : x->dim[1] == D || x->dim[1] == C)
                    : x->dim[0] == N && x->dim[1] > 0 && x->dim[1] % p->heads == 0 &&
                          x->dim[1] == in[MORE_QUERY]->dim[1],
                RF_ESHAPE, "attention: %s: expected a shape for clip %lld, %lld heads of %lld and %lld tokens, got "
                "[%lld,%lld]", name[i], (long long)p->clip, (long long)p->heads, (long long)D, (long long)N,
                (long long)x->dim[0], (long long)x->dim[1]);
    }
    return NULL;
}

/* Checks keys of earlier calls.  The caller of rf_past is responsible for their contents. */
static rf_tensor *refuse_past(rf_graph *g, const rf_attention_spec *p)
{
    const rf_past *past = p->past;
    if (!past) return NULL;
    RF_NEED(g, !g->record && past->count && past->page && past->type, RF_EARG,
            "attention: past: expected its lists and a graph that does not record, got one without");
    for (int64_t b = 0; b < p->B; b++) {
        const int64_t least = past->apart ? 0 : p->start[b + 1] - p->start[b];
        RF_NEED(g, past->page[b] && past->count[b] >= least, RF_ESHAPE,
                "attention: sequence %lld: expected at least %lld keys, one for each token, got %lld", (long long)b,
                (long long)least, (long long)past->count[b]);
        RF_NEED(g, past->type[b] == RF_F32 || past->type[b] == RF_BF16, RF_EARG,
                "attention: keys of sequence %lld: expected type f32 or bf16, got %d", (long long)b,
                (int)past->type[b]);
    }
    return NULL;
}

/* Rows of the table of angles, for queries or keys. */
static rf_tensor *refuse_rows(rf_graph *g, const rf_attention_spec *p, const int32_t row[], int64_t n)
{
    const int64_t rows = rf_rope_rows(p->rope);
    for (int64_t i = 0; i < n; i++)
        RF_NEED(g, row[i] >= 0 && row[i] < rows, RF_ERANGE,
                "attention: token %lld: expected a row from 0 to below the table's %lld, got %d",
                (long long)i, (long long)rows, (int)row[i]);
    return NULL;
}

/* Checks keys and values of other tokens. */
static rf_tensor *refuse_keys(rf_graph *g, const rf_tensor *qkv, const rf_attention_spec *p)
{
    const rf_tensor *x = p->key_value;
    if (!x) {
        RF_NEED(g, !p->key_start && !p->key_row, RF_EARG,
                "attention: key_start, key_row: expected key_value with them, got none");
        return NULL;
    }
    if (!rf__expect_rank(g, "attention", "key_value", x, 2)) return &g->nil.t;
    RF_NEED(g, !p->past, RF_EARG, "attention: expected key_value or past, got both");
    RF_NEED(g, x->dim[1] * p->heads == 2 * qkv->dim[1] * key_heads(p), RF_ESHAPE,
            "attention: key_value: expected twice the queries' %lld columns, got %lld",
            (long long)(qkv->dim[1] / p->heads * key_heads(p)), (long long)x->dim[1]);
    RF_STARTS(g, "attention (keys)", p->key_start, p->B, x->dim[0], 0);
    RF_NEED(g, !p->rope == !p->key_row, RF_EARG, "attention: expected both rope and key_row, got one of them");
    return NULL;
}

/* Checks a description, except for qkv's shape. */
static rf_tensor *refuse(rf_graph *g, const rf_tensor *qkv, const rf_attention_spec *p)
{
    const int64_t N = qkv->dim[0], D = width_of(qkv, p) / p->heads;
    RF_STARTS(g, "attention", p->start, p->B, N, 0);
    RF_NEED(g, !p->rope == !p->row, RF_EARG, "attention: expected both rope and row, got one of them");
    RF_NEED(g, p->rope || !p->rotate_value, RF_EARG, "attention: rotate_value: expected rope with it, got none");
    RF_NEED(g, p->prefix >= 0 && p->window >= 0, RF_ERANGE,
            "attention: prefix, window: expected 0 or more, got %lld and %lld", (long long)p->prefix,
            (long long)p->window);
    for (int64_t b = 0; p->prefixes && b < p->B; b++)
        RF_NEED(g, p->prefixes[b] >= 0, RF_ERANGE, "attention: prefix of sequence %lld: expected 0 or more, got %d",
                (long long)b, (int)p->prefixes[b]);
    if (!rf__attention_seen_fits(g, p)) return &g->nil.t;
    RF_NEED(g, p->drop >= 0 && p->drop < 1, RF_ERANGE, "attention: drop: expected 0 <= drop < 1, got %g", p->drop);
    RF_NEED(g, p->scale >= 0 && p->scale < HUGE_VAL, RF_ERANGE,
            "attention: scale: expected 0 or more, got %g", p->scale);
    rf_tensor *nil = refuse_keys(g, qkv, p);
    if (!nil) nil = refuse_relative(g, qkv, p);
    if (!nil) nil = refuse_past(g, p);
    if (nil || !p->rope) return nil;
    const int64_t r = rf_rope_spec_of(p->rope)->rotary;
    RF_NEED(g, r <= D, RF_ESHAPE,
            "attention: expected heads of at least the rotated %lld columns, got %lld", (long long)r,
            (long long)D);
    nil = refuse_rows(g, p, p->row, N);
    return nil || !p->key_row ? nil : refuse_rows(g, p, p->key_row, p->key_value->dim[0]);
}

static void keep_lists(rf_graph *g, struct saved *s)
{
    rf_attention_spec *p = &s->spec;
    const size_t B = (size_t)p->B;
    p->start = rf__copy(g, p->start, B + 1, sizeof *p->start);
    if (p->prefixes) p->prefixes = rf__copy(g, p->prefixes, B, sizeof *p->prefixes);
    if (p->row) p->row = rf__copy(g, p->row, (size_t)s->N, sizeof *p->row);
    if (p->key_start) p->key_start = rf__copy(g, p->key_start, B + 1, sizeof *p->key_start);
    if (p->key_row) p->key_row = rf__copy(g, p->key_row, (size_t)p->key_value->dim[0], sizeof *p->key_row);
}

rf_tensor *rf__attention(rf_graph *g, rf_tensor *qkv, const rf_attention_spec *spec)
{
    RF_EXPECT(g, "attention", qkv, 2);
    RF_NEED(g, spec, RF_EARG, "attention: spec: expected a description, got NULL");
    RF_NEED(g, spec->heads > 0 && spec->heads <= INT32_MAX && spec->kv_heads >= 0 && spec->kv_heads <= spec->heads &&
                   spec->heads % key_heads(spec) == 0, RF_ESHAPE,
            "attention: heads: expected 1 or more, a multiple of the %lld heads of keys, got %lld",
            (long long)spec->kv_heads, (long long)spec->heads);
    const int64_t all = heads_in_row(spec);
    RF_NEED(g, qkv->dim[1] > 0 && qkv->dim[1] % all == 0, RF_ESHAPE,
            "attention: columns: expected a multiple of %lld heads, got %lld", (long long)all,
            (long long)qkv->dim[1]);
    rf_tensor *nil = refuse(g, qkv, spec);
    if (nil) return nil;

    rf_tensor *in[INPUTS];
    const bool track = rf__tracked(g, tables_of(spec, in, qkv), INPUTS);
    struct saved s = {.k = g->k,
                      .bf16 = g->products == RF_BF16,
                      .spec = *spec,
                      .N = qkv->dim[0],
                      .D = qkv->dim[1] / all,
                      .group = spec->heads / key_heads(spec),
                      .width = qkv->dim[1],
                      .key_width = spec->key_value ? spec->key_value->dim[1] : qkv->dim[1],
                      .key = g->key};
    if (spec->more_query) s.E = spec->more_query->dim[1] / spec->heads;
    if (s.spec.scale == 0) s.spec.scale = 1 / sqrt((double)s.D);
    if (!g->train) s.spec.drop = 0;
    if (s.spec.drop > 0) s.stream = rf__drop_stream(g);
    rf_tensor *y = rf__new(g, 2, (int64_t[]){s.N, spec->heads * s.D});
    if (track) s.lse = rf__values(g, (size_t)(s.N * spec->heads), sizeof *s.lse);
    if (relates(spec)) relate(g, &s);
    if (track) {
        keep_lists(g, &s);
        for (int i = 0; i < INPUTS; i++)
            if (in[i]) rf__needed(in[i]);
        rf__needed(y);
    }
    return rf__call(g, RF_OP(attention), y, in, INPUTS, &s, sizeof s);
}
