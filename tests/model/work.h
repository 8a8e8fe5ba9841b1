/* work.h — a model with random weights and a session with it, for the tests of this folder. */
#ifndef TESTS_MODEL_WORK_H
#define TESTS_MODEL_WORK_H

#include "t.h"

#include "roformer/model.h"

struct work { rf_ctx *ctx; rf_model *model; rf_session *session; };

static inline struct work begin_as(const rf_config *c, rf_type type, int threads, const char *isa)
{
    struct work w = {.ctx = t_ctx(threads, isa)};
    rf_error why = {0};
    if (rf_model_random_as(w.ctx, c, 7, type, &w.model, &why) || rf_session_open(w.model, &w.session, &why))
        fail_msg("%s", why.text);
    return w;
}

static inline struct work begin(const rf_config *c, int threads, const char *isa)
{
    return begin_as(c, RF_F32, threads, isa);
}

static inline void end(struct work *w)
{
    rf_session_close(w->session);
    rf_model_close(w->model);
    rf_ctx_free(w->ctx);
}

#endif
