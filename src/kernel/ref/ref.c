/* ref.c — the reference rung's table. */
#include "kernel/ref/ref.h"

void rfk_ref_thread_start(void) {}
void rfk_ref_thread_end(void) {}

const rfk_table rfk_ref = {
    .isa = "ref",
#define RFK(name, result, parameters) .name = rfk_ref_##name,
#include "roformer/kernel/kernels.def"
#undef RFK
};
