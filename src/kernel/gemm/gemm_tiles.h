/* gemm_tiles.h — internal: what a rung with tiles provides to the blocked driver instead of gemm_panel.
 *
 * One call multiplies a block of a with all panels of a task, each over all cuts of k that the block holds.  It
 * finishes the result (scales, activation) while it multiplies the next tiles.  Sums have the bits of gemm_panel_bf16
 * and gemm_panel_i8. */
#ifndef RF_GEMM_TILES_H
#define RF_GEMM_TILES_H

#include "kernel/kernel.h"

/* Sizes of a and of panels in bytes. */
typedef struct rf__tile_block {
    const char *a;                      /* the cuts follow each other, with rows in the rung's shape                  */
    int64_t cut;                        /* stride of cuts of a                                                        */
    int64_t rows;
    int64_t k, step;                    /* of a row of a: in all cuts together; in each cut but the last              */
    const char *panel;                  /* the first, beginning with the first of these cuts                          */
    int64_t panel_size;                 /* stride of panels                                                           */
    int64_t n;                          /* columns of c, of all panels                                                */
    float *c;
    int64_t ldc;
    bool add, last;                     /* add to c, which holds earlier cuts; these are the last cuts                */
    const float *bias;                  /* [n], or NULL                                                               */
    void (*act)(float *y, const float *x, int64_t n);                 /* of the last cuts; NULL: none                 */
    const rfk_i8_store *store;          /* only for int8                                                              */
    void *space;                        /* rf__tile_space                                                             */
} rf__tile_block;

typedef struct rf__tile_products {
    void (*bf16)(const rf__tile_block *x);
    void (*i8)(const rf__tile_block *x);
} rf__tile_products;

/* Of the context's rung.  NULL if it has no tiles. */
const rf__tile_products *rf__tile_products_of(const rf_ctx *ctx);

/* Bytes of scratch for a block of `rows`: the sums of two panels. */
static inline size_t rf__tile_space(int64_t rows) { return 2 * (size_t)((rows + 31) / 32 * 32) * 32 * sizeof(float); }

#endif
