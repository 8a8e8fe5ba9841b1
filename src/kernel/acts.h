/* acts.h — the rows of acts.def as a table. */
#ifndef RF_KERNEL_ACTS_H
#define RF_KERNEL_ACTS_H

#include "kernel/kernel.h"
#include "roformer/kernel/gemm.h"

enum {
    RF__ACTS = 1                                      /* with RF_ACT_NONE */
#define RFA(constant, kernel, torch, y, ...) +1
#include "roformer/kernel/acts.def"
#undef RFA
};

typedef struct rf__activation {
    const char *torch;                                /* the class below torch.nn.modules; NULL: none                 */
    double (*of)(double x);
    const char *name[8];                              /* NULL after the last                                          */
} rf__activation;

/* NULL for RF_ACT_NONE and unknown numbers. */
const rf__activation *rf__act_row(rf_act act);

typedef struct rf_act_kernels {
    void (*forward)(float *y, const float *x, int64_t n);                /* NULL for RF_ACT_NONE                      */
    void (*back)(float *dx, const float *dy, const float *x, int64_t n);
} rf_act_kernels;
rf_act_kernels rf__kernels_of_act(const rfk_table *k, rf_act act);

#endif
