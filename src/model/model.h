/* model.h — an open model; see include/roformer/model.h. */
#ifndef RF_MODEL_H
#define RF_MODEL_H

#include <pthread.h>

#include "model/encoder.h"
#include "roformer/model.h"
#include "store/generation.h"

struct rf_model {
    const rf_ctx *ctx;
    rf_config config;           /* dropout switched off */
    rf_type type;               /* of packed matrices */
    rf_params params;
    rf_weights *file;           /* stays mapped while word embeddings are used in place */
    rf_tokenizer *tokenizer;
    char *folder;               /* the folder that it was opened from, or NULL */
    char *requested_folder;     /* the folder above it, if that has more settings: modules.json; or NULL */
    struct rf_held_folder *seen;       /* what was read of the outer of them, for new pipelines; or NULL */
    rf__generation_config generation;  /* generation_config.json over the defaults */
    char *ignored;
    bool has_head;
    float *vectors;             /* biases, norms, small tables */
    float **value;              /* one for each parameter; NULL for packed matrices, and for `words` */
    rf_file_rows words;         /* the word embeddings, if they stay in the file and are not f32 there */
    float *word_scale;          /* words.scale, or NULL */
    rf_packed **packed;
    pthread_mutex_t lock;       /* protects the packed word embeddings, the only member created later */
};

/* rf_model_open_as with `config`, for a folder whose config.json differs or is missing. */
rf_status rf__model_open_with(const rf_ctx *ctx, const char *folder, rf_type type, const rf_config *config,
                              rf_model **out, rf_error *why);

/* `folder` has further settings of the model, for pipelines that are created on it. */
rf_status rf__model_set_requested_folder(rf_model *m, const char *folder, rf_error *why);

/* A model with copies of the current weights of a slab, packed, without a tokenizer: for evaluations during training.
 * The head is the config's own. */
rf_status rf__model_of_slab(const rf_params *params, const float *slab, rf_type type, rf_model **out, rf_error *why);

/* Settings of generation: the defaults, and those of a folder (or NULL) over them. */
enum { RF__NEW_TOKENS = 64, RF__NEW_TOKENS_TRANSLATED = 256 };                  /* maximum number of new tokens       */
rf__generation_config rf__generation_usual(bool translates);
rf_status rf__generation_open(rf_model *m, const char *folder, rf_error *why);

/* Whether it is an encoder-decoder model with a language-model head, not with one for texts. */
static inline bool rf__model_translates(const rf_model *m)
{
    return m->config.is_encoder_decoder && rf_model_task(m) == RF_HEAD_SEQ2SEQ;
}

rf_status rf__model_head(rf_model *m, const rf_packed **out, rf_error *why);

/* The word embeddings in f32: in place, or converted into *own, which the caller frees (NULL: nothing to free). NULL:
 * out of memory. */
const float *rf__model_word_embeddings(const rf_model *m, float **own, rf_error *why);

/* Names of tensors of the folder that are not used; "" if none. */
const char *rf__model_ignored(const rf_model *m);

#endif
