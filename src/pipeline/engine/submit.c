/* submit.c — from the texts of a job to the end of the queue, in the caller's thread. */
#include "pipeline/engine/engine.h"

#include <math.h>
#include <string.h>

#include "pipeline/zero_shot.h"
#include "task/answerer.h"
#include "text/tokenizer.h"

void rf_engine_job_options_init(rf_engine_job_options *o, size_t size)
{
    const rf_engine_job_options own = {.timeout = 0};
    rf__options_init(o, size, &own, sizeof own);
}

static rf_status read_job_options(const rf_engine_job_options *given, rf_engine_job_options *o, rf_error *why)
{
    rf_engine_job_defaults(o);
    const rf_status status =
        rf__options_read(o, sizeof *o, RF_SIZE_TO(rf_engine_job_options, user), given, "rf_engine_job_options", why);
    if (!status && !(o->timeout >= 0)) return rf_fail(why, RF_EARG, "timeout: expected 0 or more, got %g", o->timeout);
    return status ? status : rf__check_cut_side(o->cut_side, why);
}

/* Checks whether `tokens` more may wait; under the lock. */
static rf_status admit(const rf_engine *e, int64_t tokens, int admitted, rf_error *why)
{
    const double wait = rf__engine_wait_seconds(e);
    if (e->closing) return rf_fail(why, RF_ECANCELED, "engine: expected an open engine, got one that is being closed");
    if (admitted) return RF_OK;
    if (e->o.max_wait > 0 && wait > e->o.max_wait)
        return rf_fail(why, RF_EBUSY, "engine: expected a wait of at most %g s, got %.2g s; try again later",
                       e->o.max_wait, wait);
    if (e->o.max_queue_tokens && e->now.waiting && e->now.waiting_tokens + tokens > e->o.max_queue_tokens)
        return rf_fail(why, RF_EBUSY, "engine: expected at most %lld tokens to wait, got %lld; try again later",
                       (long long)e->o.max_queue_tokens, (long long)(e->now.waiting_tokens + tokens));
    return RF_OK;
}

/* Creates a job that is not in the queue yet. */
static rf_status new_job(rf_engine *e, const rf__job_kind *what, const rf_engine_job_options *given,
                         rf_engine_job **out, rf_error *why)
{
    rf_engine_job_options own;
    const rf_status status = read_job_options(given, &own, why);
    if (status) return status;
    if (!rf__engine_is_ours(e))
        return rf_fail(why, RF_EUNSUPPORTED, "engine: expected the process that opened it, got a child of it; open an "
                       "engine in each process");
    rf_engine_job *j = rf__calloc(e->ctx, 1, sizeof *j);
    if (!j || rf__os_condition(&j->end)) {
        rf__free(e->ctx, j);
        return rf_fail(why, RF_ENOMEM, "out of memory: a job");
    }
    rf_encoding_init(&j->window.e, e->ctx);
    j->engine = e;
    pthread_mutex_lock(&e->lock);
    const rf_status full = admit(e, 0, own.admitted, why);                    /* before texts are read in vain */
    if (!full && e->scratches) j->window.e.scratch = e->scratch[--e->scratches];
    pthread_mutex_unlock(&e->lock);
    if (full) {
        rf__job_destroy(j);
        return full;
    }
    j->kind = what;
    j->own = own;
    j->report.bad = -1;
    *out = j;
    return RF_OK;
}

/* Appends the job to the queue, or frees it if it is refused. The memory of the tokenizer, a megabyte, is passed on to
 * the next job that reads texts. */
static rf_status submit(rf_engine *e, rf_engine_job *j, rf_engine_job **out, rf_error *why)
{
    pthread_mutex_lock(&e->lock);
    if (j->window.e.scratch && e->scratches < RF__ENGINE_SCRATCHES) {
        e->scratch[e->scratches++] = j->window.e.scratch;
        j->window.e.scratch = NULL;
    }
    const rf_status status = admit(e, rf__job_tokens(j), j->own.admitted, why);
    if (status) {
        pthread_mutex_unlock(&e->lock);
        rf__job_destroy(j);
        return status;
    }
    *out = j;                                                     /* before the engine's thread can call `done` */
    j->submitted = rf__seconds();
    j->deadline = j->own.timeout > 0 ? j->submitted + j->own.timeout : INFINITY;
    if (e->last) e->last->next = j;
    else e->first = j;
    e->last = j;
    e->users++;
    e->now.waiting++;
    e->now.waiting_tokens += rf__job_tokens(j);
    pthread_cond_signal(&e->more);
    rf__engine_serve(e);
    pthread_mutex_unlock(&e->lock);
    return RF_OK;
}

rf_status rf_engine_embed(rf_engine *e, const char *const text[], const size_t bytes[], int64_t n,
                          const rf_embed_options *options, const rf_engine_job_options *job_options,
                          rf_engine_job **out, rf_error *why)
{
    rf_engine_job *j = NULL;
    if (!(e && out)) return rf__missing("rf_engine_embed", "engine, out", why);
    rf_status status = rf__pipeline_check(e->pipeline, text, n, why);
    if (!status) status = new_job(e, &rf__job_vectors, job_options, &j, why);
    if (status) return status;
    status = rf_embed_resolve(e->pipeline, options, &j->o, why);
    if (!status) status = rf__embed_encode(e->pipeline, &j->o, text, bytes, n, &j->window, &j->report, why);
    j->o.prompt = NULL;                                               /* somebody else's; it is in the tokens */
    if (!status) return submit(e, j, out, why);
    rf__job_destroy(j);
    return status;
}

/* ---- tokens ---- */

static rf_status check_ids(const rf_engine_job *j, const int32_t id[], const int64_t start[], int64_t n, rf_error *why)
{
    const int64_t V = rf_model_config(rf_pipeline_model(j->engine->pipeline))->vocab_size, most = j->o.max_length;
    if (start[0]) return rf_fail(why, RF_EARG, "start[0]: expected 0, got %lld", (long long)start[0]);
    for (int64_t i = 0; i < n; i++) {
        const int64_t length = start[i + 1] - start[i];
        if (length < 1 || start[i + 1] > INT32_MAX || (most > 0 && length > most))
            return rf_fail(why, RF_ERANGE, "text %lld: expected 1 to %lld tokens, got %lld", (long long)i,
                           (long long)(most > 0 ? most : INT32_MAX), (long long)length);
        for (int64_t k = start[i]; k < start[i + 1]; k++)
            if (id[k] < 0 || id[k] >= V)
                return rf_fail(why, RF_ERANGE, "text %lld: expected ids from 0 to %lld, got %d", (long long)i,
                               (long long)V - 1, id[k]);
    }
    return RF_OK;
}

static rf_status copy_ids(rf_engine_job *j, const int32_t id[], const int64_t start[], int64_t n, rf_error *why)
{
    rf__text_window *w = &j->window;
    const rf_tokenizer *t = rf_model_tokenizer(rf_pipeline_model(j->engine->pipeline));
    const size_t all = n ? (size_t)start[n] : 0;
    if (!rf__reserve_tokens(&w->e, all) ||
        !rf__grow(j->engine->ctx, &w->start, &w->capacity, (size_t)n + 1, sizeof *w->start))
        return rf_fail(why, RF_ENOMEM, "out of memory: %zu tokens", all);
    w->start[0] = 0;
    for (int64_t i = 0; i < n; i++) w->start[i + 1] = (int32_t)start[i + 1];
    for (size_t k = 0; k < all; k++) {
        w->e.id[k] = id[k];
        w->e.type[k] = 0;
        w->e.added[k] = id[k] == rf_tokenizer_cls(t) || id[k] == rf_tokenizer_sep(t);
        j->report.unknown += id[k] == rf_tokenizer_unk(t);
    }
    w->e.n = all;
    w->n = n;
    j->report.done = n;
    j->report.tokens = (int64_t)all;
    return RF_OK;
}

rf_status rf_engine_embed_ids(rf_engine *e, const int32_t id[], const int64_t start[], int64_t n,
                              const rf_embed_options *options, const rf_engine_job_options *job_options,
                              rf_engine_job **out, rf_error *why)
{
    rf_engine_job *j = NULL;
    if (!(e && out && (!n || (id && start)))) return rf__missing("rf_engine_embed_ids", "engine, id, start, out", why);
    rf_status status = rf__pipeline_check(e->pipeline, id, n, why);
    if (!status) status = new_job(e, &rf__job_vectors, job_options, &j, why);
    if (status) return status;
    status = rf_embed_resolve(e->pipeline, options, &j->o, why);
    j->o.prompt = NULL;
    j->o.prompt_tokens = 0;
    if (!status && n) status = check_ids(j, id, start, n, why);
    if (!status) status = copy_ids(j, id, start, n, why);
    if (!status) return submit(e, j, out, why);
    rf__job_destroy(j);
    return status;
}

/* ---- labels, and scores of pairs ---- */

/* Appends a text, or a pair, to the job's window. */
static rf_status encode(rf_engine_job *j, const char *text, size_t bytes, const char *pair, size_t pair_bytes,
                        rf_error *why)
{
    const rf_answerer *a = j->engine->pipeline->answerer;
    const rf_tokenizer *t = rf_model_tokenizer(rf_pipeline_model(j->engine->pipeline));
    char *joined = NULL;
    bool cut = false;
    rf_status status = RF_OK;
    if (j->own.zero_shot)
        status = rf__zero_shot_add(a, &j->window, text, bytes, pair, pair_bytes, j->own.cut_side, &cut, why);
    else if (!(status = rf__answerer_put_prompt(a, j->own.prompt, &text, &bytes, &joined, why)))
        status = rf__window_add_pair(&j->window, t, text, bytes, pair, pair_bytes, a->max_length, j->own.cut_side, &cut,
                                     why);
    rf__free(j->engine->ctx, joined);
    j->report.cut += cut;
    if (!status && j->window.start[j->window.n] == j->window.start[j->window.n - 1])
        status = rf_fail(why, RF_EDATA, "text: expected a token, got none: the tokenizer adds none to an empty text");
    return status;
}

/* Submits a job with n texts in its window, or frees it after an error of text i. */
static rf_status end_texts(rf_engine *e, rf_engine_job *j, int64_t i, int64_t n, const rf_error *bad,
                           rf_engine_job **out, rf_error *why)
{
    if (bad->code) {
        rf__job_destroy(j);
        return rf__text_fail(NULL, i, n, bad, why);
    }
    j->own.prompt = NULL;                                               /* the caller's */
    j->report.done = n;
    j->report.tokens = rf__job_tokens(j);
    return submit(e, j, out, why);
}

rf_status rf_engine_classify(rf_engine *e, const char *const text[], const size_t bytes[], const char *const pair[],
                             const size_t pair_bytes[], int64_t n, const rf_engine_job_options *job_options,
                             rf_engine_job **out, rf_error *why)
{
    rf_engine_job *j = NULL;
    if (!(e && out)) return rf__missing("rf_engine_classify", "engine, out", why);
    rf_status status = rf__pipeline_check(e->pipeline, text, n, why);
    if (!status) status = rf__can_classify(e->pipeline, pair != NULL, why);
    if (!status) status = rf__answerer_can_label(e->pipeline->answerer, why);
    if (!status) status = new_job(e, &rf__job_labels, job_options, &j, why);
    if (status) return status;
    rf_error bad = {0};
    int64_t i = 0;
    while (i < n && !encode(j, text[i], rf__text_bytes(text, bytes, i), pair ? pair[i] : NULL,
                            pair && pair[i] ? rf__text_bytes(pair, pair_bytes, i) : 0, &bad))
        i++;
    return end_texts(e, j, i, n, &bad, out, why);
}

rf_status rf_engine_cross(rf_engine *e, const char *query, size_t query_bytes, const char *const text[],
                          const size_t bytes[], int64_t n, int raw, const rf_engine_job_options *job_options,
                          rf_engine_job **out, rf_error *why)
{
    rf_engine_job *j = NULL;
    double (*f)(double z);
    if (!(e && query && out)) return rf__missing("rf_engine_cross", "engine, query, out", why);
    rf_status status = rf__pipeline_check(e->pipeline, text, n, why);
    if (!status) status = rf__can_classify(e->pipeline, true, why);
    if (!status) status = rf__answerer_can_cross(e->pipeline->answerer, &f, why);
    if (!status) status = new_job(e, &rf__job_pairs, job_options, &j, why);
    if (status) return status;
    const size_t size = query_bytes == RF_STRING ? strlen(query) : query_bytes;
    j->raw = raw;
    rf_error bad = {0};
    int64_t i = 0;
    while (i < n && !encode(j, query, size, text[i], rf__text_bytes(text, bytes, i), &bad)) i++;
    return end_texts(e, j, i, n, &bad, out, why);
}

const rf_labels *rf_engine_labels(const rf_engine *e)
{
    return e && e->pipeline->answerer ? rf__answerer_labels(e->pipeline->answerer) : NULL;
}

rf_status rf_engine_call(rf_engine *e, rf_engine_function *function, void *user,
                         const rf_engine_job_options *job_options, rf_engine_job **out, rf_error *why)
{
    rf_engine_job *j = NULL;
    if (!(e && function && out)) return rf__missing("rf_engine_call", "engine, function, out", why);
    const rf_status status = new_job(e, &rf__job_calls, job_options, &j, why);
    if (status) return status;
    j->function = function;
    j->function_user = user;
    return submit(e, j, out, why);
}
