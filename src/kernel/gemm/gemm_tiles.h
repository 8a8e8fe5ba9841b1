/* gemm_tiles.h — floor 1, internal: what a rung of tiles gives the blocked driver in place of gemm_panel.
 *
 * A block of a meets all panels of a task in one call, each over all cuts of k that the block holds, and the result is
 * finished (scales, activation) while the next tiles are multiplied.  Sums are those of gemm_panel_bf16 and
 * gemm_panel_i8, to the bit. */
#ifndef RF_GEMM_TILES_H
#define RF_GEMM_TILES_H

#include "kernel/kernel.h"

/* Sizes of a and of panels in bytes. */
typedef struct rf__tile_block {
    const char *a;                      /* cuts one after the other, rows as the rung's shape has them                */
    int64_t cut;                        /* from a cut of a to the next                                                */
    int64_t rows;
    int64_t k, step;                    /* of a row of a: in all cuts; in each but the last                           */
    const char *panel;                  /* the first, from the first of these cuts on                                 */
    int64_t panel_size;                 /* from a panel to the next                                                   */
    int64_t n;                          /* columns of c, of all panels                                                */
    float *c;
    int64_t ldc;
    bool add, last;                     /* to c, which holds earlier cuts; these are the last cuts                    */
    const float *bias;                  /* [n], or NULL                                                               */
    void (*act)(float *y, const float *x, int64_t n);                 /* of the last cuts; NULL: none                 */
    const rfk_i8_store *store;          /* int8 alone                                                                 */
    void *space;                        /* rf__tile_space                                                             */
} rf__tile_block;

typedef struct rf__tile_products {
    void (*bf16)(const rf__tile_block *x);
    void (*i8)(const rf__tile_block *x);
} rf__tile_products;

/* Of the context's rung; NULL: it has no tiles. */
const rf__tile_products *rf__tile_products_of(const rf_ctx *ctx);

/* Bytes of scratch for a block of `rows`: its sums between two cuts. */
static inline size_t rf__tile_space(int64_t rows) { return (size_t)((rows + 31) / 32 * 32) * 32 * sizeof(float); }

#endif
