/* rope.h — rotary position embedding (RoPE): the angles.
 *
 * Source   Su et al., "RoFormer", arXiv:2104.09864, Secs. 3.2-3.4
 * Symbols  m a position, theta_i = base^(-2i/r) for plane i in [0, r/2), r the rotary width (even, <= head width)
 *
 *     R(m) = blockdiag over i of [[cos m theta_i, -sin m theta_i], [sin m theta_i, cos m theta_i]]     Eqs. 14-15   */
#ifndef ROFORMER_ROPE_H
#define ROFORMER_ROPE_H

#include "roformer/kernel/kernels.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct rf_rope_spec {
    int64_t rotary;            /* r: columns of a head that are rotated; even, >= 2 */
    double base;               /* 10000 in the paper; finite and > 0               */
    rf_rope_layout layout;
} rf_rope_spec;

/* cos and sin of m theta_i, one row for each position.  Immutable once made: any number of threads may share one. */
typedef struct rf_rope rf_rope;

/* Tabulates positions 0 .. positions-1; the angle is formed and its cosine taken in double, rounded once.
 *
 *   out        the table, freed with rf_rope_free; untouched on error
 *   cost       4 r bytes for each position: 2 MiB for 8192 positions of 64
 *   RF_EARG    r odd or < 2, positions < 1, base not finite and positive
 *   RF_ENOMEM  the context's allocator gave nothing                                                              */
rf_status rf_rope_new(const rf_ctx *ctx, const rf_rope_spec *spec, int64_t positions, rf_rope **out, rf_error *why);

/* The same for any int32 positions: row i rotates by position[i]. */
rf_status rf_rope_at(const rf_ctx *ctx, const rf_rope_spec *spec, const int32_t position[], int64_t n, rf_rope **out,
                     rf_error *why);

/* A table of any angles: row m of plane i holds gain cos(angle) and gain sin(angle), so that R(m) also scales.
 * `angle` is called once for each row and plane, by several threads at a time.  RF_EARG, RF_ENOMEM as above.        */
typedef void rf_rope_angle(const void *what, int64_t row, int64_t i, double *angle, double *gain);
rf_status rf_rope_make(const rf_ctx *ctx, int64_t rotary, rf_rope_layout layout, int64_t rows, rf_rope_angle *angle,
                       const void *what, rf_rope **out, rf_error *why);
void rf_rope_free(rf_rope *rope);

int64_t rf_rope_rows(const rf_rope *rope);
const rf_rope_spec *rf_rope_spec_of(const rf_rope *rope);
const float *rf_rope_cos(const rf_rope *rope);      /* [rows, r/2], 64-byte aligned */
const float *rf_rope_sin(const rf_rope *rope);

/* y[n,h,:] = R(row[n]) x[n,h,:] for N tokens of H heads of width d >= r; dir = 1, or -1 to rotate back.  y may equal x.
 *
 *   row        [N], each in [0, rows); NULL: row n for token n
 *   RF_EARG    dir is neither 1 nor -1
 *   RF_ESHAPE  d < r, or N or H negative
 *   RF_ERANGE  a row outside the table; the message names it                                                     */
rf_status rf_rope_rotate(const rf_ctx *ctx, const rf_rope *rope, float *y, const float *x, const int32_t row[],
                       int64_t N, int64_t H, int64_t d, int dir, rf_error *why);

#ifdef __cplusplus
}
#endif
#endif
