/* model.h — an opened model; see include/roformer/model.h. */
#ifndef RF_MODEL_H
#define RF_MODEL_H

#include <pthread.h>

#include "model/encoder.h"
#include "roformer/sequence.h"
#include "store/generation.h"

struct rf_model {
    const rf_ctx *ctx;
    rf_config config;           /* dropout switched off */
    rf_type type;               /* of packed matrices */
    rf_params params;
    rf_weights *file;           /* stays mapped while word embeddings are used where they lie */
    rf_tokenizer *tokenizer;
    char *folder;               /* that it was opened from, or NULL */
    char *asked;                /* what it stands below, where that says more of it: modules.json; or NULL */
    rf__generation_config generation;  /* generation_config.json over the defaults */
    char *ignored;
    bool has_head;
    float *vectors;             /* biases, norms, small tables */
    float **value;              /* one for each parameter; NULL for packed matrices, and for words that are bf16 */
    const uint16_t *words;      /* the word embeddings where they are bf16 in the file, or NULL */
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

/* What each of `source` is kept as, in B sequences without tokens; see rf_sequence_read. */
rf_status rf__session_read(rf_session *s, rf_type type, const rf_batch *source, rf_sequence out[], rf_error *why);

/* rf_model_open_as of a folder whose config.json says something else, or less: with `config`. */
rf_status rf__model_open_with(const rf_ctx *ctx, const char *folder, rf_type type, const rf_config *config,
                              rf_model **out, rf_error *why);

/* `folder` says what else is known of the model, for pipelines that are made on it. */
rf_status rf__model_ask(rf_model *m, const char *folder, rf_error *why);

/* A model whose weights are those of a slab at this moment, copied and packed, without a tokenizer: for what training
 * asks of the model as it is.  The head is the config's own. */
rf_status rf__model_of_slab(const rf_params *params, const float *slab, rf_type type, rf_model **out, rf_error *why);

/* How texts are found: the defaults, and what a folder (or NULL) says over them. */
rf_status rf__generation_open(rf_model *m, const char *folder, rf_error *why);

/* The layers that write: the decoder's, or all that there are. */
const rf_stack *rf__model_writer(const rf_model *m);
rf_status rf__model_head(rf_model *m, const rf_packed **out, rf_error *why);

/* The word embeddings in f32: where they are, or widened into *own, which the caller frees (NULL: nothing to free).
 * NULL: out of memory. */
const float *rf__model_words(const rf_model *m, float **own, rf_error *why);

#endif
