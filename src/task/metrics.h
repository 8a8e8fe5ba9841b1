/* metrics.h — the metrics of GLUE, SQuAD and CoNLL, as scikit-learn, scipy, SQuAD's script and seqeval compute them
 * (tools/golden/golden_scores.py).
 *
 * If a metric is undefined, it has the value that these programs return: 0 for F1 of a class without predictions, 0 for
 * Matthews with one class, NaN for a correlation with a constant. All sums are in double. */
#ifndef RF_TASK_METRICS_H
#define RF_TASK_METRICS_H

#include "base/base.h"
#include "roformer/inspect/metrics.h"
#include "roformer/train.h"

/* SQuAD: both sides in lower case (of any script; a capital sigma becomes one that is not final), without ASCII
 * punctuation, the words a, an, the, and extra white space. exact: 0 or 1; f1: 2 shared / (words + words), counting
 * words as often as both sides have them; 1 if neither has words. RF_EDATA: not UTF-8; RF_ENOMEM. */
size_t rf__squad_normal(const char *text, size_t size, char *out);     /* out: 2 size + 1 bytes; returns its length */
rf_status rf__squad_metrics(const rf_ctx *ctx, const char *answer, const char *predicted, double *exact, double *f1,
                            rf_error *why);

/* Entities of tags, as seqeval reads them by default, in IOB2, IOBES (BIOES) and, with other letters, BILOU and BMES:
 *
 *     B-X begins one   I-X, M-X continue one   E-X, L-X end one   S-X, U-X are one of a single word   else: outside
 *
 * I and E begin an entity if there is none of the same X to continue, and any tag that does not continue an entity ends
 * it. A tag may have no type. seqeval itself reads L and U only in its strict mode, in which tags that violate the
 * scheme are no entity.
 *
 * tag [n] names; adds to previous counts, so that sentences are passed one after the other. */
typedef struct rf__entity_count { size_t labels, predictions, hits; } rf__entity_count;
void rf__count_entities(const char *const label[], const char *const predicted[], size_t n, rf__entity_count *add);
/* Whether any of these n tags has that form. Letters without a type next to other words, such as parts of speech, do
 * not count. */
bool rf__tags_are_entities(const char *const name[], int64_t n);
bool rf__tag_is_entity(const char *name);
double rf__entity_f1(const rf__entity_count *c);

/* Adds to `out` the metrics of metrics_pairs.c for the numbers that a model gives to pairs: pearson, spearmanr, and for
 * labels 0 and 1 average_precision, accuracy, precision, recall and f1 of the prediction "1 if the number is at least
 * `threshold`" (above 1: the best thresholds, which follow as accuracy_threshold and f1_threshold). */
rf_status rf__pair_metrics(const rf_ctx *ctx, const double label[], const double value[], size_t n, double at,
                           rf_metric_values *out, rf_error *why);

/* Metrics of one query from its candidates, which are sorted; false: no label is above 0. */
typedef struct rf__candidate { double value, label; } rf__candidate;
typedef struct rf__ranking { double precision, reciprocal, gain, recall_at_1, recall_at_10; } rf__ranking;
bool rf__rank_candidates(rf__candidate c[], size_t n, rf__ranking *out);

/* map, mrr_at_10 and ndcg_at_10 of n queries, whose candidates are first[q] .. first[q+1]-1; NaN: no query has a label
 * above 0. */
rf_status rf__list_metrics(const rf_ctx *ctx, const size_t first[], size_t n, const float label[], const double value[],
                           rf_metric_values *out, rf_error *why);

/* For ordered classes 0, 1, ...: the mean of |label - predicted|, and Cohen's kappa with weights (label - predicted)^2,
 * 1 - sum_i (y_i - p_i)^2 / (1/n sum_ij (y_i - p_j)^2); NaN if all are one class. */
double rf__mean_absolute_error(const int32_t label[], const int32_t predicted[], size_t n);
double rf__quadratic_kappa(const int32_t label[], const int32_t predicted[], size_t n);

/* Mean F1 of the classes that occur in labels or predictions. */
double rf__f1_macro(const rf_class_metrics of[], int32_t classes);

/* Multi-label [n, K], each 0 or 1: F1 over all elements (micro), and the mean F1 of the labels (macro). */
double rf__f1_cells(const uint8_t label[], const uint8_t predicted[], size_t n, int32_t K);
double rf__f1_labels(const uint8_t label[], const uint8_t predicted[], size_t n, int32_t K);

#endif
