/* ref.c — the reference rung: every kernel as its formula is printed, in double. */
#include "kernel/kernel.h"

const rfk_table rfk_ref = {.isa = "ref"};
