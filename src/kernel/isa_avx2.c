/* isa_avx2.c — the whole file is one table: the bodies in the words of vec_avx2.h. */
#include <math.h>

#include "kernel/kernel.h"
#include "kernel/vec_avx2.h"

#include "kernel/bodies.inc"

const rfk_table rfk_avx2 = {
    .isa = "avx2",
#define RFK(name, result, parameters) .name = k_##name,
#include "roformer/kernel/kernels.def"
#undef RFK
};
