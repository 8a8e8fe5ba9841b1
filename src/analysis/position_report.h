/* position_report.h — what a trained model does with positions, measured. */
#ifndef RF_POSITION_REPORT_H
#define RF_POSITION_REPORT_H

#include "model/attention_probe.h"
#include "roformer/reader.h"

/* ---- text -------------------------------------------------------------------------------------------------------- */

/* Stretches of documents, all of one size: `times` pieces of `length` tokens long, [CLS] and [SEP] once. */
typedef struct rf__stretches {
    int64_t length, times, size, n;     /* size = times length - 2 tokens of text                                     */
    int32_t *id;                        /* [n, size]                                                                  */
    int64_t documents;                  /* that were read                                                             */
} rf__stretches;

/* The first `most` stretches of the longest size of 16, 8, 4, 2, 1 times `length` that any document of the text has.
 *   RF_EDATA  no document has `length` - 2 tokens                                                                    */
rf_status rf__stretches_read(const rf_ctx *ctx, const rf_tokenizer *t, const char *const *text, int texts,
                             const rf_reader_options *reader, int64_t length, int64_t most, rf__stretches *out,
                             rf_error *why);
void rf__stretches_free(const rf_ctx *ctx, rf__stretches *s);

/* ---- measures: of an opened session, of the first pieces of stretches -------------------------------------------- */

/* Asked now and then, with the share that is done; other than 0 ends a measure with RF_ESTOPPED. */
typedef int rf__report_progress(void *user, double share);

typedef struct rf__lab {
    const rf_ctx *ctx;
    const rf_model *model;
    rf_session *session;
    const rf__stretches *text;
    int64_t pieces;                     /* of `length` tokens, that shifts and attention are measured on; at most n   */
    uint64_t seed;
    double mlm_probability;
    rf__report_progress *progress;      /* or NULL                                                                    */
    void *user;
} rf__lab;

/* How much outputs change when all positions move by `by`: over all tokens of the pieces, and over all words. */
typedef struct rf__shift {
    int64_t by;
    bool defined;                       /* the encoding has such positions                                            */
    bool scored;                        /* there is a head, and logits were compared                                  */
    double hidden_max, hidden_mean, hidden_rms;         /* rms: of the outputs themselves, to compare with            */
    double logits_max, logits_mean, logits_rms;
} rf__shift;
rf_status rf__measure_shift(const rf__lab *lab, rf__shift *out, rf_error *why);

/* Attention of each head, mean over the queries of the pieces; and its queries and keys. */
typedef struct rf__attention_report {
    int64_t L, H, length;
    double *distance;                   /* [L,H]   sum_n P(m,n) |m - n|                                               */
    double *entropy;                    /* [L,H]   -sum_n P ln P                                                      */
    double *ends;                       /* [L,H]   P of the first and the last token, [CLS] and [SEP]                 */
    double *by_distance;            /* [L,H,length]  mean P over the pairs d apart that see each other, d = 0, 1, ... */
    double uniform_distance, uniform_entropy;           /* of attention to all keys that a query sees alike           */
    rf__head_sums *sums;                /* [L]                                                                        */
} rf__attention_report;
rf_status rf__measure_attention(const rf__lab *lab, rf__attention_report *out, rf_error *why);
void rf__attention_report_free(const rf_ctx *ctx, rf__attention_report *r);

/* Loss where the text is cut into pieces of `length` tokens: the same tokens are predicted at every length (masked
 * ones, or, by a causal model, those that would be masked, from the tokens before them).  Errors are standard
 * errors with stretches as the units; NaN for one stretch. */
enum { RF__LOSS_BINS = 16 };
typedef struct rf__length_loss {
    int64_t length;
    bool defined;                       /* the encoding has such positions                                            */
    int64_t labels, hits;
    double loss, error;                 /* nats a token                                                               */
    double change, change_error;        /* against the first length, paired                                           */
    int64_t bins, bin_width;            /* by place in the piece                                                      */
    int64_t bin_labels[RF__LOSS_BINS];
    double bin_loss[RF__LOSS_BINS];
} rf__length_loss;

/* out[0 .. *lengths): length, 2 length, ... as far as the stretches go, at most RF__LENGTHS. */
enum { RF__LENGTHS = 5 };
rf_status rf__measure_lengths(const rf__lab *lab, rf__length_loss out[], int *lengths, rf_error *why);

#endif
