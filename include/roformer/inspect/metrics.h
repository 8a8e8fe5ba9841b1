/* metrics.h — how good answers are, as scikit-learn and scipy compute it (tools/golden/golden_scores.py).
 *
 * Where a metric is not defined it is what those give: 0 for F1 of a class without answers, 0 for Matthews of one
 * class, NaN for a correlation with a constant.  All sums in double.
 *
 * threads   pure functions: safe everywhere                                                                          */
#ifndef ROFORMER_METRICS_H
#define ROFORMER_METRICS_H

#include <stddef.h>
#include <stdint.h>

#include "roformer/context.h"

#ifdef __cplusplus
extern "C" {
#endif

/* label, predicted [n]: classes 0 .. classes-1 */
double rf_accuracy(const int32_t label[], const int32_t predicted[], size_t n);

/* Classes that have an order, 0, 1, ...: the mean of |label - predicted|, and Cohen's kappa with weights
 * (label - predicted)^2: 1 - sum_i (y_i - p_i)^2 / (1/n sum_ij (y_i - p_j)^2), NaN where all are one class. */
double rf_mean_absolute_error(const int32_t label[], const int32_t predicted[], size_t n);
double rf_quadratic_kappa(const int32_t label[], const int32_t predicted[], size_t n);

/* What one class got: precision = hits / predictions, recall = hits / labels, F1 = 2 hits / (predictions + labels); 0
 * for 0/0. */
typedef struct rf_class_score { size_t labels, predictions, hits; double precision, recall, f1; } rf_class_score;
void rf_class_scores(const int32_t label[], const int32_t predicted[], size_t n, int32_t classes,
                     rf_class_score out[]);

/* The mean of the classes' F1 over the classes that occur in labels or predictions. */
double rf_f1_macro(const rf_class_score score[], int32_t classes);

/* Yes-or-no answers [n, K], K labels each by itself: F1 over all cells, and the mean over labels. */
double rf_f1_cells(const uint8_t label[], const uint8_t predicted[], size_t n, int32_t K);
double rf_f1_labels(const uint8_t label[], const uint8_t predicted[], size_t n, int32_t K);

/* (t s - sum_k p_k t_k) / sqrt((s^2 - sum p^2) (s^2 - sum t^2)): Matthews for any number of classes (Gorodkin 2004) */
double rf_matthews(const rf_class_score score[], int32_t classes, size_t n);

/* Pearson's r; RF_EARG never: NaN below two pairs, with a constant, or with NaN. */
double rf_pearson(const double x[], const double y[], size_t n);
/* Pearson's r of the ranks, equal values sharing their mean rank.  RF_ENOMEM. */
rf_status rf_spearman(const rf_ctx *ctx, const double x[], const double y[], size_t n, double *out, rf_error *why);

#ifdef __cplusplus
}
#endif
#endif
