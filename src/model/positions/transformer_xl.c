/* transformer_xl.c — projected sines of the distance, and a bias of each head for positions alone.
 *                                                                          Dai et al. 2019; Yang et al. 2019 (XLNet)
 *     score(m,n) = (<q_m + u, k_n> + <q_m + v, W_R R_(m-n)>) / sqrt D          R_d = sin(d omega), cos(d omega)
 *                                                                              omega_t = b^(-2t/C)    
 * With q' = q + u, which the query's bias is, this is <q'_m, k_n> + <q'_m, A_r> + <w, A_r>, A = R W_R^T, w = v - u:
 * w is the parameter relative_bias here, and u needs none.
 *
 * XLNet clips distances to clamp_len and adds <q_m + s, e_j> / sqrt D, where j says whether m and n are in the same
 * segment. With q' as above, the parameter segment_bias is s - u.
 *
 * A folder of XLNet (families/xlnet.c) has u, v and s themselves, and transposed matrices; u is weight U below. */
#include "model/position.h"

#include <math.h>

enum { KEYS, BIAS, SEGMENT_BIAS, SEGMENTS, U };         /* the parameters of a layer                                 */

static bool is_folder(const rf_config *c) { return !strcmp(c->family, "xlnet"); }

/* v - u or s - u, which a RoFormer with the encoding has as a parameter. */
static rf_tensor *bias_of(rf_graph *g, const rf_layer_context *at, int which)
{
    rf_tensor *const b = at->weight[which];
    if (!is_folder(at->config)) return b;
    float *minus = rf__push(g, (size_t)rf__size(b), sizeof *minus);
    if (!minus) return &g->nil.t;
    for (int64_t i = 0; i < rf__size(b); i++) minus[i] = -1;
    return rf__add(g, b, rf__mul(g, at->weight[U], rf__constant(g, minus, b->rank, b->dim)));
}

/* Kept rows are numbered 0, 1, -1, 2, -2, ... so that a longer text only needs more of them. */
static int64_t numbered(const rf_config *c, int64_t r)
{
    if (c->clamp_len >= 0) r = r > c->clamp_len ? c->clamp_len : r < -c->clamp_len ? -c->clamp_len : r;
    return r > 0 ? 2 * r - 1 : -2 * r;
}

static void wave(const rf_config *c, int64_t number, float *row, int64_t C)
{
    const double back = -(double)(number % 2 ? (number + 1) / 2 : -(number / 2));         /* m - n */
    for (int64_t t = 0; t < C / 2; t++) {
        const double angle = back * rf__sinusoidal_frequency(c, t, C);
        row[t] = (float)sin(angle);
        row[C / 2 + t] = (float)cos(angle);
    }
}

/* A, and <w, A>. For a causal model only offsets up to 0 are projected, which come first; larger ones are never
 * read. */
static void make(rf_graph *g, const rf_layer_context *at, int64_t clip, rf_tensor *table[])
{
    const rf_config *c = at->config;
    const int64_t H = c->num_attention_heads, C = c->hidden_size, all = 2 * clip + 1,
                  n = c->is_decoder ? clip + 1 : all;
    const int32_t *rows = rf__relative_rows(g, at, clip, numbered);
    const float *fixed = rows ? rf__positions_fixed(g, at, all, C, wave) : NULL;
    int32_t *row_of = rf__push(g, (size_t)all, sizeof *row_of);
    table[0] = table[1] = &g->nil.t;
    if (!fixed || !row_of) return;
    for (int64_t i = 0; i < all; i++) row_of[i] = (int32_t)rf__min64(i, n - 1);
    rf_tensor *waves = rf__embed(g, rf__constant(g, fixed, 2, (int64_t[]){all, C}), rows, n);
    if (is_folder(c)) waves = rf__dropout(g, waves, c->hidden_dropout_prob);
    table[0] = rf__linear(g, waves, at->weight[KEYS], NULL, RF_ACT_NONE);
    table[1] = rf__dots(g, table[0], bias_of(g, at, BIAS), H, 1 / sqrt((double)(C / H)));
    for (int i = 0; i < 2 && n < all; i++) table[i] = rf__rows(g, table[i], row_of, all);
}

static void relate(rf_graph *g, const rf_layer_context *at, rf_tensor *qkv, rf_attention_spec *spec)
{
    (void)qkv;
    rf_tensor *table[2];
    spec->clip = rf__relative_reach(g, at);
    rf__relative_tables(g, at, spec->clip, INT64_MAX, make, table, 2);
    spec->relative_query = table[0];
    spec->relative_bias = table[1];
}

static void set_segments(rf_graph *g, const rf_layer_context *at, rf_tensor *qkv, rf_attention_spec *spec)
{
    const int64_t H = at->config->num_attention_heads, types = at->config->type_vocab_size;
    float *own = rf__push(g, (size_t)(at->N * H * types), sizeof *own);
    relate(g, at, qkv, spec);
    for (int64_t n = 0; n < at->N; n++)
        if (at->type[n] < 0 || at->type[n] >= types) {
            rf__stop(g, RF_ERANGE, "token types: expected at most type_vocab_size - 1 = %lld, got %d",
                     (long long)types - 1, (int)at->type[n]);
            return;
        }
    if (!own) return;
    for (int64_t n = 0; n < at->N; n++)
        for (int64_t i = 0; i < H * types; i++) own[n * H * types + i] = i % types == at->type[n] ? 1 : 0;
    spec->more_query = rf__segment(g, qkv, bias_of(g, at, SEGMENT_BIAS), at->weight[SEGMENTS], H, at->type, types);
    spec->more_key = rf__constant(g, own, 2, (int64_t[]){at->N, H * types});
}

static int64_t segment_columns(const rf_config *c) { return c->num_attention_heads * c->type_vocab_size; }

static rf_status even(const rf_config *c, rf_error *why)
{
    if (c->hidden_size % 2 == 0) return RF_OK;
    return rf_fail(why, RF_EDATA, "config.json: hidden_size: expected an even number for sines and cosines, got %lld",
                   (long long)c->hidden_size);
}

static bool in_folder(const rf_config *c, int64_t layer)
{
    (void)layer;
    return is_folder(c);
}
static bool elsewhere(const rf_config *c, int64_t layer) { return !in_folder(c, layer); }

#define ROWS(when) {"attention.self.relative_key.weight", "CC", RF_INIT_NORMAL, true, 0, when}, \
                   {"attention.self.relative_bias", "HD", RF_INIT_ZEROS, false, 0, when}
static const rf_param_row xl[] = {ROWS(NULL), {0}};
static const rf_param_row net[] = {
    ROWS(elsewhere),
    {"attention.self.segment_bias", "HD", RF_INIT_ZEROS, false, 0, elsewhere},
    {"attention.self.segment_embeddings.weight", "2C", RF_INIT_NORMAL, false, 0, elsewhere},
    {"rel_attn.r", "CC", RF_INIT_NORMAL, true, RF_ROW_HEADS | RF_ROW_TRANSPOSED, in_folder},
    {"rel_attn.r_r_bias", "HD", RF_INIT_NORMAL, false, 0, in_folder},
    {"rel_attn.r_s_bias", "HD", RF_INIT_NORMAL, false, 0, in_folder},
    {"rel_attn.seg_embed", "2C", RF_INIT_NORMAL, false, RF_ROW_HEADS, in_folder},
    {"rel_attn.r_w_bias", "HD", RF_INIT_NORMAL, false, 0, in_folder},
    {0},
};
#undef ROWS

static int64_t two(const rf_config *c, char letter)
{
    (void)c, (void)letter;
    return 2;
}

const rf_position rf__position_transformer_xl = {
    .name = "transformer_xl",
    .equation = "score(m,n) = (<q_m + u, k_n> + <q_m + v, W_R R_(m-n)>) / sqrt D",
    .source = "Dai et al. 2019",
    .flags = RF_POSITION_SHIFT | RF_POSITION_EXTRAPOLATES,
    .layer = xl,
    .check = even,
    .relate = relate,
};

const rf_position rf__position_xlnet = {
    .name = "xlnet",
    .equation = "as transformer_xl, + <q_m + s, e_(segment m = segment n)> / sqrt D",
    .source = "Yang et al. 2019",
    .flags = RF_POSITION_SHIFT | RF_POSITION_EXTRAPOLATES,
    .layer = net,
    .extent = two,
    .check = even,
    .relate = set_segments,
    .key_columns = segment_columns,
};
