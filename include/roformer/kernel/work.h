/* work.h — a context's memory and threads, and measurements of the machine's limits, for programs that use only the
 * kernels and for benchmarks.
 *
 * threads   a context may be shared: any number of threads may call these functions at the same time. The functions
 *           that measure compete for the processors then */
#ifndef ROFORMER_WORK_H
#define ROFORMER_WORK_H

#include "roformer/kernel/gemm.h"

#ifdef __cplusplus
extern "C" {
#endif

/* ---- memory ------------------------------------------------------------------------------------------------------ */

/* Allocates memory with the context's allocator, 64-byte aligned and not zeroed. The default allocator asks for huge
 * pages for large blocks. Returns NULL if there is no memory. Freed with rf_ctx_release of the same context (NULL is
 * allowed). Each block takes 64 bytes more than requested. */
void *rf_ctx_alloc(const rf_ctx *ctx, size_t bytes);
void rf_ctx_release(const rf_ctx *ctx, void *memory);

/* ---- threads ----------------------------------------------------------------------------------------------------- */

/* One of n independent units of work. It may write only data that belongs to i, and scratch memory that belongs to
 * `worker` (0 to rf_ctx_threads - 1), so that results do not depend on the number of workers. Worker numbers are unique
 * within one call of rf_ctx_run, not between calls: every call needs its own scratch memory. */
typedef void rf_work_body(void *arg, int64_t i, int worker);

/* Calls body(arg, i, worker) once for every i in [0, n) on the context's workers, in any order, and returns when all
 * are done. The calling thread is worker 0. While the workers are busy with another call, it computes all units itself;
 * so does a call from within a body. Allocates no memory.
 *
 *   RF_EARG   ctx or body is NULL, or n < 0 */
rf_status rf_ctx_run(const rf_ctx *ctx, int64_t n, rf_work_body *body, void *arg, rf_error *why);

/* ---- limits of the machine: all workers together, each measured for about `seconds` ------------------------------ */

/* `seconds` may be 0: one pass. ctx must not be NULL. Other load on the machine lowers these figures. Measure them
 * alternately with the figures that they are compared with. */

/* f32 operations per second (a fused multiply-add counts as two) of a loop in registers with the widest vectors of the
 * context's rung: on rung avx2, the peak of AVX2. */
double rf_peak_flops(const rf_ctx *ctx, double seconds);

/* The same for multiply-adds of another type: bf16 with f32 sums, or int8 with int32 sums. Matrix tiles are used if the
 * rung has them. int8 without an int8 instruction is multiplied as int16 on x86-64. 0: the rung has no instruction for
 * this type. */
double rf_peak_of(const rf_ctx *ctx, rf_type type, double seconds);

/* Bytes per second read from a buffer of `bytes`, or copied within it (read and written bytes counted). To measure main
 * memory, use a buffer larger than the caches. Negative: no memory for the buffer. */
double rf_peak_read(const rf_ctx *ctx, size_t bytes, double seconds);
double rf_peak_copy(const rf_ctx *ctx, size_t bytes, double seconds);

/* ---- products: the implementations of this build, for comparison ------------------------------------------------- */

/* The name of the i-th implementation, in static storage; 0 is the one that rf_gemm uses for f32; NULL past the last.
 * *type (type may be NULL) receives the type that it multiplies. */
const char *rf_gemm_way(const rf_ctx *ctx, int i, rf_type *type);

/* rf_gemm and rf_pack with that implementation. RF_EARG: there is none with this number. */
rf_status rf_gemm_at(const rf_ctx *ctx, int i, const rf_gemm_call *call, rf_error *why);
rf_status rf_pack_at(const rf_ctx *ctx, int i, rf_type type, int64_t n, int64_t k, const float *w, rf_packed **out,
                     rf_error *why);

/* ---- emulated tiles ---------------------------------------------------------------------------------------------- */

/* Counts of the tile operations that the calling thread has executed on the rung amx_emulated, for predicting the speed
 * on a processor with AMX. Operations of a real AMX unit are not counted. */
typedef struct rf_tile_counts {
    uint64_t configured, released;
    uint64_t zeroed, loaded, stored;    /* tiles of 1 KB */
    uint64_t dots;                      /* products of two tiles */
} rf_tile_counts;

void rf_tiles_counted(rf_tile_counts *out);

#ifdef __cplusplus
}
#endif
#endif
