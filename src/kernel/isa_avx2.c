/* isa_avx2.c — the whole file is one table. */
#include "kernel/kernel.h"

const rfk_table rfk_avx2 = {.isa = "avx2"};
