/* position.h — position encodings: what the encoder asks of a row, and what it keeps for it.  positions.h has the
 * registry.
 *
 * An encoding is one constant `rf_position` in src/model/positions/: its name in config.json (position_embedding_type),
 * its equation, the parameters it adds, and hooks.  A hook that is NULL changes nothing.
 *
 *     w     = embed(words)                           [N,E]   before the norm of the embeddings
 *     angles(spec)                                 tables for attention or at->rotate, made once before the first layer
 *     qkv   = rotate(h W_qkv)                          [N,3C]  in each layer, before attention
 *     relate(qkv, spec)                                      in each layer: what attention adds to scores and values
 *     a     = attend(qkv, spec)                   [N,C]   in each layer, in attention's place, for the few that need it
 *     a     = unrotate(attention(qkv, spec))           [N,C]   in each layer, after attention
 *
 * With at->cache, tokens continue those of earlier calls: rotated keys and values are kept by the encoder, with what
 * relate gives as more_key (key_columns), and embed keeps what it needs of earlier tokens itself (state;
 * rf__cache_next_state).  An encoding whose angles depend on tokens to come, or with attend, has no cache.
 *
 * embed, rotate, relate, attend and unrotate make tensors of the tape and may be run again in the backward
 * (rf_recompute): all they
 * read must stay as it is until then.  angles must not make tensors. */
#ifndef RF_POSITION_H
#define RF_POSITION_H

#include "graph/graph.h"
#include "model/cache.h"
#include "model/param_row.h"
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
    const int32_t *length;              /* [N] of the token's sequence: its largest position + 1, at least 1          */
    int32_t lowest, highest;            /* of all positions                                                           */
    bool still;                         /* parameters never change: what is made of them alone may be kept            */
    bool chosen;                        /* the caller gave the positions; else they are 0, 1, ... in each sequence    */
    rf_tensor *const *weight;           /* the encoding's parameters here, in the order of its rows                   */
    rf_tensor *const *shared;           /* those of the embeddings, wherever the place is                             */
    int64_t features;                   /* of linear attention, where these are rotated in q's and k's place; 0: not  */
    const double *decay;                /* made by `angles` for these: rf_linear_attention_spec.decay; NULL: none     */
    rf_tensor *qkv, *qkv_bias;          /* [3C,C], [3C]: the layer's matrices of queries, keys and values             */
    rf_positions *kept;
    uint64_t batch;                     /* the number of this batch among those of `kept`                             */
    rf_rotate_parts_spec rotate, unrotate; /* made by `angles` for rf_rotate_parts; parts 0: nothing to do            */
    rf_rotate_parts_spec past, future;  /* for far keys (rerope.c)                                                    */
    rf_cache *cache;                   /* of a causal model whose tokens come one after the other; NULL: all are here */
} rf_layer_context;

struct rf_position {
    const char *name;                   /* position_embedding_type                                                    */
    const char *equation;
    const char *source;
    int flags;
    const rf_param_row *embedding, *layer; /* rows of the parameter table, ended by a row without a name; or NULL     */

    /* Sizes of the rows' letters that the table does not know (it knows V T E C F K, P max_position_embeddings, H
     * heads, D head width). */
    int64_t (*extent)(const rf_config *c, char letter);

    /* Initial values of rows with RF_INIT_MADE. */
    void (*fill)(const rf_config *c, const rf_param *p, float *to);

    /* Beyond the ranges of single keys, which were checked: RF_EDATA with one sentence, before any weight is read. */
    rf_status (*check)(const rf_config *c, rf_error *why);

    rf_tensor *(*embed)(rf_graph *g, const rf_layer_context *at, rf_tensor *words);
    rf_status (*angles)(rf_graph *g, rf_layer_context *at, rf_attention_spec *spec, rf_error *why);
    rf_tensor *(*rotate)(rf_graph *g, const rf_layer_context *at, rf_tensor *qkv);
    void (*relate)(rf_graph *g, const rf_layer_context *at, rf_tensor *qkv, rf_attention_spec *spec);
    bool vectors;                       /* relate gives vectors for queries and values, not numbers alone             */
    rf_tensor *(*attend)(rf_graph *g, const rf_layer_context *at, rf_tensor *qkv, const rf_attention_spec *spec);
    rf_tensor *(*unrotate)(rf_graph *g, const rf_layer_context *at, rf_tensor *a);

    /* What sequences keep for it (cache.h): floats of embed's state, columns of more_key.  NULL: none. */
    int64_t (*state)(const rf_config *c);
    int64_t (*key_columns)(const rf_config *c);

    /* What it costs in a forward, for each token of a text of T tokens, in all layers together: arithmetic, and bytes
     * read or written beyond those that are there without it.  NULL: nothing. */
    void (*cost)(const rf_config *c, int64_t T, double *flops, double *bytes);
};

/* What attention of a layer is about to do, shown to an observer of inference. */
typedef struct rf__view {
    const rf_position *is;
    const rf_layer_context *at;
    const rf_tensor *qkv, *rotated;     /* [N,3C]: as projected, and as attention takes it                            */
    const rf_attention_spec *spec;      /* with what `relate` added                                                   */
    bool cross;                         /* attention to a source: qkv and rotated are its queries [N,C]               */
} rf__view;
typedef void rf__observer(void *user, rf_graph *g, const rf__view *view);

/* Columns of the grid that positions lie on: position_grid_width, or the side of the smallest square that holds
 * max_position_embeddings. */
int64_t rf__position_grid(const rf_config *c);

/* ---- what encodings made of sines share (sinusoidal.c) ----------------------------------------------------------- */

double rf__sinusoidal_frequency(const rf_config *c, int64_t t, int64_t width);     /* sinusoidal_base^(-2t/width)     */
void rf__sinusoidal_row(const rf_config *c, int64_t m, float *row, int64_t width); /* sines and cosines, interleaved  */
rf_status rf__sinusoidal_even(const rf_config *c, rf_error *why);                  /* embedding_size is               */

/* A vector for each token, added to its word. */
void rf__position_sum_cost(const rf_config *c, int64_t T, double *flops, double *bytes);

/* ---- rotary: what its files share (rope_scaling.c) --------------------------------------------------------------- */

/* The frequency of plane i of r/2, stretched as config says.  length: of the text, for those that go by it; else 0. */
double rf__rope_theta(const rf_config *c, double base, int64_t r, int64_t length, int64_t i);
double rf__rope_gain(const rf_config *c);                     /* transformers' attention_factor: of cosines and sines */
bool rf__rope_by_length(const rf_config *c);

/* ---- what an encoder keeps --------------------------------------------------------------------------------------- */

rf_status rf__positions_new(const rf_ctx *ctx, const rf_config *c, rf_positions **out, rf_error *why);
void rf__positions_free(rf_positions *p);

/* Fills a place for the batch: positions and lengths are pushed to the graph's arena.  false: the graph has stopped. */
bool rf__positions_bind(rf_graph *g, rf_positions *p, const rf_config *c, const rf_batch *b, rf_layer_context *out);

/* A table of angles for the batch, kept for the next one, and the row of each token in it (pushed).
 *
 *   part      which of a layer's tables: 0 to RF_POSITION_PARTS - 1
 *   by_token  angles depend on the length of the text, too: the table has a row for each token and is made for each
 *             batch
 *   angle     angle and gain of plane i at a position of a text (length is 0 unless by_token): cos and sin are
 *             gain cos(angle), gain sin(angle)                                                                       */
enum { RF_POSITION_PARTS = 4 };
typedef void rf_position_angle(const void *what, int64_t position, int64_t length, int64_t i, double *angle,
                               double *gain);
rf_status rf__positions_rope(rf_graph *g, const rf_layer_context *at, int part, int64_t rotary, rf_rope_layout layout,
                             bool by_token, rf_position_angle *angle, const void *what, const rf_rope **rope,
                             const int32_t **row, rf_error *why);

/* Rows 0 .. rows-1 of a fixed table [rows, width], kept and made longer when needed; NULL: the graph has stopped. */
typedef void rf_position_row(const rf_config *c, int64_t position, float *row, int64_t width);
const float *rf__positions_fixed(rf_graph *g, const rf_layer_context *at, int64_t rows, int64_t width,
                                 rf_position_row *fill);

/* The rows of such a table that the batch's positions name, [N, width]: a table is kept for those that count from 0,
 * and for others that are near; the rows of farther ones are computed alone. */
rf_tensor *rf__positions_rows(rf_graph *g, const rf_layer_context *at, int64_t width, rf_position_row *fill);

/* Tables that an encoding makes, kept by a number: those of a place's layer, or of all with layer -1.  keep copies x;
 * false: the graph has stopped. */
enum { RF_POSITION_TABLES = 2 };
typedef struct rf_kept { float *x; int64_t rows, width; } rf_kept;               /* x NULL, rows 0: not there yet     */
const rf_kept *rf__positions_kept(const rf_layer_context *at, int64_t layer, int number);
bool rf__positions_keep(rf_graph *g, const rf_layer_context *at, int64_t layer, int number, int64_t rows, int64_t width,
                        const float *x);

/* ---- relative: what its files share (relative.c) ----------------------------------------------------------------- */

/* The largest distance of two tokens of one sequence.  Relative encodings go by the order of tokens: positions that the
 * caller chose must rise by one, otherwise the graph stops with a sentence. */
int64_t rf__relative_reach(rf_graph *g, const rf_layer_context *at);

/* rows[r + clip] = row(r), |r| <= clip: for rf_rows and rf_embed.  NULL: the graph has stopped. */
typedef int64_t rf_relative_row(const rf_config *c, int64_t r);
const int32_t *rf__relative_rows(rf_graph *g, const rf_layer_context *at, int64_t clip, rf_relative_row *row);

/* table[i] [2 clip + 1, width of it], i < n <= RF_POSITION_TABLES, as `make` makes them of parameters alone.  Where
 * these never change, they are made once, for distances to a little beyond clip but not beyond `farthest`, and kept. */
typedef void rf_relative_make(rf_graph *g, const rf_layer_context *at, int64_t clip, rf_tensor *table[]);
void rf__relative_tables(rf_graph *g, const rf_layer_context *at, int64_t clip, int64_t farthest,
                         rf_relative_make *make, rf_tensor *table[], int n);

/* A constant [2 clip + 1, width], column i of offset r being value(r, i).  Numbers are made once and kept. */
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

/* An `embed`: adds the learned vectors of positions, at->weight[0], whose first row has rf__config_first_position. */
rf_tensor *rf__absolute_embed(rf_graph *g, const rf_layer_context *at, rf_tensor *words);

/* false, with a sentence that names the position: one is below 0 or not below `limit`. */
bool rf__positions_below(rf_graph *g, const rf_layer_context *at, int64_t limit, const char *what);

#endif
