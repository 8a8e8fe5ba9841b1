/* isa_neon.c — the table of the rung: the kernel bodies in the dialect of vec_neon.h. */
#include <math.h>

#include "kernel/kernel.h"
#include "kernel/isa/vec_neon.h"

#include "kernel/bodies/bodies.inc"

const rfk_table rfk_neon = {
    .isa = "neon",
#define RFK(name, result, parameters) .name = k_##name,
#include "roformer/kernel/kernels.def"
#undef RFK
};
