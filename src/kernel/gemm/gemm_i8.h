/* gemm_i8.h — internal: packed weights in int8, which products in int8 (gemm_i8.c) and in f32 or bf16 (gemm_i8w.c)
 * share. */
#ifndef RF_GEMM_I8_H
#define RF_GEMM_I8_H

#include "kernel/gemm/gemm_blocked.h"

/* Data besides the panels, for whole panels.  The arrays follow in the same block. */
typedef struct rf__i8_weights {
    float *column;                      /* scales */
    int32_t *offset;                    /* what a code for 0 other than 0 adds to the sum of a column */
    const int8_t *given;                /* during packing: the weights, if they are in int8 already */
} rf__i8_weights;

/* Packs the weights `from` in f32, or `given` in int8 with scales, in the shape of `e`, and sets w->own. */
rf_status rf__i8_pack(const rf__element *e, const rf_ctx *ctx, rf_packed *w, const float *from, const int8_t *given,
                      const float *scale, rf_error *why);
void rf__i8_pack_panel(const rf__packing *p, int64_t q);
void rf__i8_forget(rf_packed *w);

#endif
