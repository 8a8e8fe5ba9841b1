/* subspaces.h — angles between the subspaces that two sets of vectors span. */
#ifndef RF_SUBSPACES_H
#define RF_SUBSPACES_H

#include "roformer/inspect/positions.h"

/* a [na,E]: vectors of positions, b [nb,E]: vectors of words.  out is freed with rf_subspaces_free. */
rf_status rf__subspace_angles(const rf_ctx *ctx, const float *a, int64_t na, const float *b, int64_t nb, int64_t E,
                              double share, rf_subspaces *out, rf_error *why);

#endif
