/* metrics.h — evaluation metrics of classes and numbers, with the results of scikit-learn and scipy; and of
 * translations: BLEU, chrF, TER, and significance tests for comparing two systems.
 *
 * Classes and numbers (tools/golden/golden_scores.py)   undefined values are as in these libraries: F1 of a class
 * without predictions is 0, Matthews' coefficient with one class is 0, a correlation with a constant is NaN. All sums
 * are in double.
 *
 * Translations   scores, intervals and p-values are those of sacreBLEU 2.6 (Post 2018) with the same options and seed.
 * Each text is one segment without line ends.
 *
 *     rf_mt_defaults(&o);
 *     if (rf_mt_evaluate(NULL, &o, &system, references, 1, n, &result, &why)) ...
 *     rf_mt_corpus(result, &score);                                  score.score is BLEU
 *     rf_mt_free(result);
 *
 * threads   the metrics of classes and numbers are pure functions: safe everywhere. An rf_mt_result never changes;
 *           segments and resamples are distributed over the context's workers */
#ifndef ROFORMER_METRICS_H
#define ROFORMER_METRICS_H

#include <stddef.h>
#include <stdint.h>

#include "roformer/context.h"

#ifdef __cplusplus
extern "C" {
#endif

/* ---- classes and numbers ----------------------------------------------------------------------------------------- */

/* label, predicted [n]: classes 0 .. classes-1 */
double rf_accuracy(const int32_t label[], const int32_t predicted[], size_t n);

/* The results of one class: precision = hits / predictions, recall = hits / labels, F1 = 2 hits / (predictions +
 * labels); 0/0 is 0. */
typedef struct rf_class_metrics { size_t labels, predictions, hits; double precision, recall, f1; } rf_class_metrics;
void rf_metrics_by_class(const int32_t label[], const int32_t predicted[], size_t n, int32_t classes,
                         rf_class_metrics out[]);

/* Matthews' correlation coefficient for any number of classes (Gorodkin 2004): (t s - sum_k p_k t_k) / sqrt((s^2 - sum
 * p^2) (s^2 - sum t^2)) */
double rf_matthews(const rf_class_metrics of[], int32_t classes, size_t n);

/* Pearson's r; NaN for fewer than two pairs, for a constant, or if a value is NaN. */
double rf_pearson(const double x[], const double y[], size_t n);
/* Spearman's rho: Pearson's r of the ranks; equal values get their mean rank. RF_ENOMEM: out of memory. */
rf_status rf_spearman(const rf_ctx *ctx, const double x[], const double y[], size_t n, double *out, rf_error *why);

/* ---- translations ------------------------------------------------------------------------------------------------ */

typedef enum rf_mt_metric { RF_MT_BLEU, RF_MT_CHRF, RF_MT_TER } rf_mt_metric;

/* BLEU's tokenization: mteval-v13a; international of mteval-v14; 13a with Chinese characters separated; every
 * character; white space only. RF_MT_COMPOUNDS is for text that is already tokenized: hyphens within words become "
 * ##AT##-##AT## ", as in tensor2tensor's get_ende_bleu.sh; without smoothing this is the BLEU of multi-bleu.perl. */
typedef enum rf_mt_tokenizer {
    RF_MT_13A, RF_MT_INTL, RF_MT_ZH, RF_MT_CHAR, RF_MT_NONE, RF_MT_COMPOUNDS
} rf_mt_tokenizer;

/* Smoothing of n-gram orders without a match (Chen and Cherry 2014). EXP: successively halved counts. FLOOR: a small
 * count. ADD_K: k is added to all orders but the first. UNSMOOTHED: none. */
typedef enum rf_mt_smooth { RF_MT_EXP, RF_MT_FLOOR, RF_MT_ADD_K, RF_MT_UNSMOOTHED } rf_mt_smooth;

enum { RF_MT_ORDERS = 8 };      /* maximum length of an n-gram, in words or characters */

typedef struct rf_mt_options {
    size_t size;                /* of this struct, set by rf_mt_defaults */
    rf_mt_metric metric;        /* default RF_MT_BLEU */
    int lowercase;              /* 1, 0; -1 (default): 1 for TER, else 0 */
    rf_mt_tokenizer tokenizer;  /* BLEU; default RF_MT_13A */
    rf_mt_smooth smooth;        /* BLEU; default RF_MT_EXP */
    double smooth_value;        /* for RF_MT_FLOOR and RF_MT_ADD_K; -1 (default): 0.1 and 1 */
    int max_order;              /* BLEU: length of the longest n-grams; default 4 */
    int effective_order;        /* BLEU: 1: ignore orders for which the text is too short (for segments); default 0 */
    int char_order;             /* chrF; default 6 */
    int word_order;             /* chrF; default 0; 2 is chrF++ */
    int beta;                   /* chrF: weight of recall; default 2 */
} rf_mt_options;
void rf_mt_options_init(rf_mt_options *o, size_t size);
#define rf_mt_defaults(o) rf_mt_options_init((o), sizeof *(o))

/* n texts; bytes NULL: they end at their terminating zeros. */
typedef struct rf_mt_texts { const char *const *text; const size_t *bytes; } rf_mt_texts;

typedef struct rf_mt_score {
    double score;               /* in percent */
    double precision[RF_MT_ORDERS];     /* BLEU: of each order, in percent */
    double brevity;             /* BLEU: brevity penalty */
    int64_t length;             /* BLEU: words of the system */
    double edits;               /* TER: number of edits */
    double reference;           /* words of the references; BLEU: nearest length; TER: mean */
} rf_mt_score;

typedef struct rf_mt_result rf_mt_result;

/* Computes the statistics of each segment.
 *
 *   ctx         NULL: creates its own context with default settings
 *   references  `count` of them (1 or more), of n texts each
 *   cost        2 to 24 numbers of 4 bytes for each segment
 *   RF_EDATA    a text is not UTF-8; the message has "system" or, for example, "reference 2", and its number from 1
 *   RF_EARG     no text, no reference, or an option is out of range */
rf_status rf_mt_evaluate(const rf_ctx *ctx, const rf_mt_options *options, const rf_mt_texts *system,
                         const rf_mt_texts references[], int count, int64_t n, rf_mt_result **out, rf_error *why);
void rf_mt_free(rf_mt_result *r);                               /* NULL is allowed */

void rf_mt_corpus(const rf_mt_result *r, rf_mt_score *out);
void rf_mt_segment(const rf_mt_result *r, int64_t i, rf_mt_score *out);         /* BLEU: set effective_order */
const char *rf_mt_name(const rf_mt_result *r);                  /* "BLEU", "chrF2++", "TER"; "tokenized BLEU" */

/* sacreBLEU's signature, "nrefs:1|case:mixed|...|version:2.6.0". Scores are comparable only if their signatures are
 * equal. `more` ("bs:1000|seed:12345" or "") is inserted at its place. Terminated by a zero, cut at `size`. */
void rf_mt_signature(const rf_mt_result *r, const char *more, char *out, size_t size);

/* ---- translations: significance ---------------------------------------------------------------------------------- */

typedef struct rf_mt_interval { double mean, half; } rf_mt_interval;            /* 95 %: mean - half to mean + half */

/* Confidence interval by bootstrap resampling (Koehn 2004): the scores of `samples` corpora of n segments drawn with
 * replacement. */
rf_status rf_mt_bootstrap(const rf_mt_result *r, int64_t samples, uint64_t seed, rf_mt_interval *out, rf_error *why);

/* The p-value of the difference between two systems. Approximate randomization (Riezler and Maxwell 2005) swaps
 * segments between the systems; the paired bootstrap draws the same segments of both, and also gives the interval of
 * `system`. Both results must have the same options and number of segments (RF_EARG). */
typedef enum rf_mt_test { RF_MT_RANDOMIZATION, RF_MT_PAIRED_BOOTSTRAP } rf_mt_test;
rf_status rf_mt_compare(const rf_mt_result *baseline, const rf_mt_result *system, rf_mt_test test, int64_t samples,
                        uint64_t seed, double *p, rf_mt_interval *interval, rf_error *why);

#ifdef __cplusplus
}
#endif
#endif
