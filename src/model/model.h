/* model.h — an opened model; see include/roformer/model.h. */
#ifndef RF_MODEL_H
#define RF_MODEL_H

#include <pthread.h>

#include "model/encoder.h"

struct rf_model {
    const rf_ctx *ctx;
    rf_config config;           /* dropout switched off */
    rf_type type;               /* of packed matrices */
    rf_params params;
    rf_weights *file;           /* stays mapped while word embeddings are used where they lie */
    rf_tokenizer *tokenizer;
    char *ignored;
    bool has_head;
    float *vectors;             /* biases, norms, small tables */
    float **value;              /* one for each parameter; NULL for packed matrices */
    rf_packed **packed;
    pthread_mutex_t lock;       /* guards the words' packed, the only thing made late */
};

/* Shows every layer's attention of the session's next calls; NULL: no more. */
void rf__session_observe(rf_session *s, rf__observer *observer, void *user);

const rf_model *rf__session_model(const rf_session *s);

/* The session's sequences.  RF_EUNSUPPORTED: of such a model there are none; see rf_sequence_new. */
rf_status rf__session_cache(rf_session *s, struct rf_cache **out, rf_error *why);
const struct rf_cache *rf__session_kept(const rf_session *s);                   /* NULL: none has begun               */

/* What keys and values are kept in when `asked` is asked for: with products in bf16 nothing is lost by bf16. */
rf_type rf__sequence_type(const rf_model *m, rf_type asked);

rf_status rf__model_head(rf_model *m, const rf_packed **out, rf_error *why);

#endif
