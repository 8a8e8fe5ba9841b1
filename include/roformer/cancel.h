/* cancel.h — cancels a long call from another thread or a signal handler.
 *
 *     rf_cancel_new(ctx, &cancel, &why);
 *     rf_pipeline_set_cancel(p, cancel);          from now on, p's calls check it
 *     ...
 *     rf_cancel_set(cancel);                      another thread, or a signal handler
 *     rf_cancel_after(cancel, 2.5);               or a time limit
 *
 * A session checks its flag before every operation of the model, that is, every few milliseconds. All sessions of a
 * pipeline check the pipeline's flag. When the flag is set, the call returns RF_ECANCELED: it gives no result, its
 * sinks and `done` functions are not called again, sequences are as before the call, and all memory of the call is
 * freed. Until the flag is cleared, further calls return immediately. After that, calls give the same bits as if
 * nothing had been canceled.
 *
 * Training is stopped with its report function (rf_train_report), which is called between batches. It saves a
 * checkpoint, so that the run can be resumed.
 *
 * threads   any number of threads may set, clear and check a flag at any time; when it is freed, no other thread may
 *           use it */
#ifndef ROFORMER_CANCEL_H
#define ROFORMER_CANCEL_H

#include "roformer/context.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct rf_cancel rf_cancel;

/* Creates a flag that is not set.
 *
 *   ctx        its allocator provides the memory; NULL: the C library's
 *   out        freed with rf_cancel_free, after the sessions and pipelines that check it are closed or have been given
 *              another flag; unchanged on error
 *   RF_ENOMEM  out of memory */
rf_status rf_cancel_new(const rf_ctx *ctx, rf_cancel **out, rf_error *why);
void rf_cancel_free(rf_cancel *c);                      /* NULL is allowed */

/* A signal handler may call these. NULL is allowed and counts as not set.
 *
 *   set        until it is cleared
 *   after      the flag is set from `seconds` from now on, as a time limit needs it; replaces an earlier time.
 *              0 or less: now; INFINITY: never
 *   clear      neither set nor set later */
void rf_cancel_set(rf_cancel *c);
void rf_cancel_after(rf_cancel *c, double seconds);
void rf_cancel_clear(rf_cancel *c);
int rf_cancel_is_set(const rf_cancel *c);

#ifdef __cplusplus
}
#endif
#endif
