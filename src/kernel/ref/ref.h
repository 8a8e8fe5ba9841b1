/* ref.h — the reference rung: rfk_ref_<name> for each row of kernels.def, computed by its formula in double. */
#ifndef RF_REF_H
#define RF_REF_H

#include <math.h>

#include "kernel/kernel.h"

#define RFK(name, result, parameters) result rfk_ref_##name parameters;
#include "roformer/kernel/kernels.def"
#undef RFK

#endif
