/* small_task.h — a model of two layers with random weights, which tests fine-tune in this process. */
#ifndef TESTS_SUPPORT_SMALL_TASK_H
#define TESTS_SUPPORT_SMALL_TASK_H

#include "random_weights.h"
#include "roformer/train.h"
#include "task/objective.h"
#include "task/task.h"

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

/* n rows of C numbers in the format of numpy.save; texts with the same noun or adjective have similar rows. */
static inline char *write_teacher(const setup *s, const char *name, int n, int C)
{
    char head[128 + 1];
    const size_t bytes = 128 + (size_t)(n * C) * sizeof(float);
    char *all = t_bytes(bytes), *path = tiny_path(s->data, name);
    memcpy(all, "\x93NUMPY\x01\x00\x76\x00", 10);
    const int size = snprintf(head, sizeof head, "{'descr': '<f4', 'fortran_order': False, 'shape': (%d, %d), }", n, C);
    memset(all + 10, ' ', 118);
    memcpy(all + 10, head, (size_t)size);
    for (int i = 0; i < n; i++)
        for (int c = 0; c < C; c++) {
            const double shift = strstr(name, "other") ? 1 : 0, scale = strstr(name, "zero") ? 0 : 1;
            const float y = (float)(scale * (sin(1 + i % 12 + 3 * c + shift) + cos(2 + i / 12 + 5 * c)));
            memcpy(all + 128 + (size_t)(i * C + c) * sizeof y, &y, sizeof y);
        }
    t_write(s->data, name, all, bytes - (strstr(name, "short") ? 4 : 0));
    return path;
}

static inline double cosine(const float *x, const float *y, int64_t n)
{
    double xy = 0, xx = 0, yy = 0;
    for (int64_t c = 0; c < n; c++) {
        xy += (double)x[c] * (double)y[c];
        xx += (double)x[c] * (double)x[c];
        yy += (double)y[c] * (double)y[c];
    }
    return xy / sqrt(xx * yy);
}

/* Bytes of the arena for batches of `pairs` pairs, whose vectors have 4 numbers. */
static inline double held_by(rf_ctx *ctx, const rf__task *task, const rf_finetune_options *o, const rf__items *t, int n)
{
    enum { C = 4 };
    const int B = 2 * n;
    float *x = t_floats((int64_t)B * C), *dx = t_floats((int64_t)B * C), *target = t_floats(n);
    int32_t *group = (int32_t *)t_floats(n + 1), *row = (int32_t *)t_floats(n),
            *id = (int32_t *)t_floats(B), *start = (int32_t *)t_floats(B + 1);
    rf_error why = {0};
    rf_graph *g;
    assert_int_equal(rf__graph_new(ctx, &g, &why), RF_OK);
    for (int i = 0; i < B * C; i++) x[i] = sinf((float)i), dx[i] = 0;
    for (int i = 0; i < n; i++) target[i] = NAN, row[i] = 0;
    for (int i = 0; i <= n; i++) group[i] = 2 * i;
    for (int i = 0; i < B; i++) id[i] = start[i] = i;
    start[B] = B;
    const rf__item_batch b = {.n = (size_t)n, .N = B, .B = B, .K = 1, .labels = n, .group = group, .target = target,
                              .label = row, .id = id, .start = start, .teacher = t->teacher};
    for (uint64_t step = 1; step <= 2; step++) {
        rf__graph_reset(g);
        rf__graph_record(g, 1, 1, step);
        rf_tensor *in = rf__parameter(g, x, dx, 2, (int64_t[]){B, C});
        const rf__task_objective with = {.task = task, .o = o};
        if (rf__backward(g, rf__task_objective_loss(g, in, &b, &with, 1.0 / n, NULL), &why)) fail_msg("%s", why.text);
    }
    const double held = (double)rf__graph_memory(g);
    rf__graph_free(g);
    return held;
}

/* From 1,000 pairs to 2,000 the arena grows by the numbers for every two pairs, in addition to those for each pair. */
static inline void check_cosines_held(rf_ctx *ctx, const rf__task *task, const rf_finetune_options *o,
                                      const rf__items *t)
{
    const double more = held_by(ctx, task, o, t, 2000) - held_by(ctx, task, o, t, 1000),
                 said = task->square(t, o) * 3e6;
    if (!(more > 0.97 * said && more < 1.03 * said + 1e6))
        fail_msg("%.1f MB held, %.1f said", more * 1e-6, said * 1e-6);
}

#endif
