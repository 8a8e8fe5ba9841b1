/* peak.h — what the machine can do at this moment, to measure everything else against.  Internal.
 *
 * Each figure is of all the context's workers together and takes about `seconds`.  Other work on the machine lowers it,
 * as it lowers what is compared with it: measure both in turns.                                                     */
#ifndef RF_PEAK_H
#define RF_PEAK_H

#include "base/base.h"
#include "roformer/gemm.h"

/* f32 operations a second (a fused multiply-add counts two) of a loop that lives in registers. */
double rf_peak_flops(const rf_ctx *ctx, double seconds);

/* The same of multiply-adds of this type, of bf16 numbers into f32 sums or of bytes into int32; 0 where there is no
 * instruction for them. */
double rf_peak_of(const rf_ctx *ctx, rf_type type, double seconds);

/* Bytes a second read from, and copied (read + written) within, a buffer of `bytes`; larger than the caches for the
 * memory's own figure.  Negative when there is no memory for the buffer. */
double rf_peak_read(const rf_ctx *ctx, size_t bytes, double seconds);
double rf_peak_copy(const rf_ctx *ctx, size_t bytes, double seconds);

#endif
