/* unused.h — tensors of a source that its model does not use: poolers, and heads of other tasks. A conversion keeps
 * them. */
#ifndef RF_CONVERT_UNUSED_H
#define RF_CONVERT_UNUSED_H

#include "base/base.h"
#include "roformer/checkpoint.h"
#include "store/store.h"

typedef struct rf__unused {
    const rf_weight **tensor;           /* [n] of the source; released by the caller                                  */
    size_t n;
    rf_weight_out *out;                 /* [written] what is written: fewer, if scales are multiplied                 */
    size_t written;
} rf__unused;

/* Whether it is written as it is: integers and other numbers that no type here holds. */
bool rf__unused_whole(const rf_weights *w, const rf_weight *t);

/* Reads the numbers of `tensor` into `out`.
 *
 *   type     the type of all that is written; NULL: each keeps its own, and those in int8 their scales */
rf_status rf__unused_read(const rf_ctx *ctx, const rf_weights *w, const rf_type *type, rf__unused *u, rf_error *why);
void rf__unused_free(const rf_ctx *ctx, rf__unused *u);

/* RF_EDATA: a tensor that `w` was written from is not in it. */
rf_status rf__unused_read_back(const rf_ctx *ctx, const rf_weights *w, const rf__unused *u, const char *path,
                               rf_error *why);

/* The value that a number has after it was written in this type. */
static inline float rf__written(rf_type type, float x)
{
    return type == RF_BF16 ? rf__from_bf16(rf__bf16(x)) : type == RF_F16 ? rf__from_f16(rf__f16(x)) : x;
}

#endif
