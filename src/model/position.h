/* position.h — position encodings: the interface of a row, and the tables that the encoder keeps for it. The registry
 * is in positions.h.
 *
 * An encoding is one constant `rf_position` in src/model/positions/: its name in config.json (position_embedding_type),
 * its equation, the parameters it adds, and hooks. A hook that is NULL changes nothing.
 *
 *     w     = embed(words)                           [N,E]   before the norm of the embeddings
 *     angles(spec)                                 tables for attention or at->rotate, once before the first layer
 *     qkv   = rotate(h W_qkv)                          [N,3C]  in each layer, before attention
 *     relate(qkv, spec)                                      in each layer: what attention adds to scores and values
 *     a     = attend(qkv, spec)                   [N,C]   in each layer, replaces attention, for the few that need it
 *     a     = unrotate(attention(qkv, spec))           [N,C]   in each layer, after attention
 *
 * With at->cache, tokens continue those of earlier calls. The encoder stores rotated keys and values, and what relate
 * returns as more_key (key_columns); embed stores what it needs of earlier tokens itself (state; rf__cache_next_state).
 * An encoding whose angles depend on later tokens, or that has attend, cannot be cached.
 *
 * embed, rotate, relate, attend and unrotate create tensors of the tape and may be run again in the backward pass
 * (rf__recompute): everything that they read must stay unchanged until then. angles must not create tensors. */
#ifndef RF_POSITION_H
#define RF_POSITION_H

#include "graph/graph.h"
#include "model/cache.h"
#include "model/params/param_row.h"
#include "roformer/model.h"
#include "roformer/inspect/positions.h"

/* Tables of one encoder that are kept between batches; see position.c. */
typedef struct rf_positions rf_positions;

/* Where a hook is called: one batch, and the embeddings (layer -1) or a layer. */
typedef struct rf_layer_context {
    const rf_config *config;
    int64_t layer;
    int64_t N, B;
    const int32_t *id;                  /* [N]                                                                        */
    const int32_t *type;                /* [N]                                                                        */
    const int32_t *start;               /* [B+1]                                                                      */
    const int32_t *position;            /* [N]                                                                        */
    const int32_t *length;              /* [N] of each token's sequence: its largest position + 1, at least 1         */
    int32_t lowest, highest;            /* of all positions                                                           */
    bool still;                         /* parameters never change: tables that depend only on them may be kept       */
    bool chosen;                      /* the caller gave the positions; otherwise they are 0, 1, ... in each sequence */
    rf_tensor *const *weight;           /* the encoding's parameters of this layer, in the order of its rows; those of
                                           the embeddings if it has none for layers */
    rf_tensor *const *shared;           /* those of the embeddings, for all layers                                    */
    int64_t features;                   /* for linear attention: number of columns of features if these are rotated
                                           instead of q and k; 0: they are not */
    const double *decay;                /* set by `angles` for these: rf_linear_attention_spec.decay; NULL: none      */
    rf_tensor *qkv, *qkv_bias;          /* [3C,C], [3C]: the layer's matrices of queries, keys and values             */
    rf_positions *kept;
    uint64_t batch;                     /* the number of this batch among those of `kept`                             */
    rf_rotate_parts_spec rotate, unrotate; /* set by `angles` for rf__rotate_parts; parts 0: nothing to do            */
    rf_rotate_parts_spec past, future;  /* for far keys (rerope.c)                                                    */
    rf_cache *cache;                   /* for a causal model that continues sequences; NULL: all tokens are present */
} rf_layer_context;

struct rf_position {
    const char *name;                   /* position_embedding_type                                                    */
    const char *equation;
    const char *source;
    int flags;
    const rf_param_row *embedding, *layer; /* rows of the parameter table, ending with a row without a name; or NULL  */

    /* Sizes for letters of shapes that the table does not know (it knows V T E C F K, P max_position_embeddings, H
     * heads, D head width). */
    int64_t (*extent)(const rf_config *c, char letter);

    /* Initial values of rows with RF_INIT_MADE. */
    void (*fill)(const rf_config *c, const rf_param *p, float *to);

    /* Conditions besides the ranges of single keys, which have been checked: RF_EDATA with one message, before any
     * weight is read. */
    rf_status (*check)(const rf_config *c, rf_error *why);

    rf_tensor *(*embed)(rf_graph *g, const rf_layer_context *at, rf_tensor *words);
    rf_status (*angles)(rf_graph *g, rf_layer_context *at, rf_attention_spec *spec, rf_error *why);
    rf_tensor *(*rotate)(rf_graph *g, const rf_layer_context *at, rf_tensor *qkv);
    void (*relate)(rf_graph *g, const rf_layer_context *at, rf_tensor *qkv, rf_attention_spec *spec);
    bool vectors;                       /* relate gives vectors for queries and values, not numbers alone             */
    rf_tensor *(*attend)(rf_graph *g, const rf_layer_context *at, rf_tensor *qkv, const rf_attention_spec *spec);
    rf_tensor *(*unrotate)(rf_graph *g, const rf_layer_context *at, rf_tensor *a);

    /* What sequences store for it (cache.h): floats of embed's state, columns of more_key. NULL: none. */
    int64_t (*state)(const rf_config *c);
    int64_t (*key_columns)(const rf_config *c);
};

/* What attention of a layer is about to compute, for an observer of inference. */
typedef struct rf__view {
    const rf_position *is;
    const rf_layer_context *at;
    const rf_tensor *qkv, *rotated;     /* [N,3C]: as projected, and as attention reads it                            */
    const rf_attention_spec *spec;      /* with what `relate` added                                                   */
    bool cross;                         /* attention to a source: qkv and rotated are its queries [N,C]               */
} rf__view;
typedef void rf__observer(void *user, rf_graph *g, const rf__view *view);

/* Columns of the grid of positions: position_grid_width, or the side of the smallest square that holds
 * max_position_embeddings. */
int64_t rf__position_grid(const rf_config *c);

/* ---- shared by encodings made of sines (sinusoidal.c) ------------------------------------------------------------ */

double rf__sinusoidal_frequency(const rf_config *c, int64_t t, int64_t width);     /* sinusoidal_base^(-2t/width)     */
void rf__sinusoidal_row(const rf_config *c, int64_t m, float *row, int64_t width); /* sines and cosines, interleaved  */
rf_status rf__sinusoidal_even(const rf_config *c, rf_error *why);                  /* embedding_size is               */

/* ---- rotary: shared by its files (rope_scaling.c) ---------------------------------------------------------------- */

/* The frequency of plane i of r/2, scaled as config defines. length: of the text, if the frequency depends on it;
 * otherwise 0. */
double rf__rope_theta(const rf_config *c, double base, int64_t r, int64_t length, int64_t i);
double rf__rope_gain(const rf_config *c);                    /* transformers' attention_factor, for cosines and sines */
bool rf__rope_by_length(const rf_config *c);

/* What limits positions (rf__positions_below) if the weights have a position table. */
#define RF_POSITION_TABLE_ROWS "rows of embed_positions in the weights, which `roformer convert --drop` can leave out"

/* Plane i at position m by the position table that the weights have; false: it has no such row, or there is none. */
bool rf__rope_stored(const rf_config *c, int64_t m, int64_t i, double *angle, double *gain);

/* ---- tables that an encoder keeps -------------------------------------------------------------------------------- */

rf_status rf__positions_new(const rf_ctx *ctx, const rf_config *c, rf_positions **out, rf_error *why);
void rf__positions_free(rf_positions *p);

/* Prepares the context of the batch: positions and lengths are pushed to the graph's arena. false: the graph has
 * stopped. */
bool rf__positions_bind(rf_graph *g, rf_positions *p, const rf_config *c, const rf_batch *b, rf_layer_context *out);

/* A table of angles for the batch, kept for the next one, and the row of each token in it (pushed).
 *
 *   part      which of a layer's tables: 0 to RF_POSITION_PARTS - 1
 *   by_token  angles also depend on the length of the text: the table has a row for each token and is created for each
 *             batch
 *   angle     angle and gain of plane i at a position of a text (length is 0 unless by_token): cos and sin are
 *             gain cos(angle), gain sin(angle) */
enum { RF_POSITION_PARTS = 4 };
typedef void rf_position_angle(const void *what, int64_t position, int64_t length, int64_t i, double *angle,
                               double *gain);
rf_status rf__positions_rope(rf_graph *g, const rf_layer_context *at, int part, int64_t rotary, rf_rope_layout layout,
                             bool by_token, rf_position_angle *angle, const void *what, const rf_rope **rope,
                             const int32_t **row, rf_error *why);

/* Rows 0 .. rows-1 of a fixed table [rows, width], which is kept and extended as needed; NULL: the graph has
 * stopped. */
typedef void rf_position_row(const rf_config *c, int64_t position, float *row, int64_t width);
const float *rf__positions_fixed(rf_graph *g, const rf_layer_context *at, int64_t rows, int64_t width,
                                 rf_position_row *fill);

/* The rows of such a table for the batch's positions, [N, width]. The table is kept for positions that count from 0,
 * and for others that are small; rows of larger ones are computed separately. */
rf_tensor *rf__positions_rows(rf_graph *g, const rf_layer_context *at, int64_t width, rf_position_row *fill);

/* Tables that an encoding creates, kept by number: for the layer, or for all layers with layer -1. keep copies x;
 * false: the graph has stopped. */
enum { RF_POSITION_TABLES = 2 };
typedef struct rf_kept { float *x; int64_t rows, width; } rf_kept;               /* x NULL, rows 0: not created yet   */
const rf_kept *rf__positions_kept(const rf_layer_context *at, int64_t layer, int number);
bool rf__positions_keep(rf_graph *g, const rf_layer_context *at, int64_t layer, int number, int64_t rows, int64_t width,
                        const float *x);

/* ---- relative: shared by its files (relative.c) ------------------------------------------------------------------ */

/* The largest distance of two tokens of one sequence. Relative encodings use the order of tokens: positions that the
 * caller chose must increase by one, otherwise the graph stops with a message. */
int64_t rf__relative_reach(rf_graph *g, const rf_layer_context *at);

/* rows[r + clip] = row(r), |r| <= clip: for rf__rows and rf__embed.  NULL: the graph has stopped. */
typedef int64_t rf_relative_row(const rf_config *c, int64_t r);
const int32_t *rf__relative_rows(rf_graph *g, const rf_layer_context *at, int64_t clip, rf_relative_row *row);

/* table[i] [2 clip + 1, width of it], i < n <= RF_POSITION_TABLES, as `make` computes them from parameters only. If
 * these never change, the tables are created once, for distances a little beyond clip but not beyond `farthest`, and
 * kept. */
typedef void rf_relative_make(rf_graph *g, const rf_layer_context *at, int64_t clip, rf_tensor *table[]);
void rf__relative_tables(rf_graph *g, const rf_layer_context *at, int64_t clip, int64_t farthest,
                         rf_relative_make *make, rf_tensor *table[], int n);

/* A constant [2 clip + 1, width]; column i of offset r is value(r, i). The numbers are computed once and kept. */
typedef double rf_relative_value(const rf_config *c, int64_t r, int64_t i);
rf_tensor *rf__relative_table(rf_graph *g, const rf_layer_context *at, int64_t clip, int64_t width,
                              rf_relative_value *value);

/* T5's bucket of the offset r = key - query: relative_attention_num_buckets of them, the last for
 * relative_attention_max_distance and beyond; half of them for each side unless is_decoder. */
int64_t rf__relative_bucket(const rf_config *c, int64_t r);
rf_status rf__relative_bucket_check(const rf_config *c, rf_error *why);
/* For `relate`: adds row rf__relative_bucket(n - m) of `bias` [buckets,H] to the scores of key n and query m. */
void rf__relative_bucket_bias(rf_graph *g, const rf_layer_context *at, rf_tensor *bias, rf_attention_spec *spec);
/* An `extent`: the rows of that table. */
int64_t rf__relative_buckets(const rf_config *c, char letter);

/* An `embed`: adds the learned vectors of positions, at->weight[0]; position 0 has row rf__config_first_position. */
rf_tensor *rf__absolute_embed(rf_graph *g, const rf_layer_context *at, rf_tensor *words);

/* DeBERTa's convolution next to the first layer (families/deberta_v2.c): its matrix, bias, and norm; NULL: none. */
rf_tensor *const *rf__deberta_convolution(const rf_config *c, const rf_layer_context *at);

/* false, with a message that names the position: one is below 0 or not below `limit`. */
bool rf__positions_below(rf_graph *g, const rf_layer_context *at, int64_t limit, const char *what);

#endif
