/* transposed.c — matrices that a file stores as their transposes (RF_ROW_TRANSPOSED): the Conv1D of GPT-2.
 *
 *     here     [out, in]    y = x W^T
 *     there    [in, out]    y = x W
 *
 * Matrices in int8 are stored as here: their scales belong to rows. */
#include "model/params/params.h"
#include "store/store.h"

rf_weight rf__transposed(const rf_param *p, const rf_weight *t, int64_t stride[2])
{
    rf_weight seen = *t;
    if (!(p->flags & RF_ROW_TRANSPOSED) || t->rank != 2 || rf__quantized(t)) return seen;
    stride[0] = t->stride ? t->stride[1] : 1;
    stride[1] = t->stride ? t->stride[0] : t->dim[1];
    seen.dim[0] = t->dim[1];
    seen.dim[1] = t->dim[0];
    seen.stride = stride;
    return seen;
}

void rf__transpose(float *to, const float *from, int64_t rows, int64_t columns)
{
    for (int64_t i = 0; i < rows; i++)
        for (int64_t j = 0; j < columns; j++) to[j * rows + i] = from[i * columns + j];
}
