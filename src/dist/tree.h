/* tree.h — the gradient of a step as a sum over its micro-batches, in an order that does not depend on which rank
 * computes which of them.
 *
 *     level 2           [0..4)              node (level, first) = the node's left half + its right half
 *     level 1      [0,1]      [2,3]         a half without micro-batches is omitted: of five, the sum is [0..4) + 4
 *     level 0      0    1     2    3    4
 *
 * One rank with four micro-batches, two ranks with two, and four with one compute the same sums of the same pairs, with
 * the same bits. A rank keeps the largest complete nodes of its share, each in its own slab: at most 1 + log2(share)
 * slabs if the share is a power of two, one slab if the share is one micro-batch. */
#ifndef RF_TRAIN_TREE_H
#define RF_TRAIN_TREE_H

#include "model/params/params.h"

enum { RF__DEPTH = 48 };

/* The sum over [first, first + 2^level), or the part of it that exists. */
typedef struct rf__tree_node { int64_t first; int level; } rf__tree_node;

/* Whether the two are halves of one node. */
static inline bool rf__halves(rf__tree_node left, rf__tree_node right)
{
    return left.level == right.level && (left.first >> left.level) % 2 == 0 &&
           right.first == left.first + ((int64_t)1 << left.level);
}

/* The nodes of a share [first, first + count), left to right; returns their number. */
int rf__tree_nodes(int64_t first, int64_t count, rf__tree_node node[RF__DEPTH]);

/* to = the sum over nodes of all shares, left to right, of the floats x[i][0..n). The x are destroyed; `to` may be
 * x[0]. */
void rf__tree_fold(const rf_ctx *ctx, const rf__tree_node node[], float *const x[], int count, float *to, int64_t n);

/* ---- a rank's share ---- */

typedef struct rf__tree {
    const rf_ctx *ctx;
    size_t total;                       /* floats of a slab                                                           */
    float *slab[RF__DEPTH];             /* node[i] is in slab[i]; slab[0] is the caller's                             */
    int slabs;
    rf__tree_node node[RF__DEPTH];
    int nodes;                          /* nodes so far, complete ones joined                                         */
    int joins;                          /* the micro-batch that was begun last joins this many nodes                  */
} rf__tree;

/* Maximum number of slabs of a share, including the caller's. */
int rf__tree_slabs(int64_t first, int64_t count);

/* `grad` is the first slab, params->total floats. */
rf_status rf__tree_new(const rf_params *params, float *grad, int64_t first, int64_t count, rf__tree *out,
                       rf_error *why);
void rf__tree_free(rf__tree *t);

/* A step: begin; then for every micro-batch of the share in order: leaf, the backward pass into it, join. The nodes are
 * then in slab[0..nodes). A leaf is a slab of zeros. */
void rf__tree_begin(rf__tree *t);
float *rf__tree_leaf(rf__tree *t, int64_t micro);

/* Joins the nodes that the last leaf completed, over the floats [at, at + n) or over everything. */
void rf__tree_join(const rf__tree *t, size_t at, size_t n);

/* For one rank: slab[0] becomes the sum over everything. */
void rf__tree_total(rf__tree *t);

#endif
