/* ref.c — the reference rung's table. */
#include "kernel/ref/ref.h"

#if !__has_include("kernel/ref/attention.c")
#define rfk_ref_attention NULL
#define rfk_ref_attention_back NULL
#endif

const rfk_table rfk_ref = {
    .isa = "ref",
#define RFK(name, result, parameters) .name = rfk_ref_##name,
#include "roformer/kernels.def"
#undef RFK
};
