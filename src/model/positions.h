/* positions.h — the registry of position encodings, and the checks of a config's encoding. */
#ifndef RF_MODEL_POSITIONS_H
#define RF_MODEL_POSITIONS_H

#include "model/position.h"

#define RFP(name) extern const rf_position rf__position_##name;
#include "model/positions.def"
#undef RFP

extern const rf_position *const rf__position_list[];           /* NULL at the end                                     */

/* The row that a config names, checked. RF_EDATA: unknown name (the most similar one is suggested), or an error of
 * `check`; RF_EUNSUPPORTED: this family of models does not support the encoding. */
rf_status rf__position_find(const rf_config *c, const rf_position **out, rf_error *why);

/* RF_EUNSUPPORTED: keys of earlier tokens cannot be cached in a causal model with this encoding; the message gives the
 * reason. */
rf_status rf__position_caches(const rf_position *p, const rf_config *c, rf_error *why);

/* RF_EARG: a text has more tokens than the encoding has learned vectors. */
rf_status rf__position_reaches(const rf_config *c, int64_t tokens, rf_error *why);

/* A limit of tokens, or the model's positions if these are fewer. */
int64_t rf__position_limit(const rf_config *c, int64_t tokens);

/* What a sequence of a causal model stores for a layer, or for the embeddings (layer -1). */
rf_keeping rf__position_keeping(const rf_ctx *ctx, const rf_position *p, const rf_config *c, int64_t layer);

#endif
