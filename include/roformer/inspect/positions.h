/* positions.h — the list of position encodings with their equations, parameters and costs; rotary frequencies; and
 * measurements of how a trained model uses positions and attention, on text.
 *
 *     const rf_position *p;
 *     for (int i = 0; (p = rf_position_at(i)); i++) printf("%s: %s\n", rf_position_name(p), rf_position_equation(p));
 *
 *     rf_stretches_read(ctx, tokenizer, text, 1, NULL, 128, 32, &s, &why);
 *     rf_probe_defaults(&p); p.ctx = ctx; p.model = model; p.session = session; p.text = &s; p.pieces = s.n;
 *     rf_probe_attention(&p, &report, &why);
 *
 * threads   rows of the list are constant; configs are only read; measurements: as for the session */
#ifndef ROFORMER_POSITIONS_H
#define ROFORMER_POSITIONS_H

#include "roformer/checkpoint.h"
#include "roformer/inspect/files.h"
#include "roformer/kernel/rope.h"
#include "roformer/model.h"

#ifdef __cplusplus
extern "C" {
#endif

/* ---- the list of encodings --------------------------------------------------------------------------------------- */

typedef struct rf_position rf_position;

enum {
    RF_POSITION_SHIFT = 1,              /* scores depend only on differences of positions */
    RF_POSITION_EXTRAPOLATES = 2,       /* defined beyond the trained positions */
    RF_POSITION_CAUSAL = 4,             /* only meaningful in causal attention */
    RF_POSITION_EXTENSION = 8,          /* not among the encodings that the paper and its sources compare */
    RF_POSITION_ROPE = 16,              /* rope_scaling and the other keys of rotary positions apply */
    RF_POSITION_SYMMETRIC = 32,         /* a reversed text gives mirrored results in an encoder */
    RF_POSITION_RELATIVE = 64,          /* adds terms that depend on offsets to scores or values */
    RF_POSITION_LENGTH = 128,           /* depends on the length of each text: keys cannot be cached */
    RF_POSITION_VECTOR = 256            /* adds to each word a vector that depends only on its position */
};

/* The i-th encoding, in static storage; NULL past the last. */
const rf_position *rf_position_at(int i);

/* The encoding of a config, in static storage.
 *
 *   path             where the config was read from (a file or its folder), for messages; NULL: from memory
 *   RF_EDATA         position_embedding_type is unknown (the message suggests the nearest), or a key of the encoding is
 *                    out of range
 *   RF_EUNSUPPORTED  the encoding does not work in this family of models, or in an encoder
 *   RF_EARG          config or out is NULL */
rf_status rf_position_of(const rf_config *c, const char *path, const rf_position **out, rf_error *why);

const char *rf_position_name(const rf_position *p);             /* position_embedding_type in config.json */
const char *rf_position_equation(const rf_position *p);
const char *rf_position_source(const rf_position *p);           /* publication */
int rf_position_flags(const rf_position *p);                    /* sum of RF_POSITION_* flags */

/* The number of parameters that the encoding adds to a model with this config. */
int64_t rf_position_parameters(const rf_position *p, const rf_config *c);

/* What a forward pass over all layers takes, of one text of T tokens and without the head, counted by the pass's own
 * code without computing it. Tables that are made once for all texts do not count. An encoding adds the difference to
 * the same config with position_embedding_type "none".
 *
 *   flops    arithmetic, a multiply-add as two; may be NULL
 *   bytes    read and written by the operations, except parameters; may be NULL
 *   others   what the config's model refuses; RF_ERANGE: T is below 1 */
rf_status rf_forward_cost(const rf_ctx *ctx, const rf_config *c, int64_t T, double *flops, double *bytes,
                          rf_error *why);

/* ---- rotary positions: planes i = 0 to r/2 - 1, the fastest first ------------------------------------------------ */

/* Checks all rotary settings of a config: RF_EDATA, RF_EUNSUPPORTED. */
rf_status rf_rope_check(const rf_config *c, rf_error *why);
int64_t rf_rope_width(const rf_config *c);                      /* r: rotated columns of a head */
double rf_rope_base(const rf_config *c, int64_t layer);         /* rope_theta, or that of the layer */

/* theta_i = base^(-2i/r), scaled as rope_scaling says, in radians per token. length: tokens of the text, for types that
 * depend on it, else 0. */
double rf_rope_frequency(const rf_config *c, int64_t layer, int64_t length, int64_t i);

/* Creates the table of these frequencies: row i holds the rotation by position[i], multiplied by the gain that yarn and
 * longrope have (attention_factor).
 *
 *   out              freed with rf_rope_free; unchanged on error
 *   RF_EDATA         as rf_rope_check
 *   RF_EUNSUPPORTED  the config has mrope_section, whose positions are triples
 *   RF_EARG          n is below 1, or a pointer is NULL */
rf_status rf_rope_scaled(const rf_ctx *ctx, const rf_config *c, int64_t layer, int64_t length, rf_rope_layout layout,
                         const int32_t position[], int64_t n, rf_rope **out, rf_error *why);

/* ---- text for measurements --------------------------------------------------------------------------------------- */

/* Passages of documents, all of the same length: that of `times` pieces of `length` tokens, with one [CLS] and one
 * [SEP]. */
typedef struct rf_stretches {
    int64_t length, times, size, n;     /* size = times length - 2 tokens of text */
    int32_t *id;                        /* [n, size] */
    int64_t documents;                  /* documents read */
} rf_stretches;

/* Reads the first `most` passages. Their length is 16, 8, 4, 2 or 1 times `length`: the largest for which the text has
 * a document that is long enough.
 *
 *   reader    NULL: all defaults
 *   out       freed with rf_stretches_free; unchanged on error
 *   RF_EDATA  no document has `length` - 2 tokens
 *   others    as rf_reader_open, rf_reader_next */
rf_status rf_stretches_read(const rf_ctx *ctx, const rf_tokenizer *t, const char *const *text, int texts,
                            const rf_reader_options *reader, int64_t length, int64_t most, rf_stretches *out,
                            rf_error *why);
void rf_stretches_free(const rf_ctx *ctx, rf_stretches *s);

/* ---- measurements with a session on the first pieces of the passages --------------------------------------------- */

/* Called from time to time with the fraction that is done. A return value other than 0 ends the measurement with
 * RF_ESTOPPED. */
typedef int rf_probe_progress(void *user, double share);

typedef struct rf_probe {
    size_t size;                        /* of this struct, set by rf_probe_defaults */
    const rf_ctx *ctx;
    const rf_model *model;
    rf_session *session;
    const rf_stretches *text;
    int64_t pieces;                     /* number of pieces of `length` tokens for shift and attention, at most
                                           text->n; default 1 */
    uint64_t seed;                      /* seed of the masks; default 42 */
    double mlm_probability;             /* default 0.15 */
    rf_probe_progress *progress;        /* may be NULL */
    void *user;
} rf_probe;
void rf_probe_options_init(rf_probe *p, size_t size);
#define rf_probe_defaults(p) rf_probe_options_init((p), sizeof *(p))

/* How much outputs change when all positions are shifted by `by`, over all tokens of the pieces and the whole
 * vocabulary. The caller sets `by`; the call sets the rest. */
typedef struct rf_shift {
    int64_t by;
    int defined;                        /* 1: the encoding is defined at these positions */
    int scored;                         /* 1: the model has a head, and logits were compared */
    double hidden_max, hidden_mean, hidden_rms;         /* rms: of the outputs themselves, for comparison */
    double logits_max, logits_mean, logits_rms;
} rf_shift;
rf_status rf_probe_shift(const rf_probe *p, rf_shift *out, rf_error *why);

/* Sums over the tokens that a layer has processed: statistics of its queries and keys without their positions. */
typedef struct rf_head_sums {
    int64_t H, D, r;                    /* heads, head width, rotated columns */
    rf_rope_layout layout;
    int64_t tokens;
    int rotates;              /* 1: scores are <q, R(n - m) k>; the planes of the first `rotated` heads are rotated
                                 by theta */
    int64_t rotated;
    double gain;                        /* factor of the rotated columns' product */
    double scale;                       /* factor of scores: 1 / sqrt D, if the model has no other */
    double *theta;                      /* [r/2] frequencies of the layer */
    double *query, *key;                /* [H,D] sum of q, of k, unrotated */
    double *query_square, *key_square;  /* [H,D,D] sum of q q^T, of k k^T */
    double *query_plane, *key_plane;    /* [H,r/2] sum of the norms of q, of k in a plane */
} rf_head_sums;

/* Mean and variance of the score s <q, R(delta) k> of head h over all pairs of a query and a key that were
 * processed, as if their offset n - m were delta. `workspace` has space for D^2 numbers.
 *
 *     mean = s <E q, R E k>          mean of squares = s^2 <E q q^T, R E k k^T R^T>          s: `scale` */
void rf_head_score(const rf_head_sums *s, int64_t h, double delta, double *workspace, double *mean, double *variance);

/* Attention of each head, averaged over the queries of the pieces, and statistics of its queries and keys. */
typedef struct rf_attention_report {
    int64_t L, H, length;
    double *distance;                   /* [L,H] sum_n P(m,n) |m - n| */
    double *entropy;                    /* [L,H] -sum_n P ln P */
    double *ends;                       /* [L,H] P of the first and the last token, [CLS] and [SEP] */
    double *by_distance;            /* [L,H,length] mean P over visible pairs at distance 0, 1, ... */
    double uniform_distance, uniform_entropy;           /* the same for uniform attention to all visible keys */
    rf_head_sums *sums;                 /* [L] */
} rf_attention_report;

/* Measures attention.
 *
 *   out    freed with rf_attention_report_free; unchanged on error */
rf_status rf_probe_attention(const rf_probe *p, rf_attention_report *out, rf_error *why);
void rf_attention_report_free(const rf_ctx *ctx, rf_attention_report *r);

/* Loss for pieces of `length` tokens. The same tokens are predicted at every length: masked tokens, or for a causal
 * model the same tokens from those before them. Errors are standard errors over passages; NaN for a single passage. */
enum { RF_LOSS_BINS = 16 };
typedef struct rf_length_loss {
    int64_t length;
    int defined;                        /* 1: the encoding is defined at these positions */
    int64_t labels, hits;
    double loss, error;                 /* nats per token */
    double change, change_error;        /* difference from the first length, paired */
    int64_t bins, bin_width;            /* by position in the piece */
    int64_t bin_labels[RF_LOSS_BINS];
    double bin_loss[RF_LOSS_BINS];
} rf_length_loss;

/* Measures the loss at `length`, 2 `length`, ... up to the length of the passages, at most RF_LENGTHS values. *lengths
 * receives how many.
 *
 *   RF_EDATA  there is no token to predict; the vocabulary has no [CLS], [SEP] or [MASK] */
enum { RF_LENGTHS = 5 };
rf_status rf_probe_lengths(const rf_probe *p, rf_length_loss out[], int *lengths, rf_error *why);

/* ---- position vectors of absolute encodings ---------------------------------------------------------------------- */

/* The vectors p_m that are added to the word at position m of a text of T tokens (concat: including its bias).
 *
 *   p                [T,E], memory of the caller
 *   RF_EUNSUPPORTED  the encoding has no vector for each position (flag RF_POSITION_VECTOR); the message names those
 *                    that have
 *   RF_ERANGE        its table has fewer than T positions */
rf_status rf_position_vectors(const rf_model *m, int64_t T, float *p, rf_error *why);

/* Principal angles between the subspaces of position vectors and word vectors. Each subspace is spanned by the smallest
 * number of principal directions (not centered) that hold the fraction `share` of the vectors' sum of squares. The span
 * of all vectors would be the whole space. */
#define RF_SUBSPACE_SHARE 0.9
typedef struct rf_subspaces {
    int64_t positions, words, width;    /* numbers of vectors; their width E */
    double share;
    int64_t position_dimensions, word_dimensions;
    int64_t angles;                     /* the smaller of the two dimensions */
    double *cosine;                     /* [angles] cosines of the principal angles, smallest angle first; 0:
                                           orthogonal */
    double overlap;                     /* mean of their squares, 0 to 1 */
    double *random_cosine;              /* [angles] mean over random subspaces of the same dimensions */
    double random_overlap, random_deviation;            /* the same; expectation: larger dimension / E */
} rf_subspaces;

/* Measures the model's words and its first T positions. Freed with rf_subspaces_free; unchanged on error.
 *
 *   others    as rf_position_vectors */
rf_status rf_probe_subspaces(const rf_probe *p, int64_t T, rf_subspaces *out, rf_error *why);
void rf_subspaces_free(const rf_ctx *ctx, rf_subspaces *s);

/* ---- one sequence ------------------------------------------------------------------------------------------------ */

/* The attention probabilities P(m,n) from query m to key n, for every layer and head.
 *
 *   bare      0: of the tokens; 1: with all queries and keys zero, which leaves the contribution of positions
 *   p         [L,H,T,T], memory of the caller
 *   cost      T/D attentions for each layer
 *   others    as rf_session_hidden */
rf_status rf_attention_maps(rf_session *s, const int32_t id[], int64_t T, int bare, float *p, rf_error *why);

/* ---- text masked as in evaluation -------------------------------------------------------------------------------- */

typedef struct rf_masked rf_masked;

/* Creates an empty batch.
 *
 *   capacity  maximum tokens of the batch, including [CLS] and [SEP]
 *   out       freed with rf_masked_free; unchanged on error
 *   RF_EDATA  the vocabulary has no [CLS], [SEP] or [MASK], or no other token */
rf_status rf_masked_new(const rf_ctx *ctx, const rf_tokenizer *t, int64_t capacity, uint64_t seed,
                        double mlm_probability, rf_masked **out, rf_error *why);
void rf_masked_free(rf_masked *m);

/* How many of the first n ids form the next piece of at most `most` tokens. A piece does not begin inside a word. 0 for
 * n < 1. */
int64_t rf_masked_cut(const rf_masked *m, const int32_t id[], int64_t n, int64_t most);

/* Appends [CLS] id [SEP], masked by (seed, stream, position in the piece). Returns 1; 0 if the batch is full; -1 if an
 * id is not in the vocabulary. In the last two cases nothing is added. */
int rf_masked_add(rf_masked *m, const int32_t id[], int64_t n, uint64_t stream);

/* The current batch, valid until something is added. label[i] is the original token at row[i]. */
typedef struct rf_masked_batch {
    rf_batch batch;
    const int32_t *row, *label;         /* [labels] */
    int64_t labels;
} rf_masked_batch;
const rf_masked_batch *rf_masked_view(rf_masked *m);
void rf_masked_clear(rf_masked *m);

#ifdef __cplusplus
}
#endif
#endif
