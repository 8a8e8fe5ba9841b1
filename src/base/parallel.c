/* parallel.c — n independent bodies on the context's workers.
 *
 * OpenMP, because oneDNN's workers are OpenMP's: one pool serves both.  Indices are handed out as workers become free;
 * since a body writes only what belongs to its index, the order does not show in the result.                          */
#include "base.h"

#ifdef _OPENMP
#include <omp.h>
#endif

void rf__parallel(const rf_ctx *ctx, int64_t n, rf_body *body, void *arg)
{
#ifdef _OPENMP
    if (n > 1 && ctx->threads > 1) {
#pragma omp parallel for schedule(dynamic, 1) num_threads(ctx->threads)
        for (int64_t i = 0; i < n; i++) body(arg, i, omp_get_thread_num());
        return;
    }
#else
    (void)ctx;
#endif
    for (int64_t i = 0; i < n; i++) body(arg, i, 0);
}
