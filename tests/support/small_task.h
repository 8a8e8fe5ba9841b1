/* small_task.h — a model of two layers with random weights, to be fine-tuned in this process. */
#ifndef TESTS_SUPPORT_SMALL_TASK_H
#define TESTS_SUPPORT_SMALL_TASK_H

#include "random_weights.h"
#include "roformer/finetune.h"

typedef struct setup { rf_ctx *ctx; char *data, *out; rf_error why; } setup;

static inline setup begin(void)
{
    setup s = {.ctx = t_ctx(1, NULL), .data = tiny_model(), .out = strdup(t_folder())};
    random_weights(s.ctx, s.data, 3);
    return s;
}

static inline void end(setup *s)
{
    rf_ctx_free(s->ctx);
    free(s->data);
    free(s->out);
    t_free_all();
}

static inline rf_finetune_options task_options(const setup *s, const char *task, const char *train, const char *out)
{
    rf_finetune_options o;
    rf_finetune_defaults(&o);
    o.task = task;
    o.train = train;
    o.t.model = s->data;
    o.t.output_dir = out;
    o.t.learning_rate = 3e-3;
    o.t.max_length = 16;
    o.dropout = 0;
    o.save_strategy = RF_STRATEGY_STEPS;
    o.t.save_steps = 10;
    return o;
}

#endif
