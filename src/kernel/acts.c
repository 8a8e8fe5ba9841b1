/* acts.c — the rows of acts.def: each activation's formula, names and kernels. */
#include "kernel/acts.h"

#include <math.h>

#define RFA(constant, kernel, torch, y, ...) \
    static double of_##kernel(double x) { return y; }
#include "roformer/kernel/acts.def"
#undef RFA

const rf__activation *rf__act_row(rf_act act)
{
    static const rf__activation row[] = {
        {0},
#define RFA(constant, kernel, torch, y, ...) {torch, of_##kernel, {__VA_ARGS__}},
#include "roformer/kernel/acts.def"
#undef RFA
    };
    return (unsigned)act - 1 < RF__ACTS - 1 ? &row[act] : NULL;
}

rf_act_kernels rf__kernels_of_act(const rfk_table *k, rf_act act)
{
    switch (act) {
    case RF_ACT_NONE: break;
#define RFA(constant, kernel, torch, y, ...) \
    case RF_ACT_##constant: return (rf_act_kernels){k->kernel, k->kernel##_back};
#include "roformer/kernel/acts.def"
#undef RFA
    }
    return (rf_act_kernels){NULL, NULL};
}
