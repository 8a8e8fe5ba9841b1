/* isa_avx512.c — the whole file is one table. */
#include "kernel/kernel.h"

const rfk_table rfk_avx512 = {.isa = "avx512"};
