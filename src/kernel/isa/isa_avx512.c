/* isa_avx512.c — the table of the rung: the kernel bodies in the dialect of vec_avx512.h. */
#include <math.h>

#include "kernel/kernel.h"
#include "kernel/isa/vec_avx512.h"

#include "kernel/bodies/bodies.inc"

const rfk_table rfk_avx512 = {
    .isa = "avx512",
#define RFK(name, result, parameters) .name = k_##name,
#include "roformer/kernel/kernels.def"
#undef RFK
};
