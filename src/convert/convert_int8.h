/* convert_int8.h — int8 weights for a conversion. */
#ifndef RF_CONVERT_INT8_H
#define RF_CONVERT_INT8_H

#include "convert/unused.h"
#include "model/params/params.h"
#include "store/store.h"

/* Quantizes the matrices of `params` that are to be in int8: they become integers in the slab, with scale[i] for the
 * rows of parameter i (rf__free); scale[i] stays NULL for all others. Tensors of `w` that are in int8 keep their
 * scales.
 *
 *   as_they_are      true: only those that are in int8 in `w`; false: also the matrices of the layers
 *   words            ... and the word embeddings
 *   RF_ENUMERIC      names the tensor whose weights cannot be scaled: all are zero, or too large */
rf_status rf__convert_int8(const rf_params *params, const rf_weights *w, const rf_weight *const *match,
                           bool as_they_are, bool words, float *slab, float **scale, rf_error *why);

/* The quantization_config for config.json (rf__quantized_json); NULL: out of memory. */
json_t *rf__convert_int8_config(const rf_params *params, float *const *scale, const rf__unused *unused,
                                bool activations);

#endif
