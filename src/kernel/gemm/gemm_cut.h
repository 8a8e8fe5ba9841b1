/* gemm_cut.h — floor 1, internal: how the blocked products of either type cut b[k,n]; nothing here depends on m. */
#ifndef RF_GEMM_CUT_H
#define RF_GEMM_CUT_H

#include "kernel/gemm/products.h"

static inline int64_t rf__ceiling(int64_t a, int64_t b) { return (a + b - 1) / b; }

/* k in nearly equal cuts of at most `depth`, of whole vectors of 16 (so all but the last are even). */
static inline int64_t rf__depth_of_cut(int64_t k, int64_t depth)
{
    return rf__ceiling(rf__ceiling(k, rf__ceiling(k, depth)), 16) * 16;
}

typedef struct rf__cut {
    int64_t step;                       /* of k: how deep a cut is                                                    */
    int64_t deep, wide;                 /* rows and columns of b that are packed at a time                            */
} rf__cut;

/* About `chunk` numbers of b at a time: whole cuts of k, whole panels of n, as equal as can be. */
static inline rf__cut rf__cut_of(int64_t n, int64_t k, int64_t depth, int64_t panel, int64_t chunk)
{
    const int64_t step = rf__depth_of_cut(k, depth), cuts = rf__ceiling(k, step), panels = rf__ceiling(n, panel);
    const int64_t deep = rf__ceiling(cuts, rf__min64(cuts, rf__ceiling(n * k, chunk))) * step;
    const int64_t n_chunks = deep > step ? 1 : rf__min64(panels, rf__ceiling(n * rf__min64(step, k), chunk));
    return (rf__cut){step, deep, rf__ceiling(panels, n_chunks) * panel};
}

static inline rf_status rf__no_scratch(rf_error *why, size_t bytes)
{
    return rf_fail(why, RF_ENOMEM, "out of memory: scratch of a matrix product, %zu bytes", bytes);
}

#endif
