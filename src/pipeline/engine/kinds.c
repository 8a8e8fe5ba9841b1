/* kinds.c — the computation of each kind of job, for all running jobs together. */
#include "pipeline/engine/engine.h"

#include <string.h>

#include "task/answerer.h"
#include "text/tokenizer.h"

rf_status rf__jobs_join(rf_engine *e, const rf_engine_job *list, rf__text_window *w, rf_error *why)
{
    rf_encoding *all = &w->e;
    w->n = 0;
    all->n = 0;
    for (const rf_engine_job *j = list; j; j = j->peer) {
        const rf__text_window *own = &j->window;
        const size_t n = own->e.n, at = all->n;
        if (at + n > INT32_MAX)
            return rf_fail(why, RF_ERANGE, "texts: expected at most %d tokens, got more", INT32_MAX);
        if (!rf__reserve_tokens(all, n) ||
            !rf__grow(e->ctx, &w->start, &w->capacity, (size_t)(w->n + own->n) + 1, sizeof *w->start))
            return rf_fail(why, RF_ENOMEM, "out of memory: %lld texts", (long long)(w->n + own->n));
        w->start[0] = 0;
        for (int64_t i = 0; i < own->n; i++) w->start[w->n + i + 1] = (int32_t)at + own->start[i + 1];
        if (n) memcpy(all->id + at, own->e.id, n * sizeof *all->id);
        if (n) memcpy(all->type + at, own->e.type, n * sizeof *all->type);
        if (n) memcpy(all->added + at, own->e.added, n * sizeof *all->added);
        all->n += n;
        w->n += own->n;
    }
    return RF_OK;
}

/* Allocates the results of a job. */
static rf_status make_result(const rf_engine *e, rf_engine_job *j, int64_t columns, rf_error *why)
{
    const size_t n = (size_t)(j->window.n * columns);
    j->columns = columns;
    j->result = rf__calloc(e->ctx, n ? n : 1, sizeof *j->result);
    return j->result ? RF_OK : rf_fail(why, RF_ENOMEM, "out of memory: the results of %lld texts",
                                       (long long)j->window.n);
}

/* ---- vectors ---- */

rf_status rf__jobs_store_vectors(const rf_engine *e, rf_engine_job *list, const float *vectors, rf_error *why)
{
    const int64_t D = rf_embed_width(e->pipeline, &list->o);
    for (rf_engine_job *j = list; j; j = j->peer) {
        const size_t floats = (size_t)(j->window.n * D);
        if (make_result(e, j, D, why)) return why->code;
        if (floats) memcpy(j->result, vectors, floats * sizeof *vectors);
        vectors += floats;
    }
    return RF_OK;
}

static bool same_options(const rf_engine_job *x, const rf_engine_job *y)
{
    const rf_embed_options *a = &x->o, *b = &y->o;
    return a->pooling == b->pooling && a->normalize == b->normalize && a->dimensions == b->dimensions &&
           a->cut_last == b->cut_last && a->batch_tokens == b->batch_tokens && a->layer_norm == b->layer_norm &&
           a->skip_special_tokens == b->skip_special_tokens && a->prompt_tokens == b->prompt_tokens;
}

static rf_status compute_vectors(rf_engine *e, rf_error *why)
{
    rf_pipeline *p = e->pipeline;
    rf_engine_job *first = e->running;
    const float *vectors;
    int64_t n = 0;
    for (const rf_engine_job *j = first; j; j = j->next) n += j->window.n;
    if (rf__texts_suffice(p->ctx, n, e->now.running_tokens)) return rf__engine_rounds(e, why);
    rf_status status = rf__jobs_join(e, first, &p->parts.window, why);
    if (!status) status = rf__embed_window(p, &first->o, &vectors, why);
    return status ? status : rf__jobs_store_vectors(e, first, vectors, why);
}

const rf__job_kind rf__job_vectors = {same_options, compute_vectors};

/* ---- labels, and scores of pairs ---- */

static bool always(const rf_engine_job *a, const rf_engine_job *b)
{
    (void)a, (void)b;
    return true;
}

/* Logits [texts, num_labels] of all jobs; none if there are no texts. */
static rf_status logits_of(rf_engine *e, const float **z, rf_error *why)
{
    rf_pipeline *p = e->pipeline;
    rf__text_window *w = &p->parts.window;
    int64_t rows;
    const rf_status status = rf__jobs_join(e, e->running, w, why);
    if (status || !w->n) return status;
    const rf_batch b = {.N = w->start[w->n], .B = w->n, .id = w->e.id, .type = w->e.type, .start = w->start};
    return rf_session_logits(p->session, &b, z, &rows, why);
}

static rf_status compute_labels(rf_engine *e, rf_error *why)
{
    const rf_answerer *a = e->pipeline->answerer;
    const int64_t outputs = rf_model_config(rf_pipeline_model(e->pipeline))->num_labels,
                  labels = rf__answerer_labels(a)->n;
    const float *z = NULL;
    float *score = rf__calloc(e->ctx, (size_t)rf__max64(outputs, labels), sizeof *score);
    rf_status status = score ? logits_of(e, &z, why) : rf_fail(why, RF_ENOMEM, "out of memory: scores");
    for (rf_engine_job *j = e->running; j && !status; j = j->next) {
        const int64_t columns = j->own.raw ? outputs : labels;
        status = make_result(e, j, columns, why);
        for (int64_t i = 0; i < j->window.n && !status; i++, z += outputs) {
            if (!j->own.raw) rf__answerer_label(a, z, score);
            memcpy(j->result + i * columns, j->own.raw ? z : score, (size_t)columns * sizeof *score);
        }
    }
    rf__free(e->ctx, score);
    return status;
}

static rf_status compute_pairs(rf_engine *e, rf_error *why)
{
    double (*f)(double z) = NULL;
    const float *z = NULL;
    rf_status status = rf__answerer_can_cross(e->pipeline->answerer, &f, why);
    if (!status) status = logits_of(e, &z, why);
    for (rf_engine_job *j = e->running; j && !status; j = j->next) {
        status = make_result(e, j, 1, why);
        for (int64_t i = 0; i < j->window.n && !status; i++) j->result[i] = j->raw ? *z++ : (float)f((double)*z++);
    }
    return status;
}

const rf__job_kind rf__job_labels = {always, compute_labels}, rf__job_pairs = {always, compute_pairs};

/* ---- calls ---- */

static rf_status compute_call(rf_engine *e, rf_error *why)
{
    const rf_engine_job *j = e->running;
    return j->function(j->function_user, e->pipeline, why);
}

const rf__job_kind rf__job_calls = {NULL, compute_call};
