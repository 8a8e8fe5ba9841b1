/* rope.h — rotary position embedding (RoPE): tables of cosines and sines, and the rotation of queries and keys.
 *
 * Source   Su et al., "RoFormer", arXiv:2104.09864, Secs. 3.2-3.4
 * Symbols  m position; r rotary width (even, at most the head width); theta_i = base^(-2i/r) for plane i in [0, r/2)
 *
 *     R(m) = blockdiag over i of [[cos m theta_i, -sin m theta_i], [sin m theta_i, cos m theta_i]]     Eqs. 14-15
 *
 * examples/rotate.c is a complete program.
 *
 * threads   a table never changes and may be shared by any number of threads. Calls that create and rotate use the
 *           workers of the context; results do not depend on their number */
#ifndef ROFORMER_ROPE_H
#define ROFORMER_ROPE_H

#include "roformer/kernel/kernels.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct rf_rope_spec {
    int64_t rotary;            /* r: rotated columns of a head; even, at least 2 */
    double base;               /* 10000 in the paper; finite, above 0 */
    rf_rope_layout layout;
} rf_rope_spec;

/* A table of cos(m theta_i) and sin(m theta_i) with one row for each position. */
typedef struct rf_rope rf_rope;

/* Creates the table for positions 0 to positions-1. Angle, cosine and sine are computed in double and rounded once to
 * float.
 *
 *   out        freed with rf_rope_free; unchanged on error
 *   cost       4 r bytes for each position, for example 2 MiB for 8192 positions and r = 64
 *   RF_EARG    a pointer is NULL, r is odd or below 2, positions is below 1, base is not finite and positive, or
 *              layout is not a value of rf_rope_layout
 *   RF_ENOMEM  out of memory */
rf_status rf_rope_new(const rf_ctx *ctx, const rf_rope_spec *spec, int64_t positions, rf_rope **out, rf_error *why);

/* Creates a table for n positions in any order, which may be negative: row i holds the rotation by position[i]. The
 * array is not needed after the call. Cost and errors as for rf_rope_new. */
rf_status rf_rope_at(const rf_ctx *ctx, const rf_rope_spec *spec, const int32_t position[], int64_t n, rf_rope **out,
                     rf_error *why);

/* Creates a table from a function: row m holds gain cos(angle) and gain sin(angle) for plane i, so that R(m) can also
 * scale. `angle` is called once for each row and each plane i in [0, rotary/2), from several threads at the same time;
 * it sets *angle in radians (initially 0) and *gain (initially 1). `what` is passed to it. Cost and errors as for
 * rf_rope_new. */
typedef void rf_rope_angle(const void *what, int64_t row, int64_t i, double *angle, double *gain);
rf_status rf_rope_make(const rf_ctx *ctx, int64_t rotary, rf_rope_layout layout, int64_t rows, rf_rope_angle *angle,
                       const void *what, rf_rope **out, rf_error *why);
void rf_rope_free(rf_rope *rope);                   /* NULL is allowed; before its context is freed */

/* The number of rows, the spec (of a table of rf_rope_make, `base` has no meaning), and the two arrays. They belong to
 * the table. rope must not be NULL. */
int64_t rf_rope_rows(const rf_rope *rope);
const rf_rope_spec *rf_rope_spec_of(const rf_rope *rope);
const float *rf_rope_cos(const rf_rope *rope);      /* [rows, r/2], 64-byte aligned */
const float *rf_rope_sin(const rf_rope *rope);

/* Rotates: y[n,h,:] = R(row[n]) x[n,h,:] for N tokens with H heads of width d >= r; columns from r on are copied. With
 * dir = 1 it rotates forward. With dir = -1 it applies the transpose of R, which is the inverse rotation unless the
 * table has gains.
 *
 *   x, y       [N,H,d] f32, contiguous; y may be x
 *   row        [N], each in [0, rows); NULL: token n uses row n
 *   RF_EARG    a pointer is NULL, or dir is neither 1 nor -1
 *   RF_ESHAPE  d < r, or N or H is negative
 *   RF_ERANGE  a row is outside the table; the message names it. Nothing has been written then */
rf_status rf_rope_rotate(const rf_ctx *ctx, const rf_rope *rope, float *y, const float *x, const int32_t row[],
                         int64_t N, int64_t H, int64_t d, int dir, rf_error *why);

#ifdef __cplusplus
}
#endif
#endif
