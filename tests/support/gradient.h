/* gradient.h — compares one operation of the tape with its formula, implemented in double in the test.
 *
 *     values      y of the operation against the formula
 *     gradients   of L = sum_i weight_i y_i, against central differences of the formula in double
 *
 * Both are compared on the reference rung and on the best rung of the machine, with one worker and with three.  The
 * inputs are parameters, or results of another operation: all of them, and each one alone.
 *
 * Tolerance.  Inputs are of size 1.  An element of y is the end of a chain of at most `depth` dependent roundings, each
 * of relative size FLT_EPSILON, of quantities not larger than the largest element of y (or 1): depth * FLT_EPSILON *
 * max(1, |y|max).  A gradient passes the chain once forward and once, transposed, backward, and begins with the
 * weighted sum: 4 * depth * FLT_EPSILON * max(1, |dx|max).  The finite differences, with a step of 1e-5, are accurate
 * to 1e-9. */
#ifndef GRADIENT_H
#define GRADIENT_H

#include "graph/graph.h"
#include "roformer/kernel/rope.h"
#include "t.h"

enum { T_INPUTS = 8 };

typedef struct t_shape { int rank; int64_t dim[4]; } t_shape;    /* rank 0: this input is omitted                     */

typedef struct t_gradient_case {
    rf_op_id op;
    t_shape in[T_INPUTS];
    int64_t ys;                                                  /* elements of the result                            */
    double depth;
    rf_tensor *(*run)(rf_graph *g, rf_tensor *const in[], const void *what);
    void (*formula)(double *y, const double *const in[], const void *what);
    const void *what;                                            /* passed to both                                    */
} t_gradient_case;

enum { T_SEED = 7, T_STEP = 3 };                                 /* of the recording that the cases run in            */

void t_gradient(const t_gradient_case *c);

/* L = sum_i weight[i] x[i] as the last operation of a tape; weight must be valid until reset. */
rf_tensor *t_weighted(rf_graph *g, rf_tensor *x, const float *weight);

/* keep(i) / (1 - p) of the dropout number `drop` of the step, as kernels.def defines it. */
double t_kept(double p, uint32_t drop, uint64_t i);

/* A tape, and angles of adjacent columns with base 10000; the caller frees both. */
static inline rf_graph *t_graph(rf_ctx *ctx)
{
    rf_graph *g = NULL;
    rf_error why = {0};
    if (rf__graph_new(ctx, &g, &why)) fail_msg("%s", why.text);
    return g;
}

static inline rf_rope *t_angles(rf_ctx *ctx, int64_t width, int64_t positions)
{
    rf_rope *rope = NULL;
    rf_error why = {0};
    if (rf_rope_new(ctx, &(rf_rope_spec){width, 10000, RF_ROPE_PAIRS}, positions, &rope, &why))
        fail_msg("%s", why.text);
    return rope;
}

#endif
