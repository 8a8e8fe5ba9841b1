/* small_pipeline.h — a pipeline of two layers with random weights, and what it is closed with. */
#ifndef TESTS_SUPPORT_SMALL_PIPELINE_H
#define TESTS_SUPPORT_SMALL_PIPELINE_H

#include "random_weights.h"
#include "roformer/pipeline.h"

/* path: of a text beside the model, or NULL. */
typedef struct setup { rf_ctx *ctx; char *folder, *path; rf_pipeline *p; rf_error why; } setup;

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
