/* cancel.h — ends a long call from outside.
 *
 *     rf_cancel_new(ctx, &cancel, &why);
 *     rf_pipeline_set_cancel(p, cancel);          from now on p's calls look at it
 *     ...
 *     rf_cancel_set(cancel);                      another thread, or a signal handler
 *
 * A session looks at its flag before every operation of the model, some milliseconds of work at most, and a pipeline's
 * sessions all look at the pipeline's.  A call that finds it set returns RF_ECANCELED: it gives no result, sinks and
 * `done` are not called any more, sequences are as they were before the call, and whatever the call took is given back.
 * Until the flag is cleared later calls return at once.  The next call after that has the bits that it would have had.
 *
 * Training has a report that is asked between batches (rf_train_report), and stops there so that it can be resumed.
 *
 * threads   any number may set, clear and look at a flag at any time; only freeing it needs that nobody else has it  */
#ifndef ROFORMER_CANCEL_H
#define ROFORMER_CANCEL_H

#include "roformer/context.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct rf_cancel rf_cancel;

/* A flag that is not set.
 *
 *   ctx        whose memory it is in; NULL: the C library's
 *   out        freed with rf_cancel_free, after the sessions and pipelines that look at it are closed or look at
 *              another; untouched on error
 *   RF_ENOMEM                                                                                                        */
rf_status rf_cancel_new(const rf_ctx *ctx, rf_cancel **out, rf_error *why);
void rf_cancel_free(rf_cancel *c);                      /* NULL is fine                                               */

/* Each of them a single atomic access, which a signal handler may make.  NULL is fine: never set. */
void rf_cancel_set(rf_cancel *c);
void rf_cancel_clear(rf_cancel *c);
int rf_cancel_is_set(const rf_cancel *c);

#ifdef __cplusplus
}
#endif
#endif
