/* metrics.h — evaluation metrics with the results of scikit-learn and scipy (tools/golden/golden_scores.py).
 *
 * Undefined values are as in these libraries: F1 of a class without predictions is 0, Matthews' coefficient with one
 * class is 0, a correlation with a constant is NaN. All sums are in double.
 *
 * threads   pure functions: safe everywhere */
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

#ifdef __cplusplus
}
#endif
#endif
