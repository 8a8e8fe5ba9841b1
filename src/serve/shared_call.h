/* shared_call.h — requests of one kind that a model computes together in one call of its pipeline.
 *
 * Each request submits a function to the engine (rf_engine_call). The first function that runs takes all requests that
 * wait and have the same options, and computes them together; the functions of the others then find nothing to do. */
#ifndef SRV_SHARED_CALL_H
#define SRV_SHARED_CALL_H

#include "serve/server.h"

typedef struct srv_shared srv_shared;
srv_shared *srv_shared_new(void); /* NULL: no memory */
void srv_shared_free(srv_shared *c);

/* The computation of a request. The request owns this struct, which does not move until `over`. */
typedef struct srv_call srv_call;
struct srv_call {
    srv_call *next;
    srv_request *r;
    /* Computes `first` and all calls that srv_call_next returns; ends each with srv_call_end. */
    void (*compute)(srv_call *first, rf_pipeline *p);
    /* whether two calls can be computed together; NULL: never */
    bool (*same)(const srv_call *a, const srv_call *b);
    bool leads;   /* its own job computes it, and others                                                */
    srv_text out; /* the answer, if it is written while the call is computed                            */
    rf_error why;
    double taken, ended;
};

/* Submits a call of r->model; `finish` is done by a worker when it is over without an error. answer: for `finish`,
 * sends `out` of the call as JSON. */
void srv_call_submit(srv_call *c, srv_step *finish);
void srv_call_answer(srv_request *r);

/* Called when the request is over: ends a call that waits, whose job then has nothing to do. If all calls that are
 * computed are over, their computation is canceled. */
void srv_call_leave(srv_call *c);

/* Within compute: one more call to be computed together with `first`, or NULL. */
srv_call *srv_call_next(const srv_call *first);

/* Within compute: whether a batch that began at the time `begun` may take one more call to its `n` inputs. It may not
 * when another kind of job has waited for a second, or when it has had so many inputs that what the pipeline keeps of
 * each until its end counts. joined: calls of the batch whose own jobs wait. */
bool srv_call_may_join(const srv_call *first, int64_t joined, int64_t n, double begun);

/* Within compute: a call is over, `why` NULL: with a result. */
void srv_call_end(srv_call *c, const rf_error *why);

#endif
