/* transposed.c — matrices that a file has in another form: their transposes (RF_ROW_TRANSPOSED), as the Conv1D of
 * GPT-2, or heads as a dimension of their own (RF_ROW_HEADS), as XLNet has them, or both.
 *
 *     here     [out, in]    y = x W^T               [n, HD]
 *     there    [in, out]    y = x W                 [n, H, D]
 *
 * Matrices in int8 are stored as here: their scales belong to rows. */
#include "model/params/params.h"
#include "store/store.h"

rf_weight rf__as_here(const rf_param *p, const rf_weight *t, int64_t stride[2])
{
    rf_weight seen = *t;
    if (rf__quantized(t)) return seen;
    size_t width = 0;
    const bool fits = t->rank == 3 && rf__checked_mul((size_t)t->dim[1], (size_t)t->dim[2], &width);
    if (p->flags & RF_ROW_HEADS && fits && width <= INT32_MAX &&
        (!t->stride || t->stride[1] == t->stride[2] * t->dim[2])) {
        stride[0] = t->stride ? t->stride[0] : (int64_t)width;
        stride[1] = t->stride ? t->stride[2] : 1;
        seen.rank = 2;
        seen.dim[1] = (int64_t)width;
        seen.stride = stride;
    }
    if (!(p->flags & RF_ROW_TRANSPOSED) || seen.rank != 2) return seen;
    const int64_t rows = seen.dim[0], down = seen.stride ? seen.stride[0] : seen.dim[1];
    stride[0] = seen.stride ? seen.stride[1] : 1;
    stride[1] = down;
    seen.dim[0] = seen.dim[1];
    seen.dim[1] = rows;
    seen.stride = stride;
    return seen;
}

void rf__transpose(float *to, const float *from, int64_t rows, int64_t columns)
{
    for (int64_t i = 0; i < rows; i++)
        for (int64_t j = 0; j < columns; j++) to[j * rows + i] = from[i * columns + j];
}
