/* isa_neon.c — the whole file is one table. */
#include "kernel/kernel.h"

const rfk_table rfk_neon = {.isa = "neon"};
