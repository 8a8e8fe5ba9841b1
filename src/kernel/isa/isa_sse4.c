/* isa_sse4.c — the table of the rung: the kernel bodies in the dialect of vec_sse4.h. */
#include <math.h>

#include "kernel/kernel.h"
#include "kernel/isa/vec_sse4.h"

#include "kernel/bodies/bodies.inc"

const rfk_table rfk_sse4 = {
    .isa = "sse4",
#define RFK(name, result, parameters) .name = k_##name,
#include "roformer/kernel/kernels.def"
#undef RFK
};
