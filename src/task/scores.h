/* scores.h — how good answers are: the metrics of GLUE, SQuAD and CoNLL, as scikit-learn, scipy, SQuAD's script and
 * seqeval compute them (tools/golden_scores.py).
 *
 * Where a metric is not defined it is what those give: 0 for F1 of a class without answers, 0 for Matthews of one
 * class, NaN for a correlation with a constant.  All sums in double.                                                 */
#ifndef RF_TRAIN_SCORES_H
#define RF_TRAIN_SCORES_H

#include "base/base.h"

/* label, predicted [n]: classes 0 .. classes-1 */
double rf__accuracy(const int32_t label[], const int32_t predicted[], size_t n);

/* Classes that have an order, 0, 1, ...: the mean of |label - predicted|, and Cohen's kappa with weights
 * (label - predicted)^2: 1 - sum_i (y_i - p_i)^2 / (1/n sum_ij (y_i - p_j)^2), NaN where all are one class. */
double rf__mean_absolute_error(const int32_t label[], const int32_t predicted[], size_t n);
double rf__quadratic_kappa(const int32_t label[], const int32_t predicted[], size_t n);

/* What one class got: precision = hits / predictions, recall = hits / labels, F1 = 2 hits / (predictions + labels); 0
 * for 0/0. */
typedef struct rf__class_score { size_t labels, predictions, hits; double precision, recall, f1; } rf__class_score;
void rf__class_scores(const int32_t label[], const int32_t predicted[], size_t n, int32_t classes,
                      rf__class_score out[]);

/* The mean of the classes' F1 over the classes that occur in labels or predictions. */
double rf__f1_macro(const rf__class_score score[], int32_t classes);

/* Yes-or-no answers [n, K], K labels each by itself: F1 over all cells, and the mean over labels. */
double rf__f1_cells(const uint8_t label[], const uint8_t predicted[], size_t n, int32_t K);
double rf__f1_labels(const uint8_t label[], const uint8_t predicted[], size_t n, int32_t K);

/* (t s - sum_k p_k t_k) / sqrt((s^2 - sum p^2) (s^2 - sum t^2)): Matthews for any number of classes (Gorodkin 2004) */
double rf__matthews(const rf__class_score score[], int32_t classes, size_t n);

/* Pearson's r; RF_EARG never: NaN below two pairs, with a constant, or with NaN. */
double rf__pearson(const double x[], const double y[], size_t n);
/* Pearson's r of the ranks, equal values sharing their mean rank.  RF_ENOMEM. */
rf_status rf__spearman(const rf_ctx *ctx, const double x[], const double y[], size_t n, double *out, rf_error *why);

/* SQuAD: both sides in lower case (of any script; a capital sigma becomes one that is not final), without ASCII
 * punctuation, the words a, an, the, and further white space.  exact: 0 or 1; f1: 2 shared / (words + words), counting
 * words as often as both sides have them, 1 for two without words.  RF_EDATA: not UTF-8; RF_ENOMEM. */
size_t rf__squad_normal(const char *text, size_t size, char *out);     /* out: 2 size + 1 bytes; returns its length */
rf_status rf__squad_score(const rf_ctx *ctx, const char *answer, const char *predicted, double *exact, double *f1,
                          rf_error *why);

/* Entities of tags, as seqeval reads them by default, in IOB2, IOBES (BIOES) and, by other letters, BILOU and BMES:
 *
 *     B-X begins one   I-X, M-X go on   E-X, L-X end one   S-X, U-X are one of a single word   all else is outside
 *
 * I and E begin one where none of the same X goes on, and any tag that does not go on ends it.  A tag may have no type.
 * seqeval itself reads L and U in its strict mode alone, in which tags of a scheme that break its rules are no entity.
 *
 * tag [n] names; adds to what was counted before, so that sentences are given one after the other. */
typedef struct rf__entity_count { size_t labels, predictions, hits; } rf__entity_count;
void rf__count_entities(const char *const label[], const char *const predicted[], size_t n, rf__entity_count *add);
/* Has one tag of these n that form?  Not: letters without a type beside other words, such as parts of speech. */
bool rf__tags_are_entities(const char *const name[], int64_t n);
bool rf__tag_is_entity(const char *name);
double rf__entity_f1(const rf__entity_count *c);

#endif
