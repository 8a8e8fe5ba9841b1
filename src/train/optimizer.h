/* optimizer.h — AdamW over the slabs. */
#ifndef RF_OPTIMIZER_H
#define RF_OPTIMIZER_H

#include "model/params.h"

typedef struct rf__span { size_t at, n; bool decay; } rf__span;

/* Four slabs of params->total floats: values, gradients, and Adam's two moments. */
typedef struct rf__optimizer {
    const rf_params *params;
    float *value, *grad, *m, *v;
    rf__span *span;                     /* fixed blocks, each inside one parameter                                     */
    double *square;                     /* [spans]                                                                      */
    size_t spans;
} rf__optimizer;

/* The moments are zero; values and gradients are not set. */
rf_status rf__optimizer_new(const rf_params *params, rf__optimizer *out, rf_error *why);
void rf__optimizer_free(rf__optimizer *o);

void rf__optimizer_zero_grad(rf__optimizer *o);

/* The 2-norm of the gradient over all parameters, in double, in one order whatever the number of workers. */
double rf__optimizer_norm(rf__optimizer *o);

typedef struct rf__adamw { double rate, beta1, beta2, epsilon, decay, scale; int64_t update; } rf__adamw;

/* Update number `update` (from 1) with the gradient times `scale`. */
void rf__optimizer_update(rf__optimizer *o, const rf__adamw *how);

/* optimizer.safetensors: the moments as "m.<name>" and "v.<name>". */
rf_status rf__optimizer_save(const rf__optimizer *o, const char *path, rf_error *why);
rf_status rf__optimizer_load(rf__optimizer *o, const char *path, rf_error *why);

#endif
