/* pipeline_setup.h — a pipeline on a small model with random weights, for test_pipeline.c and test_pipeline_text.c. */
#ifndef PIPELINE_SETUP_H
#define PIPELINE_SETUP_H

#include "small_pipeline.h"

static inline void write_config(const char *folder, const char *more) { write_config_of(folder, 34, more); }

static inline setup begin_in(rf_ctx *ctx, const char *more)
{
    setup s = {.ctx = ctx, .folder = tiny_model()};
    write_config(s.folder, more);
    random_weights(s.ctx, s.folder, 5);
    return s;
}

static inline setup begin(const char *more)
{
    setup s = begin_in(t_ctx(2, NULL), more);
    open_pipeline(&s);
    return s;
}

#endif
