/* linear_attention.c — attention whose weights are products of features, in time and memory linear in the tokens.
 *
 *     out_m = sum_n <phi(q_m), psi(k_n)> v_n / sum_n <phi(q_m), psi(k_n)>                             RoFormer, Eq. 17
 *     out_m = sum_n <R(m) phi(q_m), R(n) psi(k_n)> v_n / sum_n <phi(q_m), psi(k_n)>                   Eq. 19
 *
 * over the tokens of m's own sequence, causal: n <= m.  Units of work are (sequence, head); src/kernel/attention/linear
 * computes them.  The backward pass recomputes features.  Besides the result, causal heads store their state before
 * every 128th token (rfk__linear_left_bytes).  If the graph's products are in bf16, queries, keys and values are
 * rounded to it; all sums are in f32. */
#include <math.h>

#include "graph/graph.h"
#include "kernel/attention/linear/linear_attention.h"

struct saved {
    rf_linear_attention_spec spec;      /* start, row, random: copied if recorded */
    const rfk__feature_map *map;
    int64_t N, D, features;
    bool bf16;
    void **left;                        /* [B H] data of a causal forward for its backward; NULL: not recorded */
};

struct pass {
    const struct saved *s;
    const rfk_table *k;
    const float *qkv, *panels, *powers;
    float *out;
    const float *d_out;                 /* backward */
    float *d_qkv;
    char *scratch;
    size_t each;                        /* bytes of one worker's scratch */
    int64_t *underflows;                /* [B H] */
};

/* The kernel's problem of one sequence and one head. */
static rfk__linear problem(const struct pass *a, int64_t b, int64_t h)
{
    const struct saved *s = a->s;
    const rf_linear_attention_spec *p = &s->spec;
    const rf_rope_spec *rope = p->rope ? rf_rope_spec_of(p->rope) : NULL;
    const int64_t C = p->heads * s->D, start = p->start[b];
    const float *q = a->qkv ? a->qkv + start * 3 * C + h * s->D : NULL;
    return (rfk__linear){
        .k = a->k,
        .map = s->map,
        .width = s->D,
        .features = s->features,
        .w = a->panels,
        .epsilon = (float)(p->epsilon < 0 ? s->map->epsilon : p->epsilon),
        .causal = p->causal,
        .bf16 = s->bf16,
        .cos = rope ? rf_rope_cos(p->rope) : NULL,
        .sin = rope ? rf_rope_sin(p->rope) : NULL,
        .row = p->row ? p->row + start : NULL,
        .rotary = rope ? rope->rotary : 0,
        .layout = rope ? rope->layout : RF_ROPE_PAIRS,
        .after = p->rotate_features,
        .decay = a->powers,
        .q = q,
        .key = q ? q + C : NULL,
        .v = q ? q + 2 * C : NULL,
        .stride = 3 * C,
        .tokens = p->start[b + 1] - start,
        .left = s->left ? s->left[b * p->heads + h] : NULL,
        .out = a->out ? a->out + start * C + h * s->D : NULL,
        .out_stride = C,
    };
}

/* ---- states ------------------------------------------------------------------------------------------------------ */

static int64_t floats_of_head(const rfk_table *k, int64_t features, int64_t D)
{
    return (int64_t)(rfk__linear_state_bytes(k, features, D) / sizeof(float));
}

int64_t rf__linear_attention_features(const char *map, int64_t features, int64_t D)
{
    const rfk__feature_map *m = rfk__feature_map_named(map);
    if (!m || !m->projects) return D;
    return features > 0 ? features : (rfk__default_features(D) + 1) / 2 * 2;
}

double rf_linear_attention_flops(const char *feature_map, int64_t features, int64_t D, int causal, int back)
{
    const rfk__feature_map *m = feature_map ? rfk__feature_map_named(feature_map) : NULL;
    if (!m || D < 1) return 0;
    const double f = (double)rf__linear_attention_features(feature_map, features, D), wide = (double)D;
    const double pairs = !causal ? 0 : back ? 2 * (RFK_LINEAR_BACK_CHUNK + 1) : RFK_LINEAR_CHUNK + 1;
    return (back ? 8 : 4) * f * wide + (m->projects ? 4 * f * wide : 0) + pairs * (f + wide);
}

int64_t rf__linear_attention_state(const rfk_table *k, int64_t heads, int64_t features, int64_t D)
{
    return heads * floats_of_head(k, features, D);
}

/* Head h's part of the state of sequence b, as it was before this call. */
static void *state_of(const struct pass *a, int64_t b, int64_t h)
{
    const rf_linear_attention_spec *p = &a->s->spec;
    if (!p->next) return NULL;
    const int64_t floats = floats_of_head(a->k, a->s->features, a->s->D);
    float *to = p->next[b] + h * floats;
    if (p->past[b]) memcpy(to, p->past[b] + h * floats, (size_t)floats * sizeof *to);
    else rfk__linear_begin(a->k, to, a->s->features, a->s->D);
    return to;
}

/* ---- both ways --------------------------------------------------------------------------------------------------- */

static void attend(void *arg, int64_t i, int worker)
{
    const struct pass *a = arg;
    const int64_t H = a->s->spec.heads;
    rfk__linear p = problem(a, i / H, i % H);
    p.state = state_of(a, i / H, i % H);
    rfk__linear_forward(&p, a->scratch + (size_t)worker * a->each);
    a->underflows[i] = p.underflows;
}

static void attend_back(void *arg, int64_t i, int worker)
{
    const struct pass *a = arg;
    const int64_t H = a->s->spec.heads, C = H * a->s->D, b = i / H, h = i % H, start = a->s->spec.start[b];
    const rfk__linear p = problem(a, b, h);
    float *dq = a->d_qkv + start * 3 * C + h * a->s->D;
    const rfk__linear_grad d = {a->d_out + start * C + h * a->s->D, C, dq, dq + C, dq + 2 * C, 3 * C};
    rfk__linear_back(&p, &d, a->scratch + (size_t)worker * a->each);
}

static void count(rf_graph *g, const struct saved *s, int back)
{
    g->flops += (double)(s->spec.start[s->spec.B] * s->spec.heads) *
                rf_linear_attention_flops(s->map->name, s->features, s->D, s->spec.causal, back);
}

/* Panels of the random features, and scratch for every worker, large enough for every sequence. */
static void get_scratch(rf_graph *g, struct pass *a, size_t (*needs)(const rfk__linear *))
{
    const struct saved *s = a->s;
    const size_t floats = s->map->projects ? rfk__linear_panels(a->k, s->features, s->D) : 0;
    float *panels = floats ? rf__values(g, floats, sizeof *panels) : NULL;
    if (panels && rf__computes(g)) rfk__linear_pack(a->k, s->spec.random, s->features, s->D, panels);
    a->panels = panels;
    float *powers = s->spec.decay ? rf__values(g, rfk__linear_decays(s->features), sizeof *powers) : NULL;
    if (powers && rf__computes(g))
        rfk__linear_decay(s->spec.decay, s->features, rf_rope_spec_of(s->spec.rope)->layout, powers);
    a->powers = powers;
    for (int64_t b = 0; b < s->spec.B; b++) {
        const rfk__linear p = problem(a, b, 0);
        const size_t bytes = needs(&p);
        if (bytes > a->each) a->each = bytes;
    }
    a->scratch = rf__values(g, (size_t)g->ctx->threads, a->each);
}

void rf__linear_attention_run(rf_graph *g, rf_node *n)
{
    const struct saved *s = n->saved;
    const int64_t units = s->spec.B * s->spec.heads;
    struct pass a = {.s = s, .k = g->k, .qkv = n->in[0]->f32, .out = n->out->f32};
    const rf_mark mark = rf__scratch(g);
    get_scratch(g, &a, rfk__linear_scratch);
    a.underflows = rf__values(g, (size_t)units, sizeof *a.underflows);
    if (g->error.code) return;
    count(g, s, 0);
    rf__each(g, units, attend, &a);
    for (int64_t i = 0; s->spec.underflows && i < units && rf__computes(g); i++) *s->spec.underflows += a.underflows[i];
    rf__scratch_end(g, mark);
}

void rf__linear_attention_back(rf_graph *g, rf_node *n)
{
    const struct saved *s = n->saved;
    struct pass a = {.s = s, .k = g->k, .qkv = n->in[0]->f32, .out = n->out->f32, .d_out = n->out->grad};
    a.d_qkv = rf__floats(g, rf__size(n->in[0]));
    const rf_mark mark = rf__scratch(g);
    get_scratch(g, &a, rfk__linear_back_scratch);
    if (g->error.code) return;
    count(g, s, 1);
    rf__each(g, s->spec.B * s->spec.heads, attend_back, &a);
    rf__scratch_end(g, mark);
    rf__adjoint(g, n->in[0], a.d_qkv);
}

/* Memory for the data that every head of every sequence stores. */
static void **get_left(rf_graph *g, const struct saved *s)
{
    const int64_t H = s->spec.heads;
    void **left = rf__push(g, (size_t)(s->spec.B * H), sizeof *left);
    for (int64_t b = 0; b < s->spec.B && !g->error.code; b++) {
        const int64_t T = s->spec.start[b + 1] - s->spec.start[b];
        const size_t each = rfk__linear_left_bytes(g->k, s->features, s->D, T);
        char *all = rf__values(g, (size_t)H, each);
        for (int64_t h = 0; all && h < H; h++) left[b * H + h] = all + (size_t)h * each;
    }
    return left;
}

/* ---- the operation ----------------------------------------------------------------------------------------------- */

static rf_tensor *refuse_rotation(rf_graph *g, const struct saved *s)
{
    const rf_linear_attention_spec *p = &s->spec;
    RF_NEED(g, !p->rope == !p->row, RF_EARG, "linear_attention: expected both rope and row, got one of them");
    RF_NEED(g, !p->decay || (p->causal && p->rope && p->rotate_features), RF_EARG,
            "linear_attention: decay: expected causal attention with rotated features, got another");
    if (!p->rope) return NULL;
    const int64_t r = rf_rope_spec_of(p->rope)->rotary, rows = rf_rope_rows(p->rope);
    RF_NEED(g, p->rotate_features ? r == s->features : r <= s->D, RF_ESHAPE,
            "linear_attention: angles: expected %s %lld columns of a %s, got %lld",
            p->rotate_features ? "the" : "at most",
            (long long)(p->rotate_features ? s->features : s->D), p->rotate_features ? "row of features" : "head",
            (long long)r);
    for (int64_t n = 0; n < s->N; n++)
        RF_NEED(g, p->row[n] >= 0 && p->row[n] < rows, RF_ERANGE,
                "linear_attention: token %lld: expected a row from 0 to below the table's %lld, got %d", (long long)n,
                (long long)rows, (int)p->row[n]);
    return NULL;
}

static rf_tensor *refuse(rf_graph *g, const struct saved *s)
{
    const rf_linear_attention_spec *p = &s->spec;
    RF_STARTS(g, "linear_attention", p->start, p->B, s->N, 0);
    RF_NEED(g, !s->map->projects || (s->features > 0 && p->random), RF_EARG,
            "linear_attention: feature map \"%s\": expected random features, got %lld", s->map->name,
            (long long)(p->random ? s->features : 0));
    RF_NEED(g, rfk__linear_fits(g->k, s->features, s->D, s->N), RF_ERANGE,
            "linear_attention: expected no more features than can be computed, of heads up to %d, got %lld of heads of "
            "%lld", RFK__WIDEST, (long long)s->features, (long long)s->D);
    RF_NEED(g, !(p->epsilon > 0) || p->epsilon < HUGE_VAL, RF_ERANGE,
            "linear_attention: epsilon: expected a finite number, got %g", p->epsilon);
    RF_NEED(g, !p->past == !p->next && (!p->next || (p->causal && !g->record)), RF_EARG,
            "linear_attention: past, next: expected both, in causal attention, in a graph that does not record");
    return refuse_rotation(g, s);
}

/* What the backward pass reads. */
static void keep(rf_graph *g, struct saved *s)
{
    rf_linear_attention_spec *p = &s->spec;
    if (p->causal) s->left = get_left(g, s);
    p->start = rf__copy(g, p->start, (size_t)p->B + 1, sizeof *p->start);
    if (p->row) p->row = rf__copy(g, p->row, (size_t)s->N, sizeof *p->row);
    if (p->decay) p->decay = rf__copy(g, p->decay, (size_t)(s->features / 2), sizeof *p->decay);
    if (s->map->projects) p->random = rf__values_for_back(g, true, p->random, s->features * s->D);
}

rf_tensor *rf__linear_attention(rf_graph *g, rf_tensor *qkv, const rf_linear_attention_spec *spec)
{
    RF_EXPECT(g, "linear_attention", qkv, 2);
    RF_NEED(g, spec && spec->feature_map, RF_EARG,
            "linear_attention: spec: expected a description with a feature_map, got none");
    RF_NEED(g, spec->heads > 0 && spec->heads <= INT32_MAX && qkv->dim[1] > 0 && qkv->dim[1] % (3 * spec->heads) == 0,
            RF_ESHAPE, "linear_attention: columns: expected a multiple of 3 times %lld heads, got %lld",
            (long long)spec->heads, (long long)qkv->dim[1]);
    const rfk__feature_map *map = rfk__feature_map_named(spec->feature_map);
    RF_NEED(g, map, RF_EARG, "linear_attention: expected a known feature map, got \"%.32s\"", spec->feature_map);
    const int64_t D = qkv->dim[1] / (3 * spec->heads);
    struct saved s = {.spec = *spec,
                      .map = map,
                      .N = qkv->dim[0],
                      .D = D,
                      .features = map->projects ? spec->features : D,
                      .bf16 = g->products == RF_BF16};
    rf_tensor *nil = refuse(g, &s);
    if (nil) return nil;
    rf_tensor *y = rf__new(g, 2, (int64_t[]){s.N, qkv->dim[1] / 3});
    if (rf__tracked(g, RF_IN(qkv))) {
        keep(g, &s);
        rf__needed(qkv);
        rf__needed(y);
    }
    return rf__call(g, RF_OP(linear_attention), y, RF_IN(qkv), &s, sizeof s);
}
