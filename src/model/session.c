/* session.c — one thread's workspace over a model: a graph that does not record, and the encoder bound to it. */
#include "model/model.h"

struct rf_session {
    rf_model *model;
    rf_graph *graph;
    rf_encoder *encoder;
    const rf_packed **packed;   /* this session's view: packed[0] joins when scores are first asked for */
    rf__observer *observer;
    void *observer_user;
};

static rf_status bind(rf_session *s, rf_error *why)
{
    const rf_model *m = s->model;
    rf__encoder_free(s->encoder);
    s->encoder = NULL;
    const rf_status status = rf__encoder_view(&m->params, m->value, s->packed, &s->encoder, why);
    if (!status) rf__encoder_observe(s->encoder, s->observer, s->observer_user);
    return status;
}

void rf__session_observe(rf_session *s, rf__observer *observer, void *user)
{
    s->observer = observer;
    s->observer_user = user;
    if (s->encoder) rf__encoder_observe(s->encoder, observer, user);
}

rf_status rf_session_open(const rf_model *model, rf_session **out, rf_error *why)
{
    const rf_ctx *ctx = model->ctx;
    rf_session *s = rf__calloc(ctx, 1, sizeof *s);
    if (!s) return rf_fail(why, RF_ENOMEM, "out of memory: a session");
    s->model = (rf_model *)(uintptr_t)model;                 /* for the one thing that is made late, under its lock */
    s->packed = rf__calloc(ctx, model->params.n, sizeof *s->packed);
    rf_status status = s->packed ? RF_OK : rf_fail(why, RF_ENOMEM, "out of memory: a session");
    if (!status) {
        for (size_t i = 1; i < model->params.n; i++) s->packed[i] = model->packed[i];
        status = rf_graph_new(ctx, &s->graph, why);
    }
    if (!status) status = bind(s, why);
    if (status) {
        rf_session_close(s);
        return status;
    }
    *out = s;
    return RF_OK;
}

void rf_session_close(rf_session *s)
{
    if (!s) return;
    rf__encoder_free(s->encoder);
    rf_graph_free(s->graph);
    rf__free(s->model->ctx, (void *)s->packed);
    rf__free(s->model->ctx, s);
}

static rf_status check(const rf_batch *b, rf_error *why)
{
    if (b->B < 1 || b->N < 1 || b->N > INT32_MAX)
        return rf_fail(why, RF_EARG, "batch: %lld sequences of %lld tokens in all; at least 1, at most %d tokens",
                       (long long)b->B, (long long)b->N, INT32_MAX);
    if (b->start[0] != 0 || b->start[b->B] != b->N)
        return rf_fail(why, RF_EARG, "batch: starts run from %d to %d, not from 0 to %lld", (int)b->start[0],
                       (int)b->start[b->B], (long long)b->N);
    for (int64_t i = 0; i < b->B; i++)
        if (b->start[i + 1] <= b->start[i])
            return rf_fail(why, RF_EARG, "batch: sequence %lld has no token", (long long)i);
    return RF_OK;
}

/* Runs the encoder; the failure of any operation is found once, by `finish`. */
static rf_status hidden(rf_session *s, const rf_batch *b, rf_tensor **out, rf_error *why)
{
    const rf_status status = check(b, why);
    if (status) return status;
    if (rf_graph_reset(s->graph))
        return rf_fail(why, RF_ENOMEM, "out of memory: the workspace of %lld tokens", (long long)b->N);
    rf_graph_record(s->graph, 0, 0, 0);
    *out = rf__encode(s->graph, s->encoder, b);
    return RF_OK;
}

static rf_status finish(rf_session *s, const rf_tensor *x, const float **out, rf_error *why)
{
    const rf_error *e = rf_graph_error(s->graph);
    if (e->code) return rf_fail(why, e->code, "%s", e->text);
    const int64_t n = x->rank == 2 ? x->dim[0] * x->dim[1] : 0;
    if (!s->model->ctx->k->finite(x->f32, n)) return rf_fail(why, RF_ENUMERIC, "the model's result is not finite");
    *out = x->f32;
    return RF_OK;
}

rf_status rf_session_hidden(rf_session *s, const rf_batch *batch, const float **out, rf_error *why)
{
    rf_tensor *h;
    const rf_status status = hidden(s, batch, &h, why);
    return status ? status : finish(s, h, out, why);
}

rf_status rf_session_embed(rf_session *s, const rf_batch *batch, rf_pooling how, const float **out, rf_error *why)
{
    rf_tensor *h;
    const rf_status status = hidden(s, batch, &h, why);
    return status ? status : finish(s, rf_pool(s->graph, h, batch->start, batch->B, how), out, why);
}

rf_status rf_session_scores(rf_session *s, const rf_batch *batch, const int32_t row[], int64_t n, const float **out,
                            rf_error *why)
{
    if (!rf_model_has_head(s->model))
        return rf_fail(why, RF_EUNSUPPORTED, "this model has no masked-language-model head (cls.predictions.*)");
    if (!s->packed[0] && s->model->config.tie_word_embeddings) {
        rf_status status = rf__model_head(s->model, &s->packed[0], why);
        if (!status) status = bind(s, why);
        if (status) return status;
    }
    rf_tensor *h;
    const rf_status status = hidden(s, batch, &h, why);
    return status ? status : finish(s, rf__mlm_logits(s->graph, s->encoder, h, row, n), out, why);
}

rf_status rf_session_logits(rf_session *s, const rf_batch *batch, const float **out, int64_t *rows, rf_error *why)
{
    rf_tensor *h;
    if (rf_model_task(s->model) == RF_HEAD_MLM)
        return rf_fail(why, RF_EUNSUPPORTED, "this model has not been fine-tuned: no head for texts, tokens, answers or choices");
    const rf_status status = hidden(s, batch, &h, why);
    if (status) return status;
    rf_tensor *z = rf__task_logits(s->graph, s->encoder, h, batch);
    *rows = z->dim[0];
    return finish(s, z, out, why);
}

size_t rf_session_memory(const rf_session *s) { return rf_graph_memory(s->graph); }
