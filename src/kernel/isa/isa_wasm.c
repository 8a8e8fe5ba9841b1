/* isa_wasm.c — the table of the rung: the kernel bodies in the dialect of vec_wasm.h.
 *
 * There is no rung for relaxed-simd, whose results depend on the processor: f32x4.relaxed_madd rounds once or twice.
 * i32x4.relaxed_dot_i8x16_i7x16_add is exact only for a factor in 0..127.  Codes have signs; moving a sign from one
 * factor to the other takes two operations for each product, after which it is slower than i32x4.dot_i16x8 on
 * processors without byte products.  A module with one of these instructions does not load where they are unknown. */
#include <math.h>

#include "kernel/kernel.h"
#include "kernel/isa/vec_wasm.h"

#include "kernel/bodies/bodies.inc"

const rfk_table rfk_wasm = {
    .isa = "wasm",
#define RFK(name, result, parameters) .name = k_##name,
#include "roformer/kernel/kernels.def"
#undef RFK
};
