/* tensors.h — single tensors of a file, and writing files; see weights.c and write.c. */
#ifndef RF_STORE_TENSORS_H
#define RF_STORE_TENSORS_H

#include "roformer/checkpoint.h"

const rf_weight *rf__weights_find(const rf_weights *w, const char *name);            /* NULL if there is none */
const char *rf__weights_metadata(const rf_weights *w, const char *key);              /* NULL if there is none */

/* Copies a tensor and converts it to f32. F32, BF16 and F16 are converted exactly; a matrix in I8 is multiplied by the
 * scales of its rows ("..._scale").
 *
 *   to              [t->count]
 *   RF_ENUMERIC     `finite` is not 0 and a value is not finite; the message names the first
 *   RF_EUNSUPPORTED any other data type; integers without a scale */
rf_status rf__weights_read(const rf_weights *w, const rf_weight *t, float *to, int finite, rf_error *why);
/* Whether two tensors have the same shape and numbers. */
rf_status rf__weights_equal(const rf_ctx *ctx, const rf_weights *w, const rf_weight *a, const rf_weight *b, bool *same,
                            rf_error *why);

void rf__weights_forget(const rf_weights *w, const rf_weight *t); /* the system may free the tensor's pages */

/* A tensor to write: f32 values, stored as `type`: RF_F32, RF_BF16, RF_F16, or RF_I8 for integers in -128 to 127. */
typedef struct rf_weight_out {
    const char *name;
    rf_type type;
    int rank;
    int64_t dim[4];
    const float *data;
} rf_weight_out;

/* Writes a .safetensors file atomically: temporary name, fsync, rename, fsync of the folder.
 *
 *   metadata        key, value, key, value, ..., NULL; or NULL. {"format": "pt"} is always added because transformers
 *                   requires it
 *   order           wide types first, then by name, so the same tensors give the same bytes
 *   memory          64 KiB, independent of the size of the tensors
 *   RF_EARG         a name is duplicate, empty or not UTF-8; rank, dimension or type is invalid
 *   RF_ENUMERIC     a value is not finite before or after rounding to its type, or is not an integer of 8 bits for
 *                   RF_I8; nothing is written
 *   RF_EIO          a system call failed; an existing file is unchanged */
rf_status rf__weights_write(const rf_ctx *ctx, const char *path, const rf_weight_out *tensor, size_t count,
                            const char *const *metadata, rf_error *why);

#endif
