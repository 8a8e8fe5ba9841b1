/* small_pipeline.h — a pipeline of two layers with random weights, and its cleanup. */
#ifndef TESTS_SUPPORT_SMALL_PIPELINE_H
#define TESTS_SUPPORT_SMALL_PIPELINE_H

#include "random_weights.h"
#include "roformer/pipeline.h"

/* path: of a text next to the model, or NULL. */
typedef struct setup { rf_ctx *ctx; char *folder, *path; rf_pipeline *p; rf_error why; } setup;

/* config.json with a vocabulary of `words`, and more keys after the usual ones. */
static inline void write_config_of(const char *folder, int words, const char *more)
{
    char config[1024];
    const int n = snprintf(config, sizeof config,
                           "{\"model_type\": \"roformer\", \"vocab_size\": %d, \"embedding_size\": 16,"
                           " \"hidden_size\": 32, \"num_hidden_layers\": 2, \"num_attention_heads\": 2,"
                           " \"intermediate_size\": 64,"
                           " \"max_position_embeddings\": 48%s}", words, more);
    t_write(folder, "config.json", config, (size_t)n);
}

static inline void open_pipeline(setup *s)
{
    if (rf_pipeline_open(s->ctx, s->folder, RF_F32, &s->p, &s->why)) fail_msg("%s", s->why.text);
}

static inline void end(setup *s)
{
    rf_pipeline_close(s->p);
    rf_ctx_free(s->ctx);
    free(s->folder);
    free(s->path);
    t_free_all();
}

#endif
