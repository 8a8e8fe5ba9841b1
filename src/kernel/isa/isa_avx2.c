/* isa_avx2.c — the table of the rung: the kernel bodies in the dialect of vec_avx2.h. */
#include <math.h>

#include "kernel/kernel.h"
#include "kernel/isa/vec_avx2.h"

#include "kernel/bodies/bodies.inc"

const rfk_table rfk_avx2 = {
    .isa = "avx2",
#define RFK(name, result, parameters) .name = k_##name,
#include "roformer/kernel/kernels.def"
#undef RFK
};
