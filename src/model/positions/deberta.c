/* deberta.c — disentangled attention: content to content, content to position, position to content.     He et al. 2021
 *
 *     score(m,n) = (<q_m, k_n> + <q_m, W_K e_d> + <k_n, W_Q e_d>) / sqrt(3D),   d = clamp(bucket(m - n) + S, 0, 2S - 1)
 *
 * All layers share e [2S,C], which is normalized (norm_rel_ebd).  Each layer has W_K and W_Q with biases: separate ones
 * for positions, or with share_att_key (the published versions 2 and 3) those of its words.  Both terms use the row of
 * m - n, as the authors' code does; the paper's Eq. 4 has n - m in the last, which relabels a learned table. S =
 * position_buckets if positive, and bucket then grows with the logarithm beyond S / 2 until max_relative_positions
 * (version 2); else S = max_relative_positions, and bucket is the distance itself.
 *
 * A DeBERTa (families/deberta_v2.c) may lack the norm, or one or both terms, each of which counts in the root: 3 is 1 +
 * the number of terms. It may have learned vectors of positions besides, as BERT. Version 1 has other names of W_K and
 * W_Q, and no bias of W_K. */
#include "model/position.h"

#include <math.h>
#include <stdlib.h>

static int64_t farthest(const rf_config *c)
{
    return c->max_relative_positions > 0 ? c->max_relative_positions : c->max_position_embeddings;
}

static int64_t span(const rf_config *c) { return c->position_buckets > 0 ? c->position_buckets : farthest(c); }

/* log x, rounded to f32 before and after, as transformers computes it. */
static float log_of(double x) { return (float)log((double)(float)x); }

/* In f32, as in transformers: where the logarithm is next to a whole number, a double would be rounded up to another
 * bucket. */
static int64_t bucket(const rf_config *c, int64_t d)
{
    const int64_t middle = c->position_buckets / 2, distance = llabs((long long)d);
    if (c->position_buckets <= 0 || distance <= middle) return d;
    const float far = log_of((double)(farthest(c) - 1) / (double)middle),
                share = log_of((double)((float)distance / (float)middle)) / far;
    const int64_t b = (int64_t)ceilf(share * (float)(middle - 1)) + middle;
    return d < 0 ? -b : b;
}

static int64_t row(const rf_config *c, int64_t r)
{
    const int64_t S = span(c), d = bucket(c, -r) + S;
    return d < 0 ? 0 : d > 2 * S - 1 ? 2 * S - 1 : d;
}

/* Rows do not change beyond this distance, where the last bucket, S, is reached. ceil(share (M - 1)) + M >= S with M =
 * S / 2 rounded down holds beyond share = (S - 1 - M) / (M - 1): that is 1, at farthest - 1, if S is even; if it is
 * odd, bucket S - 1 is beyond `farthest`, too. */
static int64_t reach(const rf_config *c)
{
    const int64_t S = span(c), middle = S / 2, near = rf__max64(farthest(c), S) + 1;
    if (c->position_buckets <= 0 || S % 2 == 0) return near;
    const double share = (double)(S - 1 - middle) / (double)(middle - 1);
    const double last = (double)middle * pow((double)(farthest(c) - 1) / (double)middle, share);
    return rf__max64(near, last < INT32_MAX - 2 ? (int64_t)last + 2 : INT32_MAX);
}

static bool relative(const rf_config *c) { return !(c->deberta & RF_DEBERTA_NO_RELATIVE); }
static bool has_c2p(const rf_config *c) { return !(c->deberta & RF_DEBERTA_NO_C2P); }
static bool has_p2c(const rf_config *c) { return !(c->deberta & RF_DEBERTA_NO_P2C); }
static bool absolute(const rf_config *c) { return c->deberta & RF_DEBERTA_ABSOLUTE; }
static bool version_1(const rf_config *c) { return !strcmp(c->family, "deberta"); }
static bool version_2(const rf_config *c) { return !strcmp(c->family, "deberta_v2"); }
static bool normed(const rf_config *c) { return !version_1(c) && !(c->deberta & RF_DEBERTA_NO_NORM); }

/* Position keys, with which the queries of words are multiplied (c2p), and position queries for the keys of words
 * (p2c). */
enum { QUERY, KEY };

/* The matrices that project positions, in the order of their tables; returns how many. */
static int terms(const rf_config *c, int which[2])
{
    int n = 0;
    if (has_p2c(c)) which[n++] = QUERY;
    if (has_c2p(c)) which[n++] = KEY;
    return relative(c) ? n : 0;
}

/* W e + b: with the layer's own matrices for positions, or with share_att_key those for its words. */
static rf_tensor *projected(rf_graph *g, const rf_layer_context *at, rf_tensor *e, int which)
{
    const rf_config *c = at->config;
    const int64_t C = c->hidden_size;
    if (c->share_att_key) return rf__linear_part(g, e, at->qkv, at->qkv_bias, which * C, C, RF_ACT_NONE);
    rf_tensor *const *w = at->weight;
    if (which == KEY) return rf__linear(g, e, w[0], version_1(c) ? NULL : w[1], RF_ACT_NONE);
    if (has_c2p(c)) w += version_1(c) ? 1 : 2;                    /* only those that a model has are there            */
    return rf__linear(g, e, w[0], w[1], RF_ACT_NONE);
}

/* e of some rows, normalized. */
static rf_tensor *vectors_of(rf_graph *g, const rf_layer_context *at, const int32_t *rows, int64_t n)
{
    const rf_config *c = at->config;
    rf_tensor *const *w = at->shared + absolute(c), *e = rf__rows(g, w[0], rows, n);
    if (normed(c))
        e = rf__norm(g, e, NULL, 0, w[1], w[2], c->layer_norm_eps, RF_NORM_LAYER);
    return rf__dropout(g, e, c->hidden_dropout_prob);
}

/* Rows decrease as r increases, so the rows for offsets up to `clip` are adjacent: only these are projected, each once.
 * A causal model has no offset above 0: there the table repeats the row of 0, which is never read. */
static void make(rf_graph *g, const rf_layer_context *at, int64_t clip, rf_tensor *table[])
{
    const rf_config *c = at->config;
    const int64_t all = 2 * clip + 1, highest = row(c, -clip), lowest = row(c, c->is_decoder ? 0 : clip),
                  n = highest - lowest + 1;
    const int32_t *rows = rf__relative_rows(g, at, clip, row);
    int32_t *met = rf__push(g, (size_t)n, sizeof *met), *row_of = rf__push(g, (size_t)all, sizeof *row_of);
    int which[2];
    const int count = terms(c, which);
    for (int i = 0; i < count; i++) table[i] = &g->nil.t;
    if (!rows || !met || !row_of) return;
    for (int64_t i = 0; i < n; i++) met[i] = (int32_t)(highest - i);
    for (int64_t i = 0; i < all; i++) row_of[i] = (int32_t)(highest - rf__max64(rows[i], lowest));
    rf_tensor *const e = vectors_of(g, at, met, n);
    for (int i = 0; i < count; i++) {
        rf_tensor *const x = projected(g, at, e, which[i]);
        table[i] = n == all ? x : rf__rows(g, x, row_of, all);
    }
}

/* Projected queries are multiplied with keys, and projected keys with queries. */
static void relate(rf_graph *g, const rf_layer_context *at, rf_tensor *qkv, rf_attention_spec *spec)
{
    (void)qkv;
    const rf_config *c = at->config;
    rf_tensor *table[2];
    int which[2];
    const int n = terms(c, which), counted = 1 + has_c2p(c) + has_p2c(c);
    spec->scale = 1 / sqrt((double)(counted * (c->hidden_size / c->num_attention_heads)));
    if (!n) return;
    spec->clip = rf__min64(rf__relative_reach(g, at), reach(c));
    rf__relative_tables(g, at, spec->clip, reach(c), make, table, n);
    for (int i = 0; i < n; i++) *(which[i] == KEY ? &spec->relative_query : &spec->relative_key) = table[i];
}

static rf_tensor *embed(rf_graph *g, const rf_layer_context *at, rf_tensor *words)
{
    return absolute(at->config) ? rf__absolute_embed(g, at, words) : words;
}

static rf_status check(const rf_config *c, rf_error *why)
{
    if (!relative(c) || c->position_buckets <= 0) return RF_OK;
    if (c->position_buckets >= 4 && farthest(c) - 1 > c->position_buckets / 2) return RF_OK;
    return rf_fail(why, RF_EDATA, "config.json: position_buckets: expected at least 4, and positions beyond half of "
                   "them, got %lld with positions to %lld", (long long)c->position_buckets, (long long)farthest(c));
}

static bool convolves(const rf_config *c) { return version_2(c) && c->conv_kernel_size > 0; }

static int64_t extent(const rf_config *c, char letter)
{
    return letter == 'W' ? c->hidden_size * c->conv_kernel_size : 2 * span(c);
}

#define WHEN(name, condition)                                                                                          \
    static bool when_##name(const rf_config *c, int64_t layer)                                                         \
    {                                                                                                                  \
        (void)layer;                                                                                                   \
        return condition;                                                                                              \
    }
WHEN(absolute, absolute(c))
WHEN(relative, relative(c))
WHEN(normed, normed(c))
WHEN(c2p, relative(c) && has_c2p(c) && !c->share_att_key && !version_1(c))
WHEN(p2c, relative(c) && has_p2c(c) && !c->share_att_key && !version_1(c))
WHEN(first_c2p, relative(c) && has_c2p(c) && version_1(c))
WHEN(first_p2c, relative(c) && has_p2c(c) && version_1(c))
WHEN(convolved, convolves(c))
#undef WHEN

rf_tensor *const *rf__deberta_convolution(const rf_config *c, const rf_layer_context *at)
{
    if (!convolves(c)) return NULL;
    return at->shared + absolute(c) + relative(c) + (normed(c) ? 2 : 0);
}

/* Learned vectors come first, where rf__absolute_embed expects them. */
static const rf_param_row shared[] = {
    {"embeddings.position_embeddings.weight", "PE", RF_INIT_NORMAL, true, 0, when_absolute},
    {"encoder.rel_embeddings.weight", "BC", RF_INIT_NORMAL, true, 0, when_relative},
    {"encoder.LayerNorm.weight", "C", RF_INIT_ONES, false, 0, when_normed},
    {"encoder.LayerNorm.bias", "C", RF_INIT_ZEROS, false, 0, when_normed},
    {"encoder.conv.conv.weight", "CW", RF_INIT_NORMAL, true, RF_ROW_TAPS, when_convolved},
    {"encoder.conv.conv.bias", "C", RF_INIT_ZEROS, false, 0, when_convolved},
    {"encoder.conv.LayerNorm.weight", "C", RF_INIT_ONES, false, 0, when_convolved},
    {"encoder.conv.LayerNorm.bias", "C", RF_INIT_ZEROS, false, 0, when_convolved},
    {0},
};
static const rf_param_row layer[] = {
    {"attention.self.pos_key_proj.weight", "CC", RF_INIT_NORMAL, true, 0, when_c2p},
    {"attention.self.pos_key_proj.bias", "C", RF_INIT_ZEROS, false, 0, when_c2p},
    {"attention.self.pos_query_proj.weight", "CC", RF_INIT_NORMAL, true, 0, when_p2c},
    {"attention.self.pos_query_proj.bias", "C", RF_INIT_ZEROS, false, 0, when_p2c},
    {"attention.self.pos_proj.weight", "CC", RF_INIT_NORMAL, true, 0, when_first_c2p},
    {"attention.self.pos_q_proj.weight", "CC", RF_INIT_NORMAL, true, 0, when_first_p2c},
    {"attention.self.pos_q_proj.bias", "C", RF_INIT_ZEROS, false, 0, when_first_p2c},
    {0},
};

const rf_position rf__position_deberta = {
    .name = "deberta",
    .equation = "score(m,n) = (<q_m, k_n> + <q_m, W_K e_d> + <k_n, W_Q e_d>) / sqrt(3D),  d = bucket(m - n)",
    .source = "He et al. 2021",
    .flags = RF_POSITION_SHIFT | RF_POSITION_EXTRAPOLATES,
    .embedding = shared,
    .layer = layer,
    .extent = extent,
    .check = check,
    .embed = embed,
    .relate = relate,
};
