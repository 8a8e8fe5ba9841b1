/* isa_neon.c — the whole file is one table: the bodies in the words of vec_neon.h. */
#include <math.h>

#include "kernel/kernel.h"
#include "kernel/vec_neon.h"

#include "kernel/bodies.inc"

const rfk_table rfk_neon = {
    .isa = "neon",
#define RFK(name, result, parameters) .name = k_##name,
#include "roformer/kernel/kernels.def"
#undef RFK
};
