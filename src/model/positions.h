/* positions.h — the registry of position encodings, and what a config asks of the one that it names. */
#ifndef RF_MODEL_POSITIONS_H
#define RF_MODEL_POSITIONS_H

#include "model/position.h"

#define RFP(name) extern const rf_position rf__position_##name;
#include "model/positions.def"
#undef RFP

extern const rf_position *const rf__position_list[];           /* NULL at the end                                     */

/* The row that a config names, checked.  RF_EDATA: no such name (the nearest is suggested), or what `check` finds;
 * RF_EUNSUPPORTED: an encoding that this family of models cannot run. */
rf_status rf__position_find(const rf_config *c, const rf_position **out, rf_error *why);

/* RF_EUNSUPPORTED: a causal model of this encoding cannot keep keys of earlier tokens, with the reason. */
rf_status rf__position_caches(const rf_position *p, const rf_config *c, rf_error *why);

/* RF_EARG: a text of so many tokens, and the encoding has a learned vector for each of fewer positions. */
rf_status rf__position_reaches(const rf_config *c, int64_t tokens, rf_error *why);

/* What a sequence of a causal model keeps at a layer, or of the embeddings (layer -1). */
rf_keeping rf__position_keeping(const rf_ctx *ctx, const rf_position *p, const rf_config *c, int64_t layer);

#endif
