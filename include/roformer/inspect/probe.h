/* probe.h — what positions and attention do in a trained model, measured on text.
 *
 *     rf_stretches_read(ctx, tokenizer, text, 1, NULL, 128, 32, &s, &why);
 *     rf_probe_defaults(&p); p.ctx = ctx; p.model = model; p.session = session; p.text = &s; p.pieces = s.n;
 *     rf_probe_attention(&p, &report, &why);
 *
 * threads   as the session's                                                                                         */
#ifndef ROFORMER_PROBE_H
#define ROFORMER_PROBE_H

#include "roformer/model.h"
#include "roformer/reader.h"
#include "roformer/kernel/rope.h"

#ifdef __cplusplus
extern "C" {
#endif

/* ---- text -------------------------------------------------------------------------------------------------------- */

/* Stretches of documents, all of one size: `times` pieces of `length` tokens long, [CLS] and [SEP] once. */
typedef struct rf_stretches {
    int64_t length, times, size, n;     /* size = times length - 2 tokens of text                                     */
    int32_t *id;                        /* [n, size]                                                                  */
    int64_t documents;                  /* that were read                                                             */
} rf_stretches;

/* The first `most` stretches of the longest size of 16, 8, 4, 2, 1 times `length` that any document of the text has.
 *
 *   reader    NULL: all defaults
 *   out       freed with rf_stretches_free; untouched on error
 *   RF_EDATA  no document has `length` - 2 tokens
 *   others    as rf_reader_open, rf_reader_next                                                                      */
rf_status rf_stretches_read(const rf_ctx *ctx, const rf_tokenizer *t, const char *const *text, int texts,
                            const rf_reader_options *reader, int64_t length, int64_t most, rf_stretches *out,
                            rf_error *why);
void rf_stretches_free(const rf_ctx *ctx, rf_stretches *s);

/* ---- measures: of a session, on the first pieces of stretches ---------------------------------------------------- */

/* Asked now and then, with the share that is done; other than 0 ends a measure with RF_ESTOPPED. */
typedef int rf_probe_progress(void *user, double share);

typedef struct rf_probe {
    size_t size;                        /* of this struct, set by rf_probe_defaults                                   */
    const rf_ctx *ctx;
    const rf_model *model;
    rf_session *session;
    const rf_stretches *text;
    int64_t pieces;                     /* of `length` tokens, for shifts and attention; at most text->n: 1           */
    uint64_t seed;                      /* of the masks: 42                                                           */
    double mlm_probability;             /* 0.15                                                                       */
    rf_probe_progress *progress;        /* or NULL                                                                    */
    void *user;
} rf_probe;
void rf_probe_options_init(rf_probe *p, size_t size);
#define rf_probe_defaults(p) rf_probe_options_init((p), sizeof *(p))

/* How much outputs change when all positions move by `by`: over all tokens of the pieces, and over all words.  `by` is
 * the caller's, the rest is set. */
typedef struct rf_shift {
    int64_t by;
    int defined;                        /* the encoding has such positions                                            */
    int scored;                         /* there is a head, and logits were compared                                  */
    double hidden_max, hidden_mean, hidden_rms;         /* rms: of the outputs themselves, to compare with            */
    double logits_max, logits_mean, logits_rms;
} rf_shift;
rf_status rf_probe_shift(const rf_probe *p, rf_shift *out, rf_error *why);

/* Sums over the tokens that a layer has seen: what is left of queries and keys when their places are forgotten. */
typedef struct rf_head_sums {
    int64_t H, D, r;                    /* heads, their width, rotated columns                                        */
    rf_rope_layout layout;
    int64_t tokens;
    int rotates;              /* scores are <q, R(n - m) k>, each plane of the first `rotated` heads by its frequency */
    int64_t rotated;
    double gain;                        /* of the rotated columns' product                                            */
    double *theta;                      /* [r/2]     of the layer                                                     */
    double *query, *key;                /* [H,D]     sum of q, of k, unrotated                                        */
    double *query_square, *key_square;  /* [H,D,D]   sum of q q^T, of k k^T                                           */
    double *query_plane, *key_plane;    /* [H,r/2]   sum of the norms of q, of k in a plane                           */
} rf_head_sums;

/* Mean and variance of the score <q, R(delta) k> / sqrt D of head h over all pairs of a query and a key that were seen,
 * were they delta = n - m apart, when the layer rotates; workspace is for D^2 numbers.
 *
 *     mean = <E q, R E k> / sqrt D          mean of squares = <E q q^T, R E k k^T R^T> / D                           */
void rf_head_score(const rf_head_sums *s, int64_t h, double delta, double *workspace, double *mean, double *variance);

/* Attention of each head, mean over the queries of the pieces; and its queries and keys. */
typedef struct rf_attention_report {
    int64_t L, H, length;
    double *distance;                   /* [L,H]   sum_n P(m,n) |m - n|                                               */
    double *entropy;                    /* [L,H]   -sum_n P ln P                                                      */
    double *ends;                       /* [L,H]   P of the first and the last token, [CLS] and [SEP]                 */
    double *by_distance;            /* [L,H,length]  mean P over the pairs d apart that see each other, d = 0, 1, ... */
    double uniform_distance, uniform_entropy;           /* of attention to all keys that a query sees alike           */
    rf_head_sums *sums;                 /* [L]                                                                        */
} rf_attention_report;

/*   out    freed with rf_attention_report_free; untouched on error                                                   */
rf_status rf_probe_attention(const rf_probe *p, rf_attention_report *out, rf_error *why);
void rf_attention_report_free(const rf_ctx *ctx, rf_attention_report *r);

/* Loss where the text is cut into pieces of `length` tokens: the same tokens are predicted at every length (masked
 * ones, or, by a causal model, those that would be masked, from the tokens before them).  Errors are standard
 * errors with stretches as the units; NaN for one stretch. */
enum { RF_LOSS_BINS = 16 };
typedef struct rf_length_loss {
    int64_t length;
    int defined;                        /* the encoding has such positions                                            */
    int64_t labels, hits;
    double loss, error;                 /* nats a token                                                               */
    double change, change_error;        /* against the first length, paired                                           */
    int64_t bins, bin_width;            /* by place in the piece                                                      */
    int64_t bin_labels[RF_LOSS_BINS];
    double bin_loss[RF_LOSS_BINS];
} rf_length_loss;

/* out[0 .. *lengths): length, 2 length, ... as far as the stretches go, at most RF_LENGTHS.
 *
 *   RF_EDATA  no token to predict; the vocabulary has no [CLS], [SEP] or [MASK]                                      */
enum { RF_LENGTHS = 5 };
rf_status rf_probe_lengths(const rf_probe *p, rf_length_loss out[], int *lengths, rf_error *why);

/* ---- what an absolute encoding adds to words --------------------------------------------------------------------- */

/* p_m, added to the word at position m of a text of T tokens (concat: with its bias).
 *
 *   p                [T,E], the caller's
 *   RF_EUNSUPPORTED  the encoding has no vector for each position (flag RF_POSITION_VECTOR); those that have are named
 *   RF_ERANGE        its table ends before T                                                                         */
rf_status rf_position_vectors(const rf_model *m, int64_t T, float *p, rf_error *why);

/* The subspaces that vectors of positions and of words span, by principal angles.  A subspace is that of the fewest
 * principal directions (not centered) which hold `share` of the vectors' sum of squares: all directions that occur
 * would span the whole width. */
#define RF_SUBSPACE_SHARE 0.9
typedef struct rf_subspaces {
    int64_t positions, words, width;    /* vectors; their columns E                                                   */
    double share;
    int64_t position_dimensions, word_dimensions;
    int64_t angles;                     /* the smaller of both                                                        */
    double *cosine;                     /* [angles] of principal angles, the smallest angle first; 0: orthogonal      */
    double overlap;                     /* mean of their squares: what a space shares with the other, 0 to 1          */
    double *random_cosine;              /* [angles] mean over random subspaces of the same dimensions                 */
    double random_overlap, random_deviation;            /* the same; expected: larger dimension / E                   */
} rf_subspaces;

/* Of the model's words and its first T positions; freed with rf_subspaces_free, untouched on error.
 *   others    as rf_position_vectors                                                                                 */
rf_status rf_probe_subspaces(const rf_probe *p, int64_t T, rf_subspaces *out, rf_error *why);
void rf_subspaces_free(const rf_ctx *ctx, rf_subspaces *s);

/* ---- one sequence ------------------------------------------------------------------------------------------------ */

/* The probabilities of attention P(m,n) of every layer and head, from query m to key n.
 *
 *   bare      0: of the tokens; 1: as if all queries and keys were zero, so that what position adds to scores is left
 *   p         [L,H,T,T], the caller's
 *   cost      T/D attentions for each layer
 *   others    as rf_session_hidden                                                                                   */
rf_status rf_attention_maps(rf_session *s, const int32_t id[], int64_t T, int bare, float *p, rf_error *why);

/* ---- masked text, as an evaluation masks it ---------------------------------------------------------------------- */

typedef struct rf_masked rf_masked;

/*   capacity  tokens of a batch, [CLS] and [SEP] included
 *   out       freed with rf_masked_free; untouched on error
 *   RF_EDATA  the vocabulary has no [CLS], [SEP] or [MASK], or nothing else                                          */
rf_status rf_masked_new(const rf_ctx *ctx, const rf_tokenizer *t, int64_t capacity, uint64_t seed,
                        double mlm_probability, rf_masked **out, rf_error *why);
void rf_masked_free(rf_masked *m);

/* How many of the first n ids make the next piece, where one holds `most` at most: pieces do not begin inside a word.
 * 0 for n < 1. */
int64_t rf_masked_cut(const rf_masked *m, const int32_t id[], int64_t n, int64_t most);

/* Appends [CLS] id [SEP], masked by (seed, stream, place in the piece).  Nothing was added: 0, the
 * batch is full; -1, an id is not of the vocabulary. */
int rf_masked_add(rf_masked *m, const int32_t id[], int64_t n, uint64_t stream);

/* The batch so far, lent until something is added: label[i] is what stood at token row[i]. */
typedef struct rf_masked_batch {
    rf_batch batch;
    const int32_t *row, *label;         /* [labels]                                                                   */
    int64_t labels;
} rf_masked_batch;
const rf_masked_batch *rf_masked_view(rf_masked *m);
void rf_masked_clear(rf_masked *m);

#ifdef __cplusplus
}
#endif
#endif
