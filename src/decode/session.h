/* session.h — internal calls of an open session and of its sequences; see session.c and sequence.c. */
#ifndef RF_DECODE_SESSION_H
#define RF_DECODE_SESSION_H

#include "model/model.h"

/* Calls the observer with every layer's attention in the session's next calls; NULL: no longer. */
void rf__session_observe(rf_session *s, rf__observer *observer, void *user);

/* From now on, the time at which a forward pass ended last is stored in *clock; NULL: nowhere. */
void rf__session_clock(rf_session *s, _Atomic double *clock);

const rf_model *rf__session_model(const rf_session *s);

/* The session's sequences. RF_EUNSUPPORTED: the model supports none; see rf_sequence_new. */
rf_status rf__session_cache(rf_session *s, struct rf_cache **out, rf_error *why);
const struct rf_cache *rf__session_kept(const rf_session *s);                   /* NULL: none has begun               */

/* The type in which keys and values are stored if `asked` is requested: with products in bf16, bf16 loses nothing. */
rf_type rf__sequence_type(const rf_model *m, rf_type asked);

/* Stores what the decoder needs of each of `source`, in B sequences without tokens; see rf_sequence_read. */
rf_status rf__session_read(rf_session *s, rf_type type, const rf_batch *source, rf_sequence out[], rf_error *why);

/* The layers that generate: the decoder's, or all. */
const rf_stack *rf__model_writer(const rf_model *m);

#endif
