/* pieces.c — the inputs of a request, computed by one job after the other.
 *
 * Up to --max-client-batch-size inputs are one job. Of more inputs, a job has about a quarter of --max-batch-tokens.
 * The next one enters the engine's queue when it has ended, after the jobs of other requests, so that a request of
 * thousands of texts delays others by one job and not by all of them. Whole batches delay them four times as long and
 * compute 2,048 texts in the same time. */
#include <stdlib.h>

#include "serve/server.h"

static void piece_over(srv_request *r);

static void submit_next(srv_request *r)
{
    srv_pieces *p = &r->pieces;
    const srv_limits *l = &r->s->o.limits;
    rf_error why = {0};
    const int64_t most = l->max_batch_tokens / 4;
    int64_t tokens = p->tokens(r, p->done);
    for (p->now = 1; p->done + p->now < p->n; p->now++) {
        tokens += p->tokens(r, p->done + p->now);
        if (tokens > most && p->n > l->max_client_batch_size) break;
    }
    rf_engine_job_options o = srv_job_options(r, piece_over);
    o.admitted = p->done > 0;
    srv_submitted(r, p->submit(r, p->done, p->now, &o, &why), &why);
}

/* Keeps the result of a job; false: no memory, answered. */
static bool keep(srv_request *r)
{
    srv_pieces *p = &r->pieces;
    int64_t n;
    const float *v = rf_engine_result(r->job, &n, &p->columns);
    if (p->now == p->n) {
        p->result = v;
        return true;
    }
    size_t floats;
    if (!p->own && rf__checked_mul((size_t)p->n, (size_t)p->columns, &floats)) p->own = calloc(floats, sizeof *p->own);
    if (!p->own) return srv_error(r, 503, "Overloaded", "out of memory: %lld results", (long long)p->n), false;
    memcpy(p->own + p->done * p->columns, v, (size_t)(p->now * p->columns) * sizeof *v);
    p->result = p->own;
    srv_job_free(r);
    return true;
}

static void piece_over(srv_request *r)
{
    srv_pieces *p = &r->pieces;
    if (srv_job_end(r) || !keep(r)) return;
    p->done += p->now;
    if (p->done < p->n) {
        submit_next(r);
        return;
    }
    p->finish(r);
    srv_job_free(r);
    free(p->own);
    p->own = NULL;
}

void srv_compute(srv_request *r, int64_t n, int64_t (*tokens)(const srv_request *r, int64_t i),
                 rf_status (*submit)(srv_request *r, int64_t first, int64_t n, const rf_engine_job_options *o,
                                     rf_error *why),
                 srv_step *finish)
{
    if (!srv_hold(r, n)) return;
    r->pieces = (srv_pieces){.n = n, .tokens = tokens, .submit = submit, .finish = finish};
    submit_next(r);
}
