/* work.h — a context's memory and threads, and what the machine can do at this moment: for who calls kernels alone, and
 * for benches.
 *
 * threads   as the context's                                                                                         */
#ifndef ROFORMER_WORK_H
#define ROFORMER_WORK_H

#include "roformer/kernel/gemm.h"

#ifdef __cplusplus
extern "C" {
#endif

/* ---- memory ------------------------------------------------------------------------------------------------------ */

/* Memory of the context's allocator, 64-byte aligned, where the system can in huge pages; not zeroed.  NULL: there is
 * none.  Given back with rf_ctx_release (NULL is fine). */
void *rf_ctx_alloc(const rf_ctx *ctx, size_t bytes);
void rf_ctx_release(const rf_ctx *ctx, void *memory);

/* ---- threads ----------------------------------------------------------------------------------------------------- */

/* One of n independent bodies.  It writes only what belongs to its i, or to `worker` (0 .. rf_ctx_threads - 1), as
 * scratch, so that results do not depend on the number of workers. */
typedef void rf_work_body(void *arg, int64_t i, int worker);

/* body(arg, i, worker) once for every i in [0, n), on the context's workers; returns when all are done.
 *
 *   RF_EARG   ctx or body is NULL, n < 0                                                                             */
rf_status rf_ctx_run(const rf_ctx *ctx, int64_t n, rf_work_body *body, void *arg, rf_error *why);

/* ---- limits: of all workers together, each measured for about `seconds` ------------------------------------------ */

/* Other work on the machine lowers a figure, as it lowers what is compared with it: measure both in turns. */

/* f32 operations a second (a fused multiply-add counts two) of a loop in registers, with the widest vectors that the
 * context's rung has: under --isa avx2 the peak of AVX2. */
double rf_peak_flops(const rf_ctx *ctx, double seconds);

/* The same of multiply-adds of this type, of bf16 numbers into f32 sums or of bytes into int32; 0 where there is no
 * instruction for them on that rung (with AVX2 alone bytes are multiplied as int16).  In tiles where it has them. */
double rf_peak_of(const rf_ctx *ctx, rf_type type, double seconds);

/* Bytes a second read from, and copied (read + written) within, a buffer of `bytes`; larger than the caches for the
 * memory's own figure.  Negative when there is no memory for the buffer. */
double rf_peak_read(const rf_ctx *ctx, size_t bytes, double seconds);
double rf_peak_copy(const rf_ctx *ctx, size_t bytes, double seconds);

/* ---- products: every way of this build, to be compared ----------------------------------------------------------- */

/* The name of the i-th way, 0 being what rf_gemm uses for f32; NULL past the last.  *type (or NULL): what it is for. */
const char *rf_gemm_way(const rf_ctx *ctx, int i, rf_type *type);

/* rf_gemm and rf_pack that way.  RF_EARG: there is none. */
rf_status rf_gemm_at(const rf_ctx *ctx, int i, const rf_gemm_call *call, rf_error *why);
rf_status rf_pack_at(const rf_ctx *ctx, int i, rf_type type, int64_t n, int64_t k, const float *w, rf_packed **out,
                     rf_error *why);

/* ---- tiles that are emulated ------------------------------------------------------------------------------------- */

/* What the calling thread's tiles have done so far on the rung amx_emulated; a processor's own are not counted.  Times
 * of a machine that has them can be predicted from it. */
typedef struct rf_tile_counts {
    uint64_t configured, released;
    uint64_t zeroed, loaded, stored;    /* tiles of 1 KB                                                              */
    uint64_t dots;                      /* products of two tiles                                                      */
} rf_tile_counts;

void rf_tiles_counted(rf_tile_counts *out);

#ifdef __cplusplus
}
#endif
#endif
