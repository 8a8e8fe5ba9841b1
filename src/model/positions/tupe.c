/* tupe.c — words and positions untied: each pair has a matrix of its own.                                Ke et al. 2021
 *
 *     score(m,n) = <q_m, k_n> / sqrt(2D) + reset(<U_Q p_m, U_K p_n> / sqrt(2D) + b[bucket(n - m), h])
 *     reset      = theta_1[h] in the row of [CLS], theta_2[h] in its column, else what it is given  position 0 is [CLS]
 *
 * p is normalized. All layers share p, U_Q, U_K, b and theta. The second product uses D further columns of each head.
 * Two more columns compute the reset, with the projected p of [CLS] set to zero: (first(m), not_first(m) (theta_2 -
 * b[-m])) times (-b[n], first(n)), each times sqrt(2D), subtracts the b that the row and column of [CLS] got. theta_1
 * is one number for a row, which changes no probability, so it has no parameter. */
#include "model/position.h"

#include <math.h>

enum { P, NORM, NORM_BIAS, U_Q, U_K, BUCKETS, ALL_TO_CLS };

/* -b[n] times sqrt(2D); or theta_h - b[-n] times sqrt(2D), and 0 where n is the first: [N,H] */
static rf_tensor *instead(rf_graph *g, const rf_layer_context *at, rf_tensor *theta, rf_tensor *b, int64_t clip)
{
    const int64_t H = at->config->num_attention_heads, D = at->config->hidden_size / H;
    const float one[1] = {(float)sqrt(2 * (double)D)}, minus[1] = {-one[0]};
    int32_t *zero = rf__push(g, (size_t)at->N, sizeof *zero), *row = rf__push(g, (size_t)at->N, sizeof *row);
    float *kept = rf__push(g, (size_t)(at->N * H), sizeof *kept);
    if (g->error.code) return &g->nil.t;
    for (int64_t n = 0; n < at->N; n++) {
        const int64_t m = rf__min64(at->position[n], clip);
        zero[n] = 0;
        row[n] = (int32_t)(theta ? clip - m : clip + m);
        for (int64_t h = 0; h < H; h++) kept[n * H + h] = at->position[n] == 0 ? 0 : 1;
    }
    rf_tensor *x = rf__mix(g, b, 1, minus, (const int32_t *const[]){row}, at->N);
    if (!theta) return x;
    x = rf__add(g, rf__mix(g, theta, 1, one, (const int32_t *const[]){zero}, at->N), x);
    return rf__mul(g, x, rf__constant(g, kept, 2, (int64_t[]){at->N, H}));
}

/* 1 where n is the first of its text: [N,H] */
static rf_tensor *first(rf_graph *g, const rf_layer_context *at)
{
    const int64_t H = at->config->num_attention_heads;
    float *x = rf__push(g, (size_t)(at->N * H), sizeof *x);
    if (!x) return &g->nil.t;
    for (int64_t i = 0; i < at->N * H; i++) x[i] = at->position[i / H] == 0 ? 1 : 0;
    return rf__constant(g, x, 2, (int64_t[]){at->N, H});
}

/* Rows 0 .. rows-1 of U p, with zeros for [CLS]: [rows,C] */
static rf_tensor *projected(rf_graph *g, const rf_layer_context *at, rf_tensor *u, int64_t rows)
{
    const int64_t C = at->config->hidden_size;
    rf_tensor *const *w = at->shared;
    int32_t *row_of = rf__push(g, (size_t)rows, sizeof *row_of);
    float *kept = rf__push(g, (size_t)(rows * C), sizeof *kept);
    if (!row_of || !kept) return &g->nil.t;
    for (int64_t i = 0; i < rows; i++) row_of[i] = (int32_t)i;
    for (int64_t i = 0; i < rows * C; i++) kept[i] = i < C ? 0 : 1;
    rf_tensor *p = rf__norm(g, rf__embed(g, w[P], row_of, rows), NULL, 0, w[NORM], w[NORM_BIAS],
                            at->config->layer_norm_eps, RF_NORM_LAYER);
    return rf__mul(g, rf__linear(g, p, u, NULL, RF_ACT_NONE), rf__constant(g, kept, 2, (int64_t[]){rows, C}));
}

/* One of these for each token: [N,C]. If parameters never change, they are computed once, for all layers. */
static rf_tensor *position_columns(rf_graph *g, const rf_layer_context *at, int which)
{
    const int64_t C = at->config->hidden_size, rows = (int64_t)at->highest + 1;
    rf_tensor *x = NULL;
    if (at->still) {
        const rf_kept *t = rf__positions_kept(at, -1, which);
        const int64_t wide = rf__min64((rows + 63) / 64 * 64, at->config->max_position_embeddings);
        if (t->rows < rows)
            rf__positions_keep(g, at, -1, which, wide, C, projected(g, at, at->shared[U_Q + which], wide)->f32);
        if (!g->error.code) x = rf__constant(g, t->x, 2, (int64_t[]){rows, C});
    } else {
        x = projected(g, at, at->shared[U_Q + which], rows);
    }
    return x ? rf__rows(g, x, at->position, at->N) : &g->nil.t;
}

static void relate(rf_graph *g, const rf_layer_context *at, rf_tensor *qkv, rf_attention_spec *spec)
{
    (void)qkv;
    const rf_config *c = at->config;
    const int64_t D = c->hidden_size / c->num_attention_heads;
    rf_tensor *const *w = at->shared;
    rf__relative_reach(g, at);
    if (!rf__positions_below(g, at, c->max_position_embeddings, "max_position_embeddings")) return;
    spec->clip = c->relative_attention_max_distance;
    const int32_t *buckets = rf__relative_rows(g, at, spec->clip, rf__relative_bucket);
    if (!buckets) return;
    rf_tensor *b = rf__rows(g, w[BUCKETS], buckets, 2 * spec->clip + 1);
    spec->scale = 1 / sqrt(2 * (double)D);
    spec->relative_bias = b;
    spec->more_query =
        rf__beside(g, position_columns(g, at, 0), first(g, at), instead(g, at, w[ALL_TO_CLS], b, spec->clip));
    spec->more_key = rf__beside(g, position_columns(g, at, 1), instead(g, at, NULL, b, spec->clip), first(g, at));
}

static int64_t extent(const rf_config *c, char letter)
{
    (void)letter;
    return c->relative_attention_num_buckets;
}

static int64_t key_columns(const rf_config *c) { return c->hidden_size + 2 * c->num_attention_heads; }

static const rf_param_row rows[] = {
    {"encoder.position_embeddings.weight", "PC", RF_INIT_NORMAL, true, 0, NULL},
    {"encoder.position_norm.weight", "C", RF_INIT_ONES, false, 0, NULL},
    {"encoder.position_norm.bias", "C", RF_INIT_ZEROS, false, 0, NULL},
    {"encoder.position_query.weight", "CC", RF_INIT_NORMAL, true, 0, NULL},
    {"encoder.position_key.weight", "CC", RF_INIT_NORMAL, true, 0, NULL},
    {"encoder.relative_attention_bias.weight", "BH", RF_INIT_NORMAL, false, 0, NULL},
    {"encoder.all_to_cls", "1H", RF_INIT_ZEROS, false, 0, NULL},
    {0},
};

const rf_position rf__position_tupe = {
    .name = "tupe",
    .equation = "score(m,n) = (<q_m, k_n> + <U_Q p_m, U_K p_n>) / sqrt(2D) + b[bucket(n - m), h],  [CLS] reset",
    .source = "Ke et al. 2021",
    .embedding = rows,
    .extent = extent,
    .check = rf__relative_bucket_check,
    .relate = relate,
    .key_columns = key_columns,
};
